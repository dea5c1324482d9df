"""Kernels of the ufuncs that compare numbers, choose one of two, or take truth values."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import torch

from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.ufuncs import integers
from npaccel._numpy.ufuncs.integers import Compute, Operand, dtype_of_first
from npaccel._numpy.ufuncs.kernel_selection import as_tensors, complex_or


def isfinite(x: torch.Tensor) -> torch.Tensor:
    """Return which numbers are finite; of floats by one comparison, where torch takes two."""
    return torch.abs(x) < math.inf if x.is_floating_point() else torch.isfinite(x)


# Comparison and order


def _complex_order(strict: Compute, tail: Compute) -> Compute:
    """Order complex numbers by the real part, then the imaginary, as NumPy does."""

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        by_real: torch.Tensor = strict(a.real, b.real) & ~torch.isnan(a.imag) & ~torch.isnan(b.imag)
        tied: torch.Tensor = (a.real == b.real) & tail(a.imag, b.imag)
        return by_real | tied

    return kernel


_complex_greater_equal = _complex_order(operator.gt, operator.ge)


def comparison(op: Compute) -> Compute:
    """Make the kernel of one of Python's six comparison operators."""
    by_order = integers.by_order(op, result="bool")
    if op in (operator.eq, operator.ne):
        on_complex: Compute = op
    else:
        strict = operator.lt if op in (operator.lt, operator.le) else operator.gt
        on_complex = as_tensors(_complex_order(strict, op))

    def kernel(a: Operand, b: Operand) -> torch.Tensor:
        if _mixed(a, b):
            return _MIXED[op](a, b)  # type: ignore[no-any-return]
        if dtype_of_first(a, b).is_complex:
            return on_complex(a, b)  # type: ignore[no-any-return]
        return by_order(a, b)  # type: ignore[no-any-return]

    return kernel


def _mixed(a: Operand, b: Operand) -> bool:
    """Whether int64 is compared with uint64."""
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype != b.dtype


_MIXED: dict[Compute, Compute] = {
    operator.eq: integers.mixed_equal,
    operator.ne: lambda a, b: ~integers.mixed_equal(a, b),
    operator.lt: integers.mixed_less,
    operator.le: functools.partial(integers.mixed_less, equal=True),
    operator.gt: lambda a, b: integers.mixed_less(b, a),
    operator.ge: lambda a, b: integers.mixed_less(b, a, equal=True),
}


def _choose(first: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.where(first, a, b)


def _complex_maximum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _choose(_complex_greater_equal(a, b) | torch.isnan(a), a, b)


def _complex_minimum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _choose(_complex_less_equal(a, b) | torch.isnan(a), a, b)


def _complex_fmax(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _choose(_complex_greater_equal(a, b) | torch.isnan(b), a, b)


def _complex_fmin(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _choose(_complex_less_equal(a, b) | torch.isnan(b), a, b)


_complex_less_equal = _complex_order(operator.lt, operator.le)


@functools.cache
def _first_of_equals(ufunc: np.ufunc, dtype: torch.dtype) -> bool:
    """Whether NumPy chooses the first of two zeros of different sign, on this processor."""
    kind = str(dtype).removeprefix("torch.")
    return not np.signbit(ufunc(np.zeros(1, kind), np.full(1, -0.0, kind))[0])


def _extreme(ufunc: np.ufunc, native: Compute, better: Compute, as_good: Compute) -> Compute:
    """Choose one of two real numbers; of two zeros the one that NumPy chooses.

    Inductor's code for CPUs chooses as NumPy does with vectors, but for float16. torch's own
    kernels choose one zero in vectors and the other in what is left over, and GPUs the greater.
    """

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if not a.dtype.is_floating_point or wants_gradients(a, b):
            return native(a, b)  # type: ignore[no-any-return]
        compiled = type(a) is not torch.Tensor and a.device.type == "cpu"
        first = _first_of_equals(ufunc, a.dtype)
        if compiled and not first:
            return native(a, b)  # type: ignore[no-any-return]
        return _choose((as_good if first else better)(a, b) | torch.isnan(a), a, b)

    return kernel


maximum = complex_or(
    _complex_maximum,
    integers.by_order(_extreme(np.maximum, torch.maximum, operator.gt, operator.ge)),
)
minimum = complex_or(
    _complex_minimum,
    integers.by_order(_extreme(np.minimum, torch.minimum, operator.lt, operator.le)),
)


def _ignoring_nan(op: Compute) -> Compute:
    """Choose one of two real numbers, NaN only of two NaN: Inductor's own isn't vectorised."""

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if not a.dtype.is_floating_point:
            return _choose(op(a, b), a, b)
        return _choose(op(a, b), a, _choose(torch.isnan(b), a, b))

    return kernel


fmax = complex_or(_complex_fmax, integers.by_order(_ignoring_nan(operator.ge)))
fmin = complex_or(_complex_fmin, integers.by_order(_ignoring_nan(operator.le)))


def truth(x: torch.Tensor) -> torch.Tensor:
    """Return whether the elements are true."""
    return x if x.dtype == torch.bool else integers.as_signed(x) != 0


def logical(op: Compute) -> Compute:
    """Make the kernel of a logical ufunc from one on bools."""

    def kernel(*operands: torch.Tensor) -> torch.Tensor:
        return op(*(truth(x) for x in operands))  # type: ignore[no-any-return]

    return kernel
