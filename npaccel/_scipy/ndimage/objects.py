"""Connected elements in `scipy.ndimage`, and what goes through the host there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.table import on_tensors, through_host
from npaccel._scipy.ndimage import _common as parts


def _on_a_cpu(bound: dict[str, Any]) -> str:
    x = bound["input"]
    if isinstance(x, torch.Tensor) and x.device.type != "cpu":
        return ""
    return "on a CPU, SciPy's two passes over the lines are faster"


@on_tensors("ndimage.label", arrays=("input", "structure"), host_reason=_on_a_cpu)
def label(input: Any, structure: Any = None, output: Any = None) -> Any:
    """Number connected elements, those first that come first in memory."""
    if input.is_complex():
        raise TypeError("Complex type not supported")
    neighbours = _neighbours(input, structure)
    there = (input != 0).reshape(-1)
    first = _first(input.shape, there, neighbours)
    here = torch.arange(there.shape[0], device=input.device)
    numbers = torch.cumsum(there & (first[:-1] == here), 0)
    last = int(numbers[-1]) if numbers.shape[0] else 0
    zero = torch.zeros((), dtype=numbers.dtype, device=input.device)
    places = first[:-1].clamp(max=max(there.shape[0] - 1, 0))
    found = torch.where(there, numbers[places], zero).reshape(input.shape)
    large = found.numel() >= 2**31 - 2
    kind = _dtype(output, torch.int64 if large else torch.int32)
    if not kind.is_floating_point and last > torch.iinfo(kind).max:
        raise RuntimeError("insufficient bit-depth in requested output type")
    if isinstance(output, torch.Tensor):
        if output.shape != input.shape:
            raise ValueError("output shape not correct")
        output.copy_(found)
        return last
    return found.to(kind), last


def _dtype(output: Any, default: torch.dtype) -> torch.dtype:
    if output is None:
        return default
    if isinstance(output, torch.Tensor):
        return output.dtype
    if isinstance(output, torch.dtype):
        return output
    found: torch.dtype = getattr(torch, np.dtype(output).name)
    return found


def _neighbours(x: torch.Tensor, structure: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Return the places around one, and whether each counts."""
    places = [tuple(i - 1 for i in place) for place in parts.taps([3] * x.ndim)]
    if structure is None:
        return [(place, True) for place in places if sum(map(abs, place)) == 1]
    if structure.ndim != x.ndim or any(size != 3 for size in structure.shape):
        raise ValueError("structure dimensions must be equal to 3")
    used = structure != 0
    if not torch.equal(used, used.flip(tuple(range(used.ndim)))):
        raise ValueError("Input structure is not symmetric")
    counts = [used[tuple(i + 1 for i in place)] for place in places]
    return [(place, one) for place, one in zip(places, counts, strict=True) if any(place)]


def _first(shape: Any, there: torch.Tensor, neighbours: Any) -> torch.Tensor:
    """Return the first element that each is connected with.

    Trees are hooked to those with smaller roots and flattened, until nothing changes (Shiloach and
    Vishkin 1982). One more element stands for all that is outside.
    """
    size = there.shape[0]
    here = torch.arange(size + 1, device=there.device)
    found = torch.where(torch.nn.functional.pad(there, (0, 1)), here, size)
    while True:
        best = _least_around(found, shape, there, neighbours, size)
        hooked = found.scatter_reduce(0, found, best, "amin")
        hooked = torch.minimum(hooked, best)
        for _ in range(3):
            hooked = hooked[hooked]
        if torch.equal(hooked, found):
            return found
        found = hooked


def _least_around(
    found: torch.Tensor, shape: Any, there: torch.Tensor, neighbours: Any, size: int
) -> torch.Tensor:
    """Return the least number of each element and those around it."""
    image = found[:-1].reshape(shape)
    grown = torch.constant_pad_nd(image, [1, 1] * image.ndim, size)
    least = image
    for place, counts in neighbours:
        piece = grown
        for axis, step in enumerate(place):
            piece = piece.narrow(axis, step + 1, shape[axis])
        if counts is not True:
            piece = torch.where(counts, piece, size)
        least = torch.minimum(least, piece)
    least = torch.where(there, least.reshape(-1), size)
    return torch.nn.functional.pad(least, (0, 1), value=size)


through_host("ndimage.find_objects", "it gives slices, which are no arrays")
through_host("ndimage.value_indices", "it gives a dict by values, with arrays as long as they are")
through_host(
    "ndimage.labeled_comprehension ndimage.generic_filter ndimage.generic_filter1d "
    "ndimage.geometric_transform",
    "it calls a Python function for each element or label",
)
through_host("ndimage.watershed_ift", "it floods one element after the other, the lowest first")
through_host(
    "ndimage.generate_binary_structure", "takes no arrays", takes_arrays=False, is_pure=True
)
