"""Polynomials by their coefficients, highest power first: numpy.polyval and the like."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import call
from npaccel._numpy.core.dtypes import as_dtype, as_tensor, cast, dtype_of, narrow, to_numpy
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import polynomials as host_series
from npaccel._numpy.host.registration import usable
from npaccel._numpy.linalg.decompositions import prepared
from npaccel._numpy.linalg.linalg import inv, least_squares, lstsq
from npaccel._numpy.linalg.products import dot, promoted
from npaccel._numpy.polynomial.series import many
from npaccel._numpy.signal.signals import convolve
from npaccel._numpy.ufuncs.integers import as_signed, elements_at
from npaccel._runtime.torch.symbolic_sizes import assume, holds_here, surely


def _coefficients(p: Any) -> torch.Tensor:
    """Return coefficients as a tensor of at least one dimension."""
    x = as_tensor(p)
    return x.reshape(1) if x.ndim == 0 else x


@implements(np.polyval, zero_d="scalar")
def polyval(p: Any, x: Any) -> torch.Tensor:
    """`numpy.polyval` by Horner's rule."""
    c = as_tensor(p)
    at = as_tensor(x)
    if not len(c) and not at.ndim:
        raise NotImplementedError("without coefficients the result is an array, else a scalar")
    if c.ndim == 1 and many(c.shape[0], c, at):
        own = [to_numpy(x.dtype) for x in (c, at)]
        dtype = narrow(as_dtype(np.result_type(*own)), own)
        return host_series.series("polyval", c, at, True, str(dtype))
    found = torch.zeros_like(at)
    for factor in c.unbind(0):
        found = call(np.add, call(np.multiply, found, at), factor)
    return found


def _padded(a1: Any, a2: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two polynomials with zeros put before the shorter one."""
    a, b = promoted(_coefficients(a1), _coefficients(a2))
    short = len(b) - len(a)
    if short > 0:
        a = torch.cat([a.new_zeros((short,)), a])
    elif short < 0:
        b = torch.cat([b.new_zeros((-short,)), b])
    return a, b


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> torch.Tensor:
    """`numpy.polyadd`."""
    return call(np.add, *_padded(a1, a2))  # type: ignore[no-any-return]


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> torch.Tensor:
    """`numpy.polysub`."""
    return call(np.subtract, *_padded(a1, a2))  # type: ignore[no-any-return]


def _leading_zeros(c: torch.Tensor) -> torch.Tensor:
    """Return how many zeros are in front of the coefficients; the last one doesn't count."""
    return torch.sum(torch.cumsum(as_signed(c[:-1]) != 0, 0) == 0)


@implements(np.polymul, data_dependent=True)
def polymul(a1: Any, a2: Any) -> torch.Tensor:
    """`numpy.polymul`; zeros in front of the coefficients are left out."""
    a, b = (_coefficients(x) for x in (a1, a2))
    a, b = (x.new_zeros(1) if surely(x.shape[0] == 0) else x for x in (a, b))
    found = convolve(a, b)
    first = _leading_zeros(a) + _leading_zeros(b)
    return elements_at(found, torch.arange(found.shape[0], device=found.device) >= first)


def _trimmed(r: torch.Tensor) -> torch.Tensor:
    """Return a remainder without the zeros in front; its last coefficient stays."""
    kept = ~(torch.abs(r) <= 1e-8)  # the bound that NumPy's allclose sets, and NaN stays
    last = torch.arange(r.shape[0], device=r.device) == r.shape[0] - 1
    return r[(torch.cumsum(kept, 0) > 0) | last]


@implements(np.polydiv, data_dependent=True)
def polydiv(u: Any, v: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """`numpy.polydiv`: quotient and remainder."""
    first, second = (call(np.add, _coefficients(x), 0.0) for x in (u, v))
    first, second = promoted(first, second)
    if surely(first.shape[0] == 0) or surely(second.shape[0] == 0):
        raise IndexError("index 0 is out of bounds for axis 0 with size 0: no coefficients")
    m, n = first.shape[0] - 1, second.shape[0] - 1
    if usable(first, second):
        both = host_series.polydiv(first, second)
        size = both.shape[0] - first.shape[0]
        return both[:size].clone(), _trimmed(both[size:])
    scale = 1.0 / second[0]
    rest = list(first.unbind(0))
    divisor = list(second.unbind(0))
    quotient = []
    for k in range(m - n + 1):
        factor = scale * rest[k]
        quotient.append(factor)
        for i, d in enumerate(divisor):
            rest[k + i] = rest[k + i] - factor * d
    if not quotient:
        quotient = [torch.zeros_like(scale)]
    return torch.stack(quotient), _trimmed(torch.stack(rest))


def _order(m: Any, what: str) -> int:
    count = operator.index(m)
    if count < 0:
        raise ValueError(f"Order of {what} must be positive (see polyint, polyder)")
    return count


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> torch.Tensor:
    """`numpy.polyder`, the m-th derivative."""
    c = as_tensor(p)
    if c.ndim > 1:
        raise NotImplementedError("coefficients in more than one dimension")
    for _ in range(_order(m, "derivative")):
        rest = c[:-1]
        powers = rest.shape[0] - torch.arange(rest.shape[0], device=c.device)
        c = call(np.multiply, rest, powers)
    return c


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> torch.Tensor:
    """`numpy.polyint`, the m-th integral with its constants."""
    count = _order(m, "integral")
    constants = _coefficients(0.0 if k is None else k)
    constants = constants.expand(count) if constants.shape[0] == 1 and count > 1 else constants
    if constants.shape[0] < count:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    c = as_tensor(p)
    for i in range(count):
        powers = torch.arange(c.shape[0], 0, -1, device=c.device)
        c = call(np.true_divide, c, powers)
        c, constant = (
            promoted(c, constants[i : i + 1])
            if constants.is_complex()
            else (c, cast(constants[i : i + 1], to_numpy(c.dtype)))
        )
        c = torch.cat([c, constant])
    return c


def _powers(x: torch.Tensor, count: int) -> torch.Tensor:
    """Return the powers of x, a column each, the highest first."""
    columns = [torch.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return torch.stack(columns[::-1], 1)


def check_fit(x: torch.Tensor, y: torch.Tensor, degree: int) -> None:
    if degree < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if holds_here(x.shape[0] == 0, "there are no points"):
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if holds_here(x.shape[0] != y.shape[0], "the lengths differ"):
        raise TypeError("expected x and y to have same length")


def weights_of(w: Any, y: torch.Tensor) -> torch.Tensor:
    found = call(np.add, as_tensor(w), 0.0)
    if found.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if found.shape[0] != y.shape[0]:
        raise TypeError("expected w and y to have the same length")
    return found  # type: ignore[no-any-return]


def _by_row(w: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return w.unsqueeze(-1) if y.ndim == 2 else w


def _covariance(left: torch.Tensor, scale: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the covariance of the coefficients, unscaled."""
    base = inv(dot(left.T, left)) / (scale.unsqueeze(1) * scale.unsqueeze(0))
    return base if y.ndim == 1 else base.unsqueeze(-1)


def _scaled(
    base: torch.Tensor, left: torch.Tensor, y: torch.Tensor, found: torch.Tensor, rank: torch.Tensor
) -> torch.Tensor:
    """Return a covariance scaled by the errors of the fit; its columns are independent."""
    points, order = left.shape
    if points <= order:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    errors = torch.abs(y - dot(left, found))
    scaled = base * (torch.sum(errors**2, 0) / (points - order))
    scaled = scaled[(rank == order).expand(order)]
    assume(scaled.shape[0] == order, "the columns of the fit aren't independent")
    return scaled


@implements(
    np.polyfit,
    zero_d="scalar",
    data_dependent=True,
    tolerance=512,
    note="a poor fit doesn't warn; the covariance inverts a product, and squares the condition",
)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """`numpy.polyfit`: least squares.

    Raises
    ------
    ValueError
        If the degree is negative.
    TypeError
        If the shapes of x, y and w don't fit.
    """
    at, values = (call(np.add, as_tensor(v), 0.0) for v in (x, y))
    order = operator.index(deg) + 1
    check_fit(at, values, order - 1)
    bound = at.shape[0] * torch.finfo(at.dtype).eps if rcond is None else rcond
    # NumPy's matrix of powers has the dtype of x promoted with int: float64 for float32.
    own = [dtype_of(v) for v in (x, y)]
    wide = narrow(
        as_dtype(np.promote_types(to_numpy(at.dtype), np.int64)), [*own, to_numpy(at.dtype)]
    )
    left, right = _powers(cast(at, wide), order), values
    if w is not None:
        weights = weights_of(w, values)
        left = cast(left * weights.unsqueeze(-1), to_numpy(left.dtype))
        right = cast(right * _by_row(weights, right), to_numpy(right.dtype))
    scale = torch.sqrt(torch.sum(left * left, 0))
    left = left / scale
    if full:
        found, *rest = lstsq(left, right, bound)
        own_bound = as_tensor(bound, to_numpy(at.dtype)) if rcond is None else rcond
        return found / _by_row(scale, found), *rest, own_bound
    # Without the residuals no size depends on the data.
    a, b = prepared(left, right)
    scaled, rank, *_ = least_squares(a, b, bound)
    found = scaled / _by_row(scale, scaled)
    if not cov:
        return found
    base = _covariance(left, scale, right)
    return found, base if cov == "unscaled" else _scaled(base, left, right, scaled, rank)


@implements(np.poly, zero_d="python")
def poly(seq_of_zeros: Any) -> torch.Tensor:
    """`numpy.poly` of real zeros.

    Raises
    ------
    NotImplementedError
        If the zeros are complex, or those of a matrix: NumPy's dtype depends on the values.
    """
    zeros = _coefficients(seq_of_zeros)
    if zeros.ndim == 2 or zeros.is_complex():
        raise NotImplementedError(
            "numpy.poly of a matrix or of complex zeros can't be compiled: the dtype of its result "
            "depends on the values; call it outside the compiled function"
        )
    if zeros.ndim > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.shape[0] == 0:
        return as_tensor(1.0)
    own = to_numpy(zeros.dtype)
    zeros = cast(zeros, narrow(as_dtype(np.poly(np.zeros(1, own)).dtype), [own]))
    if usable(zeros):
        return host_series.poly(zeros)
    found = zeros.new_ones((1,))
    nothing = zeros.new_zeros((1,))
    for zero in zeros.unbind(0):
        found = torch.cat([found, nothing]) - torch.cat([nothing, zero * found])
    return found
