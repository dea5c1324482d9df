"""Promotion as NumPy 1 did it: by the values of scalars.

The rules were read in the documentation of `numpy.result_type` of 1.26 and in
NEP 50, which calls them the old implementation.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from npaccel._numpy.core import operators
from npaccel._verify.instrument import Site
from npaccel._verify.observers import Observer, is_value

DType = np.dtype[Any]

_CATEGORIES = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 2}
#: Ufuncs whose loops are looked up by the common dtype of the operands.
_UNIFORM = frozenset(
    {
        *(np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin),
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(np.absolute, np.negative, np.positive),
    }
)
COMPARISONS = frozenset(
    {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
)


def is_scalar(x: Any) -> bool:
    """Whether NumPy 1 looked at an operand's value: it has no dimensions."""
    return not isinstance(x, np.dtype | type) and np.ndim(x) == 0


def _dtype(x: Any) -> DType:
    if isinstance(x, np.dtype | type):
        return np.dtype(x)
    return np.asarray(x).dtype


def looks_at_values(operands: Sequence[Any]) -> bool:
    """Whether scalars count by their values: there are arrays of the same kind or a higher one."""
    scalars = [_category(_dtype(x)) for x in operands if is_scalar(x)]
    arrays = [_category(_dtype(x)) for x in operands if not is_scalar(x)]
    return bool(scalars and arrays) and max(arrays) >= max(scalars)


def _category(dtype: DType) -> int:
    return _CATEGORIES.get(dtype.kind, 3)


def _smallest(x: Any) -> tuple[DType, bool]:
    """Return the smallest dtype of a value, and whether its signed twin would do."""
    dtype = np.min_scalar_type(x)
    if dtype.kind != "u":
        return dtype, False
    return dtype, int(x) <= np.iinfo(_signed(dtype)).max


def _signed(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")


def result_type(*operands: Any) -> DType:
    """Return `numpy.result_type` as it was in NumPy 1.

    Parameters
    ----------
    *operands : array, NumPy scalar, Python number or dtype

    Examples
    --------
    >>> import numpy as np
    >>> result_type(np.int8, 255)
    dtype('int16')
    >>> result_type(np.array([1.0], np.float32), np.float64(3))
    dtype('float32')
    """
    by_value = looks_at_values(operands)
    parts = [_smallest(x) if by_value and is_scalar(x) else (_dtype(x), False) for x in operands]
    dtype, small = parts[0]
    for other, other_small in parts[1:]:
        if small and not other_small and other.kind != "u":
            dtype = _signed(dtype)
        elif other_small and not small and dtype.kind != "u":
            other = _signed(other)
        dtype, small = np.promote_types(dtype, other), small and other_small
    return dtype


def can_cast(x: Any, to: Any, casting: Any = "safe") -> bool:
    """Return `numpy.can_cast` as it was in NumPy 1: scalars count by their values."""
    if not is_scalar(x):
        return np.can_cast(_dtype(x), to, casting)
    dtype, small = _smallest(x)
    return np.can_cast(dtype, to, casting) or (small and np.can_cast(_signed(dtype), to, casting))


def loop_dtypes(ufunc: np.ufunc, operands: Sequence[Any]) -> tuple[DType, ...] | None:
    """Return the dtypes in which NumPy 1 computed a ufunc: of operands, then results.

    None where it has no such loop.
    """
    dtypes = [_dtype(x) for x in operands]
    if ufunc is np.true_divide and all(dtype.kind in "bui" for dtype in dtypes):
        return (np.dtype(np.float64),) * 3
    if any(dtype.kind not in _CATEGORIES for dtype in dtypes):
        return (result_type(*operands),) * (ufunc.nin + ufunc.nout)
    if ufunc in _UNIFORM:
        common = result_type(*operands)
        out = np.dtype(bool) if ufunc in COMPARISONS else common
        if ufunc is np.absolute and common.kind == "c":
            out = np.dtype(f"f{common.itemsize // 2}")
        return (*(common for _ in operands), out)
    by_value = looks_at_values(operands)
    for text in ufunc.types:
        inputs, outputs = (tuple(map(np.dtype, part)) for part in text.split("->"))
        pairs = zip(operands, dtypes, inputs, strict=True)
        if all(
            can_cast(x, to) if by_value and is_scalar(x) else np.can_cast(own, to)
            for x, own, to in pairs
        ):
            return (*inputs, *outputs)
    return None


def ufunc_of(function: Any) -> np.ufunc | None:
    """Return the ufunc behind an operator or a function."""
    if isinstance(function, np.ufunc):
        return function
    plain = operators.INPLACE.get(function, function)
    found: np.ufunc | None = operators.BINARY.get(plain) or operators.UNARY.get(plain)
    return found


class OldPromotion(Observer):
    """Compute as NumPy 1 did: dtypes depend on the values of scalars."""

    def compute(
        self, where: Site, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Compute an operation in NumPy 1's dtypes."""
        ufunc = ufunc_of(function)
        if ufunc is not None and len(operands) == ufunc.nin and not keywords.keys() - {"out"}:
            return self._ufunc(ufunc, function, operands, keywords)
        if function is np.where and len(operands) == 3:
            dtype = result_type(*operands[1:])
            return np.where(operands[0], *(_cast(x, dtype) for x in operands[1:]))
        if function is np.can_cast:
            return can_cast(*operands, **keywords)
        if function is np.result_type:
            return result_type(*operands)
        try:
            return super().compute(where, function, operands, keywords)
        except OverflowError:
            return wrapped(function, operands, keywords)

    def _ufunc(
        self,
        ufunc: np.ufunc,
        function: Any,
        operands: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        dtypes = loop_dtypes(ufunc, operands)
        if dtypes is None:
            return function(*operands, **keywords)
        cast = [_cast(x, dtype) for x, dtype in zip(operands, dtypes, strict=False)]
        with np.errstate(all="ignore"):
            result = ufunc(*cast)
        target = keywords.get("out")
        if function in operators.INPLACE and isinstance(operands[0], np.ndarray):
            target = operands[0]
        if not isinstance(target, np.ndarray):
            return result
        np.copyto(target, result, casting="same_kind")
        return target


def _cast(x: Any, dtype: DType) -> Any:
    if type(x) is int and dtype.kind in "iu":  # It may be too large for any dtype.
        unsigned = np.dtype(f"u{dtype.itemsize}").type(x % (1 << 8 * dtype.itemsize))
        return unsigned.astype(dtype)
    with np.errstate(all="ignore"):
        found = np.asarray(x).astype(dtype)
    return found if isinstance(x, np.ndarray | list | tuple) else found[()]


def wrapped(function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Repeat what raised OverflowError with integers wrapped around, as NumPy 1 did."""
    if function is operator.setitem:
        target, key, value = operands
        target[key] = _cast(value, target.dtype)
        return None
    if isinstance(function, type) and issubclass(function, np.generic):
        return _cast(operands[0], np.dtype(function))
    dtype = keywords.get("dtype")
    if dtype is not None and function in (np.array, np.asarray):
        return _cast(np.asarray(operands[0]), np.dtype(dtype))
    ufunc = ufunc_of(function)
    if ufunc is None:
        raise OverflowError(f"{function.__name__} of a Python int that doesn't fit")
    strong = next(np.asarray(x).dtype for x in operands if is_value(x))
    return ufunc(*(x if is_value(x) else _cast(x, strong) for x in operands))
