"""Native functions with compile="auto": SciPy makes the calls until compiling pays."""

import collections

import numpy as np
import pytest
import scipy.ndimage
import torch

import npaccel
from npaccel._compiler import tier_buckets
from npaccel._scipy.dispatch import native_tiers, routes
from npaccel.errors import NotCompiledError
from npaccel.scipy import ndimage

X = torch.linspace(0, 1, 24, dtype=torch.float64).reshape(4, 6)


@pytest.fixture(autouse=True)
def auto(monkeypatch):
    """The default, in a process of its own."""
    monkeypatch.setattr(native_tiers, "_made", {})
    monkeypatch.setattr(tier_buckets, "_prices", tier_buckets.deque(maxlen=16))
    npaccel.scipy.clear_report()
    with npaccel.options(compile="auto", cache=False):
        yield


def ways():
    found = collections.Counter()
    for calls in npaccel.scipy.report():
        found[calls.route] += calls.count
    return dict(found)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int16])
def test_answers_are_those_of_native_functions(dtype):
    x = (X * 9).to(dtype)
    for call in (
        lambda: ndimage.uniform_filter(x, 3),
        lambda: ndimage.gaussian_filter(x, 1.0, mode="wrap"),
        lambda: ndimage.sobel(x.T, 1),
        lambda: ndimage.grey_erosion(x, (2, 3)),
    ):
        found = call()
        with npaccel.options(compile="now"):
            native = call()
        assert found.dtype == native.dtype
        torch.testing.assert_close(found, native)
    assert ways() == {"host": 4, "native": 4}


def test_they_are_compiled_once_scipy_has_taken_as_long(monkeypatch):
    monkeypatch.setattr(tier_buckets, "_USUAL_SECONDS", 2e-3)
    for _ in range(2000):
        ndimage.uniform_filter(X, 3)
        if ways().get("native", 0) > tier_buckets._FEWEST:
            break
    assert ways()["host"] > 1
    assert ways()["native"] > tier_buckets._FEWEST
    before = ways()["native"]
    ndimage.uniform_filter(X, 3, mode="wrap")  # Another kind of calls.
    assert ways()["native"] == before


@pytest.mark.parametrize("why", ["strict", "now", "inference", "gradients"])
def test_where_scipy_cannot_make_them(why):
    x = X.clone().requires_grad_(why == "gradients")
    options = {"strict": {"strict": True}, "now": {"compile": "now"}}.get(why, {})
    with npaccel.options(**options), torch.inference_mode(why == "inference"):
        assert ndimage.uniform_filter(x, 3).requires_grad == (why == "gradients")
    assert ways() == {"native": 1}


def test_errors_are_scipys_and_come_once(monkeypatch):
    calls = []
    through_host = routes.through_host
    monkeypatch.setattr(
        routes, "through_host", lambda *args, **kwargs: calls.append(1) or through_host(*args)
    )
    with pytest.raises(RuntimeError) as found:
        ndimage.uniform_filter(X, 3, mode="none")
    with pytest.raises(RuntimeError) as wanted:
        scipy.ndimage.uniform_filter(X.numpy(), 3, mode="none")
    assert str(found.value) == str(wanted.value)
    assert len(calls) == 1


def test_what_cannot_be_compiled_stays_scipys(monkeypatch):
    monkeypatch.setattr(tier_buckets, "_USUAL_SECONDS", 0.0)

    class Dispatcher:
        def get_ready(self):
            pass

        def __call__(self, args, kwargs):
            raise NotCompiledError("it can't be compiled")

    tried = []
    monkeypatch.setattr(
        native_tiers.NativeTiers, "dispatcher", lambda *_: tried.append(1) or Dispatcher()
    )
    wanted = scipy.ndimage.uniform_filter(X.numpy(), 3)
    for _ in range(400):
        np.testing.assert_array_equal(ndimage.uniform_filter(X, 3), wanted)
    assert len(tried) == 1
    assert ways() == {"host": 400}


def test_outputs_that_are_inputs():
    wanted = scipy.ndimage.uniform_filter(X.numpy(), 3)
    x = X.clone()
    assert ndimage.uniform_filter(x, 3, output=x) is x
    np.testing.assert_array_equal(x, wanted)
    other = torch.zeros(X.shape, dtype=torch.float32)
    ndimage.uniform_filter(X, 3, output=other)
    np.testing.assert_array_equal(other, wanted.astype(np.float32))
