"""Wrong calls of every compiled row: where NumPy raises, the row raises too.

An error while a function is captured lets NumPy run the call, which raises its own
error at the user's line. So a row must never answer where NumPy doesn't.
"""

import traceback
import types
import warnings

import numpy as np
import pytest
from row_checks import tensors

import npaccel
from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._tools import support_page

_numpy.load()
A = np.arange(6.0).reshape(2, 3) / 8  # Quantiles out of range depend on the data.
C = A + 1j
#: Wrong for most functions, by what is wrong: arguments and keywords.
CALLS = {
    "nothing": ((), {}),
    "an unknown keyword": ((A,), {"nonsense": 1}),
    "two and an unknown keyword": ((A, A), {"nonsense": 1}),
    "too many": ((A,) * 24, {}),
    "an axis that isn't there": ((A,), {"axis": 7}),
    "an axis far below zero": ((A,), {"axis": -7}),
    "two and an axis that isn't there": ((A, A), {"axis": 7}),
    "an axis that is no number": ((A,), {"axis": "x"}),
    "an axis twice": ((A,), {"axis": (0, 0)}),
    "shapes that don't fit": ((A, A[:, :2]), {}),
    "an out that doesn't fit": ((A,), {"out": np.empty((5, 5))}),
    "an out of another kind": ((C,), {"out": np.empty((2, 3), "i1")}),
    "a dtype that doesn't fit": ((A,), {"dtype": "M8[s]"}),
    "no dtype": ((A,), {"dtype": "nonsense"}),
    "complex numbers": ((C,), {}),
    "two arrays of complex numbers": ((C, C), {}),
    "None": ((None,), {}),
    "a string": (("text",), {}),
    "an unknown order": ((A,), {"order": "Q"}),
    "an unknown mode": ((A, np.array([0, 1])), {"mode": "nonsense"}),
}


def theirs(row):
    """Return NumPy's callable of a row, or None where there is nothing to be called."""
    found = row.numpy if row.numpy is not None else support_page.numpy_object(row.name)
    return None if isinstance(found, type | types.NoneType) or not callable(found) else found


def called(function, args, kwargs):
    """Return what a call raises, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
            return error
    return None


def copies(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, dict):
        return {name: copies(value) for name, value in x.items()}
    return tuple(map(copies, x)) if isinstance(x, tuple) else x


ROWS = [
    row
    for row in table.rows().values()
    if row.status == "compiled"
    and not row.inlined
    and not row.name.startswith("numpy.random.")
    and theirs(row) is not None
]


def test_many_rows_are_called():
    assert len(ROWS) > 500


@pytest.mark.parametrize("what", CALLS)
def test_where_numpy_raises_the_row_raises(what):
    args, kwargs = CALLS[what]
    raised, silent = 0, []
    for row in ROWS:
        wanted = called(theirs(row), copies(args), copies(kwargs))
        if wanted is None:
            continue
        raised += 1
        if called(row.implementation, tensors(copies(args)), tensors(copies(kwargs))) is None:
            silent.append(f"{row.name}: {wanted!r}")
    assert raised > 5
    assert not silent


# -- in a jitted function

WRONG = [
    (lambda a: np.sum(a, axis=7), np.exceptions.AxisError),
    (lambda a: a + a[:, :2], ValueError),
    (lambda a: np.concatenate([a, a[0]]), ValueError),
    (lambda a: a.reshape(4, 4), ValueError),
    (lambda a: np.sin(a, nonsense=1), TypeError),
    (lambda a: np.add(a, a, a, a, a), TypeError),
    (lambda a: a & a, TypeError),
    (lambda a: a[9], IndexError),
    (lambda a: np.linalg.inv(a), np.linalg.LinAlgError),
    (lambda a: np.polynomial.legendre.legder(a, -1), ValueError),
    (lambda a: np.packbits(a), TypeError),
    (lambda a: np.einsum("ij,ij->z", a, a), ValueError),
]


@pytest.mark.parametrize(("function", "kind"), WRONG, ids=lambda x: getattr(x, "__name__", ""))
def test_the_error_is_numpys_at_the_users_line(function, kind):
    jitted = npaccel.jit(function, backend="eager")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
            with pytest.raises(kind) as caught:
                jitted(A.copy())
        frames = traceback.extract_tb(caught.value.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == __file__]
        assert function.__code__.co_firstlineno in lines
        assert type(caught.value) is type(called(function, (A.copy(),), {}))


def test_the_arguments_are_as_they_were():
    def function(a):
        a += 1
        return np.sum(a, axis=7)

    jitted = npaccel.jit(function, backend="eager")
    mine, plain = A.copy(), A.copy()
    assert isinstance(called(jitted, (mine,), {}), np.exceptions.AxisError)
    assert isinstance(called(function, (plain,), {}), np.exceptions.AxisError)
    np.testing.assert_array_equal(mine, plain)
