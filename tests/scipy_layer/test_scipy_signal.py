"""Signals of npaccel.scipy: long ones, recursions by blocks, gradients, jitted functions."""

import warnings

import numpy as np
import pytest
import scipy.signal
import torch
from scipy_running import off_a_cpu

import npaccel
import npaccel.scipy as nsp

RNG = np.random.default_rng(8)
LONG = RNG.normal(size=50_000)
SHORT = LONG[:9000]


def near(found, wanted, rtol=1e-12):
    found = found.numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


# -- Convolution ----------------------------------------------------------------------------


@pytest.mark.parametrize("taps", [3, 24, 65, 151, 401, 3000])
@pytest.mark.parametrize("method", ["direct", "fft", "auto"])
def test_long_convolution(taps, method):
    w = RNG.normal(size=taps)
    x = LONG[: 40_000 + taps]
    for mode in ("full", "same", "valid"):
        found = nsp.signal.convolve(torch.from_numpy(x), torch.from_numpy(w), mode, method)
        near(found, scipy.signal.convolve(x, w, mode, method))


def test_long_convolution_of_stacks_and_complex_numbers():
    x, w = LONG.reshape(1, -1) * [[1], [1j]], RNG.normal(size=(1, 100))
    found = nsp.signal.fftconvolve(torch.from_numpy(w), torch.from_numpy(x), axes=1)
    near(found, scipy.signal.fftconvolve(w, x, axes=1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_isnt_finite_spreads_as_in_scipy(value):
    x, w = LONG.copy(), RNG.normal(size=30)
    x[20_000] = value
    for method in ("direct", "fft"):
        found = nsp.signal.convolve(torch.from_numpy(x), torch.from_numpy(w), method=method)
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = scipy.signal.convolve(x, w, method=method)
        assert np.array_equal(np.isfinite(found.numpy()), np.isfinite(wanted))


# -- Recursions -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 128, 50_000])
def test_recursion_by_blocks(size):
    b, a = scipy.signal.butter(4, 0.2)
    x, zi = LONG[:size], RNG.normal(size=4)
    found = off_a_cpu("signal.lfilter")(b, a, torch.from_numpy(x), zi=zi)
    for ours, theirs in zip(found, scipy.signal.lfilter(b, a, x, zi=zi), strict=True):
        near(ours, theirs, 1e-11)


@pytest.mark.parametrize(("order", "edge"), [(2, 0.5), (6, 0.1), (8, 0.05), (12, 0.4)])
def test_a_recursion_loses_no_more_digits_than_scipys(order, edge):
    b, a = scipy.signal.butter(order, edge)
    sos = scipy.signal.butter(order, edge, output="sos")
    x, best = torch.from_numpy(SHORT), scipy.signal.sosfilt(sos, SHORT)
    near(off_a_cpu("signal.sosfilt")(sos, x), best, 1e-12)
    near(off_a_cpu("signal.sosfiltfilt")(sos, x), scipy.signal.sosfiltfilt(sos, SHORT), 1e-11)
    lost = np.abs(scipy.signal.lfilter(b, a, SHORT) - best).max()
    assert np.abs(off_a_cpu("signal.lfilter")(b, a, x).numpy() - best).max() < 10 * lost + 1e-14


def test_unstable_recursion():
    b, a = [1.0], [1.0, -1.5]
    x = LONG[:4000]
    with np.errstate(all="ignore"):
        wanted = scipy.signal.lfilter(b, a, x)
    found = off_a_cpu("signal.lfilter")(b, a, torch.from_numpy(x)).numpy()
    inside = np.abs(wanted) < 1e200
    np.testing.assert_allclose(found[inside], wanted[inside], rtol=1e-10)
    assert not np.isfinite(found[~np.isfinite(wanted)]).any()


def test_gradients():
    x = torch.from_numpy(LONG[:200].copy()).requires_grad_()
    b, a = torch.tensor([0.2, 0.3]).double(), torch.tensor([1, -0.5]).double()
    nsp.clear_report()
    nsp.signal.lfilter(b, a, x).sum().backward()
    wanted = scipy.signal.lfilter(b, a, np.ones(200))[::-1]
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12)
    assert [calls.route for calls in nsp.report()] == ["native"]


# -- In jitted functions --------------------------------------------------------------------


def jitted(function):
    return npaccel.jit(function, strict=True, default_float="float64", backend="eager")


def test_filters_in_a_jitted_function():
    b, a = scipy.signal.butter(3, 0.2)

    @jitted
    def loudness(b, a, x):
        return np.sqrt(np.mean(scipy.signal.lfilter(b, a, x) ** 2))

    wanted = np.sqrt(np.mean(scipy.signal.lfilter(b, a, SHORT) ** 2))
    assert abs(loudness(b, a, SHORT) / wanted - 1) < 1e-12


def test_convolution_and_spectra_in_a_jitted_function():
    w = RNG.normal(size=9)

    @jitted
    def power(x, w):
        x = scipy.signal.convolve(x, w, mode="same")
        _, found = scipy.signal.welch(x, nperseg=64)
        return np.log(found)

    for size in (5000, 6000):
        x = LONG[:size]
        wanted = scipy.signal.welch(scipy.signal.convolve(x, w, mode="same"), nperseg=64)[1]
        np.testing.assert_allclose(power(x, w), np.log(wanted), rtol=1e-9)


def test_images_in_a_jitted_function():
    image, w = LONG[:2000].reshape(40, 50), RNG.normal(size=(3, 3))

    @jitted
    def edges(image, w):
        found = scipy.signal.convolve2d(image, w, mode="same", boundary="symm")
        return scipy.signal.medfilt2d(np.abs(found), 3)

    wanted = scipy.signal.convolve2d(image, w, mode="same", boundary="symm")
    np.testing.assert_allclose(
        edges(image, w), scipy.signal.medfilt2d(np.abs(wanted), 3), rtol=1e-12
    )


# -- Others ---------------------------------------------------------------------------------


def test_windows_of_tensors():
    found = nsp.signal.windows.hann(16, xp=torch)
    assert found.dtype is torch.float64
    np.testing.assert_allclose(found.numpy(), scipy.signal.windows.hann(16))
    assert nsp.signal.get_window("hamming", 9, xp=torch, device="meta").device.type == "meta"
    assert isinstance(nsp.signal.windows.hann(16), np.ndarray)


def test_peaks_as_off_a_cpu():
    x = np.round(LONG[:3000], 1)
    found, properties = off_a_cpu("signal.find_peaks")(torch.from_numpy(x), height=(0.5, None))
    wanted, theirs = scipy.signal.find_peaks(x, height=(0.5, None))
    assert np.array_equal(found.numpy(), wanted)
    assert np.array_equal(properties["peak_heights"].numpy(), theirs["peak_heights"])


def test_warnings_are_scipys():
    with pytest.warns(UserWarning, match="greater than"):
        nsp.signal.welch(torch.ones(20))
    with pytest.warns(UserWarning, match="NOLA"):
        nsp.signal.istft(torch.ones(5, 5, dtype=torch.complex64), boundary=False)
