"""Names that kernels without torch's headers may use: a closed list, by the part that has them.

Read from torch/_inductor/codegen/cpp.py of 2.13.
"""

from __future__ import annotations

import functools
import re
import sysconfig
from collections.abc import Iterable, Iterator

from torch._inductor import cpp_builder
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512, pick_vec_isa

from npaccel._torch.patching import is_release

#: Sleef's functions by the methods that call them, and how precise: for double, and for float.
SLEEF_OF_ONE = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh"), ("_u10", "_u10")),
    **dict.fromkeys(("cosh", "exp", "exp2", "expm1", "lgamma", "log"), ("_u10", "_u10")),
    **dict.fromkeys(("log10", "log1p", "log2", "sinh", "tan", "tanh"), ("_u10", "_u10")),
    "cos": ("_u10", "_u35"),
    "erf": ("_u10", ""),
    "erfc": ("_u15", "_u15"),
    "sin": ("_u10", "_u35"),
}
SLEEF_OF_TWO = {
    "atan2": ("_u10", "_u10"),
    "fmod": ("", ""),
    "hypot": ("_u05", "_u05"),
    "nextafter": ("", ""),
    "pow": ("_u10", "_u10"),
}
#: Vectors' methods that are instructions.
ROUNDED = ("ceil", "floor", "round", "rsqrt", "sqrt", "trunc")
METHODS = (*SLEEF_OF_ONE, *SLEEF_OF_TWO, *ROUNDED)

#: C's functions of one number, of two, whether a number is of a kind, and others.
MATH_OF_ONE = {
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "floor", "lgamma", "log", "log10", "log1p", "log2",
    "nearbyint", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc",
}  # fmt: skip
MATH_OF_TWO = {"atan2", "copysign", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow"}
MATH_OF_KIND = {"isfinite", "isinf", "isnan", "signbit"}
MATH_OTHERS = {"abs", "frexp", "ldexp"}
MATH = MATH_OF_ONE | MATH_OF_TWO | MATH_OF_KIND | MATH_OTHERS

PAIRED = {"deinterleave2", "interleave2"}
HALVED = {"lanes_reduced", "vec_reduce_all"}
_CONTAINERS = {"fill", "make_unique", "pair", "unique_ptr", "vector"}
_DIVISION = {
    "div_floor_integer", "floor_divide_integral", "inductor_cpu_integer_div_error_flag",
    "inductor_cpu_throw_if_integer_div_error", "mod", "remainder_integral",
}  # fmt: skip
_EXTREMES = {"IndexValue", "argmax_combine", "argmin_combine"}
_EXTREMES_IN_VECTORS = {
    "IndexValueVec", "argmax_combine_vec", "argmax_vec_reduce_all", "argmin_combine_vec",
    "argmin_vec_reduce_all",
}  # fmt: skip
_REDUCED_IN_VECTORS = {
    "any_masked_reduce", "max_masked_reduce", "min_masked_reduce", "prod_masked_reduce",
    "sum_masked_reduce", "xor_sum_masked_reduce",
}  # fmt: skip
#: Functions that torch computes lane by lane from 2.14, or 2.15, on, where there is AVX2 alone.
_OTHERS_IN_AVX2 = {"acosh", "cosh", "expm1", "sinh"}
#: A mask for lanes of another size, from torch 2.15 on.
MASK_CAST = "inductor_vec_mask_cast"
_IN_MASKS = _EXTREMES_IN_VECTORS | _REDUCED_IN_VECTORS | HALVED
_HELPERS = {
    "absolute", "floating", "lanes_reduced", "loaded_mask", "mask_cast", "max_with",
    "max_of_numbers", "min_of_numbers", "min_with", "store_mask",
}  # fmt: skip
#: Parts by the names for which they're needed, in the order in which they build on each other.
SCALAR_PARTS = {
    "division.h": _DIVISION,
    "containers.h": _CONTAINERS | PAIRED,
    "reductions.h": {"max_propagate_nan", "min_propagate_nan"},
    "cascade.h": {"CascadeSumHelper", "cascade_sum_combine", "cascade_sum_final"},
    "extremes.h": _EXTREMES | _EXTREMES_IN_VECTORS,
    "atomics.h": {"atomic_add", "atomic_add_vec"},
    "transposes.h": {"transpose_mxn"},
}
VECTOR_PARTS = {
    "lanes.h": {"VecMask", "convert", "npaccel", MASK_CAST} | _IN_MASKS,
    "masks.h": {"VecMask", "npaccel", MASK_CAST} | _IN_MASKS,
    "vector_division.h": {"floor_divide_integral", "remainder_integral"},
    "vector_quotients.h": {"div_floor_floating_vec"},
    "vector_reductions.h": HALVED | _REDUCED_IN_VECTORS,
    "vector_extremes.h": _EXTREMES_IN_VECTORS,
    "vector_atomics.h": {"atomic_add_vec"},
    "pairs.h": PAIRED,
    "fused.h": {"fmadd"},
    "vector_helpers.h": {"npaccel"},
}

_INTEGERS = {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_STD = {
    *MATH, *_CONTAINERS, *_INTEGERS, "array", "atomic", "common_type_t", "conditional_t",
    "decay_t", "enable_if_t", "is_floating_point_v", "is_integral_v", "is_same_v", "is_signed_v",
    "make_signed_t", "make_unsigned_t", "max", "memcpy", "min", "numeric_limits",
    "runtime_error", "size_t",
}  # fmt: skip
_VECTORS = {
    *PAIRED, "VecMask", "Vectorized", "VectorizedN", "convert", "fmadd", "maximum", "minimum",
    "vec_reduce_all",
}  # fmt: skip
_QUALIFIED = {
    *(f"std::{name}" for name in _STD),
    *(f"at::vec::{name}" for name in _VECTORS),
    *(f"npaccel::{name}" for name in _HELPERS),
    "c10::bit_cast", "c10::convert", "c10::div_floor_integer",
}  # fmt: skip
_MEMBERS = {
    *METHODS, "abs", "all_masked", "all_zero", "arange", "begin", "binary_op", "blendv", "cast",
    "copysign", "data", "end", "from", "get", "infinity", "is_masked", "isnan", "loadu", "lowest",
    "max", "min", "neg", "quiet_NaN", "reciprocal", "set", "size", "store", "to", "unary_op",
    "value_type", "zero_mask",
}  # fmt: skip
_FUNCTIONS = {
    *set().union(*SCALAR_PARTS.values()), *_EXTREMES_IN_VECTORS, *_REDUCED_IN_VECTORS,
    "C10_LIKELY", "C10_UNLIKELY", "TORCH_CHECK", "_Pragma", "__attribute__",
    "__builtin_prefetch",
    "div_floor_floating_vec", MASK_CAST,
    "omp_get_max_threads", "omp_get_num_threads", "omp_get_thread_num",
}  # fmt: skip
#: Names of such a form that C++ itself has.
_KEYWORDS = {
    *_INTEGERS, "alignas", "alignof", "bool", "catch", "char", "const", "constexpr", "decltype",
    "double", "float", "for", "if", "int", "kernel", "long", "operator", "optimize",
    "reinterpret_cast", "return", "sizeof", "static_assert", "static_cast", "switch", "template",
    "throw", "typename", "using", "while",
}  # fmt: skip

_SKIPPED = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\])*\"|^[ \t]*#[^\n]*", re.MULTILINE)
_QUALIFIED_NAME = re.compile(r"\b(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*")
_MEMBER_NAME = re.compile(r"(?:\.|>::|->)\s*(?:template\s+)?([A-Za-z_]\w*)\s*[(<]")
_CALLED_NAME = re.compile(r"(?<![\w.:>])(?<!\btemplate )([A-Za-z_]\w*)(?:\s*\(|<)")
#: A name behind what may be its type.
_LOCAL_NAME = re.compile(
    r"(?:\b(?!(?:return|else|throw|case)\b)\w+|[>*&])[*&\s]*\s[*&]*([A-Za-z_]\w*)\s*[=;,()\[{]"
)
_OTHER_NAME = re.compile(r"\b(?:_mm\w+|__m\w+|half|bfloat16|float8\w*|new|goto|asm)\b")
#: Types that ATen treats apart: floats as integers of fewer bits, rows of 32-bit numbers; and
#: vectors of 8 and 16 bits, which g++ widens and narrows lane by lane: to four times slower.
_OTHER_WAY = re.compile(
    r"\b(?:convert|Vectorized|VectorizedN)<u?int(?:8|16)_t\b"
    r"|convert<(?:u?int(?:8|16)_t|uint(?:32|64)_t),\d+,(?:float|double),\d+>"
    r"|transpose_mxn<(?!(?:double|int64_t),)\w+|transpose_mxn<[^>]*\btrue>"
)
#: Compilers from which on all is known that is used of them.
_FIRST_RELEASE = 12


def uncovered(sources: Iterable[str]) -> str:
    """Return what of kernels the parts don't have, nothing where they have all.

    Parameters
    ----------
    sources : iterable of str
        C++ as Inductor writes it.
    """
    return unknown_machine() or next(filter(None, map(_uncovered_name, sources)), "")


@functools.cache
def unknown_machine() -> str:
    """Return what of this machine the parts aren't made for, nothing where they are."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "Python without a global lock"
    if sysconfig.get_platform() != "linux-x86_64":
        return sysconfig.get_platform()
    compiler = cpp_builder.get_cpp_compiler()
    version = cpp_builder.get_compiler_version_info(compiler)
    found = re.search(r"(?:gcc|clang) version (\d+)", version)
    if found is None or int(found[1]) < _FIRST_RELEASE:
        return f"{compiler} before release {_FIRST_RELEASE}"
    return ""


def _uncovered_name(source: str) -> str:
    text = _SKIPPED.sub(" ", source)
    instructions = pick_vec_isa()
    if "at::vec" in text and not isinstance(instructions, (VecAVX2, VecAVX512)):
        return f"vectors of {instructions}"
    if isinstance(instructions, VecAVX2) and is_release("2.14-"):
        for name in {*_MEMBER_NAME.findall(text)} & _OTHERS_IN_AVX2:
            return f".{name}"
    other = _OTHER_NAME.search(text) or _OTHER_WAY.search(text)
    return other.group() if other is not None else min(_unknown_names(text), default="")


def _unknown_names(text: str) -> Iterator[str]:
    for name in {*_QUALIFIED_NAME.findall(text)} - _QUALIFIED:
        namespace, _, last = name.rpartition("::")
        if namespace.partition("::")[0] in ("at", "c10", "npaccel", "std") or last not in _MEMBERS:
            yield name
    yield from (f".{name}" for name in {*_MEMBER_NAME.findall(text)} - _MEMBERS)
    known = _FUNCTIONS | _KEYWORDS | {*_LOCAL_NAME.findall(text)}
    yield from {*_CALLED_NAME.findall(text)} - known


__all__ = [
    "HALVED",
    "MATH",
    "MATH_OF_KIND",
    "MATH_OF_ONE",
    "MATH_OTHERS",
    "METHODS",
    "PAIRED",
    "ROUNDED",
    "SCALAR_PARTS",
    "SLEEF_OF_ONE",
    "SLEEF_OF_TWO",
    "VECTOR_PARTS",
    "uncovered",
    "unknown_machine",
]
