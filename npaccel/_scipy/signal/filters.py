"""Filters of samples in time, finite and recursive, in `scipy.signal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.signal import _common as parts
from npaccel._scipy.signal import _recursion as recursion

_LOSES = "off a CPU it goes pole by pole, which loses the digits that rounded coefficients lose"
_ON_A_CPU = "on a CPU, SciPy's recursion goes sample after sample, exactly and as fast"


def _size(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else int(np.size(value))


def _recursive(*names: str) -> Callable[[dict[str, Any]], str]:
    """Leave recursions over samples to SciPy on a CPU."""

    def host_reason(bound: dict[str, Any]) -> str:
        if bound.get("method", "pad") == "gust":
            return "Gustafsson's method solves a large system of equations"
        finite = "a" in bound and _size(bound["a"]) == 1
        return "" if finite or not free_for_scipy(bound) else _ON_A_CPU

    return host_reason


def _coefficients(*given: Any) -> Any:
    """Return arguments in one dtype, which must not be one of integers."""
    found = parts.tensors(*given)
    if all(not (t.is_floating_point() or t.is_complex()) for t in found):
        raise NotImplementedError("SciPy takes no coefficients and samples that are all integers")
    return parts.floats(*found)


def _lines(b: Any, a: Any) -> tuple[Any, Any]:
    """Return two lists of coefficients as tensors of one dimension."""
    b, a = torch.atleast_1d(b), torch.atleast_1d(a)
    if b.ndim != 1 or a.ndim != 1 or not b.shape[0] or not a.shape[0]:
        raise ValueError("Parameters b and a must be non-empty 1d arrays")
    return b, a


def _filtered(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """Filter along the last axis from a state."""
    checks.holds(a[0] != 0, "the first coefficient of a is zero")
    if a.shape[0] > 1:
        return recursion.filtered(b, a, x, zi)
    whole = parts.convolved(x, b / a[0])
    count, order = x.shape[-1], b.shape[0] - 1
    if order:
        start = torch.nn.functional.pad(zi, (0, whole.shape[-1] - order))
        whole = whole + start
    return whole[..., :count], whole[..., count:]


@on_tensors(
    "signal.lfilter",
    arrays=("b", "a", "x", "zi"),
    host_reason=_recursive("b", "a", "x", "zi"),
    tolerance=2**14,
    note=_LOSES,
)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along one axis, finite or recursive."""
    given = [b, a, x] if zi is None else [b, a, x, zi]
    b, a, x, *state = _coefficients(*given)
    b, a = _lines(b, a)
    axis = parts.axis_of(axis, x.ndim)
    if x.numel() == 0:
        raise ValueError("nothing to filter")
    lines = x.movedim(axis, -1)
    order = max(b.shape[0], a.shape[0]) - 1
    start = lines.new_zeros((*lines.shape[:-1], order))
    if state:
        if state[0].ndim != x.ndim or state[0].shape[axis] != order:
            raise ValueError("Unexpected shape for parameter zi")
        start = state[0].movedim(axis, -1).expand(start.shape)
    found, end = _filtered(b, a, lines, start)
    found = found.movedim(-1, axis)
    return (found, end.movedim(-1, axis)) if state else found


@on_tensors("signal.lfilter_zi", arrays=("b", "a"), tolerance=2**14)
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of a filter that has seen ones forever."""
    b, a = _lines(*parts.floats(b, a))
    checks.holds(a[0] != 0, "leading zeros")
    return recursion.steady(b, a)


def _sections(sos: Any, like: Any) -> Any:
    """Return the second-order sections of a filter."""
    if sos.ndim != 2 or sos.shape[1] != 6 or not sos.shape[0]:
        raise ValueError("sos array must be shape (n_sections, 6)")
    checks.holds((sos[:, 3] == 1).all(), "sos[:, 3] should be all ones")
    return sos.to(like.device)


def _cascade(sos: Any, x: Any, states: Any) -> tuple[Any, Any]:
    """Filter along the last axis by sections, one after the other."""
    ends = []
    for section, state in zip(sos, states, strict=True):
        x, end = recursion.filtered(section[:3], section[3:], x, state)
        ends.append(end)
    return x, torch.stack(ends)


@on_tensors(
    "signal.sosfilt",
    arrays=("sos", "x", "zi"),
    host_reason=_recursive("sos", "x", "zi"),
    tolerance=2**14,
    note=_LOSES,
)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along one axis by second-order sections."""
    sos, x, *state = _coefficients(*([sos, x] if zi is None else [sos, x, zi]))
    sos, axis = _sections(sos, x), parts.axis_of(axis, x.ndim)
    lines = x.movedim(axis, -1)
    start = lines.new_zeros((sos.shape[0], *lines.shape[:-1], 2))
    if state:
        given = state[0].movedim(axis + 1, -1)
        if given.shape != start.shape:
            raise ValueError("Invalid zi shape")
        start = given
    found, end = _cascade(sos, lines, start)
    found = found.movedim(-1, axis)
    return (found, end.movedim(-1, axis + 1)) if state else found


@on_tensors("signal.sosfilt_zi", arrays=("sos",), tolerance=2**14)
def sosfilt_zi(sos: Any) -> Any:
    """The states of sections that have seen ones forever."""
    (sos,) = parts.floats(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos must be shape (n_sections, 6)")
    gains = sos[:, :3].sum(1) / sos[:, 3:].sum(1)
    before = torch.cat([torch.ones_like(gains[:1]), torch.cumprod(gains, 0)[:-1]])
    found = [recursion.steady(row[:3], row[3:]) for row in sos]
    return torch.stack(found) * before[:, None]


# -- Forward and backward -------------------------------------------------------------------


def _bordered(x: Any, padtype: Any, padlen: Any, taps: int) -> tuple[Any, int]:
    """Return lines with more samples at the ends, and how many."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError("padtype must be 'even', 'odd', 'constant', or None.")
    edge = 0 if padtype is None else taps * 3 if padlen is None else int(padlen)
    if x.shape[-1] <= edge or edge < 0:
        raise ValueError("The length of the input vector x must be greater than padlen")
    return parts.extended(x, edge, padtype), edge


@on_tensors(
    "signal.filtfilt",
    arrays=("b", "a", "x"),
    host_reason=_recursive("b", "a", "x"),
    tolerance=2**16,
    note=_LOSES,
)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """Filter forward and backward along one axis."""
    if method != "pad":
        raise ValueError("method must be 'pad' or 'gust'.")
    b, a, x = _coefficients(b, a, x)
    b, a = _lines(b, a)
    axis = parts.axis_of(axis, x.ndim)
    taps = max(b.shape[0], a.shape[0])
    if taps == 1:
        raise ValueError("SciPy's filters must have a state")
    x, edge = _bordered(x.movedim(axis, -1), padtype, padlen, taps)
    start = recursion.steady(b, a)
    for _ in range(2):
        x = torch.flip(_filtered(b, a, x, start * x[..., :1])[0], (-1,))
    return x[..., edge : x.shape[-1] - edge].movedim(-1, axis)


@on_tensors(
    "signal.sosfiltfilt",
    arrays=("sos", "x"),
    host_reason=_recursive("sos", "x"),
    tolerance=2**16,
    note=_LOSES + "; without padlen, the zeros of sos are counted, which reads it",
)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """Filter forward and backward along one axis by second-order sections."""
    sos, x = _coefficients(sos, x)
    sos, axis = _sections(sos, x), parts.axis_of(axis, x.ndim)
    taps = 2 * sos.shape[0] + 1
    inner = None
    if padlen is None and padtype is not None:
        unused = torch.minimum((sos[:, 2] == 0).sum(), (sos[:, 5] == 0).sum())
        if checks.readable(unused):
            taps -= int(unused)
        else:
            inner = 3 * unused
    x, edge = _bordered(x.movedim(axis, -1), padtype, padlen, taps)
    start = sosfilt_zi(sos)
    start = start.reshape(start.shape[0], *[1] * (x.ndim - 1), 2)
    if inner is not None:
        place = torch.arange(x.shape[-1], device=x.device)
        inner = torch.minimum(torch.maximum(place, inner), place[-1] - inner)
    for _ in range(2):
        if inner is not None:
            # While nothing has changed, the states are still those of the start.
            x = x[..., inner]
        x = torch.flip(_cascade(sos, x, start * x[..., :1])[0], (-1,))
    return x[..., edge : x.shape[-1] - edge].movedim(-1, axis)


@on_tensors(
    "signal.deconvolve",
    arrays=("signal", "divisor"),
    host_reason=_recursive("signal", "divisor"),
    tolerance=2**14,
)
def deconvolve(signal: Any, divisor: Any) -> Any:
    """Divide polynomials: the quotient and what is left."""
    if _size(divisor) > _size(signal):
        return [], torch.atleast_1d(*parts.tensors(signal))
    signal, divisor = _lines(*parts.floats(signal, divisor))
    count = signal.shape[0] - divisor.shape[0] + 1
    impulse = torch.zeros(count, dtype=torch.float64, device=signal.device)
    impulse[0] = 1
    quotient = lfilter(signal, divisor, impulse)
    rest = signal - parts.convolved(quotient, divisor.to(quotient.dtype))
    return quotient, rest
