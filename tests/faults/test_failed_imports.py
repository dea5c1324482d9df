"""Imports of the compiler that end for want of memory: a later call makes them again."""

import os

import interrupting
import pytest
from sweep import tries

pytestmark = [
    pytest.mark.inductor,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
]

WITHOUT_MEMORY = """
def attempt(i, module):
    failed = []
    def look(event, arguments):
        if event == "import" and arguments[0] == module and not failed:
            failed.append(module)
            raise MemoryError("no memory for a module")
    sys.addaudithook(look)
    functions = new_functions(i, SEED)
    first, plain = functions[0]
    answers = [bool(np.allclose(first(X), plain(X), rtol=1e-12)) for _ in range(3)]
    report = first.report()
    causes = [fallback.reason for fallback in report.fallbacks]
    return {"answers": answers, "causes": causes, "graphs": len(report.graphs),
            "later": wrong(functions[1:])}
"""
MODULES = [
    ["torch._dynamo.variables.user_defined"],
    ["sympy.core.power"],
    ["sympy.multipledispatch.utils"],
    ["torch._inductor.codecache"],
    ["torch.utils._sympy.functions"],
    ["torch._inductor.async_compile"],
    ["npaccel._compiler.frame"],
    ["npaccel._torch.dynamo.numpy.operations"],
]


@pytest.mark.timeout(interrupting.SECONDS)
def test_imports_without_memory(tmp_path):
    given = MODULES[: tries(1, len(MODULES))]
    found = interrupting.answers(WITHOUT_MEMORY, given, tmp_path, seed=306)
    cause = "memory has run out before it was compiled, so this call runs in NumPy"
    expected = {"answers": [True] * 3, "causes": [cause], "graphs": 1, "later": []}
    assert not [one for one in found if {key: one[key] for key in expected} != expected]
