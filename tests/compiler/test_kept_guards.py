"""What a capture of a library's functions depends on can be kept on disk, and found again."""

import itertools
import types

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy_row_calls import COMPILED, call_of, drawn_calls
from scipy_row_calls import function_of, native_calls
from sweep import FULL

import npaccel
from npaccel._compiler import planning
from npaccel._runtime import guard_serialization

NUMPYS, SCIPYS = list(COMPILED), list(native_calls())
STEP = 1 if FULL else 60


@pytest.fixture
def kept(monkeypatch):
    """What captures would keep: guards as JSON, and files of code that they don't cover."""
    found = []
    files_of = guard_serialization.uncovered_files

    def files_and_guards(traced, root, guards):
        files = files_of(traced, root, guards)
        found.append(([guard_serialization.encode(guard) for guard in guards], files))
        return files

    monkeypatch.setattr(planning, "_why_uncacheable", lambda *args: "")
    monkeypatch.setattr(guard_serialization, "uncovered_files", files_and_guards)
    return found


def calls(name):
    if name in SCIPYS:
        return iter([function_of(name)])
    drawn = itertools.islice(drawn_calls(name), 3)
    return ((call_of(text, values), list(values.values())) for text, values in drawn)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*NUMPYS[::STEP], *SCIPYS[::STEP]])
def test_rows(name, kept):
    for function, values in calls(name):
        jitted = npaccel.jit(function, backend="eager", compile="now")
        try:
            jitted(*values)
        except Exception as error:  # noqa: BLE001 (compared with NumPy's)
            with pytest.raises(type(error)):  # NumPy's, of such values.
                function(*values)
            continue
        for graph in jitted.report().graphs:
            assert "by a name" not in graph.uncacheable
    for _, files in kept:
        assert not [path for path, *_ in files if "npaccel" not in path]


class Model:
    """A class whose jitted methods call each other."""

    rate = 0.5

    @npaccel.jit(compile="now", backend="eager")
    def rates(self, x):
        return -self.rate * x

    @npaccel.jit(compile="now", backend="eager")
    def step(self, x):
        return x + 0.1 * self.rates(x) + self.shift(x)

    @staticmethod
    @npaccel.jit(compile="now", backend="eager")
    def shift(x):
        return x.mean()


def test_methods_that_call_jitted_ones(kept):
    x = np.linspace(0, 1, 5)
    assert np.allclose(Model().step(x), 0.95 * x + x.mean())
    (graph,) = Model.step.report().graphs
    assert not graph.uncacheable
    assert len(kept) == 1


OF_A_LIBRARY = [
    *(np.sin, scipy.special.gammaln, scipy.special.legendre_p, scipy.stats.norm),
    *(types.MethodType, types.GeneratorType, types.ModuleType, int, np.float32),
]


@pytest.mark.parametrize("member", OF_A_LIBRARY)
def test_objects_of_libraries_have_a_name(member):
    reference = guard_serialization._encode_object(member)
    assert guard_serialization._decode_object(reference) is member


@pytest.mark.parametrize("member", [np.frompyfunc(abs, 1, 1), object(), scipy.stats.norm(1.0)])
def test_objects_of_programs_have_none(member):
    with pytest.raises(guard_serialization.UncacheableError, match="by a name"):
        guard_serialization._encode_object(member)
