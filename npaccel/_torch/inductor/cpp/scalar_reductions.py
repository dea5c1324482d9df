"""Reductions that Inductor doesn't have: extremes of numbers, and bits of integers.

Put together of what it has, `nanmax` takes two reductions: of the numbers, NaN replaced by an
infinity, and of the places of NaN. Here a reduction keeps what was where NaN comes, and begins with
NaN. `bitwise_and.reduce` is NumPy's kernel otherwise.

Read from torch/_inductor/{ir,lowering}.py and torch/_inductor/codegen/cpp.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.codegen import cpp
from torch._inductor.codegen.common import CSEVariable
from torch._inductor.codegen.cpp import DTYPE_TO_CPP, CppKernel, CppVecKernel
from torch._inductor.cpu_vec_isa import VecAVX512, pick_vec_isa
from torch._inductor.virtualized import ops

from npaccel._numpy.host.kernels import extreme_number, ufunc_reduce
from npaccel._torch.patching import Patch, patched, registered

#: The comparison that lets what comes take the place of what was.
_KINDS = {"fmax": ">", "fmin": "<"}
_NAMES = {"fmax": "max", "fmin": "min"}
#: The operators of bits, and what they begin with.
_BITS = {"and": ("&", -1), "or": ("|", 0)}
_OF_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor_sum"}
_SCALAR = "[](const auto x, const auto y) {{ return x != x || y {0} x ? y : x; }}({1}, {2})"
_VECTOR = """[](const auto& x, const auto& y) {{
    using Lanes = std::decay_t<decltype(x)>;
    return Lanes::blendv(Lanes::blendv(x, y, y {0} x), y, x != x);
}}({1}, {2})""".replace("\n", " ")
_FLOATS = (torch.float64, torch.float32)


@contextlib.contextmanager
def extremes_and_bits_reduced() -> Iterator[None]:
    """Have graphs that are compiled meanwhile use them."""
    known: Any = lowering.lowerings
    lowered = {extreme_number: _extreme, ufunc_reduce: _of_bits}
    with registered(known, lowered), patched(PATCHES):
        yield


def _vectorizable(original: list[str]) -> list[str]:
    return [*original, *_KINDS, *_BITS]


def _of_bits(x: Any, name: str, axis: int, first: Any) -> Any:
    small = x.get_dtype() not in (torch.int32, torch.int64) or 0 in x.get_size()
    if small or first is not None or name not in _OF_BITS:
        handler: Any = lowering.fallback_handler
        return handler(ufunc_reduce, add_to_fallback_set=False)(x, name, axis, first)
    reduce: Any = lowering.make_reduction(_OF_BITS[name])  # type: ignore[arg-type]
    return reduce(x, [axis])


def _extreme(x: Any, axes: list[int], keepdims: bool, largest: bool) -> Any:
    reduce: Any = lowering.make_reduction("fmax" if largest else "fmin")  # type: ignore[arg-type]
    return reduce(x, axes, keepdims)


def _combining_values(original: Any) -> Any:
    """Reduce a few elements that are written out one after another."""

    def get_reduction_combine_fn(reduction_type: str, *args: Any, **kwargs: Any) -> Any:
        if reduction_type in _BITS:
            return ops.bitwise_and if reduction_type == "and" else ops.bitwise_or
        if reduction_type not in _KINDS:
            return original(reduction_type, *args, **kwargs)
        better: Callable[..., Any] = ops.gt if reduction_type == "fmax" else ops.lt
        return lambda x, y: ops.where(ops.or_(ops.isnan(x), better(y, x)), y, x)

    return get_reduction_combine_fn


def _beginning(original: Any) -> Any:
    def default_accumulator(reduction_type: str, dtype: torch.dtype) -> Any:
        if reduction_type in _KINDS:
            return float("nan")
        if reduction_type in _BITS:
            return _BITS[reduction_type][1]
        return original(reduction_type, dtype)

    return default_accumulator


def _initial(original: Any) -> Any:
    def reduction_init(reduction_type: str, dtype: torch.dtype) -> Any:
        if reduction_type in _KINDS:
            return f"std::numeric_limits<{DTYPE_TO_CPP[dtype]}>::quiet_NaN()"
        if reduction_type in _BITS:
            return _BITS[reduction_type][1]
        return original(reduction_type, dtype)

    return reduction_init


def _combining(original: Any) -> Any:
    def reduction_combine(
        reduction_type: str, var: Any, next_value: Any, *args: Any, **kw: Any
    ) -> Any:
        if reduction_type in _KINDS:
            return _SCALAR.format(_KINDS[reduction_type], var, next_value)
        if reduction_type in _BITS:
            return f"{var} {_BITS[reduction_type][0]} {next_value}"
        return original(reduction_type, var, next_value, *args, **kw)

    return reduction_combine


def _in_parallel(original: Any) -> Any:
    """Give what the method has as defaults, from when it was defined."""

    def _gen_parallel_reduction_buffers(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 4:
            given = {
                "reduction_combine_fn": cpp.reduction_combine,
                "reduction_init_fn": cpp.reduction_init,
            }
            kwargs = {**given, **kwargs}
        return original(self, *args, **kwargs)

    return _gen_parallel_reduction_buffers


def _combining_vectors(original: Any) -> Any:
    def reduction_combine_vec(
        self: Any, reduction_type: str, var: Any, next_value: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if reduction_type in _BITS:
            found = f"({var} {_BITS[reduction_type][0]} {next_value})"
        elif reduction_type in _KINDS:
            found = _VECTOR.format(_KINDS[reduction_type], var, next_value)
        else:
            return original(self, reduction_type, var, next_value, *args, **kwargs)
        dtype = next_value.dtype if isinstance(next_value, CSEVariable) else None
        if self.tail_size and not isinstance(next_value, str):
            lanes = f"std::decay_t<decltype({var})>"
            size: Any = self.tail_size
            return f"{lanes}::set({var}, {found}, {cpp.cexpr_index(size)})"  # type: ignore[no-untyped-call]
        if dtype not in _FLOATS or not isinstance(pick_vec_isa(), VecAVX512):
            return found
        return f"npaccel::{_NAMES[reduction_type]}_of_numbers({var}, {next_value})"

    return reduction_combine_vec


_WHY = "Inductor has no reductions by `fmax`, `bitwise_and` and the like"
_TEST = "tests/numpy_layer/test_reductions.py"

PATCHES = (
    Patch(ir, "get_reduction_combine_fn", _combining_values, _WHY, _TEST),
    Patch(ir.Reduction, "default_accumulator", _beginning, _WHY, _TEST),
    Patch(cpp, "VECTORIZABLE_RTYPES", _vectorizable, _WHY, _TEST),
    Patch(cpp, "reduction_init", _initial, _WHY, _TEST),
    Patch(cpp, "reduction_combine", _combining, _WHY, _TEST),
    Patch(CppKernel, "_gen_parallel_reduction_buffers", _in_parallel, _WHY, _TEST),
    Patch(CppVecKernel, "reduction_combine_vec", _combining_vectors, _WHY, _TEST),
)

__all__ = ["extremes_and_bits_reduced"]
