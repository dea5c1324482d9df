"""Read arrays by a mask, ``x[m]``, in kernels of all threads.

NumPy lists the positions of a mask's elements and then takes what lies there, on one core. Two
kernels do the same in blocks: one counts the elements that each block of the mask keeps, the other
copies them to where the counts before them say. Eight elements of a mask are looked at together,
and copied together where all of them are kept.

Read from torch/_inductor/ir.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._inductor.virtualized import V

from npaccel._numpy.host.blocked import MANY
from npaccel._numpy.host.kernels import chosen_each
from npaccel._torch.inductor.kernels.registration import define_kernel, written_in_place_of

_BLOCK = 4096
#: Types that are copied as a whole, by their bytes. Complex numbers needn't be known as such.
_TYPES = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "Wide"}
_COUNT = f"""
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void kernel(const uint8_t* mask, int64_t* before, const int64_t size)
{{
    const int64_t blocks = (size + {_BLOCK - 1}) / {_BLOCK};
    #pragma omp parallel for if (size > {MANY})
    for (int64_t block = 0; block < blocks; ++block)
    {{
        const int64_t end = std::min<int64_t>(size, (block + 1) * {_BLOCK});
        int32_t kept = 0;
        for (int64_t i = block * {_BLOCK}; i < end; ++i) kept += mask[i] != 0;
        before[block + 1] = kept;
    }}
    before[0] = 0;
    for (int64_t block = 0; block < blocks; ++block) before[block + 1] += before[block];
}}
"""
_KEEP = f"""
#include <cstring>
#include <torch/csrc/inductor/cpp_prefix.h>
struct Wide {{ uint64_t parts[2]; }};
template <typename T, bool next_to_each_other>
static void keep_some(
    const uint8_t* mask, const T* from, const int64_t step, T* to, const int64_t size,
    const int64_t kept)
{{
    int64_t done = 0, i = 0;
    for (; i + 8 <= size && done < kept; i += 8)
    {{
        uint64_t eight;
        std::memcpy(&eight, mask + i, 8);
        if (eight == 0) continue;
        if (next_to_each_other && eight == 0x0101010101010101u)
        {{
            std::memcpy(to + done, from + i, 8 * sizeof(T));
            done += 8;
        }}
        else if (done + 8 <= kept)  // What isn't kept is written over by what comes next.
        {{
            for (int j = 0; j < 8; ++j)
            {{
                to[done] = from[(i + j) * (next_to_each_other ? 1 : step)];
                done += mask[i + j] != 0;
            }}
        }}
        else
        {{
            for (int j = 0; j < 8; ++j)
                if (mask[i + j]) to[done++] = from[(i + j) * step];
        }}
    }}
    for (; i < size && done < kept; ++i)
        if (mask[i]) to[done++] = from[i * step];
}}
template <typename T>
static void keep(
    const uint8_t* mask, const T* from, const int64_t step, T* to, const int64_t size,
    const int64_t kept)
{{
    if (step != 1)
        keep_some<T, false>(mask, from, step, to, size, kept);
    else if (kept < size)
        keep_some<T, true>(mask, from, step, to, size, kept);
    else
        std::memcpy(to, from, size * sizeof(T));
}}
extern "C" void kernel(const uint8_t* mask, const int64_t* before, PARAMETERS, const int64_t size)
{{
    #pragma omp parallel for if (size > {MANY})
    for (int64_t block = 0; block < (size + {_BLOCK - 1}) / {_BLOCK}; ++block)
    {{
        const int64_t first = block * {_BLOCK}, start = before[block];
        const int64_t some = std::min<int64_t>(size - first, {_BLOCK});
        const int64_t kept = before[block + 1] - start;
        CALLS
    }}
}}
"""


@contextlib.contextmanager
def masks_read_by_kernels() -> Iterator[None]:
    """Have graphs that are compiled meanwhile read one-dimensional arrays so."""
    with written_in_place_of(chosen_each, _fits, _write):
        yield


def _fits(node: Any) -> bool:
    *arrays, mask = node.inputs
    sizes = V.graph.sizevars
    return (
        node.constant_args[-1] == 0
        and mask.get_dtype() == torch.bool
        and list(mask.get_stride()) == [1]
        and all(len(x.get_size()) == 1 for x in arrays)
        and all(sizes.statically_known_equals(x.get_size()[0], mask.get_size()[0]) for x in arrays)
        and all(x.get_dtype().itemsize in _TYPES for x in arrays)
    )


def _write(wrapper: Any, node: Any) -> None:
    name, inputs = node.get_name(), node.inputs
    *arrays, mask = [x.codegen_reference() for x in inputs]
    dtypes = [x.get_dtype() for x in inputs[:-1]]
    count = define_kernel(wrapper, _COUNT, ["const uint8_t*", "int64_t*", "const int64_t"])
    types = [_TYPES[dtype.itemsize] for dtype in dtypes]
    parameters = []
    for i, kind in enumerate(types):
        each = {f"from{i}": f"const {kind}*", f"step{i}": "const int64_t", f"to{i}": f"{kind}*"}
        parameters += [(of, f"{of} {key}") for key, of in each.items()]
    kinds = [kind for kind, _ in parameters]
    text = _KEEP.replace("PARAMETERS", ", ".join(each for _, each in parameters))
    calls = [
        f"keep(mask + first, from{i} + first * step{i}, step{i}, to{i} + start, some, kept);"
        for i in range(len(types))
    ]
    copy = define_kernel(
        wrapper,
        text.replace("CALLS", " ".join(calls)),
        ["const uint8_t*", "const int64_t*", *kinds, "const int64_t"],
    )
    size, before = f"{name}_size", f"{name}_before"
    given = [part for i, x in enumerate(arrays) for part in (x, f"{x}.stride(0)", f"{name}[{i}]")]
    made = [f"empty_strided_cpu(({name}_kept,), (1,), {dtype})" for dtype in dtypes]
    for line in (
        f"{size} = {mask}.size(0)",
        f"{before}_shape = (({size} + {_BLOCK - 1}) // {_BLOCK} + 1,)",
        f"{before} = empty_strided_cpu({before}_shape, (1,), torch.int64)",
        f"{count}({mask}, {before}, {size})",
        f"{name}_kept = {before}[-1].item()",
        f"{name} = [{', '.join(made)}]",
        f"{copy}({mask}, {before}, {', '.join(given)}, {size})",
    ):
        wrapper.writeline(line)


__all__ = ["masks_read_by_kernels"]
