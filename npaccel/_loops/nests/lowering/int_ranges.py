"""Arithmetic on Python ints, which have no size, in 64 bits.

Bounds that follow from the code prove that most results fit. Where they don't,
the code tests, and Python takes over: no result is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from npaccel._loops.nests.lowering.code_builder import Code
from npaccel._loops.nests.lowering.types import (
    FLOAT64,
    MAX,
    MIN,
    TOO_LONG,
    NotSupportedError,
    One,
    Py,
    cast,
    integer,
)

#: Counting by steps of this size takes hours to leave 64 bits.
_SMALL = 2**20
#: Floats hold all ints up to here.
_EXACT = 2**53


def bounds(one: One) -> tuple[int, int]:
    """Return the bounds of a Python int."""
    assert isinstance(one.type, Py)
    return one.type.low, one.type.high


def exceeds_float(one: One) -> bool:
    """Whether a Python int may have digits that a float can't hold."""
    kind = one.type
    return isinstance(kind, Py) and kind.kind is int and max(-kind.low, kind.high) > _EXACT


def unary(code: Code, ufunc: np.ufunc, x: One, line: int) -> One:
    """Write ``-x``, ``+x`` or ``~x``."""
    low, high = bounds(x)
    if ufunc is np.positive:
        return x
    if ufunc is np.invert:
        return code.one(integer(~high, ~low), f"~{x.code}", exact=True)
    if low == MIN:
        code.bail_if(f"{x.code} == {MIN + 1} - 1", line, TOO_LONG, rare=True)
    return code.one(integer(-high, -low), f"-{x.code}", exact=True)


def absolute(code: Code, x: One, line: int) -> One:
    """Write ``abs(x)``."""
    low, high = bounds(x)
    if low >= 0:
        return x
    if low == MIN:
        code.bail_if(f"{x.code} == {MIN + 1} - 1", line, TOO_LONG, rare=True)
    return code.one(integer(max(0, -high), max(-low, high)), f"abs({x.code})", exact=True)


def binary(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    """Write an operator on two Python ints."""
    if symbol == "/":
        return _divide(code, x, y, line)
    if symbol in ("//", "%"):
        return _floor(code, symbol, x, y, line)
    if symbol in ("<<", ">>", "**"):
        return _exponent(code, symbol, x, y, line)
    if symbol in "&|^":
        return code.one(_bitwise(symbol, x, y), f"{x.code} {symbol} {y.code}", exact=True)
    results = _corners(_ARITHMETIC[symbol], bounds(x), bounds(y))
    names = {"+": "add", "-": "subtract", "*": "multiply"}
    if not _fits(results):
        rare = symbol != "*" and (_is_small(x) or _is_small(y))
        test = f"_{names[symbol]}_overflows({x.code}, {y.code})"
        code.bail_if(test, line, TOO_LONG, rare=rare)
    return code.one(integer(min(results), max(results)), f"{x.code} {symbol} {y.code}", exact=True)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _corners(
    function: Callable[[int, int], int], a: tuple[int, int], b: tuple[int, int]
) -> list[int]:
    return [function(p, q) for p in a for q in b]


def _fits(results: Iterable[int]) -> bool:
    return all(MIN <= result <= MAX for result in results)


def _is_small(one: One) -> bool:
    low, high = bounds(one)
    return low >= -_SMALL and high <= _SMALL


def _divide(code: Code, x: One, y: One, line: int) -> One:
    code.fail_if(f"{y.code} == 0", line, "zero", ("/", "int"))
    for one in (x, y):
        if exceeds_float(one):
            test = f"not {-_EXACT} <= {one.code} <= {_EXACT}"
            code.bail_if(test, line, "a quotient of ints of more than 53 bits")
    return code.one(Py(float), f"{cast(x.code, FLOAT64)} / {cast(y.code, FLOAT64)}", exact=True)


def _floor(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    (low, high), (least, most) = bounds(x), bounds(y)
    if least <= 0 <= most:
        code.fail_if(f"{y.code} == 0", line, "zero", (symbol, "int"))
    if symbol == "//":
        if low == MIN and least <= -1 <= most:
            test = f"{x.code} == {MIN + 1} - 1 and {y.code} == -1"
            code.bail_if(test, line, TOO_LONG, rare=True)
        largest = max(-low, high)
        result = integer(0 if low >= 0 and least > 0 else -largest - 1, largest)
        return code.one(result, f"_floor_divide_int({x.code}, {y.code})", exact=True)
    result = integer(min(least + 1, 0), max(most - 1, 0))
    if low >= 0 and least > 0:
        result = integer(0, min(high, most - 1))
    return code.one(result, f"_remainder_int({x.code}, {y.code})", exact=True)


def _bitwise(symbol: str, x: One, y: One) -> Py:
    (low, high), (least, most) = bounds(x), bounds(y)
    if symbol == "&" and (low >= 0 or least >= 0):
        return integer(0, min(high if low >= 0 else MAX, most if least >= 0 else MAX))
    bits = max(number.bit_length() for number in (low, high, least, most))
    return integer(0 if low >= 0 and least >= 0 else -(2**bits), 2**bits - 1)


def _exponent(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    least, most = bounds(y)
    if symbol == "**" and least < 0:
        raise NotSupportedError(
            "`**` of Python ints with an exponent that may be negative: the result "
            "is an int or a float",
            line,
        )
    if least < 0:
        code.fail_if(f"{y.code} < 0", line, "shift", symbol)
        least = 0
    if symbol == ">>":
        shifts = (least, min(most, 64))
        results = _corners(lambda a, b: a >> b, bounds(x), shifts)
        return code.one(
            integer(min(results), max(results)), f"_right_shift({x.code}, {y.code}, 64)", exact=True
        )
    return _growing(code, symbol, x, y, line)


def _growing(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    """Write ``<<`` or ``**`` with an exponent that isn't negative."""
    (low, high), (least, most) = bounds(x), bounds(y)
    name, text = (
        ("left_shift", "{} << {}") if symbol == "<<" else ("power", "_power_int({}, _uint64({}))")
    )
    kind = integer(0 if low >= 0 else MIN, MAX)
    proven = False
    if most <= 64:
        results = _corners(_GROWING[symbol], (low, high), (max(least, 0), max(most, 0)))
        largest = max(map(abs, results))
        proven = largest <= MAX
        if proven:
            kind = integer(0 if low >= 0 else -largest, largest)
    if not proven:
        code.bail_if(f"_{name}_overflows({x.code}, {y.code})", line, TOO_LONG)
    return code.one(kind, text.format(x.code, y.code), exact=True)


_GROWING: dict[str, Callable[[int, int], int]] = {
    "<<": lambda a, b: a << b,
    "**": lambda a, b: a**b,
}
