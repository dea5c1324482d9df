"""Numbers of Python's or NumPy's, one for each element of an array, and what is computed of them.

A function that NumPy calls with one element after the other gets Python's numbers: ints have no
bounds, and divisions by zero raise. Whole arrays are computed here as if it were so, and what
can't be computed so is noted: where it happens in one element, NumPy has to make the call.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core import operators, python_functions, table
from npaccel._numpy.core.dtypes import DType, as_dtype, cast, full_scalar, to_numpy, to_torch

#: Beyond this the ints of compiled code may not be Python's.
_MOST = 2.0**62
#: Up to this, floats hold all ints.
_EXACT = 2.0**53
#: The dtypes that hold Python's numbers.
_HOLDING: dict[type, DType] = {kind: as_dtype(kind) for kind in (bool, int, float, complex)}
_ORDER = (bool, int, float, complex)
_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_BITS = (operator.and_, operator.or_, operator.xor)

#: Python's type of numbers, or the dtype of NumPy's.
Kind = type | DType


@dataclasses.dataclass(frozen=True, eq=False)
class Number:
    """A number for each element.

    Parameters
    ----------
    kind : type or numpy.dtype
        Python's bool, int, float or complex, or the dtype of NumPy's scalars.
    first : type or numpy.dtype
        The same for the call that NumPy makes with a scalar, to learn the dtype of the result.
    data : tensor or Python number
    bound : float
        What the absolute values of ints surely don't exceed.
    """

    kind: Kind
    first: Kind
    data: Any
    bound: float = math.inf

    @property
    def is_python(self) -> bool:
        """Whether it is one of Python's numbers."""
        return isinstance(self.kind, type)

    @property
    def is_constant(self) -> bool:
        """Whether it is one number, known while tracing."""
        return not isinstance(self.data, torch.Tensor)

    @property
    def dtype(self) -> DType:
        """The dtype of the array that holds it."""
        return _HOLDING[self.kind] if isinstance(self.kind, type) else self.kind

    def tensor(self, dtype: DType | None = None) -> torch.Tensor:
        """Return it as a tensor, of another dtype where one is given."""
        held = full_scalar(self.data, self.dtype) if self.is_constant else self.data
        return held if dtype is None else cast(held, dtype)


def constant(value: Any) -> Number:
    """Return a Python number as it stands in a function; it may be symbolic."""
    if isinstance(value, torch.SymInt | torch.SymFloat):
        kind = int if isinstance(value, torch.SymInt) else float
        return Number(kind, kind, full_scalar(value, _HOLDING[kind]), 2.0**63)
    if type(value) not in _ORDER or (isinstance(value, int) and abs(value) > _MOST):
        raise NotImplementedError(f"{value!r} isn't a number that compiled code holds")
    bound = float(abs(value)) if isinstance(value, int) else math.inf
    return Number(type(value), type(value), value, bound)


def element(x: Any) -> Number:
    """Return the elements of an array, as NumPy hands them to a function: Python's numbers."""
    if not isinstance(x, torch.Tensor):
        found = constant(x)
        return dataclasses.replace(found, first=found.dtype)
    dtype = to_numpy(x.dtype)
    if dtype == np.uint64 or dtype.kind not in "biufc":
        raise NotImplementedError(f"elements of {dtype} aren't compiled")
    kind = {"b": bool, "f": float, "c": complex}.get(dtype.kind, int)
    bound = 2.0 ** (8 * dtype.itemsize) if kind is int else 1.0 if kind is bool else math.inf
    if dtype == np.int64:
        bound = 2.0**63
    return Number(kind, dtype, cast(x, _HOLDING[kind]), bound)


def numpy_scalar(x: torch.Tensor) -> Number:
    """Return NumPy's scalars of a tensor."""
    dtype = to_numpy(x.dtype)
    return Number(dtype, dtype, x)


def sample(kind: Kind) -> Any:
    """Return a number of a kind."""
    return kind(1) if isinstance(kind, type) else kind.type(1)


def kind_of(value: Any) -> Kind:
    """Return the kind of a number.

    Raises
    ------
    NotImplementedError
        If it isn't one.
    """
    if isinstance(value, np.generic | np.ndarray):
        return as_dtype(value.dtype)
    if type(value) not in _ORDER:
        raise NotImplementedError(f"a {type(value).__name__} isn't a number")
    return type(value)


def kind_after(function: Callable[..., Any], *numbers: Number) -> Kind:
    """Return the kind of a function's result, as Python or NumPy has it now."""
    return _kind_after(function, [sample(n.kind) for n in numbers])


def first_after(function: Callable[..., Any], *numbers: Number) -> Kind:
    """Return the kind of a function's result in the call that NumPy makes with scalars."""
    narrow = any(not isinstance(n.first, type) and _is_narrow(n.first) for n in numbers)
    if narrow and any(n.first is int and not n.is_constant for n in numbers):
        raise NotImplementedError("ints that may not fit into NumPy's narrow integers")
    # NumPy's narrow integers refuse ints by their values.
    known = [n.data if n.is_constant and isinstance(n.first, type) else sample(n.first)
             for n in numbers]  # fmt: skip
    return _kind_after(function, known)


def _is_narrow(dtype: DType) -> bool:
    return dtype.kind in "iu" and dtype != np.int64


def _kind_after(function: Callable[..., Any], samples: list[Any]) -> Kind:
    with np.errstate(all="ignore"):
        try:
            return kind_of(function(*samples))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise NotImplementedError(str(error)) from error


class Failures:
    """Elements at which something happens that compiled code can't do as Python does it.

    Parameters
    ----------
    mask : tensor or None
        Which elements the function is at the moment computed for; None for all.
    """

    def __init__(self) -> None:
        self.mask: torch.Tensor | None = None
        self.found: torch.Tensor | None = None

    def note(self, where: torch.Tensor) -> None:
        """Note a condition under which compiled code isn't right."""
        if self.mask is not None:
            where = where & self.mask
        self.found = where if self.found is None else self.found | where


def binary(op: Callable[..., Any], a: Number, b: Number, failures: Failures) -> Number:
    """Return ``op(a, b)`` for an operator of two numbers."""
    kind, first = kind_after(op, a, b), first_after(op, a, b)
    if a.is_constant and b.is_constant and a.is_python and b.is_python:
        return dataclasses.replace(constant(op(a.data, b.data)), first=first)
    if not (a.is_python and b.is_python):
        return Number(kind, first, _numpy_binary(op, a, b))
    if op in _COMPARISONS:
        return Number(bool, first, _compared(op, a, b, failures), 1.0)
    if op is operator.pow:
        return _power(a, b, first, failures)
    if kind in (int, bool):
        data, bound = _int_binary(op, a, b, failures)
        return Number(kind, first, cast(data, _HOLDING[kind]), bound)  # type: ignore[index]
    return Number(kind, first, _float_binary(op, a, b, kind, failures))


def _numpy_binary(op: Callable[..., Any], a: Number, b: Number) -> torch.Tensor:
    if op is operator.pow and "f" not in (a.dtype.kind, b.dtype.kind):
        raise NotImplementedError("powers of NumPy's integers aren't compiled here")
    x, y = (_operand(n, m) for n, m in ((a, b), (b, a)))
    found: torch.Tensor = operators.binary(op, x, y)
    return found


def _operand(number: Number, other: Number) -> Any:
    """Return an operand of a NumPy operation: Python's numbers are weak."""
    if not number.is_python or other.is_python:
        return number.tensor()
    if number.is_constant:
        return number.data
    dtype = np.result_type(other.kind, sample(number.kind))
    if number.kind is int and dtype.kind in "iu" and dtype != np.int64:
        raise NotImplementedError("ints that may not fit into NumPy's narrow integers")
    return number.tensor(as_dtype(dtype))


def _compared(op: Callable[..., Any], a: Number, b: Number, failures: Failures) -> torch.Tensor:
    if complex in (a.kind, b.kind):
        return op(a.tensor(_HOLDING[complex]), b.tensor(_HOLDING[complex]))  # type: ignore[no-any-return]
    if float not in (a.kind, b.kind):
        return op(a.tensor(_HOLDING[int]), b.tensor(_HOLDING[int]))  # type: ignore[no-any-return]
    return op(_as_float(a, failures), _as_float(b, failures))  # type: ignore[no-any-return]


def _as_float(number: Number, failures: Failures, most: float = _EXACT) -> torch.Tensor:
    """Return numbers as floats; ints that floats don't hold are noted."""
    found = number.tensor(_HOLDING[float])
    if number.kind is int and number.bound > most:
        failures.note(torch.abs(found) > most)
    return found


def _int_binary(
    op: Callable[..., Any], a: Number, b: Number, failures: Failures
) -> tuple[torch.Tensor, float]:
    x, y = a.tensor(_HOLDING[int]), b.tensor(_HOLDING[int])
    if op in _BITS:
        return op(x, y), 2.0 * max(a.bound, b.bound)
    if op in (operator.floordiv, operator.mod):
        failures.note(y == 0)
        if a.bound > _MOST:  # The smallest int divided by -1 is too long.
            failures.note(torch.abs(x.to(torch.float64)) > _MOST)
        safe = torch.where(y == 0, 1, y)
        if op is operator.mod:
            return torch.remainder(x, safe), b.bound
        return torch.div(x, safe, rounding_mode="floor"), a.bound
    if op not in (operator.add, operator.sub, operator.mul):
        raise NotImplementedError(f"{op.__name__} of ints isn't compiled here")
    bound = a.bound * b.bound if op is operator.mul else a.bound + b.bound
    if bound > _MOST:
        failures.note(~(torch.abs(op(x.to(torch.float64), y.to(torch.float64))) < _MOST))
        bound = _MOST
    return op(x, y), bound


def _float_binary(
    op: Callable[..., Any], a: Number, b: Number, kind: Kind, failures: Failures
) -> torch.Tensor:
    if kind is complex:
        if op not in (operator.add, operator.sub, operator.mul, operator.truediv):
            raise NotImplementedError(f"{op.__name__} of complex numbers isn't compiled here")
        x, y = a.tensor(_HOLDING[complex]), b.tensor(_HOLDING[complex])
    else:
        most = _EXACT if op is operator.truediv and a.kind is not float else math.inf
        x, y = _as_float(a, failures, most), _as_float(b, failures, most)
    if op in (operator.truediv, operator.floordiv, operator.mod):
        failures.note(y == 0)
        if kind is complex:
            failures.note(~torch.isfinite(torch.abs(x)) | ~torch.isfinite(torch.abs(y)))
    found: torch.Tensor = operators.binary(op, x, y)
    return found


def _power(a: Number, b: Number, first: Kind, failures: Failures) -> Number:
    if complex in (a.kind, b.kind):
        raise NotImplementedError("powers of complex numbers aren't compiled here")
    if float not in (a.kind, b.kind):
        if not b.is_constant or b.data < 0:
            raise NotImplementedError("whether a power of ints is an int depends on its sign")
        return _int_power(a, int(b.data), first, failures)
    x, y = _as_float(a, failures), _as_float(b, failures)
    whole = b.is_constant and float(b.data).is_integer()
    if not whole:
        failures.note((x < 0) & torch.isfinite(y) & (torch.floor(y) != y))  # a complex number
        if b.is_constant:
            x = torch.where(x == 0, 0.0, x)  # Compilers take roots, which keep the sign of zero.
    found = torch.pow(x, b.data) if b.is_constant else torch.pow(x, y)
    finite = torch.isfinite(x) & torch.isfinite(y)
    failures.note(finite & ~torch.isfinite(found))  # OverflowError, ZeroDivisionError
    return Number(float, first, found)


def _int_power(a: Number, exponent: int, first: Kind, failures: Failures) -> Number:
    found = Number(int, first, torch.ones_like(a.tensor(_HOLDING[int])), 1.0)
    for _ in range(exponent if exponent <= 64 else 0):
        data, bound = _int_binary(operator.mul, found, a, failures)
        found = Number(int, first, data, bound)
    if exponent > 64:
        raise NotImplementedError("powers of ints beyond the 64th aren't compiled here")
    return found


def unary(op: Callable[..., Any], a: Number, failures: Failures) -> Number:
    """Return ``op(a)`` for an operator of one number, or `abs`."""
    kind, first = kind_after(op, a), first_after(op, a)
    if a.is_constant and a.is_python:
        return dataclasses.replace(constant(op(a.data)), first=first)
    if not a.is_python:
        return Number(kind, first, operators.unary(op, a.tensor()))
    if kind is int:
        x = a.tensor(_HOLDING[int])
        if a.bound > _MOST:
            failures.note(torch.abs(x.to(torch.float64)) > _MOST)
        return Number(int, first, op(x), a.bound + 1)
    x = a.tensor()
    found = op(x)
    if a.kind is complex and kind is float:
        failures.note(torch.isinf(found))  # OverflowError
    return Number(kind, first, found)


def truth(a: Number) -> torch.Tensor:
    """Return where numbers are true."""
    return a.tensor() != 0 if a.dtype.kind != "b" else a.tensor()


def ufunc(function: Any, numbers: list[Number]) -> Number:
    """Return what a ufunc, `numpy.where` or `numpy.clip` gives for numbers."""
    row = table.row_of(function)
    of_one = isinstance(function, np.ufunc) and function.nout == 1 and not function.signature
    if row is None or row.status != "compiled" or not (of_one or function in (np.where, np.clip)):
        raise NotImplementedError(f"{getattr(function, '__name__', function)} isn't compiled here")
    first = first_after(function, *numbers)
    strong = next((n for n in numbers if not n.is_python), None)
    operands = [n.tensor() if strong is None else _operand(n, strong) for n in numbers]
    if function is np.where:
        operands[0] = truth(numbers[0])
    if function is np.power and all(n.dtype.kind != "f" for n in numbers):
        raise NotImplementedError("powers of NumPy's integers aren't compiled here")
    found: torch.Tensor = row.implementation(*operands)
    kind = kind_after(function, *numbers)
    return Number(kind, first, cast(found, kind) if not isinstance(kind, type) else found)


def math_function(function: Any, numbers: list[Number], failures: Failures) -> Number:
    """Return what a function of `math` gives."""
    if any(n.dtype.kind == "c" for n in numbers):
        raise NotImplementedError("math takes no complex numbers")
    if all(n.is_constant for n in numbers):
        return constant(function(*[n.data for n in numbers]))
    xs = [n.tensor(_HOLDING[float]) for n in numbers]
    tests = {math.isnan: torch.isnan, math.isinf: torch.isinf, math.isfinite: torch.isfinite}
    if function in tests:
        return Number(bool, bool, tests[function](xs[0]), 1.0)
    if not python_functions.takes(function, len(numbers)):
        raise NotImplementedError(f"math.{function.__name__} isn't compiled here")
    if function in python_functions.TO_INT:
        return to_int(function, numbers[0], failures)
    if function not in python_functions.MATH:
        raise NotImplementedError(f"math.{function.__name__} isn't compiled here")
    if function is math.log and len(xs) == 2:
        bottom = math_function(math.log, numbers[1:], failures)
        top = math_function(math.log, numbers[:1], failures)
        return binary(operator.truediv, top, bottom, failures)
    found = python_functions.MATH[function](*xs)
    failures.note(python_functions.would_raise(found, xs))
    return Number(float, float, found)


def to_int(function: Any, a: Number, failures: Failures) -> Number:
    """Return what `int`, `round`, `math.floor` and their like give."""
    if a.dtype.kind == "c" or (function is math.trunc and a.first not in (float, np.float64)):
        raise NotImplementedError(f"{function.__name__} of such numbers isn't compiled here")
    if function is round and np.dtype(bool) in (a.kind, a.first):
        raise NotImplementedError("NumPy's bools can't be rounded")
    if a.dtype.kind in "bi":
        return Number(int, int, a.tensor(_HOLDING[int]), a.bound)
    found = python_functions.TO_INT[function](a.tensor(_HOLDING[float]))
    failures.note(~(torch.abs(found) < _MOST))
    return Number(int, int, found.to(torch.int64), _MOST)


def converted(kind: type, a: Number, failures: Failures) -> Number:
    """Return ``bool(a)``, ``int(a)`` or ``float(a)``."""
    if kind is bool:
        return Number(bool, bool, truth(a), 1.0)
    if kind is int:
        return to_int(int, a, failures)
    if a.dtype.kind == "c":
        raise NotImplementedError("float() of complex numbers raises")
    return Number(float, float, a.tensor(_HOLDING[float]))


def stored(a: Number, dtype: DType, failures: Failures) -> torch.Tensor:
    """Return what an array of a dtype holds after numbers were stored to it, one by one."""
    x = a.tensor()
    if dtype.kind in ("b", "c"):
        return cast(truth(a) if dtype.kind == "b" else x, dtype)
    if a.dtype.kind == "c":
        raise NotImplementedError("complex numbers are stored to real ones")
    if dtype.kind == "f":
        return cast(x.to(torch.float64), dtype)
    whole = x.to(torch.float64)
    bounds = np.iinfo(dtype)
    is_same = dtype == np.int64 and a.dtype.kind in "bi"
    if not (is_same or (a.bound <= bounds.max and bounds.min <= -a.bound)):
        failures.note(~((whole > bounds.min - 1.0) & (whole < bounds.max + 1.0)))
        if dtype.itemsize == 8:
            failures.note(~(torch.abs(whole) < _MOST))
    return cast(cast(x, _HOLDING[int]), dtype)


def same_kind(a: Number, b: Number) -> bool:
    """Whether two numbers are of one kind, in the first call too."""
    return a.kind == b.kind and a.first == b.first


def chosen(condition: torch.Tensor, a: Number, b: Number) -> Number:
    """Return a where a condition holds, otherwise b; both of one kind."""
    dtype = to_torch(a.dtype)
    data = torch.where(condition, a.tensor().to(dtype), b.tensor().to(dtype))
    return Number(a.kind, a.first, data, max(a.bound, b.bound))
