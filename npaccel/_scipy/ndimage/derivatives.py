"""Derivatives of `scipy.ndimage` by small windows, and by a user's function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import conversion, listing, table
from npaccel._scipy.dispatch.table import in_numpy, on_tensors
from npaccel._scipy.ndimage import _common as parts
from npaccel._scipy.ndimage import _linear as linear


@in_numpy("ndimage.prewitt", arrays=("input", "output"))
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Difference along one axis of sums along the others."""
    return _edges(np.asarray(input), axis, output, mode, cval, (1.0, 1.0, 1.0))


@in_numpy("ndimage.sobel", arrays=("input", "output"))
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Difference along one axis of weighted sums along the others."""
    return _edges(np.asarray(input), axis, output, mode, cval, (1.0, 2.0, 1.0))


def _edges(x: Any, axis: int, output: Any, mode: Any, cval: Any, across: Sequence[float]) -> Any:
    axis = parts.axis_of(axis, x.ndim)
    modes = parts.each(mode, x.ndim)
    order = [axis, *(other for other in range(x.ndim) if other != axis)]

    def filtered(real: Any, dtype: Any, value: Any) -> Any:
        for one in order:
            weights = (-1.0, 0.0, 1.0) if one == axis else across
            found = linear.known_line(real, weights, one, modes[one], value, dtype)
            real = parts.stored(found, dtype)
        return real

    return _by_parts(filtered, x, output, cval)


def _by_parts(filtered: Callable[[Any, Any, Any], Any], x: Any, output: Any, cval: Any) -> Any:
    """Filter numbers, complex ones by their parts."""
    dtype = parts.dtype_of(output, x.dtype)
    if (x.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError("output must be complex where the input is")
    if dtype.kind != "c":
        return parts.finished(filtered(parts.given(x), dtype, cval), dtype, output)
    real = np.dtype("float32") if dtype == np.complex64 else np.dtype("float64")
    a = filtered(x.real, real, complex(cval).real)
    b = filtered(x.imag, real, complex(cval).imag)
    return parts.finished(parts.joined(a, b, dtype), dtype, output)


@in_numpy("ndimage.laplace", arrays=("input", "output"))
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """Sum of the second differences."""
    x = np.asarray(input)
    chosen = parts.axes_of(axes, x.ndim)
    modes = parts.each(mode, len(chosen))

    def filtered(real: Any, dtype: Any, value: Any) -> Any:
        total = None
        for axis, one in zip(chosen, modes, strict=True):
            found = linear.known_line(real, (1.0, -2.0, 1.0), axis, one, value, dtype)
            found = parts.finished(found, dtype, None)
            if total is None:
                total = found
            else:
                total = total | found if dtype.kind == "b" else total + found
        return real if total is None else total

    return _by_parts(filtered, x, output, cval)


# -- By a user's function -------------------------------------------------------------------


def _by_axes(
    x: torch.Tensor, output: Any, derivative: Any, axes: Any, mode: Any, cval: Any, more: Any
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Call a user's function for each axis; return the array for the result, and the results."""
    kind = getattr(torch, str(parts.dtype_of(output, parts.numpy_dtype(x.dtype))))
    found = output if isinstance(output, torch.Tensor) else torch.zeros_like(x, dtype=kind)
    if found.shape != x.shape:
        raise RuntimeError("output shape not correct")
    chosen = parts.axes_of(axes, x.ndim)
    arguments, keywords = more
    function, ours = _on_tensors(derivative)
    results: list[torch.Tensor] = []
    for axis, one in zip(chosen, parts.each(mode, len(chosen)), strict=True):
        target: Any = kind if results or ours else found
        result = function(x, axis, target, one, cval, *arguments, **(keywords or {}))
        results.append(found.clone() if target is found else result)
    return found, results


def _on_tensors(function: Any) -> tuple[Any, bool]:
    """Return npaccel's form of a function of SciPy, and whether it's one."""
    from npaccel._scipy.dispatch import routes

    row = table.row_of(listing.own(function))
    return (function, False) if row is None else (routes.routed(row), True)


def _foreign(name: str) -> Callable[[dict[str, Any]], str]:
    def reason(bound: dict[str, Any]) -> str:
        function = bound[name]
        ours = table.row_of(listing.own(function)) is not None
        arrays = callable(function) and conversion.is_of_arrays(function)
        return f"`{name}` computes on NumPy's arrays" if arrays and not ours else ""

    return reason


@on_tensors("ndimage.generic_laplace", arrays=("input",), host_reason=_foreign("derivative2"))
def generic_laplace(
    input: Any,
    derivative2: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Sum of second derivatives that a function takes."""
    more = extra_arguments, extra_keywords
    found, terms = _by_axes(input, output, derivative2, axes, mode, cval, more)
    if not terms:
        return found.copy_(input)
    return found.copy_(sum(terms[1:], terms[0]))


@on_tensors(
    "ndimage.generic_gradient_magnitude", arrays=("input",), host_reason=_foreign("derivative")
)
def generic_gradient_magnitude(
    input: Any,
    derivative: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Length of a gradient that a function takes."""
    more = extra_arguments, extra_keywords
    found, terms = _by_axes(input, output, derivative, axes, mode, cval, more)
    if not terms:
        return found.copy_(input)
    squares = [term * term for term in terms]
    total = sum(squares[1:], squares[0])
    whole = not (total.is_floating_point() or total.is_complex())
    return found.copy_(torch.sqrt(total.to(torch.float64) if whole else total))
