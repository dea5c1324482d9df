"""Move arrays to the device of a call, and its results back, so that what shared memory still does.

NumPy code sees whether two arrays share memory: a write to one changes the other. On a device
compiled code works on copies of the caller's arrays. A result that is a view of such a copy
becomes a view of the caller's array, and results that share memory on the device share it on the
host. Copies lie in memory as what they were copied from, since `ravel` and `reshape` give views of
some layouts and copies of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npaccel._runtime.arguments import resolved

_HOST = torch.device("cpu")


def is_host(device: torch.device | str) -> bool:
    """Whether compiled code works on the memory of the caller's arrays."""
    return torch.device(device).type == "cpu"


def extent(tensor: torch.Tensor) -> int:
    """Return the number of elements from the first to the last of a tensor, both counted."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a tensor to a device, with its strides.

    Parameters
    ----------
    tensor : torch.Tensor
    device : torch.device

    Returns
    -------
    torch.Tensor
        A new one, also if the tensor is on the device already. Elements that are one in memory are
        one in the copy; gaps between elements are gaps there.
    """
    tensor = resolved(tensor)
    if tensor.is_contiguous():
        return tensor.to(device, copy=True)
    size, strides = tensor.shape, tensor.stride()
    if not tensor.numel():
        return torch.empty_strided(size, strides, dtype=tensor.dtype, device=device)
    first = tuple(1 if s == 0 else n for n, s in zip(size, strides, strict=True))
    parts = tensor.as_strided(first, strides)
    count = extent(tensor)
    if count < parts.numel():  # As windows over an array.
        return tensor.as_strided((count,), (1,)).to(device, copy=True).as_strided(size, strides)
    made = torch.empty_strided(first, strides, dtype=tensor.dtype, device=device)
    return made.copy_(parts).as_strided(size, strides)


def fetched(
    outputs: Sequence[Any], uploaded: Sequence[torch.Tensor], originals: Sequence[torch.Tensor]
) -> list[Any]:
    """Give the outputs of a graph on the host.

    Parameters
    ----------
    outputs : sequence
        Of the graph; what isn't a tensor stays as it is.
    uploaded : sequence of torch.Tensor
        The inputs on the device that are copies of the caller's arrays.
    originals : sequence of torch.Tensor
        The caller's arrays of which they are copies, as tensors on the host.

    Returns
    -------
    list
        Views of an original for views of its copy. Of other memory one copy for all that share it.
    """
    results = list(outputs)
    groups: dict[int, list[int]] = {}
    known = {_memory(there): (there, here) for there, here in zip(uploaded, originals, strict=True)}
    for i, value in enumerate(results):
        if not isinstance(value, torch.Tensor):
            continue
        results[i] = value = resolved(value.detach())
        if value.numel():
            groups.setdefault(_memory(value), []).append(i)
        else:
            results[i] = moved(value, _HOST)
    for memory, group in groups.items():
        if memory in known:
            there, here = known[memory]
            start = int(here.storage_offset() - there.storage_offset()) * here.itemsize
            _place(results, group, here.untyped_storage(), start)
        elif len(group) == 1:
            results[group[0]] = moved(results[group[0]], _HOST)
        else:
            _fetch_together(results, group)
    return results


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _fetch_together(results: list[Any], group: Sequence[int]) -> None:
    """Copy the part of a memory that several outputs lie in, once."""
    start = min(results[i].storage_offset() * results[i].itemsize for i in group)
    start -= start % max(results[i].itemsize for i in group)
    stop = max(_end(results[i]) for i in group)
    whole = torch.empty(0, dtype=torch.uint8, device=results[group[0]].device)
    whole.set_(results[group[0]].untyped_storage(), start, (stop - start,), (1,))
    _place(results, group, whole.to(_HOST, copy=True).untyped_storage(), -start)


def _end(tensor: torch.Tensor) -> int:
    """Return the end of a tensor in its storage, in bytes."""
    return int(tensor.storage_offset() + extent(tensor)) * tensor.itemsize


def _place(
    results: list[Any], group: Sequence[int], storage: torch.UntypedStorage, start: int
) -> None:
    """Replace outputs by tensors that lie in a storage of the host as they did in the device's.

    Parameters
    ----------
    start : int
        How far the storage is behind the device's, in bytes.
    """
    for i in group:
        value = results[i]
        offset = (value.storage_offset() * value.itemsize + start) // value.itemsize
        here = torch.empty(0, dtype=value.dtype)
        results[i] = here.set_(storage, offset, value.shape, value.stride())
