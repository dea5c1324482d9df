"""Differences between grey images and what morphology makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _order_statistics as order
from npaccel._scipy.ndimage.extremes import (
    ARRAYS,
    NAN,
    closed,
    dilated,
    eroded,
    opened,
    settings_of,
)


def _own_dtype(x: Any, output: Any) -> None:
    """Refuse results of other dtypes: SciPy then computes in both dtypes by turns."""
    if parts.dtype_of(output, x.dtype) != x.dtype:
        raise NotImplementedError("the result has another dtype than the data")


def _into(found: Any, output: Any) -> Any:
    return parts.finished(found, found.dtype, output)


@in_numpy("ndimage.morphological_gradient", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation less erosion."""
    x = np.asarray(input)
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    if isinstance(output, np.ndarray):
        _own_dtype(x, output)
    return _into(dilated(x, None, settings) - eroded(x, None, settings), output)


@in_numpy("ndimage.morphological_laplace", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation plus erosion less twice the data."""
    x = np.asarray(input)
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    if isinstance(output, np.ndarray):
        _own_dtype(x, output)
    return _into(dilated(x, None, settings) + eroded(x, None, settings) - x - x, output)


@in_numpy("ndimage.white_tophat", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The data less its opening."""
    x = np.asarray(input)
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    _own_dtype(x, output)
    found = opened(x, None, settings)
    return _into(x ^ found if x.dtype == np.bool_ else x - found, output)


@in_numpy("ndimage.black_tophat", arrays=ARRAYS, host_reason=order.reason, note=NAN)
def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The closing of the data less the data."""
    x = np.asarray(input)
    settings = settings_of(size, footprint, structure, mode, cval, origin, axes)
    _own_dtype(x, output)
    found = closed(x, None, settings)
    return _into(x ^ found if x.dtype == np.bool_ else found - x, output)
