"""Recursive filters without a step for each sample: states of blocks, on tensors.

A filter is a state-space system s' = A s + B x, y = C s + D x (the transposed direct form 2, whose
state is SciPy's ``zi``). A block of samples is a product with a lower triangular matrix of the
impulse response; the states between blocks are a scan of products with a power of A (Kogge and
Stone 1973). All in 64 bits: a power of A loses digits where poles are near each other or the
circle.
"""

from __future__ import annotations

from typing import Any

import torch

#: Samples in a block.
_BLOCK = 64


def _system(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return A, B and D of a filter; C is the first row of the identity."""
    count = max(b.shape[0], a.shape[0])
    b = torch.nn.functional.pad(b, (0, count - b.shape[0])) / a[0]
    a = torch.nn.functional.pad(a, (0, count - a.shape[0])) / a[0]
    shift = torch.diag(torch.ones(count - 2, dtype=a.dtype, device=a.device), 1)
    matrix = torch.cat([-a[1:, None], shift[:, 1:]], 1)
    return matrix, b[1:] - a[1:] * b[0], b[0]


def steady(b: Any, a: Any) -> Any:
    """Return the state of a filter that has seen ones forever."""
    matrix, inward, _ = _system(b, a)
    identity = torch.eye(matrix.shape[0], dtype=matrix.dtype, device=matrix.device)
    return torch.linalg.solve(identity - matrix, inward)


def _powers(matrix: Any, vector: Any, count: int) -> Any:
    """Return the columns A**k v for k = 0, 1, ..., by squaring."""
    found, power = vector[:, None], matrix
    while found.shape[1] < count:
        found = torch.cat([found, power @ found], 1)
        power = power @ power
    return found[:, :count]


def _scanned(states: Any, matrix: Any) -> Any:
    """Return s[k] = u[k] + A s[k - 1] for all k, along the last but one axis."""
    count, width = states.shape[-2], 1
    while width < count:
        moved = states[..., : count - width, :] @ matrix.mT
        states = torch.cat([states[..., :width, :], states[..., width:, :] + moved], -2)
        matrix = matrix @ matrix
        width *= 2
    return states


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
    matrix, inward, direct = (one.to(wide) for one in _system(b.to(wide), a.to(wide)))
    size, order = x.shape[-1], matrix.shape[0]
    bad = torch.cummax((~torch.isfinite(x)).to(torch.uint8), -1).values != 0 if size else None
    clean = torch.where(torch.isfinite(x), x, 0).to(wide)
    columns = _powers(matrix, inward, _BLOCK)  # what an impulse leaves behind, k steps later
    first = torch.zeros(order, dtype=wide, device=x.device)
    first[0] = 1
    rows = _powers(matrix.mT, first, _BLOCK).mT  # what a state gives, k steps later
    last = torch.linalg.matrix_power(matrix, _BLOCK)
    response = torch.cat([direct[None], columns[0, :-1]])
    blocks, rest = divmod(size, _BLOCK)
    pieces = torch.nn.functional.pad(clean, (0, _BLOCK - rest)).unflatten(-1, (-1, _BLOCK))
    left = torch.flip(columns, (1,))
    gained = pieces[..., :blocks, :] @ left.mT
    states = torch.cat([zi.to(wide).unsqueeze(-2), gained], -2)
    states = _scanned(states, last)
    found = pieces @ _triangle(response).mT + states @ rows.mT
    end = states[..., blocks, :] @ torch.linalg.matrix_power(matrix, rest).mT
    if rest:
        end = end + pieces[..., blocks, :rest] @ left[:, _BLOCK - rest :].mT
    found = found.flatten(-2)[..., :size]
    if bad is not None:
        found = torch.where(bad, torch.nan, found)
        end = torch.where(bad[..., -1:], torch.nan, end)
    return found.to(x.dtype), end.to(x.dtype)


def _triangle(response: Any) -> Any:
    """Return the lower triangular matrix with constant diagonals."""
    place = torch.arange(_BLOCK, device=response.device)
    apart = place[:, None] - place
    return torch.where(apart >= 0, response[torch.clamp(apart, min=0)], 0)
