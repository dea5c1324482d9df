"""Functions of the user's, and random states: a route that fails leaves no trace."""

import functools

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch.random_states import RandomStates

X = np.random.default_rng(7).normal(size=40)
LEGACY = np.random.RandomState(11)


@pytest.fixture(autouse=True)
def eager():
    nsp.clear_report()
    with npaccel.options(backend="eager"):
        yield


def spread(v, axis):
    return np.std(v, axis=axis) + np.median(v, axis=axis)


#: Statistics: NumPy's own, of NumPy's functions, of methods that both have, of torch's.
STATISTICS = {
    "np.mean": np.mean,
    "lambda": lambda v, axis: np.mean(v, axis=axis),
    "two": spread,
    "partial": functools.partial(np.quantile, q=0.25),
    "indices": lambda v, axis: np.sort(v, axis=axis)[..., ::-1][..., 3],
}


@pytest.mark.parametrize("name", STATISTICS)
def test_resampling_draws_as_scipy_does(name):
    statistic = STATISTICS[name]

    def difference(a, b, axis):
        return statistic(a, axis=axis) - statistic(b, axis=axis)

    def calls(module, arrays, rng):
        first, second = arrays[:20], arrays[20:]
        yield module.bootstrap((arrays,), statistic, n_resamples=30, rng=rng).standard_error
        yield module.permutation_test((first, second), difference, n_resamples=30, rng=rng).pvalue
        yield module.monte_carlo_test(arrays, rng.normal, statistic, n_resamples=30).pvalue
        drawn = functools.partial(rng.normal, 0.1)
        yield module.monte_carlo_test(arrays, drawn, statistic, n_resamples=30).pvalue
        yield module.monte_carlo_test(
            arrays, lambda size: rng.normal(size=size), statistic, n_resamples=30
        ).pvalue

    theirs, ours = np.random.default_rng(3), np.random.default_rng(3)
    wanted = list(calls(scipy.stats, X, theirs))
    found = list(calls(nsp.stats, torch.from_numpy(X), ours))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert theirs.bit_generator.state == ours.bit_generator.state


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # SciPy's code
def test_torchs_statistics_are_computed_on_tensors():
    def statistic(v, axis):
        return torch.mean(v, dim=axis)

    found = nsp.stats.bootstrap((torch.from_numpy(X),), statistic, n_resamples=20, rng=1)
    wanted = scipy.stats.bootstrap((X,), np.mean, n_resamples=20, rng=1)
    np.testing.assert_allclose(found.standard_error, wanted.standard_error)
    assert [(calls.route, calls.reason) for calls in nsp.report()] == [("delegated", "")]


class Holder:
    """An object of the user's with a generator."""

    def __init__(self):
        self.rng = np.random.default_rng(5)

    def draw(self, size):
        return self.rng.normal(size=size)


GLOBAL = np.random.default_rng(9)


def reached():
    """Values from which a random state is reached, and a function that draws from it."""
    holder, legacy = Holder(), np.random.RandomState(4)
    engine, bits = scipy.stats.qmc.Halton(2, rng=3), np.random.PCG64(8)
    generator = torch.Generator().manual_seed(4)
    frozen = scipy.stats.norm(1, 2)
    frozen.random_state = np.random.RandomState(6)
    return {
        "generator": (holder.rng, lambda: holder.rng.normal(size=3)),
        "list": ([[holder.rng]], lambda: holder.rng.normal(size=3)),
        "method": (holder.rng.normal, lambda: holder.rng.normal(size=3)),
        "partial": (functools.partial(holder.rng.normal, 2), lambda: holder.rng.normal(size=3)),
        "closure": (lambda: holder.rng, lambda: holder.rng.normal(size=3)),
        "object": (holder.draw, lambda: holder.draw(3)),
        "global": (lambda: GLOBAL.normal(), lambda: GLOBAL.normal(size=3)),
        "legacy": (legacy, lambda: legacy.normal(size=3)),
        "numpy": (lambda: 1, lambda: np.random.normal(size=3)),  # noqa: NPY002
        "bits": (bits, lambda: np.random.Generator(bits).normal(size=3)),
        "children": (holder.rng, lambda: [one.normal() for one in holder.rng.spawn(2)]),
        "engine": (engine, lambda: engine.random(3)),
        "torch": (generator, lambda: torch.rand(3, generator=generator)),
        "frozen": (frozen.rvs, lambda: frozen.rvs(3)),
    }


@pytest.mark.parametrize("name", reached())
def test_random_states_are_found_and_given_back(name):
    value, draw = reached()[name]
    before = RandomStates([value])
    first = np.asarray(draw())
    assert not np.array_equal(np.asarray(draw()), first)
    before.restore()
    np.testing.assert_array_equal(draw(), first)


def test_a_users_function_gets_what_it_takes():
    kinds = []

    def of_arrays(v):
        kinds.append(type(v))
        return float(np.mean(v, axis=0) ** 2 + v[::-1][0] ** 2)

    start = torch.tensor([1.0, 2.0], dtype=torch.float64)
    found = nsp.optimize.minimize(of_arrays, start, method="COBYLA")
    assert found.fun < 1e-4
    assert kinds[:2] == [torch.Tensor, np.ndarray]
    assert set(kinds[1:]) == {np.ndarray}


@pytest.mark.parametrize("name", ["differential_evolution", "dual_annealing", "basinhopping"])
def test_searches_draw_as_scipy_does(name):
    """The user's function draws from what SciPy draws from, and takes arrays only."""
    ends = [(-1.0, 2.0), (-2.0, 1.0)]

    def search(module, rng, start):
        def objective(v):
            return float(np.sum(v[::-1] ** 2) + 1e-9 * rng.random())

        if name == "basinhopping":
            return module.basinhopping(objective, start, niter=3, rng=rng)
        bounds = ends if module is scipy.optimize else torch.tensor(ends, dtype=torch.float64)
        return getattr(module, name)(objective, bounds, maxiter=5, rng=rng)

    generators = [np.random.default_rng(2), np.random.default_rng(2)]
    wanted = search(scipy.optimize, generators[0], np.ones(2))
    found = search(nsp.optimize, generators[1], torch.ones(2, dtype=torch.float64))
    np.testing.assert_array_equal(found.x, wanted.x)
    assert found.nfev == wanted.nfev
    assert generators[0].random() == generators[1].random()


def test_a_users_error_stays_what_it_is():
    def statistic(v, axis):
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        nsp.stats.bootstrap((torch.from_numpy(X),), statistic, n_resamples=20, rng=1)


def test_a_delegated_function_hands_tensors_to_the_users():
    kinds = set()

    def integrand(v):
        kinds.add(type(v))
        return (v**2).sum(0)

    ends = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    engines = [scipy.stats.qmc.Halton(2, rng=1) for _ in range(2)]
    found = nsp.integrate.qmc_quad(integrand, *ends, qrng=engines[0])
    wanted = scipy.integrate.qmc_quad(integrand, np.zeros(2), np.ones(2), qrng=engines[1])
    np.testing.assert_allclose(found.integral, wanted.integral, rtol=1e-12)
    assert torch.Tensor in kinds
