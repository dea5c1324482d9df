"""What captures and compiles is imported by the helper thread, where calls would wait for it."""

import os
import subprocess
import sys

import pytest

from npaccel._compiler import compiler_import
from npaccel._process import background


@pytest.fixture
def begun(monkeypatch):
    """Return what was given to the helper thread."""
    works = []
    monkeypatch.setattr(background, "begin", works.append)
    return works


def test_what_is_there_is_not_imported_ahead(begun, monkeypatch):
    monkeypatch.setattr(compiler_import, "loaded", lambda name: name)
    compiler_import.begin_import("inductor", ["numba"])
    assert begun == []


@pytest.mark.parametrize("missing", ["npaccel._compiler.compile", "numba"])
def test_what_is_missing_is(missing, begun, monkeypatch):
    imported = []
    monkeypatch.setattr(compiler_import, "loaded", lambda name: None if name == missing else name)
    monkeypatch.setattr(compiler_import, "load", imported.append)
    monkeypatch.setattr(compiler_import, "import_compiler", lambda *of: imported.append(of))
    compiler_import.begin_import("inductor", ["numba"])
    (work,) = begun
    work()
    assert imported == [("inductor", "cpu"), *(["numba"] if missing == "numba" else [])]


def test_where_there_can_be_no_thread(monkeypatch):
    def begin(work):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(background, "begin", begin)
    monkeypatch.setattr(compiler_import, "loaded", lambda name: None)
    compiler_import.begin_import("inductor")


_PROGRAM = """
import threading
import numpy as np, npaccel
from npaccel._compiler import tier_buckets
from npaccel._process import imports

tier_buckets._USUAL_SECONDS = 0.2
by_main = []
imported = imports._imported

def noted(name):
    if threading.current_thread() is threading.main_thread():
        by_main.append(name)
    return imported(name)

imports._imported = noted

@npaccel.jit
def f(x):
    s = 0.0
    for i in range(1, len(x)):
        s = max(s, 0.5 * s + x[i] - x[i - 1])
    return s

x = np.linspace(0.0, 1.0, 50_000)
want = f.__wrapped__(x)
while not f.report().loops:
    assert abs(f(x) - want) < 1e-12
print(*(name for name in by_main if name in ("npaccel._compiler.compile", "numba")), len(by_main))
"""


def test_functions_with_loops_do_not_wait_for_imports(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "NPACCEL_COMPILE": "auto", "NPACCEL_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    (count,) = done.stdout.split()
    assert int(count)
