"""Logarithms of sums of exponentials, and softmax."""

from __future__ import annotations

import math
from typing import Any

import torch

from npaccel._scipy.dispatch.checks import is_near
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import Tensor, floats


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    """Return axes as a tuple.

    Raises
    ------
    ValueError
        If there is no such axis, or one twice.
    """
    several = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    given = tuple(range(x.ndim)) if axis is None else several
    if any(not -x.ndim <= a < x.ndim for a in given):
        raise ValueError(f"axis {axis} is out of bounds")
    found = tuple(a % x.ndim for a in given)
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def _promoted(a: Any, b: Any) -> tuple[Any, Any]:
    """Return tensors in torch's common dtype, as SciPy does here: integers widen no floats."""
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        return a, b
    dtype = torch.promote_types(a.dtype, b.dtype)
    return (a.to(dtype), b.to(dtype)) if dtype.is_floating_point or dtype.is_complex else (a, b)


@on_tensors("special.logsumexp", arrays=("a", "b"))
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b exp(a))), of the largest terms' share (Blanchard, Higham and Higham 2021)."""
    if b is None:
        (value,), weight = floats(a), None
    else:
        value, weight = torch.broadcast_tensors(*floats(*_promoted(a, b)))
    shape = value.shape
    value = value.reshape(shape or (1,))
    weight = weight.reshape(value.shape) if weight is not None else None
    axes = _axes(value, axis)
    if not value.numel():
        kept = [1 if i in axes else n for i, n in enumerate(value.shape)]
        out = value.new_full(kept, -math.inf)
        sign = torch.sign(out)
    else:
        out, sign = _logarithm(value, weight, axes, return_sign)
    if not keepdims:
        out, sign = out.squeeze(axes), sign.squeeze(axes)
    return (out, sign) if return_sign else out


def _logarithm(
    a: Tensor, b: Tensor | None, axes: tuple[int, ...], signed: bool
) -> tuple[Tensor, Tensor]:
    """Return the logarithm of a sum's size and the sum's sign, with the axes kept."""
    given = a
    if b is not None:
        a = torch.where(b == 0, -math.inf, a)
    largest = a.amax(axes, keepdim=True)
    at_largest = a == largest
    terms = torch.exp(torch.where(at_largest, -math.inf, a) - largest)
    if b is None:
        lead = at_largest.sum(axes, keepdim=True).to(a.dtype)
    else:
        lead = torch.where(at_largest, b, 0).sum(axes, keepdim=True)
        terms = b * terms
    rest = terms.sum(axes, keepdim=True)
    rest = torch.where(rest == 0, rest, rest / lead)
    sign = torch.sign(rest + 1) * torch.sign(lead)
    rest = torch.where(rest < -1, -rest - 2, rest)
    out = torch.log1p(rest) + torch.log(torch.abs(lead)) + largest
    finite = torch.isfinite(out)
    if is_near(out) and bool(finite.all()) and bool((sign >= 0).all()):
        return out, sign
    plain = torch.exp(given) if b is None else b * torch.exp(given)
    plain = plain.sum(axes, keepdim=True)
    if not signed:
        out = torch.where(sign < 0, math.nan, out)
        return torch.where(torch.isfinite(out) | (sign < 0), out, torch.log(plain)), sign
    out = torch.where(finite, out, torch.log(torch.abs(plain)))
    return out, torch.where(finite, sign, torch.sign(plain))


@on_tensors("special.softmax", arrays=("x",))
def softmax(x: Any, axis: Any = None) -> Tensor:
    """exp(x) over its sum."""
    (value,) = floats(x)
    shaped = value.reshape(value.shape or (1,))
    axes = _axes(shaped, axis) if value.ndim or axis is not None else (0,)
    terms = torch.exp(shaped - shaped.amax(axes, keepdim=True))
    return (terms / terms.sum(axes, keepdim=True)).reshape(value.shape)


@on_tensors("special.log_softmax", arrays=("x",))
def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of softmax."""
    (value,) = floats(x)
    shaped = value.reshape(value.shape or (1,))
    axes = _axes(shaped, axis) if value.ndim or axis is not None else (0,)
    largest = shaped.amax(axes, keepdim=True)
    moved = shaped - torch.where(torch.isfinite(largest), largest, 0)
    total = torch.exp(moved).sum(axes, keepdim=True)
    return (moved - torch.log(total)).reshape(value.shape)
