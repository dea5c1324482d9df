"""Distributions of npaccel.scipy: frozen, pickled, differentiated."""

import pickle

import numpy as np
import pytest
import scipy.stats
import torch
from calls_stats_distributions import CALLS
from scipy_running import both, differences, off_a_cpu, tolerance

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch import table
from npaccel._scipy.objects import distributions
from npaccel._scipy.special import _common

X = np.linspace(-2, 2, 7)
LOC = np.linspace(-1, 1, 7)


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"])
def test_frozen_with_tensors(method):
    frozen = nsp.stats.norm(torch.from_numpy(LOC), scale=2.0)
    found = getattr(frozen, method)(torch.from_numpy(X))
    wanted = getattr(scipy.stats.norm(LOC, scale=2.0), method)(X)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-13)


def test_frozen_with_numbers_takes_tensors_and_arrays():
    frozen = nsp.stats.gamma(2.5, scale=2)
    wanted = scipy.stats.gamma(2.5, scale=2).pdf(np.abs(X))
    np.testing.assert_allclose(frozen.pdf(torch.from_numpy(np.abs(X))).numpy(), wanted, rtol=1e-13)
    assert np.array_equal(frozen.pdf(np.abs(X)), wanted)
    assert isinstance(frozen, type(scipy.stats.gamma(2.5)))
    assert frozen.support() == (0, np.inf)
    assert frozen.expect(lambda x: x) == pytest.approx(5)


def test_frozen_methods_without_values():
    scale = torch.tensor([1.0, 2.0], dtype=torch.float64)
    frozen = nsp.stats.expon(scale=scale)
    assert frozen.mean().tolist() == [1, 2]
    assert frozen.var().tolist() == [1, 4]
    low, high = frozen.interval(0.5)
    assert low[1] == 2 * low[0]
    assert high.dtype == torch.float64
    assert frozen.stats(moments="m").tolist() == [1, 2]


def test_frozen_draws_as_scipy_does():
    ours, scipys = nsp.stats.norm(1, 2), scipy.stats.norm(1, 2)
    ours.random_state = scipys.random_state = 7
    assert np.array_equal(ours.rvs(5), scipys.rvs(5))
    frozen = nsp.stats.norm(torch.zeros(3, dtype=torch.float64), 2)
    drawn = frozen.rvs(random_state=3)
    assert np.array_equal(drawn.numpy(), scipy.stats.norm(np.zeros(3), 2).rvs(random_state=3))


def test_discrete_frozen():
    frozen = nsp.stats.randint(torch.tensor([1, 2]), 9)
    assert frozen.pmf(torch.tensor([1, 1])).tolist() == [0.125, 0]
    with pytest.raises(AttributeError):
        frozen.pdf(1)
    with pytest.raises(TypeError):
        nsp.stats.randint(torch.tensor(1))


def test_frozen_pickles():
    frozen = pickle.loads(pickle.dumps(nsp.stats.norm(1, 2)))
    assert frozen.pdf(torch.tensor(1.0)).item() == pytest.approx(0.19947, rel=1e-4)


def test_gradients():
    x = torch.linspace(0.5, 2, 4, dtype=torch.float64, requires_grad=True)
    nsp.stats.lognorm.logpdf(x, 0.5).sum().backward()
    wanted = -1 / x - torch.log(x) / (0.25 * x)
    assert torch.allclose(x.grad, wanted)


def test_in_a_jitted_function():
    @npaccel.jit(backend="eager", strict=True)
    def tail(x, mean):
        return scipy.stats.norm.sf(x, mean, scale=2.0) + 1

    found = tail(X, LOC)
    np.testing.assert_allclose(found, scipy.stats.norm.sf(X, LOC, scale=2) + 1, rtol=1e-13)


def test_under_scipys_names():
    with npaccel.array_api():
        found = scipy.stats.norm(torch.tensor(0.0), 1).cdf(torch.tensor(0.0))
    assert found.item() == 0.5


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param(name, text, id=f"{name}({text})")
        for name, texts in CALLS.items()
        if table.row(f"scipy.{name}").host_reason is not None
        for text in texts
    ],
)
def test_tails_as_on_a_gpu(name, arguments, monkeypatch):
    monkeypatch.setattr(distributions, "_method", lambda *names: off_a_cpu(name))
    nsp.clear_report()
    with npaccel.options(default_float="float64"):
        expected, actual = both(name, arguments, "float64")
    assert actual.error is None
    found = differences(expected.value, actual.value, False, tolerance(name))
    assert not found, "\n".join(found)
    assert {calls.route for calls in nsp.report()} == {"native"}


@pytest.mark.parametrize("c", [0.0, 1e-310, 1e-8, 0.3, 1 - 1e-9, 1.0, np.nan, -1.0])
@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf"])
def test_triangles_as_narrow_as_can_be(method, c):
    y = np.array([-1, 0, 5e-324, 1e-300, 1e-9, 1e-8, 0.2, 0.3, 0.9, 1 - 1e-9, 1, 2, np.nan, np.inf])
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.stats.triang, method)(y, c)
    for shape in (c, torch.full((len(y),), c, dtype=torch.float64)):
        found = getattr(nsp.stats.triang, method)(torch.from_numpy(y), shape).numpy()
        # SciPy's logarithm of a cdf near 1 is 0, and cancels before.
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-8 if c == 1 - 1e-9 else 1e-17)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_one_number_times_logarithms(name):
    y = torch.tensor([0.0, 1e-300, 0.5, 1.0, 3.0, np.inf, np.nan], dtype=torch.float64)
    y = y if name == "xlogy" else torch.cat([y, -y[2:4]])
    for x in (0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 5e-324):
        for dtype in (torch.float64, torch.float32):
            number = torch.tensor(x, dtype=dtype)
            found = getattr(_common, name)(number, y.to(dtype))
            wanted = getattr(torch.special, name)(number, y.to(dtype))
            torch.testing.assert_close(found, wanted, equal_nan=True)


def test_gradients_of_one_number_times_logarithms():
    x = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1e-200, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    of_x, of_y = torch.autograd.grad(_common.xlogy(x, y).sum(), (x, y))
    assert of_x.item() == pytest.approx(torch.log(y.detach()).sum().item())
    assert of_y.tolist() == [0, 0, 0]
