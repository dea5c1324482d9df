"""Evaluation in numpy.polynomial: power, Chebyshev, Legendre, Hermite and Laguerre series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from npaccel._numpy.core.axes import call
from npaccel._numpy.core.dtypes import (
    BOOL,
    FLOAT64,
    DType,
    as_dtype,
    as_tensor,
    cast,
    dtype_of,
    is_scalar,
    narrow,
    to_numpy,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import polynomials as host_series
from npaccel._numpy.host.registration import usable
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._runtime.torch.symbolic_sizes import depends_on_data, surely

Value = Callable[..., torch.Tensor]
#: One step of Clenshaw's recurrence: (coefficient, c0, c1, x, degree) -> new (c0, c1).
Step = Callable[[Any, Any, Any, Any, int], tuple[Any, Any]]
#: The sum at the end: (c0, c1, x) -> value.
Last = Callable[[Any, Any, Any], Any]

#: Maximum number of steps with each point that are unrolled: a second's work for the compiler.
UNROLLED = 64


def _dtype(prefix: str, c: torch.Tensor, x: Any) -> DType:
    own = to_numpy(c.dtype)
    wide = own if own.kind in "fc" else FLOAT64
    other = dtype_of(x)
    if other == BOOL:  # Most recurrences make integers of bools before they meet a coefficient.
        if depends_on_data(c.shape[0]):
            raise NotImplementedError("the dtype of values at bools depends on the series' length")
        value, few = getattr(MODULES[prefix], f"{prefix}val"), 3 if c.shape[0] > 2 else len(c)
        wide = as_dtype(value(np.ones(1, bool), np.ones(few, wide)).dtype)
    weak = other if isinstance(other, np.dtype) else other(0)
    return narrow(as_dtype(np.result_type(wide, weak)), [own, other])


def _prepared(prefix: str, x: Any, c: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the points in the result's dtype, and the coefficients."""
    coefficients = as_tensor(c)
    coefficients = coefficients.reshape(1) if coefficients.ndim == 0 else coefficients
    dtype = _dtype(prefix, coefficients, x)
    at = as_tensor(x, dtype)
    # The coefficients keep their precision until they meet x, as NumPy's do.
    if not (coefficients.dtype.is_floating_point or coefficients.is_complex()):
        coefficients = cast(coefficients, narrow(FLOAT64, [to_numpy(coefficients.dtype)]))
    return at, coefficients


def many(count: Any, *operands: torch.Tensor, unrolled: int = UNROLLED) -> bool:
    """Whether there are so many coefficients that NumPy's own loop over them is called.

    Parameters
    ----------
    count : int or torch.SymInt
        The steps of the loop.
    *operands : tensor
    unrolled : int
        Maximum number of steps that are unrolled.
    """
    return usable(*operands) and not surely(count <= unrolled)


def name_of(prefix: str, pattern: str) -> str:
    """Return the name of a function of `numpy.polynomial`, behind the package's."""
    return f"{MODULES[prefix].__name__.rpartition('.')[2]}.{pattern.format(p=prefix)}"


def _parts(c: torch.Tensor, x: Any, at: torch.Tensor, tensor: bool) -> list[torch.Tensor]:
    """Return coefficients one by one, lowest degree first, in a form that fits the points."""
    if tensor and not is_scalar(x):
        c = c.reshape([*c.shape, *([1] * at.ndim)])
    return list(c.unbind(0))


def clenshaw(step: Step, last: Last, parts: Sequence[Any], zero: Any, at: Any) -> Any:
    """Sum a series by Clenshaw's recurrence.

    Parameters
    ----------
    step, last : callable
        One step, and the sum at the end.
    parts : sequence
        The coefficients, lowest degree first: tensors, or what else adds up.
    zero : object
        Zero, as a coefficient.
    at : object
        The points, or what stands for x.
    """
    c0, c1 = (parts[0], zero) if len(parts) == 1 else (parts[-2], parts[-1])
    degree = len(parts)
    for coefficient in reversed(parts[:-2]):
        degree -= 1
        c0, c1 = step(coefficient, c0, c1, at, degree)
    return last(c0, c1, at)


class _Uncast:
    """Points of a narrower dtype: what Python's ints do to them, they do in that dtype.

    NumPy's recurrences compute ``2 * x`` or ``1 - x`` so, which wraps for integers and rounds for
    floats.
    """

    def __init__(self, x: torch.Tensor, at: torch.Tensor) -> None:
        self._x, self._at = x, at

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            return cast(call(np.multiply, self._x, other), to_numpy(self._at.dtype))
        return other * self._at

    __rmul__ = __mul__

    def __rsub__(self, other: int) -> torch.Tensor:
        return cast(call(np.subtract, other, self._x), to_numpy(self._at.dtype))


def _value(prefix: str) -> Value:
    """Make the evaluation of a family's series."""

    def value(x: Any, c: Any, tensor: bool = True) -> torch.Tensor:
        """Evaluate a series by NumPy's recurrence."""
        at, coefficients = _prepared(prefix, x, c)
        is_cast = isinstance(x, torch.Tensor) and x.dtype != at.dtype
        if many(coefficients.shape[0], coefficients, at):
            name, points = name_of(prefix, "{p}val"), x if is_cast else at
            own = str(to_numpy(at.dtype))
            return host_series.series(name, coefficients, points, tensor and not is_scalar(x), own)
        parts = _parts(coefficients, x, at, tensor)
        if prefix == "poly":
            return _power(parts, at)
        points = _Uncast(x, at) if is_cast else at
        step, last = RECURRENCES[prefix]
        return clenshaw(step, last, parts, torch.zeros_like(parts[0]), points)  # type: ignore[no-any-return]

    return value


def _power(parts: list[torch.Tensor], at: torch.Tensor) -> torch.Tensor:
    """Evaluate a power series by Horner's rule."""
    found = parts[-1] + at * 0
    for coefficient in reversed(parts[:-1]):
        found = coefficient + found * at
    return found


def _one_more(c0: Any, c1: Any, x: Any) -> Any:
    return c0 + c1 * x


#: Steps of the recurrence, and the sums at the end, by prefix.
RECURRENCES: dict[str, tuple[Step, Last]] = {
    "cheb": (lambda c, c0, c1, x, _: (c - c1, c0 + c1 * (2 * x)), _one_more),
    "leg": (
        lambda c, c0, c1, x, n: (c - c1 * ((n - 1) / n), c0 + c1 * x * ((2 * n - 1) / n)),
        _one_more,
    ),
    "herm": (
        lambda c, c0, c1, x, n: (c - c1 * (2 * (n - 1)), c0 + c1 * (x * 2)),
        lambda c0, c1, x: c0 + c1 * (x * 2),
    ),
    "herme": (lambda c, c0, c1, x, n: (c - c1 * (n - 1), c0 + c1 * x), _one_more),
    "lag": (
        lambda c, c0, c1, x, n: (c - (c1 * (n - 1)) / n, c0 + (c1 * ((2 * n - 1) - x)) / n),
        lambda c0, c1, x: c0 + c1 * (1 - x),
    ),
}
#: The modules of numpy.polynomial by the prefix of their functions.
MODULES = {
    "poly": polynomial,
    "cheb": chebyshev,
    "leg": legendre,
    "herm": hermite,
    "herme": hermite_e,
    "lag": laguerre,
}
#: The values of a series, by prefix.
VALUES: dict[str, Value] = {prefix: _value(prefix) for prefix in MODULES}


def _check_points(points: tuple[Any, ...]) -> list[torch.Tensor]:
    found = [as_tensor(x) for x in points]
    if any(tuple(x.shape) != tuple(found[0].shape) for x in found[1:]):
        names = ", ".join("xyz"[: len(points)]) if len(points) < 4 else "ordinates"
        raise ValueError(f"{names} are incompatible")
    return found


def _at_points(value: Value) -> Callable[..., torch.Tensor]:
    def evaluate(points: tuple[Any, ...], c: Any) -> torch.Tensor:
        first, *others = _check_points(points)
        found = value(first, c)
        for x in others:
            found = value(x, found, tensor=False)
        return found

    return evaluate


def _on_grid(value: Value) -> Callable[..., torch.Tensor]:
    def evaluate(points: tuple[Any, ...], c: Any) -> torch.Tensor:
        for x in points:
            c = value(x, c)
        return c  # type: ignore[no-any-return]

    return evaluate


def _declare(module: Any, prefix: str, value: Value) -> None:
    """Enter a family: at points in any number of dimensions, and on grids in 2 and 3."""
    points, grid = _at_points(value), _on_grid(value)
    family: dict[str, Value] = {
        "val": value,
        "val2d": lambda x, y, c: points((x, y), c),
        "val3d": lambda x, y, z, c: points((x, y, z), c),
        "valnd": lambda pts, c: points(tuple(pts), c),  # Since NumPy 2.5.
        "grid2d": lambda x, y, c: grid((x, y), c),
        "grid3d": lambda x, y, z, c: grid((x, y, z), c),
    }
    for suffix, function in family.items():
        name = prefix + suffix
        if not hasattr(module, name):
            continue
        # The name under which a printed graph can be imported.
        globals()[name] = implements(getattr(module, name), zero_d="scalar")(
            named(function, name, __name__)
        )


for _prefix, _module in MODULES.items():
    _declare(_module, _prefix, VALUES[_prefix])
