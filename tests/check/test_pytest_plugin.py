"""The options that the plugin adds to pytest."""

import os
import subprocess
import sys

import children
import pytest

SUITE = """
import numpy as np, npaccel

@npaccel.jit(backend="eager", cache=False)
def scaled(x):
    return x * np.float64(2.5)

@npaccel.jit(backend="eager", cache=False)
def squared(x):
    return np.square(x)

def test_scaled():
    assert scaled(np.ones(3, np.float32)).dtype == np.float64

def test_squared():
    assert squared(np.ones(3)).sum() == 3
    assert squared(np.ones(3)).sum() == 3
"""

FAULT = """
import dataclasses, numpy as np
from npaccel import _numpy
from npaccel._numpy import _table
_numpy.load()
row = _table.row_of(np.square)
bad = dataclasses.replace(row, implementation=lambda x: row.implementation(x) + 1)
_table._by_object[id(np.square)] = bad
"""


def run_suite(path, *options):
    path.joinpath("test_suite.py").write_text(SUITE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "pytest_npaccel", "-q", *options]
    environment = {**os.environ, "PYTHONPATH": children._ROOT}
    return subprocess.run(
        command, cwd=path, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_differences_fail_tests_and_promotion_is_listed(tmp_path):
    done = run_suite(tmp_path, "--npaccel-check-promotion")
    assert done.returncode == 0, done.stdout
    assert "2 signatures of 2 functions compared with NumPy, 0 differ" in done.stdout
    assert "write 2.5 for np.float64(2.5)" in done.stdout
    tmp_path.joinpath("conftest.py").write_text(FAULT, encoding="utf-8")
    done = run_suite(tmp_path, "--npaccel-check")
    assert done.returncode == 1
    assert "1 differ" in done.stdout
    assert "np.square(x)" in done.stdout
    assert "1 passed" in done.stdout


def test_the_plugin_itself_imports_nothing_heavy():
    found = children.run("""
        import pytest_npaccel
        answer(loaded=[name for name in ("torch", "npaccel") if name in sys.modules])
    """)
    assert found == {"loaded": []}
