"""Running sums and products, differences, gradients and the trapezoid rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import NO_VALUE, Axis, axes_of, axis_of, call, deliver, probe
from npaccel._numpy.core.dtypes import (
    DType,
    as_dtype,
    as_tensor,
    cast,
    dtype_of,
    is_array,
    narrow,
    strong,
    to_numpy,
)
from npaccel._numpy.core.layouts import lying_as_numpys, lying_as_reduced, lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs.reductions import REDUCTIONS
from npaccel._runtime.torch.symbolic_sizes import holds_here


def running(ufunc: np.ufunc, x: torch.Tensor, axis: int | None, dtype: DType) -> torch.Tensor:
    """Return a running sum or product along an axis, or of all elements in C order."""
    if axis is None or x.ndim == 0:
        axis = axis_of(0 if axis is None else axis, 1)
        x = x.reshape(-1)
    accumulate = REDUCTIONS[ufunc].accumulate
    return accumulate(cast(x, dtype), axis_of(axis, x.ndim))  # type: ignore[no-any-return]


def _running_dtype(
    ask: Callable[..., Any], x: torch.Tensor, dtype: Any, out: torch.Tensor | None
) -> DType:
    """Return the dtype in which NumPy adds or multiplies: `out` takes part in the choice."""
    if dtype is None and out is not None:
        return as_dtype(np.result_type(to_numpy(x.dtype), to_numpy(out.dtype)))
    return as_dtype(ask(probe(x)).dtype if dtype is None else dtype)


def _stored(found: torch.Tensor, x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return a result in `out`, which may be of any dtype here."""
    if out is None:
        return lying_as_numpys(found, [x])
    return deliver(cast(found, to_numpy(out.dtype)), out)


@implements(np.cumsum)
@implements("numpy.ndarray.cumsum")
def cumsum(
    a: Any, axis: int | None = None, dtype: Any = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """`numpy.cumsum`; torch may carry the sum in a wider dtype than NumPy does."""
    x = as_tensor(a)
    return _stored(running(np.add, x, axis, _running_dtype(np.cumsum, x, dtype, out)), x, out)


@implements(np.cumprod)
@implements("numpy.ndarray.cumprod")
def cumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """`numpy.cumprod`."""
    x = as_tensor(a)
    return _stored(running(np.multiply, x, axis, _running_dtype(np.cumprod, x, dtype, out)), x, out)


def _cumulative(
    x: torch.Tensor,
    axis: int | tuple[int, ...] | None,
    computed: Callable[[int], torch.Tensor],
    initial: int | None,
) -> torch.Tensor:
    """Return a running result of the array API, with its first value put before."""
    if axis is None and x.ndim >= 2:
        raise ValueError(
            "For arrays which have more than one dimension ``axis`` argument is required."
        )
    if isinstance(axis, tuple):  # NumPy's accumulate takes a tuple of one
        (axis,) = axis
    axis = axis_of(0 if axis is None else axis, max(x.ndim, 1))
    found = computed(axis)
    if initial is None:
        return found
    shape = [1 if i == axis else n for i, n in enumerate(found.shape)]
    return torch.cat([found.new_full(shape, initial), found], axis)


def _led(found: torch.Tensor, out: torch.Tensor | None, with_initial: bool) -> torch.Tensor:
    """Write a running result to `out`, whose shape NumPy doesn't check after a first value."""
    if with_initial and out is not None and tuple(out.shape) != tuple(found.shape):
        raise NotImplementedError("an `out` of another shape than the result can't be compiled")
    return deliver(found, out)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    include_initial: bool = False,
) -> torch.Tensor:
    """`numpy.cumulative_sum`, the array API's name of `cumsum`."""
    x = as_tensor(x)
    first = 0 if include_initial else None
    return _led(_cumulative(x, axis, lambda k: cumsum(x, k, dtype), first), out, include_initial)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: torch.Tensor | None = None,
    include_initial: bool = False,
) -> torch.Tensor:
    """`numpy.cumulative_prod`, the array API's name of `cumprod`."""
    x = as_tensor(x)
    first = 1 if include_initial else None
    return _led(_cumulative(x, axis, lambda k: cumprod(x, k, dtype), first), out, include_initial)


if hasattr(np, "cumulative_sum"):  # new in NumPy 2.1
    implements(np.cumulative_sum)(cumulative_sum)
    implements(np.cumulative_prod)(cumulative_prod)


def sliced(x: torch.Tensor, axis: int, start: int | None, stop: int | None) -> torch.Tensor:
    """Return the view ``x[..., start:stop, ...]`` with the slice at an axis."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _joined(x: torch.Tensor, before: Any, after: Any, axis: int) -> torch.Tensor:
    """Return x with what `diff` was told to put before and after it."""
    parts = []
    for part in (before, x, after):
        if part is None or part is NO_VALUE:
            continue
        part = as_tensor(part)
        if part.ndim == 0:
            part = part.expand([1 if i == axis else n for i, n in enumerate(x.shape)])
        parts.append(part)
    if len(parts) == 1:
        return x
    dtype = np.result_type(*(to_numpy(part.dtype) for part in parts))
    return torch.cat([cast(part, as_dtype(dtype)) for part in parts], axis)


@implements(np.diff)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE
) -> torch.Tensor:
    """`numpy.diff`; of booleans it is "not equal"."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0 and not isinstance(a, torch.Tensor):
        raise NotImplementedError("numpy.diff: with n=0 the result is the list or number itself")
    x = as_tensor(a)
    if n == 0:
        return x
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, x.ndim)
    x = _joined(x, prepend, append, axis)
    operation = np.not_equal if x.dtype == torch.bool else np.subtract
    for _ in range(n):
        x = call(operation, sliced(x, axis, 1, None), sliced(x, axis, None, -1))
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> torch.Tensor:
    """`numpy.ediff1d`.

    Raises
    ------
    TypeError
        If `to_end` or `to_begin` don't fit the array's dtype, or it is bool.
    """
    x = as_tensor(ary).reshape(-1)
    own = to_numpy(x.dtype)
    differences = call(np.subtract, x[1:], x[:-1])  # of no elements too: bool has none
    middle = [x.clone()] if holds_here(x.shape[0] == 0, "there are no elements") else [differences]
    ends: list[list[torch.Tensor]] = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is None:
            ends.append([])
            continue
        if not np.can_cast(strong(dtype_of(end)), own, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        ends.append([cast(as_tensor(end), own).reshape(-1)])
    parts = ends[0] + middle + ends[1]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _spacings(f: torch.Tensor, given: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """Return one spacing per axis: a scalar, or a 1-D tensor of steps."""
    if not given:
        return [1.0] * len(axes)
    one = len(given) == 1 and not isinstance(given[0], list | tuple)
    if one and (not is_array(given[0]) or given[0].ndim == 0):
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_spacing(f, distances, axis) for distances, axis in zip(given, axes, strict=True)]


def _spacing(f: torch.Tensor, distances: Any, axis: int) -> Any:
    if not is_array(distances) and not isinstance(distances, list | tuple):
        return distances
    positions = as_tensor(distances)
    if positions.ndim == 0:
        return positions
    if positions.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if positions.shape[0] != f.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if not positions.dtype.is_floating_point and not positions.is_complex():
        positions = cast(positions, narrow(np.dtype(np.float64), ()))
    return positions[1:] - positions[:-1]


def _is_uneven(h: Any) -> bool:
    return isinstance(h, torch.Tensor) and h.ndim == 1


def _edge(
    part: Callable[[int], torch.Tensor], step: Callable[[int], Any], order: int, sign: int
) -> torch.Tensor:
    """Return the one-sided difference at an end; positions count from that end."""
    found: torch.Tensor
    if order == 1:
        ends = (part(1) - part(0)) if sign > 0 else (part(0) - part(1))
        found = ends / step(0)
        return found
    near, far = step(0), step(1)
    first = sign * -(2.0 * near + far) / (near * (near + far))
    second = sign * (near + far) / (near * far)
    third = sign * -near / (far * (near + far))
    found = first * part(0) + second * part(1) + third * part(2)
    return found


def _gradient_along(f: torch.Tensor, h: Any, axis: int, order: int) -> torch.Tensor:
    n = f.shape[axis]

    def part(start: int, length: int = 1) -> torch.Tensor:
        return f.narrow(axis, start, length)

    if _is_uneven(h):
        shaped = h.reshape([-1 if i == axis else 1 for i in range(f.ndim)])
        left, right = shaped.narrow(axis, 0, n - 2), shaped.narrow(axis, 1, n - 2)
        inner = -(right) / (left * (left + right)) * part(0, n - 2)
        inner = inner + (right - left) / (left * right) * part(1, n - 2)
        inner = inner + left / (right * (left + right)) * part(2, n - 2)

        def step(i: int) -> Any:
            return shaped.narrow(axis, i, 1)
    else:
        inner = (part(2, n - 2) - part(0, n - 2)) / (2.0 * h)

        def step(i: int) -> Any:
            return h

    first = _edge(part, step, order, 1)
    last = _edge(lambda i: part(n - 1 - i), lambda i: step(n - 2 - i), order, -1)
    return torch.cat([first, inner, last], axis)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """`numpy.gradient`: second order inside, `edge_order` at the ends.

    Raises
    ------
    ValueError
        If an axis is too short, or the distances don't fit it.
    TypeError
        If there are more spacings than axes.
    """
    f = as_tensor(f)
    axes = axes_of(axis, f.ndim)
    spacings = _spacings(f, varargs, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    own = to_numpy(f.dtype)
    given = f
    if own.kind not in "fc":
        f = cast(f, narrow(np.dtype(np.float64), [own]))
    found = []
    for i, h in zip(axes, spacings, strict=True):
        if f.shape[i] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        if own.kind == "b" and (edge_order == 1 or not _is_uneven(h)):
            call(np.subtract, given, given)  # raises NumPy's TypeError
        found.append(lying_like(_as(f, _gradient_along(f, h, i, edge_order)), given))
    return found[0] if len(axes) == 1 else tuple(found)


def _as(f: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """Return a gradient in f's dtype: NumPy writes it to an array like f."""
    return cast(found, to_numpy(f.dtype))


@implements(np.trapezoid, zero_d="scalar")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> torch.Tensor:
    """`numpy.trapezoid`."""
    y = as_tensor(y)
    axis = axis_of(axis, y.ndim)
    d = dx
    if x is not None:
        x = as_tensor(x)
        d = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            d = d.reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    elif isinstance(dx, list | tuple):
        d = as_tensor(dx)
    both = call(np.add, sliced(y, axis, 1, None), sliced(y, axis, None, -1))
    terms = call(np.true_divide, call(np.multiply, d, both), 2.0)
    return lying_as_reduced(torch.sum(terms, axis), [terms], (axis,))


_OLD = "it doesn't warn that it is deprecated"
for _name in {"trapz"} & set(dir(np)):  # NumPy before 2.4
    implements(getattr(np, _name), zero_d="scalar", note=_OLD)(trapezoid)
