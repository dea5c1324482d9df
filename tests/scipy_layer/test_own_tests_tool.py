"""The tool that runs SciPy's own tests on tensors."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import scipy

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
tool = importlib.import_module("scipy_own_tests")
SITE = Path(scipy.__file__).parents[1]


@pytest.mark.skipif(
    not scipy.__version__.startswith("1.17."), reason="the excuses name tests of SciPy 1.17"
)
def test_excuses_are_few_and_about_tests_that_are_there():
    excuses = tool.excuses()
    assert 0 < len(excuses) <= 20
    for reason, patterns in excuses.items():
        assert reason
        for pattern in patterns:
            name = pattern.partition("::")[0]
            last = pattern.rpartition("::")[2].partition("[")[0]
            assert f"def {last}(" in (SITE / name).read_text(encoding="utf-8"), pattern


def test_what_only_we_fail():
    bare = {"a": ["passed", ""], "b": ["failed", "x"], "c": ["passed", ""], "d": ["passed", ""]}
    ours = {"a": ["passed", ""], "b": ["failed", "x"], "c": ["failed", "why"]}
    result = {
        "bare": {"outcomes": bare, "end": ""},
        "npaccel": {"outcomes": ours, "end": "out of time"},
    }
    assert tool.only_ours(result) == {"c": "failed: why", "d": "missing: out of time"}
    known = {"reason": ["scipy/x.py::test_a[torch-*]"]}
    assert tool.excused("scipy/x.py::test_a[torch-1]", known) == "reason"
    assert tool.excused("scipy/x.py::test_a[numpy-1]", known) == ""
    assert "(not all)" in tool.totals(result, "npaccel")


@pytest.mark.slow
def test_a_module_passes_bare_and_with_npaccel(tmp_path):
    results = tmp_path / "results.json"
    command = [sys.executable, str(TOOLS / "scipy_own_tests.py"), "run", "cluster.vq"]
    command += ["--results", str(results), "--tests", "tensors"]
    path = os.pathsep.join([str(TOOLS.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (outcomes,) = json.loads(results.read_text(encoding="utf-8")).values()
    passed = [
        {test for test, (outcome, _) in outcomes[way]["outcomes"].items() if outcome == "passed"}
        for way in tool.WAYS
    ]
    assert passed[0] == passed[1] != set()
