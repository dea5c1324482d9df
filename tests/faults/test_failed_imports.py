"""Imports of the compiler that end for want of memory: a later call makes them anew."""

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
    try:
        functions[0][0](X)
        how = "answer"
    except MemoryError as error:
        how = str(error)
    return {"how": how, "later": wrong(functions)}
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
    expected = {"how": "no memory for a module", "later": []}
    assert not [one for one in found if {key: one[key] for key in expected} != expected]
