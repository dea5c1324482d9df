"""Kernels of the ufuncs: torch computations on operands in the loop's dtypes.

Each gets tensors that the engine has cast already. For the ordinary dtypes a
kernel is one torch op; what follows the name's first branch is for the others.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from typing import Any

import numpy as np
import torch

from npaccel import _host_kernels as host
from npaccel._host_operators import as_array
from npaccel._numpy import _ufunc_integers as integers
from npaccel._numpy._ufunc_integers import Compute, Operand, dtype_of_first, is_integral
from npaccel._torch_internals.sizes import refuse_where, surely


def in_float32(compute: Compute) -> Compute:
    """Compute float16 in float32, as NumPy does, and round once."""

    @functools.wraps(compute)
    def kernel(*operands: Any) -> Any:
        if operands[0].dtype != torch.float16:
            return compute(*operands)
        wide = (x.to(torch.float32) if isinstance(x, torch.Tensor) else x for x in operands)
        found = compute(*wide)
        if isinstance(found, tuple):
            return tuple(x.to(torch.float16) for x in found)
        return found.to(torch.float16) if found.dtype == torch.float32 else found

    return kernel


def divide(a: torch.Tensor, b: Operand) -> torch.Tensor:
    """Divide; where a graph is interpreted, NumPy divides complex numbers: torch rounds otherwise.

    Inductor's quotients are written out after NumPy's formula. On a GPU torch multiplies by the
    reciprocal of a number, and its quotients of complex numbers aren't NumPy's.
    """
    if a.device.type != "cpu" and isinstance(b, int | float | complex):
        b = torch.full((), b, dtype=a.dtype, device=a.device)
    tensors = [x for x in (a, b) if isinstance(x, torch.Tensor)]
    is_complex = any(x.is_complex() for x in tensors)
    if is_complex and a.device.type != "cpu" and not any(x.requires_grad for x in tensors):
        return _complex_quotient(*tensors)
    if is_complex and all(type(x) is torch.Tensor for x in tensors) and host.usable(*tensors):
        with np.errstate(all="ignore"):
            found = np.true_divide(as_array(a), as_array(b))
        return torch.from_numpy(np.asarray(found))
    return torch.div(a, b)


def _complex_quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divide after Smith as NumPy does (loops.c.src), part by part."""
    upright = torch.abs(b.real) >= torch.abs(b.imag)
    large, small = (torch.where(upright, *parts) for parts in ((b.real, b.imag), (b.imag, b.real)))
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    real = torch.where(upright, a.real + a.imag * ratio, a.real * ratio + a.imag) * scale
    imag = torch.where(upright, a.imag - a.real * ratio, a.imag * ratio - a.real) * scale
    nothing = (b.real == 0) & (b.imag == 0)
    zero = torch.abs(b.real)
    return torch.complex(
        torch.where(nothing, a.real / zero, real), torch.where(nothing, a.imag / zero, imag)
    )


def integers_or(integer: Compute, floating: Compute) -> Compute:
    """Choose between two kernels by the dtype."""

    def kernel(*operands: Operand) -> Any:
        chosen = integer if is_integral(dtype_of_first(*operands)) else floating
        return chosen(*operands)

    return kernel


def copy(x: torch.Tensor) -> torch.Tensor:
    """Return a copy, as NumPy does where a ufunc changes nothing."""
    return x.clone()


def complex_or(complex_kernel: Compute, real_kernel: Compute) -> Compute:
    """Choose between two kernels by the dtype."""

    def kernel(*operands: Operand) -> Any:
        chosen = complex_kernel if dtype_of_first(*operands).is_complex else real_kernel
        return chosen(*operands)

    return kernel


def or_by_numpy(name: str, compute: Compute) -> Compute:
    """Call NumPy's kernel where it is faster than the code that torch compiles."""

    def kernel(x: torch.Tensor) -> torch.Tensor:
        if host.ufunc_usable(name, x):
            return host.ufunc(x, name)
        return compute(x)  # type: ignore[no-any-return]

    kernel.by_numpy = name  # type: ignore[attr-defined]
    return kernel


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
        on_complex = _tensors(_complex_order(strict, op))

    def kernel(a: Operand, b: Operand) -> torch.Tensor:
        if _mixed(a, b):
            return _MIXED[op](a, b)  # type: ignore[no-any-return]
        if dtype_of_first(a, b).is_complex:
            return on_complex(a, b)  # type: ignore[no-any-return]
        return by_order(a, b)  # type: ignore[no-any-return]

    return kernel


def _tensors(compute: Compute) -> Compute:
    """Turn a Python number among the operands into a tensor like the other one."""

    def kernel(a: Operand, b: Operand) -> Any:
        if not isinstance(a, torch.Tensor):
            a = torch.full_like(b, a)
        if not isinstance(b, torch.Tensor):
            b = torch.full_like(a, b)
        return compute(a, b)

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
        if not a.dtype.is_floating_point or a.requires_grad or b.requires_grad:
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


# Arithmetic


def _fmod(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the rest of a division that rounds to zero; torch's is NaN if the quotient overflows.

    So the rest is taken by multiples of the divisor first, which are floats, too.
    """
    exponent = 104 if b.dtype == torch.float32 else 1000
    steps = [b]
    for _ in range(2):  # Two are enough for the largest number and the least divisor.
        far = torch.isfinite(a) & (torch.abs(a / steps[-1]) > 2.0 ** (exponent + 16))
        steps.append(torch.where(far & (b != 0), steps[-1] * 2.0**exponent, steps[-1]))
    for step in reversed(steps):
        a = torch.fmod(a, step)
    return a


def _by_rests(compute: Compute) -> Compute:
    """Make a kernel from one that is given how the rest of a division is taken."""

    def kernel(a: Operand, b: Operand) -> Any:
        is_large = isinstance(b, int | float) and abs(b) >= 1  # no quotient overflows then
        is_half = dtype_of_first(a, b) == torch.float16
        rest_of = torch.fmod if is_large or is_half else _fmod
        return _tensors(in_float32(functools.partial(compute, rest_of)))(a, b)

    return kernel


def _float_remainder(rest_of: Compute, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the remainder with the divisor's sign, a zero's sign included."""
    rest = rest_of(a, b)
    moved = torch.where((b < 0) != (rest < 0), rest + b, rest)
    return torch.where(rest != 0, moved, torch.copysign(torch.zeros_like(moved), b))


def _float_floor_divide(rest_of: Compute, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divide and floor without rounding up first (1 // 0.1 is 9, though 1 / 0.1 is 10)."""
    rest = rest_of(a, b)
    plain = a / b
    quotient = (a - rest) / b
    quotient = torch.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    floor = torch.floor(quotient)
    floor = torch.where(quotient - floor > 0.5, floor + 1, floor)
    floor = torch.where(quotient != 0, floor, torch.copysign(torch.zeros_like(floor), plain))
    return torch.where(b == 0, plain, floor)


def _float_divmod(
    rest_of: Compute, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return _float_floor_divide(rest_of, a, b), _float_remainder(rest_of, a, b)


floor_divide = integers_or(integers.floor_divide, _by_rests(_float_floor_divide))
remainder = integers_or(integers.remainder, _by_rests(_float_remainder))
fmod = integers_or(integers.fmod, _by_rests(lambda rest_of, a, b: rest_of(a, b)))
divmod_ = integers_or(integers.divmod_, _by_rests(_float_divmod))


def _by_parts(op: Compute) -> Compute:
    """Add or subtract complex tensors by parts: torch's own turns inf+0j into inf+nanj."""

    def kernel(a: Operand, b: Operand) -> torch.Tensor:
        number = next((x for x in (a, b) if not isinstance(x, torch.Tensor)), None)
        if isinstance(number, int | float | complex) and not cmath.isfinite(number):
            return _tensors(kernel)(a, b)  # type: ignore[no-any-return]
        if number is not None:
            return op(a, b)  # type: ignore[no-any-return]
        parts = (torch.view_as_real(torch.resolve_conj(x)) for x in (a, b))
        return torch.view_as_complex(op(*parts))

    return kernel


add = complex_or(_by_parts(operator.add), integers.by_bits(operator.add))
subtract = complex_or(_by_parts(operator.sub), integers.by_bits(operator.sub))


def _complex_negative(x: torch.Tensor) -> torch.Tensor:
    """Negate both parts: torch's own vectors subtract from 0, which is 0.0 for 0.0."""
    return torch.view_as_complex(-torch.view_as_real(torch.resolve_conj(x)))


negative = complex_or(_complex_negative, integers.by_bits(torch.neg))


def _complex_power(a: torch.Tensor, b: Operand) -> torch.Tensor:
    """Raise complex numbers; the power 0 gives 1, and 0 to a positive real power is 0."""
    is_number = isinstance(b, int | float | complex) and b.imag == 0 and 0 < abs(b.real) < 100
    if is_number and b.real == int(b.real):
        return _multiplied(a, int(b.real))
    found = torch.pow(a, b)
    if not isinstance(b, torch.Tensor):
        return found
    found = torch.where((a == 0) & (b.real > 0), torch.zeros_like(found), found)
    return torch.where(b == 0, torch.ones_like(found), found)


def _multiplied(a: torch.Tensor, power: int) -> torch.Tensor:
    """Raise complex numbers to whole powers by products, in npymath's order (npy_cpow)."""
    found: torch.Tensor | None = None
    if 0 < power <= 3:
        found = a if power == 1 else a * a if power == 2 else a * (a * a)
    else:
        squared = a
        for bit in reversed(f"{abs(power):b}"):
            if bit == "1":
                found = _times_one(squared) if found is None else found * squared
            squared = squared * squared
    assert found is not None
    if power < 0:
        found = divide(torch.ones_like(a), found)
    of_zero = torch.full_like(a, 0 if power > 0 else complex(math.nan, math.nan))
    return torch.where(a == 0, of_zero, found)


def _times_one(x: torch.Tensor) -> torch.Tensor:
    """Multiply complex numbers by 1+0j, which makes NaN of infinities; compilers leave it out."""
    return torch.complex(x.real - 0.0 * x.imag, x.imag + 0.0 * x.real)


def complex_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """Invert complex numbers by the larger part, as NumPy does."""
    real, imag = x.real, x.imag
    wide = torch.abs(imag) <= torch.abs(real)
    ratio = torch.where(wide, imag / real, real / imag)
    size = torch.where(wide, real + imag * ratio, real * ratio + imag)
    inverse = 1 / size
    small = ratio / size
    return torch.complex(torch.where(wide, inverse, small), -torch.where(wide, small, inverse))


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _is_empty(x: Operand) -> bool:
    return isinstance(x, torch.Tensor) and surely(x.numel() == 0)


def power(a: Operand, b: Operand) -> torch.Tensor:
    """Raise to a power; whole numbers wrap.

    Raises
    ------
    ValueError
        If integers are raised to a negative int, as in NumPy.
    """
    dtype = dtype_of_first(a, b)
    if is_integral(dtype):
        if isinstance(b, int) and b < 0:
            if not _is_empty(a):
                raise ValueError(_NEGATIVE_POWER)
            b = 0
        if isinstance(b, torch.Tensor) and b.dtype.is_signed and not _is_empty(a):
            refuse_where(b < 0, ValueError(_NEGATIVE_POWER))
        return integers.power(a, b)  # type: ignore[no-any-return]
    if dtype.is_complex:
        return _complex_power(a, b)
    if isinstance(b, float) and abs(b) == 0.5:
        # torch's root of -inf is NaN, and of -0.0 it is -0.0: not so the power
        b = torch.full_like(a, b)
    return torch.pow(a, b)


def _plain_square(x: torch.Tensor) -> torch.Tensor:
    return x * x


square = integers.by_bits(_plain_square)


def hypot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the hypotenuse; CUDA's is infinite already beside the largest number."""
    found = torch.hypot(a, b)
    if a.device.type == "cpu" or a.requires_grad or b.requires_grad:
        return found
    a, b = torch.abs(a), torch.abs(b)
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    ratio = small / large
    nearly = large * torch.sqrt(1 + ratio * ratio)
    return torch.where(torch.isinf(found) & torch.isfinite(large), nearly, found)


def _size(x: torch.Tensor) -> torch.Tensor:
    if x.is_complex() and x.device.type != "cpu":
        return hypot(x.real, x.imag)
    return torch.abs(x)


absolute = integers_or(integers.absolute, _size)
conjugate = complex_or(torch.conj_physical, copy)


def _float_sign(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isnan(x), x, torch.sign(x))


def _complex_sign(x: torch.Tensor) -> torch.Tensor:
    """Return ``x / |x|``; 0 for 0, NaN where a part is or both are infinite."""
    size = torch.abs(x)
    one, zero = torch.ones_like(x.real), torch.zeros_like(x.real)
    by_real = torch.complex(torch.copysign(one, x.real), zero)
    by_imag = torch.complex(zero, torch.copysign(one, x.imag))
    at_infinity = torch.where(torch.isinf(x.real), by_real, by_imag)
    undefined = torch.isnan(size) | (torch.isinf(x.real) & torch.isinf(x.imag))
    found = torch.where(torch.isinf(size), at_infinity, torch.sgn(x))
    return torch.where(undefined, torch.full_like(x, complex(math.nan, math.nan)), found)


def _integer_sign(x: torch.Tensor) -> torch.Tensor:
    return (x != 0).to(x.dtype) if x.dtype in integers.SIGNED else torch.sign(x)


sign = integers_or(_integer_sign, complex_or(_complex_sign, _float_sign))


@in_float32
def heaviside(x: torch.Tensor, at_zero: torch.Tensor) -> torch.Tensor:
    """Return 0 below zero, 1 above, the second operand at zero, NaN for NaN."""
    step = torch.where(torch.isnan(x), x, (x > 0).to(x.dtype))
    return torch.where(x == 0, at_zero, step)


@in_float32
def _float_cbrt(x: torch.Tensor) -> torch.Tensor:
    """Return the cube root: a power, then one step of Newton's for the last bits.

    The step is left out for 0, infinity and NaN.
    """
    size = torch.abs(x)
    root = torch.pow(size, 1.0 / 3.0)
    better = root - (root - size / (root * root)) / 3.0
    normal = (size > 0) & (size < math.inf)
    return torch.copysign(torch.where(normal, better, root), x)


cbrt = or_by_numpy("cbrt", _float_cbrt)


def _complex_rint(x: torch.Tensor) -> torch.Tensor:
    return torch.complex(torch.round(x.real), torch.round(x.imag))


rint = complex_or(_complex_rint, torch.round)


def _float_expm1(x: torch.Tensor) -> torch.Tensor:
    """Return ``exp(x) - 1`` near 0 too, where Inductor's loses the last half of the digits."""
    near = 2 * torch.exp(x / 2) * torch.sinh(x / 2)
    return torch.where(torch.abs(x) < 1, near, torch.exp(x) - 1)


def _float_arccosh(x: torch.Tensor) -> torch.Tensor:
    """Return the area cosine; Inductor's overflows where the square does."""
    return torch.where(x > 1e9, torch.log(x) + math.log(2), torch.acosh(x))


def _float_arctanh(x: torch.Tensor) -> torch.Tensor:
    """Return the area tangent near 0 too, where Inductor's loses its digits."""
    return (torch.log1p(x) - torch.log1p(-x)) / 2


#: From here on exp(-x) is nothing beside exp(x), for float64 as for float32.
_FAR = 80.0


def _far_out(x: torch.Tensor) -> torch.Tensor:
    """Return ``exp(abs(x)) / 2``, also where the exponential itself overflows."""
    half = torch.exp(torch.abs(x) / 2)
    return half / 2 * half


def _float_cosh(x: torch.Tensor) -> torch.Tensor:
    """Return the hyperbolic cosine; Inductor's overflows where the exponential does."""
    return torch.where(torch.abs(x) > _FAR, _far_out(x), torch.cosh(x))


def _float_sinh(x: torch.Tensor) -> torch.Tensor:
    """Return the hyperbolic sine; Inductor's overflows where the exponential does."""
    far = torch.copysign(_far_out(x), x)
    return torch.where(torch.abs(x) > _FAR, far, torch.sinh(x))


arctanh = or_by_numpy("arctanh", complex_or(torch.atanh, in_float32(_float_arctanh)))
expm1 = or_by_numpy("expm1", complex_or(torch.expm1, in_float32(_float_expm1)))
arccosh = or_by_numpy("arccosh", complex_or(torch.acosh, in_float32(_float_arccosh)))
arcsinh = or_by_numpy("arcsinh", torch.asinh)
arctan = or_by_numpy("arctan", torch.atan)
cosh = or_by_numpy("cosh", complex_or(torch.cosh, in_float32(_float_cosh)))
log1p = or_by_numpy("log1p", torch.log1p)
sinh = or_by_numpy("sinh", complex_or(torch.sinh, in_float32(_float_sinh)))
tanh = or_by_numpy("tanh", torch.tanh)


# Parts of floats


@in_float32
def modf(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the fraction and the whole part, both with the operand's sign."""
    whole = torch.trunc(x)
    fraction = torch.where(torch.isinf(x), torch.zeros_like(x), x - whole)
    return torch.copysign(fraction, x), whole


#: The integer dtype of a float's bits, bits of the mantissa, and the exponent's bias.
_LAYOUT: dict[torch.dtype, tuple[torch.dtype, int, int]] = {
    torch.float32: (torch.int32, 23, 127),
    torch.float64: (torch.int64, 52, 1023),
}


def frexp(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mantissa and exponent from the bits; the exponent of NaN and infinity is 0.

    Inductor compiles `torch.frexp` of float64 to C++ that doesn't build where
    the exponent is used further (torch 2.13).
    """
    if x.dtype == torch.float16:
        mantissa, exponent = frexp(x.to(torch.float32))
        return mantissa.to(torch.float16), exponent
    whole, digits, bias = _LAYOUT[x.dtype]
    # a subnormal number is scaled into the normal range first
    small = torch.abs(x) < torch.finfo(x.dtype).tiny
    bits = torch.where(small, x * 2.0 ** (digits + 2), x).view(whole)
    places = 2 * bias + 1
    exponent = ((bits >> digits) & places) - (bias - 1)
    exponent = torch.where(small, exponent - (digits + 2), exponent)
    mantissa = ((bits & ~(places << digits)) | ((bias - 1) << digits)).view(x.dtype)
    ordinary = torch.isfinite(x) & (x != 0)
    exponent = torch.where(ordinary, exponent, torch.zeros_like(exponent))
    return torch.where(ordinary, mantissa, x), exponent.to(torch.int32)


def _two_to_the(exponent: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a power of two from its bits, exactly; exponents in the normal range."""
    whole, digits, bias = _LAYOUT[dtype]
    return ((exponent.to(whole) + bias) << digits).view(dtype)


def ldexp(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Return ``x * 2**exponent``, rounded once, even where the power overflows."""
    if x.dtype == torch.float16:
        return ldexp(x.to(torch.float32), exponent).to(torch.float16)
    last = _LAYOUT[x.dtype][2]
    mantissa, own = frexp(x)
    total = torch.clamp(exponent.to(torch.int64), -(2**31), 2**31) + own
    total = torch.clamp(total, -last - 60, last + 60)
    first = torch.clamp(total, -last + 2, last)
    scaled = mantissa * _two_to_the(first, x.dtype)
    return scaled * _two_to_the(total - first, x.dtype)


#: What float16's nextafter(-0.0, 0.0) is: C's answer, 0.0, from NumPy 2.5 on.
_EQUAL_GIVES_SECOND = not np.signbit(np.nextafter(np.float16(-0.0), np.float16(0.0)))


def nextafter(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the next float towards the second operand.

    That of float16 is found from the bits: compiled code widens float16.
    """
    if a.dtype != torch.float16:
        return torch.nextafter(a, b)
    bits = a.view(torch.int16).to(torch.int32)
    moved = torch.where((a < b) == (a > 0), bits + 1, bits - 1)
    smallest = torch.copysign(torch.full_like(a, 2.0**-24), b)
    found = torch.where(a == 0, smallest, moved.to(torch.int16).view(torch.float16))
    return torch.where(
        a == b,
        b if _EQUAL_GIVES_SECOND else a,
        torch.where(torch.isnan(a) | torch.isnan(b), a + b, found),
    )


def spacing(x: torch.Tensor) -> torch.Tensor:
    """Return the distance to the next float: away from 0, or upwards for float16."""
    up = torch.full_like(x, math.inf)
    if x.dtype != torch.float16:
        up = torch.copysign(up, x)
        # NumPy takes the smallest number, not its negative, for -0.0
        up = torch.where(x == 0, torch.full_like(x, math.inf), up)
    return torch.where(torch.isinf(x), torch.full_like(x, math.nan), nextafter(x, up) - x)


@in_float32
def logaddexp2(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return ``log2(2**a + 2**b)``."""
    size = torch.log1p(torch.exp2(-torch.abs(a - b))) * math.log2(math.e)
    return torch.where(a == b, a + 1, torch.maximum(a, b) + size)


@in_float32
def logaddexp(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return ``log(exp(a) + exp(b))``."""
    return torch.logaddexp(a, b)
