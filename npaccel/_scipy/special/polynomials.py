"""Orthogonal polynomials of `scipy.special` at points, by their three-term recurrences.

The degree is a Python number: it says how many steps there are.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, integer, on_cpu, with_orders

_LARGEST = 200


def _degree(n: Any) -> int:
    return integer(n, "n", _LARGEST)


def _number(x: Tensor, found: Tensor) -> Tensor:
    """Return a polynomial's values, NaN also where the degree is 0."""
    return torch.where(torch.isnan(x), math.nan, found)


def _finite(x: Tensor, found: Tensor) -> Tensor:
    """Return a polynomial's values, NaN for infinite points."""
    return torch.where(torch.isfinite(x), found, math.nan)


def _unbounded(x: Tensor, n: int, found: Tensor) -> Tensor:
    """Return a polynomial's values, infinite for infinite points."""
    degree = n if n >= 0 else -n - 1
    infinite = x if degree % 2 else torch.abs(x)
    return torch.where(torch.isinf(x), infinite, found) if degree else found


def chebyshev_first(n: int, x: Tensor) -> Tensor:
    """T_n, with T_-n = T_n."""
    before, value = torch.ones_like(x), x
    if n == 0:
        return _finite(x, before)
    for _ in range(abs(n) - 1):
        before, value = value, 2 * x * value - before
    return _finite(x, value)


def chebyshev_second(n: int, x: Tensor) -> Tensor:
    """U_n, with U_(-n - 2) = -U_n."""
    if n < -1:
        return -chebyshev_second(-n - 2, x)
    before, value = torch.zeros_like(x), torch.ones_like(x)
    if n == -1:
        return before
    for _ in range(n):
        before, value = value, 2 * x * value - before
    return _finite(x, value)


@with_orders("eval_chebyt", ["n"])
def eval_chebyt(n: Any, x: Tensor) -> Tensor:
    """Chebyshev's polynomial of the first kind."""
    return chebyshev_first(_degree(n), x)


@with_orders("eval_chebyu", ["n"])
def eval_chebyu(n: Any, x: Tensor) -> Tensor:
    """Chebyshev's polynomial of the second kind."""
    return chebyshev_second(_degree(n), x)


@with_orders("eval_chebyc", ["n"], host_reason=on_cpu)
def eval_chebyc(n: Any, x: Tensor) -> Tensor:
    """2 T_n(x / 2)."""
    return 2 * chebyshev_first(_degree(n), x / 2)


@with_orders("eval_chebys", ["n"], host_reason=on_cpu)
def eval_chebys(n: Any, x: Tensor) -> Tensor:
    """U_n(x / 2)."""
    return chebyshev_second(_degree(n), x / 2)


@with_orders("eval_sh_chebyt", ["n"], host_reason=on_cpu)
def eval_sh_chebyt(n: Any, x: Tensor) -> Tensor:
    """T_n(2 x - 1)."""
    return chebyshev_first(_degree(n), 2 * x - 1)


@with_orders("eval_sh_chebyu", ["n"], host_reason=on_cpu)
def eval_sh_chebyu(n: Any, x: Tensor) -> Tensor:
    """U_n(2 x - 1)."""
    return chebyshev_second(_degree(n), 2 * x - 1)


def legendre(n: int, x: Tensor) -> Tensor:
    """P_n, with P_(-n - 1) = P_n."""
    degree = n if n >= 0 else -n - 1
    before, value = torch.ones_like(x), x
    if degree == 0:
        return before
    for k in range(2, degree + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value


@with_orders("eval_legendre", ["n"])
def eval_legendre(n: Any, x: Tensor) -> Tensor:
    """Legendre's polynomial."""
    return _unbounded(x, _degree(n), legendre(_degree(n), x))


@with_orders("eval_sh_legendre", ["n"])
def eval_sh_legendre(n: Any, x: Tensor) -> Tensor:
    """P_n(2 x - 1)."""
    return _unbounded(x, _degree(n), legendre(_degree(n), 2 * x - 1))


def jacobi(n: int, alpha: Tensor, beta: Tensor, x: Tensor) -> Tensor:
    """Jacobi's polynomial (DLMF 18.9.2)."""
    total = alpha + beta
    before = torch.ones_like(total + x)
    value = (alpha + 1) + (total + 2) * (x - 1) / 2
    if n == 0:
        return before
    for k in range(2, n + 1):
        twice = 2 * k + total
        linear = (twice - 1) * (twice * (twice - 2) * x + (alpha - beta) * total)
        past = 2 * (k + alpha - 1) * (k + beta - 1) * twice
        before, value = (
            value,
            (linear * value - past * before) / (2 * k * (k + total) * (twice - 2)),
        )
    return value


@with_orders("eval_jacobi", ["n"], host_reason=on_cpu)
def eval_jacobi(n: Any, alpha: Tensor, beta: Tensor, x: Tensor) -> Tensor:
    """Jacobi's polynomial."""
    return _unbounded(x, _positive(n), jacobi(_positive(n), alpha, beta, x))


def _positive(n: Any) -> int:
    """Return a degree that isn't negative."""
    degree = _degree(n)
    if degree < 0:
        raise NotImplementedError("npaccel has it for positive `n` only")
    return degree


@with_orders("eval_sh_jacobi", ["n"], host_reason=on_cpu)
def eval_sh_jacobi(n: Any, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
    """Jacobi's polynomial on [0, 1], its leading coefficient 1."""
    degree = _positive(n)
    factor = torch.ones_like(p)
    for k in range(1, degree + 1):
        factor = factor * ((degree + p + k - 1) / k)
    return _unbounded(x, degree, jacobi(degree, p - q, q - 1, 2 * x - 1) / factor)


@with_orders("eval_gegenbauer", ["n"], host_reason=on_cpu)
def eval_gegenbauer(n: Any, alpha: Tensor, x: Tensor) -> Tensor:
    """Gegenbauer's polynomial."""
    degree = _positive(n)
    before, value = torch.ones_like(alpha + x), 2 * alpha * x
    if degree == 0:
        return _number(x, before)
    for k in range(2, degree + 1):
        step = 2 * x * (k + alpha - 1) * value - (k + 2 * alpha - 2) * before
        before, value = value, step / k
    return _unbounded(x, degree, value)


def laguerre(n: int, alpha: Any, x: Tensor) -> Tensor:
    """The generalised polynomial of Laguerre."""
    before, value = torch.ones_like(alpha + x), alpha + 1 - x
    if n == 0:
        return before
    for k in range(2, n + 1):
        step = (2 * k - 1 + alpha - x) * value - (k - 1 + alpha) * before
        before, value = value, step / k
    return value


@with_orders("eval_genlaguerre", ["n"], host_reason=on_cpu)
def eval_genlaguerre(n: Any, alpha: Tensor, x: Tensor) -> Tensor:
    """The generalised polynomial of Laguerre, for alpha > -1."""
    found = laguerre(_positive(n), alpha, x)
    return torch.where((alpha <= -1) | torch.isnan(alpha) | torch.isnan(x), math.nan, found)


@with_orders("eval_laguerre", ["n"])
def eval_laguerre(n: Any, x: Tensor) -> Tensor:
    """Laguerre's polynomial."""
    return _number(x, laguerre(_positive(n), 0.0, x))


@on_tensors("special.assoc_laguerre", arrays=("x",), by_element=True, host_reason=on_cpu)
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Tensor:
    """The generalised polynomial of Laguerre, of degree n and order k."""
    from npaccel._scipy.dispatch import table

    row = table.row("scipy.special.eval_genlaguerre")
    assert row is not None
    assert row.implementation is not None
    found: Tensor = row.implementation(n, k, x)
    return found


def hermite(n: int, x: Tensor, factor: int) -> Tensor:
    """The polynomial of Hermite: He_n for factor 1, the physicists' H_n for 2."""
    before, value = torch.ones_like(x), factor * x
    if n == 0:
        return before
    for k in range(1, n):
        before, value = value, factor * (x * value - k * before)
    return value


@with_orders("eval_hermite", ["n"])
def eval_hermite(n: Any, x: Tensor) -> Tensor:
    """The physicists' polynomial of Hermite."""
    return _number(x, hermite(_positive(n), x, 2))


@with_orders("eval_hermitenorm", ["n"])
def eval_hermitenorm(n: Any, x: Tensor) -> Tensor:
    """The probabilists' polynomial of Hermite."""
    return _number(x, hermite(_positive(n), x, 1))
