"""Python's operators in a captured frame: on arrays, on NumPy scalars, over rows."""

import numpy as np
import pytest
from comparing import assert_same, check

import npaccel
from npaccel import errors


def signs(x):
    return abs(x), -x, +x


@pytest.mark.parametrize("dtype", ["int16", "uint16", "float32", "complex128"])
def test_unary_operators(dtype, backend):
    check(signs, np.arange(4).astype(dtype), backend=backend)


def test_result_of_abs_is_an_array():
    check(lambda x: abs(x).astype(np.float32), np.array([True, False]))


def test_inplace_operator_rebinds_a_scalar(backend):
    def f(x):
        total = x.sum()
        total -= x
        return total

    check(f, np.arange(3.0), backend=backend)


def test_inplace_operator_keeps_an_array_without_dimensions():
    def f(x):
        total = x.sum(keepdims=True).reshape(())
        total += x
        return total

    with pytest.raises(ValueError, match="non-broadcastable output"):
        npaccel.jit(f, backend="eager")(np.arange(3.0))


def test_array_of_a_scalar_is_a_copy(backend):
    def f(x):
        a = np.asarray(x)
        a[...] = 7
        return a, x

    check(f, np.float32(2), backend=backend)


def test_rows_between_breaks():
    def f(x):
        y = x * 2 if x.sum() > 0 else x
        return np.array([row.sum() + i for i, row in enumerate(y)])

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning):
        jitted(np.ones((3, 2)))
    for n in (2, 5, 6):
        x = np.ones((n, 2))
        assert_same(jitted(x), f(x))


def test_piece_that_fails_runs_in_numpy():
    def f(x, y):
        if x.sum() > 0:
            x = x + 1
        return x + y

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning), pytest.raises(ValueError, match="broadcast"):
        jitted(np.ones(3), np.ones(2))


def test_answers_that_are_python_bools(backend):
    def f(x, y):
        return np.allclose(x, y), np.array_equal(x, y), np.array_equiv(x, y)

    check(f, np.ones(3), np.ones(3), backend=backend)


ASKED_OF_ANSWERS = {
    "item": lambda x: np.allclose(x, x)[0],
    "item at itself": lambda x: np.allclose(x, x)[np.array_equal(x, x)],
    "membership": lambda x: 0 in np.allclose(x, x),
    "iteration": lambda x: [y + 1 for y in np.allclose(x, x)],
    "length": lambda x: len(np.array_equal(x, x)),
    "method": lambda x: np.allclose(x, x).any(),
    "attribute": lambda x: np.allclose(x, x).shape,
    "real": lambda x: (np.allclose(x, x).real, np.allclose(x, -x).imag),
    "of ints": lambda x: np.allclose(x, x).bit_length(),
    "item of a float": lambda x: float(x[0])[0],
    "item of an item": lambda x: x.item(0)[0],
    "item of a scalar": lambda x: x.sum()[0],
}


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("name", ASKED_OF_ANSWERS)
def test_what_numbers_of_pythons_have_not(name):
    """A bool of Python's has no items and no methods of arrays: NumPy's error comes."""
    function, x = ASKED_OF_ANSWERS[name], np.arange(3.0)
    jitted = npaccel.jit(function, backend="eager", compile="now")
    wanted, error = outcome(function, x)
    for _ in range(2):
        found, raised = outcome(jitted, x)
        assert (type(raised), str(raised)) == (type(error), str(error))
        assert_same(found, wanted)


def outcome(function, x):
    try:
        return function(x), None
    except (TypeError, AttributeError, IndexError) as error:
        return None, error


def test_answer_between_breaks():
    def f(x):
        same = np.allclose(x, 1)
        print()
        return same, float(x.sum())

    jitted = npaccel.jit(f, backend="eager")
    with pytest.warns(errors.PerformanceWarning):
        assert_same(jitted(np.ones(3)), f(np.ones(3)))


def test_sizes_that_are_rounded():
    def f(x):
        return np.arange(2, x.shape[0], 0.5) * 2

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for n in (4, 6, 9, 9, 3):
        assert_same(jitted(np.ones(n)), f(np.ones(n)))


def test_an_item_keeps_its_value(backend):
    def f(x):
        first = x[0]
        rows = [one for one in x]  # noqa: C416 (iteration is what is tested)
        x[...] = 7
        return first, rows[1]

    check(f, np.arange(3), backend=backend)


@pytest.mark.parametrize("f", [lambda x: bool(x.any()), lambda x: not x.all()])
def test_truth_values_are_python_bools(f):
    jitted = npaccel.jit(f, backend="eager")
    with pytest.warns(errors.PerformanceWarning):
        assert_same(jitted(np.ones(3)), f(np.ones(3)))


def test_sizes_that_the_data_decide():
    def f(x):
        y = np.roll(x, 1)
        y[:] = np.unique(x)
        return y

    jitted = npaccel.jit(f, backend="eager")
    assert_same(jitted(np.array([1, 2])), f(np.array([1, 2])))
    with pytest.warns(errors.PerformanceWarning):
        assert_same(jitted(np.array([1, 1])), f(np.array([1, 1])))


def test_array_without_dimensions_stored_in_its_own_view(backend):
    def f(x):
        y = np.ones(x.shape)
        y[None] = y
        return y + x

    check(f, np.array(2.0), backend=backend)


def test_a_view_is_another_object(backend):
    check(lambda x: (x[...] is x, np.asarray(x) is x, x + 1), np.ones(2), backend=backend)


def test_functions_that_keep_scalars(backend):
    def f(x):
        total = x.sum()
        return np.squeeze(total), np.real(total), np.imag(total), np.transpose(total), total.T

    check(f, np.arange(3.0), backend=backend)


def test_the_item_of_an_array_without_dimensions_keeps_its_value(backend):
    def f(x):
        item = x[()]
        x[...] = 7
        return item

    check(f, np.array(2.0), backend=backend)


def test_sizes_that_the_data_decide_between_breaks():
    def f(x):
        y = float(x.sum())
        print()
        return np.bincount(x) + x + y

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning):
        assert_same(jitted(np.array([1, 1])), f(np.array([1, 1])))
    with pytest.raises(ValueError, match="broadcast"):
        jitted(np.array([1, 1, 3]))
