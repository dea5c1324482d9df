"""NumPy's own kernels as torch operators, for what they do faster than torch on a CPU.

Each is an operator ``torch.ops.npaccel.<name>``. It works on the tensors' memory,
copies nothing that NumPy itself doesn't copy, and releases the interpreter's lock
where NumPy does. To the compiler it is one opaque call between fused kernels.

Compiled code on disk calls the operators too, so that this module imports nothing of
the compiler. Operators have no gradients and no CUDA kernels: `usable` tells a row
whether to call one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.host import (
    blocked,
    linalg,  # noqa: F401 (its kernels are in `direct`, too)
    polynomials,  # noqa: F401 (likewise)
    registration,
    scipy_linalg,  # noqa: F401 (likewise)
)
from npaccel._numpy.host.registration import (
    Array,
    Form,
    direct,  # noqa: F401 (compiled code imports it from here)
    kernel,
    several,
    writing,
)
from npaccel._runtime.error_translation import refusing

#: Tests that rows make before they call a kernel.
usable = registration.usable

#: Multiple of the time of NumPy's vector kernel that compiled code of one thread takes: a million
#: float64, AVX512.
_SLOWER = {
    "angle": 4.6,
    "arccosh": 3.6,
    "arcsinh": 5.8,
    "arctan": 2.2,
    "arctanh": 7.4,
    "cbrt": 6.7,
    "cosh": 2.9,
    "expm1": 5.2,
    "log1p": 1.9,
    "sinh": 3.7,
    "tanh": 2.1,
}
#: Below this many elements the call of an operator, 15 microseconds, costs more than it saves.
_FEW = 4096


_FLOATS = (torch.float32, torch.float64)
_WIDE_INTEGERS = (torch.int32, torch.int64, torch.uint32, torch.uint64)


def ufunc_usable(name: str, x: Any, of_integers: bool = False) -> bool:
    """Whether NumPy's kernel of a ufunc is the faster one.

    It isn't with few elements, or with many threads and too few elements to divide among them.
    NumPy has vector kernels of these functions on Linux with AVX512 only.

    Parameters
    ----------
    name : str
    x : object
        The operand, whatever it is.
    of_integers : bool
        Whether it is integers, that NumPy computes in float64.
    """
    return (
        isinstance(x, torch.Tensor)
        and x.dtype in (_WIDE_INTEGERS if of_integers else _FLOATS)
        and worth(x)
        and sys.platform == "linux"
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and _SLOWER[name] > _threads_gained(x)
    )


def _threads_gained(x: torch.Tensor) -> float:
    """Return how many threads compiled code has for each one of NumPy's kernels."""
    size: Any = x.numel()
    threads = torch.get_num_threads()
    return threads / max(1, min(threads, size // blocked.PART if isinstance(size, int) else 1))


def worth(*tensors: torch.Tensor) -> bool:
    """Whether a call that saves some nanoseconds per element pays: not with few elements."""
    sizes: list[Any] = [tensor.numel() for tensor in tensors]
    return usable(*tensors) and not all(isinstance(n, int) and n < _FEW for n in sizes)


def _like(x: torch.Tensor, *_: Any) -> Form:
    return x.shape, x.dtype


def _places(x: torch.Tensor, *_: Any) -> Form:
    return x.shape, torch.int64


def _kind(x: Array, stable: bool, width: int) -> Any:
    """Return how to sort: integers of few bytes by NumPy's radix sort, 5 to 30 times faster."""
    return "stable" if stable or (x.itemsize <= width and x.dtype.kind in "biu") else None


@kernel("sort(Tensor x, int axis, bool stable) -> Tensor", _like)
def sort(x: Array, axis: int, stable: bool) -> Array:
    """`numpy.sort`."""
    return np.sort(x, axis, _kind(x, stable, 1))


@writing("sort_in_place(Tensor(a!) x, int axis, bool stable) -> ()")
def sort_in_place(x: Array, axis: int, stable: bool) -> None:
    """`numpy.ndarray.sort`."""
    x.sort(axis, _kind(x, stable, 1))


@kernel("argsort(Tensor x, int axis, bool stable) -> Tensor", _places)
def argsort(x: Array, axis: int, stable: bool) -> Array:
    """`numpy.argsort`."""
    return np.argsort(x, axis, _kind(x, stable, 2))


@kernel("partition(Tensor x, SymInt[] kth, int axis) -> Tensor", _like)
def partition(x: Array, kth: list[int], axis: int) -> Array:
    """`numpy.partition`."""
    return np.partition(x, kth, axis)


@writing("partition_in_place(Tensor(a!) x, SymInt[] kth, int axis) -> ()")
def partition_in_place(x: Array, kth: list[int], axis: int) -> None:
    """`numpy.ndarray.partition`."""
    x.partition(kth, axis)


@kernel("argpartition(Tensor x, SymInt[] kth, int axis) -> Tensor", _places)
def argpartition(x: Array, kth: list[int], axis: int) -> Array:
    """`numpy.argpartition`."""
    return np.argpartition(x, kth, axis)


def _per_index(x: torch.Tensor, index: torch.Tensor) -> Form:
    return (*index.shape, *x.shape[1:]), x.dtype


@kernel("sorted_at(Tensor x, Tensor index) -> Tensor", _per_index)
def sorted_at(x: Array, index: Array) -> Array:
    """Return those elements of x sorted along its first axis that are at the indices (1-D)."""
    wanted = np.unique(np.where(index < 0, index + x.shape[0], index))
    return np.partition(x, wanted, 0)[index]


@kernel("lexsort(Tensor[] keys, int axis) -> Tensor", lambda keys, axis: _places(keys[0]))
def lexsort(keys: list[Array], axis: int) -> Array:
    """`numpy.lexsort`."""
    return np.lexsort(keys, axis)


def _per_row(x: torch.Tensor) -> Form:
    return x.shape[:1], torch.int64


@kernel("row_order(Tensor x) -> Tensor", _per_row)
def row_order(x: Array) -> Array:
    """Return the lexicographic order of the rows of a matrix; equal ones keep theirs."""
    return np.lexsort(x.T[::-1]) if x.shape[1] else np.arange(x.shape[0])


def _computed(x: torch.Tensor, *_: Any) -> Form:
    floating = x.dtype.is_floating_point
    return x.shape, x.dtype if floating else torch.float64


@kernel("ufunc(Tensor x, str name) -> Tensor", _computed)
def ufunc(x: Array, name: str) -> Array:
    """Compute a ufunc of one operand: of floats in their dtype, of wide integers in float64."""
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    return blocked.elementwise(getattr(np, name), [x], dtype)


def _without_axes(x: torch.Tensor, axes: Sequence[int], keepdims: bool, _: bool) -> Form:
    kept = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return kept, x.dtype


@kernel(
    "extreme_number(Tensor x, int[] axes, bool keepdims, bool largest) -> Tensor", _without_axes
)
def extreme_number(x: Array, axes: Sequence[int], keepdims: bool, largest: bool) -> Array:
    """Return the extremes of floats along axes, NaN where there's nothing else.

    Inductor has a reduction for it: `_torch/inductor/cpp/scalar_reductions.py`.
    """
    reduce: Any = (np.fmax if largest else np.fmin).reduce
    with np.errstate(all="ignore"):
        return reduce(x, tuple(axes), keepdims=keepdims)  # type: ignore[no-any-return]


def has_extreme_number(x: torch.Tensor, axes: Sequence[int]) -> bool:
    """Whether `extreme_number` takes the operand: floats of 32 or 64 bit, axes, not empty."""
    return x.dtype in _FLOATS and bool(axes) and 0 not in x.shape and usable(x)


def _reduced(x: torch.Tensor, _: str, axis: int, *__: Any) -> Form:
    return (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype


@kernel("ufunc_reduce(Tensor x, str name, int axis, Tensor? first) -> Tensor", _reduced)
def ufunc_reduce(x: Array, name: str, axis: int, first: Array | None) -> Array:
    """Reduce along an axis with a ufunc, in NumPy's order and in the dtype of x."""
    start = {} if first is None else {"initial": first[()]}
    with np.errstate(all="ignore"):
        return getattr(np, name).reduce(x, axis, x.dtype, **start)  # type: ignore[no-any-return]


@kernel("ufunc_accumulate(Tensor x, str name, int axis) -> Tensor", _like)
def ufunc_accumulate(x: Array, name: str, axis: int) -> Array:
    """Reduce along an axis with a ufunc in the dtype of x, and keep every step."""
    with np.errstate(all="ignore"):
        return getattr(np, name).accumulate(x, axis, x.dtype)  # type: ignore[no-any-return]


def _per_start(x: torch.Tensor, starts: torch.Tensor, name: str, axis: int) -> Form:
    to_bool = getattr(np, name) in blocked.SHORT
    size = (*x.shape[:axis], starts.shape[0], *x.shape[axis + 1 :])
    return size, torch.bool if to_bool else x.dtype


@kernel("ufunc_reduceat(Tensor x, Tensor starts, str name, int axis) -> Tensor", _per_start)
def ufunc_reduceat(x: Array, starts: Array, name: str, axis: int) -> Array:
    """Reduce slices of an axis, counted from the first, with a ufunc in the dtype of x.

    See `blocked.reduceat`.
    """
    return blocked.reduceat(getattr(np, name), x, starts, axis)


def _packed(x: torch.Tensor, _: str) -> Form:
    return (*x.shape[:-1], (x.shape[-1] + 7) // 8), torch.uint8


@kernel("packbits(Tensor x, str bitorder) -> Tensor", _packed)
def packbits(x: Array, bitorder: Any) -> Array:
    """`numpy.packbits` along the last axis."""
    return np.packbits(x, -1, bitorder)


@writing("ufunc_at(Tensor(a!) x, Tensor places, Tensor? values, str name) -> ()")
def ufunc_at(x: Array, places: Array, values: Array | None, name: str) -> None:
    """Apply the `at` of a ufunc of one or two operands to a 1-D x."""
    with np.errstate(all="ignore"):
        getattr(np, name).at(x, places, *(() if values is None else (values,)))


@writing("store(Tensor(a!) x, Tensor?[] indices, Tensor values) -> ()")
def store(x: Array, indices: list[Array | None], values: Array) -> None:
    """``x[indices] = values``, in C order: the last value stays where an index is repeated."""
    in_order = (slice(None) if i is None else np.asarray(i, order="C") for i in indices)
    x[tuple(in_order)] = np.asarray(values, order="C")


@kernel("arctan2(Tensor y, Tensor x) -> Tensor", _like)
def arctan2(y: Array, x: Array) -> Array:
    """`numpy.arctan2` of floats of one shape and dtype."""
    return blocked.elementwise(np.arctan2, [y, x], x.dtype)


def _without(x: torch.Tensor, axis: int, *_: Any) -> Form:
    return (*x.shape[:axis], *x.shape[axis + 1 :]), torch.int64


@kernel("extreme_position(Tensor x, int axis, bool largest) -> Tensor", _without)
def extreme_position(x: Array, axis: int, largest: bool) -> Array:
    """`numpy.argmax` or `numpy.argmin` along an axis."""
    return blocked.along_axis(np.argmax if largest else np.argmin, x, axis, np.int64)


# -- kernels whose result's size depends on the data


def _counted() -> torch.SymInt:
    """Return a size that only the running code knows."""
    return torch.library.get_ctx().new_dynamic_size()


@kernel("flatnonzero(Tensor x) -> Tensor", lambda x: ((_counted(),), torch.int64))
def flatnonzero(x: Array) -> Array:
    """`numpy.flatnonzero`."""
    return np.flatnonzero(x)


def _chosen_form(x: torch.Tensor, _: Any, axis: int) -> Form:
    return (*x.shape[:axis], _counted(), *x.shape[axis + 1 :]), x.dtype


#: Number of positions that take the time in which a run of a mask's elements is copied.
_RUN = 16


def _in_runs(mask: Array) -> bool:
    """Whether a mask's elements change so seldom that NumPy's own ``x[mask]`` copies long runs.

    Else it mispredicts a branch per element, and the positions are the faster way.
    """
    if mask.dtype != bool or mask.ndim != 1:
        return False
    return int(np.count_nonzero(mask[1:] != mask[:-1])) * _RUN < mask.size


@kernel("chosen(Tensor x, Tensor mask, int axis) -> Tensor", _chosen_form)
def chosen(x: Array, mask: Array, axis: int) -> Array:
    """Return the elements along an axis where a mask isn't 0."""
    return _each_chosen([x], mask, axis)[0]


def _each_chosen(xs: Sequence[Array], mask: Array, axis: int) -> list[Array]:
    if _in_runs(mask) and all(x.ndim == 1 and x.size == mask.size for x in xs):
        return [x[mask] for x in xs]
    places = np.flatnonzero(mask)
    return [x.take(places, axis) for x in xs]


def _chosen_together(xs: Sequence[torch.Tensor], _: torch.Tensor, axis: int) -> list[Form]:
    count = _counted()
    return [((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype) for x in xs]


@several("chosen_each(Tensor[] xs, Tensor mask, int axis) -> Tensor[]", _chosen_together)
def chosen_each(xs: list[Array], mask: Array, axis: int) -> list[Array]:
    """Return `chosen` of several arrays by one mask."""
    return _each_chosen(xs, mask, axis)


def _some(x: torch.Tensor, *_: Any) -> Form:
    return (_counted(),), x.dtype


@kernel("intersect1d(Tensor a, Tensor b, bool unique) -> Tensor", _some)
def intersect1d(a: Array, b: Array, unique: bool) -> Array:
    """`numpy.intersect1d`."""
    return np.intersect1d(a, b, unique)


@kernel("unique(Tensor x, bool equal_nan) -> Tensor", _some)
def unique(x: Array, equal_nan: bool) -> Array:
    """`numpy.unique`, the values only."""
    return np.unique(x, equal_nan=equal_nan)


@kernel("setdiff1d(Tensor a, Tensor b, bool unique) -> Tensor", _some)
def setdiff1d(a: Array, b: Array, unique: bool) -> Array:
    """`numpy.setdiff1d`."""
    return np.setdiff1d(a, b, unique)


# -- writes under a mask, counts, membership, sliding sums


@kernel("placed(Tensor x, Tensor mask, Tensor values) -> Tensor", _like)
def placed(x: Array, mask: Array, values: Array) -> Array:
    """Return a copy of x to which `numpy.place` has been applied."""
    found = x.copy()
    np.put(found, np.flatnonzero(mask), values)
    return found


def _tallied(_: torch.Tensor, size: Any) -> Form:
    return (size,), torch.int64


@kernel("tally(Tensor place, SymInt size) -> Tensor", _tallied)
def tally(place: Array, size: int) -> Array:
    """Count how often each number from 0 to size - 1 occurs; there are no others."""
    return np.bincount(place.reshape(-1), minlength=size)


def _per_bin(_: torch.Tensor, edges: torch.Tensor, weights: torch.Tensor | None) -> Form:
    return (edges.shape[0] - 1,), torch.int64 if weights is None else weights.dtype


@kernel("histogram(Tensor x, Tensor edges, Tensor? weights) -> Tensor", _per_bin)
def histogram(x: Array, edges: Array, weights: Array | None) -> Array:
    """`numpy.histogram` of one axis between given edges: counts, or sums of the weights."""
    with refusing(ValueError), np.errstate(all="ignore"):
        if weights is None:
            return blocked.added(lambda part: np.histogram(part, edges)[0], x)
        return np.histogram(x, edges, weights=weights)[0]


def _truths(x: torch.Tensor, *_: Any) -> Form:
    return x.shape, torch.bool


def _counts(_: torch.Tensor, __: Any) -> Form:
    return (_counted(),), torch.int64


@kernel("bincount(Tensor x, SymInt minlength) -> Tensor", _counts)
def bincount(x: Array, minlength: int) -> Array:
    """`numpy.bincount` without weights; NumPy itself raises for a negative number."""
    return _counted_by_numpy(x, None, minlength)


def _sums(*_: Any) -> Form:
    return (_counted(),), torch.float64


@kernel("weighted_bincount(Tensor x, Tensor weights, SymInt minlength) -> Tensor", _sums)
def weighted_bincount(x: Array, weights: Array, minlength: int) -> Array:
    """`numpy.bincount` with weights, whose sums are float64."""
    return _counted_by_numpy(x, weights, minlength)


def _counted_by_numpy(x: Array, weights: Array | None, minlength: int) -> Array:
    with refusing(ValueError):
        return np.bincount(x, weights, minlength)


@kernel("round_number(Tensor x, int digits) -> Tensor", _like)
def round_number(x: Array, digits: int) -> Array:
    """Python's `round` of a float to decimals, or to tens where there are fewer than none."""
    return np.array(round(float(x), digits))


@kernel("isin(Tensor x, Tensor values) -> Tensor", _truths)
def isin(x: Array, values: Array) -> Array:
    """`numpy.isin`."""
    return np.isin(x, values)


def _slid(a: torch.Tensor, v: torch.Tensor, mode: str) -> Form:
    n, m = a.shape[0], v.shape[0]
    return ({"valid": n - m + 1, "same": n, "full": n + m - 1}[mode],), a.dtype


def _at_positions(x: torch.Tensor, _: Any, values: torch.Tensor) -> Any:
    return x.shape, values.dtype


@kernel("interp(Tensor x, Tensor places, Tensor values) -> Tensor", _at_positions)
def interp(x: Array, places: Array, values: Array) -> Array:
    """`numpy.interp` of float64, or complex128, values."""
    return np.interp(x, places, values)


@kernel("correlate(Tensor a, Tensor v, str mode) -> Tensor", _slid)
def correlate(a: Array, v: Array, mode: Any) -> Array:
    """Return sums of products of v, the shorter one, with the windows of a, nothing conjugated."""
    return np.correlate(a, np.conj(v) if v.dtype.kind == "c" else v, mode)
