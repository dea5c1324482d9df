"""numpy.fft against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, check, data, implementation, same, traced

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.signal import fft

MODULES = (fft,)  # imported for its rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
NORMS = [None, "backward", "ortho", "forward", "other"]
LINES = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]
PLANES = [np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2]
SPACES = [np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn]


def ulps(dtype):
    """Return the tolerance: NumPy scales float16 by a factor that is rounded to float16."""
    return 8192 * 8 if dtype == "e" else 64


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", LINES, ids=name)
def test_lines(function, dtype):
    for shape in [(2,), (7,), (8,), (3, 4), (2, 3, 5)]:
        x = data(shape, dtype)
        check(function, x, ulps=ulps(dtype))
        check(function, x, axis=0, ulps=ulps(dtype))
        for n in (1, 3, 5, 12):
            check(function, x, n, ulps=ulps(dtype))
    check(function, data((6, 8), dtype)[::2, ::2].T, axis=0, ulps=ulps(dtype))


@pytest.mark.parametrize("function", LINES, ids=name)
@pytest.mark.parametrize("norm", NORMS)
def test_norms(function, norm):
    for dtype in ("f", "d", "l"):
        check(function, data((6,), dtype), norm=norm, ulps=64)


@pytest.mark.parametrize("function", LINES, ids=name)
def test_wrong_lines_raise(function):
    x = data((4,), "d")
    check(function, x, 0)
    check(function, x, -3)
    check(function, x, axis=1)
    check(function, x[:0])
    check(function, x[0])


@pytest.mark.filterwarnings("ignore:.*`axes`:DeprecationWarning")
@pytest.mark.parametrize("function", [*PLANES, *SPACES], ids=name)
@pytest.mark.parametrize("dtype", ["?", "b", "l", "e", "f", "d", "F", "D"])
def test_several_axes(function, dtype):
    for shape in [(3, 4), (2, 3, 5)]:
        x = data(shape, dtype)
        check(function, x, ulps=ulps(dtype))
        for norm in NORMS:
            check(function, x, norm=norm, ulps=ulps(dtype))
        check(function, x, s=(4, 6), axes=(0, 1), ulps=ulps(dtype))
        check(function, x, s=(-1, 6), axes=(1, 0), ulps=ulps(dtype))
        check(function, x, axes=(0,), ulps=ulps(dtype))
        check(function, x, axes=(1, 1), ulps=ulps(dtype))
        check(function, x, s=(4,), axes=(0, 1))
        check(function, x, s=(4, 0), axes=(0, 1))
        check(function, x, axes=(0, 5))
        check(function, x, s=(3, 4), ulps=ulps(dtype))


def test_out_is_written_and_returned():
    x = data((4,), "d")
    out = torch.empty(4, dtype=torch.complex128)
    assert implementation(np.fft.fft)(torch.from_numpy(x), out=out) is out
    same(out, np.fft.fft(x))


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("function", [np.fft.fftfreq, np.fft.rfftfreq], ids=name)
def test_frequencies(function, n):
    check(function, n)
    check(function, n, 0.1)
    check(function, n, np.float64(0.3))
    check(function, 2.5)
    with tracing(TraceSettings(default_float="float32")):
        assert implementation(function)(n).dtype == torch.float32


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", [np.fft.fftshift, np.fft.ifftshift], ids=name)
def test_shifts(function, dtype):
    for shape in [(0,), (1,), (7,), (3, 4)]:
        x = data(shape, dtype)
        check(function, x)
        check(function, x, axes=0)
        check(function, x, axes=(0, -1))
        check(function, x, axes=3)


def test_narrowed_integers():
    with tracing(TraceSettings(default_float="float32")):
        found = implementation(np.fft.fft)(torch.arange(4))
        assert found.dtype == torch.complex64
        assert (
            implementation(np.fft.fft)(torch.ones(4, dtype=torch.float64)).dtype == torch.complex128
        )


X = data((4, 6), "d")
TRACED = [
    *((f, (X,), {}) for f in (*LINES, *PLANES, *SPACES)),
    (np.fft.fftshift, (X,), {}),
    (np.fft.ifftshift, (X,), {"axes": 1}),
    (np.fft.fft, (X,), {"n": 9, "norm": "ortho"}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)
