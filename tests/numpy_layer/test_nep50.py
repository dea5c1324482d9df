"""Result dtypes of every binary ufunc for all pairs of operands, against NumPy.

Operands are arrays, arrays without dimensions, NumPy scalars, and Python
scalars, which are weak (NEP 50). Each pair of dtypes is tried in one pair of
these forms, in turn; NPACCEL_TEST_SWEEP=full tries all of them.
"""

import itertools
import warnings

import numpy as np
import pytest
import torch
from row_checks import ALL, implementation, tensors
from sweep import FULL

import npaccel
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.ufuncs import ufuncs

BINARY = [k.ufunc for k in (*ufuncs.KERNELS, *ufuncs.PRODUCT_KERNELS) if k.ufunc.nin == 2]
DTYPES = [np.dtype(code) for code in ALL]
WIDE = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}
PYTHON = [True, 1, 1.5, 1j]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


FORMS = {
    "array": lambda dtype: np.ones((2, 2), dtype),
    "0-d": lambda dtype: np.ones((), dtype),
    "scalar": lambda dtype: dtype.type(1),
}


def pairs():
    """Yield operands: dtypes in two of the forms, or a dtype and a Python number."""
    forms = list(itertools.product(FORMS, FORMS))
    for i, (left, right) in enumerate(itertools.product(DTYPES, DTYPES)):
        for first, second in forms if FULL else (forms[0], forms[1 + i % (len(forms) - 1)]):
            yield FORMS[first](left), FORMS[second](right)
    for i, (dtype, number) in enumerate(itertools.product(DTYPES, PYTHON)):
        for form in FORMS if FULL else ("array", ("0-d", "scalar")[i % 2]):
            yield FORMS[form](dtype), number
            yield number, FORMS[form](dtype)


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


def _is_wide(x):
    return getattr(x, "dtype", None) in WIDE


def _narrowed(expected, args):
    """Return what is expected of a call in which nothing is wide: of numbers alone, 64 bits."""
    if isinstance(expected, type) or all(isinstance(x, bool | int | float | complex) for x in args):
        return expected
    return [WIDE.get(dtype, dtype) for dtype in expected]


def _weak(x):
    """What a 64-bit float without dimensions is to others, where floats are narrowed."""
    return x.item() if _is_wide(x) else x


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_all_pairs(ufunc):
    run = implementation(ufunc)
    differing = []
    for args in OPERANDS:
        given = tuple(tensors(list(args)))
        expected = _outcome(ufunc, args)
        if _outcome(run, given) != expected:
            differing.append((args, expected))
        if any(_is_wide(x) and x.ndim for x in args):  # Nothing is narrowed in such a call.
            continue
        weak = tuple(map(_weak, args))
        expected = _narrowed(_outcome(ufunc, weak), weak)
        with tracing(TraceSettings(default_float="float32")):
            if _outcome(run, given) != expected:
                differing.append((args, "float32", expected))
    assert not differing


def _dtypes_of(found):
    return [x.dtype for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("default_float", ["float64", "float32"])
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_pairs_through_jit(ufunc, default_float):
    """A few pairs in one function: what the trace makes of scalars is seen here only."""
    rng = np.random.default_rng(len(ufunc.__name__))
    order = [OPERANDS[i] for i in rng.permutation(len(OPERANDS))]
    chosen = [args for args in order if isinstance(_outcome(ufunc, args), list)][
        : 40 if FULL else 4
    ]
    left, right = ([args[i] for args in chosen] for i in (0, 1))
    run = npaccel.jit(
        lambda a, b: [ufunc(x, y) for x, y in zip(a, b, strict=True)],
        backend="eager",
        default_float=default_float,
        cache=False,
        strict=True,
    )
    narrows = default_float == "float32" and not any(map(_is_wide, [*left, *right]))
    for args, found in zip(chosen, run(left, right), strict=True):
        expected = _outcome(ufunc, args)
        if narrows:
            expected = _narrowed(expected, args)
        assert _dtypes_of(found) == expected, args


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
