"""Multiply vectors, and matrices with vectors, in kernels of all threads.

Inductor's loop adds one product after the other to one vector of sums, and waits for each of them;
torch's BLAS is slow where the processor isn't its maker's. Here a row's products go to four vectors
of sums, and rows of a matrix that is multiplied from the left are added four at a time. Operands
that are computed on the way stay in Inductor's loop, which reads none of them from memory.

Read from torch/_inductor/{ir,lowering}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor import ir, lowering

from npaccel._numpy.host.blocked import MANY
from npaccel._numpy.host.linalg import of_row, of_vector
from npaccel._torch.inductor.kernels.reduceat import TYPES, has_vectors
from npaccel._torch.inductor.kernels.registration import define_kernel, written_in_place_of
from npaccel._torch.patching import registered

_aten = torch.ops.aten

_DOT = """
#include <torch/csrc/inductor/cpp_prefix.h>
using Lanes = at::vec::Vectorized<TYPE>;
static TYPE dot(const TYPE* a, const TYPE* b, const int64_t size)
{
    constexpr int64_t step = Lanes::size();
    Lanes one(0), two(0), three(0), four(0);
    int64_t k = 0;
    const auto added = [&](const Lanes& sum, const int64_t at)
    { return at::vec::fmadd(Lanes::loadu(a + at), Lanes::loadu(b + at), sum); };
    for (; k + 4 * step <= size; k += 4 * step)
    {
        one = added(one, k);
        two = added(two, k + step);
        three = added(three, k + 2 * step);
        four = added(four, k + 3 * step);
    }
    for (; k + step <= size; k += step) one = added(one, k);
    alignas(64) TYPE each[step];
    ((one + two) + (three + four)).store(each);
    TYPE sum = 0;
    for (int64_t i = 0; i < step; ++i) sum += each[i];
    for (; k < size; ++k) sum += a[k] * b[k];
    return sum;
}
"""
#: Few rows are long: each is divided among the threads.
_OF_VECTOR = """
extern "C" void kernel(
    const TYPE* m, const TYPE* x, TYPE* out, const int64_t rows, const int64_t size)
{
    const int64_t threads = rows * size > MANY ? omp_get_max_threads() : 1;
    if (threads == 1 || rows >= 8 * threads)
    {
        #pragma omp parallel for if (threads > 1)
        for (int64_t i = 0; i < rows; ++i) out[i] = dot(m + i * size, x, size);
        return;
    }
    std::vector<TYPE> sums(threads * 64);
    for (int64_t i = 0; i < rows; ++i)
    {
        std::fill(sums.begin(), sums.end(), TYPE(0));
        #pragma omp parallel for schedule(static, 1)
        for (int64_t t = 0; t < threads; ++t)
        {
            const int64_t first = size * t / threads, end = size * (t + 1) / threads;
            sums[t * 64] = dot(m + i * size + first, x + first, end - first);
        }
        TYPE sum = 0;
        for (int64_t t = 0; t < threads; ++t) sum += sums[t * 64];
        out[i] = sum;
    }
}
"""
#: Each thread adds some of the rows to sums of its own, a block of columns at a time.
_OF_ROW = """
#include <torch/csrc/inductor/cpp_prefix.h>
using Lanes = at::vec::Vectorized<TYPE>;
static void add_rows(
    const TYPE* x, const TYPE* m, TYPE* sums, const int64_t count, const int64_t width,
    const int64_t size)
{
    constexpr int64_t step = Lanes::size();
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
    {
        const TYPE *one = m + i * size, *two = one + size;
        const TYPE *three = two + size, *four = three + size;
        const Lanes a(x[i]), b(x[i + 1]), c(x[i + 2]), d(x[i + 3]);
        int64_t k = 0;
        for (; k + step <= width; k += step)
        {
            Lanes first = at::vec::fmadd(a, Lanes::loadu(one + k), Lanes::loadu(sums + k));
            first = at::vec::fmadd(b, Lanes::loadu(two + k), first);
            const Lanes other = d * Lanes::loadu(four + k);
            (first + at::vec::fmadd(c, Lanes::loadu(three + k), other)).store(sums + k);
        }
        for (; k < width; ++k)
            sums[k] += (x[i] * one[k] + x[i + 1] * two[k])
                + (x[i + 2] * three[k] + x[i + 3] * four[k]);
    }
    for (; i < count; ++i)
        for (int64_t k = 0; k < width; ++k) sums[k] += x[i] * m[i * size + k];
}
extern "C" void kernel(
    const TYPE* x, const TYPE* m, TYPE* out, const int64_t rows, const int64_t size)
{
    const int64_t threads = rows * size > MANY ? omp_get_max_threads() : 1;
    const int64_t block = 2048, stride = (size + 63) / 64 * 64;
    std::vector<TYPE> sums(threads * stride, TYPE(0));
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
    for (int64_t t = 0; t < threads; ++t)
    {
        const int64_t first = rows * t / threads, end = rows * (t + 1) / threads;
        for (int64_t k = 0; k < size; k += block)
            add_rows(x + first, m + first * size + k, sums.data() + t * stride + k, end - first,
                     std::min(block, size - k), size);
    }
    for (int64_t k = 0; k < size; ++k)
    {
        TYPE sum = 0;
        for (int64_t t = 0; t < threads; ++t) sum += sums[t * stride + k];
        out[k] = sum;
    }
}
"""


@contextlib.contextmanager
def vectors_multiplied_by_kernels() -> Iterator[None]:
    """Have graphs that are compiled meanwhile multiply with vectors so."""
    with (
        registered(lowering.lowerings, {of_vector: _of_vector, of_row: _of_row}),
        written_in_place_of(of_vector, _fits, _write_of_vector),
        written_in_place_of(of_row, _fits, _write_of_row),
    ):
        yield


def _by_kernel(operator: Any, *operands: Any) -> Any:
    by_torch = lowering.fallback_handler(operator, False)  # type: ignore[no-untyped-call]
    return by_torch(*operands)


def _of_vector(m: Any, x: Any) -> Any:
    if has_vectors() and all(map(_lies_in_memory, (m, x))):
        return _by_kernel(of_vector, m, x)
    known: Any = lowering.lowerings
    other = known[_aten.unsqueeze.default](x, 0) if len(m.get_size()) == 2 else x
    products = known[_aten.mul.Tensor](m, other)
    return known[_aten.sum.dim_IntList](products, [-1])


def _of_row(x: Any, m: Any) -> Any:
    if has_vectors() and _lies_in_memory(m):
        return _by_kernel(of_row, x, m)
    known: Any = lowering.lowerings
    found = known[_aten.mm.default](known[_aten.unsqueeze.default](x, 0), m)
    return known[_aten.squeeze.dim](found, 0)


def _lies_in_memory(x: Any) -> bool:
    """Whether something is a whole array, or one that is written anyway, in C order."""
    box = x.data if isinstance(x, ir.TensorBox) else x
    if not isinstance(box, ir.StorageBox) or isinstance(box.data, ir.Pointwise | ir.Reduction):
        return False
    layout = box.data.get_layout()
    return isinstance(layout, ir.FixedLayout) and bool(layout.is_contiguous())


def _fits(node: Any) -> bool:
    return all(list(part.get_stride())[-1:] == [1] for part in node.inputs) and all(
        len(part.get_size()) == 1 or list(part.get_stride()) == [part.get_size()[1], 1]
        for part in node.inputs
    )


def _write(wrapper: Any, node: Any, text: str, sizes: str, shape: str) -> None:
    name, dtype = node.get_name(), node.inputs[0].get_dtype()
    kind = TYPES[dtype]
    given = [part.codegen_reference() for part in node.inputs]
    text = text.replace("TYPE", kind).replace("MANY", str(MANY))
    parameters = [f"const {kind}*"] * 2 + [f"{kind}*"] + ["const int64_t"] * 2
    kernel = define_kernel(wrapper, text, parameters)
    shape, sizes = (part.format(*given) for part in (shape, sizes))
    strides = "()" if shape == "()" else "(1,)"
    wrapper.writeline(f"{name} = empty_strided_cpu({shape}, {strides}, {dtype})")
    wrapper.writeline(f"{kernel}({given[0]}, {given[1]}, {name}, {sizes})")


def _write_of_vector(wrapper: Any, node: Any) -> None:
    is_matrix = len(node.inputs[0].get_size()) == 2
    sizes = "{0}.size(0), {0}.size(1)" if is_matrix else "1, {0}.size(0)"
    _write(wrapper, node, _DOT + _OF_VECTOR, sizes, "({0}.size(0),)" if is_matrix else "()")


def _write_of_row(wrapper: Any, node: Any) -> None:
    _write(wrapper, node, _OF_ROW, "{1}.size(0), {1}.size(1)", "({1}.size(1),)")


__all__ = ["vectors_multiplied_by_kernels"]
