"""Bits and bytes: packing, unpacking, swapping."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of
from npaccel._numpy.core.dtypes import as_tensor, to_numpy
from npaccel._numpy.core.layouts import lying_as_allocated
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._runtime.torch.symbolic_sizes import surely


def _shifts(bitorder: Any, like: torch.Tensor) -> torch.Tensor:
    """Return how far each bit of a byte is shifted, in the order of the bits."""
    if bitorder not in ("big", "little"):
        raise ValueError("'bitorder' must be either 'little' or 'big'")
    places = torch.arange(8, device=like.device, dtype=torch.uint8)
    return 7 - places if bitorder == "big" else places


def _along_last(x: torch.Tensor, axis: Any) -> tuple[torch.Tensor, int]:
    """Return the tensor with the axis last, and where it was; None flattens."""
    if axis is None:
        return x.reshape(-1), 0
    if x.ndim == 0:
        x = x.reshape(1)
    place = axis_of(axis, x.ndim)
    return torch.movedim(x, place, -1), place


def _in_words(x: torch.Tensor) -> bool:
    """Whether the last axis is of whole words of eight bytes, one behind the other."""
    return (
        x.dtype.itemsize == 1
        and surely(x.numel() > 0)
        and surely(x.shape[-1] % 8 == 0)
        and x.is_contiguous()
        and surely(x.storage_offset() % 8 == 0)
    )


#: A word with a one in each of its bytes.
_ONES = 0x0101010101010101
#: Times these, the lowest bits of a word's bytes come to lie side by side in its highest byte.
_GATHERING = {"big": 0x8040201008040201 - (1 << 64), "little": 0x0102040810204080}


def _packed_words(x: torch.Tensor, bitorder: str) -> torch.Tensor:
    """Pack eight bytes at once: all shifts of a word are one multiplication."""
    words = x.view(torch.int64)
    # The highest bit of each byte says whether it has any; no sum reaches the next byte.
    highest = ((words & (127 * _ONES)) + 127 * _ONES) | words
    return (((highest >> 7 & _ONES) * _GATHERING[bitorder]) >> 56).to(torch.uint8)


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> torch.Tensor:
    """`numpy.packbits`: eight elements to a byte, zeros behind the last ones.

    Raises
    ------
    TypeError
        If the array is of floats or complex numbers.
    ValueError
        If `bitorder` is neither "big" nor "little".
    """
    x = as_tensor(a)
    shifts = _shifts(bitorder, x)
    if to_numpy(x.dtype).kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    last, place = _along_last(x, axis)
    if _in_words(last):
        return _as_bits_lie(_packed_words(last, bitorder), place, x)
    if host.usable(last):
        return _as_bits_lie(host.packbits(last, bitorder), place, x)
    bits = (last != 0).to(torch.uint8)
    missing = -bits.shape[-1] % 8
    bits = torch.cat([bits, bits.new_zeros((*bits.shape[:-1], missing))], -1)
    groups = bits.reshape([*bits.shape[:-1], bits.shape[-1] // 8, 8])
    return _as_bits_lie(torch.sum(groups << shifts, -1).to(torch.uint8), place, x)


def _as_bits_lie(found: torch.Tensor, place: int, x: torch.Tensor) -> torch.Tensor:
    """Put the last axis back where it was, in an array that lies as NumPy's."""
    return lying_as_allocated(torch.movedim(found, -1, place), x)


@implements(np.unpackbits)
def unpackbits(
    a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big"
) -> torch.Tensor:
    """`numpy.unpackbits`: each bit becomes an element.

    Raises
    ------
    TypeError
        If the array isn't of uint8.
    ValueError
        If `bitorder` is neither "big" nor "little", or more bits are cut off than there are.
    """
    x = as_tensor(a)
    shifts = _shifts(bitorder, x)
    if x.dtype != torch.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    last, place = _along_last(x, axis)
    bits = (last.unsqueeze(-1) >> shifts) & 1
    bits = bits.flatten(-2)
    if count is not None:
        bits = _counted(bits, count)
    return _as_bits_lie(bits, place, x)


def _counted(bits: torch.Tensor, count: Any) -> torch.Tensor:
    """Return the first bits of the last axis, or all but the last where the count is negative."""
    if isinstance(count, torch.Tensor):
        raise NotImplementedError("`count` must be a Python number; pass it as one")
    size = bits.shape[-1]
    if count < 0:
        if -count > size:
            raise ValueError(f"-ve count {count} is larger than the {size} bits that there are")
        count = size + count
    if count <= size:
        return bits[..., :count]
    return torch.cat([bits, bits.new_zeros((*bits.shape[:-1], count - size))], -1)


#: The steps that turn the bytes of a number round: which bits go up by how many, the others down.
_EXCHANGES = {
    torch.int16: ((0x00FF, 8),),
    torch.int32: ((0x00FF00FF, 8), (0x0000FFFF, 16)),
    torch.int64: ((0x00FF00FF00FF00FF, 8), (0x0000FFFF0000FFFF, 16), (0x00000000FFFFFFFF, 32)),
}
_WHOLE = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def _turned(x: torch.Tensor) -> torch.Tensor:
    """Return numbers of two bytes or more with their bytes in reverse order, as some dtype."""
    whole = _WHOLE[x.element_size()]
    bits = x.view(whole)
    for low, width in _EXCHANGES[whole]:
        bits = ((bits & low) << width) | ((bits >> width) & low)
    return bits


@implements("numpy.ndarray.byteswap", mutates=(0,))
def byteswap(a: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """`numpy.ndarray.byteswap`: the bytes of every number in reverse order."""
    number = torch.real(a).dtype if a.is_complex() else a.dtype
    parts = torch.view_as_real(a) if a.is_complex() else a
    width = parts.element_size()
    if width == 1 or surely(a.numel() == 0):
        swapped = a if inplace else a.clone()
    else:
        turned = _turned(parts.contiguous()).view(number)
        swapped = torch.view_as_complex(turned) if a.is_complex() else turned
    if inplace:
        a.copy_(swapped)
        return a
    return swapped
