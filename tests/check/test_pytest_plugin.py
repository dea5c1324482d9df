"""The options that the plugin adds to pytest."""

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
from npaccel._numpy.core import table as _table
_numpy.load()
row = _table.row_of(np.square)
bad = dataclasses.replace(row, implementation=lambda x: row.implementation(x) + 1)
_table._by_object[id(np.square)] = bad
"""


RUN = """
import contextlib, io, pytest
os.chdir(sys.argv[1])
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    code = pytest.main(["-p", "pytest_npaccel", "-q", *sys.argv[2:]])
answer(code=int(code), text=printed.getvalue())
"""


def run_suite(path, *options):
    path.joinpath("test_suite.py").write_text(SUITE, encoding="utf-8")
    found = children.run_prepared(RUN, path, *options)
    return found["code"], found["text"]


@pytest.mark.slow
def test_differences_fail_tests_and_promotion_is_listed(tmp_path):
    code, text = run_suite(tmp_path, "--npaccel-check-promotion")
    assert code == 0, text
    assert "2 signatures of 2 functions compared with NumPy, 0 differ" in text
    assert "write 2.5 for np.float64(2.5)" in text
    tmp_path.joinpath("conftest.py").write_text(FAULT, encoding="utf-8")
    code, text = run_suite(tmp_path, "--npaccel-check")
    assert code == 1, text
    assert "1 differ" in text
    assert "np.square(x)" in text
    assert "1 passed" in text


def test_the_plugin_itself_imports_nothing_heavy():
    found = children.run("""
        import pytest_npaccel
        answer(loaded=[name for name in ("torch", "npaccel") if name in sys.modules])
    """)
    assert found == {"loaded": []}
