"""Find the extremes of rows, ``argmax`` and ``argmin``, in kernels of all threads.

Inductor compares elements and positions together, one row at a time; NumPy's kernel takes one core.
Here each row is read by vectors, and once more up to the element.

Read from torch/_inductor/ir.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from npaccel._numpy.host.blocked import MANY
from npaccel._numpy.host.kernels import extreme_position
from npaccel._torch.inductor.kernels.reduceat import TYPES, has_vectors, reducing
from npaccel._torch.inductor.kernels.registration import define_kernel, written_in_place_of

_KERNEL = """
FIRST_OF
extern "C" void kernel(const TYPE* x, int64_t* out, const int64_t rows, const int64_t size)
{
    #pragma omp parallel for if (rows * size > MANY)
    for (int64_t i = 0; i < rows; ++i) out[i] = first_of(x + i * size, size);
}
"""
#: The least integers of blocks say in which one it is.
_OF_INTEGERS = """
static inline int64_t first_of(const TYPE* row, const int64_t size)
{
    TYPE best = row[0];
    int64_t at = 0;
    for (int64_t k = 0; k < size; k += 128)
    {
        const TYPE found = reduce_all(row + k, row + std::min(k + 128, size));
        if (found BEYOND best) { best = found; at = k; }
    }
    while (row[at] != best) ++at;
    return at;
}
"""
#: Comparisons of vectors tell whether a lane is the one; NaN, which is beyond all, equals nothing.
_OF_FLOATS = """
static inline int64_t first_of(const TYPE* row, const int64_t size)
{
    const TYPE best = reduce_all(row, row + size);
    const Lanes wanted(best);
    int64_t at = 0;
    if (best == best)
        while (at + Lanes::size() <= size
               && (Lanes::loadu(row + at) == wanted).zero_mask() == (1 << Lanes::size()) - 1)
            at += Lanes::size();
    while (row[at] != best && row[at] == row[at]) ++at;
    return at;
}
"""


@contextlib.contextmanager
def row_extremes_by_kernels() -> Iterator[None]:
    """Have graphs that are compiled meanwhile find extremes of rows of matrices so."""
    with written_in_place_of(extreme_position, _fits, _write):
        yield


def _fits(node: Any) -> bool:
    (x,) = node.inputs
    stride, axis = list(x.get_stride()), node.constant_args[0]
    rows = len(stride) == 2 and stride == [x.get_size()[1], 1]
    return has_vectors() and x.get_dtype() in TYPES and rows and axis in (1, -1)


def _write(wrapper: Any, node: Any) -> None:
    name, largest = node.get_name(), node.constant_args[1]
    x = node.inputs[0].codegen_reference()
    kind = TYPES[node.inputs[0].get_dtype()]
    first = _OF_FLOATS if kind in ("double", "float") else _OF_INTEGERS
    text = _KERNEL.replace("FIRST_OF", first.replace("BEYOND", ">" if largest else "<"))
    text = reducing(kind, "maximum" if largest else "minimum") + text.replace("TYPE", kind)
    text = text.replace("MANY", str(MANY))
    parameters = [f"const {kind}*", "int64_t*", "const int64_t", "const int64_t"]
    kernel = define_kernel(wrapper, text, parameters)
    for line in (
        f"{name} = empty_strided_cpu(({x}.size(0),), (1,), torch.int64)",
        f"{kernel}({x}, {name}, {x}.size(0), {x}.size(1))",
    ):
        wrapper.writeline(line)


__all__ = ["row_extremes_by_kernels"]
