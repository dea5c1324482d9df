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
from torch._inductor.codegen.cpp import DTYPE_TO_CPP, CppVecKernel, CppVecOverrides
from torch._inductor.cpu_vec_isa import VecAVX512, pick_vec_isa
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

#: Copies the bits of one vector into another type of as many lanes; the compiler drops it.
_MOVED = "[&]() {{ {to} bits; std::memcpy(&bits, &{x}, sizeof(bits)); return bits; }}()"
_BITS = {torch.float64: torch.int64, torch.float32: torch.int32}
#: AVX512's conversion of one vector into one of as many lanes.
_CONVERSIONS = {
    (torch.int64, torch.float64): "_mm512_cvtepi64_pd",
    (torch.int32, torch.float32): "_mm512_cvtepi32_ps",
}


_BYTES = (torch.uint8, torch.int8)

#: Two vectors of 64-bit integers as 16 bytes at the beginning of one.
_TO_BYTES = """[&]() {{
    const __m128i low = _mm512_cvtepi64_epi8({x}[0]), high = _mm512_cvtepi64_epi8({x}[1]);
    const __m512i whole = _mm512_castsi128_si512(_mm_unpacklo_epi64(low, high));
    at::vec::Vectorized<uint8_t> found;
    std::memcpy(&found, &whole, sizeof(whole));
    return found;
}}()""".replace("\n", " ")


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


#: Casts a mask for lanes of one width into one for another, through the bits of AVX512's masks.
_CAST = """[](const auto& mask) {{
    using To = {type};
    using Lanes = std::decay_t<decltype(mask[0])>;
    using From = typename Lanes::value_type;
    constexpr bool is_plain = sizeof(From) != 2 && sizeof(To) != 2 && sizeof(From) != sizeof(To);
    if constexpr (!is_plain) {{
        return mask.template cast<To, {count}>();
    }} else {{
        constexpr int size = std::decay_t<decltype(mask)>::size();
        uint64_t bits = 0;
        for (int i = 0; i < size / Lanes::size(); ++i) {{
            auto lanes = mask[i];
            __m512i whole;
            std::memcpy(&whole, &lanes, sizeof(whole));
            uint64_t part = 0;
            if constexpr (sizeof(From) == 8) part = _mm512_movepi64_mask(whole);
            else if constexpr (sizeof(From) == 1) part = _mm512_movepi8_mask(whole);
            else part = _mm512_movepi32_mask(whole);
            bits |= part << (i * Lanes::size());
        }}
        at::vec::VectorizedN<To, {count}> found;
        constexpr int wide = at::vec::Vectorized<To>::size();
        for (int i = 0; i < {count}; ++i) {{
            __m512i whole;
            const uint64_t part = bits >> (i * wide);
            if constexpr (sizeof(To) == 8) whole = _mm512_movm_epi64((__mmask8)part);
            else if constexpr (sizeof(To) == 1) whole = _mm512_movm_epi8(part);
            else whole = _mm512_movm_epi32((__mmask16)part);
            std::memcpy(&found[i], &whole, sizeof(whole));
        }}
        return at::vec::VecMask<To, {count}>(found);
    }}
}}({mask})""".replace("\n", " ")


def _cast_mask(self: Any, mask: Any, dtype: torch.dtype) -> str:
    count = self._get_num_vectors(dtype)
    return _CAST.format(type=DTYPE_TO_CPP[dtype], count=count, mask=mask)


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
#: AVX512's own; the header's takes four operations.
_ABSOLUTE = {torch.int64: "_mm512_abs_epi64", torch.int32: "_mm512_abs_epi32"}


def _abs(x: Any) -> Any:
    function = _ABSOLUTE.get(x.dtype)
    if function is None or not isinstance(pick_vec_isa(), VecAVX512):
        return _plain_abs(x)
    return _by_vectors(function, x, x.dtype)


def _by_vectors(function: str, x: Any, dtype: torch.dtype) -> str:
    """Call a function of one vector for each vector of x; the results are of a dtype."""
    count = V.kernel._get_num_vectors(dtype)  # as many as x has
    if count == 1:
        return f"{_vectors(dtype)}({function}({x}))"
    steps = " ".join(f"found[{i}] = {function}({x}[{i}]);" for i in range(count))
    return f"[&]() {{ {_vectors(dtype)} found; {steps} return found; }}()"


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
        convert = _CONVERSIONS.get((src_dtype, dtype))
        from_mask = src.is_vec and src_dtype is torch.bool and dtype in _BYTES
        if from_mask and self._get_num_vectors(dtype) == 1:
            lanes = _cast_mask(self, src, dtype)
            return f"({lanes}[0] & at::vec::Vectorized<{DTYPE_TO_CPP[dtype]}>(1))"
        to_bytes = (src_dtype, dtype) == (torch.int64, torch.uint8)
        if src.is_vec and to_bytes and self._get_num_vectors(src_dtype) == 2:
            return _TO_BYTES.format(x=src)
        if convert is None or not src.is_vec:  # The dtype of a number isn't known.
            return original(self, src, dtype, src_dtype, *args, **kwargs)
        return _by_vectors(convert, src, dtype)

    return get_to_dtype_expr


_FROM, _COUNT = "at::vec::VecMask<float,1>::from(", ", static_cast<int64_t>(16))"
#: Loads 16 truth values as a mask; Inductor's way is a branch for each of them.
_LOAD = """[](const bool* from) {{
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m512i whole = _mm512_movm_epi32(_mm_test_epi8_mask(bytes, bytes));
    at::vec::VectorizedN<float, 1> found;
    std::memcpy(&found[0], &whole, sizeof(whole));
    return at::vec::VecMask<float, 1>(found);
}}({pointer})""".replace("\n", " ")


def _loaded(original: Any) -> Any:
    def get_vec_load_line(self: Any, *args: Any, **kwargs: Any) -> Any:
        line = original(self, *args, **kwargs)
        if isinstance(line, str) and line.startswith(_FROM) and line.endswith(_COUNT):
            return _LOAD.format(pointer=line[len(_FROM) : -len(_COUNT)])
        return line

    return get_vec_load_line


#: The greatest or least of what was, x, and what comes, y: NaN where one is. The header's way
#: compares both, and each step waits for the comparison of the one before. AVX512's instruction
#: returns its second operand where one is NaN, so that only what comes has to be looked at.
_FOLD = "_mm512_mask_mov_{t}(_mm512_{name}_{t}({y}, {x}), _mm512_cmp_{t}_mask({y}, {y}, 3), {y})"
_LANES = {torch.float64: "pd", torch.float32: "ps"}


def _reduced(original: Any) -> Any:
    def reduction_combine_vec(
        self: Any, reduction_type: str, var: Any, next_value: Any, *args: Any, **kwargs: Any
    ) -> Any:
        dtype = getattr(next_value, "dtype", None)
        if reduction_type not in ("max", "min") or dtype not in _LANES or self.tail_size:
            return original(self, reduction_type, var, next_value, *args, **kwargs)
        lanes = f"at::vec::Vectorized<{DTYPE_TO_CPP[dtype]}>"
        if self._get_num_vectors(dtype) == 1:
            step = _FOLD.format(t=_LANES[dtype], name=reduction_type, x=var, y=next_value)
            return f"{lanes}({step})"
        step = _FOLD.format(t=_LANES[dtype], name=reduction_type, x="x", y="y")
        pair = f"const {lanes}& x, const {lanes}& y"
        return f"{var}.binary_op({next_value}, []({pair}) {{ return {lanes}({step}); }})"

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
    """Let kernels that are generated meanwhile compute these by vectors."""
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
#: Where the processor has AVX512.
_OF_AVX512 = (
    Patch(CppVecKernel, "get_to_dtype_expr", _converted, _BY_LANES, _TEST),
    Patch(CppVecKernel, "_get_mask_cast", _casting_mask, _BY_LANES, _TEST),
    Patch(CppVecKernel, "_get_vec_load_line", _loaded, _BY_LANES, _TEST),
    Patch(CppVecKernel, "reduction_combine_vec", _reduced, _BY_LANES, _TEST),
    Patch(cpp, "may_unify_binary_op_mask_type", _unified, _BY_LANES, _TEST),
)

PATCHES = (*_OF_ALL, *_OF_AVX512)

__all__ = ["fast_vector_operations"]
