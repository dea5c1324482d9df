"""Functions that can be called on numbers in a loop nest: builtins, `math`, NumPy's.

Each takes single types and writes code; `FUNCTIONS` says which object is which.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from npaccel._loops.nests.lowering import int_ranges
from npaccel._loops.nests.lowering.code_builder import Code
from npaccel._loops.nests.lowering.operators import (
    apply,
    as_int,
    binary,
    number,
    store,
    to_float,
    to_int,
    truth,
)
from npaccel._loops.nests.lowering.types import (
    BOOL,
    COMPLEX128,
    DTYPES,
    FLOAT32,
    FLOAT64,
    MAX,
    NP_BOOL,
    PY_BOOL,
    NotSupportedError,
    Np,
    One,
    Py,
    Value,
    cast,
    constant,
    integer,
)
from npaccel._loops.nests.ordered_bits import of_ordered_bits, ordered_bits

#: Takes the code, the line and numbers of one type each.
Function: TypeAlias = Callable[..., One]


def find(target: Any) -> Function | None:
    """Return what writes a call of a builtin or a library's function; None if nothing does."""
    if isinstance(target, np.ufunc):
        return _ufunc(target) if target.nout == 1 else None
    if isinstance(target, type) and issubclass(target, np.generic):
        dtype = np.dtype(target)
        return _scalar_type(dtype) if dtype in DTYPES else None
    try:
        return FUNCTIONS.get(target)
    except TypeError:  # not hashable
        return None


def of_long_int(target: Any, arguments: Sequence[ast.expr]) -> Value | None:
    """Return what ``np.uint64(2**63)`` makes, of an int that compiled code has no type of.

    None if a call isn't of that kind.
    """
    is_type = isinstance(target, type) and issubclass(target, np.generic)
    if not is_type or len(arguments) != 1 or np.dtype(target) not in DTYPES:
        return None
    number = getattr(arguments[0], "value", None)
    if type(number) is not int or number <= MAX:
        return None
    try:
        return constant(target(number))
    except OverflowError:  # NumPy raises as well.
        return None


def _ufunc(ufunc: np.ufunc) -> Function:
    def write(code: Code, line: int, *operands: One) -> One:
        if len(operands) != ufunc.nin:
            raise NotSupportedError(f"numpy.{ufunc.__name__} with `out`", line)
        return apply(code, ufunc, operands, line)

    return write


def _scalar_type(dtype: np.dtype[Any]) -> Function:
    def write(code: Code, line: int, x: One) -> One:
        if dtype == BOOL:
            return code.one(NP_BOOL, truth(x, line))
        return store(code, x, dtype, line, "construct")

    return write


def _abs(code: Code, line: int, x: One) -> One:
    kind = number(x, line)
    if isinstance(kind, Np):
        return apply(code, np.absolute, (x,), line)
    if kind.kind is complex:
        result = code.one(Py(float), f"math.hypot({x.code}.real, {x.code}.imag)")
        finite = f"abs({x.code}.real) < _inf and abs({x.code}.imag) < _inf"
        code.fail_if(f"abs({result.code}) == _inf and {finite}", line, "abs")
        return result
    if kind.kind is float:
        return code.one(kind, f"abs({x.code})", exact=True)
    return int_ranges.absolute(code, as_int(x), line)


def _bool(code: Code, line: int, x: One) -> One:
    return code.one(PY_BOOL, truth(x, line))


def _complex(code: Code, line: int, x: One, y: One | None = None) -> One:
    if number(x, line).storage.kind == "c":
        if y is not None:
            raise NotSupportedError("`complex` of a complex number and another", line)
        return One(Py(complex), cast(x.code, COMPLEX128))
    real, imaginary = (to_float(o, line).code if o else "0.0" for o in (x, y))
    return code.one(Py(complex), f"complex({real}, {imaginary})")


def _round(code: Code, line: int, x: One) -> One:
    if number(x, line) == NP_BOOL:
        raise NotSupportedError("`round` of a numpy.bool", line)
    return to_int(code, x, line, "np.rint({})")


def _divmod_part(ufunc: np.ufunc) -> Function:
    return lambda code, line, x, y: binary(code, ufunc, x, y, line)


DIVMOD = (_divmod_part(np.floor_divide), _divmod_part(np.remainder))


def _numpy_round(code: Code, line: int, x: One) -> One:
    kind = number(x, line)
    if kind.storage.kind in "iu":
        return One(Np(kind.storage), x.code)
    if kind.storage.kind != "f":
        raise NotSupportedError(f"numpy.round of {kind}", line)
    return apply(code, np.rint, (x,), line)


# math


def _domain(name: str) -> Function:
    """Return what writes a function of `math`, with the errors that it raises."""

    def write(code: Code, line: int, *operands: One) -> One:
        values = [One(Py(float), code.temporary(to_float(o, line).code)) for o in operands]
        codes = [value.code for value in values]
        module = "np" if name == "fmod" else "math"
        result = code.one(Py(float), f"{module}.{name}({', '.join(codes)})").code
        known = " and ".join(f"{c} == {c}" for c in codes)
        finite = " and ".join(f"abs({c}) < _inf" for c in codes)
        test = f"({result} != {result} and {known}) or (abs({result}) == _inf and {finite})"
        code.fail_if(test, line, "math", name, *values)
        return One(Py(float), result)

    return write


def _plain(text: str, kind: Py = Py(float)) -> Function:  # noqa: B008
    """Return what writes a function of `math` that doesn't raise."""

    def write(code: Code, line: int, *operands: One) -> One:
        return code.one(kind, text.format(*(to_float(o, line).code for o in operands)))

    return write


def _whole(rounding: str) -> Function:
    def write(code: Code, line: int, x: One) -> One:
        kind = number(x, line)
        if isinstance(kind, Np):
            x = to_float(x, line)
        return to_int(code, x, line, rounding)

    return write


def _gcd(code: Code, line: int, x: One, y: One) -> One:
    kinds = [number(o, line).storage for o in (x, y)]
    if any(kind.kind == "f" or kind == np.uint64 for kind in kinds):
        raise NotSupportedError("`math.gcd` of these types", line)
    first, second = (to_int(code, o, line) for o in (x, y))
    high = max(max(-low, high) for low, high in map(int_ranges.bounds, (first, second)))
    return code.one(integer(0, high), f"math.gcd({first.code}, {second.code})")


def _log(code: Code, line: int, x: One, base: One | None = None) -> One:
    top = _domain("log")(code, line, x)
    if base is None:
        return top
    return binary(code, np.true_divide, top, _domain("log")(code, line, base), line)


FUNCTIONS: dict[Any, Function] = {
    builtins.abs: _abs,
    builtins.bool: _bool,
    builtins.complex: _complex,
    builtins.float: lambda code, line, x: to_float(x, line),
    builtins.int: lambda code, line, x: to_int(code, x, line, "np.trunc({})"),
    builtins.round: _round,
    builtins.pow: lambda code, line, x, y: binary(code, np.power, x, y, line),
    ordered_bits: lambda code, _, x: code.one(Np(np.dtype(np.int64)), f"_ordered_bits({x.code})"),
    of_ordered_bits: lambda code, _, x: code.one(Np(FLOAT64), f"_of_ordered_bits({x.code})"),
    np.round: _numpy_round,
    np.around: _numpy_round,
    math.floor: _whole("np.floor({})"),
    math.ceil: _whole("np.ceil({})"),
    math.trunc: _whole("np.trunc({})"),
    math.fabs: _plain("abs({})"),
    math.copysign: _plain("math.copysign({}, {})"),
    math.degrees: _plain("{} * (180.0 / math.pi)"),
    math.radians: _plain("{} * (math.pi / 180.0)"),
    math.isnan: _plain("{0} != {0}", PY_BOOL),
    math.isinf: _plain("abs({}) == _inf", PY_BOOL),
    math.isfinite: _plain("abs({}) < _inf", PY_BOOL),
    math.erf: _plain("math.erf({})"),
    math.erfc: _plain("math.erfc({})"),
    math.atan: _plain("math.atan({})"),
    math.atan2: _plain("math.atan2({}, {})"),
    math.tanh: _plain("math.tanh({})"),
    math.asinh: _plain("math.asinh({})"),
    math.gcd: _gcd,
    math.log: _log,
    math.pow: _domain("pow"),
    **{
        getattr(math, name): _domain(name)
        for name in (
            *("sqrt", "exp", "expm1", "log1p", "log2", "log10", "sin", "cos", "tan"),
            *("asin", "acos", "sinh", "cosh", "acosh", "atanh", "hypot", "fmod"),
        )
    },
}


def attribute(code: Code, name: str, x: One, line: int) -> One:
    """Write ``x.real`` or ``x.imag`` of a number."""
    kind = number(x, line)
    if kind.storage.kind == "c":
        if isinstance(kind, Py):
            return code.one(Py(float), f"{x.code}.{name}")
        return code.one(Np(FLOAT32 if kind.dtype.itemsize == 8 else FLOAT64), f"{x.code}.{name}")
    if name == "real":
        return as_int(x)
    kind = as_int(x).type  # type: ignore[assignment]
    return constant_like(code, kind)


def constant_like(code: Code, kind: Py | Np) -> One:
    """Write a zero of a type."""
    if isinstance(kind, Py) and kind.kind is int:
        return One(integer(0, 0), "0")
    return code.one(kind, "False" if kind.storage == BOOL else "0")


def method(code: Code, name: str, x: One, line: int) -> One:
    """Write a method without arguments of a number."""
    kind = number(x, line)
    if name in ("conjugate", "conj") and (isinstance(kind, Np) or name == "conjugate"):
        if isinstance(kind, Np):
            return apply(code, np.conjugate, (x,), line)
        return (
            code.one(kind, f"complex({x.code}.real, -{x.code}.imag)")
            if kind.kind is complex
            else as_int(x)
        )
    if name == "item" and isinstance(kind, Np):
        if kind.dtype.kind in "iu":
            return to_int(code, x, line)
        python = {"b": bool, "f": float, "c": complex}[kind.dtype.kind]
        return code.one(Py(python), cast(x.code, Py(python).storage))
    raise NotSupportedError(f"the method `{name}` of a {kind}", line)
