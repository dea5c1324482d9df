"""Roots of many functions in brackets: each as SciPy finds it alone; systems of equations."""

import numpy as np
import pytest
import scipy.optimize
import torch
from scipy_running import off_a_cpu

import npaccel
import npaccel.scipy as nsp

METHODS = ("brentq", "brenth", "bisect")
POWERS = np.linspace(0.05, 40.0, 60)


def cubes(x, a):
    return x * x * x - a


def waves(x, a):
    """Values of very different size, and a root at an end for a = 0."""
    return (x - a / 20) * (1 + 50 * (x - a / 20) * (x - a / 20))


@pytest.mark.parametrize("function", [cubes, waves])
@pytest.mark.parametrize("method", METHODS)
def test_each_as_alone(method, function):
    many, one = getattr(nsp.optimize, method), getattr(scipy.optimize, method)
    a = torch.from_numpy(POWERS)
    found, told = many(
        function, torch.zeros_like(a), torch.full_like(a, 4.0), args=(a,), full_output=True
    )
    assert told.converged
    for n, power in enumerate(POWERS):
        wanted, known = one(function, 0.0, 4.0, args=(power,), full_output=True)
        assert found[n] == wanted
        assert told.iterations[n] == known.iterations
        assert told.function_calls[n] == known.function_calls


@pytest.mark.parametrize("method", METHODS)
def test_shapes_and_dtypes(method):
    many = getattr(nsp.optimize, method)
    low, high = torch.zeros(3, 1), torch.linspace(2, 5, 4)
    found = many(lambda x: x - 1, low, high, xtol=1e-6)
    assert found.dtype == torch.float32
    assert found.shape == (3, 4)
    torch.testing.assert_close(found, torch.ones(3, 4))
    whole = many(lambda x: x * x - 2, torch.tensor([0, 1]), 2)
    torch.testing.assert_close(whole.double(), torch.full((2,), 2**0.5, dtype=torch.float64))
    assert many(lambda x: x, torch.empty(0), torch.empty(0)).shape == (0,)
    ends = torch.tensor([-1.0, 0.0])
    assert torch.equal(many(lambda x: x, ends, ends + 1), torch.zeros(2))
    turned = many(lambda x: x - 1, torch.tensor([4.0, 3.0]), torch.tensor([0.0, 0.5]))
    torch.testing.assert_close(turned, torch.ones(2))


@pytest.mark.parametrize("method", METHODS)
def test_errors(method):
    many = getattr(nsp.optimize, method)
    a, b = torch.zeros(3), torch.ones(3)
    with pytest.raises(ValueError, match="different signs"):
        many(lambda x: x + 1, a, b)
    with pytest.raises(ValueError, match="NaN"):
        many(lambda x: x * torch.nan, a, b)
    with pytest.raises(ValueError, match="xtol too small"):
        many(lambda x: x - 0.5, a, b, xtol=0)
    with pytest.raises(ValueError, match="rtol too small"):
        many(lambda x: x - 0.5, a, b, rtol=1e-20)
    with pytest.raises(ValueError, match="maxiter"):
        many(lambda x: x - 0.5, a, b, maxiter=-1)
    with pytest.raises(ValueError, match="a root of its own"):
        many(lambda x: (x - 0.5).sum(), a, b)
    with pytest.raises(RuntimeError, match="Failed to converge after 2"):
        many(lambda x: x * x * x - 0.3, a, b, maxiter=2)
    _, told = many(lambda x: x * x * x - 0.3, a, b, maxiter=2, disp=False, full_output=True)
    assert not told.converged


@pytest.mark.parametrize("method", METHODS)
def test_numbers_are_scipys(method):
    found = getattr(nsp.optimize, method)(lambda x: float(x) - 0.25, torch.tensor(0.0), 1.0)
    assert float(found) == getattr(scipy.optimize, method)(lambda x: x - 0.25, 0.0, 1.0)


def test_a_jitted_function_has_roots():
    function = npaccel.jit(lambda x: np.cos(x) - x, backend="eager")
    found = nsp.optimize.brentq(function, torch.zeros(4, dtype=torch.float64), 1.5)
    assert torch.allclose(torch.cos(found), found, rtol=1e-12)


# -- Systems --------------------------------------------------------------------------------------


def circle(p):
    x, y = p[0], p[1]
    return [x * x + y * y - 4, x * y - 1]


def chained(p):
    """Broyden's tridiagonal function (1965), which SciPy's hybrid method solves as well."""
    beside = p * (3 - 2 * p) + 1
    left, right = p[:-1], 2 * p[1:]
    if isinstance(p, torch.Tensor):
        left, right = (
            torch.nn.functional.pad(part, pad) for part, pad in ((left, (1, 0)), (right, (0, 1)))
        )
    else:
        left, right = np.concatenate([[0.0], left]), np.concatenate([right, [0.0]])
    return beside - left - right


SYSTEMS = {"circle": (circle, [2.0, 0.3]), "chained": (chained, [-1.0] * 50)}


@pytest.mark.parametrize("name", SYSTEMS)
def test_roots_of_systems(name):
    function, start = SYSTEMS[name]
    wanted = scipy.optimize.root(function, start)
    found = off_a_cpu("optimize.root")(function, torch.tensor(start, dtype=torch.float64))
    assert found.success
    assert set(wanted) <= set(found)
    np.testing.assert_allclose(found.x.numpy(), wanted.x, rtol=1e-7)
    count = len(start)
    triangle = np.zeros((count, count))
    triangle[np.triu_indices(count)] = found.r.numpy()
    exact = torch.func.jacfwd(lambda p: torch.stack(tuple(function(p))))(found.x).numpy()
    np.testing.assert_allclose(found.fjac.numpy().T @ triangle, exact, atol=1e-10)
    solved = off_a_cpu("optimize.fsolve")(function, torch.tensor(start, dtype=torch.float64))
    assert torch.equal(solved, found.x)


def test_given_derivatives():
    def both(p):
        return p * p - 2, torch.diag(2 * p)

    x0 = torch.tensor([1.0, 3.0], dtype=torch.float64)
    for given in (
        {"fun": both, "jac": True},
        {"fun": lambda p: both(p)[0], "jac": lambda p: both(p)[1]},
    ):
        found = off_a_cpu("optimize.root")(x0=x0, **given)
        assert torch.allclose(found.x, torch.full_like(x0, 2**0.5))


def test_where_there_is_no_root_scipy_says_so():
    nsp.clear_report()
    found = off_a_cpu("optimize.root")(lambda p: p * p + 1, torch.tensor([1.0, 2.0]))
    assert not found.success
    (calls,) = nsp.report()
    assert calls.route == "host"
    assert "no root" in calls.reason


def test_on_a_cpu_systems_are_scipys():
    nsp.clear_report()
    found = nsp.optimize.root(circle, torch.tensor([2.0, 0.3], dtype=torch.float64))
    wanted = scipy.optimize.root(circle, [2.0, 0.3])
    np.testing.assert_array_equal(found.x.numpy(), wanted.x)
    (calls,) = nsp.report()
    assert "MINPACK" in calls.reason
