"""Result dtypes of every binary ufunc for all pairs of operands, against NumPy.

Operands are arrays, arrays without dimensions, NumPy scalars, and Python
scalars, which are weak (NEP 50).
"""

import warnings

import numpy as np
import pytest
import torch
from chapter import ALL, implementation, tensors

from npaccel._numpy import _ufuncs
from npaccel._numpy._context import TraceSettings, tracing

BINARY = [k.ufunc for k in _ufuncs.KERNELS if k.ufunc.nin == 2]
DTYPES = [np.dtype(code) for code in ALL]
WIDE = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}
PYTHON = [True, 1, 1.5, 1j]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def pairs():
    """Yield operands: one of each form against one of each form, one of them with a dtype."""
    for left in DTYPES:
        a = np.ones(2, left)
        for right in DTYPES:
            yield a, np.ones(2, right)
            yield a, np.ones((), right)
            yield np.ones((), left), right.type(1)
            yield left.type(1), np.ones(2, right)
        for number in PYTHON:
            yield a, number
            yield number, a
            yield left.type(1), number
            yield number, np.ones((), left)


OPERANDS = list(pairs())


def _outcome(call, args):
    """Return the dtypes of the results, or the class of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call(*args)
    except (TypeError, OverflowError, ValueError) as error:
        return next(c for c in type(error).__mro__ if not c.__name__.startswith("_UFunc"))
    parts = found if isinstance(found, tuple) else (found,)
    return [x.numpy().dtype if isinstance(x, torch.Tensor) else x.dtype for x in parts]


def _narrowed(expected, args):
    if isinstance(expected, type) or any(getattr(x, "dtype", None) in WIDE for x in args):
        return expected
    return [WIDE.get(dtype, dtype) for dtype in expected]


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_all_pairs(ufunc):
    run = implementation(ufunc)
    differing = []
    for args in OPERANDS:
        given = tuple(tensors(list(args)))
        expected = _outcome(ufunc, args)
        if _outcome(run, given) != expected:
            differing.append((args, expected))
        with tracing(TraceSettings(default_float="float32")):
            if _outcome(run, given) != _narrowed(expected, args):
                differing.append((args, "float32", _narrowed(expected, args)))
    assert not differing


@pytest.mark.parametrize("code", ALL)
def test_python_ints_out_of_bounds(code):
    dtype = np.dtype(code)
    x = np.ones(3, dtype)
    for value in (-1, 127, 128, 255, 256, 300, -129, 2**31, 2**32, 2**63, -(2**63) - 1, 2**64):
        for ufunc in (np.add, np.floor_divide, np.maximum, np.bitwise_and, np.left_shift):
            for args in ((x, value), (value, x)):
                expected = _outcome(ufunc, args)
                assert _outcome(implementation(ufunc), tensors(list(args))) == expected, args


@pytest.mark.parametrize("code", ["?", "b", "B", "H", "i", "l", "L", "f"])
def test_comparisons_with_python_ints_are_exact(code):
    x = np.array([0, 1, 100], code)
    for value in (-1, 0, 1, 300, -300, 2**40, 2**63, 2**64, -(2**63) - 1, 10**30):
        for ufunc in (np.equal, np.not_equal, np.less, np.less_equal, np.greater):
            for args in ((x, value), (value, x)):
                run, given = implementation(ufunc), tensors(list(args))
                expected = _outcome(ufunc, args)
                assert _outcome(run, given) == expected  # huge ints with bools raise
                if expected == [np.dtype(bool)]:
                    np.testing.assert_array_equal(run(*given).numpy(), ufunc(*args))


def test_the_text_of_an_overflow_is_numpys():
    x = np.ones(2, np.uint8)
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8") as mine:
        implementation(np.add)(tensors(x), 300)
    with pytest.raises(OverflowError) as theirs:
        np.add(x, 300)
    assert str(mine.value) == str(theirs.value)


def test_explicit_dtype_is_kept():
    x = torch.ones(2, dtype=torch.int64)
    with tracing(TraceSettings(default_float="float32")):
        run = implementation(np.divide)
        assert run(x, 2).dtype == torch.float32
        assert run(x, 2, dtype="f8").dtype == torch.float64
        assert run(x, 2, signature="dd->d").dtype == torch.float64
        out = torch.zeros(2, dtype=torch.float64)
        assert run(x, 3, out=out) is out
        assert out[0].item() == 1 / 3
        assert implementation(np.less)(x, 2.5).dtype == torch.bool
