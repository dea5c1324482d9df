"""Tell global arrays apart by one number, whatever their placements."""

from __future__ import annotations

import torch
from torch.distributed.tensor import DTensor, Partial, Shard

from npaccel._runtime.torch import layout

#: Integers with the same bits, by the size of elements.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: Odd numbers of 64 bits, as in the finaliser of MurmurHash3, less 2**64.
_ODD = -0xAE502812AA7333, -0x3B314601E57A13AD


def fingerprint(value: DTensor) -> int:
    """Return a number that depends on all elements and their places; it takes a collective."""
    if not layout.is_plain(value.placements):
        value = value.redistribute(value.device_mesh, layout.replicated(value.device_mesh))
    mesh, placements = value.device_mesh, tuple(value.placements)
    local = value.to_local().detach()
    if local.is_complex():
        local = torch.view_as_real(local.resolve_conj())
    bits = local.contiguous().view(_BITS[local.element_size()]).to(torch.int64)
    places = layout.local_bounds(value.shape, mesh, placements)
    places += [(0, size) for size in bits.shape[value.ndim :]]
    for axis, (start, stop) in enumerate(places):
        place = torch.arange(start, stop, device=bits.device) * (2 * axis + 3)
        shape = [-1 if i == axis else 1 for i in range(bits.ndim)]
        bits = (bits + place.reshape(shape)) * _ODD[0]
        bits = bits ^ (bits >> 33)
    total = (bits * _ODD[1]).sum().reshape(1)
    own = [Partial() if isinstance(one, Shard) else one for one in placements]
    return int(DTensor.from_local(total, mesh, own, run_check=False).full_tensor())


__all__ = ["fingerprint"]
