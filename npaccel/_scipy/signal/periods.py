"""Periods of samples at any times in `scipy.signal`: Lomb (1976), Scargle (1982)."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.signal import _common as parts

#: Maximum number of sines that are computed at once.
_AT_ONCE = 2**22


def _moments(angle: Any, w: Any) -> tuple[Any, Any, Any, Any]:
    """Return cosines and sines, and the weighted means of cosines and of sines."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    return cos, sin, w @ cos, w @ sin


def _powers(x: Any, y: Any, w: Any, freqs: Any, floating: bool) -> tuple[Any, Any, Any, Any]:
    """Return the amplitudes of cosine and sine, the angle, and half the power."""
    angle = x[:, None] * freqs
    cos, sin, mean_cos, mean_sin = _moments(angle, w)
    cc, cs = w @ (cos * cos), w @ (cos * sin)
    ss = 1 - cc
    if floating:
        cc, ss, cs = cc - mean_cos**2, ss - mean_sin**2, cs - mean_cos * mean_sin
    tau = 0.5 * torch.arctan2(2 * cs, cc - ss)
    cos, sin, mean_cos, mean_sin = _moments(angle - tau, w)
    yc, ys, cc = (w * y) @ cos, (w * y) @ sin, w @ (cos * cos)
    ss = 1 - cc
    if floating:
        level = (w * y).sum()
        yc, ys = yc - level * mean_cos, ys - level * mean_sin
        cc, ss = cc - mean_cos**2, ss - mean_sin**2
    least = torch.finfo(y.dtype).eps / 2
    a, b = yc / torch.clamp(cc, min=least), ys / torch.clamp(ss, min=least)
    return a, b, tau, a * yc + b * ys


@on_tensors("signal.lombscargle", arrays=("x", "y", "freqs", "weights"), tolerance=2**14)
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    *,
    precenter: Any = None,
    normalize: Any = False,
    weights: Any = None,
    floating_mean: bool = False,
) -> Any:
    """Return the power of a sine at each frequency, fitted by least squares."""
    kinds: dict[Any, str] = {False: "power", True: "normalize"}
    kind = kinds.get(normalize, normalize)
    given = parts.tensors(x, y, freqs, *([] if weights is None else [weights]))
    x, y, freqs, *rest = (t.to(torch.float64) for t in given)
    w = rest[0] if rest else torch.ones_like(y)
    if x.ndim != 1 or not x.numel() or not x.shape == y.shape == w.shape or precenter is not None:
        raise ValueError("x, y, weights must be 1-D arrays of equal non-zero length")
    if freqs.ndim != 1 or not freqs.numel() or kind not in ("power", "normalize", "amplitude"):
        raise ValueError("freqs must be a 1-D array of non-zero length")
    checks.holds(((w >= 0).all() & (w.sum() > 0)), "weights must be non-negative")
    w = w / w.sum()
    pieces = torch.split(freqs, max(1, _AT_ONCE // x.shape[0]))
    found = [_powers(x, y, w, piece, floating_mean) for piece in pieces]
    a, b, tau, power = (torch.cat(one).squeeze() for one in zip(*found, strict=True))
    if kind == "amplitude":
        return torch.complex(a, b) * torch.polar(torch.ones_like(tau), tau)
    if kind == "power":
        return 2 * power * (x.shape[0] / 4)
    total = (w * y * y).sum() - ((w * y).sum() ** 2 if floating_mean else 0)
    return power / total
