"""Reduce the lanes of a vector by halves at the end of a reduction.

ATen reduces them one after another for every type but float32: a lane is stored,
loaded as a vector and reduced, which takes some 100 cycles for eight float64, as
long as a row of 500 elements. What stands here moves half of the lanes beside the
other half, three to six times.

Read from torch/_inductor/codegen/cpp.py (CppVecKernel.reduction) and
ATen/cpu/vec/functional_base.h (vec_reduce_all) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from torch._inductor.codegen.cpp import CppVecKernel
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512, pick_vec_isa

from npaccel._torch.patching import Patch, patched

#: How ATen is asked, up to the arguments: the type of the elements, and the number of vectors.
_ATEN = re.compile(r"at::vec::vec_reduce_all<(double|int(?:8|16|32|64)_t|uint8_t), (\d+)>\(")
_SIZES = {"double": 8, "int64_t": 8, "int32_t": 4, "int16_t": 2, "int8_t": 1, "uint8_t": 1}

#: What puts lanes of 8 bytes or more in the places of their neighbours, the widest first.
_WIDE = {
    512: (
        "_mm512_shuffle_i64x2(lanes, lanes, 0x4E)",
        "_mm512_shuffle_i64x2(lanes, lanes, 0xB1)",
        "_mm512_permutex_epi64(lanes, 0xB1)",
    ),
    256: ("_mm256_permute2x128_si256(lanes, lanes, 1)", "_mm256_permute4x64_epi64(lanes, 0xB1)"),
}
#: The same for halves of numbers, by their bits.
_NARROW = "_mm{0}_or_si{0}(_mm{0}_slli_epi{1}(lanes, {2}), _mm{0}_srli_epi{1}(lanes, {2}))"

#: Takes the function that combines two vectors, and what it is to combine.
_HALVING = """[](const auto& combine, auto found) {{
    at::vec::Vectorized<{type}> one = {first}, other;
    __m{bits}i lanes;
    {steps}
    {type} first;
    std::memcpy(&first, &one, sizeof(first));
    return first;
}}("""


@contextlib.contextmanager
def lanes_reduced_by_halves() -> Iterator[None]:
    """Let reductions that are generated meanwhile end by halves of a vector."""
    instructions = pick_vec_isa()
    if isinstance(instructions, VecAVX512):
        bits = 512
    elif isinstance(instructions, VecAVX2):
        bits = 256
    else:
        yield
        return
    with patched([patch.given(bits) for patch in PATCHES]):
        yield


def _reduction(bits: int, original: Any) -> Any:
    def reduction(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        lines = self.reduction_suffix._lines
        lines[:] = [_by_halves(line, bits) if isinstance(line, str) else line for line in lines]
        return result

    return reduction


def _by_halves(line: str, bits: int) -> str:
    """Put a reduction by halves in the place of ATen's, in a line of a kernel."""
    return _ATEN.sub(lambda found: halving(found[1], int(found[2]), bits), line)


def halving(cpp_type: str, vectors: int, bits: int) -> str:
    """Return C++ that reduces some vectors to a number, up to the arguments."""
    swaps = [*_WIDE[bits], *(_NARROW.format(bits, width, width // 2) for width in (64, 32, 16))]
    lanes = bits // 8 // _SIZES[cpp_type]
    steps = [f"one = combine(one, found[{i}]);" for i in range(1, vectors)]
    for swap in swaps[: lanes.bit_length() - 1]:
        steps.append("std::memcpy(&lanes, &one, sizeof(lanes));")
        steps.append(f"lanes = {swap}; std::memcpy(&other, &lanes, sizeof(lanes));")
        steps.append("one = combine(one, other);")
    first = "found" if vectors == 1 else "found[0]"
    text = _HALVING.format(type=cpp_type, bits=bits, first=first, steps=" ".join(steps))
    return " ".join(text.split())


PATCHES = (
    Patch(
        CppVecKernel, "reduction", _reduction,
        "ATen reduces the lanes of a vector one by one",
        "tests/torch_layer/inductor/test_lane_folds.py",
    ),
)  # fmt: skip

__all__ = ["lanes_reduced_by_halves"]
