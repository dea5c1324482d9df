"""Functions of matrices, bands and filters whose steps depend on values, in jitted functions."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.signal

import npaccel

OPTIONS = {"cache": False, "compile": "now", "default_float": "float64"}
RNG = np.random.default_rng(1)
N = 4
W = RNG.normal(size=(N, N))
#: Of positive eigenvalues, not symmetric.
A = W @ W.T + 2 * np.eye(N) + W / 9
B = RNG.normal(size=(N, 2))
BANDS = RNG.normal(size=(4, N)) + np.array([[0], [0], [7], [0]])
HERMITIAN = abs(RNG.normal(size=(3, N))) + np.array([[0], [0], [9]])


def jitted(function, backend="eager", strict=True):
    return npaccel.jit(function, backend=backend, strict=strict, **OPTIONS)


MATRICES = {
    "sqrtm": lambda a: sl.sqrtm(a),
    "logm": lambda a: sl.logm(a),
    "signm": lambda a: sl.signm(a - 3 * np.eye(N)),
    "power": lambda a: sl.fractional_matrix_power(a, -0.3),
}
SOLUTIONS = {
    "solve_banded": lambda ab, b: sl.solve_banded((1, 2), ab, b),
    "vector": lambda ab, b: sl.solve_banded((1, 2), ab, b[:, 0]),
    "solveh_banded": lambda ab, b: sl.solveh_banded(ab[:3] + HERMITIAN, b),
    "lower": lambda ab, b: sl.solveh_banded((ab[:3] + HERMITIAN)[::-1], b, lower=True),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_matrices(name, dtype):
    f, a = MATRICES[name], A.astype(dtype)
    call = jitted(f)
    for _ in range(2):
        wanted, found = f(a), call(a)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SOLUTIONS)
def test_bands(name, dtype):
    f, arrays = SOLUTIONS[name], (BANDS.astype(dtype), B.astype(dtype))
    wanted, found = f(*arrays), jitted(f)(*arrays)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.inductor
def test_in_compiled_code():
    def f(a, ab, b):
        return sl.sqrtm(a) * 2, sl.solve_banded((1, 2), ab, b) + 1

    call = jitted(f, "inductor")
    for _ in range(2):
        for wanted, found in zip(f(A, BANDS, B), call(A, BANDS, B), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_a_result_that_is_complex_is_left_to_scipy():
    call = jitted(lambda a: sl.sqrtm(a) + 0, strict=False)
    for a in (A, -A, A):
        wanted, found = sl.sqrtm(a), call(a)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


WRONG = {
    "singular": (lambda ab, b: sl.solve_banded((1, 2), ab * 0, b), BANDS),
    "rows": (lambda ab, b: sl.solve_banded((1, 2), ab, b), BANDS[:3]),
    "indefinite": (lambda ab, b: sl.solveh_banded(-ab, b), abs(BANDS)),
    "nan": (lambda ab, b: sl.solve_banded((1, 2), ab, b), BANDS * np.nan),
    "empty": (lambda ab, b: sl.sqrtm(ab) + b[0, 0], np.zeros((2, 3))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG)
def test_errors_are_scipys(name):
    f, ab = WRONG[name]
    with pytest.raises(ValueError) as wanted:  # noqa: PT011 (it's compared)
        f(ab, B)
    with pytest.raises(type(wanted.value)) as found:
        jitted(f, strict=False)(ab, B)
    assert str(found.value) == str(wanted.value)


def slopes(f, x, step=1e-6):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        found[place] = (f(x + moved) - f(x - moved)) / (2 * step)
    return found


@pytest.mark.parametrize("name", MATRICES)
def test_gradients_of_functions_of_matrices(name):
    def f(a):
        return (MATRICES[name](a) * W).sum()

    with npaccel.options(backend="eager"):
        found = npaccel.grad(f)(A)
    np.testing.assert_allclose(found, slopes(f, A), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_gradients_of_bands(name):
    def f(ab, b):
        return (SOLUTIONS[name](ab, b) ** 2).sum()

    with npaccel.options(backend="eager"):
        by_bands, by_right = npaccel.grad(f, argnums=(0, 1))(BANDS, B)
    wanted = slopes(lambda ab: f(ab, B), BANDS)
    np.testing.assert_allclose(by_bands, wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(by_right, slopes(lambda b: f(BANDS, b), B), rtol=1e-5, atol=1e-7)


def test_batches():
    found = npaccel.vmap(lambda a: sl.sqrtm(a))(np.stack([A, A + np.eye(N)]))
    np.testing.assert_allclose(found, [sl.sqrtm(A), sl.sqrtm(A + np.eye(N))], rtol=1e-10)


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("given", [False, True])
def test_sections_forward_and_backward(order, given):
    sections = scipy.signal.butter(order, 0.2, output="sos")
    x = RNG.normal(size=(2, 80))

    def designed(x):
        sections = scipy.signal.butter(order, 0.2, output="sos")
        return scipy.signal.sosfiltfilt(sections, x)

    wanted = designed(x)
    if given:
        found = jitted(lambda s, x: scipy.signal.sosfiltfilt(s, x))(sections, x)
    else:
        found = jitted(designed)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
