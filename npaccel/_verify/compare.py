"""Compare two results of one function: type, dtype, shape, values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import distinct, to_array
from npaccel._verify.copies import _GENERATORS, random_state

#: Tolerance of floats, relative to NumPy's, by the bytes of a real part:
#: what other kernels and other orders of addition cost.
TOLERANCES = {2: 4e-3, 4: 1e-5, 8: 1e-11}

_NARROW = {"f8": "f4", "c16": "c8"}
_BLOCK = 1 << 15
#: Number of levels of attributes at which objects are compared.
_DEPTH = 4


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
    if isinstance(wanted, tuple | list | dict):
        yield from _compare_containers(wanted, got, where, narrowed, slack)
    elif isinstance(wanted, np.ndarray | np.generic | torch.Tensor):
        yield from _compare_arrays(wanted, got, where, narrowed, slack)
    elif isinstance(wanted, _GENERATORS):
        if not isinstance(got, type(wanted)) or not same_state(
            random_state(wanted), random_state(got)
        ):
            yield Mismatch("random state", where, "advanced by NumPy", "another state")
    elif type(wanted) is not type(got):
        yield Mismatch("type", where, _type_name(wanted), _type_name(got))
    elif isinstance(wanted, float | complex):
        yield from _compare_values(np.asarray(wanted), np.asarray(got), where, slack)
    elif not vars_of(wanted):
        if not _equal(wanted, got) and not np.any(slack.of(where) if slack else False):
            yield Mismatch("value", where, f"{wanted!r:.60}", f"{got!r:.60}")
    elif wanted is not got and where.count(".") < _DEPTH:
        for name, value in vars_of(wanted).items():
            other = vars_of(got).get(name)
            yield from compare(value, other, f"{where}.{name}", narrowed=narrowed, slack=slack)


def _equal(wanted: Any, got: Any) -> bool:
    try:
        return wanted is got or bool(wanted == got) or not _has_equality(wanted)
    except (TypeError, ValueError):
        return True  # Not of a kind that can be compared.


def _has_equality(value: Any) -> bool:
    return any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])


def vars_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object."""
    return dict(getattr(value, "__dict__", {}))


def same_state(one: Any, other: Any) -> bool:
    """Whether two states of random generators are equal."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_state(one[k], other[k]) for k in one)
    return bool(np.array_equal(one, other))


def _compare_containers(
    wanted: Any, got: Any, where: str, narrowed: bool, slack: Slack | None
) -> Iterator[Mismatch]:
    if type(wanted) is not type(got):
        yield Mismatch("type", where, _type_name(wanted), _type_name(got))
    elif isinstance(wanted, dict) and list(wanted) != list(got):
        yield Mismatch("keys", where, f"{list(wanted)!r:.60}", f"{list(got)!r:.60}")
    elif len(wanted) != len(got):
        yield Mismatch("length", where, str(len(wanted)), str(len(got)))
    else:
        for name, a, b in _items(wanted, got, where):
            yield from compare(a, b, name, narrowed=narrowed, slack=slack)


def _items(wanted: Any, got: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, dict):
        for name in wanted:
            yield f"{where}[{name!r}]", wanted[name], got[name]
    else:
        for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
            yield f"{where}[{i}]", a, b


def pairs(wanted: Any, got: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of two results of the same structure, with their names."""
    same = isinstance(wanted, tuple | list | dict) and type(wanted) is type(got)
    if same and len(wanted) == len(got):
        if isinstance(wanted, dict) and list(wanted) != list(got):
            return
        for name, a, b in _items(wanted, got, where):
            yield from pairs(a, b, name)
    elif not same:
        yield where, wanted, got


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
    """Whether it's an array, a NumPy scalar or something else; tensors are both."""
    if isinstance(value, np.ndarray):
        return "array"
    return "scalar" if isinstance(value, np.generic) else type(value).__name__


def _compare_arrays(
    wanted: Any, got: Any, where: str, narrowed: bool, slack: Slack | None
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
        kind = "narrowed" if narrowed and is_narrower(a.dtype, b.dtype) else "dtype"
        yield Mismatch(kind, where, str(a.dtype), str(b.dtype))
        if a.dtype.kind != b.dtype.kind:
            return
    if a.shape != b.shape:
        yield Mismatch("shape", where, str(a.shape), str(b.shape))
        return
    if a.strides == b.strides and np.array_equal(distinct(a), distinct(b)):
        return  # They may have more elements than there is memory for.
    yield from _compare_values(a, b, where, slack)


def is_narrower(wanted: np.dtype[Any], got: np.dtype[Any]) -> bool:
    """Whether a dtype is the 32-bit one for a 64-bit one."""
    return _NARROW.get(wanted.str[1:]) == got.str[1:]


def _compare_values(
    wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any], where: str, slack: Slack | None
) -> Iterator[Mismatch]:
    bad = first_difference(wanted, got, 0.0 if slack is None else slack.of(where))
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
