"""Load the parts of complex numbers, which lie side by side, by whole vectors.

Inductor loads what doesn't follow each other in memory number by number, and doesn't make vectors
at all where much is loaded or stored so. Two vectors of pairs are one of first parts and one of
second parts, of which the compiler keeps both for who needs them.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.load, TilingSelect) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._inductor import config as inductor_config
from torch._inductor.codegen import cpp
from torch._inductor.codegen.cpp import DTYPE_TO_CPP, CppVecKernel, TilingSelect, cexpr_index
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

_LOAD = """[&]() {{
    using Lanes = at::vec::Vectorized<{type}>;
    const auto* from = {var} + {index};
    {vectors} found;
    {steps}
    return found;
}}()""".replace("\n", " ")
_STEP = (
    "found{at} = at::vec::deinterleave2(Lanes::loadu(from + {first} * Lanes::size()), "
    "Lanes::loadu(from + {second} * Lanes::size())).{part};"
)


def _of_pairs(name: str, index: Any) -> int | None:
    """Return which of two numbers side by side is loaded; None for other layouts.

    Both can be read where the array consists of pairs, and all that is added to the place of a
    number in its pair is even.
    """
    buffer = V.graph.try_get_buffer(name)
    layout = buffer.maybe_get_layout() if buffer is not None else None
    if layout is None or not layout.size or layout.size[-1] != 2 or layout.stride[-1] != 1:
        return None
    constant, terms = index.expand().as_coeff_Add()
    added = [*layout.stride[:-1], *terms.as_ordered_terms()]
    if any((sympy.Rational(1, 2) * term).is_integer is not True for term in added):
        return None
    return int(constant % 2)


def _loading(original: Any) -> Any:
    def load(self: Any, name: str, index: Any) -> Any:
        dtype = V.graph.get_dtype(name)
        place = self.rename_indexing(index)
        if dtype not in (torch.float64, torch.float32) or self.tail_size or self._load_mask:
            return original(self, name, index)
        if self._try_get_const_stride(place, self.itervars[self.tiling_idx]) != 2:
            return original(self, name, index)
        which = _of_pairs(name, place)
        if which is None:
            return original(self, name, index)
        count = self._get_num_vectors(dtype)
        steps = (
            _STEP.format(
                at=f"[{i}]" if count > 1 else "",
                first=2 * i,
                second=2 * i + 1,
                part=("first", "second")[which],
            )
            for i in range(count)
        )
        line = _LOAD.format(
            type=DTYPE_TO_CPP[dtype],
            var=self.args.input(name),
            index=cexpr_index(place - which),  # type: ignore[no-untyped-call]
            vectors=self._get_vec_type(dtype),
            steps=" ".join(steps),
        )
        found = self.cse.generate(self.loads, line, dtype=dtype)
        found.update_on_args("load", (self, name, place), {})
        found.is_vec = True
        return found

    return load


@contextlib.contextmanager
def loads_of_pairs() -> Iterator[None]:
    """Generate kernels meanwhile that load pairs by vectors, however many there are.

    What is left after whole vectors is computed number by number.
    """
    numbers = {"cpp.enable_tiling_heuristics": False, "cpp.enable_loop_tail_vec": False}
    with patched(_OF_KERNELS), inductor_config.patch(numbers):
        yield


def _along(original: Any) -> Any:
    """Load pairs by vectors, like numbers that follow each other."""

    def select_tiling_indices(self: Any, *args: Any) -> Any:
        pairs: list[bool] = []
        with patched([patch.given(pairs) for patch in _OF_STRIDES]):
            found = original(self, *args)
        return found[-1:] if any(pairs) else found

    return select_tiling_indices


def _pairs_as_one(pairs: list[bool], original: Any) -> Any:
    def stride(index: Any, var: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(index, var, *args, **kwargs)
        pairs.append(found == 2)
        return found / 2 if found == 2 else found

    return stride


_WHY = "Inductor loads what lies side by side number by number"
_TEST = "tests/torch_layer/inductor/test_complex_pairs.py"
_OF_KERNELS = (
    Patch(CppVecKernel, "load", _loading, _WHY, _TEST),
    Patch(TilingSelect, "_select_tiling_indices", _along, _WHY, _TEST),
)
#: While Inductor chooses along which axes vectors go.
_OF_STRIDES = (Patch(cpp, "stride_at_vec_range", _pairs_as_one, _WHY, _TEST),)

PATCHES = (*_OF_KERNELS, *_OF_STRIDES)

__all__ = ["PATCHES", "loads_of_pairs"]
