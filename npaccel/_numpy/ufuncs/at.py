"""``ufunc.at``: in-place operations in which repeated indices count each time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.core.dtypes import DType, as_tensor, cast, to_numpy
from npaccel._numpy.host import kernels as host
from npaccel._numpy.indexing.indexing import getitem
from npaccel._numpy.ufuncs.comparisons import truth
from npaccel._numpy.ufuncs.dispatch import Request, loop_dtypes
from npaccel._numpy.ufuncs.integers import (
    as_bits,
    as_signed,
    either,
    from_ordered,
    is_integral,
    ordered,
)
from npaccel._numpy.ufuncs.reductions import from_bits, to_bits
from npaccel._numpy.ufuncs.ufuncs import BY_UFUNC

#: Applying these twice is applying them once.
_IDEMPOTENT = (*(np.absolute, np.fabs, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.positive),)
#: Applying these twice changes nothing.
_INVOLUTIONS = (np.negative, np.conjugate, np.invert)

_SCATTERED: dict[np.ufunc, str] = {
    np.multiply: "prod",
    np.maximum: "amax",
    np.minimum: "amin",
    np.logical_or: "amax",
    np.logical_and: "amin",
    np.bitwise_or: "amax",
    np.bitwise_and: "amin",
}


_BINARY_AT = frozenset(
    (*_SCATTERED, np.add, np.subtract, np.divide, np.fmax, np.fmin, np.logical_xor, np.bitwise_xor)
)
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def has_at(ufunc: np.ufunc) -> bool:
    """Whether `at` knows the ufunc on every device, for some dtypes at least."""
    known = (*_IDEMPOTENT, *_INVOLUTIONS, np.logical_not) if ufunc.nin == 1 else _BINARY_AT
    return ufunc in known


def at(ufunc: np.ufunc, a: torch.Tensor, indices: Any, b: Any = None) -> None:
    """Apply a ufunc in place at indices, once for each time one occurs.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The ufunc. Not on a CPU: sums, products, extrema, bit logic, and unary
        ufuncs whose repetition is known beforehand.
    a : tensor
        What is changed.
    indices : object
        Whatever NumPy takes between brackets.
    b : tensor, nested list or Python scalar, optional
        The second operand, which broadcasts to ``a[indices]``.

    Raises
    ------
    TypeError
        If the result can't be cast to the dtype of `a`.
    ValueError
        If `b` doesn't broadcast.
    NotImplementedError
        If repeated indices would need a loop over the elements.
    """
    _ask(ufunc, a, b)
    if _are_places(a, indices):
        places = indices
    else:
        places = getitem(torch.arange(a.numel(), device=a.device).reshape(a.shape), indices)
    # here NumPy takes Python numbers for arrays, not for weak scalars
    given = None if ufunc.nin == 1 else as_tensor(b)
    values = None if given is None else _broadcast(given, places).reshape(-1)
    if host.usable(a, *(() if given is None else (given,))):
        one = given is not None and type(given.numel()) is int and given.numel() == 1
        operand = given.reshape(()) if given is not None and one else values
        _in_numpys_steps(ufunc, a, places.reshape(-1), operand)
        return
    if not has_at(ufunc):
        raise _refused(ufunc)
    flat = a.reshape(-1)
    if values is None:
        a.copy_(_unary(ufunc, flat, places.reshape(-1)).reshape(a.shape))
        return
    own, other = to_numpy(a.dtype), to_numpy(values.dtype)
    loop = loop_dtypes(ufunc, [own, other], [None], Request())
    if _is_cut(ufunc, own, loop[-1]):
        raise NotImplementedError(
            f"numpy.{ufunc.__name__}.at can't be compiled for {other} into an array of {own}: "
            f"NumPy cuts every step to {own}; convert the array or the operand first"
        )
    if ufunc not in _LOGICAL:  # their loop is one of bools, which would lose the other elements
        flat, values = cast(flat, loop[0]), cast(values, loop[1])
    found = _binary(ufunc, flat, places.reshape(-1), values)
    a.copy_(cast(found, own).reshape(a.shape))


def _in_numpys_steps(
    ufunc: np.ufunc, a: torch.Tensor, places: torch.Tensor, values: torch.Tensor | None
) -> None:
    """Have NumPy do it, on a CPU.

    It casts values that its loop has in another dtype one at a time, and is up to 45 times slower
    then: they are cast before.
    """
    if values is not None and ufunc not in _LOGICAL:
        dtypes = (to_numpy(a.dtype), to_numpy(values.dtype), None)
        values = cast(values, ufunc.resolve_dtypes(dtypes)[1])  # in full, unlike `loop_dtypes`
    target = a if a.ndim == 1 else a.reshape(-1).clone()
    host.ufunc_at(target, places, values, ufunc.__name__)
    if target is not a:
        a.copy_(target.reshape(a.shape))


def _are_places(a: torch.Tensor, indices: Any) -> bool:
    """Whether indices say themselves where the elements are, and are checked where they're used."""
    is_tensor = isinstance(indices, torch.Tensor) and indices.dtype == torch.int64
    return is_tensor and a.ndim == 1 and host.usable(a, indices)


_EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def _is_cut(ufunc: np.ufunc, own: DType, computed: DType) -> bool:
    """Whether it matters that NumPy stores each step in the dtype of the array."""
    if ufunc in _LOGICAL or own.kind not in "iub":
        return False
    if own.kind == "b":
        return computed.kind != "b"
    return computed.kind in "fc" or (ufunc in _EXTREMA and bool(computed != own))


def _ask(ufunc: np.ufunc, a: torch.Tensor, b: Any) -> None:
    """Have NumPy raise what it would raise for these dtypes."""
    stand_in = np.ones(1, dtype=to_numpy(a.dtype))
    operands = [] if b is None else [np.ones(1, dtype=to_numpy(as_tensor(b).dtype))]
    with np.errstate(all="ignore"):
        ufunc.at(stand_in, [0], *operands)


def _broadcast(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    try:
        return torch.broadcast_to(values, places.shape)
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # a size that isn't known while tracing
            raise
        raise ValueError(
            f"array is not broadcastable to correct shape: {tuple(values.shape)} doesn't "
            f"broadcast to the shape {tuple(places.shape)} of the indexed elements"
        ) from error


def _refused(ufunc: np.ufunc) -> NotImplementedError:
    return NotImplementedError(
        f"numpy.{ufunc.__name__}.at can't be compiled: repeated indices would need a loop over "
        "the elements; where no index repeats, write a[indices] = "
        f"np.{ufunc.__name__}(a[indices], ...)"
    )


def _counts(flat: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    zeros = torch.zeros_like(flat, dtype=torch.int64)
    return zeros.index_put((places,), torch.ones_like(places), accumulate=True)


def _unary(ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    counts = _counts(flat, places)
    dtype = to_numpy(flat.dtype)
    if ufunc is np.logical_not:
        kept = torch.where(counts % 2 == 1, ~truth(flat), truth(flat))
        return either(counts > 0, cast(kept, dtype), flat)
    if ufunc not in _IDEMPOTENT and ufunc not in _INVOLUTIONS:
        raise _refused(ufunc)
    loop = loop_dtypes(ufunc, [dtype], [None], Request())
    changed = cast(BY_UFUNC[ufunc].compute(cast(flat, loop[0])), dtype)
    is_named = counts > 0 if ufunc in _IDEMPOTENT else counts % 2 == 1
    return either(is_named, changed, flat)


def _binary(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    if ufunc in (np.add, np.subtract):
        return _added(ufunc, flat, places, values)
    if ufunc is np.divide:
        product = _scattered(torch.ones_like(flat), places, values, "prod")
        return flat / product
    if ufunc in (np.fmax, np.fmin):
        return _without_nan(ufunc, flat, places, values)
    if ufunc in (np.logical_and, np.logical_or):
        return _logical(ufunc, flat, places, values)
    if ufunc in (np.bitwise_and, np.bitwise_or) and flat.dtype != torch.bool:
        return _bitwise(ufunc, flat, places, values)
    if ufunc in (np.logical_xor, np.bitwise_xor):
        return _toggled(ufunc, flat, places, values)
    if ufunc in _SCATTERED and not flat.dtype.is_complex:
        return _scattered(flat, places, values, _SCATTERED[ufunc])
    raise _refused(ufunc)


def _added(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    if flat.dtype == torch.bool:
        return _scattered(flat, places, values, "amax")
    bits, more = as_signed(flat), as_signed(values)
    if ufunc is np.subtract:
        more = -more
    if flat.device.type != "cpu" and is_integral(bits.dtype) and bits.itemsize < 4:
        wide = bits.to(torch.int32)  # a GPU adds no fewer bits at once
        total = wide.index_put((places,), more.to(torch.int32), accumulate=True).to(bits.dtype)
    else:
        total = bits.index_put((places,), more, accumulate=True)
    return as_bits(total, flat.dtype)


def _scattered(
    flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor, how: str
) -> torch.Tensor:
    """Scatter with a reduction; bools as uint8, wide unsigned dtypes as int64."""
    dtype = flat.dtype
    if dtype == torch.bool:
        small = flat.to(torch.uint8).scatter_reduce(0, places, values.to(torch.uint8), how)
        return small != 0
    if how == "prod" and wants_gradients(flat, values):
        # torch's derivative by an element that is 0 is 0.
        return flat * torch.ones_like(flat).scatter_reduce(0, places, values, how)
    if how == "prod":
        bits = as_signed(flat).scatter_reduce(0, places, as_signed(values), how)
        return bits.view(dtype)
    return from_ordered(ordered(flat).scatter_reduce(0, places, ordered(values), how), dtype)


def _without_nan(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    how = "amax" if ufunc is np.fmax else "amin"
    if is_integral(flat.dtype):
        return _scattered(flat, places, values, how)
    low = torch.full_like(flat[:1], -math.inf if ufunc is np.fmax else math.inf)
    found = _scattered(
        torch.where(torch.isnan(flat), low, flat),
        places,
        torch.where(torch.isnan(values), low, values),
        how,
    )
    missing = _scattered(torch.isnan(flat), places, torch.isnan(values), "amin")
    return torch.where(missing, torch.full_like(flat, math.nan), found)


def _logical(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Elements that no index names keep their value, though others become 0 or 1."""
    found = _scattered(truth(flat), places, truth(values), _SCATTERED[ufunc])
    return either(_counts(flat, places) > 0, found.to(flat.dtype), flat)


def _toggled(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    if flat.dtype != torch.bool and ufunc is np.bitwise_xor:
        bits = to_bits(flat).to(torch.int64)
        more = to_bits(values).to(torch.int64)
        total = bits.index_put((places,), more, accumulate=True)
        return from_bits(total & 1, flat.dtype)
    total = truth(flat).to(torch.int64)
    total = total.index_put((places,), truth(values).to(torch.int64), accumulate=True)
    found = (total & 1).to(flat.dtype)
    return either(_counts(flat, places) > 0, found, flat)


def _bitwise(
    ufunc: np.ufunc, flat: torch.Tensor, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    bits = to_bits(values)
    rows = places.unsqueeze(-1).expand(bits.shape)
    found = to_bits(flat).scatter_reduce(0, rows, bits, _SCATTERED[ufunc])
    return from_bits(found, flat.dtype)
