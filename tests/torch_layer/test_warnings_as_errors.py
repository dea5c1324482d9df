"""Where warnings are errors, torch's warnings of its own deprecations aren't the user's."""

import subprocess
import sys

import pytest

FIRST = {
    "jit": "print(npaccel.jit(double, cache=False, strict=True)(x))",
    "check": "print(npaccel.check(double, x).ok)",
}


@pytest.mark.inductor
@pytest.mark.parametrize("first", list(FIRST))
def test_torch_is_imported_without_its_warnings(first, tmp_path):
    script = tmp_path / "script.py"
    lines = ["import numpy as np, npaccel", "def double(x):", "    return 2 * x", "x = np.ones(2)"]
    script.write_text("\n".join([*lines, FIRST[first]]))
    command = [sys.executable, "-W", "error", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() in ("[2. 2.]", "True")
