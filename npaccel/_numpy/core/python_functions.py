"""Python's own functions of numbers, called with NumPy's scalars: `min`, `round`, `math.sqrt`.

They compute in Python's float, and raise where `numpy` gives an infinity or NaN. Compiled
code can't raise Python's error: NumPy repeats a call in which there would be one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from npaccel._numpy.core import operators
from npaccel._numpy.core.dtypes import as_tensor, cast, is_scalar, result_dtype, to_numpy, weak_type
from npaccel._numpy.host import kernels as host
from npaccel._runtime.error_translation import ELEMENTS
from npaccel._runtime.torch.symbolic_sizes import raise_unless, refuse_where

#: Below this a float is the value of an int64.
_BOUND = 2.0**63

_LN = {"log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p}
#: Functions of `math` that give floats, by what computes them in float64.
MATH: dict[Any, Callable[..., torch.Tensor]] = {
    getattr(math, name): function
    for name, function in (
        {
            **{name: getattr(torch, name) for name in (
                *("sqrt", "exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
                *("asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc", "atan2"),
                *("hypot", "fmod", "copysign", "pow"),
            )},
            **_LN,
            "fabs": torch.abs,
            "degrees": lambda x: x * (180.0 / math.pi),
            "radians": lambda x: x * (math.pi / 180.0),
        }
    ).items()
}  # fmt: skip
#: Functions that give ints.
TO_INT: dict[Any, Callable[..., torch.Tensor]] = {
    math.floor: torch.floor,
    math.ceil: torch.ceil,
    math.trunc: torch.trunc,
    int: torch.trunc,
    round: torch.round,
}
#: The functions that take two numbers.
_TWO = (math.atan2, math.hypot, math.fmod, math.copysign, math.pow)


def takes(function: Any, count: int) -> bool:
    """Whether a function is compiled for a number of arguments."""
    if function is math.log:
        return count in (1, 2)
    return count == (2 if function in _TWO else 1)


def math_function(function: Any, *operands: Any) -> torch.Tensor:
    """Return the float that a function of `math` gives, as a float64 without dimensions.

    Raises
    ------
    NotImplementedError
        If an operand isn't one real number on a CPU.
    """
    if function is math.log and len(operands) == 2:
        return math_function(math.log, operands[0]) / math_function(math.log, operands[1])
    xs = [_float(x) for x in operands]
    found = MATH[function](*xs)
    raise_unless(
        ~would_raise(found, xs),
        f"Runtime assertion failed: {ELEMENTS}math.{function.__name__} raises",
    )
    return found


def would_raise(found: torch.Tensor, xs: list[torch.Tensor]) -> torch.Tensor:
    """Return where a function of `math` may raise, from its results and operands."""
    wrong = torch.isnan(found) & ~_any(torch.isnan, xs)
    return wrong | (torch.isinf(found) & ~_any(_not_finite, xs))


def to_int(function: Any, number: Any) -> torch.Tensor:
    """Return the int that `round`, `int`, `math.floor` give, as an int64 without dimensions.

    Raises
    ------
    NotImplementedError
        If it isn't one real number on a CPU.
    """
    x = as_tensor(number)
    if not x.is_floating_point():
        _check(x)
        return cast(x, to_numpy(torch.int64))
    found = TO_INT[function](_float(x))
    fits = (found >= -_BOUND) & (found < _BOUND)
    raise_unless(fits, f"Runtime assertion failed: {ELEMENTS}the int has more than 64 bit")
    return found.to(torch.int64)


def divisor(number: Any) -> torch.Tensor:
    """Return a float of Python's to divide by, as a float64 without dimensions.

    Raises
    ------
    NotImplementedError
        If it isn't one real number on a CPU.
    """
    x = _float(number)
    refuse_where(x == 0, ZeroDivisionError("float division by zero"))
    return x


def power(base: Any, exponent: Any) -> torch.Tensor:
    """Return the float that a power of Python's numbers is, as a float64 without dimensions.

    Raises
    ------
    NotImplementedError
        If one of them isn't a real number on a CPU.
    """
    x, y = _float(base), _float(exponent)
    found = torch.pow(x, y)
    # Python raises for zero to a negative power and where floats overflow; others are complex.
    wrong = ~torch.isfinite(found) & torch.isfinite(x) & torch.isfinite(y)
    refuse_where(wrong, OverflowError("a power that is no float"))
    return found


def round_to_digits(number: Any, digits: int) -> torch.Tensor:
    """Return ``round(number, digits)`` as a float64 without dimensions.

    Raises
    ------
    NotImplementedError
        If it isn't one real number on a CPU.
    """
    return host.round_number(_float(number), digits)


def extreme(function: Any, a: Any, b: Any) -> torch.Tensor:
    """Return ``min(a, b)`` or ``max(a, b)``: the first one, unless the other is beyond it.

    Raises
    ------
    NotImplementedError
        If the type of the result depends on the values.
    """
    kinds = [x for x in (a, b) if not is_scalar(x)]
    dtype = to_numpy(kinds[0].dtype)
    fits = {"f": (int, float), "i": (int,), "u": (int,)}.get(dtype.kind, ())
    for x in (a, b):
        if is_scalar(x):
            if weak_type(x) not in fits or dtype.itemsize < 4 or result_dtype(kinds[0], x) != dtype:
                raise NotImplementedError(
                    f"whether {function.__name__}() gives the NumPy scalar or the Python number "
                    "depends on their values; call numpy.minimum or numpy.maximum"
                )
        elif to_numpy(x.dtype) != dtype or x.ndim or dtype.kind not in "bifu":
            raise NotImplementedError(f"{function.__name__}() of these types can't be compiled")
    beyond = operators.binary(operator.lt if function is min else operator.gt, b, a)
    return torch.where(beyond, as_tensor(b, dtype), as_tensor(a, dtype))


def extreme_bool(function: Any, a: Any, b: Any) -> torch.Tensor:
    """Return ``min(a, b)`` or ``max(a, b)`` of Python's bools."""
    combine = torch.logical_and if function is min else torch.logical_or
    return combine(as_tensor(a), as_tensor(b))


def extreme_of_numbers(function: Any, a: Any, b: Any) -> torch.Tensor:
    """Return ``min(a, b)`` or ``max(a, b)`` of Python's numbers, as a float64.

    Raises
    ------
    NotImplementedError
        If one of them isn't a real number on a CPU.
    """
    first, other = _float(a), _float(b)
    beyond = other < first if function is min else other > first
    return torch.where(beyond, other, first)


def extreme_of(function: Any, x: torch.Tensor) -> torch.Tensor:
    """Return ``min(x)`` or ``max(x)`` of a vector: NaN only if that comes first.

    Raises
    ------
    ValueError
        If it's empty.
    NotImplementedError
        If it isn't a vector of real numbers.
    """
    if x.ndim != 1 or x.is_complex():
        raise NotImplementedError(f"{function.__name__}() of rows compares them as a whole")
    if x.shape[0] == 0:
        raise ValueError(f"{function.__name__}() iterable argument is empty")
    worst = math.inf if function is min else -math.inf
    clean = torch.where(torch.isnan(x), worst, x) if x.is_floating_point() else x
    wide = clean.to(torch.int64) if not x.is_floating_point() and x.element_size() < 8 else clean
    if x.dtype == torch.uint64:
        raise NotImplementedError(f"{function.__name__}() of uint64 can't be compiled")
    found = (torch.amin if function is min else torch.amax)(wide, 0).to(x.dtype)
    if not x.is_floating_point():
        return found
    return torch.where(torch.isnan(x[0]), x[0], found)


def _float(x: Any) -> torch.Tensor:
    tensor = as_tensor(x)
    _check(tensor)
    return tensor.to(torch.float64)


def _check(x: torch.Tensor) -> None:
    if x.ndim or x.is_complex() or x.dtype == torch.uint64:
        raise NotImplementedError("only one real number of up to 64 bit is compiled")
    if x.device.type != "cpu":
        raise NotImplementedError("code on a GPU can't raise Python's errors")


def _any(test: Callable[[torch.Tensor], torch.Tensor], xs: list[torch.Tensor]) -> torch.Tensor:
    found = test(xs[0])
    for x in xs[1:]:
        found = found | test(x)
    return found


def _not_finite(x: torch.Tensor) -> torch.Tensor:
    return ~torch.isfinite(x)
