"""Python's operators on arrays: the ufuncs that ndarray maps them to."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import DType, as_tensor, is_scalar, is_weak_number, to_numpy
from npaccel._numpy.ufuncs.dispatch import is_symbolic
from npaccel._numpy.ufuncs.ufuncs import IMPLEMENTATIONS

Operator = Callable[..., Any]

BINARY: dict[Operator, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.matmul: np.matmul,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    builtins.divmod: np.divmod,
}

UNARY: dict[Operator, np.ufunc] = {
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    builtins.abs: np.absolute,
    operator.invert: np.invert,
    operator.inv: np.invert,
}

#: The in-place operators, and the operator that each stands for.
INPLACE: dict[Operator, Operator] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    operator.imatmul: operator.matmul,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
}

#: Functions that ndarray computes instead of a power of floats.
_POWERS: dict[float, np.ufunc] = {
    -1.0: np.reciprocal,
    0.5: np.sqrt,
    1.0: np.positive,
    2.0: np.square,
}


def binary(op: Operator, a: Any, b: Any) -> Any:
    """Return ``op(a, b)`` for operands of which one stands for an array.

    Parameters
    ----------
    op : callable
        One of `operator`'s functions of two operands, or `divmod`.
    a, b : tensor, Python scalar or nested list
        The operands; two Python scalars are left to Python.

    Returns
    -------
    tensor, or a pair of them for `divmod`

    Raises
    ------
    TypeError, ValueError, OverflowError
        What NumPy raises for the same operands.
    """
    if is_scalar(a) and is_scalar(b):
        return op(a, b)
    if op is operator.pow:
        return power(a, b)
    return IMPLEMENTATIONS[BINARY[op]](a, b)


def unary(op: Operator, a: Any) -> Any:
    """Return ``op(a)``.

    Parameters
    ----------
    op : callable
        One of `operator`'s functions of one operand, or `abs`.
    a : tensor or Python scalar
        The operand.

    Returns
    -------
    tensor

    Raises
    ------
    TypeError
        If NumPy has no such operation for the dtype (minus a bool).
    """
    if is_scalar(a):
        return op(a)
    return IMPLEMENTATIONS[UNARY[op]](a)


def inplace(op: Operator, a: Any, b: Any) -> Any:
    """Run an in-place operator such as ``a += b``; arrays are written, not rebound.

    Parameters
    ----------
    op : callable
        One of `operator`'s in-place functions.
    a : tensor or Python scalar
        What is changed. A tensor without dimensions is written too.
    b : tensor, Python scalar or nested list
        The other operand.

    Returns
    -------
    tensor
        `a` itself, or a new result where `a` is no tensor.

    Raises
    ------
    TypeError
        If the result can't be cast to the dtype of `a` (NumPy's rule "same_kind").
    ValueError
        If the result hasn't the shape of `a`.
    """
    plain = INPLACE[op]
    if not isinstance(a, torch.Tensor):
        return binary(plain, a, b)
    if plain is operator.pow:
        return power(a, b, a, of_array=True)
    if plain is operator.matmul:
        op(_stand_in(a), b if is_scalar(b) else _stand_in(as_tensor(b)))
    return IMPLEMENTATIONS[BINARY[plain]](a, b, out=a)


def _stand_in(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return an array of one element to let NumPy raise for its dtype and dimensions."""
    return np.ones((1,) * x.ndim, dtype=to_numpy(x.dtype))


def power(a: Any, b: Any, out: torch.Tensor | None = None, *, of_array: bool = False) -> Any:
    """Raise to a power, by another ufunc where ndarray takes one for a Python number.

    That matters for the values: the square root of -inf is NaN, its power
    0.5 is inf. NumPy's scalars know no such paths.

    Parameters
    ----------
    a, b : tensor, or Python scalar
    out : tensor, optional
        Where to write.
    of_array : bool
        Whether a tensor without dimensions stands for an array, not for a scalar.
    """
    if isinstance(a, torch.Tensor) and (of_array or a.ndim > 0):
        if _is_plain_number(b):
            ufunc = _ufunc_of_power(to_numpy(a.dtype), type(b).__name__, b)
            if ufunc is not None:
                return IMPLEMENTATIONS[ufunc](a, out=out)
        elif is_weak_number(b) and a.is_floating_point():  # The root is the one that differs.
            if out is not None:
                raise NotImplementedError("a power that may be a square root")
            return torch.where(
                b == 0.5, IMPLEMENTATIONS[np.sqrt](a), IMPLEMENTATIONS[np.power](a, b)
            )
    return IMPLEMENTATIONS[np.power](a, b, out=out)


@functools.lru_cache(maxsize=256)
def _ufunc_of_power(dtype: DType, kind: str, exponent: float) -> np.ufunc | None:
    """Return what the installed NumPy's arrays compute for a power, if it isn't `power`.

    `kind` keeps 2 apart from 2.0: complex numbers may have a path for one of them only.
    """
    fast = _POWERS.get(exponent)
    if fast is None or dtype.kind == "f":
        return fast
    if dtype.kind != "c":  # There's one for squares only; NumPy's bools become int8 by it.
        known = np.ones(1, dtype)
        squares = fast is np.square and (known**exponent).dtype == np.square(known).dtype
        return fast if squares else None
    ends = (-np.inf, -0.0, 1e30, np.inf)
    known = np.array([complex(real, imag) for real in ends for imag in ends], dtype)
    with np.errstate(all="ignore"):
        found, other = (np.asarray(x).tobytes() for x in (known**exponent, fast(known)))
    return fast if found == other else None


def _is_plain_number(b: Any) -> bool:
    return isinstance(b, int | float) and not isinstance(b, bool) and not is_symbolic(b)
