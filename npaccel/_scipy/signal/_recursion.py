"""Recursive filters without a step for each sample: states of blocks, on tensors.

What poles do is done one pole after the other, y[n] = w[n] + p y[n - 1]: powers of a number don't
grow where the filter is stable. Powers of the companion matrix do: in 64 bits nothing is left of a
Butterworth filter of order 8. A block of samples is a product with a lower triangular matrix of
powers; the last samples of blocks are a scan (Kogge and Stone 1973). The poles are eigenvalues, in
64 bits: what they lose is what rounding the coefficients loses.
"""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy.signal import _common as parts

#: Samples in a block.
_BLOCK = 64


def _padded(values: Any, count: int) -> Any:
    return torch.nn.functional.pad(values, (0, count - values.shape[-1]))


def _companion(a: Any) -> Any:
    """Return the matrix whose eigenvalues are the poles, and whose state is SciPy's ``zi``."""
    order = a.shape[0] - 1
    shift = torch.diag(torch.ones(order - 1, dtype=a.dtype, device=a.device), 1)
    return torch.cat([-a[1:, None], shift[:, 1:]], 1)


def steady(b: Any, a: Any) -> Any:
    """Return the state of a filter that has seen ones forever."""
    count = max(b.shape[0], a.shape[0])
    b, a = _padded(b, count) / a[0], _padded(a, count) / a[0]
    identity = torch.eye(count - 1, dtype=a.dtype, device=a.device)
    return torch.linalg.solve(identity - _companion(a), b[1:] - a[1:] * b[0])


def filtered(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """Filter along the last axis, from a state; return the result and the last state.

    Parameters
    ----------
    b, a : torch.Tensor
        1-D, not both of one element.
    x : torch.Tensor, shape (..., n)
    zi : torch.Tensor, shape (..., order)
        All four in one dtype.
    """
    wide = torch.complex128 if x.is_complex() else torch.float64
    size, order = x.shape[-1], zi.shape[-1]
    b, a = (_padded(one.to(wide) / a[0].to(wide), order + 1) for one in (b, a))
    bad = torch.cummax((~torch.isfinite(x)).to(torch.int32), -1).values != 0
    clean = torch.where(torch.isfinite(x), x, 0).to(wide)
    start = _padded(zi.to(wide), max(order, size))
    driven = parts.convolved(clean, b)[..., :size] + start[..., :size]
    found = _all_poles(a, driven)
    end = _last_state(b, a, clean, found, start[..., size:])
    found = torch.where(bad, torch.nan, found)
    end = torch.where(bad[..., -1:], torch.nan, end)
    return found.to(x.dtype), end.to(x.dtype)


def _last_state(b: Any, a: Any, x: Any, y: Any, rest: Any) -> Any:
    """Return the state after the last sample; ``rest`` is what is left of the first one."""
    order, size = b.shape[0] - 1, x.shape[-1]
    x, y = (torch.nn.functional.pad(one, (max(0, order - size), 0)) for one in (x, y))
    x, y = torch.flip(x[..., -order:], (-1,)), torch.flip(y[..., -order:], (-1,))
    place = torch.arange(order, device=x.device)
    later = place[:, None] + place + 1
    inside, near = later <= order, torch.clamp(later, max=order)
    from_x, from_y = (torch.where(inside, one[near], 0) for one in (b, a))
    return x @ from_x - y @ from_y + _padded(rest, order)


def _all_poles(a: Any, x: Any) -> Any:
    """Return the solution of a[0] y[n] + a[1] y[n - 1] + ... = x[n]; a[0] is 1."""
    size = x.shape[-1]
    if a.shape[0] == 2:
        return _one_pole(-a[1], x)[..., :size]
    found = x.to(torch.complex128)
    for pole in torch.linalg.eigvals(_companion(a)).unbind():
        found = _one_pole(pole, found)
    return found[..., :size] if x.is_complex() else found[..., :size].real


def _one_pole(pole: Any, x: Any) -> Any:
    """Return y[n] = x[n] + p y[n - 1]."""
    size = x.shape[-1]
    count = -(-size // _BLOCK)
    pieces = _padded(x, count * _BLOCK).unflatten(-1, (count, _BLOCK))
    powers = torch.cumprod(torch.cat([torch.ones_like(pole)[None], pole.expand(_BLOCK)]), 0)
    place = torch.arange(_BLOCK, device=x.device)
    apart = place[:, None] - place
    weights = torch.where(apart >= 0, powers[torch.clamp(apart, min=0)], 0)
    inside = pieces @ weights.mT
    before = _scanned(inside[..., -1], powers[-1])[..., :-1]
    before = torch.nn.functional.pad(before, (1, 0)).unsqueeze(-1)
    return (inside + before * powers[1:]).flatten(-2)[..., :size]


def _scanned(last: Any, power: Any) -> Any:
    """Return s[k] = u[k] + p s[k - 1] for all k, along the last axis."""
    count, width = last.shape[-1], 1
    while width < count:
        moved = last[..., : count - width] * power
        last = torch.cat([last[..., :width], last[..., width:] + moved], -1)
        power = power * power
        width *= 2
    return last
