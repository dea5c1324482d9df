"""What can't be transformed is an error that names the line, never a value without its gradient."""

from pathlib import Path

import numpy as np
import pytest

import npaccel

X = np.linspace(0.1, 1.0, 4)
shared = np.zeros(3)
kept = []


@pytest.fixture(autouse=True)
def interpreted():
    with npaccel.options(backend="eager"):
        yield


def writes_elsewhere(x):
    shared[0] = np.sum(x)
    return np.sum(x * x)


def leaks(x):
    kept.append(x * 2)
    return np.sum(x * x)


def prints(x):
    y = x * 2
    print("here")
    return np.sum(y)


def branches(x):
    if x[0] > 0:
        return np.sum(x)
    return np.sum(x * x)


@pytest.mark.parametrize(
    ("function", "line", "text"),
    [
        (writes_elsewhere, "shared[0]", r"writes to an array that it doesn't own"),
        (leaks, "kept.append", r"leaves it in another way than as its result"),
        (prints, "print", r"`print` has no compiled implementation"),
        (branches, "if x[0]", r"the way from here depends on values of arrays"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"strict": False, "compile": "auto"}])
def test_that_the_line_is_named(function, line, text, options, capsys):
    jitted = npaccel.jit(function, **options)
    with pytest.raises(npaccel.NotCompiledError, match=text) as caught:
        npaccel.grad(jitted)(X)
    where = str(caught.value).partition(".py:")[2].partition(":")[0]
    assert line in Path(__file__).read_text().splitlines()[int(where) - 1]
    kept.clear()
    with pytest.raises(npaccel.NotCompiledError, match=text):
        npaccel.grad(jitted)(X)
    kept.clear()


def test_types():
    with pytest.raises(TypeError, match=r"an argument to differentiate is int64 of shape \(3,\)"):
        npaccel.grad(np.sum)(np.arange(3))
    with pytest.raises(TypeError, match=r"an argument to differentiate is of type int"):
        npaccel.grad(lambda x: x * 2.0)(3)
    with pytest.raises(TypeError, match=r"an argument to differentiate is complex128"):
        npaccel.grad(lambda x: np.sum(np.abs(x)))(X + 0j)
    with pytest.raises(
        TypeError, match=r"return one number, but returned what is float64 of shape"
    ):
        npaccel.grad(lambda x: x * 2)(X)
    with pytest.raises(TypeError, match=r"return a real float, but returned what is int64"):
        npaccel.grad(lambda x: np.argmax(x))(X)
    with pytest.raises(TypeError, match=r"function returned what is bool of shape"):
        npaccel.jacobian(lambda x: x > 0.5)(X)
    with pytest.raises(TypeError, match=r"no array among the arguments to differentiate"):
        npaccel.grad(lambda x: 1.0)(None)


def test_that_errors_of_numpy_come_first():
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        npaccel.grad(lambda a: np.sum(np.linalg.inv(a)))(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="could not be broadcast"):
        npaccel.grad(lambda x: np.sum(x + np.ones(3)))(X)
    with pytest.raises(ZeroDivisionError):
        npaccel.grad(lambda x: np.sum(x) * (1 / 0))(X)


def test_that_transforms_go_on_where_functions_run_in_numpy():
    gradient = npaccel.grad(np.sum)
    with npaccel.disabled():
        assert np.array_equal(gradient(X), np.ones(4))
    with np.errstate(all="raise"), pytest.raises(npaccel.NotCompiledError, match="errstate"):
        gradient(X)
    with pytest.raises(npaccel.NotCompiledError, match="not the function in its `__wrapped__`"):
        gradient.__wrapped__(X)


def test_a_jitted_function_whose_calls_numpy_makes_at_first():
    @npaccel.jit(compile="auto")
    def descent(w, count):
        for _ in range(count):
            w = w - 0.1 * npaccel.grad(lambda w: np.sum(w**2))(w)
        return w

    for _ in range(4):
        np.testing.assert_allclose(descent(X, 3), X * 0.8**3)


def test_a_size_that_depends_on_the_data_and_is_another_one_is_refused():
    def function(x):
        return np.sum(x[x > 0][:3] * np.arange(3.0))

    with npaccel.options(backend="eager"):
        gradient = npaccel.grad(function)
        np.testing.assert_array_equal(gradient(np.array([1.0, 2, 3, -1])), [0, 1, 2, 0])
        with pytest.raises(ValueError, match="could not be broadcast"):  # NumPy's own.
            gradient(np.array([1.0, 2, -3, -1]))
        with pytest.raises(npaccel.errors.NotCompiledError, match=r"np.where\(mask, a, b\)"):
            gradient(np.array([1.0, -2, -3, -1]))
