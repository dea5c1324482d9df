"""The methods of ufuncs: reduce, accumulate, reduceat and outer.

`at` has a module of its own. As for the calls, NumPy is asked first, on
arrays with at most one element along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import reduced_axes
from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.core.dtypes import (
    BOOL,
    INT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    full_scalar,
    is_scalar,
    narrow,
    to_numpy,
)
from npaccel._numpy.core.layouts import (
    lying_as_numpys,
    lying_as_reduced,
    lying_as_sliced_and_reduced,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import blocked
from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs.at import at, has_at
from npaccel._numpy.ufuncs.dispatch import (
    broadcast_shape,
    concrete,
    deliver,
    is_symbolic,
    named,
    out_tuple,
)
from npaccel._numpy.ufuncs.integers import (
    Compute,
    absolute,
    as_bits,
    as_signed,
    either,
    is_integral,
)
from npaccel._numpy.ufuncs.reductions import (
    REDUCTIONS,
    Reduction,
    flattened,
    is_negative_zero,
    is_rounded,
    negated,
    neutral_value,
    with_axes,
)
from npaccel._numpy.ufuncs.ufuncs import BY_UFUNC, IMPLEMENTATIONS, KERNELS
from npaccel._runtime.torch.symbolic_sizes import surely


class _NoValue:
    """Stands for an argument that wasn't given, where None means something."""

    def __repr__(self) -> str:
        return "<no value>"


NO_VALUE = _NoValue()


def _given(value: Any) -> bool:
    """Whether an argument was given; NumPy has a marker of its own for "not"."""
    return type(value).__name__ not in ("_NoValue", "_NoValueType")


def reduction_of(ufunc: np.ufunc, method: str) -> Reduction:
    """Return how a ufunc reduces.

    Raises
    ------
    NotImplementedError
        If torch has no way to do it without a loop over the elements.
    """
    reduction = REDUCTIONS.get(ufunc)
    if reduction is None:
        raise NotImplementedError(
            f"numpy.{ufunc.__name__}.{method} can't be compiled: it would be a loop over the "
            f"elements; {method} works for {', '.join(sorted(u.__name__ for u in REDUCTIONS))}"
        )
    return reduction


def _is_zero(size: Any) -> bool:
    """Whether a size is known to be 0: symbolic sizes stand for 2 and more."""
    return not is_symbolic(size) and size == 0


def _stand_in(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return an array as NumPy sees it, but with 1 for all sizes that aren't 0."""
    shape = tuple(0 if _is_zero(n) else 1 for n in x.shape)
    return np.ones(shape, dtype=to_numpy(x.dtype))


def _asked(method: Any, *args: Any, **keywords: Any) -> DType:
    """Return the dtype of NumPy's result, or let NumPy raise."""
    with np.errstate(all="ignore"):
        return as_dtype(np.asarray(method(*args, **keywords)).dtype)


def _loop_dtype(
    ufunc: np.ufunc, found: DType, x: torch.Tensor, dtype: Any, out: torch.Tensor | None
) -> DType:
    """Return the dtype to reduce in, narrowed where NumPy would invent it."""
    if ufunc in _TO_BOOL:
        return BOOL
    if dtype is not None:
        return as_dtype(dtype)
    own = to_numpy(x.dtype)
    if out is None:
        return narrow(found, [own])
    target = to_numpy(out.dtype)
    loop = ufunc.resolve_dtypes((target, own, None), reduction=True, casting="unsafe")
    return narrow(loop[-1], [own, target])


#: NumPy starts at the identity of these, which takes the sign of a lone element.
_SIGNLESS = (np.gcd, np.hypot)
_TO_BOOL = (np.logical_and, np.logical_or, np.logical_xor)


def _only_axis(axis: Any, ndim: int) -> int:
    """Return the one axis that NumPy has found to be meant: None is that of a 1-D array."""
    (found,) = reduced_axes(axis, ndim)
    return found


def _check_rounding(ufunc: np.ufunc, loop: DType, out: torch.Tensor | None) -> None:
    """Refuse an `out` that can't hold what is between the steps: NumPy rounds it there."""
    if out is not None and not np.can_cast(loop, to_numpy(out.dtype), "same_kind"):
        raise NotImplementedError(
            f"numpy.{ufunc.__name__}: a result of dtype {loop} can't be reduced into an out= of "
            f"{to_numpy(out.dtype)} by compiled code, since NumPy rounds in between; "
            "leave out= away and convert the result"
        )


def reduce_ufunc(
    ufunc: np.ufunc,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> torch.Tensor:
    """Reduce an array with a ufunc, as ``ufunc.reduce`` does.

    Parameters
    ----------
    ufunc : numpy.ufunc
        One of those in `REDUCTIONS`.
    a : tensor, or nested list of numbers
        The array.
    axis : int, tuple of int or None
        Axes to reduce; None: all.
    dtype : dtype, optional
        The dtype to reduce in. None: NumPy's choice (sums of small integers are
        int64 or uint64), narrowed.
    out : tensor, or 1-tuple of it, optional
        Where to write; it's returned.
    keepdims : bool
        Whether reduced axes stay, with length 1.
    initial : scalar, optional
        Where to start; None: at the first element.
    where : tensor of bool, or True
        Which elements count.

    Returns
    -------
    tensor
        With the remaining axes.

    Raises
    ------
    ValueError
        If an empty axis is reduced without an identity or `initial`, if several
        axes are reduced with a ufunc that depends on the order, or `out` has
        the wrong shape.
    numpy.exceptions.AxisError
        If an axis doesn't exist.
    TypeError
        If NumPy has no loop for the dtype.
    """
    x = as_tensor(a)
    target = out_tuple(ufunc, out)[0]
    mask = None if where is True else as_tensor(where)
    dtype = None if dtype is None else as_dtype(dtype)
    found = _asked_reduce(ufunc, x, axis, dtype, target, keepdims, initial, mask)
    loop = _loop_dtype(ufunc, found, x, dtype, target)
    axes = reduced_axes(axis, x.ndim)
    start = initial if _given(initial) else None
    _check_rounding(ufunc, loop, target)
    if initial is None and ufunc in _SIGNLESS and all(surely(x.shape[i] == 1) for i in axes):
        ufunc = np.add  # of one element, which stays as it is
    result = _reduced(ufunc, cast(x, loop), axes, bool(keepdims), start, mask)
    if ufunc is np.add and loop.kind in "fc" and _is_zero_first(initial):
        result = from_zero(result, x, axes)
    if target is not None and tuple(target.shape) != tuple(result.shape):
        raise ValueError(
            f"output parameter for reduction operation {ufunc.__name__} has the wrong shape "
            f"{tuple(target.shape)}; pass one of shape {tuple(result.shape)}"
        )
    if target is None:
        return lying_as_reduced(result, [x] if mask is None else [x, mask], axes)
    return deliver(result, target, None)


def from_zero(total: torch.Tensor, x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Begin a sum with zero, as NumPy does, also where compilers take one element as it is."""
    return total + 0 if all(surely(x.shape[i] == 1) for i in axes) else total  # -0.0 is 0.0 then


def _asked_reduce(
    ufunc: np.ufunc,
    x: torch.Tensor,
    axis: Any,
    dtype: DType | None,
    out: torch.Tensor | None,
    keepdims: bool,
    initial: Any,
    mask: torch.Tensor | None,
) -> DType:
    keywords: dict[str, Any] = {"axis": axis, "dtype": dtype, "keepdims": bool(keepdims)}
    if _given(initial):
        keywords["initial"] = _number(initial)
    if mask is not None:
        keywords["where"] = _stand_in(mask)
    if out is not None:
        keywords["out"] = _stand_in(out)
    return _asked(ufunc.reduce, _stand_in(x), **keywords)


def _number(initial: Any) -> Any:
    """Return what stands for `initial` when NumPy is asked."""
    if isinstance(initial, torch.Tensor):
        return np.ones((), dtype=to_numpy(initial.dtype))[()]
    return concrete(initial) if is_scalar(initial) else initial


def _reduced(
    ufunc: np.ufunc,
    x: torch.Tensor,
    axes: tuple[int, ...],
    keepdims: bool,
    start: Any,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """Reduction a tensor that has the loop's dtype already."""
    reduction = reduction_of(ufunc, "reduce")
    first = None if start is None else _start(start, x)
    if mask is not None:
        x = _masked(ufunc, x, mask, first)
    if any(_is_zero(x.shape[i]) for i in axes):
        return _of_nothing(ufunc, x, axes, keepdims, first)
    if first is not None and axes and is_rounded(ufunc, x):
        return reduction.reduce(x, axes, keepdims, first)  # type: ignore[no-any-return]
    if first is not None and reduction.ordered:
        x, axes, result_axes = _prepended(first, x, axes), (-1,), axes
        return with_axes(reduction.reduce(x, axes, False), result_axes, keepdims)
    result: torch.Tensor = reduction.reduce(x, axes, keepdims) if axes else x.clone()
    if ufunc is np.add and axes and _may_be_negative_zero(start):
        result = _begun_without_zero(x, result, axes, keepdims)
    if first is None and ufunc in _SIGNLESS and not axes:
        return absolute(result)
    if first is None:
        return result
    return cast(BY_UFUNC[ufunc].compute(result, first), to_numpy(x.dtype))


def _is_zero_first(initial: Any) -> bool:
    """Whether a sum begins with 0.0, by itself or because it's told to."""
    if not _given(initial):
        return initial is not None
    is_number = isinstance(initial, int | float | complex | np.number)
    return is_number and bool(initial == 0) and not _may_be_negative_zero(initial)


def _may_be_negative_zero(start: Any) -> bool:
    """Whether a start may be -0.0, or have it as a part."""
    if isinstance(start, torch.Tensor):
        return start.is_floating_point() or start.is_complex()
    if start is None or not isinstance(start, float | complex | np.inexact):
        return False
    return any(part == 0 and np.signbit(part) for part in (start.real, start.imag))


def _begun_without_zero(
    x: torch.Tensor, total: torch.Tensor, axes: tuple[int, ...], keepdims: bool
) -> torch.Tensor:
    """Return sums that are -0.0 where all of their elements are: torch's begin with 0.0."""
    if is_integral(x.dtype) or wants_gradients(x):
        return total
    if x.is_complex():
        parts = ((x.real, total.real), (x.imag, total.imag))
        return torch.complex(*(_begun_without_zero(a, b, axes, keepdims) for a, b in parts))
    return torch.where(torch.all(is_negative_zero(x), axes, keepdims), -0.0, total)


def _start(start: Any, x: torch.Tensor) -> torch.Tensor:
    dtype = to_numpy(x.dtype)
    if is_scalar(start):
        return full_scalar(start, dtype, x.device)
    return cast(as_tensor(start), dtype)


def _masked(
    ufunc: np.ufunc, x: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None
) -> torch.Tensor:
    """Put what changes nothing where the mask is False."""
    identity = BY_UFUNC[ufunc].ufunc.identity
    if identity is None and first is not None and not REDUCTIONS[ufunc].ordered:
        fill = first  # reducing the start again changes nothing for such ufuncs
    else:
        dtype = to_numpy(x.dtype)
        neutral = -0.0 if ufunc is np.add and dtype.kind == "f" else neutral_value(ufunc, dtype)
        neutral = complex(-0.0, -0.0) if ufunc is np.add and dtype.kind == "c" else neutral
        fill = full_scalar(neutral, dtype, x.device)
    shape = broadcast_shape([x.shape, mask.shape])
    return either(mask, x.expand(shape), fill)


def _of_nothing(
    ufunc: np.ufunc,
    x: torch.Tensor,
    axes: tuple[int, ...],
    keepdims: bool,
    first: torch.Tensor | None,
) -> torch.Tensor:
    """Return the start or the identity, which NumPy has found to be there."""
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    if first is not None:
        return first.expand(shape).clone()
    dtype = to_numpy(x.dtype)
    # a result without elements needs no identity, nor has maximum one
    value = 0 if ufunc.identity is None else neutral_value(ufunc, dtype)
    return full_scalar(value, dtype, x.device, tuple(shape))


def _prepended(first: torch.Tensor, x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    flat = flattened(x, axes) if axes else x.unsqueeze(-1)
    return torch.cat([first.expand(*flat.shape[:-1], 1), flat], -1)


def accumulate_ufunc(
    ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> torch.Tensor:
    """Accumulate an array with a ufunc, as ``ufunc.accumulate`` does.

    Parameters
    ----------
    ufunc : numpy.ufunc
        One of those in `REDUCTIONS`.
    array : tensor, or nested list of numbers
        The array, of one dimension at least.
    axis, dtype, out
        As for `reduce_ufunc`, but one axis only.

    Returns
    -------
    tensor
        Of the shape of `array`.

    Raises
    ------
    TypeError
        If the array has no dimensions, or NumPy no loop for the dtype.
    ValueError
        If `out` has the wrong shape.
    """
    x = as_tensor(array)
    target = out_tuple(ufunc, out)[0]
    dtype = None if dtype is None else as_dtype(dtype)
    keywords = (
        {} if target is None else {"out": np.empty(_stand_in(x).shape, to_numpy(target.dtype))}
    )
    found = _asked(ufunc.accumulate, _stand_in(x), axis=axis, dtype=dtype, **keywords)
    loop = _loop_dtype(ufunc, found, x, dtype, target)
    if target is not None and tuple(target.shape) != tuple(x.shape):
        raise ValueError(
            f"provided out has shape {tuple(target.shape)}, the result of "
            f"{ufunc.__name__}.accumulate has shape {tuple(x.shape)}"
        )
    _check_rounding(ufunc, loop, target)
    scan = reduction_of(ufunc, "accumulate").accumulate
    found = scan(cast(x, loop), _only_axis(axis, x.ndim))
    return deliver(found, target, None) if target is not None else lying_as_numpys(found, [x])


def reduceat_ufunc(
    ufunc: np.ufunc,
    array: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
    out: Any = None,
) -> torch.Tensor:
    """Reduce slices of an array with a ufunc, as ``ufunc.reduceat`` does.

    On a GPU every slice is the whole axis under a mask, since slices may overlap:
    the work is the number of indices times the length of the axis.

    Parameters
    ----------
    ufunc : numpy.ufunc
        One of those in `REDUCTIONS`.
    array : tensor, or nested list of numbers
        The array.
    indices : tensor or list of int, shape (K,)
        Where the slices start; each ends where the next begins, or holds one
        element where the next begins before it.
    axis, dtype, out
        As for `reduce_ufunc`, but one axis only.

    Returns
    -------
    tensor
        Of the shape of `array`, but K along the axis.

    Raises
    ------
    IndexError
        If an index in a list lies outside the axis.
    """
    x = as_tensor(array)
    # NumPy cuts a list of floats to integers, but refuses an array of them
    starts = as_tensor(indices, INT64 if isinstance(indices, list | tuple) else None)
    target = out_tuple(ufunc, out)[0]
    dtype = None if dtype is None else as_dtype(dtype)
    stand_in = np.zeros((1,) * starts.ndim, dtype=to_numpy(starts.dtype))
    found = _asked(ufunc.reduceat, _stand_in(x), stand_in, axis=axis, dtype=dtype)
    loop = _loop_dtype(ufunc, found, x, dtype, target)
    _check_rounding(ufunc, loop, target)
    position = _only_axis(axis, x.ndim)
    short = ufunc in blocked.SHORT and host.usable(x, starts)
    reduction = reduction_of(ufunc, "reduceat")
    given = x if short else cast(x, loop)
    _check_indices(ufunc, indices, x.shape[position])
    is_plain = x.ndim <= 2 or x.is_contiguous()
    if is_plain and host.usable(given, starts):
        result = host.ufunc_reduceat(given, cast(starts, INT64), ufunc.__name__, position)
    else:
        last = torch.movedim(given, position, -1)
        result = torch.movedim(
            _reduce_slices(ufunc, reduction, last, cast(starts, INT64)), -1, position
        )
    if target is not None and tuple(target.shape) != tuple(result.shape):
        raise ValueError(
            f"provided out has shape {tuple(target.shape)}, the result of "
            f"{ufunc.__name__}.reduceat has shape {tuple(result.shape)}"
        )
    if target is None:
        result = lying_as_sliced_and_reduced(result, x, position)
    return deliver(result, target, None)


def _check_indices(ufunc: np.ufunc, indices: Any, size: Any) -> None:
    for index in indices if isinstance(indices, list | tuple) else ():
        if isinstance(index, int) and isinstance(size, int) and not 0 <= index < size:
            raise IndexError(
                f"index {index} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})"
            )


def _reduce_slices(
    ufunc: np.ufunc, reduction: Reduction, x: torch.Tensor, starts: torch.Tensor
) -> torch.Tensor:
    if host.usable(x, starts):
        return host.ufunc_reduceat(x, starts, ufunc.__name__, x.ndim - 1)
    size = x.shape[-1]
    following = torch.cat([starts[1:], torch.full_like(starts[:1], size)])
    ends = torch.where(starts < following, following, starts + 1)
    places = torch.arange(size, device=x.device)
    member = (places >= starts.unsqueeze(-1)) & (places < ends.unsqueeze(-1))
    rows = x.unsqueeze(-2)
    if reduction.ordered:
        inverse = negated(rows) if ufunc is np.subtract else 1 / rows
        rows = either(places == starts.unsqueeze(-1), rows, inverse)
        ufunc = np.add if ufunc is np.subtract else np.multiply
        reduction = REDUCTIONS[ufunc]
    dtype = to_numpy(x.dtype)
    neutral = full_scalar(neutral_value(ufunc, dtype), dtype, x.device)
    result: torch.Tensor = reduction.reduce(either(member, rows, neutral), (rows.ndim - 1,), False)
    if ufunc not in (np.gcd, np.lcm, np.hypot):
        return result
    # a lone element stays as it is, with its sign
    alone = as_bits(torch.index_select(as_signed(x), -1, starts), x.dtype)
    return either(ends - starts == 1, alone, result)


def outer_ufunc(ufunc: np.ufunc, a: Any, b: Any, **keywords: Any) -> Any:
    """Apply a ufunc to all pairs of elements, as ``ufunc.outer`` does.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A ufunc of two operands.
    a, b : tensor, nested list or Python scalar
        The operands.
    **keywords
        Those of the ufunc's call.

    Returns
    -------
    tensor, or tuple of tensors
        Of shape ``a.shape + b.shape``.
    """
    left, right = as_tensor(a), as_tensor(b)  # here NumPy knows no weak scalars
    left = left.reshape((*left.shape, *(1,) * right.ndim))
    return IMPLEMENTATIONS[ufunc](left, right, **keywords)


def _reduce_row(ufunc: np.ufunc) -> Compute:
    def implementation(
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> torch.Tensor:
        return reduce_ufunc(ufunc, array, axis, dtype, out, keepdims, initial, where)

    return implementation


def _accumulate_row(ufunc: np.ufunc) -> Compute:
    def implementation(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return accumulate_ufunc(ufunc, array, axis, dtype, out)

    return implementation


def _reduceat_row(ufunc: np.ufunc) -> Compute:
    def implementation(
        array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        return reduceat_ufunc(ufunc, array, indices, axis, dtype, out)

    return implementation


def _outer_row(ufunc: np.ufunc) -> Compute:
    def implementation(A: Any, B: Any, /, **kwargs: Any) -> Any:
        return outer_ufunc(ufunc, A, B, **kwargs)

    return implementation


def _at_row(ufunc: np.ufunc) -> Compute:
    def implementation(a: torch.Tensor, indices: Any, b: Any = None, /) -> None:
        at(ufunc, a, indices, b)

    return implementation


def _declare(ufunc: np.ufunc, method: str, make: Any, **fields: Any) -> None:
    name = f"{ufunc.__name__}_{method}"
    function = named(make(ufunc), name, __name__)
    implements(f"numpy.{ufunc.__name__}.{method}", **fields)(function)
    globals()[name] = function


_NO_REDUCTION = "it would be a loop over the elements; write it as one in NumPy"
_NO_AT = (
    "repeated indices would need a loop over the elements; where no index repeats, assign the "
    "ufunc's result to a[indices]"
)


def _declare_methods(ufuncs: Sequence[np.ufunc]) -> None:
    for ufunc in ufuncs:
        if ufunc.nin == 2 and ufunc.nout == 1:
            tolerance = BY_UFUNC[ufunc].tolerance or 64
            fields: dict[str, Any] = {"tolerance": tolerance}
            if ufunc not in REDUCTIONS:
                fields |= {"status": "refused", "reason": _NO_REDUCTION}
            _declare(ufunc, "reduce", _reduce_row, zero_d="scalar", mutates=(3,), **fields)
            _declare(ufunc, "accumulate", _accumulate_row, mutates=(3,), **fields)
            _declare(ufunc, "reduceat", _reduceat_row, mutates=(4,), **fields)
        if ufunc.nin == 2:
            kernel = BY_UFUNC[ufunc]
            fields = {"tolerance": kernel.tolerance, "note": kernel.note}
            _declare(ufunc, "outer", _outer_row, zero_d="scalar", **fields)
        if ufunc.nout == 1:
            fields = {} if has_at(ufunc) else {"note": f"on a GPU it's refused: {_NO_AT}"}
            if ufunc is np.isnat:
                fields = {"status": "refused", "reason": "it takes dates only"}
            _declare(ufunc, "at", _at_row, mutates=(0,), tolerance=64, **fields)


_declare_methods([kernel.ufunc for kernel in KERNELS])
