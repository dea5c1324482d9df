"""Binary morphology of `scipy.ndimage` on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import has_values
from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _common as parts

#: Number of rounds between two checks of whether anything still changes.
_ROUNDS = 8

_ON_A_CPU = "on a CPU, SciPy follows the changes alone, which is faster than rounds over all"


def _endless(bound: dict[str, Any]) -> str:
    """Rounds until nothing changes are for a GPU."""
    iterations = bound.get("iterations", 0)
    endless = isinstance(iterations, int) and iterations < 1
    return _ON_A_CPU if endless and free_for_scipy(bound) else ""


def _cross(rank: int) -> Any:
    """Return the places that are at most one step from the middle."""
    steps = np.abs(np.indices((3,) * rank) - 1).sum(axis=0)
    return np.asarray(steps <= 1)


def _window(x: torch.Tensor, structure: Any, axes: list[int]) -> Any:
    """Return a structure with all axes of the data: an array where its values are at hand."""
    if structure is None:
        structure = _cross(len(axes))
    elif isinstance(structure, torch.Tensor):
        is_near = structure.device.type == "cpu" and has_values(structure)
        structure = structure.numpy() if is_near else structure
    found = np.asarray(structure != 0) if isinstance(structure, np.ndarray) else structure != 0
    if found.ndim != len(axes):
        raise RuntimeError("structure and input must have same dimensionality")
    if 0 in found.shape:
        raise RuntimeError("structure must not be empty")
    sizes = iter(found.shape)
    return found.reshape([next(sizes) if axis in axes else 1 for axis in range(x.ndim)])


def _origins(rank: int, origin: Any, axes: list[int]) -> list[int]:
    found = [0] * rank
    for axis, one in zip(axes, parts.each(origin, len(axes)), strict=True):
        found[axis] = one
    return found


def _turned(structure: Any, origins: list[int]) -> tuple[Any, list[int]]:
    """Return a structure turned around, and its origins."""
    sizes = structure.shape
    turned = [-o if size % 2 else -o - 1 for o, size in zip(origins, sizes, strict=True)]
    if isinstance(structure, np.ndarray):
        return np.asarray(np.flip(structure)), turned
    return structure.flip(tuple(range(structure.ndim))), turned


def _any_of(x: torch.Tensor, structure: Any, origins: list[int], border: bool) -> torch.Tensor:
    """Whether a structure at each place meets a true element."""
    shape = structure.shape
    before = [parts.before_of(size, one) for size, one in zip(shape, origins, strict=True)]
    pads = []
    for size, first in zip(reversed(shape), reversed(before), strict=True):
        pads += [first, size - 1 - first]
    grown = torch.constant_pad_nd(x, pads, border)
    found = torch.zeros_like(x)
    for place in parts.taps(shape):
        used = structure[place]
        known = isinstance(used, np.bool_)
        if known and not used:
            continue
        piece = grown
        for axis, start in enumerate(place):
            piece = piece.narrow(axis, start, x.shape[axis])
        found = found | (piece if known else piece & used)
    return found


def _rounds(
    x: Any,
    structure: Any,
    iterations: int,
    mask: Any,
    border: Any,
    origin: Any,
    dilate: bool,
    axes: Any,
) -> torch.Tensor:
    """Dilate or erode, some times or until nothing changes."""
    if x.is_complex() or not isinstance(iterations, int):
        raise TypeError("Complex type not supported")
    chosen = parts.axes_of(axes, x.ndim)
    structure = _window(x, structure, chosen)
    origins = _origins(x.ndim, origin, chosen)
    truth = x if x.dtype == torch.bool else x != 0
    if mask is not None:
        if mask.shape != x.shape:
            raise RuntimeError("mask and input must have equal sizes")
        mask = mask if mask.dtype == torch.bool else mask != 0
    if dilate:
        structure, origins = _turned(structure, origins)
    else:
        truth = ~truth
    border = bool(border) is dilate

    def once(now: torch.Tensor) -> torch.Tensor:
        found = _any_of(now, structure, origins, border)
        return found if mask is None else torch.where(mask, found, now)

    truth = _repeated(once, truth, iterations)
    return truth if dilate else ~truth


def _repeated(once: Any, truth: torch.Tensor, iterations: int) -> torch.Tensor:
    for _ in range(iterations):
        truth = once(truth)
    while iterations < 1:
        before = truth
        for _ in range(_ROUNDS):
            before, truth = truth, once(truth)
        if torch.equal(before, truth):
            break
    return truth


def _returned(found: torch.Tensor, output: Any) -> torch.Tensor:
    if not isinstance(output, torch.Tensor):
        return found
    if output.is_complex() or output.shape != found.shape:
        raise RuntimeError("output shape not correct")
    return output.copy_(found)


@on_tensors("ndimage.binary_erosion", arrays=("input", "structure", "mask"), host_reason=_endless)
def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Whether a structure fits in."""
    settings = iterations, mask, border_value, origin
    return _returned(_rounds(input, structure, *settings, False, axes), output)


@on_tensors("ndimage.binary_dilation", arrays=("input", "structure", "mask"), host_reason=_endless)
def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Whether a turned structure meets anything."""
    settings = iterations, mask, border_value, origin
    return _returned(_rounds(input, structure, *settings, True, axes), output)


@on_tensors("ndimage.binary_opening", arrays=("input", "structure", "mask"), host_reason=_endless)
def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Erosion, then dilation."""
    settings = iterations, mask, border_value, origin
    eroded = _rounds(input, structure, *settings, False, axes)
    return _returned(_rounds(eroded, structure, *settings, True, axes), output)


@on_tensors("ndimage.binary_closing", arrays=("input", "structure", "mask"), host_reason=_endless)
def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Dilation, then erosion."""
    settings = iterations, mask, border_value, origin
    dilated = _rounds(input, structure, *settings, True, axes)
    return _returned(_rounds(dilated, structure, *settings, False, axes), output)


@on_tensors("ndimage.binary_hit_or_miss", arrays=("input", "structure1", "structure2"))
def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Whether one structure fits in and another meets nothing."""
    chosen = parts.axes_of(axes, input.ndim)
    first = _window(input, structure1, chosen)
    second = ~first if structure2 is None else _window(input, structure2, chosen)
    origin2 = origin1 if origin2 is None else origin2
    hit = _rounds(input, structure1, 1, None, 0, origin1, False, axes)
    truth = input if input.dtype == torch.bool else input != 0
    missed = ~_any_of(truth, second, _origins(input.ndim, origin2, chosen), False)
    if isinstance(output, torch.Tensor):
        _returned(hit & missed, output)
        return None
    return hit & missed


@on_tensors(
    "ndimage.binary_propagation", arrays=("input", "structure", "mask"), host_reason=_endless
)
def binary_propagation(
    input: Any,
    structure: Any = None,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilate within a mask until nothing changes."""
    return _returned(_rounds(input, structure, -1, mask, border_value, origin, True, axes), output)


@on_tensors("ndimage.binary_fill_holes", arrays=("input", "structure"), host_reason=_endless)
def binary_fill_holes(
    input: Any,
    structure: Any = None,
    output: Any = None,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Fill what can't be reached from outside."""
    outside = input == 0
    start = torch.zeros_like(outside)
    found = ~_rounds(start, structure, -1, outside, 1, origin, True, axes)
    if isinstance(output, torch.Tensor):
        _returned(found, output)
        return None
    return found


@on_tensors("ndimage.iterate_structure", arrays=("structure",))
def iterate_structure(structure: Any, iterations: int, origin: Any = None) -> Any:
    """Dilate a structure by itself."""
    if iterations < 2:
        return structure.clone()
    more = iterations - 1
    pads: list[int] = []
    for size in reversed(structure.shape):
        first = more * (size // 2)
        pads += [first, more * (size - 1) - first]
    grown = torch.constant_pad_nd(structure != 0, pads, False)
    found = _rounds(grown, structure, more, None, 0, 0, True, None)
    if origin is None:
        return found
    return found, [iterations * one for one in parts.each(origin, structure.ndim)]
