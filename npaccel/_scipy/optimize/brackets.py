"""Roots in brackets, many at once: SciPy's steps, each element its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch.arguments import common_dtype
from npaccel._scipy.dispatch.checks import OwnError
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.optimize._objectives import read

Tensor = Any

_XTOL = 2e-12
_RTOL = 4 * float(np.finfo(float).eps)


def _one(bound: dict[str, Any]) -> str:
    ends = [bound[name] for name in ("a", "b")]
    many = any(isinstance(end, torch.Tensor) and end.ndim for end in ends)
    return "" if many else "one number at a time"


def _start(f: Any, a: Any, b: Any, args: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return both ends and the values there.

    Raises
    ------
    ValueError
        If some have the same sign, or one is NaN.
    """
    a, b = torch.broadcast_tensors(*(torch.as_tensor(end) for end in (a, b)))
    dtype = common_dtype(a, b)
    is_float = dtype.is_floating_point
    dtype = torch.promote_types(dtype, torch.float32) if is_float else torch.float64
    a, b = a.to(dtype), b.to(dtype)
    values = [_value(f, end, args) for end in (a, b)]
    same = torch.signbit(values[0]) == torch.signbit(values[1])
    same = same & (values[0] != 0) & (values[1] != 0)
    unknown = torch.isnan(values[0]) | torch.isnan(values[1])
    some_unknown, some_same = read(unknown.any(), same.any())
    if some_unknown:
        raise OwnError(ValueError("The function value is NaN at an end; the solver can't go on."))
    if some_same:
        raise OwnError(ValueError("f(a) and f(b) must have different signs"))
    return a, b, values[0], values[1]


def _value(f: Any, x: Tensor, args: Any) -> Tensor:
    found = f(x, *args)
    if found.shape != x.shape:
        raise OwnError(
            ValueError(
                f"the function gives {tuple(found.shape)} for brackets of {tuple(x.shape)}: each "
                "element is a root of its own"
            )
        )
    return found.to(x.dtype)


def _checked(args: Any, xtol: float, rtol: float, maxiter: int) -> tuple[tuple[Any, ...], int]:
    if xtol <= 0:
        raise OwnError(ValueError(f"xtol too small ({xtol:g} <= 0)"))
    if rtol < _RTOL:
        raise OwnError(ValueError(f"rtol too small ({rtol:g} < {_RTOL:g})"))
    most = operator.index(maxiter)
    if most < 0:
        raise OwnError(ValueError("maxiter must be >= 0"))
    return (args if isinstance(args, tuple) else (args,)), most


def _ended(
    method: str, x: Tensor, iterations: Tensor, calls: Tensor, done: Tensor, full: bool, disp: bool
) -> Any:
    from scipy.optimize import RootResults

    (all_done,) = read(done.all())
    if disp and not all_done:
        most = int(iterations.max())
        raise OwnError(RuntimeError(f"Failed to converge after {most} iterations."))
    if not full:
        return x
    return x, RootResults(
        root=x,
        iterations=iterations,
        function_calls=calls,
        flag=0 if all_done else -2,
        method=method,
    )


#: Takes the last point, the one before and the one across the root, with the values there, and
#: returns a step from the last.
Step = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
#: The roots, the iterations, the calls, and which have converged.
Found = tuple[Tensor, Tensor, Tensor, Tensor]
#: Takes the function, both ends with its values there, the tolerances and how often to go on.
Steps = Callable[[Any, Any, float, float, int], Found]


def _slopes(x: Tensor, fx: Tensor, p: Tensor, fp: Tensor, c: Tensor, fc: Tensor) -> Any:
    return (fp - fx) / (p - x), (fc - fx) / (c - x)


def _quadratic(x: Tensor, fx: Tensor, p: Tensor, fp: Tensor, c: Tensor, fc: Tensor) -> Tensor:
    """Inverse quadratic extrapolation: R. P. Brent (1973), chapter 4."""
    before, across = _slopes(x, fx, p, fp, c, fc)
    return -fx * (fc * across - fp * before) / (across * before * (fc - fp))


def _hyperbolic(x: Tensor, fx: Tensor, p: Tensor, fp: Tensor, c: Tensor, fc: Tensor) -> Tensor:
    """Hyperbolic extrapolation: Bus and Dekker (1975)."""
    before, across = _slopes(x, fx, p, fp, c, fc)
    return -fx * (fc - fp) / (fc * before - fp * across)


def _turned(where: Tensor, before: Tensor, last: Tensor, across: Tensor) -> tuple[Tensor, ...]:
    """Make the point across the last one, which then is the one before and across."""
    return (
        torch.where(where, last, before),
        torch.where(where, across, last),
        torch.where(where, last, across),
    )


def _by_brent(extrapolated: Step) -> Steps:
    """Return Brent's method with a rule of extrapolation."""

    def steps(value: Any, ends: Any, xtol: float, rtol: float, most: int) -> Found:
        p, x, fp, fx = ends
        at_a, done = fp == 0, (fp == 0) | (fx == 0)
        x = torch.where(at_a, p, x)
        c, fc = torch.zeros_like(x), torch.zeros_like(x)
        longer, step = torch.zeros_like(x), torch.zeros_like(x)
        iterations = torch.zeros_like(x, dtype=torch.int64)
        calls = torch.full_like(iterations, 2)
        for _ in range(most):
            if read(done.all())[0]:
                break
            iterations = iterations + ~done
            # The other end of the bracket is the last point of the other sign.
            crossed = (fp != 0) & (fx != 0) & (torch.signbit(fp) != torch.signbit(fx))
            c, fc = torch.where(crossed, p, c), torch.where(crossed, fp, fc)
            width = x - p
            longer, step = torch.where(crossed, width, longer), torch.where(crossed, width, step)
            # The last point is the better one.
            turned = (fc.abs() < fx.abs()) & ~done
            p, x, c = _turned(turned, p, x, c)
            fp, fx, fc = _turned(turned, fp, fx, fc)
            delta = (xtol + rtol * x.abs()) / 2
            half = (c - x) / 2
            done = done | (fx == 0) | (half.abs() < delta)
            tried = torch.where(
                p == c, -fx * (x - p) / (fx - fp), extrapolated(x, fx, p, fp, c, fc)
            )
            short = torch.minimum(longer.abs(), 3 * half.abs() - delta)
            good = (longer.abs() > delta) & (fx.abs() < fp.abs()) & (2 * tried.abs() < short)
            longer, step = torch.where(good, step, half), torch.where(good, tried, half)
            p, fp = torch.where(done, p, x), torch.where(done, fp, fx)
            least = torch.where(half > 0, delta, -delta)
            x = torch.where(done, x, x + torch.where(step.abs() > delta, step, least))
            fx = torch.where(done, fx, value(x))
            calls = calls + ~done
        return x, iterations, calls, done

    return steps


def _by_halves(value: Any, ends: Any, xtol: float, rtol: float, most: int) -> Found:
    """Halve each bracket."""
    low, high, first, other = ends
    found = torch.where(first == 0, low, high)
    done = (first == 0) | (other == 0)
    width = high - low
    iterations = torch.zeros_like(low, dtype=torch.int64)
    calls = torch.full_like(iterations, 2)
    for _ in range(most):
        if read(done.all())[0]:
            break
        iterations = iterations + ~done
        width = width * 0.5
        middle = low + width
        there = value(middle)
        calls = calls + ~done
        low = torch.where(torch.signbit(there) == torch.signbit(first), middle, low)
        found = torch.where(done, found, middle)
        done = done | (there == 0) | (width.abs() < xtol + rtol * middle.abs())
    return torch.where(done, found, low), iterations, calls, done


def _declare(method: str, steps: Steps) -> None:
    def function(
        f: Any,
        a: Any,
        b: Any,
        args: Any = (),
        xtol: float = _XTOL,
        rtol: float = _RTOL,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        """Find a root in each bracket."""
        args, most = _checked(args, xtol, rtol, maxiter)
        ends = _start(f, a, b, args)
        found = steps(lambda x: _value(f, x, args), ends, xtol, rtol, most)
        return _ended(method, *found, full_output, disp)

    function.__name__ = method
    on_tensors(f"optimize.{method}", arrays=("a", "b"), host_reason=_one)(function)


_declare("brentq", _by_brent(_quadratic))
_declare("brenth", _by_brent(_hyperbolic))
_declare("bisect", _by_halves)
