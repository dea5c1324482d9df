"""Random numbers that the graph computes: ``rng="device"``.

NumPy's generator gives 128 bits for each draw, the key of a Philox stream. The
numbers are the same on every device: nothing but integer operations, and
float operations that IEEE 754 defines to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import FLOAT64, as_tensor, dtype_of, narrow, to_torch
from npaccel._numpy.indexing.taking import take, take_along_axis
from npaccel._numpy.random.philox import Stream
from npaccel._numpy.random.results import Drawn, bound, result_of

#: Maximum number of entries of the tables of `binomial` and `poisson`.
_LONGEST_TABLE = 4096
_LIMIT = 1 << 31


def _value(x: Any) -> Any:
    """A parameter as it is computed with: Python's number, or a float64 array."""
    if isinstance(x, torch.Tensor | list | tuple):
        return as_tensor(x, FLOAT64)
    return x


def _moved(stream: Stream, z: torch.Tensor, loc: Any, scale: Any) -> torch.Tensor:
    """``loc + scale * z``, rounded twice."""
    if not (isinstance(scale, int | float) and scale == 1):
        z = z * _value(scale)
    if isinstance(loc, int | float) and loc == 0:
        return z
    moved: torch.Tensor = stream.rounded(z) + _value(loc)
    return moved


def _normal(stream: Stream) -> torch.Tensor:
    """Box and Muller's transformation."""
    radius = stream.sqrt(2.0 * _exponential(stream))
    return radius * stream.circle()[0]


def _exponential(stream: Stream) -> torch.Tensor:
    return torch.abs(stream.log(stream.positive()))


def _laplace(stream: Stream) -> torch.Tensor:
    z = _exponential(stream)
    return torch.where((stream.words[2] & 1) == 1, -z, z)


def _logistic(stream: Stream) -> torch.Tensor:
    u = stream.between()
    return stream.log(u) - stream.log(1.0 - u)


def _gumbel(stream: Stream) -> torch.Tensor:
    return -stream.log(-stream.log(stream.between()))


def _rayleigh(stream: Stream) -> torch.Tensor:
    return stream.sqrt(2.0 * _exponential(stream))


def _uniform(stream: Stream, given: Mapping[str, Any]) -> torch.Tensor:
    low, high = given.get("low", 0.0), given.get("high", 1.0)
    return _moved(stream, stream.float64(), low, _value(high) - _value(low))


#: Standard numbers, and the words of their location and scale.
_STANDARD: dict[str, tuple[Callable[[Stream], torch.Tensor], str, str]] = {
    "exponential": (_exponential, "", "scale"),
    "gumbel": (_gumbel, "loc", "scale"),
    "laplace": (_laplace, "loc", "scale"),
    "logistic": (_logistic, "loc", "scale"),
    "normal": (_normal, "loc", "scale"),
    "randn": (_normal, "", ""),
    "rayleigh": (_rayleigh, "", "scale"),
    "standard_exponential": (_exponential, "", ""),
    "standard_normal": (_normal, "", ""),
}
_UNIFORM = frozenset({"rand", "random", "random_sample"})
_INTEGERS = frozenset({"integers", "randint"})
_COUNTS = frozenset({"binomial", "poisson"})
_ARRANGED = frozenset({"choice", "permutation", "permuted", "shuffle"})
#: Functions that ``rng="device"`` offers.
OFFERED = frozenset({*_STANDARD, *_UNIFORM, *_INTEGERS, *_COUNTS, *_ARRANGED, "uniform"})


def drawn(
    words: torch.Tensor, name: str, legacy: bool, args: Any, kwargs: Mapping[str, Any]
) -> tuple[torch.Tensor, Drawn]:
    """Compute one draw of numbers.

    Parameters
    ----------
    words : torch.Tensor
        The key of the draw, see `Stream`.
    name : str
        The method of Generator or RandomState.
    legacy : bool
        Whether it's `RandomState`'s.
    args, kwargs : sequence and mapping
        The method's arguments.

    Returns
    -------
    values : torch.Tensor
    drawn : Drawn
        What NumPy would give.
    """
    found = result_of(name, args, kwargs, legacy=legacy)
    given = bound(name, args, kwargs)
    stream = Stream(words, found.shape)
    if name in _INTEGERS:
        return _integers(stream, given, found), found
    if name in _COUNTS:
        return _count(stream, name, given), found
    dtype = found.dtype
    if given.get("dtype") is None:
        dtype = narrow(FLOAT64, [dtype_of(x) for x in _parameters(given)])
    if name in _UNIFORM:
        return (stream.float32() if dtype.itemsize == 4 else stream.float64()), found
    if name == "uniform":
        return _uniform(stream, given).to(to_torch(dtype)), found
    standard, loc, scale = _STANDARD[name]
    z = _moved(stream, standard(stream), given.get(loc, 0.0), given.get(scale, 1.0))
    return z.to(to_torch(dtype)), found


def _parameters(given: Mapping[str, Any]) -> list[Any]:
    return [x for word, x in given.items() if word not in ("size", "dtype", "method", "out")]


def _integers(stream: Stream, given: Mapping[str, Any], found: Drawn) -> torch.Tensor:
    low, high = given.get("low", 0), given.get("high")
    if any(isinstance(x, torch.Tensor | list | tuple | float) for x in (low, high)):
        raise NotImplementedError("bounds that are arrays or floats")
    low, high = (0, low) if high is None else (low, high)
    count = high - low + (1 if given.get("endpoint") else 0)
    return _from(stream, low, count).to(to_torch(found.dtype))


def _from(stream: Stream, low: Any, count: Any) -> torch.Tensor:
    """Integers from `low` on, of `count` different values."""
    if count <= _LIMIT:
        found = stream.below(count)
    elif isinstance(count, torch.SymInt) or count & (count - 1):
        raise NotImplementedError(_RANGE)
    elif count == 1 << 64:
        return stream.signed()  # In uint64 the same bits are the numbers from 0 on.
    else:
        found = stream.bits63() & (count - 1)
    moved: torch.Tensor = found + low
    return moved


_RANGE = "integers of a range of more than 2**31 that isn't a power of two"


def _count(stream: Stream, name: str, given: Mapping[str, Any]) -> torch.Tensor:
    """Numbers by the inverse of their distribution function, from a table."""
    parameters = _parameters(given)
    if any(not isinstance(x, int | float) for x in parameters):
        raise NotImplementedError(f"{name} with parameters that aren't constant numbers")
    table = _binomial_table(**given) if name == "binomial" else _poisson_table(**given)
    edges = torch.tensor(table, dtype=torch.float64, device=stream.words[0].device)
    return torch.searchsorted(edges, stream.float64(), right=True)


def _binomial_table(n: int = 0, p: float = 0.0, size: Any = None) -> list[float]:
    if n > _LONGEST_TABLE:
        raise NotImplementedError(f"binomial with n above {_LONGEST_TABLE}")
    if p in (0.0, 1.0):
        return [] if p == 0.0 else [0.0] * n
    logs = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in range(n)
    ]  # fmt: skip
    return _sums(logs)


def _poisson_table(lam: float = 1.0, size: Any = None) -> list[float]:
    longest = int(lam + 12 * math.sqrt(lam) + 30)
    if longest > _LONGEST_TABLE:
        raise NotImplementedError(f"poisson with lam = {lam}, which is large,")
    if lam == 0:
        return []
    return _sums([k * math.log(lam) - lam - math.lgamma(k + 1) for k in range(longest)])


def _sums(logs: list[float]) -> list[float]:
    terms = [math.exp(x) for x in logs]
    return [min(math.fsum(terms[: i + 1]), 1.0) for i in range(len(terms))]


# ---------------------------------------------------------------------------
# Orders and choices


def order(words: torch.Tensor, shape: tuple[Any, ...], axis: int) -> torch.Tensor:
    """Return a random order of an array's parts along an axis.

    Parameters
    ----------
    words : torch.Tensor
    shape : tuple of int or torch.SymInt
        One order for every place in the other dimensions.
    axis : int
    """
    return torch.argsort(Stream(words, shape).bits63(), dim=axis, stable=True)


def permuted(words: torch.Tensor, x: torch.Tensor, axis: int | None) -> torch.Tensor:
    """Return an array with its elements in random orders along an axis, or in one order."""
    if axis is None:
        return take(x, order(words, (x.numel(),), 0).reshape(x.shape))
    return take_along_axis(x, order(words, tuple(x.shape), axis), axis)


def choice(
    words: torch.Tensor,
    n: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    shuffle: bool = True,
) -> torch.Tensor:
    """Return random positions below n."""
    shape = () if size is None else tuple(size) if isinstance(size, list | tuple) else (size,)
    count: Any = 1
    for m in shape:
        count = count * m
    if not replace:
        if p is not None:
            raise NotImplementedError("choice with `p` and without `replace`")
        if count > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        return order(words, (n,), 0)[:count].reshape(shape)
    stream = Stream(words, shape)
    if p is None:
        return _from(stream, 0, n)
    weights = as_tensor(p, np.dtype(np.float64))
    if weights.ndim != 1 or weights.shape[0] != n:
        raise ValueError("a and p must have same size")
    edges = torch.cumsum(weights, 0)
    edges = (edges / edges[-1]).to(words.device)
    return torch.searchsorted(edges, stream.float64(), right=True)


__all__ = ["OFFERED", "choice", "drawn", "order", "permuted"]
