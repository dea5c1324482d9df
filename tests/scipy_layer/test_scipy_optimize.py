"""Minimisers, fits, roots and paths on tensors: they end where SciPy's do."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import torch

import npaccel.scipy as nsp
from npaccel.errors import NotCompiledError

START = np.array([-1.2, 1.0, 0.7, -0.3, 1.4])
METHODS = ["BFGS", "CG", "Newton-CG", "L-BFGS-B", "Nelder-Mead"]


@pytest.fixture(autouse=True)
def cleared():
    nsp.clear_report()


def routes():
    return {calls.route for calls in nsp.report() if "optimize" in calls.name}


def valley(p):
    return (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()


def on_tensor(dtype=torch.float64):
    return torch.tensor(START, dtype=dtype)


@pytest.mark.parametrize("method", METHODS)
def test_minimum(method):
    found = nsp.optimize.minimize(valley, on_tensor(), method=method, options={"maxiter": 5000})
    jac = scipy.optimize.rosen_der if method == "Newton-CG" else None
    options = {"maxiter": 5000}
    wanted = scipy.optimize.minimize(valley, START, method=method, jac=jac, options=options)
    assert routes() == {"native"}
    assert (found.success, found.status) == (wanted.success, wanted.status)
    assert found.message == wanted.message
    assert set(wanted) <= set(found)
    assert found.fun.item() <= wanted.fun + 1e-8
    np.testing.assert_allclose(found.x.numpy(), wanted.x, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays(method):
    start = torch.full((4,), 0.5)
    found = nsp.optimize.minimize(valley, start, method=method)
    assert found.x.dtype is torch.float32
    assert found.fun.item() < 1e-2


def test_nelder_mead_goes_scipys_way():
    found = nsp.optimize.minimize(valley, on_tensor(), method="nelder-mead", tol=1e-3)
    wanted = scipy.optimize.minimize(valley, START, method="nelder-mead", tol=1e-3)
    assert (found.nit, found.nfev) == (wanted.nit, wanted.nfev)
    np.testing.assert_allclose(found.x.numpy(), wanted.x, rtol=1e-9)


@pytest.mark.parametrize("method", ["L-BFGS-B", "Nelder-Mead"])
@pytest.mark.parametrize("as_object", [False, True])
def test_bounds(method, as_object):
    bounds = [(None, 0.8), (-0.5, 0.3), (0, None), (-2, 2), (0.1, 0.2)]
    if as_object:
        bounds = scipy.optimize.Bounds(*np.array([[-9, -0.5, 0, -2, 0.1], [0.8, 0.3, 9, 2, 0.2]]))
    start = np.clip(START, -0.5, 0.15)
    options = {"maxiter": 4000}
    found = nsp.optimize.minimize(
        valley, torch.from_numpy(start), method=method, bounds=bounds, options=options
    )
    wanted = scipy.optimize.minimize(
        valley,
        start,
        method=method,
        bounds=bounds,
        jac=None if method == "Nelder-Mead" else scipy.optimize.rosen_der,
        options=options,
    )
    assert found.success
    assert routes() == {"native"}
    np.testing.assert_allclose(found.x.numpy(), wanted.x, atol=2e-3)
    assert found.fun.item() == pytest.approx(wanted.fun, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_limits_of_iterations_and_halts(method):
    found = nsp.optimize.minimize(valley, on_tensor(), method=method, options={"maxiter": 2})
    wanted = scipy.optimize.minimize(
        valley,
        START,
        method=method,
        jac=scipy.optimize.rosen_der if method != "Nelder-Mead" else None,
        options={"maxiter": 2},
    )
    assert (found.status, found.message, found.nit) == (wanted.status, wanted.message, wanted.nit)
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 3:
            raise StopIteration

    found = nsp.optimize.minimize(valley, on_tensor(), method=method, callback=callback)
    assert len(seen) == 3
    assert (found.status, found.success) == (99, False)


def test_large_problem_by_limited_memory():
    target = torch.linspace(-1, 1, 20_000, dtype=torch.float64)
    weights = torch.linspace(1, 100, 20_000, dtype=torch.float64)
    found = nsp.optimize.minimize(
        lambda p: (weights * (p - target) ** 2).sum(), torch.zeros_like(target), method="L-BFGS-B"
    )
    assert found.success
    assert torch.allclose(found.x, target, atol=1e-4)
    inverse = found.hess_inv
    assert (inverse @ target).shape == target.shape


def test_jac_of_the_users_own():
    def both(p):
        return valley(p), torch.autograd.functional.jacobian(valley, p)

    found = nsp.optimize.minimize(both, on_tensor(), method="BFGS", jac=True)
    assert found.success
    assert found.hess_inv.shape == (5, 5)


def test_what_torch_cannot_differentiate_goes_through_the_host():
    found = nsp.optimize.minimize(lambda p: float(valley(p)), on_tensor(), method="BFGS")
    assert found.fun < 1e-8
    assert routes() == {"host"}


def test_an_error_of_the_users_own():
    def broken(p):
        raise ZeroDivisionError("by the user")

    with pytest.raises(ZeroDivisionError, match="by the user"):
        nsp.optimize.minimize(broken, on_tensor())


def test_unknown_options_are_told():
    with pytest.warns(scipy.optimize.OptimizeWarning, match="Unknown solver options: speed"):
        nsp.optimize.minimize(valley, on_tensor(), options={"speed": 3})


# -- Least squares --------------------------------------------------------------------------

TIMES = np.linspace(0, 4, 60)
DATA = 2.5 * np.exp(-1.3 * TIMES) + 0.5 + 0.01 * np.sin(37 * TIMES)


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


def decay_of_tensors(t, a, b, c):
    return a * torch.exp(-b * t) + c


@pytest.fixture(params=["native", "host"])
def route(request, monkeypatch):
    """Fit on tensors, too, where MINPACK would do on a CPU."""
    if request.param == "native":
        module = "npaccel._scipy.optimize.least_squares"
        monkeypatch.setattr(f"{module}.free_for_scipy", lambda _: False)
    return request.param


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("method", [None, "trf"])
def test_curve(dtype, method, route):
    t, y = (torch.tensor(v, dtype=dtype) for v in (TIMES, DATA))
    popt, pcov = nsp.optimize.curve_fit(decay_of_tensors, t, y, method=method)
    wanted, covariance = scipy.optimize.curve_fit(decay, TIMES, DATA, method=method)
    assert popt.dtype is dtype
    np.testing.assert_allclose(popt.numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(pcov.numpy(), covariance, rtol=1e-4)
    assert routes() == {route}


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.usefixtures("route")
def test_curve_with_errors(absolute, full):
    sigma = 0.01 + 0.002 * TIMES
    sigma = np.diag(sigma**2) + 1e-6 if full else sigma
    known = {"sigma": sigma, "absolute_sigma": absolute}
    wanted, covariance = scipy.optimize.curve_fit(decay, TIMES, DATA, [1, 1, 1], **known)
    known["sigma"] = torch.from_numpy(sigma)
    t, y = torch.from_numpy(TIMES), torch.from_numpy(DATA)
    popt, pcov = nsp.optimize.curve_fit(decay_of_tensors, t, y, [1, 1, 1], **known)
    np.testing.assert_allclose(popt.numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(pcov.numpy(), covariance, rtol=1e-4)


@pytest.mark.parametrize("method", ["trf", "lm", "dogbox"])
def test_least_squares(method):
    def apart(p):
        return decay_of_tensors(torch.from_numpy(TIMES), *p.unbind()) - torch.from_numpy(DATA)

    start = torch.ones(3, dtype=torch.float64)
    found = nsp.optimize.least_squares(apart, start, method=method)
    wanted = scipy.optimize.least_squares(
        lambda p: decay(TIMES, *p) - DATA, np.ones(3), method=method
    )
    assert found.success
    assert set(wanted) <= set(found)
    np.testing.assert_allclose(found.x.numpy(), wanted.x, rtol=1e-6)
    np.testing.assert_allclose(found.jac.numpy(), wanted.jac, rtol=1e-4, atol=1e-6)
    assert found.cost.item() == pytest.approx(wanted.cost, rel=1e-9)
    assert found.active_mask.tolist() == wanted.active_mask.tolist()


def test_least_squares_with_bounds():
    def apart(p):
        return decay_of_tensors(torch.from_numpy(TIMES), *p.unbind()) - torch.from_numpy(DATA)

    bounds = ([0, 0, 0.6], [2.0, 5, 9])
    start = torch.tensor([1, 1, 0.7], dtype=torch.float64)
    found = nsp.optimize.least_squares(apart, start, bounds=bounds)
    wanted = scipy.optimize.least_squares(
        lambda p: decay(TIMES, *p) - DATA, [1, 1, 0.7], bounds=bounds, method="dogbox"
    )
    np.testing.assert_allclose(found.x.numpy(), wanted.x, rtol=1e-5)
    assert found.active_mask.tolist() == wanted.active_mask.tolist()


def test_rosenbrock_by_least_squares():
    found = nsp.optimize.least_squares(
        lambda p: torch.stack([10 * (p[1] - p[0] ** 2), 1 - p[0]]), on_tensor()[:2]
    )
    np.testing.assert_allclose(found.x.numpy(), [1, 1], rtol=1e-7)


def test_gradients_are_not_asked_of_the_host():
    start = on_tensor().requires_grad_()
    assert nsp.optimize.minimize(valley, start).success
    with pytest.raises(NotCompiledError, match="requires gradients"):
        nsp.optimize.minimize(valley, start, method="Powell")


# -- Roots ----------------------------------------------------------------------------------


def test_roots_with_all_there_is_to_tell():
    w = np.array([0.5, 2.0, 9.0])
    found = nsp.optimize.newton(
        lambda t: t**2 - torch.from_numpy(w), torch.ones(3, dtype=torch.float64), full_output=True
    )
    wanted = scipy.optimize.newton(lambda t: t**2 - w, np.ones(3), full_output=True)
    np.testing.assert_allclose(found.root.numpy(), wanted.root, rtol=1e-12)
    assert found.converged.all()
    assert not found.zero_der.any()


def test_roots_where_some_fail():
    start = torch.tensor([1.0, 3.0], dtype=torch.float64)
    shift = torch.tensor([-2.0, 1.0], dtype=torch.float64)
    with pytest.warns(RuntimeWarning, match="some failed to converge"):
        nsp.optimize.newton(lambda t: t**2 + shift, start, lambda t: 2 * t, maxiter=8)


# -- Paths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("end", [4.0, -3.0])
def test_dense_output(method, end):
    start = np.array([1.0, 0.2, -0.5])
    named = {"method": method, "dense_output": True, "rtol": 1e-6}
    wanted = scipy.integrate.solve_ivp(lambda t, y: np.sin(t) * y, (0, end), start, **named)
    found = nsp.integrate.solve_ivp(
        lambda t, y: np.sin(t) * y, (0, end), torch.from_numpy(start), **named
    )
    times = np.linspace(0, end, 31)
    assert isinstance(found.sol, scipy.integrate.OdeSolution)
    at = found.sol(torch.from_numpy(times))
    np.testing.assert_allclose(at.numpy(), wanted.sol(times), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.sol(end / 3).numpy(), wanted.sol(end / 3), rtol=1e-10)
    assert found.nfev == wanted.nfev
    np.testing.assert_allclose(found.y.numpy(), wanted.y, rtol=1e-10)


def test_dense_output_where_times_are_asked_for():
    named = {"dense_output": True, "t_eval": [0, 1.0, 2.0]}
    start = np.array([1.0, 0.5])
    wanted = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 2), start, **named)
    found = nsp.integrate.solve_ivp(lambda t, y: -y, (0, 2), torch.from_numpy(start), **named)
    np.testing.assert_allclose(found.y.numpy(), wanted.y, rtol=1e-12)
    np.testing.assert_allclose(found.sol(1.5).numpy(), wanted.sol(1.5), rtol=1e-12)


def test_a_path_that_ends_early():
    found = nsp.integrate.solve_ivp(lambda t, y: y**2, (0, 9), torch.ones(1, dtype=torch.float64))
    wanted = scipy.integrate.solve_ivp(lambda t, y: y**2, (0, 9), [1.0])
    assert (found.status, found.success, found.message) == (-1, False, wanted.message)


def test_nothing_to_go():
    start = torch.ones(2, dtype=torch.float64)
    found = nsp.integrate.solve_ivp(lambda t, y: -y, (1, 1), start, dense_output=True)
    assert found.sol(1.0).tolist() == [1, 1]
    found = nsp.integrate.solve_ivp(lambda t, y: -y, (0, 1), start[:0])
    assert found.t.tolist() == [0, 1]


def test_gradients_go_through_a_path():
    rate = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    start = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    found = nsp.integrate.solve_ivp(lambda t, y: -rate * y, (0, 1), start, rtol=1e-8, atol=1e-10)
    found.y[0, -1].backward()
    assert rate.grad.item() == pytest.approx(-np.exp(-0.7), rel=1e-6)
    assert start.grad.item() == pytest.approx(np.exp(-0.7), rel=1e-6)
