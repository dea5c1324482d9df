"""Functions of modules that have the name of another one: of what they read, and at what price."""

import importlib
import sys

import numpy as np
import pytest

import npaccel

LIBRARY = """
import numpy as np

K = {number}


def scaled(x):
    return x * K


class Scale:
    def __call__(self, x):
        return scaled(x) + K


def set_to(x, k):
    global K
    K = k
    return x * K
"""
PROGRAM = """
import numpy as np


def by_function(x):
    return library.scaled(x) + 1.0


def by_method(x):
    return library.Scale()(x)


def by_global(x):
    return library.K * x


def by_name(x):
    return scaled(x)


def by_write(x):
    return library.set_to(x, 7.0)
"""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Import a library of the same name from a folder of its own, and a program that calls it."""

    def make(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "of_one_name.py").write_text(LIBRARY.format(number=number))
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        sys.modules.pop("of_one_name", None)
        importlib.invalidate_caches()
        library = importlib.import_module("of_one_name")
        program = {"__name__": f"program_{number}", "library": library, "scaled": library.scaled}
        exec(PROGRAM, program)
        return library, program

    yield make
    sys.modules.pop("of_one_name", None)


def answers(jitted, plain, x):
    found, expected = jitted(x), plain(x)
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", ["by_function", "by_method", "by_global", "by_name"])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_globals_are_those_of_the_functions_own_module(imported, name, backend):
    x = np.arange(1.0, 4.0)
    programs = [imported(number) for number in (1.5, 2.5, 3.5)]
    # The last one is registered, the first one was for a while.
    for library, program in [*programs, programs[0]]:
        jitted = npaccel.jit(program[name], backend=backend)
        for _ in range(3):
            answers(jitted, program[name], x)
        assert len(jitted.report().graphs) == 1, jitted.report()
        assert not jitted.report().fallbacks
        library.K *= 2.0
        answers(jitted, program[name], x)
        library.K /= 2.0


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_globals_that_are_written_are_those_of_the_own_module(imported):
    (first, program), (second, _) = imported(1.5), imported(2.5)
    jitted = npaccel.jit(program["by_write"])
    for _ in range(2):
        answers(jitted, program["by_write"], np.arange(3.0))
        assert (first.K, second.K) == (7.0, 2.5)
        first.K = 1.5
    assert jitted.report().fallbacks


def test_what_is_rebound_at_each_capture_is_told(imported, monkeypatch):
    _, program = imported(4.5)
    jitted = npaccel.jit(program["by_function"])
    monkeypatch.setattr("npaccel._torch.dynamo.reads.Reads.have_moved", lambda *_: True)
    x = np.arange(3.0)
    with pytest.warns(npaccel.errors.PerformanceWarning, match="rebound"):
        answers(jitted, program["by_function"], x)
    (fallback,) = jitted.report().fallbacks
    assert "rebound" in fallback.reason
    monkeypatch.undo()
    answers(jitted, program["by_function"], x)
    assert len(jitted.report().graphs) == 1
