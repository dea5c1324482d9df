"""Operators on numbers of loop nests, with NumPy's dtypes and Python's unbounded ints.

What involves a NumPy scalar has the dtype that the installed NumPy says; what
involves Python numbers only follows Python.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering import int_ranges
from npaccel._loops.nests.lowering.code_builder import Code
from npaccel._loops.nests.lowering.types import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    DTYPES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MAX,
    MIN,
    NP_BOOL,
    PY_BOOL,
    TOO_LONG,
    DType,
    NotSupportedError,
    Np,
    One,
    Py,
    cast,
    integer,
)

#: The ufunc of each operator.
UFUNCS: dict[type, np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Invert: np.invert,
}
SYMBOLS: dict[np.ufunc, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.true_divide: "/",
    np.floor_divide: "//",
    np.remainder: "%",
    np.power: "**",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
    np.left_shift: "<<",
    np.right_shift: ">>",
    np.equal: "==",
    np.not_equal: "!=",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
}
COMPARISONS = frozenset(
    {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
)
#: Numba gives these the dtype of their operands, where it is one of 64 bits.
_NATURAL = frozenset({np.add, np.subtract, np.multiply, np.true_divide})
_NARROW = {FLOAT64: FLOAT32, COMPLEX128: COMPLEX64}


def number(one: One, line: int) -> Py | Np:
    """Return the type of a number.

    Raises
    ------
    NotSupportedError
        If it is an array or another object.
    """
    if not isinstance(one.type, Py | Np):
        raise NotSupportedError(f"an operation on an {one.type}", line)
    return one.type


def binary(code: Code, ufunc: np.ufunc, x: One, y: One, line: int) -> One:
    """Write a binary operator, comparisons included."""
    a, b = number(x, line), number(y, line)
    if isinstance(a, Py) and isinstance(b, Py):
        return _python(code, ufunc, x, y, line)
    if ufunc in COMPARISONS:
        return _compare(code, ufunc, x, y, line)
    return apply(code, ufunc, (x, y), line)


def unary(code: Code, ufunc: np.ufunc, x: One, line: int) -> One:
    """Write a minus, plus or ``~`` in front of a number."""
    kind = number(x, line)
    if isinstance(kind, Np):
        return apply(code, ufunc, (x,), line)
    if kind.kind in (bool, int):
        return int_ranges.unary(code, ufunc, as_int(x), line)
    if ufunc is np.invert:
        raise NotSupportedError(f"`~` of a {kind}", line)
    return x if ufunc is np.positive else code.one(kind, f"-{x.code}")


def as_int(one: One) -> One:
    """Return a Python bool as the int that it is; other numbers as they are."""
    if one.type == PY_BOOL:
        return One(integer(0, 1), cast(one.code, INT64))
    return one


# NumPy scalars


def resolve(code: Code, ufunc: np.ufunc, kinds: Sequence[Py | Np], line: int) -> list[DType]:
    """Return the dtypes of a ufunc's inputs and output, narrowed where NumPy invents 64 bits.

    Raises
    ------
    NotSupportedError
        If NumPy has no loop for them, or Numba has no such dtype.
    """
    narrow = code.program.narrow
    weak = [_weak(kind) if narrow else kind.weak for kind in kinds]
    are_numbers = all(isinstance(kind, Py) or (narrow and _is_wide(kind)) for kind in kinds)
    if are_numbers:
        weak = [kind.storage for kind in kinds]
    try:
        dtypes = list(ufunc.resolve_dtypes((*weak, None)))
    except TypeError as error:
        given = " and ".join(map(str, kinds))
        raise NotSupportedError(f"numpy.{ufunc.__name__} of {given}: {error}", line) from None
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise NotSupportedError(f"numpy.{ufunc.__name__} gives {dtype.name} here", line)
    if narrow and not are_numbers and dtypes[-1] in _NARROW:
        code.program.narrowed.add((line, dtypes[-1].name, _NARROW[dtypes[-1]].name))
        return [_NARROW.get(dtype, dtype) for dtype in dtypes]
    return dtypes


def _is_wide(kind: Py | Np) -> bool:
    """Whether it's a NumPy scalar of 64-bit floats; where floats are narrowed it's of numbers."""
    return isinstance(kind, Np) and kind.dtype in _NARROW


def _weak(kind: Py | Np) -> Any:
    """Operand for a number where floats are narrowed: 64-bit floats are weak there."""
    if not _is_wide(kind):
        return kind.weak
    return complex if kind.storage.kind == "c" else float


def apply(code: Code, ufunc: np.ufunc, operands: Sequence[One], line: int) -> One:
    """Write a ufunc on numbers; the result is a NumPy scalar."""
    kinds = [number(one, line) for one in operands]
    *inputs, output = resolve(code, ufunc, kinds, line)
    if ufunc is np.power and output.kind in "iu":
        _check_exponent(code, operands[1], line)
    if output.kind in "fc":  # integers are divided as floats
        inputs = [output if dtype.kind in "biu" else dtype for dtype in inputs]
    codes = [convert(code, one, dtype, line) for one, dtype in zip(operands, inputs, strict=True)]
    text = _text(ufunc, codes, inputs[0], line)
    if ufunc is np.power and inputs[0].kind == "c":
        _check_square(operands[1], line)
    exact = all(dtype == output for dtype in inputs) and ufunc in _NATURAL
    return code.one(Np(output), text, exact=exact)


def _check_exponent(code: Code, exponent: One, line: int) -> None:
    kind = exponent.type
    if isinstance(kind, Py) and kind.kind is int and kind.low >= 0:
        return
    if isinstance(kind, Py | Np) and kind.storage.kind == "i":
        code.fail_if(f"{exponent.code} < 0", line, "power")


def _check_square(exponent: One, line: int) -> None:
    if exponent.type != integer(2, 2):
        raise NotSupportedError("a power of a complex number other than `** 2`", line)


def _text(ufunc: np.ufunc, codes: list[str], dtype: DType, line: int) -> str:
    special = _BY_KIND.get((ufunc.__name__, dtype.kind)) or _BY_NAME.get(ufunc.__name__)
    if special is not None:
        return special.format(*codes, bits=dtype.itemsize * 8)
    if ufunc in SYMBOLS and not (dtype.kind == "c" and SYMBOLS[ufunc] in _NOT_COMPLEX):
        return f"{codes[0]} {SYMBOLS[ufunc]} {codes[1]}"
    raise NotSupportedError(f"numpy.{ufunc.__name__} of {dtype.name} in scalar code", line)


_NOT_COMPLEX = frozenset({"<", "<=", ">", ">=", "//", "%"})
#: Code of a ufunc for one kind of dtypes: bool, int, unsigned, float, complex.
_BY_KIND: dict[tuple[str, str], str] = {
    ("add", "b"): "{0} or {1}",
    ("multiply", "b"): "{0} and {1}",
    ("bitwise_and", "b"): "{0} and {1}",
    ("bitwise_or", "b"): "{0} or {1}",
    ("bitwise_xor", "b"): "{0} != {1}",
    ("invert", "b"): "not {0}",
    ("absolute", "b"): "{0}",
    ("divide", "c"): "_divide_complex_numpy({0}, {1})",
    ("floor_divide", "i"): "_floor_divide_int({0}, {1})",
    ("floor_divide", "u"): "_floor_divide_unsigned({0}, {1})",
    ("floor_divide", "f"): "_floor_divide_float({0}, {1})",
    ("remainder", "i"): "_remainder_int({0}, {1})",
    ("remainder", "u"): "_remainder_unsigned({0}, {1})",
    ("remainder", "f"): "_remainder_float({0}, {1})",
    ("right_shift", "u"): "_right_shift_unsigned({0}, {1}, {bits})",
    ("fmod", "i"): "_fmod_int({0}, {1})",
    ("fmod", "u"): "_remainder_unsigned({0}, {1})",
    ("fmod", "f"): "np.fmod({0}, {1})",
    ("power", "i"): "_power_int(_int64({0}), _uint64({1}))",
    ("power", "u"): "_power_int(_int64({0}), _uint64({1}))",
    ("power", "c"): "{0} * {0}",
    ("absolute", "i"): "-{0} if {0} < 0 else {0}",
    ("absolute", "u"): "{0}",
    ("absolute", "f"): "abs({0})",
    ("absolute", "c"): "math.hypot({0}.real, {0}.imag)",
    ("conjugate", "c"): "complex({0}.real, -{0}.imag)",
    ("sign", "i"): "1 if {0} > 0 else (-1 if {0} < 0 else 0)",
    ("sign", "u"): "1 if {0} > 0 else 0",
    ("sign", "f"): "1.0 if {0} > 0 else (-1.0 if {0} < 0 else (0.0 if {0} == 0 else _nan))",
    ("isnan", "f"): "{0} != {0}",
    ("isinf", "f"): "abs({0}) == _inf",
    ("isfinite", "f"): "abs({0}) < _inf",
    ("signbit", "f"): "math.copysign(1.0, {0}) < 0",
    **{
        (name, kind): "{0}"
        for name in ("floor", "ceil", "trunc", "conjugate")
        for kind in "biuf"
        if name == "conjugate" or kind != "f"
    },
    **{(name, kind): "False" for name in ("isnan", "isinf") for kind in "biu"},
    **{("isfinite", kind): "True" for kind in "biu"},
    **{
        (name, kind): f"_{name}({{0}}, {{1}})"
        for name, kind in (("minimum", "f"), ("maximum", "f"), ("fmin", "f"), ("fmax", "f"))
    },
    **{(name, "f"): f"np.{name}({{0}})" for name in ("floor", "ceil", "trunc", "rint")},
    **{
        (name, "f"): f"math.{name}({{0}})"
        for name in (
            *("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh"),
        )
    },
    **{
        (f"arc{name}", "f"): f"math.a{name}({{0}})"
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    ("exp2", "f"): "np.exp2({0})",
    ("arctan2", "f"): "math.atan2({0}, {1})",
    ("hypot", "f"): "math.hypot({0}, {1})",
    ("copysign", "f"): "math.copysign({0}, {1})",
    ("deg2rad", "f"): "np.deg2rad({0})",
    ("radians", "f"): "np.deg2rad({0})",
    ("rad2deg", "f"): "np.rad2deg({0})",
    ("degrees", "f"): "np.rad2deg({0})",
    ("reciprocal", "f"): "1 / {0}",
}
#: Code of ufuncs for the other kinds.
_BY_NAME: dict[str, str] = {
    "left_shift": "_left_shift({0}, {1}, {bits})",
    "right_shift": "_right_shift({0}, {1}, {bits})",
    "negative": "-{0}",
    "positive": "{0}",
    "invert": "~{0}",
    "square": "{0} * {0}",
    "minimum": "{0} if {0} <= {1} else {1}",
    "maximum": "{0} if {0} >= {1} else {1}",
    "fmin": "{0} if {0} <= {1} else {1}",
    "fmax": "{0} if {0} >= {1} else {1}",
    "logical_and": "({0} != 0) and ({1} != 0)",
    "logical_or": "({0} != 0) or ({1} != 0)",
    "logical_xor": "({0} != 0) != ({1} != 0)",
    "logical_not": "{0} == 0",
}


def convert(code: Code, one: One, dtype: DType, line: int) -> str:
    """Return an operand in a dtype, as NumPy's operators convert it.

    A Python int must fit; a NumPy scalar is cast as C does.
    """
    kind = number(one, line)
    if kind.storage == dtype:
        return one.code
    if isinstance(kind, Py) and kind.kind is int and dtype.kind in "iu":
        check_fits(code, one, dtype, line)
    return cast_number(one.code, kind.storage, dtype)


def check_fits(code: Code, one: One, dtype: DType, line: int) -> None:
    """Write a test that a Python int fits an integer dtype."""
    test = _out_of_range(number(one, line), one.code, dtype)
    if test:
        code.fail_if(test, line, "store", ("store", "int", dtype.name), one)


_BY_INT64 = frozenset({np.dtype(np.uint32), INT64})


def cast_number(text: str, source: DType, target: DType) -> str:
    """Return code that casts as NumPy does, where that takes more than one step."""
    if source == target:
        return text
    if target.kind == "c" and source.kind in "biu":
        return cast(cast(text, FLOAT64), target)
    if target.kind in "iu" and source.kind == "f":
        if target == np.uint64:
            return f"_float_to_uint64({cast(text, FLOAT64)})"
        # What is out of range is up to the machine; this is what x86 does for C.
        return cast(cast(text, INT64 if target in _BY_INT64 else INT32), target)
    return cast(text, target)


def _compare(code: Code, ufunc: np.ufunc, x: One, y: One, line: int) -> One:
    """Compare two numbers, one of them a NumPy scalar. Integers compare exactly."""
    a, b = number(x, line), number(y, line)
    if a.storage.kind in "iu" and b.storage.kind in "iu":
        return code.one(NP_BOOL, _compare_ints(SYMBOLS[ufunc], x, y))
    dtypes = resolve(code, ufunc, (a, b), line)[:2]
    left, right = (convert(code, o, d, line) for o, d in zip((x, y), dtypes, strict=True))
    return code.one(NP_BOOL, _text(ufunc, [left, right], dtypes[0], line))


def _compare_ints(symbol: str, x: One, y: One) -> str:
    """Compare integers of any two dtypes as numbers."""
    a, b = x.type, y.type
    assert isinstance(a, Py | Np) and isinstance(b, Py | Np)  # noqa: PT018
    wide = [kind.storage == np.uint64 for kind in (a, b)]
    if wide[0] == wide[1]:
        return f"{x.code} {symbol} {y.code}"
    below = symbol in ("<", "<=", "!=")  # what a negative number is, compared with the other
    if wide[1]:
        return f"(_uint64({x.code}) {symbol} {y.code} if {x.code} >= 0 else {below})"
    above = symbol in (">", ">=", "!=")
    return f"({x.code} {symbol} _uint64({y.code}) if {y.code} >= 0 else {above})"


# Python numbers


def _python(code: Code, ufunc: np.ufunc, x: One, y: One, line: int) -> One:
    a, b = number(x, line), number(y, line)
    assert isinstance(a, Py) and isinstance(b, Py)  # noqa: PT018
    symbol = SYMBOLS[ufunc]
    if ufunc in COMPARISONS:
        return _compare_python(code, symbol, as_int(x), as_int(y), line)
    if a.kind is bool and b.kind is bool and symbol in "&|^":
        return code.one(PY_BOOL, _BY_KIND[ufunc.__name__, "b"].format(x.code, y.code))
    x, y = as_int(x), as_int(y)
    kinds = {number(x, line).storage.kind, number(y, line).storage.kind}
    if "c" in kinds:
        return _python_complex(code, symbol, x, y, line)
    if "f" in kinds:
        return _python_float(code, symbol, x, y, line)
    return int_ranges.binary(code, symbol, x, y, line)


def _compare_python(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    kinds = [number(one, line) for one in (x, y)]
    if any(k.kind is complex for k in kinds if isinstance(k, Py)):
        if symbol not in ("==", "!="):
            raise NotSupportedError("complex numbers have no order", line)
        codes = [
            cast_number(o.code, k.storage, COMPLEX128) for o, k in zip((x, y), kinds, strict=True)
        ]
        return code.one(PY_BOOL, f"{codes[0]} {symbol} {codes[1]}")
    inexact = [int_ranges.exceeds_float(one) for one in (x, y)]
    is_float = [kind.storage == FLOAT64 for kind in kinds]
    if is_float[0] != is_float[1] and any(inexact):
        swapped = is_float[0]
        first, second = (y, x) if swapped else (x, y)
        order = code.temporary(f"_compare_int_float({first.code}, {second.code})")
        symbol = _SWAPPED.get(symbol, symbol) if swapped else symbol
        return code.one(
            PY_BOOL, f"{order} {symbol} 0 and {order} != 2" if symbol != "!=" else f"{order} != 0"
        )
    return code.one(PY_BOOL, f"{x.code} {symbol} {y.code}")


_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _python_float(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    a, b = (One(Py(float), cast_number(o.code, number(o, line).storage, FLOAT64)) for o in (x, y))
    if symbol in ("/", "//", "%"):
        code.fail_if(f"{b.code} == 0", line, "zero", (symbol, "float"))
        texts = {
            "/": "{} / {}",
            "//": "_floor_divide_float({}, {})",
            "%": "_remainder_float({}, {})",
        }
        return code.one(Py(float), texts[symbol].format(a.code, b.code), exact=True)
    if symbol == "**":
        return _python_power(code, a, b, y, line)
    if symbol not in ("+", "-", "*"):
        raise NotSupportedError(f"`{symbol}` of a Python float", line)
    return code.one(Py(float), f"{a.code} {symbol} {b.code}", exact=True)


def _python_power(code: Code, base: One, exponent: One, given: One, line: int) -> One:
    a, b = base.code, exponent.code
    code.fail_if(f"{a} == 0 and {b} < 0", line, "math", "pow operator", base, exponent)
    if number(given, line).storage == FLOAT64 and not given.code.removesuffix(".0").isdigit():
        root = f"{a} < 0 and abs({a}) < _inf and abs({b}) < _inf and np.floor({b}) != {b}"
        code.bail_if(root, line, "a power of a negative float is complex")
    result = code.one(Py(float), f"{a} ** {b}")
    finite = f"abs({a}) < _inf and abs({b}) < _inf"
    test = f"abs({result.code}) == _inf and {finite}"
    code.fail_if(test, line, "math", "pow operator", base, exponent)
    return result


def _python_complex(code: Code, symbol: str, x: One, y: One, line: int) -> One:
    if symbol == "**":
        _check_square(y, line)
        return code.one(Py(complex), f"{x.code} * {x.code}")
    a, b = (cast_number(o.code, number(o, line).storage, COMPLEX128) for o in (x, y))
    if symbol == "/":
        code.fail_if(f"{b} == 0", line, "zero", (symbol, "complex"))
        return code.one(Py(complex), f"_divide_complex_python({a}, {b})")
    if symbol not in ("+", "-", "*"):
        raise NotSupportedError(f"`{symbol}` of a Python complex", line)
    return code.one(Py(complex), f"{a} {symbol} {b}")


# Conversions that are asked for


def store(code: Code, one: One, dtype: DType, line: int, how: str = "store") -> One:
    """Convert a number as a write into an array does, or a call of NumPy's scalar type.

    NumPy casts some numbers that are out of range, and raises for others;
    which, differs between the two, and between versions.
    """
    kind = number(one, line)
    if kind.storage.kind == "c" and dtype.kind not in "cb":
        raise NotSupportedError(f"a complex number as {dtype.name}", line)
    if dtype.kind in "iu" and kind.storage.kind in "iuf":
        source = kind.kind.__name__ if isinstance(kind, Py) else kind.dtype.name
        if isinstance(kind, Py) or _is_checked(how, kind.dtype, dtype):
            test = _out_of_range(kind, one.code, dtype)
            if test:
                code.fail_if(test, line, "store", (how, source, dtype.name), one)
    return One(Np(dtype), code.temporary(cast_number(one.code, kind.storage, dtype)))


@functools.cache
def _is_checked(how: str, source: DType, target: DType) -> bool:
    """Whether the installed NumPy raises for a number out of range, rather than cast it."""
    extremes = [1e300] if source.kind == "f" else [np.iinfo(source).min, np.iinfo(source).max]
    with np.errstate(all="ignore"):
        for number_ in np.array(extremes).astype(source):
            try:
                if how == "store":
                    np.zeros(1, target)[0] = number_
                else:
                    target.type(number_)
            except (OverflowError, ValueError):
                return True
    return False


def _out_of_range(kind: Py | Np, text: str, dtype: DType) -> str:
    """Return a test for whether a number doesn't fit an integer dtype; empty if it does."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if kind.storage.kind == "f":
        value = cast_number(text, kind.storage, FLOAT64)
        above = f"{low}.0 <= {value}" if low == MIN else f"{low - 1}.0 < {value}"
        return f"not ({above} and {value} < {high + 1}.0)"
    least, most = int_bounds(kind)
    tests = [f"{text} < {low}"] if least < low else []
    tests += [f"{text} > {high}"] if most > high else []
    return " or ".join(tests)


def int_bounds(kind: Py | Np) -> tuple[int, int]:
    """Return the bounds of an integer's type."""
    if isinstance(kind, Py) and kind.kind is int:
        return kind.low, kind.high
    if kind.storage == BOOL:
        return 0, 1
    return int(np.iinfo(kind.storage).min), int(np.iinfo(kind.storage).max)


def to_int(code: Code, one: One, line: int, rounding: str = "{}") -> One:
    """Write Python's ``int``, or ``round``, ``math.floor``, ... by way of `rounding`."""
    kind = number(one, line)
    if kind.storage.kind == "c":
        raise NotSupportedError("an int from a complex number", line)
    if kind.storage.kind == "f":
        value = code.temporary(rounding.format(cast(one.code, FLOAT64)))
        code.fail_if(f"not abs({value}) < _inf", line, "math", "int", One(Py(float), value))
        code.bail_if(f"not -2.0**63 <= {value} < 2.0**63", line, TOO_LONG)
        return code.one(Py(int), value)
    if isinstance(kind, Np):
        if kind.dtype == np.uint64:
            code.bail_if(f"{one.code} > {MAX}", line, TOO_LONG)
        return code.one(integer(*int_bounds(kind)), one.code)
    return as_int(one)


def to_float(one: One, line: int) -> One:
    """Write Python's ``float``."""
    kind = number(one, line)
    if kind.storage.kind == "c":
        raise NotSupportedError("a float from a complex number", line)
    return One(Py(float), cast_number(one.code, kind.storage, FLOAT64))


def truth(one: One, line: int) -> str:
    """Return code for whether a number counts as true."""
    kind = number(one, line)
    return one.code if kind.storage == BOOL else f"({one.code} != 0)"


Operation = Callable[..., One]
