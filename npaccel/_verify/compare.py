"""Compare two results of one function: type, dtype, shape, values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import distinct, to_array
from npaccel._verify.copies import _GENERATORS, random_state
from npaccel._verify.parts import parts_of

#: Tolerance of floats, relative to NumPy's, by the bytes of a real part:
#: what other kernels and other orders of addition cost.
TOLERANCES = {2: 4e-3, 4: 1e-5, 8: 1e-11}

_NARROW = {"f8": "f4", "c16": "c8"}
_BLOCK = 1 << 15
#: Number of levels of items and attributes at which values are compared.
_DEPTH = 12


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """One way in which two results differ.

    Parameters
    ----------
    kind : str
        "type", "dtype", "narrowed", "shape", "value", "length", "keys", "exception",
        "random state".
    where : str
        Which part: ``result``, ``result[1]``, ``argument x``.
    wanted, got : str
        NumPy's and npaccel's, as text.
    """

    kind: str
    where: str
    wanted: str
    got: str


@dataclasses.dataclass
class Slack:
    """Slack: how much further apart values may be, as NumPy's own vary.

    Parameters
    ----------
    values : dict
        By part of the result: an array, or infinity.
    """

    values: dict[str, Any] = dataclasses.field(default_factory=dict)

    def of(self, where: str) -> Any:
        """The slack of one part."""
        return self.values.get(where, 0.0)

    def note(self, wanted: Any, other: Any, where: str) -> None:
        """Widen the slack by the distance between two results."""
        for name, a, b in pairs(wanted, other, where):
            if not _is_number(a) or not _is_number(b):
                continue
            one, two = _array(a), _array(b)
            if one.shape != two.shape:
                self.values[name] = np.inf
            else:
                self.values[name] = np.maximum(self.of(name), _distance(one, two))


def _distance(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> Any:
    if one.dtype.kind not in "fc":
        return np.where(one == two, 0.0, np.inf)
    with np.errstate(all="ignore"):
        distance = np.abs(one.astype(_wide(one)) - two.astype(_wide(one)))
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))


def _wide(array: np.ndarray[Any, Any]) -> np.dtype[Any]:
    return np.dtype(np.complex128 if array.dtype.kind == "c" else np.float64)


def compare(
    wanted: Any, got: Any, where: str, *, narrowed: bool = False, slack: Slack | None = None
) -> Iterator[Mismatch]:
    """Yield the differences between NumPy's result and npaccel's.

    Parameters
    ----------
    wanted, got : object
        Tensors count as the arrays that they hold.
    where : str
    narrowed : bool
        Whether a 32-bit float for a 64-bit one is of the kind "narrowed".
    slack : Slack, optional
    """
    yield from _compare(wanted, got, where, _Comparison(narrowed, slack), 0)


@dataclasses.dataclass
class _Comparison:
    """A comparison: what is allowed, and what has been compared.

    Parameters
    ----------
    narrowed : bool
    slack : Slack or None
    seen : dict
        Pairs of objects by their identities, kept so that no other objects get those.
    """

    narrowed: bool
    slack: Slack | None
    seen: dict[tuple[int, int], tuple[Any, Any]] = dataclasses.field(default_factory=dict)

    def is_new(self, wanted: Any, got: Any) -> bool:
        """Whether two objects haven't been compared before."""
        identities = (id(wanted), id(got))
        return self.seen.setdefault(identities, pair := (wanted, got)) is pair

    def of(self, where: str) -> Any:
        """The slack of one part."""
        return 0.0 if self.slack is None else self.slack.of(where)


def _compare(
    wanted: Any, got: Any, where: str, comparison: _Comparison, depth: int
) -> Iterator[Mismatch]:
    if isinstance(wanted, np.ndarray | np.generic | torch.Tensor):
        yield from _compare_arrays(wanted, got, where, comparison, depth)
    elif isinstance(wanted, _GENERATORS):
        if not isinstance(got, type(wanted)) or not same_state(
            random_state(wanted), random_state(got)
        ):
            yield Mismatch("random state", where, "advanced by NumPy", "another state")
    elif type(wanted) is not type(got):
        yield Mismatch("type", where, _type_name(wanted), _type_name(got))
    elif isinstance(wanted, float | complex):
        yield from _compare_values(np.asarray(wanted), np.asarray(got), where, comparison)
    elif wanted is not got:
        yield from _compare_parts(wanted, got, where, comparison, depth)


def _compare_parts(
    wanted: Any, got: Any, where: str, comparison: _Comparison, depth: int
) -> Iterator[Mismatch]:
    ours, theirs = parts_of(got), parts_of(wanted)
    if ours is None or theirs is None:
        if not _equal(wanted, got) and not np.any(comparison.of(where)):
            yield Mismatch("value", where, f"{wanted!r:.60}", f"{got!r:.60}")
        return
    keys, other_keys = [part.key for part in theirs], [part.key for part in ours]
    if isinstance(wanted, tuple | list) and len(keys) != len(other_keys):
        yield Mismatch("length", where, str(len(wanted)), str(len(got)))
    elif not _equal(keys, other_keys):
        yield Mismatch("keys", where, f"{keys!r:.60}", f"{other_keys!r:.60}")
    elif depth < _DEPTH and comparison.is_new(wanted, got):
        for part, other in zip(theirs, ours, strict=True):
            label = f"{where}{part.label}"
            yield from _compare(part.value, other.value, label, comparison, depth + 1)


def _equal(wanted: Any, got: Any) -> bool:
    try:
        return wanted is got or bool(wanted == got) or not _has_equality(wanted)
    except (TypeError, ValueError):
        return True  # Not of a kind that can be compared.


def _has_equality(value: Any) -> bool:
    return any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])


def same_state(one: Any, other: Any) -> bool:
    """Whether two states of random generators are equal."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_state(one[k], other[k]) for k in one)
    return bool(np.array_equal(one, other))


def pairs(wanted: Any, got: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of two results of the same structure, with their names."""
    yield from _pairs(wanted, got, where, _Comparison(narrowed=False, slack=None), 0)


def _pairs(
    wanted: Any, got: Any, where: str, comparison: _Comparison, depth: int
) -> Iterator[tuple[str, Any, Any]]:
    if type(wanted) is not type(got):
        yield where, wanted, got
        return
    ours, theirs = parts_of(got), parts_of(wanted)
    if ours is None or theirs is None:
        yield where, wanted, got
    elif (
        _equal([part.key for part in theirs], [part.key for part in ours])
        and depth < _DEPTH
        # Each place of a list that stands in several is noted; objects may lead to each other.
        and (isinstance(wanted, tuple | list | dict) or comparison.is_new(wanted, got))
    ):
        for part, other in zip(theirs, ours, strict=True):
            label = f"{where}{part.label}"
            yield from _pairs(part.value, other.value, label, comparison, depth + 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | torch.Tensor | bool | int | float | complex)


def _array(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, torch.Tensor):
        return to_array(value)
    return np.asarray(value)


def _type_name(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"scalar np.{type(value).__name__}"
    if isinstance(value, np.ndarray) and not value.ndim:
        return f"array of no dimensions, {value.dtype}"
    if isinstance(value, np.ndarray | torch.Tensor):
        return f"{type(value).__name__}, {value.dtype}"
    return f"{type(value).__name__}"


def _kind(value: Any) -> str:
    """Return the name of a value's class; scalars of NumPy are of one kind."""
    return "scalar" if isinstance(value, np.generic) else type(value).__name__


def _compare_arrays(
    wanted: Any, got: Any, where: str, comparison: _Comparison, depth: int
) -> Iterator[Mismatch]:
    tensors = isinstance(got, torch.Tensor) or isinstance(wanted, torch.Tensor)
    if not tensors and _kind(wanted) != _kind(got):
        yield Mismatch("type", where, _type_name(wanted), _type_name(got))
        return
    if not isinstance(got, np.ndarray | np.generic | torch.Tensor):
        yield Mismatch("type", where, _type_name(wanted), _type_name(got))
        return
    a, b = _array(wanted), _array(got)
    if a.dtype != b.dtype:
        kind = "narrowed" if comparison.narrowed and is_narrower(a.dtype, b.dtype) else "dtype"
        yield Mismatch(kind, where, str(a.dtype), str(b.dtype))
        if a.dtype.kind != b.dtype.kind:
            return
    if a.shape != b.shape:
        yield Mismatch("shape", where, str(a.shape), str(b.shape))
        return
    if not tensors and parts_of(wanted) is not None:
        yield from _compare_parts(wanted, got, where, comparison, depth)
    elif a.strides != b.strides or not np.array_equal(distinct(a), distinct(b)):
        # Those that are equal may have more elements than there is memory for.
        yield from _compare_values(a, b, where, comparison)


def is_narrower(wanted: np.dtype[Any], got: np.dtype[Any]) -> bool:
    """Whether a dtype is the 32-bit one for a 64-bit one."""
    return _NARROW.get(wanted.str[1:]) == got.str[1:]


def _compare_values(
    wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any], where: str, comparison: _Comparison
) -> Iterator[Mismatch]:
    bad = first_difference(wanted, got, comparison.of(where))
    if bad is not None:
        at = f" at {list(bad)}" if bad else ""
        yield Mismatch("value", where, f"{wanted[bad]!r}{at}", f"{got[bad]!r}{at}")


def first_difference(
    wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any], slack: Any = 0.0
) -> Any:
    """Return the index of the first element that is too far off, None without any.

    Works in blocks that fit into the processor's cache.
    """
    if wanted.dtype.hasobject or wanted.dtype.kind not in "biufc":
        return _first(wanted != got, wanted.shape, 0)
    one, other = wanted.reshape(-1), got.reshape(-1)
    allowed = np.broadcast_to(slack, wanted.shape).reshape(-1) if np.any(slack) else None
    for begin in range(0, one.size, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        a, b = one[block], other[block]
        equal = a == b
        if equal.all():
            continue
        near = equal | _is_near(a, b, 0.0 if allowed is None else allowed[block])
        if not near.all():
            return _first(~near, wanted.shape, begin)
    return None


def _first(bad: np.ndarray[Any, Any], shape: tuple[int, ...], begin: int) -> Any:
    flat = np.flatnonzero(bad)
    if not flat.size:
        return None
    return tuple(int(i) for i in np.unravel_index(begin + int(flat[0]), shape))


def _is_near(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], slack: Any) -> Any:
    if a.dtype.kind not in "fc":
        return np.broadcast_to(slack, a.shape) > 0
    size = min(a.dtype.itemsize, b.dtype.itemsize) // (2 if a.dtype.kind == "c" else 1)
    with np.errstate(all="ignore"):
        distance = np.abs(a - b)
        near = distance <= TOLERANCES.get(size, 1e-11) * np.abs(a) + 16 * slack
        tiny = distance <= np.finfo(b.dtype).smallest_normal
    if a.dtype.kind == "c":  # Which part is infinite or NaN is left open by C, too.
        special = ~np.isfinite(a) & ~np.isfinite(b)
    else:
        special = np.isnan(a) & np.isnan(b)
    return near | tiny | special | np.isinf(slack)
