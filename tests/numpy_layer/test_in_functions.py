"""NumPy calls that only a traced function can get wrong: what is returned, assigned, refused."""

import functools
import re
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel


def both(function, *args):
    """Return what a function gives when it's compiled, and in NumPy, and the arrays after each."""
    outcomes = []
    for call in (npaccel.jit(function, backend="eager", strict=True, cache=False), function):
        given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        outcomes.append((call(*given), given))
    return outcomes


def set_flat(a):
    a.flat = 3.0
    a.T.flat = np.arange(a.size)
    return a


def set_parts(a):
    a.real = np.arange(a.shape[-1])
    a.imag = 2
    return a


@pytest.mark.parametrize(
    ("function", "array"), [(set_flat, np.zeros((2, 3))), (set_parts, np.zeros((2, 3), complex))]
)
def test_attributes_are_assigned(function, array):
    (found, (mine,)), (expected, (theirs,)) = both(function, array)
    assert_same(found, expected)
    assert_same(mine, theirs)


A, B = np.array([2.0, 1.0, 7.0]), np.arange(4)


@pytest.mark.parametrize(
    "function",
    [
        divmod,
        np.setdiff1d,
        np.setxor1d,
        lambda a, b: np.intersect1d(a, b, return_indices=True),
        lambda a, b: np.interp(a[0], b, b * 2.0),
        lambda a, b: np.sum(a, dtype=complex),
        lambda a, b: np.zeros(2, np.common_type(a)),
    ],
)
def test_calls_are_compiled(function):
    b = B if function is not divmod else B[1:]
    (found, _), (expected, _) = both(function, A, b)
    assert_same(found, expected)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "max", "any", "argmin", "round", "clip", "take", "var"]
)
def test_a_scalar_and_an_out_give_a_scalar(name):
    arguments = {"clip": (0, 1), "take": (0,)}.get(name, ())
    out = np.array(1) if name == "argmin" else np.array(1.0)
    (found, mine), (expected, theirs) = both(
        lambda x, out: getattr(np, name)(x, *arguments, out=out), np.float64(2.5), out
    )
    assert type(found) is type(expected)
    assert found == expected
    assert mine[1] == theirs[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda a, x: np.unstack(a) if hasattr(np, "unstack") else (),
        lambda a, x: np.kron(x, 2.0),
        lambda a, x: np.reshape(x, ()),
        lambda a, x: x.reshape(()),
        lambda a, x: np.array(1).choose([x, 3.0]),
        lambda a, x: (np.real(a[0]), np.imag(np.array(x)), np.lexsort([np.array(2)])),
    ],
)
def test_scalars_are_scalars(function):
    (found, _), (expected, _) = both(function, A, np.float64(2.5))
    assert_same(found, expected)


@pytest.mark.parametrize("count", [2, 4])
def test_a_mask_takes_one_value_for_each_true_element(count):
    def store(a, mask, values):
        a[mask] = values
        return a

    mask = np.array([True, False, True, True])
    fast = npaccel.jit(store, backend="eager", strict=True, cache=False)
    with pytest.raises(ValueError, match="cannot assign"):
        fast(np.zeros(4), mask, np.arange(float(count)))


def test_a_scalar_has_no_methods_of_arrays_alone():
    fast = npaccel.jit(lambda x: (x * 2).dot(3), backend="eager", cache=False)
    with pytest.raises(AttributeError):  # Without a warning: the user's own error is enough.
        fast(np.float64(2))


@pytest.mark.parametrize("x", [np.array(True), np.True_, np.array(-np.inf), np.float64(-np.inf)])
@pytest.mark.parametrize("exponent", [2, 0.5, 1, -1.0])
def test_powers_of_arrays_without_dimensions_take_the_paths_of_arrays(x, exponent):
    def f(x):
        y = x + 0
        y **= exponent
        return x**exponent, y, np.exp(-(x**exponent))

    with np.errstate(all="ignore"):
        try:
            expected = f(x)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                npaccel.jit(f, backend="eager", default_float="float64")(x)
            return
        found = npaccel.jit(f, backend="eager", default_float="float64")(x)
    for ours, theirs in zip(found, expected, strict=True):
        assert type(ours) is type(theirs)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64, np.float64, np.bool_])
@pytest.mark.parametrize("given", [np.array(4), np.array(4, np.int8), np.array(4.0), np.array([4])])
def test_a_scalar_type_makes_scalars_of_its_own_dtype_too(dtype, given):
    (found, _), (expected, _) = both(lambda x: dtype(x), given.astype(dtype))
    assert_same(found, expected)


@pytest.mark.parametrize("number", [-3, 70000, 2**40, 3])
@pytest.mark.parametrize("x", [np.array(8, np.uint16), np.array([8], np.uint8), np.uint16(8)])
def test_numbers_wrap_around_in_where(x, number):
    mask = np.array([[True, False]])
    try:
        np.where(mask, x, number)
    except OverflowError as error:  # from NumPy 2.5 on
        compiled = npaccel.jit(lambda c, x: np.where(c, x, number), backend="eager")
        with pytest.raises(OverflowError, match=re.escape(str(error))):
            compiled(mask, x)
        return
    (found, _), (expected, _) = both(lambda c, x: np.where(c, x, number), mask, x)
    assert_same(found, expected)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="NumPy 2.1 brought unstack")
def test_unstack_takes_a_sequence_of_one_axis():
    x = np.arange(6.0).reshape(2, 3)
    (found, _), (expected, _) = both(lambda x: np.unstack(x, axis=(-1,)), x)
    assert_same(found, expected)
    with pytest.raises(ValueError, match="same number of elements"):
        npaccel.jit(lambda x: np.unstack(x, axis=(0, 1)), backend="eager")(x)


def test_the_polynomial_without_zeros_is_a_python_float():
    (found, _), (expected, _) = both(np.poly, np.array([]))
    assert_same(found, expected)


#: Methods and ufuncs that take one array alone.
HOST = {"dump", "dumps", "item", "resize", "setflags", "to_device", "tobytes", "tofile", "tolist"}
METHODS = [
    name
    for name in sorted(set(dir(np.ndarray)) - HOST)
    if name[0] != "_" and callable(getattr(np.ndarray, name))
]
UFUNCS = [value for value in vars(np).values() if isinstance(value, np.ufunc) and value.nin == 1]


@pytest.mark.parametrize("dtype", ["?", "u8", "f2", "F", "D"])
def test_scalars_and_arrays_of_methods_without_dimensions(dtype):
    calls = [functools.partial(called, name) for name in METHODS]
    calls = [call for call in (*calls, *UFUNCS) if does(call, np.array(1, dtype))]

    def f(v):
        return [call(v) for call in calls]

    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False, dynamic=False)
    for x in (np.array(1, dtype), np.array(1, dtype)[()]):
        with np.errstate(all="ignore"):
            expected = f(x)
        for call, got, wanted in zip(calls, jitted(x), expected, strict=True):
            assert type(got) is type(wanted), (call, x)


def called(name, v):
    return getattr(v, name)()


def does(call, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(x) is not None and call(x[()]) is not None
        except (TypeError, ValueError):
            return False


def of_two_scalars(a, b):
    return np.broadcast_arrays(a, b)


@pytest.mark.parametrize("given", [(np.int32(7), np.uint32(1)), (np.float64(1), np.array(2.0))])
def test_scalars_are_broadcast_to_arrays(given):
    compiled = npaccel.jit(of_two_scalars, backend="eager")
    for _ in range(2):
        found = compiled(*given)
        assert [type(x) for x in found] == [np.ndarray, np.ndarray]
        assert [x.dtype for x in found] == [x.dtype for x in given]


def dot_into(a, b, out):
    return np.dot(a, b, out=out), a.dot(b, out=out)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_dot_gives_a_scalar_beside_an_out_without_dimensions(shape):
    a, b = np.ones(shape), np.ones(shape[-1:])
    compiled = npaccel.jit(dot_into, backend="eager", default_float="float64")
    for _ in range(2):
        outs = [np.zeros(shape[:-1]) for _ in range(2)]
        expected, found = dot_into(a, b, outs[0]), compiled(a, b, outs[1])
        assert [type(x) for x in found] == [type(x) for x in expected]
        assert [x is outs[1] for x in found] == [x is outs[0] for x in expected]
        np.testing.assert_array_equal(outs[1], outs[0])
