"""Make DTensors of arrays, and whole arrays of DTensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard

from npaccel._runtime import arguments
from npaccel._runtime.torch import layout
from npaccel.errors import UnsupportedArrayError, UnsupportedDtypeError


def shard(array: Any, mesh: Any, placements: Sequence[Placement] | None = None) -> Any:
    """Distribute an array over a mesh of processes: each one reads its part alone.

    To be called by all processes, each with the same array, such as a `numpy.memmap` of one file.

    Parameters
    ----------
    array : array_like
        An ndarray, memmap, tensor, or anything else with ``shape``, ``dtype`` and slices, such as
        arrays of h5py and Zarr. What a process has of it is a copy.
    mesh : torch.distributed.device_mesh.DeviceMesh or None
        Of `torch.distributed.tensor.init_device_mesh`. None: for a program that runs in one process
        and gets `array` back.
    placements : sequence of Placement, optional
        One for each dimension of the mesh: ``Shard(axis)`` or ``Replicate()``. Without it axis 0 is
        distributed over the mesh's first dimension.

    Returns
    -------
    torch.distributed.tensor.DTensor or array
        With parts as `torch.chunk` cuts them: of 7 rows 2 processes have 4 and 3.

    Raises
    ------
    UnsupportedArrayError
        For placements that aren't `Shard` or `Replicate`, or an axis that the array hasn't.
    UnsupportedDtypeError
        For a dtype that torch doesn't have.

    See Also
    --------
    gather : Return the whole arrays.

    Examples
    --------
    In a program that ``torchrun --nproc-per-node 4 program.py`` starts:

    >>> import numpy as np, npaccel
    >>> from torch.distributed.tensor import init_device_mesh
    >>> mesh = init_device_mesh("cpu", (4,))  # doctest: +SKIP
    >>> points = np.load("points.npy", mmap_mode="r")  # doctest: +SKIP
    >>> x = npaccel.shard(points, mesh)  # doctest: +SKIP
    """
    if mesh is None:
        return array
    given = placements
    if given is None:
        given = [Shard(0) if i == 0 else Replicate() for i in range(mesh.ndim)]
    shape = tuple(int(size) for size in array.shape)
    own = _checked(given, mesh, shape)
    cuts = layout.local_bounds(shape, mesh, own)
    local = _local(array[tuple(slice(start, stop) for start, stop in cuts)])
    return layout.dtensor_of(local.to(mesh.device_type), shape, mesh, own)


def _checked(given: Sequence[Placement], mesh: Any, shape: tuple[int, ...]) -> layout.Placements:
    """Return placements with axes from 0."""
    if len(given) != mesh.ndim:
        raise UnsupportedArrayError(
            f"shard: {len(given)} placements were given for a mesh of {mesh.ndim} dimensions; "
            "pass one for each dimension of the mesh"
        )
    if not layout.is_plain(given):
        raise UnsupportedArrayError(
            f"shard: the placements are {tuple(given)}; pass Shard(axis) or Replicate() for each "
            "dimension of the mesh"
        )
    found: list[Placement] = []
    for one in given:
        if isinstance(one, Shard):
            if not -len(shape) <= one.dim < len(shape):
                raise UnsupportedArrayError(
                    f"shard: {one} was given for an array of shape {shape}; pass one of its axes"
                )
            one = Shard(one.dim % len(shape))
        found.append(one)
    return tuple(found)


def _local(part: Any) -> torch.Tensor:
    """Return a part of an array as a tensor of its own memory."""
    if isinstance(part, torch.Tensor):
        return part.detach().clone(memory_format=torch.contiguous_format)
    array = np.asarray(part)
    try:
        return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))
    except TypeError as error:
        raise UnsupportedDtypeError(
            f"shard: torch has no dtype for {array.dtype}; convert the array first"
        ) from error


def gather(value: Any) -> Any:
    """Return results with whole arrays in place of DTensors, in each process.

    To be called by all processes.

    Parameters
    ----------
    value : object
        A DTensor, or containers with some.

    Returns
    -------
    object
        With ndarrays for DTensors; anything else as it is.

    See Also
    --------
    shard : Distribute an array.
    """
    return arguments.map_leaves(
        value,
        lambda leaf: arguments.to_array(leaf.full_tensor()) if isinstance(leaf, DTensor) else leaf,
    )


__all__ = ["gather", "shard"]
