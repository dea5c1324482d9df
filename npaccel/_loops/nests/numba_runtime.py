"""Arithmetic for compiled nests, as NumPy or Python does it where Numba's differs.

Imported only when a nest is compiled, because it imports Numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from npaccel._loops.nests.ordered_bits import of_ordered_bits, ordered_bits

#: No fastmath; divisions by zero are checked where Python's operators need it.
#: Subscripts are checked by the nest itself, which Numba would do again.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "boundscheck": False,
    "cache": False,
}


def _multiply_overflows(typing_context: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """Whether the product of two int64 needs more than 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        pair = builder.smul_with_overflow(*arguments)
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64), generate


multiply_overflows: Callable[..., Any] = intrinsic(_multiply_overflows)


def add_overflows(a: Any, b: Any) -> Any:
    """Whether the sum of two int64 needs more than 64 bits."""
    total = a + b
    return ((a ^ total) & (b ^ total)) < 0


def subtract_overflows(a: Any, b: Any) -> Any:
    """Whether the difference of two int64 needs more than 64 bits."""
    difference = a - b
    return ((a ^ b) & (a ^ difference)) < 0


def left_shift_overflows(a: Any, b: Any) -> Any:
    """Whether ``a << b`` needs more than 64 bits, for b >= 0."""
    if a == 0:
        return False
    return b > 62 or ((a << b) >> b) != a


def power_overflows(a: Any, b: Any) -> Any:
    """Whether ``a ** b`` needs more than 64 bits, for b >= 0."""
    if -1 <= a <= 1:
        return False
    result = np.int64(1)
    for _ in range(b):
        if multiply_overflows(result, a):
            return True
        result = result * a
    return False


def at(index: Any, size: Any) -> Any:
    """Return an index counted from the start, or -1 if it is out of bounds."""
    found = index + size if index < 0 else index
    return found if 0 <= found < size else np.int64(-1)


def fail(record: Any, site: Any, first: Any, second: Any) -> None:
    """Record where code failed, and two ints."""
    record[0] = site
    record[1] = first
    record[2] = second


def fail_floats(record: Any, floats: Any, site: Any, first: Any, second: Any) -> None:
    """Record where code failed, and two floats."""
    record[0] = site
    floats[1] = first
    floats[2] = second


def range_size(start: Any, stop: Any, step: Any) -> Any:
    """Return the length of a range."""
    if step > 0:
        return (stop - start + step - 1) // step if stop > start else np.int64(0)
    return (start - stop - step - 1) // -step if stop < start else np.int64(0)


_size = numba.njit(**OPTIONS)(range_size)


def some_iterations(record: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return where a range of iterations starts and stops, as far as they are asked for.

    ``record[3]`` asks for all of them (0), for the first sixteenth (1), or for those from
    ``record[4]`` to ``record[5]`` (2). Where those that are left then start, their stop and step
    are noted in ``record[4:7]``, and how many were taken in ``record[7]``.
    """
    asked, first, end = record[3], record[4], record[5]
    if asked != 2:
        size = _size(start, stop, step)
        taken = size if asked == 0 else (size + 15) // 16
        first = start
        end = stop if taken == size else start + taken * step
        record[7] = taken
    record[4], record[5], record[6] = end, stop, step
    if step == 1:  # So that indices can be seen to be within the bounds.
        return max(first, start), min(end, stop)
    return first, end


def floor_divide_int(a: Any, b: Any) -> Any:
    """``a // b`` rounded down; 0 for b = 0, and wrapped for the least number by -1."""
    if b == 0:
        return a - a
    if b == -1:
        return -a
    return a // b


def floor_divide_unsigned(a: Any, b: Any) -> Any:
    """``a // b`` of unsigned numbers; 0 for b = 0."""
    return a - a if b == 0 else a // b


def remainder_int(a: Any, b: Any) -> Any:
    """``a % b`` with the sign of b; 0 for b = 0."""
    return a - a if b in (0, -1) else a % b


def remainder_unsigned(a: Any, b: Any) -> Any:
    """``a % b`` of unsigned numbers; 0 for b = 0."""
    return a - a if b == 0 else a % b


def remainder_float(a: Any, b: Any) -> Any:
    """``a % b``, exactly, with the sign of b."""
    rest = np.fmod(a, b)
    if b == 0:
        return rest
    if rest == 0:
        return math.copysign(rest, b)
    return rest + b if (b < 0) != (rest < 0) else rest


def floor_divide_float(a: Any, b: Any) -> Any:
    """``a // b``, from the exact remainder."""
    if b == 0:
        return a / b
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        quotient -= 1
    if quotient == 0:
        return math.copysign(quotient, a / b)
    whole = np.floor(quotient)
    return whole + 1 if quotient - whole > 0.5 else whole


def power_int(a: Any, b: Any) -> Any:
    """``a ** b`` of an int64 and a uint64, wrapped."""
    result = np.int64(1)
    while b != np.uint64(0):
        if b & np.uint64(1) != np.uint64(0):
            result = result * a
        a = a * a
        b = b >> np.uint64(1)
    return result


def float_to_uint64(a: Any) -> Any:
    """Cast as x86 processors do for C; what is out of range is up to the machine."""
    half = 9223372036854775808.0
    if a >= half:
        return np.uint64(np.int64(a - half)) ^ np.uint64(9223372036854775808)
    return np.uint64(np.int64(a))


def left_shift(a: Any, b: Any, bits: Any) -> Any:
    """``a << b``; 0 if b isn't below the number of bits."""
    return a << b if 0 <= b < bits else a - a


def right_shift(a: Any, b: Any, bits: Any) -> Any:
    """``a >> b``; 0 or -1 if b isn't below the number of bits."""
    if 0 <= b < bits:
        return a >> b
    return a >> (bits - 1)


def right_shift_unsigned(a: Any, b: Any, bits: Any) -> Any:
    """``a >> b`` of unsigned numbers; 0 if b isn't below the number of bits."""
    return a >> b if b < bits else a - a


def compare_int_float(a: Any, b: Any) -> Any:
    """Return -1, 0 or 1 as an int64 is below, at or above a float; 2 for NaN. Exact."""
    if b != b:  # noqa: PLR0124
        return 2
    if b >= 9223372036854775808.0:
        return -1
    if b < -9223372036854775808.0:
        return 1
    whole = np.int64(b)
    if a != whole:
        return -1 if a < whole else 1
    rest = b - np.float64(whole)
    return -1 if rest > 0 else (1 if rest < 0 else 0)


def minimum(a: Any, b: Any) -> Any:
    """The lesser of two floats, or NaN."""
    return a if a < b or a != a else b  # noqa: PLR0124


def maximum(a: Any, b: Any) -> Any:
    """The greater of two floats, or NaN."""
    return a if a > b or a != a else b  # noqa: PLR0124


def fmin(a: Any, b: Any) -> Any:
    """The lesser of two floats; NaN only if both are."""
    return a if a < b or b != b else b  # noqa: PLR0124


def fmax(a: Any, b: Any) -> Any:
    """The greater of two floats; NaN only if both are."""
    return a if a > b or b != b else b  # noqa: PLR0124


def fmod_int(a: Any, b: Any) -> Any:
    """The remainder with the sign of a; 0 for b = 0."""
    if b in (0, -1):
        return a - a
    rest = a % b
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest


def divide_complex_numpy(a: Any, b: Any) -> Any:
    """``a / b`` in the steps that NumPy takes."""
    if abs(b.real) >= abs(b.imag):
        if b.real == 0 and b.imag == 0:
            return complex(a.real / abs(b.real), a.imag / abs(b.real))
        ratio = b.imag / b.real
        scale = 1.0 / (b.real + b.imag * ratio)
        return complex((a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale)
    ratio = b.real / b.imag
    scale = 1.0 / (b.imag + b.real * ratio)
    return complex((a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale)


def divide_complex_python(a: Any, b: Any) -> Any:
    """``a / b`` in the steps that Python takes, for b != 0."""
    if abs(b.real) >= abs(b.imag):
        ratio = b.imag / b.real
        divisor = b.real + b.imag * ratio
        return complex((a.real + a.imag * ratio) / divisor, (a.imag - a.real * ratio) / divisor)
    if abs(b.imag) >= abs(b.real):
        ratio = b.real / b.imag
        divisor = b.real * ratio + b.imag
        return complex((a.real * ratio + a.imag) / divisor, (a.imag * ratio - a.real) / divisor)
    return complex(np.nan, np.nan)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(add_overflows, subtract_overflows, left_shift_overflows, power_overflows),
    *(at, fail, fail_floats, range_size, some_iterations),
    *(floor_divide_int, floor_divide_unsigned, remainder_int, remainder_unsigned),
    *(
        remainder_float,
        floor_divide_float,
        power_int,
        float_to_uint64,
        left_shift,
        right_shift,
        right_shift_unsigned,
    ),
    *(compare_int_float, minimum, maximum, fmin, fmax, fmod_int),
    *(divide_complex_numpy, divide_complex_python),
    *(ordered_bits, of_ordered_bits),
)

#: The names that the code of a nest can use.
NAMES: dict[str, Any] = {
    "np": np,
    "math": math,
    "_nan": math.nan,
    "_inf": math.inf,
    "_multiply_overflows": multiply_overflows,
    **{f"_{function.__name__}": numba.njit(**OPTIONS)(function) for function in _FUNCTIONS},
    **{
        f"_{name}": getattr(np, name)
        for name in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float32", "float64", "complex64", "complex128"),
        )
    },
}
