"""Reduce slices of rows, ``ufunc.reduceat``, in kernels of all threads.

NumPy's kernel, the other way, takes one core. Integers may be reduced in any order. Sums of floats
are those of the halves of a slice, as NumPy's are, with as small an error.

Read from torch/_inductor/{ir,cpu_vec_isa}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.cpu_vec_isa import pick_vec_isa

from npaccel._numpy.host.blocked import MANY
from npaccel._numpy.host.kernels import ufunc_reduceat
from npaccel._torch.inductor.direct_host_calls import import_kernels
from npaccel._torch.inductor.kernels.registration import define_kernel, written_in_place_of

TYPES = {
    torch.int64: "int64_t",
    torch.int32: "int32_t",
    torch.float64: "double",
    torch.float32: "float",
}
#: Code that combines two vectors, or two elements.
_STEPS = {
    "add": "a + b",
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "maximum": "greater(a, b)",
    "minimum": "less(a, b)",
}
_STEPS |= {
    "fmax": _STEPS["maximum"],
    "fmin": _STEPS["minimum"],
    "subtract": _STEPS["add"],
}
_OF_FLOATS = ("add", "maximum", "minimum")
#: Reduces elements that lie side by side, a vector's lanes at a time.
_REDUCE_ALL = """
#include <torch/csrc/inductor/cpp_prefix.h>
using Lanes = at::vec::Vectorized<TYPE>;
static inline Lanes greater(const Lanes& a, const Lanes& b) { return at::vec::maximum(a, b); }
static inline Lanes less(const Lanes& a, const Lanes& b) { return at::vec::minimum(a, b); }
static inline TYPE greater(const TYPE a, const TYPE b) { return a > b || a != a ? a : b; }
static inline TYPE less(const TYPE a, const TYPE b) { return a < b || a != a ? a : b; }
template <typename T> static inline T combine(const T& a, const T& b) { return COMBINED; }
static TYPE reduce_all(const TYPE* from, const TYPE* end)
{
    if (end - from > 64 * Lanes::size())
    {
        const TYPE* half = from + (end - from) / 2;
        return combine(reduce_all(from, half), reduce_all(half, end));
    }
    const int64_t step = Lanes::size();
    TYPE found = *from++;
    if (end - from >= step)
    {
        Lanes many = Lanes::loadu(from);
        from += step;
        if (end - from >= 3 * step)  // Four at once: each waits for itself alone.
        {
            Lanes next = Lanes::loadu(from), third = Lanes::loadu(from + step);
            Lanes last = Lanes::loadu(from + 2 * step);
            for (from += 3 * step; end - from >= 4 * step; from += 4 * step)
            {
                many = combine(many, Lanes::loadu(from));
                next = combine(next, Lanes::loadu(from + step));
                third = combine(third, Lanes::loadu(from + 2 * step));
                last = combine(last, Lanes::loadu(from + 3 * step));
            }
            many = combine(combine(many, next), combine(third, last));
        }
        for (; end - from >= step; from += step) many = combine(many, Lanes::loadu(from));
        alignas(64) TYPE each[Lanes::size()];
        many.store(each);
        for (int i = 0; i < Lanes::size(); ++i) found = combine(found, each[i]);
    }
    for (; from < end; ++from) found = combine(found, *from);
    return found;
}
"""
_KERNEL = """
extern "C" void kernel(
    const TYPE* x, const int64_t* starts, TYPE* out, int64_t* is_outside, const int64_t size,
    const int64_t count)
{
    int64_t outside = 0;
    for (int64_t i = 0; i < count; ++i) outside |= starts[i] < 0 || starts[i] >= size;
    *is_outside = outside;
    if (outside) return;
    #pragma omp parallel for if (size > MANY)
    for (int64_t i = 0; i < count; ++i)
    {
        const int64_t first = starts[i], next = i + 1 < count ? starts[i + 1] : size;
        const TYPE all = reduce_all(x + first, x + (next > first ? next : first + 1));
        out[i] = RESULT;
    }
}
"""


@contextlib.contextmanager
def slices_reduced_by_kernels() -> Iterator[None]:
    """Have graphs that are compiled meanwhile reduce slices of one-dimensional arrays so."""
    with written_in_place_of(ufunc_reduceat, _fits, _write):
        yield


def has_vectors() -> bool:
    """Whether the header of kernels has vectors: for this processor, and this compiler."""
    return bool(pick_vec_isa())


def _fits(node: Any) -> bool:
    x, starts = node.inputs
    of_floats = x.get_dtype().is_floating_point
    return (
        has_vectors()
        and node.constant_args[0] in (_OF_FLOATS if of_floats else _STEPS)
        and x.get_dtype() in TYPES
        and starts.get_dtype() == torch.int64
        and [list(part.get_stride()) for part in node.inputs] == [[1], [1]]
    )


def reducing(kind: str, ufunc: str) -> str:
    """Return the C++ function `reduce_all` for elements of a type."""
    return _REDUCE_ALL.replace("TYPE", kind).replace("COMBINED", _STEPS[ufunc])


def _write(wrapper: Any, node: Any) -> None:
    name, ufunc = node.get_name(), node.constant_args[0]
    x, starts = (part.codegen_reference() for part in node.inputs)
    dtype = node.inputs[0].get_dtype()
    kind = TYPES[dtype]
    text = reducing(kind, ufunc) + _KERNEL.replace("TYPE", kind)
    text = text.replace("RESULT", "2 * x[first] - all" if ufunc == "subtract" else "all")
    parameters = [
        f"const {kind}*",
        "const int64_t*",
        f"{kind}*",
        "int64_t*",
        *["const int64_t"] * 2,
    ]
    kernel = define_kernel(wrapper, text.replace("MANY", str(MANY)), parameters)
    by_numpy = import_kernels(wrapper)
    for line in (
        f"{name}_shape = ({starts}.size(0),)",
        f"{name} = empty_strided_cpu({name}_shape, (1,), {dtype})",
        f"{name}_outside = empty_strided_cpu((1,), (1,), torch.int64)",
        f"{kernel}({x}, {starts}, {name}, {name}_outside, {x}.size(0), {starts}.size(0))",
        f"if {name}_outside.item():",
        f"    {by_numpy}.ufunc_reduceat({x}, {starts}, {ufunc!r}, 0)  # raises",
    ):
        wrapper.writeline(line)


__all__ = ["TYPES", "has_vectors", "reducing", "slices_reduced_by_kernels"]
