"""Arguments that only NumPy, or another library, computes with: handed on, or left to NumPy."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import npaccel
from npaccel import errors

pd = pytest.importorskip("pandas")
X = np.arange(4.0)


class Meters(np.ndarray):
    """A subclass of the user's own."""


@dataclasses.dataclass
class Box:
    extra: Any
    x: np.ndarray


def _matrix():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(np.arange(4.0))


#: Each with what is said of it, and the error of ``strict=True``.
OF_NUMPY = {
    "masked": (np.ma.masked_array(np.arange(4.0), [0, 1, 0, 0]), "numpy.ma.MaskedArray", "array"),
    "matrix": (_matrix(), "numpy.matrix", "array"),
    "record": (np.zeros(4, "f8,i4").view(np.recarray), "numpy.recarray", "array"),
    "own": (np.arange(4.0).view(Meters), "Meters", "array"),
    "objects": (np.array([1, "a", None, 2.0], object), "dtype object", "dtype"),
    "strings": (np.array(["a", "b", "c", "d"]), "dtype <U1", "dtype"),
    "bytes": (np.array([b"a", b"b"]), "dtype |S1", "dtype"),
    "any_strings": (np.array(["a", "b"], np.dtypes.StringDType()), "dtype StringDType", "dtype"),
    "dates": (np.array(["2024-01-01"] * 4, "M8[D]"), "dtype datetime64", "dtype"),
    "spans": (np.array([1, 2, 3, 4], "m8[s]"), "dtype timedelta64", "dtype"),
    "long": (np.arange(4, dtype=np.longdouble), f"dtype {np.dtype('g')}", "dtype"),
    "long_complex": (np.arange(4, dtype=np.clongdouble), f"dtype {np.dtype('G')}", "dtype"),
    "structured": (np.zeros(4, [("a", "f8"), ("b", "i4")]), "dtype [('a'", "dtype"),
    "date": (np.datetime64("2024-01-01"), "dtype datetime64", "dtype"),
    "word": (np.str_("a"), "dtype <U1", "dtype"),
    "long_number": (np.longdouble(3), f"dtype {np.dtype('g')}", "dtype"),
    "fields": (np.zeros(1, "f8,i4")[0], "dtype [('f0'", "dtype"),
}  # fmt: skip
if np.dtype("g").itemsize == 8:  # Where C's long double is a double.
    OF_NUMPY = {name: one for name, one in OF_NUMPY.items() if not name.startswith("long")}
OF_OTHERS = {
    "series": (pd.Series(np.arange(4.0)), "pandas.Series", "n.to_numpy()"),
    "frame": (pd.DataFrame({"a": np.arange(4.0)}), "pandas.DataFrame", "n.to_numpy()"),
    "index": (pd.Index([1.0, 2.0, 3.0, 4.0]), "pandas.Index", "n.to_numpy()"),
    "sparse": (scipy.sparse.csr_array(np.eye(4)), "scipy.sparse.csr_array", "n.toarray()"),
    "sparse_matrix": (scipy.sparse.csc_matrix(np.eye(4)), "scipy.sparse.csc_matrix", "n.toarray()"),
}
EVERYTHING = {name: one[0] for name, one in (OF_NUMPY | OF_OTHERS).items()}


def called(function, *args):
    """Return a call's result or error, and what npaccel has warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:  # noqa: BLE001 (compared with NumPy's)
            result = error
    return result, [str(w.message) for w in caught if w.category is errors.PerformanceWarning]


def assert_alike(got, wanted):
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_alike(one, other)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        assert_alike(list(got.values()), list(wanted.values()))
    elif scipy.sparse.issparse(wanted):
        assert (got != wanted).nnz == 0
    elif isinstance(wanted, pd.Series | pd.DataFrame | pd.Index):
        assert got.equals(wanted)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert got.dtype == wanted.dtype
        assert repr(got) == repr(wanted)
    elif not isinstance(wanted, Exception):
        assert got == wanted


#: The first of its arguments isn't computed with.
HANDED_ON = {
    "untouched": lambda n, x: x * 2 + 1,
    "returned": lambda n, x: (n, x * 2),
    "in_a_dict": lambda n, x: {"n": n, "x": x * 2},
    "compared_with_none": lambda n, x: x * 3 if n is None else x * 2,
    "its_type": lambda n, x: (isinstance(n, np.ndarray), x * 2),
    "passed_on": lambda n, x: HANDED_ON["returned"](n, x),
}


@pytest.mark.parametrize("kind", EVERYTHING)
@pytest.mark.parametrize("use", HANDED_ON)
def test_what_is_handed_on_leaves_the_rest_compiled(kind, use):
    n, function = EVERYTHING[kind], HANDED_ON[use]
    jitted = npaccel.jit(function, backend="eager", strict=True)
    for x in (X, X + 1, X[:2], X[:3]):
        got, said = called(jitted, n, x)
        assert_alike(got, function(n, x))
        assert said == []
    assert jitted.report().graphs


@pytest.mark.parametrize("kind", EVERYTHING)
def test_what_holds_it_leaves_the_rest_compiled(kind):
    n = EVERYTHING[kind]
    calls = [
        (lambda part: part[1] * 2, [n, X]),
        (lambda part: part["x"] * 2, {"n": n, "x": X}),
        (lambda part: part.x * 2, Box(n, X)),
        (lambda part: (part.x * 2, part.extra), Box(n, X)),
        (lambda part: (part * 2, n), X),
    ]
    for function, part in calls:
        jitted = npaccel.jit(function, backend="eager", strict=True)
        for _ in range(2):
            got, said = called(jitted, part)
            assert_alike(got, function(part))
            assert said == []
        assert jitted.report().graphs


USES = {
    "added": lambda n, x: (n + n, x + 1),
    "with_an_array": lambda n, x: n * np.sin(x),
    "compared": lambda n, x: (x * 2, n == n),
    "its_size": lambda n, x: (len(n), x * 2),
    "its_shape": lambda n, x: (n.shape, np.shape(n), x * 2),
    "an_item": lambda n, x: (n[0], x * 2),
    "in_a_call": lambda n, x: (np.sum(n), x * 2),
    "a_method": lambda n, x: (n.copy(), x * 2),
}


def called_three_times(function, n):
    """Call it with `n`, compare with NumPy; return NumPy's result, and all that was warned of."""
    jitted = npaccel.jit(function, backend="eager")
    wanted, _ = called(function, n, X)
    told = []
    for _ in range(3):
        got, said = called(jitted, n, X)
        assert_alike(got, wanted)
        told += said
    if isinstance(wanted, Exception):
        assert told == []
    return wanted, told


@pytest.mark.parametrize("kind", OF_NUMPY)
@pytest.mark.parametrize("use", USES)
def test_numpy_runs_a_call_that_computes_with_it(kind, use):
    n, name, error = OF_NUMPY[kind]
    function = USES[use]
    wanted, told = called_three_times(function, n)
    if isinstance(wanted, Exception):
        return
    (text,) = told
    assert text.startswith("<lambda>: ")
    assert "argument `n` is a" in text
    assert name in text
    expected = {"array": errors.UnsupportedArrayError, "dtype": errors.UnsupportedDtypeError}
    with pytest.raises(expected[error], match="argument `n`"):
        npaccel.jit(function, backend="eager", strict=True)(n, X)
    assert issubclass(expected[error], errors.NotCompiledError)


@pytest.mark.parametrize("kind", OF_OTHERS)
@pytest.mark.parametrize("use", USES)
def test_the_warning_names_the_argument_of_another_library(kind, use):
    n, name, advice = OF_OTHERS[kind]
    function = USES[use]
    _, told = called_three_times(function, n)
    if told:  # Some attributes are read.
        (text,) = told
        assert f"argument `n` is a {name}" in text
        assert advice in text


@pytest.mark.parametrize("kind", EVERYTHING)
def test_what_holds_it_is_named(kind):
    n = EVERYTHING[kind]
    captured = [n]
    calls = {
        "part[0]": (lambda part: (part[1] * 2, part[0] == part[0]), [n, X]),
        "part['n']": (lambda part: (part["x"] * 2, part["n"] == part["n"]), {"n": n, "x": X}),
        "part.extra": (lambda part: (part.x * 2, part.extra == part.extra), Box(n, X)),
        "`n`": (lambda part: (part * 2, n == n), X),
        "`captured[0]`": (lambda part: (part * 2, captured[0] == captured[0]), X),
    }
    for name, (function, part) in calls.items():
        jitted = npaccel.jit(function, backend="eager")
        wanted, _ = called(function, part)
        got, said = called(jitted, part)
        assert_alike(got, wanted)
        (text,) = said
        assert name in text


@pytest.mark.parametrize("kind", EVERYTHING)
def test_it_goes_through_loops(kind):
    def function(n, x):
        found = []
        for i in range(3):
            y = np.sin(x) * i
            found.append((n, y))
        return found

    n = EVERYTHING[kind]
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    got, said = called(jitted, n, X)
    assert said == []
    for (one, y), (other, z) in zip(got, function(n, X), strict=True):
        assert one is other
        np.testing.assert_allclose(y, z)


MADE = {
    "masked": lambda x: (np.ma.masked_array(x * 2, x > 1).sum(), x + 1),
    "own": lambda x: x.view(Meters) * 2,
    "objects": lambda x: (np.array([1, "a"], dtype=object), x.astype(object) * 2, x * 2),
    "strings": lambda x: (x.astype(str), np.array(["a", "b"]), x + 1),
    "dates": lambda x: (np.datetime64("2024-01-01") + np.arange(4), x * 2),
    "long": lambda x: (x.astype(np.longdouble) * 2, np.zeros(3, np.longdouble)),
    "records": lambda x: np.rec.fromarrays([x, x * 2], names="a,b"),
    "fields": lambda x: np.array(list(zip(x, x, strict=True)), "f8,f8")["f0"] + x,
    "series": lambda x: (pd.Series(x * 2), x + 1),
    "frame": lambda x: pd.DataFrame({"a": x * 2}),
    "sparse": lambda x: scipy.sparse.csr_array(np.diag(x)) @ x,
}


@pytest.mark.parametrize("kind", MADE)
def test_what_is_made_inside(kind):
    function = MADE[kind]
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        got, _ = called(jitted, X)
        assert_alike(got, function(X))


def test_other_sizes_of_what_is_handed_on_share_code():
    jitted = npaccel.jit(lambda names, x: (names, x * 2), backend="eager")
    for n in range(5):
        names = np.array(["a"] * n, object)
        assert jitted(names, X)[0] is names
    jitted(np.array(["b"]), X)
    assert len(jitted.report().graphs) == 1
    got = jitted(X, X)  # An array that can be computed with is another kind of argument.
    assert got[0] is X


def test_an_attribute_that_becomes_an_array_of_objects():
    box = Box(X, X)
    function = npaccel.jit(lambda box: (box.x * 2, box.extra + box.extra), backend="eager")
    assert_alike(function(box), (X * 2, X + X))
    box.extra = np.array(["a", None], object)
    box.extra[1] = "b"
    assert_alike(called(function, box)[0], (X * 2, box.extra + box.extra))
    box.extra = X
    assert_alike(function(box), (X * 2, X + X))


@pytest.mark.parametrize("kind", OF_NUMPY)
@pytest.mark.parametrize("use", ["returned", "compared"])
def test_it_is_verified_and_checked(kind, use):
    n, function = OF_NUMPY[kind][0], {**HANDED_ON, **USES}[use]
    wanted, _ = called(function, n, X)
    assert not isinstance(wanted, Exception)
    verified = npaccel.jit(function, backend="eager", verify=True)
    assert_alike(called(verified, n, X)[0], wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        assert not npaccel.check(function, n, X).differences


def test_it_is_compiled_and_kept_on_disk():
    def function(names, x):
        return names, np.sin(x) * 2

    names = np.array(["a", None], object)
    for loaded in (False, True):
        jitted = npaccel.jit(function)
        got = jitted(names, X)
        assert got[0] is names
        np.testing.assert_allclose(got[1], np.sin(X) * 2)
        assert [graph.loaded for graph in jitted.report().graphs] == [loaded]
