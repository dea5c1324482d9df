"""Choice of a ufunc's kernel by the operands' dtypes."""

from __future__ import annotations

import functools
from typing import Any

import torch

from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs.integers import Compute, Operand, dtype_of_first, is_integral


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


def integers_or(integer: Compute, floating: Compute) -> Compute:
    """Choose between two kernels by the dtype."""

    def kernel(*operands: Operand) -> Any:
        chosen = integer if is_integral(dtype_of_first(*operands)) else floating
        return chosen(*operands)

    return kernel


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


def as_tensors(compute: Compute) -> Compute:
    """Turn a Python number among the operands into a tensor like the other one."""

    def kernel(a: Operand, b: Operand) -> Any:
        if not isinstance(a, torch.Tensor):
            a = torch.full_like(b, a)
        if not isinstance(b, torch.Tensor):
            b = torch.full_like(a, b)
        return compute(a, b)

    return kernel
