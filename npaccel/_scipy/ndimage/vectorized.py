"""A user's function of all windows at once: `scipy.ndimage.vectorized_filter`."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _splines as spline
from npaccel._scipy.ndimage.derivatives import _foreign

#: SciPy's own reading of the modes in this function: "grid-mirror" is not "reflect".
_MODES = {
    "reflect": "reflect",
    "mirror": "mirror",
    "grid-mirror": "mirror",
    "nearest": "nearest",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
    "valid": "valid",
}


@on_tensors(
    "ndimage.vectorized_filter", arrays=("input", "footprint"), host_reason=_foreign("function")
)
def vectorized_filter(
    input: Any,
    function: Any,
    *,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: int = 2**30,
) -> Any:
    """Call a function with all windows, which it reduces along their axes."""
    if (size is None) == (footprint is None) or not callable(function):
        raise ValueError("Either `size` or `footprint` must be provided.")
    kind = _MODES[mode]
    if cval is not None and kind != "constant":
        raise ValueError("Use of `cval` is compatible only with `mode='constant'`.")
    chosen = [axes] if isinstance(axes, int) else list(range(input.ndim) if axes is None else axes)
    sizes = _sizes(size, footprint, len(chosen))
    origins = [0] * len(chosen) if origin is None else _tuple(origin, len(chosen))
    if len(sizes) != len(chosen) or len(origins) != len(chosen) or not input.numel():
        raise ValueError("`axes` must be compatible with the dimensionality of the window")
    count = len(sizes)
    if kind == "valid" and any(origins):
        raise ValueError("`mode='valid'` is incompatible with use of `origin`.")
    x = input.movedim(chosen, list(range(-count, 0)))
    for i, (length, one) in enumerate(zip(sizes, origins, strict=True)):
        axis = x.ndim - count + i
        if kind != "valid":
            before, after = length // 2 + one, (length - 1) // 2 - one
            x = spline.extended(x, axis, before, after, kind, 0.0 if cval is None else cval)
    for i, length in enumerate(sizes):
        x = x.unfold(input.ndim - count + i, length, 1)
    _check_memory(batch_memory, x)
    found = _called(function, x, footprint, count)
    if isinstance(output, torch.Tensor):
        target = output.movedim(chosen, list(range(-count, 0)))
        target.copy_(found)
        found = target
    return found.movedim(list(range(-count, 0)), chosen)


def _check_memory(allowed: Any, windows: torch.Tensor) -> None:
    """Raise ValueError where SciPy does: a view takes no memory, but a function may copy it."""
    if isinstance(allowed, complex) or not allowed > 0:
        raise ValueError("`batch_memory` must be positive number.")
    if math.prod(windows.shape[1:]) * windows.dtype.itemsize > allowed:
        raise ValueError("`batch_memory` is insufficient for minimum chunk size.")


def _tuple(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _sizes(size: Any, footprint: Any, count: int) -> list[int]:
    found = _tuple(size, count) if footprint is None else list(footprint.shape)
    if any(not isinstance(one, int) or one < 1 for one in found):
        raise ValueError("All elements of `size` must be positive integers.")
    return found


def _called(function: Any, windows: torch.Tensor, footprint: Any, count: int) -> torch.Tensor:
    if footprint is None:
        found = function(windows, axis=tuple(range(-count, 0)))
    else:
        found = function(windows[..., footprint != 0], axis=-1)
    if not isinstance(found, torch.Tensor) or found.ndim != windows.ndim - count:
        raise ValueError("the function doesn't reduce the windows' axes")
    return found
