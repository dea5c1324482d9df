"""Layout of a global array's elements among ranks, and how they get elsewhere.

Placements are torch's: one for each dimension of the mesh. Between operations there are `Shard`
and `Replicate` alone; what is partial is reduced at once, so that each reduction is one collective.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed._functional_collectives import all_to_all_single
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

Shape = tuple[int, ...]
Placements = tuple[Placement, ...]


#: Dtypes that libraries of collectives don't take, and those of the same size that are moved for
#: them.
_BITS = {
    torch.int16: torch.float16,
    torch.uint16: torch.float16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
    torch.bool: torch.uint8,
}


def is_replicated(placements: Sequence[Placement]) -> bool:
    """Whether each rank has the whole array."""
    return all(isinstance(one, Replicate) for one in placements)


def replicated(mesh: Any) -> Placements:
    """Return the placements of an array that each rank has."""
    return tuple(Replicate() for _ in range(mesh.ndim))


def is_plain(placements: Sequence[Placement]) -> bool:
    """Whether placements are of those that are computed with."""
    return all(type(one) in (Shard, Replicate) for one in placements)


def chunk(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return the bounds of a part of an axis, as `torch.chunk` cuts it."""
    each = -(-size // parts)
    start = min(index * each, size)
    return start, min(start + each, size)


def bounds(
    shape: Sequence[int], mesh_shape: Sequence[int], place: Sequence[int], placements: Placements
) -> list[tuple[int, int]]:
    """Return from where to where a rank has an array, for each axis.

    Parameters
    ----------
    shape : sequence of int
        Of the global array.
    mesh_shape, place : sequence of int
        Sizes of the mesh, and the rank's coordinates in it.
    placements : tuple of Placement
    """
    found = [(0, size) for size in shape]
    for parts, index, placement in zip(mesh_shape, place, placements, strict=True):
        if isinstance(placement, Shard):
            start, stop = found[placement.dim]
            low, high = chunk(stop - start, parts, index)
            found[placement.dim] = start + low, start + high
    return found


def local_bounds(shape: Sequence[int], mesh: Any, placements: Placements) -> list[tuple[int, int]]:
    """Return from where to where this rank has an array, for each axis."""
    return bounds(shape, mesh.shape, mesh.get_coordinate(), placements)


def local_shape(shape: Sequence[int], mesh: Any, placements: Placements) -> Shape:
    """Return the shape of what this rank has of an array."""
    return tuple(stop - start for start, stop in local_bounds(shape, mesh, placements))


def has_empty_shards(size: int, parts: int) -> bool:
    """Whether some rank has nothing of an axis that is cut into parts."""
    start, stop = chunk(size, parts, parts - 1)
    return start == stop


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Return the strides of an array in C order."""
    return tuple(math.prod(map(int, shape[i + 1 :])) for i in range(len(shape)))


@dataclasses.dataclass(eq=False)
class Spread:
    """An array among ranks, while a graph is partitioned.

    Parameters
    ----------
    local : torch.Tensor
        What this rank has of it.
    shape : tuple of int
        Of the whole.
    placements : tuple of Placement
        `Shard` and `Replicate`.
    """

    local: torch.Tensor
    shape: Shape
    placements: Placements
    #: The array under other placements that it was needed in.
    others: dict[Placements, torch.Tensor] = dataclasses.field(default_factory=dict)
    #: Other elements of it along an axis, by the axes and what ranks have of them.
    exchanged: dict[Any, torch.Tensor] = dataclasses.field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return math.prod(self.shape) * self.local.element_size()

    @property
    def is_replicated(self) -> bool:
        """Whether each rank has the whole."""
        return is_replicated(self.placements)


def moved(
    local: torch.Tensor, shape: Sequence[int], mesh: Any, old: Placements, new: Placements
) -> torch.Tensor:
    """Return what this rank has of an array under other placements.

    Parameters
    ----------
    local : torch.Tensor
        What it has now.
    shape : sequence of int
        Of the whole.
    mesh : DeviceMesh
    old, new : tuple of Placement
        `old` may be partial.
    """
    if old == new:
        return local
    if is_replicated(old):
        for axis, (start, stop) in enumerate(local_bounds(shape, mesh, new)):
            if (start, stop) != (0, shape[axis]):
                local = torch.ops.aten.slice.Tensor(local, axis, start, stop)
        return local
    if local.is_complex():
        pairs = moved(torch.view_as_real(local), (*shape, 2), mesh, old, new)
        return torch.view_as_complex(pairs.contiguous())
    if local.dtype in _BITS:
        return moved(local.view(_BITS[local.dtype]), shape, mesh, old, new).view(local.dtype)
    whole = dtensor_of(local.contiguous(), shape, mesh, old)
    return whole.redistribute(mesh, new).to_local()


def exchanged(
    local: torch.Tensor,
    dim: int,
    mesh: Any,
    axis: int,
    old: Sequence[tuple[int, int]],
    new: Sequence[tuple[int, int]],
) -> torch.Tensor:
    """Return other elements along an axis than a rank has: they are sent by those that have them.

    Parameters
    ----------
    local : torch.Tensor
        What this rank has.
    dim : int
    mesh : DeviceMesh
    axis : int
        Of the mesh, along which the array's axis is cut.
    old, new : sequence of (int, int)
        From where to where each rank has the array's axis, and is to have it.
    """
    if local.is_complex():
        pairs = exchanged(torch.view_as_real(local), dim, mesh, axis, old, new)
        return torch.view_as_complex(pairs.contiguous())
    if local.dtype in _BITS:
        bits = local.contiguous().view(_BITS[local.dtype])
        return exchanged(bits, dim, mesh, axis, old, new).view(local.dtype)
    index = mesh.get_coordinate()[axis]
    first = old[index][0]
    sent = [_common(old[index], other) for other in new]
    taken = [_common(other, new[index]) for other in old]
    parts = [
        torch.ops.aten.slice.Tensor(local, dim, start - first, stop - first) for start, stop in sent
    ]
    packed = torch.cat(parts, dim).movedim(dim, 0).contiguous()
    to, out = ([stop - start for start, stop in each] for each in (taken, sent))
    found = all_to_all_single(packed, to, out, (mesh, axis))
    return found.movedim(0, dim).contiguous()


def _common(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return what two ranges have in common, which may be nothing of the first."""
    start, stop = max(one[0], other[0]), min(one[1], other[1])
    return (start, stop) if start < stop else (one[0], one[0])


def dtensor_of(
    local: torch.Tensor, shape: Sequence[int], mesh: Any, placements: Sequence[Placement]
) -> DTensor:
    """Return the DTensor of which this rank has a part; nothing is sent.

    Parameters
    ----------
    local : torch.Tensor
    shape : sequence of int
        Of the whole.
    mesh : DeviceMesh
    placements : sequence of Placement
    """
    size = torch.Size(shape)
    meta = TensorMeta(size, contiguous_strides(size), local.dtype)
    spec = DTensorSpec(mesh, tuple(placements), tensor_meta=meta)
    # Its `__init__`, which does nothing, would import Dynamo.
    return DTensor.__new__(DTensor, local, spec, requires_grad=False)  # type: ignore[call-arg]


def reduced(local: torch.Tensor, mesh: Any, axes: Sequence[int], how: str) -> torch.Tensor:
    """Return the reduction of all ranks' arrays along axes of a mesh.

    Parameters
    ----------
    local : torch.Tensor
    mesh : DeviceMesh
    axes : sequence of int
    how : {"sum", "product", "max", "min"}
    """
    old = tuple(Partial(how) if i in axes else Replicate() for i in range(mesh.ndim))
    return moved(local, local.shape, mesh, old, replicated(mesh))


def stacked(local: torch.Tensor, mesh: Any, axis: int) -> torch.Tensor:
    """Return the arrays of all ranks along an axis of a mesh, stacked along a new first axis."""
    parts = mesh.size(axis)
    old = tuple(Shard(0) if i == axis else Replicate() for i in range(mesh.ndim))
    return moved(local.unsqueeze(0), (parts, *local.shape), mesh, old, replicated(mesh))


__all__ = [
    "Placements",
    "Shape",
    "Spread",
    "bounds",
    "chunk",
    "contiguous_strides",
    "dtensor_of",
    "exchanged",
    "has_empty_shards",
    "is_plain",
    "is_replicated",
    "local_bounds",
    "local_shape",
    "moved",
    "reduced",
    "replicated",
    "stacked",
]
