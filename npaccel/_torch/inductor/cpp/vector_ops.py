"""Compute by vectors what Inductor's CPU kernels compute element by element.

For an operation that has no vector instruction Inductor stores the lanes, loops over them and
loads the results: `isnan` of a million float64 takes 3 ms, of which NumPy needs 0.3.
What stands here are comparisons, moves of bits, and AVX512's own conversions.

Read from torch/_inductor/codegen/cpp.py (CppVecOverrides; get_to_dtype_expr and
reduction_combine_vec of CppVecKernel) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.codegen import cpp
from torch._inductor.codegen.common import CSEVariable
from torch._inductor.codegen.cpp import DTYPE_TO_CPP, CppVecKernel, CppVecOverrides
from torch._inductor.cpu_vec_isa import VecAVX512, pick_vec_isa
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

#: Copies the bits of one vector into another type of as many lanes; the compiler drops it.
_MOVED = "[&]() {{ {to} bits; std::memcpy(&bits, &{x}, sizeof(bits)); return bits; }}()"
_BITS = {torch.float64: torch.int64, torch.float32: torch.int32}
#: Conversions that AVX512 does a vector at a time, into one of as many lanes.
_CONVERSIONS = {(torch.int64, torch.float64), (torch.int32, torch.float32)}
_BYTES = (torch.uint8, torch.int8)


def _vectors(dtype: torch.dtype) -> str:
    """Return the C++ type of what one step of a kernel's loop has of a dtype."""
    return str(V.kernel._get_vec_type(dtype))


def _mask(x: Any, condition: str) -> str:
    return f"{V.kernel._get_mask_type(x.dtype)}({condition})"


def _isnan(x: Any) -> str:
    return _mask(x, f"{x} != {x}")


def _isinf(x: Any) -> str:
    infinity = f"std::numeric_limits<{DTYPE_TO_CPP[x.dtype]}>::infinity()"
    return _mask(x, f"{x}.abs() == decltype({x})({infinity})")


_scalar_signbit: Any = CppVecOverrides.signbit
_scalar_bitcast: Any = CppVecOverrides.to_dtype_bitcast


def _signbit(x: Any) -> Any:
    if x.dtype not in _BITS:
        return _scalar_signbit(x)
    whole = _BITS[x.dtype]
    bits = _MOVED.format(to=_vectors(whole), x=x)
    return f"{V.kernel._get_mask_type(whole)}({bits} < {_vectors(whole)}(0))"


def _to_dtype_bitcast(x: Any, dtype: torch.dtype, src_dtype: torch.dtype) -> Any:
    pairs = {*_BITS.items(), *((whole, floating) for floating, whole in _BITS.items())}
    if (x.dtype, dtype) not in pairs:
        return _scalar_bitcast(x, dtype, src_dtype)
    return _MOVED.format(to=_vectors(dtype), x=x)


def _cast_mask(self: Any, mask: Any, dtype: torch.dtype) -> str:
    count = self._get_num_vectors(dtype)
    return f"npaccel::mask_cast<{DTYPE_TO_CPP[dtype]}, {count}>({mask})"


def _casting_mask(original: Any) -> Any:
    return _cast_mask


#: Casts a mask only where it isn't for the lanes that the other one is for.
_UNIFIED = """[](const auto& x, const auto& other) {{
    if constexpr (std::is_same_v<decltype(x), decltype(other)>) {{
        return x;
    }} else {{
        return {cast};
    }}
}}({x}, {other})""".replace("\n", " ")


def _unified(original: Any) -> Any:
    def may_unify_binary_op_mask_type(a: Any, b: Any) -> Any:
        if a.dtype != torch.bool or b.dtype != torch.bool:
            return original(a, b)
        cast = _cast_mask(V.kernel, "x", torch.int32)
        kernel = V.kernel
        return [
            kernel.cse.generate(kernel.compute, _UNIFIED.format(cast=cast, x=x, other=other))
            for x, other in ((a, b), (b, a))
        ]

    return may_unify_binary_op_mask_type


_plain_abs: Any = CppVecOverrides.abs


def _abs(x: Any) -> Any:
    is_integer = x.dtype in (torch.int64, torch.int32)
    if not is_integer or not isinstance(pick_vec_isa(), VecAVX512):
        return _plain_abs(x)
    return f"npaccel::absolute({x})"  # The header's takes four operations.


_plain_hypot: Any = CppVecOverrides.hypot
#: Borges' algorithm ("An improved algorithm for hypot(a, b)", 2019), which glibc's `hypot` takes,
#: and so NumPy. Where squares could overflow or lose digits, it's glibc's own.
_HYPOT = """[](const auto& x, const auto& y) {{
    using Vectors = std::decay_t<decltype(x)>;
    const auto a = x.abs(), b = y.abs();
    const auto p = at::vec::maximum(a, b), q = at::vec::minimum(a, b);
    const auto fits = (p <= Vectors(0x1p+511)) & ((q >= Vectors(0x1p-459)) | (q == Vectors(0.0)));
    if ({mask}(fits).all_masked()) {{
        const auto two = Vectors(2.0);
        const auto h = (p * p + q * q).sqrt();
        const auto d = h - q, e = h - p;
        const auto near = p * (two * d - p) + (d - two * (p - q)) * d;
        const auto far = two * e * (p - two * q) + ((Vectors(4.0) * e - q) * q + e * e);
        const auto error = Vectors::blendv(far, near, h <= two * q);
        return Vectors::blendv(h - error / (two * h), p + q, q <= p * Vectors(0x1p-54));
    }}
    alignas(64) double first[Vectors::size()], second[Vectors::size()];
    x.store(first);
    y.store(second);
    for (int i = 0; i < Vectors::size(); ++i) first[i] = std::hypot(first[i], second[i]);
    return Vectors::loadu(first);
}}({x}, {y})""".replace("\n", " ")


def _hypot(x: Any, y: Any) -> Any:
    if x.dtype is not torch.float64 or y.dtype is not torch.float64:
        return _plain_hypot(x, y)
    return _HYPOT.format(mask=V.kernel._get_mask_type(torch.float64), x=x, y=y)


_IN_VECTORS: dict[str, Any] = {
    "abs": _abs,
    "hypot": _hypot,
    "isnan": _isnan,
    "isinf": _isinf,
    "signbit": _signbit,
    "to_dtype_bitcast": _to_dtype_bitcast,
}


def _converted(original: Any) -> Any:
    def get_to_dtype_expr(
        self: Any, src: Any, dtype: Any, src_dtype: Any, *args: Any, **kwargs: Any
    ) -> Any:
        from_mask = src.is_vec and src_dtype is torch.bool and dtype in _BYTES
        if from_mask and self._get_num_vectors(dtype) == 1:
            lanes = _cast_mask(self, src, dtype)
            return f"({lanes}[0] & at::vec::Vectorized<{DTYPE_TO_CPP[dtype]}>(1))"
        to_bytes = (src_dtype, dtype) == (torch.int64, torch.uint8)
        if src.is_vec and to_bytes and self._get_num_vectors(src_dtype) == 2:
            return f"npaccel::low_bytes({src})"
        # The dtype of a number isn't known.
        if (src_dtype, dtype) not in _CONVERSIONS or not src.is_vec:
            return original(self, src, dtype, src_dtype, *args, **kwargs)
        return f"npaccel::floating({src})"

    return get_to_dtype_expr


_FROM, _COUNT = "at::vec::VecMask<float,1>::from(", ", static_cast<int64_t>(16))"


def _loaded(original: Any) -> Any:
    def get_vec_load_line(self: Any, *args: Any, **kwargs: Any) -> Any:
        line = original(self, *args, **kwargs)
        if isinstance(line, str) and line.startswith(_FROM) and line.endswith(_COUNT):
            # Inductor's way is a branch for each truth value.
            return f"npaccel::loaded_mask({line[len(_FROM) : -len(_COUNT)]})"
        return line

    return get_vec_load_line


def _reduced(original: Any) -> Any:
    def reduction_combine_vec(
        self: Any, reduction_type: str, var: Any, next_value: Any, *args: Any, **kwargs: Any
    ) -> Any:
        dtype = next_value.dtype if isinstance(next_value, CSEVariable) else None
        is_floating = dtype in (torch.float64, torch.float32)
        if reduction_type not in ("max", "min") or not is_floating or self.tail_size:
            return original(self, reduction_type, var, next_value, *args, **kwargs)
        return f"npaccel::{reduction_type}_with({var}, {next_value})"

    return reduction_combine_vec


def _counting(original: Any) -> Any:
    """Count positions from a constant vector; the header's way computes each lane by itself."""

    def arange(self: Any, index: Any, stride: Any) -> Any:
        if index.dtype not in (torch.int64, torch.int32):
            return original(self, index, stride)
        lanes, one = _vectors(index.dtype), DTYPE_TO_CPP[index.dtype]
        steps = f"{lanes}::arange(static_cast<{one}>(0), {stride})"
        found = self.cse.generate(self.compute, f"({lanes}({index}) + {steps})")
        found.dtype, found.is_vec = index.dtype, True
        return found

    return arange


@contextlib.contextmanager
def fast_vector_operations() -> Iterator[None]:
    """Generate kernels meanwhile that compute these by vectors."""
    patches = PATCHES if isinstance(pick_vec_isa(), VecAVX512) else _OF_ALL
    with patched(patches):
        yield


def _in_vectors(name: str, original: Any) -> Any:
    compute = _IN_VECTORS[name]
    compute.__name__ = name  # by which a kernel finds the operation on single numbers
    return compute


_BY_LANES = "Inductor and ATen compute each lane by itself"
_TEST = "tests/torch_layer/inductor/test_vector_ops.py"
_OF_ALL = (
    *(
        Patch(CppVecOverrides, name, functools.partial(_in_vectors, name), _BY_LANES, _TEST)
        for name in _IN_VECTORS
    ),
    Patch(CppVecKernel, "arange", _counting, _BY_LANES, _TEST),
)
#: Functions for processors with AVX512.
_OF_AVX512 = (
    Patch(CppVecKernel, "get_to_dtype_expr", _converted, _BY_LANES, _TEST),
    Patch(CppVecKernel, "_get_mask_cast", _casting_mask, _BY_LANES, _TEST),
    Patch(CppVecKernel, "_get_vec_load_line", _loaded, _BY_LANES, _TEST),
    Patch(CppVecKernel, "reduction_combine_vec", _reduced, _BY_LANES, _TEST),
    Patch(cpp, "may_unify_binary_op_mask_type", _unified, _BY_LANES, _TEST),
)

PATCHES = (*_OF_ALL, *_OF_AVX512)

__all__ = ["fast_vector_operations"]
