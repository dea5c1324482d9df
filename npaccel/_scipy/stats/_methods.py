"""Methods of a distribution, given its standard form: location, scale, support, NaN.

Bad parameters become a NaN location, which makes every result NaN: no pass over the data checks
them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

Number = Any


class Continuous:
    """A continuous distribution of location 0 and scale 1.

    ``cdf``, ``sf`` and their logarithms are asked for values in the closed support, ``ppf`` and
    ``isf`` for values from 0 to 1, ``pdf`` and ``logpdf`` for all that aren't below `low`. All
    of them are asked for NaN, and give it.
    """

    shapes: tuple[str, ...] = ()
    low: Number = -math.inf
    high: Number = math.inf
    #: Whether the density is 0 at the ends of the support.
    open_ends = False
    #: Whether its functions are written for float64 only.
    wide = False

    def valid(self, *shapes: Number) -> Any:
        """Whether shapes are allowed: a bool, or a tensor of them."""
        return both_hold(*(shape > 0 for shape in shapes))

    def support(self, *shapes: Number) -> tuple[Number, Number]:  # noqa: ARG002 (others look)
        """The ends of the support."""
        return self.low, self.high

    def pdf(self, y: Any, *shapes: Any) -> Any:
        """The density."""
        return torch.exp(self.logpdf(y, *shapes))

    def logpdf(self, y: Any, *shapes: Any) -> Any:
        """The density's logarithm."""
        return torch.log(self.pdf(y, *shapes))

    def cdf(self, y: Any, *shapes: Any) -> Any:
        """The probability of at most y."""
        raise NotImplementedError

    def sf(self, y: Any, *shapes: Any) -> Any:
        """The probability of more than y."""
        return 1 - self.cdf(y, *shapes)

    def logcdf(self, y: Any, *shapes: Any) -> Any:
        """The logarithm of `cdf`, by the smaller of both tails."""
        return _log_of(self.cdf(y, *shapes), self.sf(y, *shapes))

    def logsf(self, y: Any, *shapes: Any) -> Any:
        """The logarithm of `sf`, by the smaller of both tails."""
        return _log_of(self.sf(y, *shapes), self.cdf(y, *shapes))

    def ppf(self, q: Any, *shapes: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def isf(self, q: Any, *shapes: Any) -> Any:
        """The inverse of `sf`."""
        return self.ppf(1 - q, *shapes)


class Discrete(Continuous):
    """A distribution over integers, of location 0.

    Its functions get integers as floats, from the first to the last but one of the support;
    ``pmf`` and ``logpmf`` the last as well.
    """

    low: Number = 0

    def pmf(self, k: Any, *shapes: Any) -> Any:
        """The probability of k."""
        return torch.exp(self.logpmf(k, *shapes))

    def logpmf(self, k: Any, *shapes: Any) -> Any:
        """The logarithm of `pmf`."""
        return torch.log(self.pmf(k, *shapes))

    def logcdf(self, k: Any, *shapes: Any) -> Any:
        """The logarithm of `cdf`."""
        return torch.log(self.cdf(k, *shapes))

    def logsf(self, k: Any, *shapes: Any) -> Any:
        """The logarithm of `sf`."""
        return torch.log(self.sf(k, *shapes))


def _log_of(tail: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.where(tail < 0.5, torch.log(tail), torch.log1p(-other))


# -- Arguments ------------------------------------------------------------------------------


def both_hold(*conditions: Any) -> Any:
    """Return whether all conditions hold; each is a bool or a tensor."""
    return functools.reduce(lambda a, b: a & b, conditions, True)


def integral(value: Number) -> Any:
    """Whether a number, or each element of a tensor, is an integer."""
    return value % 1 == 0


def dtype_of(values: Sequence[Any]) -> torch.dtype:
    """The dtype to compute in: float32 only for tensors of at most that, as NumPy promotes."""
    dtypes = {v.dtype for v in values if isinstance(v, torch.Tensor)}
    narrow = {torch.float32, torch.float16, torch.bfloat16}
    return torch.float32 if dtypes and dtypes <= narrow else torch.float64


class Arguments:
    """The arguments of a method, as tensors of one dtype.

    Parameters
    ----------
    family : Continuous
    x : torch.Tensor or number
    shapes : sequence of torch.Tensor or number
    loc, scale : torch.Tensor or number
        Numbers stay numbers.
    """

    def __init__(
        self, family: Continuous, x: Any, shapes: Sequence[Any], loc: Any, scale: Any
    ) -> None:
        given = (x, *shapes, loc, scale)
        self.width = dtype_of(given)
        self.dtype = torch.float64 if family.wide else self.width
        self.device = next(v.device for v in given if isinstance(v, torch.Tensor))
        loc, scale = self._float(loc), self._float(scale)
        valid = both_hold(family.valid(*shapes), scale > 0)
        self.x = self._tensor(x)
        self.shapes = [self._tensor(shape) for shape in shapes]
        self.scale = scale
        self.loc = self._nan_unless(valid, loc)
        self.low, self.high = map(self._float, family.support(*self.shapes))

    def _float(self, value: Any) -> Any:
        return value.to(self.dtype) if isinstance(value, torch.Tensor) else value

    def _tensor(self, value: Any) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value.to(self.dtype)
        return torch.full((), value, dtype=self.dtype, device=self.device)

    def _nan_unless(self, valid: Any, loc: Any) -> Any:
        if isinstance(valid, torch.Tensor):
            return torch.where(valid, self._tensor(loc), math.nan)
        return loc if valid else math.nan

    def standard(self) -> torch.Tensor:
        """The standard form's x: without location and scale."""
        y = self.x if _is(self.loc, 0) else self.x - self.loc
        return y if _is(self.scale, 1) else y / self.scale

    def placed(self, y: torch.Tensor) -> torch.Tensor:
        """Values of the standard form with location and scale."""
        y = y if _is(self.scale, 1) else y * self.scale
        return y if _is(self.loc, 0) else y + self.loc

    def per_scale(self, density: torch.Tensor) -> torch.Tensor:
        """A density of the standard form as one of x."""
        return density if _is(self.scale, 1) else density / self.scale

    def minus_log_scale(self, density: torch.Tensor) -> torch.Tensor:
        """The same for the logarithm of one."""
        if _is(self.scale, 1):
            return density
        if isinstance(self.scale, torch.Tensor):
            return density - torch.log(self.scale)
        return density - (math.log(self.scale) if self.scale > 0 else math.nan)

    def inside(self, y: torch.Tensor) -> torch.Tensor:
        """Values that are in the support, others moved to its ends; NaN stays."""
        low = None if _is(self.low, -math.inf) else self.low
        high = None if _is(self.high, math.inf) else self.high
        if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
            y = y if low is None else torch.maximum(y, self._tensor(low))
            return y if high is None else torch.minimum(y, self._tensor(high))
        return y if low is None and high is None else torch.clamp(y, low, high)

    def outside(self, y: torch.Tensor, open_ends: bool) -> torch.Tensor | None:
        """Mask of the values that have no density, None if all have; not NaN."""
        parts = []
        if not _is(self.low, -math.inf):
            parts.append(y <= self.low if open_ends else y < self.low)
        if open_ends or not _is(self.high, math.inf):
            parts.append(y >= self.high if open_ends else y > self.high)
        return functools.reduce(torch.logical_or, parts) if parts else None


def _is(value: Any, number: float) -> bool:
    """Whether a value is a known number, not a tensor or a symbol."""
    return isinstance(value, int | float) and value == number


# -- Methods --------------------------------------------------------------------------------


def density(family: Continuous, name: str, given: Arguments) -> torch.Tensor:
    """``pdf`` and ``logpdf``."""
    y = given.standard()
    outside = given.outside(y, family.open_ends)
    found = getattr(family, name)(given.inside(y), *given.shapes)
    found = given.per_scale(found) if name == "pdf" else given.minus_log_scale(found)
    return _where_inside(outside, found, name)


def _where_inside(outside: torch.Tensor | None, found: torch.Tensor, name: str) -> torch.Tensor:
    if outside is None:
        return found
    return torch.where(outside, -math.inf if name.startswith("log") else 0.0, found)


def mass(family: Discrete, name: str, given: Arguments) -> torch.Tensor:
    """``pmf`` and ``logpmf``."""
    k = given.standard()
    whole = torch.floor(k)
    outside = given.outside(k, False)
    between = whole < k
    outside = between if outside is None else outside | between
    found = getattr(family, name)(given.inside(k), *given.shapes)
    found = torch.clamp(found, 0, 1) if name == "pmf" else found
    return _where_inside(outside, found, name)


def probability(family: Continuous, name: str, given: Arguments) -> torch.Tensor:
    """``cdf``, ``sf`` and their logarithms, which are right at the ends of the support."""
    y = given.inside(given.standard())
    found: torch.Tensor = getattr(family, name)(y, *given.shapes)
    return found


def stepwise_probability(family: Discrete, name: str, given: Arguments) -> torch.Tensor:
    """The same for integers."""
    k = torch.floor(given.standard())
    known = given.inside(k)
    found = getattr(family, name)(known, *given.shapes)
    found = torch.clamp(found, 0, 1) if not name.startswith("log") else found
    below, above = (0.0, 1.0) if name.endswith("cdf") else (1.0, 0.0)
    if name.startswith("log"):
        below, above = (-math.inf, 0.0) if name.endswith("cdf") else (0.0, -math.inf)
    found = torch.where(k < given.low, below, found)
    return torch.where(k >= given.high, above, found)


def quantile(family: Continuous, name: str, given: Arguments) -> torch.Tensor:
    """``ppf`` and ``isf``."""
    q = given.x
    q = torch.where((q >= 0) & (q <= 1), q, math.nan)
    return given.placed(getattr(family, name)(q, *given.shapes))


def integer_quantile(family: Discrete, name: str, given: Arguments) -> torch.Tensor:
    """The same for integers; the ends are the support's, and one less than it."""
    q = given.x
    q = torch.where((q >= 0) & (q <= 1), q, math.nan)
    least, most = (0, 1) if name == "ppf" else (1, 0)
    found = getattr(family, name)(q, *given.shapes)
    found = torch.where(q == least, given.low - 1.0, found)
    found = torch.where(q == most, given.high + 0.0, found)
    return given.placed(found)


_OF_CONTINUOUS: dict[str, Callable[[Any, str, Arguments], torch.Tensor]] = {
    **dict.fromkeys(("pdf", "logpdf"), density),
    **dict.fromkeys(("cdf", "sf", "logcdf", "logsf"), probability),
    **dict.fromkeys(("ppf", "isf"), quantile),
}
_OF_DISCRETE: dict[str, Callable[[Any, str, Arguments], torch.Tensor]] = {
    **dict.fromkeys(("pmf", "logpmf"), mass),
    **dict.fromkeys(("cdf", "sf", "logcdf", "logsf"), stepwise_probability),
    **dict.fromkeys(("ppf", "isf"), integer_quantile),
}


def methods(family: Continuous) -> dict[str, Callable[[Any, str, Arguments], torch.Tensor]]:
    """The methods of a distribution, by name."""
    return _OF_DISCRETE if isinstance(family, Discrete) else _OF_CONTINUOUS


def parameters(family: Continuous) -> dict[str, Any]:
    """The parameters after the first one, with their defaults; None: there is none."""
    ends = {"loc": 0} if isinstance(family, Discrete) else {"loc": 0, "scale": 1}
    return {**dict.fromkeys(family.shapes), **ends}


def call(family: Continuous, name: str, x: Any, *given: Any) -> torch.Tensor:
    """Call a method with all its parameters in order."""
    shapes, rest = given[: len(family.shapes)], given[len(family.shapes) :]
    loc, scale = rest if len(rest) > 1 else (*rest, 1)
    arguments = Arguments(family, x, shapes, loc, scale)
    return methods(family)[name](family, name, arguments).to(arguments.width)
