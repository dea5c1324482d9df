"""Integer kernels: wide unsigned dtypes, division, shifts, powers, bit counts.

torch computes little on uint16, uint32 and uint64. Where only the low bits
count (sums, products, bit logic) they are read as signed numbers of the same
width, at no cost. Otherwise the two narrower ones are widened to int64, and
uint64 gets kernels of its own on the bits of int64.

Division never meets a zero divisor, nor the smallest integer over -1: the
processor would trap. NumPy gives 0 for the first and wraps for the second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from npaccel._numpy.core.dtypes import to_numpy

#: Operands of a kernel: tensors in the loop's dtypes, one of them perhaps a Python number.
Operand: TypeAlias = Any
Compute: TypeAlias = Callable[..., Any]

#: Signed dtypes of the same width.
SIGNED: dict[torch.dtype, torch.dtype] = {
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}
INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


def dtype_of_first(*operands: Operand) -> torch.dtype:
    """Return the dtype of the first tensor among the operands."""
    return next(x.dtype for x in operands if isinstance(x, torch.Tensor))


def is_integral(dtype: torch.dtype) -> bool:
    """Whether a dtype is an integer or bool."""
    return not (dtype.is_floating_point or dtype.is_complex)


def as_signed(x: torch.Tensor) -> torch.Tensor:
    """Read the bits of a wide unsigned tensor as signed numbers; others as they are."""
    signed = SIGNED.get(x.dtype)
    return x if signed is None else x.view(signed)


def as_bits(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Read the bits of a tensor as another dtype of the same size.

    Where the dtype is the tensor's own it stays as it is: torch's reading of
    bits stops gradients.
    """
    return x if x.dtype == dtype else x.view(dtype)


def either(mask: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`torch.where` of two tensors of one dtype; torch 2.11 has none of wide unsigned ones."""
    if a.dtype not in SIGNED:
        return torch.where(mask, a, b)
    return torch.where(mask, as_signed(a), as_signed(b)).view(a.dtype)


def elements_at(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return ``x[index]``, unsigned integers by their bits: torch gathers none on a GPU."""
    return as_bits(as_signed(x)[index], x.dtype)


def ordered(x: torch.Tensor) -> torch.Tensor:
    """Map a wide unsigned tensor to int64 in the same order; others as they are."""
    if x.dtype == torch.uint64:
        return x.view(torch.int64) ^ INT64_MIN
    return x.to(torch.int64) if x.dtype in SIGNED else x


def from_ordered(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Undo `ordered`."""
    if dtype == torch.uint64:
        return (x ^ INT64_MIN).view(torch.uint64)
    return x.to(dtype) if dtype in SIGNED else x


def by_bits(compute: Compute) -> Compute:
    """Run a kernel on signed bits where only the low bits of the result count."""

    @functools.wraps(compute)
    def kernel(*operands: Operand) -> Any:
        dtype = dtype_of_first(*operands)
        if dtype not in SIGNED:
            return compute(*operands)
        return as_bits(compute(*(as_signed(x) for x in operands)), dtype)

    return kernel


def by_order(compute: Compute, result: str = "same") -> Compute:
    """Run a kernel that depends on nothing but order; `result`: "same" or "bool"."""

    @functools.wraps(compute)
    def kernel(*operands: Operand) -> Any:
        dtype = dtype_of_first(*operands)
        if dtype not in SIGNED:
            return compute(*operands)
        found = compute(*(ordered(x) for x in operands))
        return found if result == "bool" else from_ordered(found, dtype)

    return kernel


def widened(compute: Compute, uint64: Compute) -> Compute:
    """Run a kernel on int64 for uint16 and uint32, and another one for uint64."""

    @functools.wraps(compute)
    def kernel(*operands: Operand) -> Any:
        dtype = dtype_of_first(*operands)
        if dtype not in SIGNED:
            return compute(*operands)
        if dtype == torch.uint64:
            return _map(uint64(*(x.view(torch.int64) for x in operands)), _as_uint64)
        wide = compute(*(x.to(torch.int64) for x in operands))
        return _map(wide, lambda found: found.to(dtype))

    return kernel


def _map(found: Any, convert: Compute) -> Any:
    return tuple(map(convert, found)) if isinstance(found, tuple) else convert(found)


def _as_uint64(found: torch.Tensor) -> torch.Tensor:
    return found.view(torch.uint64)


def mixed_less(a: torch.Tensor, b: torch.Tensor, *, equal: bool = False) -> torch.Tensor:
    """Compare int64 with uint64 (in either order): ``a < b``, or ``a <= b``."""
    left, right = as_signed(a), as_signed(b)
    smaller = left <= right if equal else left < right
    if a.dtype == torch.uint64:
        return (left >= 0) & smaller
    return (right < 0) | smaller


def mixed_equal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Compare int64 with uint64: ``a == b``."""
    left, right = as_signed(a), as_signed(b)
    return (left == right) & (left >= 0)


def _safe_divisor(b: torch.Tensor) -> torch.Tensor:
    unsafe = b == 0 if b.dtype == torch.uint8 else (b == 0) | (b == -1)
    return torch.where(unsafe, torch.ones_like(b), b)


def _floor_divide(a: torch.Tensor, b: Operand) -> torch.Tensor:
    if not isinstance(b, torch.Tensor):
        return _floor_divide_by_number(a, b)
    found = torch.floor_divide(a, _safe_divisor(b))
    if b.dtype != torch.uint8:
        found = torch.where(b == -1, -a, found)
    return torch.where(b == 0, torch.zeros_like(found), found)


def _floor_divide_by_number(a: torch.Tensor, b: int) -> torch.Tensor:
    if b == 0:
        return torch.zeros_like(a)
    return -a if b == -1 else torch.floor_divide(a, b)


def _remainder(a: torch.Tensor, b: Operand) -> torch.Tensor:
    return _modulo(torch.remainder, a, b)


def _fmod(a: torch.Tensor, b: Operand) -> torch.Tensor:
    return _modulo(torch.fmod, a, b)


def _modulo(op: Compute, a: torch.Tensor, b: Operand) -> torch.Tensor:
    """Return 0 for divisors of 0 and -1, as every number modulo 1 is."""
    if isinstance(b, torch.Tensor):
        return op(a, _safe_divisor(b))  # type: ignore[no-any-return]
    return torch.zeros_like(a) if b in (0, -1) else op(a, b)


def unsigned_divmod(n: torch.Tensor, d: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide the bits of int64 as unsigned numbers; a divisor of 0 gives 0 and 0.

    Halving the dividend makes it a positive int64; the quotient found so is at
    most 1 too small (Warren, Hacker's Delight, 9-3).
    """
    n, d = torch.broadcast_tensors(n, d)  # type: ignore[no-untyped-call]
    small = torch.where(d > 0, d, torch.ones_like(d))
    half = (n >> 1) & INT64_MAX
    quotient = torch.floor_divide(half, small) << 1
    rest = n - quotient * small
    more = (rest ^ INT64_MIN) >= (small ^ INT64_MIN)
    big = (n ^ INT64_MIN) >= (d ^ INT64_MIN)
    quotient = torch.where(d < 0, big.to(torch.int64), quotient + more.to(torch.int64))
    quotient = torch.where(d == 0, torch.zeros_like(quotient), quotient)
    return quotient, torch.where(d == 0, torch.zeros_like(n), n - quotient * d)


def _unsigned_quotient(n: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    return unsigned_divmod(n, d)[0]


def _unsigned_rest(n: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    return unsigned_divmod(n, d)[1]


def _divmod(a: torch.Tensor, b: Operand) -> tuple[torch.Tensor, torch.Tensor]:
    return _floor_divide(a, b), _remainder(a, b)


floor_divide = widened(_floor_divide, _unsigned_quotient)
remainder = widened(_remainder, _unsigned_rest)
fmod = widened(_fmod, _unsigned_rest)
divmod_ = widened(_divmod, unsigned_divmod)


def _unsigned_gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the gcd; three steps of Euclid's bring both below 2**63."""
    a, b = torch.broadcast_tensors(a, b)  # type: ignore[no-untyped-call]
    for _ in range(3):
        rest = unsigned_divmod(a, b)[1]
        a, b = torch.where(b == 0, a, b), torch.where(b == 0, b, rest)
    return torch.where(b == 0, a, torch.gcd(torch.where(b == 0, b, a), b))


def _unsigned_lcm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return unsigned_divmod(a, _unsigned_gcd(a, b))[0] * b


def absolute(x: torch.Tensor) -> torch.Tensor:
    """Return the absolute value; that of the smallest number is itself."""
    if not x.dtype.is_signed or x.dtype == torch.bool:
        return x.clone()
    # Compiled to C++, torch's own is an int in which -128 becomes 128 until it is stored. On an
    # H200 so does `abs.s16`, that LLVM makes of all ways to write it with integers.
    if x.dtype not in (torch.int8, torch.int16):
        return torch.abs(x)
    if x.device.type != "cpu":
        return torch.abs(x.to(torch.float32)).to(torch.int32).to(x.dtype)
    return torch.where(x < 0, -x, x)


def _gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return absolute(torch.gcd(a, b))


def _lcm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return ``|a| // gcd * |b|``, wrapped, and 0 where both are 0."""
    return absolute(_floor_divide(a, torch.gcd(a, b))) * absolute(b)


gcd = widened(_gcd, _unsigned_gcd)
lcm = widened(_lcm, _unsigned_lcm)


def _unsigned_power(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Fold exponents of 2**63 and more, which int64 would read as negative.

    Modulo 2**64, 2**62 is a multiple of every odd base's order, and even bases
    give 0 from an exponent of 64 on.
    """
    return torch.pow(a, torch.where(b < 0, (b & (2**62 - 1)) | 2**62, b))


power = widened(torch.pow, _unsigned_power)


def _bits(x: torch.Tensor) -> int:
    return x.dtype.itemsize * 8


def _left_shift(a: torch.Tensor, b: Operand) -> torch.Tensor:
    """Shift; by the width or more (or a negative number of bits) gives 0."""
    if not isinstance(b, torch.Tensor):
        if isinstance(b, int) and not 0 <= b < _bits(a):
            return torch.zeros_like(a)
        return torch.bitwise_left_shift(a, b)
    inside = (b >= 0) & (b < _bits(a))
    shifted = torch.bitwise_left_shift(a, torch.where(inside, b, torch.zeros_like(b)))
    return torch.where(inside, shifted, torch.zeros_like(shifted))


def _right_shift(a: torch.Tensor, b: Operand) -> torch.Tensor:
    """Shift; by the width or more (or a negative number of bits) leaves the sign."""
    last = _bits(a) - 1
    if not isinstance(b, torch.Tensor):
        outside = isinstance(b, int) and not 0 <= b <= last
        if outside and a.dtype == torch.uint8:
            return torch.zeros_like(a)
        return torch.bitwise_right_shift(a, last if outside else b)
    inside = (b >= 0) & (b <= last)
    shifted = torch.bitwise_right_shift(a, torch.where(inside, b, torch.full_like(b, last)))
    if a.dtype == torch.uint8:
        return torch.where(inside, shifted, torch.zeros_like(shifted))
    return shifted


def _unsigned_right_shift(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    inside = (b >= 0) & (b < 64)
    count = torch.where(inside & (b > 0), b - 1, torch.zeros_like(b))
    shifted = torch.bitwise_right_shift((a >> 1) & INT64_MAX, count)
    shifted = torch.where(b == 0, a, shifted)
    return torch.where(inside, shifted, torch.zeros_like(shifted))


left_shift = widened(_left_shift, _left_shift)
right_shift = widened(_right_shift, _unsigned_right_shift)


def bitwise_count(x: torch.Tensor) -> torch.Tensor:
    """Count the one bits of the absolute value, pairwise within 64 bits."""
    if x.dtype == torch.bool:
        return x.to(torch.uint8)
    bits = x.view(torch.int64) if x.dtype == torch.uint64 else torch.abs(x.to(torch.int64))
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    for step in (8, 16, 32):
        bits = bits + (bits >> step)
    return (bits & 0x7F).to(torch.uint8)


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """Return 1 and -1 for themselves, 0 for larger numbers, and for 0 what C makes of inf."""
    bits = as_signed(x)
    ones = bits == 1
    if x.dtype.is_signed:
        ones = ones | (bits == -1)
    found = torch.where(ones, bits, torch.zeros_like(bits))
    with np.errstate(divide="ignore", invalid="ignore"):
        of_zero = int(np.reciprocal(np.zeros((), to_numpy(x.dtype))))
    if of_zero:
        found = torch.where(bits == 0, torch.full_like(bits, of_zero), found)
    return found.view(x.dtype)
