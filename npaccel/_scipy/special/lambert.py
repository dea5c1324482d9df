"""Lambert's W of `scipy.special`, on pairs of real tensors for complex ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import as_tensor, cast, dtype_of, narrow
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, integer, on_cpu

Pair = tuple[Tensor, Tensor]

#: The series at the branch point, in p with p**2 = 2 (e z + 1) (Corless et al. 1996).
_SERIES = (-1.0, 1.0, -1 / 3, 11 / 72, -43 / 540, 769 / 17280, -221 / 8505)


def _times(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _over(a: Pair, b: Pair) -> Pair:
    """Divide, scaled so that no square is too large or small."""
    size = torch.maximum(torch.abs(b[0]), torch.abs(b[1]))
    x, y = b[0] / size, b[1] / size
    square = (x * x + y * y) * size
    return (a[0] * x + a[1] * y) / square, (a[1] * x - a[0] * y) / square


def _log(a: Pair) -> Pair:
    return torch.log(torch.hypot(a[0], a[1])), torch.atan2(a[1], a[0])


def _either(condition: Tensor, a: Pair, b: Pair) -> Pair:
    return torch.where(condition, a[0], b[0]), torch.where(condition, a[1], b[1])


def _root(x: Tensor) -> Tensor:
    """The square root, 0 with a derivative of 0 where x isn't positive."""
    return torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1.0)), 0.0)


def _at_branch(z: Pair, sign: int) -> Pair:
    """The series around -1 / e."""
    x, y = 2 * (math.e * z[0] + 1), 2 * math.e * z[1]
    size = torch.hypot(x, y)
    real = _root((size + x) / 2)
    imaginary = torch.copysign(_root((size - x) / 2), y)
    p = sign * real, sign * imaginary
    found = torch.full_like(x, _SERIES[-1]), torch.zeros_like(x)
    for c in reversed(_SERIES[:-1]):
        found = _times(found, p)
        found = found[0] + c, found[1]
    return found


def _far(z: Pair, k: int) -> Pair:
    """The first two terms for large and small z: L - log(L) with L = log(z) + 2 pi i k."""
    real, imaginary = _log(z)
    turned = real, imaginary + 2 * math.pi * k
    if k == -1:  # W is real between -1 / e and 0
        inside = (z[1] == 0) & (z[0] < 0) & (z[0] > -1 / math.e)
        straight = torch.clamp(real, max=-1.0)
        direct = straight - torch.log(-straight), torch.zeros_like(real)
        lesser = _log(turned)
        return _either(inside, direct, (turned[0] - lesser[0], turned[1] - lesser[1]))
    lesser = _log(turned)
    return turned[0] - lesser[0], turned[1] - lesser[1]


def _near(z: Pair) -> Pair:
    """A start for k = 0 and moderate z: l (1 - log(1 + l) / (2 + l)) with l = log(1 + z)."""
    first = _log((z[0] + 1, z[1]))
    second = _log((first[0] + 1, first[1]))
    share = _over(second, (first[0] + 2, first[1]))
    return _times(first, (1 - share[0], -share[1]))


def _start(z: Pair, k: int) -> Pair:
    apart = torch.hypot(z[0] + 1 / math.e, z[1])
    close = apart < 0.3
    if k == 0:
        # Each start of numbers that it's for: elsewhere it may have no derivative.
        size = torch.hypot(z[0], z[1])
        near = (size < 5) & (z[0] > -0.3)
        one = torch.ones_like(z[0]), torch.zeros_like(z[1])
        ten = 10 * one[0], one[1]
        found = _either(near, _near(_either(near, z, one)), _far(_either(near, ten, z), k))
        found = _either(size < 1e-4, z, found)
        return _either(apart < 0.6, _at_branch(z, 1), found)
    found = _far(z, k)
    if k == -1:
        return _either(close & (z[1] >= 0), _at_branch(z, -1), found)
    return _either(close & (z[1] < 0), _at_branch(z, -1), found) if k == 1 else found


def _halley(w: Pair, z: Pair) -> Pair:
    """Take one of Halley's steps for w = z exp(-w)."""
    size = torch.exp(-w[0])
    away = _times(z, (size * torch.cos(w[1]), -size * torch.sin(w[1])))
    miss = w[0] - away[0], w[1] - away[1]
    after = w[0] + 1, w[1]
    bend = _over(_times((w[0] + 2, w[1]), miss), (2 * after[0], 2 * after[1]))
    step = _over(miss, (after[0] - bend[0], after[1] - bend[1]))
    done = ~torch.isfinite(step[0]) | ~torch.isfinite(step[1])
    return _either(done, w, (w[0] - step[0], w[1] - step[1]))


@on_tensors(
    "special.lambertw",
    arrays=("z",),
    tolerance=4096,
    note="SciPy loses digits at the branch point -1 / e and of subnormal numbers",
    by_element=True,
    host_reason=on_cpu,
)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Tensor:
    """A branch of the solution of w exp(w) = z."""
    branch = integer(k, "k", 1000)
    given = as_tensor(z)
    value = given.to(torch.complex128)
    zero = (value.real == 0) & (value.imag == 0)
    given_pair = value.real, value.imag
    pair = torch.where(zero, 1.0, value.real), value.imag  # log(0) has no derivative.
    w = _start(pair, branch)
    for _ in range(6):
        w = _halley(w, pair)
    none = torch.zeros_like(pair[0])
    w = _either(zero, given_pair if branch == 0 else (none - math.inf, none), w)
    infinite = pair[0] == math.inf
    w = _either(infinite, (pair[0], none + 2 * math.pi * branch), w)
    infinite = pair[0] == -math.inf
    w = _either(infinite, (-pair[0], none + (2 * branch + 1) * math.pi), w)
    lost = torch.isnan(pair[0]) | torch.isnan(pair[1])
    found = torch.complex(*_either(lost, (none + math.nan, none), w))
    return cast(found, _complex_of(given))


def _complex_of(z: Tensor) -> np.dtype[Any]:
    """The dtype that SciPy gives W, narrowed where it's invented."""
    dtype = dtype_of(z)
    assert isinstance(dtype, np.dtype)
    return narrow(np.dtype(np.complex128), [dtype])
