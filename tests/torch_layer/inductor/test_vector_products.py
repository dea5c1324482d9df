"""Products with vectors, in kernels of npaccel's own."""

import numpy as np
import pytest
from sweep import FULL

import npaccel

#: More elements than one thread takes, and rests of vectors, of rows and of blocks.
SHAPES = [(257, 129), (3, 40001), (40001, 3), (1, 50000), (50000, 1), (20, 5003)]


def by_rows(m, x, y):
    return m @ x, np.matvec(m, x), np.dot(m, x)


def by_columns(m, x, y):
    return y @ m, np.vecmat(y, m), np.dot(y, m)


def of_all(m, x, y):
    flat = m.ravel()
    return np.vdot(m, m), flat @ flat, np.dot(flat, flat[::-1])


def in_between(m, x, y):
    return np.tanh((m * 2 + 1) @ x), (y - 1) @ m + 1, m.T @ y, m[:, ::2] @ x[::2]


def check(function, shape, dtype):
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(n).astype(dtype) for n in (shape, shape[1], shape[0])]
    compiled = npaccel.jit(function, default_float="float64", strict=True)
    expected, found = function(*given), compiled(*given)
    for a, b in zip(expected, found, strict=True):
        assert (type(b), b.dtype, np.shape(b)) == (type(a), a.dtype, np.shape(a))
        scale = np.sqrt(max(shape)) * np.finfo(dtype).eps
        np.testing.assert_allclose(b, a, rtol=60 * scale, atol=60 * scale)
    return compiled


def transposed(m, x, y):
    return m.T @ y, x @ m.T, np.dot(m.T, y), np.vecmat(x, np.swapaxes(m, 0, 1))


FUNCTIONS = [by_rows, by_columns, of_all, in_between, transposed]


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_products_are_numpys(function, dtype):
    place, step = FUNCTIONS.index(function), {"d": 2, "f": 4}[dtype]
    for shape in SHAPES if FULL else SHAPES[place % step :: step]:
        check(function, shape, dtype)


@pytest.mark.inductor
def test_what_is_not_finite_comes_out_as_in_numpy():
    m = np.ones((300, 200))
    m[0, 3], m[1, 100], m[2, 199], m[2, 0] = np.inf, np.nan, np.inf, -np.inf
    x = np.ones(200)
    with np.errstate(invalid="ignore"):
        expected = m @ x
    np.testing.assert_array_equal(
        npaccel.jit(lambda m, x: m @ x, default_float="float64")(m, x), expected
    )


@pytest.mark.inductor
def test_operands_that_are_computed_stay_out_of_memory():
    """One loop reads the matrix, computes and adds."""
    m, x = np.ones((300, 200)), np.ones(200)
    plain = npaccel.jit(lambda m, x: m @ x, default_float="float64")
    fused = npaccel.jit(lambda m, x: (m * 2 + 1) @ x, default_float="float64")
    plain(m, x)
    fused(m, x)
    assert "cpp_own" in plain.source()
    assert "cpp_own" not in fused.source()
    assert fused.source().count("empty_strided_cpu((300, 200)") == 0


def test_gradients_go_through():
    torch = pytest.importorskip("torch")
    m, x = torch.ones((300, 200), requires_grad=True), torch.ones(200)
    npaccel.jit(lambda m, x: (m @ x).sum(), backend="eager")(m, x).backward()
    assert bool((m.grad == 1).all())


def logistic(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z)


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_derivatives_of_products(dtype):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((5001, 17)).astype(dtype), rng.standard_normal(17).astype(dtype)
    y = (rng.random(5001) < 0.5).astype(dtype)
    gradient = npaccel.grad(logistic)
    found = gradient(w, x, y)
    chance = 1 / (1 + np.exp(-(x @ w).astype("d")))
    expected = x.T.astype("d") @ (chance - y) / len(y)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, expected, rtol=1e4 * np.finfo(dtype).eps, atol=1e-7)
    assert "add_rows" in gradient.source()
