"""Arithmetic of the series in numpy.polynomial: sums, products, quotients, powers, conversions.

NumPy drops the zeros behind the last coefficient of every result, so that the
length of most results depends on the data.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call
from npaccel._numpy.core.dtypes import DType, as_dtype, as_tensor, cast, is_scalar, narrow, to_numpy
from npaccel._numpy.core.table import implements, row_of
from npaccel._numpy.host import polynomials as host_series
from npaccel._numpy.manipulation.padding import between
from npaccel._numpy.polynomial.series import MODULES, RECURRENCES, clenshaw, many, name_of
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._runtime.torch.symbolic_sizes import assume, depends_on_data, surely

Maker = Callable[[str], Callable[..., Any]]

#: Families whose products and quotients go through a recurrence.
_BY_RECURRENCE = ("leg", "herm", "herme", "lag")
#: Maximum number of steps with whole series that are unrolled: a second's work for the compiler.
_OF_SERIES = 8


def coefficients(*series: Any) -> list[torch.Tensor]:
    """Return coefficients as vectors of one dtype, as NumPy's `as_series` does.

    Raises
    ------
    ValueError
        If one is empty, has more than one dimension, or is of bools.
    """
    found = [as_tensor(c) for c in series]
    found = [c.reshape(1) if c.ndim == 0 else c for c in found]
    for c in found:
        if surely(c.numel() == 0):
            raise ValueError("Coefficient array is empty")
        if c.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
    own = [to_numpy(c.dtype) for c in found]
    if any(d.kind == "b" for d in own):
        raise ValueError("Coefficient arrays have no common type")
    kind = narrow(as_dtype(np.common_type(*(np.empty(0, d) for d in own))), own)
    return [cast(c, kind) for c in found]


def _is_first(c: torch.Tensor) -> torch.Tensor:
    return torch.arange(c.shape[0], device=c.device) == 0


def trimmed(c: torch.Tensor, solid: torch.Tensor | None = None) -> torch.Tensor:
    """Return coefficients without the zeros behind the last one.

    Parameters
    ----------
    c : tensor, shape (n,)
    solid : tensor of bool, shape (), optional
        What must hold for the result to be right; where it doesn't, NumPy runs.
    """
    assume(c.shape[0] >= 1, "an empty series")
    kept = (c != 0) | _is_first(c)
    found = between(c, 0, kept if solid is None else kept & solid, "b")
    assume(found.shape[0] >= 1, "a divisor ends with a zero")
    return found


def asked_kind(function: Any, given: list[torch.Tensor], *more: Any) -> DType:
    """Return the dtype of NumPy's result for short series of the same dtypes, narrowed."""
    own = [to_numpy(c.dtype) for c in given]
    with np.errstate(all="ignore"):
        found = {
            function(*map(np.ones, sizes, own), *more).dtype
            for sizes in itertools.product(*map(_short_lengths, given))
        }
    return narrow(as_dtype(_single(found, function)), own)


def _single(found: set[Any], function: Any) -> Any:
    if len(found) > 1:
        raise NotImplementedError(
            f"the dtype that {function.__name__} returns depends on the length of coefficients, "
            "and this on the data; cast them to float64"
        )
    return found.pop()


def _short_lengths(c: torch.Tensor) -> list[Any]:
    """Return lengths that stand for those that a series may have."""
    if depends_on_data(c.shape[0]):
        return [1, 2, 3, 4]
    return [4 if surely(c.shape[0] > 3) else c.shape[0]]


# -- products with x


def _band(up: torch.Tensor, down: torch.Tensor, middle: torch.Tensor | None = None) -> torch.Tensor:
    """Add terms of the next degree, of the one before, and of the same."""
    nothing = up[:1] * 0
    found = torch.cat([nothing, up])
    if middle is not None:
        found = found + torch.cat([middle, torch.zeros_like(nothing)])
    return found + torch.cat([down, torch.zeros_like(nothing), torch.zeros_like(nothing)])


def _degrees(c: torch.Tensor) -> torch.Tensor:
    return torch.arange(c.shape[0], device=c.device)


def _x_power(c: torch.Tensor) -> torch.Tensor:
    return torch.cat([c[:1] * 0, c])


def _x_chebyshev(c: torch.Tensor) -> torch.Tensor:
    return _band(torch.cat([c[:1], c[1:] / 2]), c[1:] / 2)


def _x_legendre(c: torch.Tensor) -> torch.Tensor:
    i = _degrees(c)
    return _band(c * (i + 1) / (2 * i + 1), (c * i / (2 * i + 1))[1:])


def _x_hermite(c: torch.Tensor) -> torch.Tensor:
    return _band(c / 2, (c * _degrees(c))[1:])


def _x_hermite_e(c: torch.Tensor) -> torch.Tensor:
    return _band(c, (c * _degrees(c))[1:])


def _x_laguerre(c: torch.Tensor) -> torch.Tensor:
    i = _degrees(c)
    return _band(-c * (i + 1), -(c * i)[1:], c * (2 * i + 1))


TIMES_X: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "poly": _x_power,
    "cheb": _x_chebyshev,
    "leg": _x_legendre,
    "herm": _x_hermite,
    "herme": _x_hermite_e,
    "lag": _x_laguerre,
}


# -- series as numbers, for the recurrences


@dataclasses.dataclass(frozen=True)
class _X:
    """``slope * x + offset``."""

    slope: int = 1
    offset: int = 0

    def __mul__(self, k: int) -> _X:
        return _X(self.slope * k, self.offset * k)

    __rmul__ = __mul__

    def __rsub__(self, k: int) -> _X:
        return _X(-self.slope, k - self.offset)


@dataclasses.dataclass(frozen=True)
class _Sum:
    """A series in one of the bases, with the arithmetic that the recurrences use."""

    basis: str
    c: torch.Tensor

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.basis, added(self.c, other.c))

    def __sub__(self, other: _Sum) -> _Sum:
        return _Sum(self.basis, added(self.c, -other.c))

    def __mul__(self, k: Any) -> _Sum:
        if not isinstance(k, _X):
            return _Sum(self.basis, self.c * k)
        raised = _Sum(self.basis, TIMES_X[self.basis](self.c))
        if k.slope == -1:
            return self * k.offset - raised
        return raised if k.slope == 1 else raised * k.slope

    def __truediv__(self, k: int) -> _Sum:
        return _Sum(self.basis, self.c / k)


def added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Add two vectors of coefficients; those behind the shorter one's end stay as they are."""
    m, n = a.shape[0], b.shape[0]
    if surely(m == n):
        return a + b
    if surely(m < n):
        return torch.cat([a + b[:m], b[m:]])
    if surely(n < m):
        return torch.cat([a[:n] + b, a[n:]])
    size: Any = torch.sym_max(m, n)  # type: ignore[no-untyped-call]
    place = torch.arange(size, device=a.device)
    one, other = (torch.cat([c, c.new_zeros(size - c.shape[0])]) for c in (a, b))
    return torch.where(place < m, torch.where(place < n, one + other, one), other)


#: NumPy's order of operations in products of Legendre series, which isn't that of their values.
_STEPS = {prefix: pair[0] for prefix, pair in RECURRENCES.items()} | {
    "leg": lambda c, c0, c1, x, n: (
        c - (c1 * (n - 1)) / n,
        c0 + (c1 * x * (2 * n - 1)) / n,
    )
}


def _summed(prefix: str, parts: list[_Sum], zero: _Sum) -> torch.Tensor:
    found = clenshaw(_STEPS[prefix], RECURRENCES[prefix][1], parts, zero, _X())
    return found.c  # type: ignore[no-any-return]


# -- products


def doubled(c: torch.Tensor) -> torch.Tensor:
    """Return a Chebyshev series as one of positive and negative powers."""
    half = torch.cat([c.new_zeros(len(c) - 1), c / 2])
    return half + half.flip(0)


def undoubled(z: torch.Tensor) -> torch.Tensor:
    """Return the Chebyshev series of a symmetric one of powers."""
    upper = z[(len(z) + 1) // 2 - 1 :]
    return torch.cat([upper[:1], upper[1:] * 2])


def product(prefix: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply two series of one dtype; zeros at the end stay."""
    if prefix == "poly":
        return call(np.convolve, a, b)  # type: ignore[no-any-return]
    if prefix == "cheb":
        return undoubled(call(np.convolve, doubled(a), doubled(b)))
    short, long = (b, a) if len(a) > len(b) else (a, b)
    parts = [_Sum(prefix, c * long) for c in short.unbind(0)]
    found = _summed(prefix, parts, _Sum(prefix, torch.zeros_like(long)))
    return found[: len(a) + len(b) - 1]


def _by_numpy(
    prefix: str,
    pattern: str,
    given: list[torch.Tensor],
    sizes: list[Any],
    dtype: DType,
    *numbers: int,
) -> list[torch.Tensor]:
    """Have NumPy work on whole series; zeros stand behind its results."""
    name = name_of(prefix, pattern)
    found = host_series.series_made(name, given, list(numbers), sizes, str(dtype))
    parts = torch.split(found, sizes) if len(sizes) > 1 else [found]
    return [part.clone() for part in parts]


def _add(prefix: str) -> Callable[..., Any]:
    return lambda c1, c2: trimmed(added(*coefficients(c1, c2)))


def _subtract(prefix: str) -> Callable[..., Any]:
    def subtract(c1: Any, c2: Any) -> torch.Tensor:
        a, b = coefficients(c1, c2)
        return trimmed(added(a, -b))

    return subtract


def _multiply(prefix: str) -> Callable[..., Any]:
    theirs = getattr(MODULES[prefix], f"{prefix}mul")

    def multiply(c1: Any, c2: Any) -> torch.Tensor:
        a, b = coefficients(c1, c2)
        kind = asked_kind(theirs, [a, b])
        steps: Any = torch.sym_min(a.shape[0], b.shape[0])  # type: ignore[no-untyped-call]
        by_steps = prefix in _BY_RECURRENCE or depends_on_data(steps)
        if by_steps and many(steps, a, b, unrolled=_OF_SERIES):
            size = a.shape[0] + b.shape[0] - 1
            return trimmed(*_by_numpy(prefix, "{p}mul", [a, b], [size], kind))
        return trimmed(cast(product(prefix, a, b), kind))

    return multiply


def _multiply_by_x(prefix: str) -> Callable[..., Any]:
    return lambda c: trimmed(TIMES_X[prefix](coefficients(c)[0]))


def _power(prefix: str) -> Callable[..., Any]:
    limit = None if prefix == "poly" else 16
    theirs = getattr(MODULES[prefix], f"{prefix}pow")

    def power(c: Any, pow: Any, maxpower: Any = limit) -> torch.Tensor:
        (base,) = coefficients(c)
        if not is_scalar(pow):
            raise NotImplementedError("the power must be a Python number; pass it as one")
        count = int(pow)
        if count != pow or count < 0:
            raise ValueError("Power must be a non-negative integer.")
        if maxpower is not None and count > maxpower:
            raise ValueError("Power is too large")
        if count == 0:
            return torch.ones_like(base[:1])
        kind = asked_kind(theirs, [base], count, None)
        if many(count, base, unrolled=_OF_SERIES):
            size = (base.shape[0] - 1) * count + 1
            return trimmed(*_by_numpy(prefix, "{p}pow", [base], [size], kind, count, count))
        found = base.clone()
        for _ in range(1, count):
            found = product(prefix, found, base)
        return trimmed(cast(found, kind))

    return power


# -- quotients


def _divided(prefix: str, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if prefix == "poly":
        return _divided_powers(a, b)
    if prefix == "cheb":
        quotient, rest = _divided_doubled(doubled(a), doubled(b))
        return undoubled(quotient), undoubled(rest)
    found = []
    for i in range(len(a) - len(b), -1, -1):
        unit = torch.zeros_like(a[: i + 1])
        unit[i] = 1
        p = product(prefix, unit, b)
        q = a[-1] / p[-1]
        a = a[:-1] - q * p[:-1]
        found.append(q)
    return torch.stack(found[::-1]), a


def _divided_powers(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rest, scale = a.clone(), b[-1]
    lower = b[:-1] / scale
    last = len(a) - 1
    for i in range(len(a) - len(b), -1, -1):
        rest[i:last] -= lower * rest[last]
        last -= 1
    return rest[last + 1 :] / scale, rest[: last + 1]


def _divided_doubled(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rest, scale, width = a.clone(), b[0], len(b)
    b = b / scale
    low, high = 0, len(a) - len(b)
    found = []
    while low < high:
        factor = rest[low].clone()
        found.append(factor)
        rest[low : low + width] -= factor * b
        rest[high : high + width] -= factor * b
        low, high = low + 1, high - 1
    factor = rest[low].clone()
    rest[low : low + width] -= factor * b
    quotient = torch.stack([*found, factor, *found[::-1]]) / scale
    return quotient, rest[low + 1 : low - 1 + width]


def _kinds(function: Any, a: torch.Tensor, b: torch.Tensor) -> list[DType]:
    """Return the dtypes of a quotient and a rest, narrowed."""
    own = to_numpy(a.dtype)
    with np.errstate(all="ignore"):
        found = {
            tuple(part.dtype for part in function(np.ones(m, own), np.ones(n, own)))
            for m, n in itertools.product(_short_lengths(a), _short_lengths(b))
        }
    return [narrow(as_dtype(dtype), [own]) for dtype in _single(found, function)]


def _divide(prefix: str) -> Callable[..., Any]:
    theirs = getattr(MODULES[prefix], f"{prefix}div")

    def divide(c1: Any, c2: Any) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = coefficients(c1, c2)
        m, n = a.shape[0], b.shape[0]
        solid = b[-1] != 0
        if surely(n == 1):
            return trimmed(a / b[-1], solid), a[:1] * 0
        if surely(m < n):
            return trimmed(a[:1] * 0, solid), trimmed(a.clone())
        kinds = _kinds(theirs, a, b)
        steps = (m - n + 1) * (n if prefix in _BY_RECURRENCE else 1)
        if many(steps, a, b, unrolled=_OF_SERIES):
            size: Any = torch.sym_max(m - n + 1, 1)  # type: ignore[no-untyped-call]
            quotient, rest = _by_numpy(prefix, "{p}div", [a, b], [size, m], kinds[1])
        else:
            quotient, rest = _divided(prefix, cast(a, kinds[1]), cast(b, kinds[1]))
        return trimmed(cast(quotient, kinds[0]), solid), trimmed(cast(rest, kinds[1]), solid)

    return divide


# -- from roots, and from one basis to another


def _line(prefix: str) -> Callable[..., Any]:
    def line(off: Any, scl: Any) -> torch.Tensor:
        parts = [off, scl / 2 if prefix == "herm" else scl]
        if prefix == "lag":
            parts = [off + scl, -scl]
        if not isinstance(scl, torch.Tensor):
            return as_tensor(parts if scl != 0 else [off])
        if prefix == "herm" and not scl.dtype.is_floating_point:
            raise NotImplementedError("the dtype of the result depends on the value of scl")
        return trimmed(as_tensor(parts))

    return line


def _from_roots(prefix: str) -> Callable[..., Any]:
    def from_roots(roots: Any) -> torch.Tensor:
        given = as_tensor(roots)
        if given.ndim and surely(given.shape[0] == 0):
            return as_tensor([1.0])
        function = getattr(MODULES[prefix], f"{prefix}fromroots")
        (own,) = coefficients(given)
        kind = asked_kind(function, [own])
        if many(len(own), own, unrolled=_OF_SERIES):
            # The last coefficient, and so the length, is that of other roots, too.
            with np.errstate(all="ignore"):
                size = len(function(np.zeros(len(own), to_numpy(own.dtype))))
            return _by_numpy(prefix, "{p}fromroots", [own], [size], kind)[0]
        ordered = call(np.sort, cast(given, kind))
        ends = {"herm": (0.0, 0.5), "lag": (1.0, -1.0)}.get(prefix, (0.0, 1.0))
        found = [
            torch.stack([ends[0] - root, torch.full_like(root, ends[1])])
            for root in ordered.unbind(0)
        ]
        while len(found) > 1:
            half, odd = divmod(len(found), 2)
            pairs = [product(prefix, found[i], found[i + half]) for i in range(half)]
            if odd:
                pairs[0] = product(prefix, pairs[0], found[-1])
            found = pairs
        return found[0]

    return from_roots


def _to_powers(prefix: str) -> Callable[..., Any]:
    def to_powers(c: Any) -> torch.Tensor:
        (given,) = coefficients(c)
        if many(given.shape[0], given, unrolled=_OF_SERIES):
            kind = asked_kind(getattr(MODULES[prefix], f"{prefix}2poly"), [given])
            return trimmed(*_by_numpy(prefix, "{p}2poly", [given], [given.shape[0]], kind))
        parts = [_Sum("poly", given[i : i + 1]) for i in range(len(given))]
        return trimmed(_summed(prefix, parts, _Sum("poly", torch.zeros_like(given[:1]))))

    return to_powers


def _from_powers(prefix: str) -> Callable[..., Any]:
    def from_powers(pol: Any) -> torch.Tensor:
        (given,) = coefficients(pol)
        function = getattr(MODULES[prefix], f"poly2{prefix}")
        kind = asked_kind(function, [given])
        if many(given.shape[0], given, unrolled=_OF_SERIES):
            return trimmed(*_by_numpy(prefix, "poly2{p}", [given], [given.shape[0]], kind))
        given = cast(given, kind)
        found = given[-1:].clone()
        for i in range(len(given) - 2, -1, -1):
            found = added(TIMES_X[prefix](found), given[i : i + 1])
        return trimmed(found)

    return from_powers


@implements(np.polynomial.polyutils.trimcoef, data_dependent=True)
def trimcoef(c: Any, tol: Any = 0) -> torch.Tensor:
    """`numpy.polynomial.polyutils.trimcoef`, which the modules call polytrim, chebtrim, ...

    Raises
    ------
    ValueError
        If the tolerance is negative.
    """
    if not isinstance(tol, torch.Tensor) and tol < 0:
        raise ValueError("tol must be non-negative")
    (given,) = coefficients(c)
    large = torch.abs(given) > tol
    found = between(given, 0, large | _is_first(given), "b")
    return torch.where(torch.any(large), found, found * 0)


_DEPENDENT = {"data_dependent": True}
_REST = "a remainder that is zero but for rounding may have another length than NumPy's"
_MAKERS: dict[str, tuple[Maker, dict[str, Any]]] = {
    "{p}add": (_add, _DEPENDENT),
    "{p}sub": (_subtract, _DEPENDENT),
    "{p}mul": (_multiply, _DEPENDENT),
    "{p}mulx": (_multiply_by_x, _DEPENDENT),
    "{p}div": (_divide, _DEPENDENT | {"note": _REST}),
    "{p}pow": (_power, _DEPENDENT),
    "{p}line": (_line, _DEPENDENT),
    "{p}fromroots": (_from_roots, {}),
    "{p}2poly": (_to_powers, _DEPENDENT),
    "poly2{p}": (_from_powers, _DEPENDENT),
}


def _declare() -> None:
    for prefix, module in MODULES.items():
        for pattern, (maker, fields) in _MAKERS.items():
            name = pattern.format(p=prefix)
            theirs = getattr(module, name, None)
            if theirs is None or row_of(theirs) is not None:
                continue
            globals()[name] = implements(theirs, **fields)(named(maker(prefix), name, __name__))


_declare()
