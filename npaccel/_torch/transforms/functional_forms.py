"""Replacements of what functionalization writes in place of writes, which have a derivative."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from npaccel._numpy.host import powers

_aten = torch.ops.aten


def _copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Return what a copy into an array leaves there."""
    return source.to(self.dtype).expand(self.shape).clone()


def _fill(self: torch.Tensor, value: Any) -> torch.Tensor:
    """Return an array like another that has one value."""
    if isinstance(value, torch.Tensor):
        return _copy(self, value)
    return torch.full_like(self, value)


def _view_as(self: torch.Tensor, dtype: torch.dtype) -> Any:
    """Return an array of the same dtype itself, which torch has no derivative for."""
    return self.view(self.shape) if self.dtype == dtype else NotImplemented


def _lifted(self: torch.Tensor) -> Any:
    """Return a copy of a constant, which fake tensors take from such a node alone."""
    return torch.clone(self) if isinstance(self, FakeTensor) else NotImplemented


def _power(self: torch.Tensor, exponent: Any) -> Any:
    """Return powers by the number of an iteration, which torch's formula compares with 0."""
    if not isinstance(exponent, torch.SymInt) or not self.dtype.is_floating_point:
        return NotImplemented
    given: Any = exponent
    number = torch.scalar_tensor(given, dtype=self.dtype, device=self.device)
    return _aten.pow.Tensor_Tensor(self, number)


def _power_of_floats(self: torch.Tensor, exponent: torch.Tensor) -> Any:
    """Return powers whose derivative by the base has a derivative by the exponent, also at 0."""
    if not self.dtype.is_floating_point or self.dtype != exponent.dtype:
        return NotImplemented
    return powers.power(self, exponent)


def _padded(self: torch.Tensor, pad: Any, value: Any = 0) -> Any:
    """Return an array between constants: torch's kernel takes no sizes that depend on data."""
    if not any(isinstance(width, torch.SymInt) for width in pad):
        return NotImplemented
    found, shape = self, list(self.shape)
    for axis, widths in enumerate(zip(pad[::2], pad[1::2], strict=True), 1):
        ends = []
        for width in widths:
            shape[-axis] = width
            ends.append(found.new_full(shape, value))
        found = torch.cat([ends[0], found, ends[1]], -axis)
        shape[-axis] = found.shape[-axis]
    return found


_is_written_out = threading.local()


def _detach(self: torch.Tensor) -> Any:
    """Return a view: torch has such nodes for `x.view(x.dtype)`, and NumPy detaches nothing."""
    return NotImplemented if getattr(_is_written_out, "now", False) else self.view(self.shape)


def _index_put(
    self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False
) -> Any:
    """Store items; of those that are stored at one place only the one that stays has a derivative.

    torch gives all of them one.
    """
    chosen = [index for index in indices if index is not None]
    by_masks = all(index.dtype == torch.bool for index in chosen)
    is_one = len(chosen) == 1 and chosen[0].ndim == 0  # A row, which isn't stored twice.
    in_here = getattr(_is_written_out, "now", False)
    if accumulate or by_masks or is_one or in_here or not self.dtype.is_floating_point:
        return NotImplemented
    _is_written_out.now = True
    try:
        count = _aten.index.Tensor(torch.zeros_like(self, dtype=torch.int64), indices)
        order = torch.arange(count.numel(), device=self.device).reshape(count.shape)
        owners = _aten.index_put.default(torch.zeros_like(self, dtype=torch.int64), indices, order)
        stays = _aten.index.Tensor(owners, indices) == order
        each = values.expand(count.shape)
        each = torch.where(stays, each, each.detach())
        found: torch.Tensor = _aten.index_put.default(self, indices, each)
        return found
    finally:
        _is_written_out.now = False


def _scatter(self: torch.Tensor, axis: int, places: torch.Tensor, source: torch.Tensor) -> Any:
    """Store items along an axis, as `_index_put` does."""
    if getattr(_is_written_out, "now", False) or not self.dtype.is_floating_point:
        return NotImplemented
    _is_written_out.now = True
    try:
        order = torch.arange(places.numel(), device=self.device).reshape(places.shape)
        owners = torch.zeros_like(self, dtype=torch.int64).scatter(axis, places, order)
        stays = torch.gather(owners, axis, places) == order
        source = source[tuple(slice(size) for size in places.shape)]
        each = torch.where(stays, source, source.detach())
        found: torch.Tensor = _aten.scatter.src(self, axis, places, each)
        return found
    finally:
        _is_written_out.now = False


def _of_parts(target: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """Return what stores complex numbers by their parts, which torch has a derivative for."""

    def stored(self: torch.Tensor, source: torch.Tensor, *args: Any) -> Any:
        if not self.is_complex():
            return NotImplemented
        source = source.to(self.dtype)
        real = target(torch.real(self), torch.real(source), *args)
        return torch.complex(real, target(torch.imag(self), torch.imag(source), *args))

    return stored


#: Replacements with a derivative of what functionalization writes.
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    _aten.constant_pad_nd.default: _padded,
    _aten.copy.default: _copy,
    _aten.detach.default: _detach,
    _aten.fill.Scalar: _fill,
    _aten.fill.Tensor: _fill,
    _aten.index_put.default: _index_put,
    _aten.lift_fresh_copy.default: _lifted,
    _aten.pow.Tensor_Scalar: _power,
    _aten.pow.Tensor_Tensor: _power_of_floats,
    _aten.scatter.src: _scatter,
    _aten.select_scatter.default: _of_parts(_aten.select_scatter.default),
    _aten.slice_scatter.default: _of_parts(_aten.slice_scatter.default),
    _aten.view.dtype: _view_as,
}
