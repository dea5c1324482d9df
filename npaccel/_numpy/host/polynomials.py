"""NumPy's polynomials and series as torch operators; see `kernels`.

The compiler unrolls a loop over coefficients, and takes seconds where there are many of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import torch

from npaccel._numpy.host.blocked import in_blocks
from npaccel._numpy.host.registration import Array, Form, kernel
from npaccel._runtime.error_translation import refusing


def _one_more(x: torch.Tensor) -> Form:
    return (x.shape[0] + 1,), x.dtype


@kernel("poly(Tensor zeros) -> Tensor", _one_more)
def poly(zeros: Array) -> Array:
    """`numpy.poly` of one real zero or more."""
    return np.poly(zeros)


def _divided(u: torch.Tensor, v: torch.Tensor) -> Form:
    steps = u.shape[0] - v.shape[0] + 1
    size: Any = torch.sym_max(steps, 1)  # type: ignore[no-untyped-call]
    return (size + u.shape[0],), u.dtype


@kernel("polydiv(Tensor u, Tensor v) -> Tensor", _divided)
def polydiv(u: Array, v: Array) -> Array:
    """Return the quotient of two polynomials and behind it the rest, which may begin with zeros.

    Both are of one floating dtype, the highest power first.
    """
    steps, rest = len(u) - len(v) + 1, u.copy()
    quotient = np.zeros(max(steps, 1), u.dtype)
    with np.errstate(all="ignore"):
        scale = v.dtype.type(1) / v[0]
        for k in range(steps):
            quotient[k] = scale * rest[k]
            rest[k : k + len(v)] -= quotient[k] * v
    return np.concatenate([quotient, rest])


def _at_points(_: Any, c: torch.Tensor, x: torch.Tensor, tensor: bool, dtype: str) -> Form:
    rest = c.shape[1:]
    size: Any = (*rest, *x.shape)
    if not tensor:
        size = torch.broadcast_shapes(rest, x.shape)  # type: ignore[no-untyped-call]
    return size, getattr(torch, dtype)


@kernel("series(str name, Tensor c, Tensor x, bool tensor, str dtype) -> Tensor", _at_points)
def series(name: str, c: Array, x: Array, tensor: bool, dtype: str) -> Array:
    """Evaluate a polynomial, or a series of `numpy.polynomial`.

    Parameters
    ----------
    name : str
        Of NumPy's function, behind ``numpy.polynomial.``; polyval is `numpy.polyval`.
    c, x : ndarray
        Coefficients in that function's order, and points.
    tensor : bool
        Whether each column of coefficients is evaluated at all points.
    dtype : str
        The result's.
    """
    if name == "polyval":
        return in_blocks(lambda part: np.polyval(c, part), x, dtype)
    function = attrgetter(name)(np.polynomial)
    if c.ndim == 1:
        return in_blocks(lambda part: function(part, c), x, dtype)
    with np.errstate(all="ignore"):
        return np.asarray(function(x, c, tensor), dtype)


def _functions(_: Any, x: torch.Tensor, degree: int) -> Form:
    return (degree + 1, *x.shape), x.dtype


@kernel("vander(str name, Tensor x, SymInt degree) -> Tensor", _functions)
def vander(name: str, x: Array, degree: int) -> Array:
    """Return the values of a basis's functions, one after the other.

    NumPy's own (`numpy.polynomial.polynomial.polyvander` and its like) have them along the last
    axis, in the same memory. x has a floating dtype and one dimension or more.
    """
    with np.errstate(all="ignore"):
        return np.moveaxis(attrgetter(name)(np.polynomial)(x, degree), -1, 0)


def _padded(_: Any, __: Any, ___: Any, sizes: Sequence[Any], dtype: str) -> Form:
    return (sum(sizes),), getattr(torch, dtype)


@kernel(
    "series_made(str name, Tensor[] given, int[] numbers, SymInt[] sizes, str dtype) -> Tensor",
    _padded,
)
def series_made(
    name: str, given: list[Array], numbers: list[int], sizes: list[int], dtype: str
) -> Array:
    """Return what a function of `numpy.polynomial` makes of series.

    Parameters
    ----------
    name : str
    given : list of ndarray
        Coefficients.
    numbers : list of int
        What the function takes behind them.
    sizes : list of int
        The most coefficients that each result may have: zeros stand behind those that it has.
    dtype : str
        The results'.

    Raises
    ------
    RuntimeError
        If a divisor is zero; NumPy itself raises for it.
    """
    with refusing(ZeroDivisionError), np.errstate(all="ignore"):
        found = attrgetter(name)(np.polynomial)(*given, *numbers)
    out, start = np.zeros(sum(sizes), dtype), 0
    for part, size in zip(found if isinstance(found, tuple) else (found,), sizes, strict=True):
        out[start : start + min(len(part), size)] = part[:size]
        start += size
    return out
