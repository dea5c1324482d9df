"""What mypy says of programs that use npaccel."""

import re
from pathlib import Path

import pytest
from mypy import api

import npaccel

PACKAGE = Path(npaccel.__file__).parent
#: What the types come from; all other modules are skipped, which takes seconds instead of minutes.
SOURCES = ["__init__.py", "_jit.py", "_runtime/options.py"]
PRELUDE = """
import npaccel

def double(x: float) -> float:
    return 2 * x
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mypy")
    empty = folder / "mypy.ini"
    empty.write_text("[mypy]\n")

    def run(lines):
        """Return mypy's errors by line, counted from 0, and what it reveals."""
        program = folder / "program.py"
        program.write_text(PRELUDE + "\n".join(lines))
        options = [f"--config-file={empty}", f"--cache-dir={folder / 'cache'}"]
        options += ["--follow-imports=skip", "--ignore-missing-imports", "--strict"]
        out, problems, _ = api.run([*options, *(str(PACKAGE / s) for s in SOURCES), str(program)])
        assert not problems
        first = PRELUDE.count("\n") + 1
        found = re.findall(r"program\.py:(\d+): (?:error|note): (.*)", out)
        said = {}
        for line, text in found:
            said.setdefault(int(line) - first, text)
        return said

    return run


def test_right_options_pass(mypy):
    said = mypy(
        [
            "reveal_type(npaccel.jit(double)(1.0))",
            "reveal_type(npaccel.jit(double, device=None, verify='warn', dynamic=True)(1.0))",
            "reveal_type(npaccel.jit(static_argnames='x', loops='numba')(double)(1.0))",
            "npaccel.jit(static_argnames=['x'], strict=True, cache=False, narrow_inputs=True)",
            "with npaccel.options(device='cuda:1', rng='device', backend='eager'): pass",
            "npaccel.config.default_float = 'float64'",
            "reveal_type(npaccel.config.loops)",
        ]
    )
    assert set(said) == {0, 1, 2, 6}
    assert all(said[line].endswith('float"') for line in range(3))
    assert "'unroll'" in said[6]


WRONG = [
    ("npaccel.jit(double, device=0)", "device"),
    ("npaccel.jit(double, default_float='float16')", "default_float"),
    ("npaccel.jit(strict='yes')", "strict"),
    ("npaccel.jit(loops='fast')", "loops"),
    ("npaccel.jit(verify='raise')", "verify"),
    ("npaccel.jit(static_argnames=3)", "static_argnames"),
    ("npaccel.options(backend='gcc')", "backend"),
    ("npaccel.options(rng=1)", "rng"),
    ("npaccel.config.dynamic = 'always'", "dynamic"),
    ("npaccel.jit(devise='cpu')", "unknown to jit"),
    ("npaccel.options(devise='cpu')", "unknown to options"),
    ("npaccel.config.devise = 'cpu'", "unknown to config"),
    ("npaccel.jit(double)('x')", "of the function"),
]


def test_wrong_options_are_found(mypy):
    said = mypy([line for line, _ in WRONG])
    missed = [line for i, (line, _) in enumerate(WRONG) if i not in said]
    assert not missed
