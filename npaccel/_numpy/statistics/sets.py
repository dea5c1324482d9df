"""Sets as sorted arrays: unique values, membership, union, intersection, difference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, call
from npaccel._numpy.core.dtypes import INT64, as_tensor, cast, to_numpy
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.linalg.products import promoted
from npaccel._numpy.statistics.sorting import ordered, positions, search
from npaccel._numpy.ufuncs.integers import as_signed, elements_at


def _starts(s: torch.Tensor, equal_nan: bool) -> torch.Tensor:
    """Return where a new value begins in a sorted 1-D tensor."""
    new = s[1:] != s[:-1]
    if equal_nan and (s.dtype.is_floating_point or s.is_complex()):
        new = new & ~(torch.isnan(s[1:]) & torch.isnan(s[:-1]))
    return torch.cat([torch.ones_like(s[:1], dtype=torch.bool), new])


def unique_values(x: torch.Tensor, equal_nan: bool = True) -> torch.Tensor:
    """Return the sorted distinct values of a tensor."""
    if host.usable(x):
        return host.unique(x, equal_nan)
    s = ordered(x.reshape(-1), 0)
    return elements_at(s, _starts(s, equal_nan))


def _inverse(order: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """Return the index of each element's value among the distinct ones."""
    return torch.empty_like(order).scatter(0, order, torch.cumsum(starts, 0) - 1)


def _places(mask: torch.Tensor) -> torch.Tensor:
    return host.flatnonzero(mask) if host.usable(mask) else torch.nonzero(mask).squeeze(-1)


def _counts(starts: torch.Tensor) -> torch.Tensor:
    return _lengths(_places(starts), starts)


def _lengths(first: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    ends = torch.cat([first, first.new_full((1,), starts.shape[0])])[1:]
    return ends - first


#: Whether the inverse along an axis is 1-D (from NumPy 2.1 on).
_FLAT_INVERSE = np.unique(np.zeros((2, 1)), axis=0, return_inverse=True)[1].ndim == 1


def _row_order(rows: torch.Tensor) -> torch.Tensor:
    """Return the lexicographic order of the rows of a matrix, NaN last; equal ones keep theirs."""
    if host.usable(rows):
        return host.row_order(rows)
    order = torch.arange(rows.shape[0], device=rows.device)
    for column in reversed(rows.unbind(1)):
        order = order[positions(elements_at(column, order), 0)]
    return order


def _unique_rows(x: torch.Tensor, axis: int, wanted: tuple[bool, bool, bool]) -> list[Any]:
    """Return distinct subarrays along an axis, in lexicographic order; NaN equals nothing."""
    moved = x.movedim(axis, 0)
    rows = moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))
    order = _row_order(rows)
    s = elements_at(rows, order)
    new = torch.any(s[1:] != s[:-1], 1)
    starts = torch.cat([torch.ones_like(order[:1], dtype=torch.bool), new])
    first = order[starts]
    inverse = _inverse(order, starts)
    if not _FLAT_INVERSE:
        inverse = inverse.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    extra = [v for v, want in zip((first, inverse), wanted, strict=False) if want]
    if wanted[2]:
        extra.append(_counts(starts))
    return [elements_at(moved, first).movedim(0, axis), *extra]


def _unique(x: torch.Tensor, wanted: tuple[bool, bool, bool], equal_nan: bool) -> list[Any]:
    """Return distinct values and, where wanted, their first index, inverse and counts."""
    if not any(wanted):
        return [unique_values(x, equal_nan)]
    flat = x.reshape(-1)
    if not (wanted[0] or wanted[1]):
        s = ordered(flat, 0)
        starts = _starts(s, equal_nan)
        first = _places(starts)
        return [elements_at(s, first), _lengths(first, starts)]
    order = positions(flat, 0, stable=wanted[0])  # NumPy's kinds of sort, which place NaN alike
    s = elements_at(flat, order)
    starts = _starts(s, equal_nan)
    found: list[Any] = [elements_at(s, starts)]
    if wanted[0]:
        found.append(order[starts])
    if wanted[1]:
        found.append(_inverse(order, starts).reshape(x.shape))
    if wanted[2]:
        found.append(_counts(starts))
    return found


@implements(np.unique, data_dependent=True)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """`numpy.unique`; the values are sorted even where that isn't asked for."""
    del sorted
    x = as_tensor(ar)
    wanted = (bool(return_index), bool(return_inverse), bool(return_counts))
    if axis is None or (x.ndim == 1 and axis_of(axis, 1) == 0):
        found = _unique(x, wanted, equal_nan)
    else:
        found = _unique_rows(x, axis_of(axis, x.ndim), wanted)
    return tuple(found) if any(wanted) else found[0]


_ONE = np.zeros(1)
_UniqueAll: Any = type(np.unique_all(_ONE))
_UniqueCounts: Any = type(np.unique_counts(_ONE))
_UniqueInverse: Any = type(np.unique_inverse(_ONE))


@implements(np.unique_all, data_dependent=True)
def unique_all(x: Any) -> Any:
    """`numpy.unique_all`; each NaN is a value of its own."""
    return _UniqueAll(*_unique(as_tensor(x), (True, True, True), equal_nan=False))


@implements(np.unique_counts, data_dependent=True)
def unique_counts(x: Any) -> Any:
    """`numpy.unique_counts`; each NaN is a value of its own."""
    return _UniqueCounts(*_unique(as_tensor(x), (False, False, True), equal_nan=False))


@implements(np.unique_inverse, data_dependent=True)
def unique_inverse(x: Any) -> Any:
    """`numpy.unique_inverse`; each NaN is a value of its own."""
    return _UniqueInverse(*_unique(as_tensor(x), (False, True, False), equal_nan=False))


@implements(np.unique_values, data_dependent=True)
def _unique_values(x: Any) -> torch.Tensor:
    return unique_values(as_tensor(x), equal_nan=False)


def _are_few(test: torch.Tensor) -> bool:
    size: Any = test.shape[0]
    return isinstance(size, int) and size <= 8


def contains(test: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return which elements of x are among those of a 1-D tensor of the same dtype."""
    if _are_few(test) or x.is_complex():  # a comparison that fuses beats a sort and a search
        return torch.any(x.unsqueeze(-1) == test, -1)
    if host.worth(x, test):
        return host.isin(x, test)
    s = ordered(test, 0)
    place = torch.clamp(search(s, x, right=False), max=s.shape[0] - 1)
    return s[place] == x


def _among(x: torch.Tensor, test: torch.Tensor) -> torch.Tensor:
    """Return which elements of x are among those of a 1-D tensor of any dtype."""
    dtypes = [to_numpy(t.dtype) for t in (x, test)]
    if np.result_type(*dtypes).kind != "f" or any(d.kind == "f" for d in dtypes):
        first, second = promoted(x, test)
        return contains(second, first)
    if host.usable(x, test) and not _are_few(test):
        return host.isin(x, test)
    # Of uint64 and signed numbers those may be equal that aren't negative, read as signed ones.
    x, test = (t if t.dtype == torch.uint64 else cast(t, INT64) for t in (x, test))
    return contains(as_signed(test), as_signed(x)) & (as_signed(x) >= 0)


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> torch.Tensor:
    """`numpy.isin`; how it searches doesn't depend on `kind`.

    Raises
    ------
    ValueError
        If `kind` isn't None, "sort" or "table", or is "table" for other than integers.
    """
    del assume_unique
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    x, test = as_tensor(element), as_tensor(test_elements)
    if kind == "table" and any(to_numpy(t.dtype).kind not in "biu" for t in (x, test)):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. "
            "Please select 'sort' or None for kind."
        )
    found = _among(x, test.reshape(-1))
    return ~found if invert else found


def in1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> torch.Tensor:
    """`numpy.in1d`: `isin` of the flattened array."""
    return isin(as_tensor(ar1).reshape(-1), ar2, assume_unique, invert, kind=kind)


_in1d = vars(np).get("in1d")
if _in1d is not None:  # gone from NumPy 2.4 on
    implements(_in1d)(in1d)


@implements(np.union1d, data_dependent=True)
def union1d(ar1: Any, ar2: Any) -> torch.Tensor:
    """`numpy.union1d`."""
    return unique_values(call(np.concatenate, [ar1, ar2], axis=None))


def _distinct(x: torch.Tensor, assume_unique: bool) -> torch.Tensor:
    return x.reshape(-1) if assume_unique else unique_values(x)


@implements(np.intersect1d, data_dependent=True)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """`numpy.intersect1d`; with `return_indices` also where the values first are."""
    a, b = as_tensor(ar1), as_tensor(ar2)
    index_a = index_b = None
    if not return_indices and a.dtype == b.dtype and host.usable(a, b):
        return host.intersect1d(a, b, bool(assume_unique))
    if return_indices and not assume_unique:
        a, index_a = _unique(a, (True, False, False), equal_nan=True)
        b, index_b = _unique(b, (True, False, False), equal_nan=True)
    else:
        a, b = _distinct(a, assume_unique), _distinct(b, assume_unique)
    # Two integers of one array that are one float64 are NumPy's common values, too.
    first, second = promoted(a, b)
    both = torch.cat([first, second])
    if not return_indices:
        if host.usable(both):
            return host.intersect1d(first, second, True)
        s = ordered(both, 0)
        return elements_at(s[:-1], s[1:] == s[:-1])
    order = positions(both, 0)
    s = elements_at(both, order)
    twice = s[1:] == s[:-1]
    left, right = order[:-1][twice], order[1:][twice] - first.shape[0]
    left = left if index_a is None else index_a[left]
    right = right if index_b is None else index_b[right]
    return elements_at(s[:-1], twice), left, right


@implements(np.setdiff1d, data_dependent=True)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> torch.Tensor:
    """`numpy.setdiff1d`."""
    a = as_tensor(ar1)
    if host.usable(a, as_tensor(ar2)):
        return host.setdiff1d(a, as_tensor(ar2), bool(assume_unique))
    x = _distinct(a, assume_unique)
    return elements_at(x, ~_among(x, as_tensor(ar2).reshape(-1)))


@implements(np.setxor1d, data_dependent=True)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> torch.Tensor:
    """`numpy.setxor1d`."""
    given = (_distinct(as_tensor(x), assume_unique) for x in (ar1, ar2))
    s = ordered(torch.cat(promoted(*given)), 0)
    edge = torch.ones_like(s[:1], dtype=torch.bool)
    flag = torch.cat([edge, s[1:] != s[:-1], edge])
    return elements_at(s, flag[1 : s.shape[0] + 1] & flag[: s.shape[0]])
