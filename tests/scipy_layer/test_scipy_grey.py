"""Extremes of windows: casts that wrap, borders' values, and results that are written over."""

import numpy as np
import pytest
import scipy.ndimage
import torch

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch import routes, table
from npaccel.errors import NotCompiledError

DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"),
    *("float32", "float64"),
)
STEPS = ("grey_erosion", "grey_dilation", "grey_opening", "grey_closing")
DIFFERENCES = (
    *("white_tophat", "black_tophat", "morphological_gradient", "morphological_laplace"),
)


@pytest.fixture(autouse=True)
def eager():
    nsp.clear_report()
    with npaccel.options(backend="eager"):
        yield


def image(dtype, rng):
    if dtype == "bool":
        return rng.random((7, 6)) < 0.5
    limits = (0, 255) if dtype[0] == "u" else (-120, 120)
    found = rng.integers(*limits, (7, 6)).astype(dtype)
    return found / found.dtype.type(7) if dtype[0] == "f" else found


def in_numpy(name, x, **named):
    """Call npaccel's own form, which is written in NumPy, on arrays."""
    return table.row(f"scipy.ndimage.{name}").implementation(x.copy(), **named)


def on_tensors(name, x, **named):
    named = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
    return getattr(nsp.ndimage, name)(torch.from_numpy(x.copy()), **named).numpy()


def compared(ours, name, x, **named):
    """Compare a call with SciPy's; a bool's byte may be any in SciPy's result."""
    try:
        wanted = getattr(scipy.ndimage, name)(x, **named)
    except TypeError:  # NumPy doesn't subtract bools.
        with pytest.raises(TypeError):
            ours(name, x, **named)
        return
    found = ours(name, x, **named)
    wanted = wanted.view(np.uint8) != 0 if wanted.dtype == np.bool_ else wanted
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


HEIGHTS = {
    "flat": np.zeros((3, 2)),
    "whole": np.array([[1, -2, 0], [3, 0, -1]]),
    "parts": np.array([[0.5, -0.75], [2.25, 0.0], [-1.5, 1.0]]),
    "many": np.linspace(-4, 4, 72).reshape(9, 8).round(),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*STEPS, *DIFFERENCES])
def test_heights_wrap_as_in_scipy(name, dtype):
    rng = np.random.default_rng(3)
    for heights in HEIGHTS.values():
        x = image(dtype, rng)
        footprint = rng.random(heights.shape) < 0.6
        footprint[-1, -1] = True
        compared(in_numpy, name, x, structure=heights)
        named = {"structure": heights, "footprint": footprint}
        compared(in_numpy, name, x, **named, mode="constant", cval=2)
        if name in STEPS:
            compared(in_numpy, name, x, **named, output="float64")


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("name", [*STEPS, "white_tophat", "black_tophat"])
def test_heights_wrap_on_tensors(name, dtype):
    x = image(dtype, np.random.default_rng(3))
    compared(on_tensors, name, x, structure=HEIGHTS["parts"])
    assert [calls.route for calls in nsp.report()] == ["native"]


@pytest.mark.parametrize("cval", [-1.0, 0.5, 300.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_borders_values_are_cast_as_in_scipy(dtype, cval):
    x = image(dtype, np.random.default_rng(4))
    footprint = np.array([[True, False, True], [False, True, True]])
    border = {"mode": "constant", "cval": cval}
    for name in ("minimum_filter", "maximum_filter", "grey_erosion", "grey_dilation"):
        compared(in_numpy, name, x, footprint=footprint, **border)
        compared(in_numpy, name, x, size=3, **border)
    compared(in_numpy, "rank_filter", x, rank=1, footprint=((1, 0, 1), (0, 1, 1)), **border)
    compared(in_numpy, "median_filter", x, size=(3, 2), **border)


OVERWRITING = [
    ("grey_erosion", {"size": 3}),
    ("grey_opening", {"structure": np.ones((2, 2))}),
    ("gaussian_filter", {"sigma": 1.0}),
    ("uniform_filter", {"size": 3}),
    ("convolve", {"weights": np.ones((3, 3))}),
    ("median_filter", {"size": 3}),
    ("sobel", {}),
]


@pytest.mark.parametrize(("name", "named"), OVERWRITING, ids=[name for name, _ in OVERWRITING])
def test_a_result_may_be_written_over_the_data(name, named):
    """On the tensors' device, as if it were a new one."""
    x = torch.from_numpy(image("float64", np.random.default_rng(5)))
    named = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
    function = getattr(nsp.ndimage, name)
    wanted = function(x.clone(), **named)
    for overlapping in (x.clone(), torch.cat([x, x])[:7]):
        found = function(overlapping, output=overlapping, **named)
        assert found is overlapping
        assert torch.equal(found, wanted)
    assert {(calls.route, calls.reason) for calls in nsp.report()} == {("native", "")}


def test_a_named_dtype_is_the_results():
    x = torch.rand(6, 5)
    for dtype in ("float64", np.float64, np.dtype("float64"), float):
        assert nsp.ndimage.gaussian_filter(x, 1.0, output=dtype).dtype is torch.float64
        assert nsp.ndimage.sobel(x, -1, dtype).dtype is torch.float64
    assert nsp.ndimage.gaussian_filter(x, 1.0).dtype is torch.float32


def test_reasons_quote_none_of_npaccels_lines(monkeypatch):
    """Of an attempt that fails in npaccel's code, however it fails."""
    row = table.row("scipy.ndimage.grey_erosion")

    def broken(*arguments):
        raise NotCompiledError("grey_erosion: /npaccel/_scipy/_chapter.py:3: no\n    x = y\n  mend")

    monkeypatch.setattr(routes, "_computed", broken)
    found = routes.routed(row)(torch.eye(3), size=2)
    assert torch.equal(found, torch.from_numpy(scipy.ndimage.grey_erosion(np.eye(3, dtype="f"), 2)))
    (calls,) = nsp.report()
    assert calls.reason == "npaccel's own implementation can't be compiled for these arguments"
