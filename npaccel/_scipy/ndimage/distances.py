"""Distance transforms of `scipy.ndimage` on a GPU: one axis after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.ndimage import _common as parts

#: Maximum number of elements that a step over an axis has in memory at once.
_AT_ONCE = 1 << 27

_TAXICAB = ("taxicab", "cityblock", "manhattan")


def _reason(bound: dict[str, Any]) -> str:
    if bound["return_indices"] or bound["indices"] is not None:
        return "which of several nearest elements SciPy names depends on the order of its steps"
    if not isinstance(bound.get("metric", ""), str):
        return "a metric that is an array is followed element by element"
    if free_for_scipy(bound):
        return "on a CPU, SciPy's steps from element to element are fewer"
    return ""


def _axis_distances(size: int, step: float, device: torch.device) -> torch.Tensor:
    """Return how far elements of an axis are from each other, a row for each."""
    places = torch.arange(size, dtype=torch.float64, device=device) * step
    return (places[:, None] - places[None, :]).abs()


def _through(
    x: torch.Tensor, axis: int, far: torch.Tensor, join: Callable[[Any, Any], torch.Tensor]
) -> torch.Tensor:
    """Return the least of what is joined of each element of an axis and how far it is."""
    lines = x.movedim(axis, -1)
    size = lines.shape[-1]
    flat = lines.reshape(-1, 1, size)
    rows = max(1, _AT_ONCE // max(1, size * size))
    found = [join(flat[i : i + rows], far).amin(dim=-1) for i in range(0, flat.shape[0], rows)]
    return torch.cat(found).reshape(lines.shape).movedim(-1, axis)


def _squared(there: torch.Tensor, steps: list[float]) -> torch.Tensor:
    """Return the squares of the distances to the nearest false element."""
    found = torch.where(there, torch.inf, torch.zeros((), dtype=torch.float64))
    for axis, step in enumerate(steps):
        far = _axis_distances(there.shape[axis], step, there.device) ** 2
        found = _through(found, axis, far, torch.add)
    return found


def _to_nowhere(there: torch.Tensor, steps: list[float]) -> torch.Tensor:
    """Return the squares of the distances to the row before the first: SciPy's for no zeros."""
    total = torch.zeros((), dtype=torch.float64, device=there.device)
    for axis, step in enumerate(steps):
        along = [1] * there.ndim
        along[axis] = -1
        places = torch.arange(there.shape[axis], dtype=torch.float64, device=there.device)
        places = places + 1 if axis == 0 else places
        total = total + ((places * step) ** 2).reshape(along)
    return total.expand(there.shape)


def _taxicab(there: torch.Tensor) -> torch.Tensor:
    """Return the distances along the axes to the nearest false element."""
    found = torch.where(there, torch.inf, torch.zeros((), dtype=torch.float64))
    for axis, size in enumerate(there.shape):
        along = [1] * there.ndim
        along[axis] = -1
        places = torch.arange(size, dtype=torch.float64, device=there.device).reshape(along)
        after = torch.cummin(found - places, axis).values + places
        before = torch.cummin((found + places).flip(axis), axis).values.flip(axis) - places
        found = torch.minimum(after, before)
    return found


def _chessboard(there: torch.Tensor) -> torch.Tensor:
    """Return the distances of a king to the nearest false element."""
    found = torch.where(there, torch.inf, torch.zeros((), dtype=torch.float64))
    for axis, size in enumerate(there.shape):
        far = _axis_distances(size, 1.0, there.device)
        found = _through(found, axis, far, torch.maximum)
    return found


def _checked(wanted: tuple[bool, bool], distances: Any, dtype: torch.dtype, shape: Any) -> None:
    if wanted != (True, False):
        raise RuntimeError("only distances are computed here")
    if isinstance(distances, torch.Tensor) and (
        distances.dtype != dtype or distances.shape != shape
    ):
        raise RuntimeError("distances array has wrong dtype or shape")


def _given(found: torch.Tensor, distances: Any) -> Any:
    if not isinstance(distances, torch.Tensor):
        return found
    distances.copy_(found)
    return None


@on_tensors("ndimage.distance_transform_edt", arrays=("input",), host_reason=_reason)
def distance_transform_edt(
    input: Any,
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any:
    """Distance of each element to the nearest zero."""
    there = torch.atleast_1d(input != 0)
    _checked((return_distances, return_indices), distances, torch.float64, there.shape)
    steps = [float(one) for one in parts.each(1.0 if sampling is None else sampling, there.ndim)]
    found = _squared(there, steps)
    found = torch.where(torch.isinf(found), _to_nowhere(there, steps), found)
    return _given(torch.sqrt(found), distances)


@on_tensors("ndimage.distance_transform_cdt", arrays=("input",), host_reason=_reason)
def distance_transform_cdt(
    input: Any,
    metric: Any = "chessboard",
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any:
    """Distance of each element to the nearest zero, in steps."""
    there = input != 0
    _checked((return_distances, return_indices), distances, torch.int32, there.shape)
    if metric != "chessboard" and metric not in _TAXICAB:
        raise ValueError("invalid metric provided")
    found = _chessboard(there) if metric == "chessboard" else _taxicab(there)
    found = torch.where(torch.isinf(found), -1.0, found)
    return _given(found.to(torch.int32), distances)


@on_tensors("ndimage.distance_transform_bf", arrays=("input",), host_reason=_reason)
def distance_transform_bf(
    input: Any,
    metric: str = "euclidean",
    sampling: Any = None,
    return_distances: bool = True,
    return_indices: bool = False,
    distances: Any = None,
    indices: Any = None,
) -> Any:
    """Distance of each element to the nearest zero, by any of three metrics."""
    there = input != 0
    name = metric.lower()
    if name == "euclidean":
        _checked((return_distances, return_indices), distances, torch.float64, there.shape)
        steps = parts.each(1.0 if sampling is None else sampling, there.ndim)
        found = torch.sqrt(_squared(there, [float(one) for one in steps]))
        limit = torch.finfo(torch.float64).max ** 0.5
        return _given(torch.where(torch.isinf(found), limit, found), distances)
    _checked((return_distances, return_indices), distances, torch.uint32, there.shape)
    if name != "chessboard" and name not in _TAXICAB:
        raise RuntimeError("distance metric not supported")
    found = _chessboard(there) if name == "chessboard" else _taxicab(there)
    found = torch.where(torch.isinf(found), float(0xFFFFFFFF), found)
    return _given(found.to(torch.int64).to(torch.uint32), distances)
