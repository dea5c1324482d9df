"""Have torch copy complex numbers on a GPU where a result or an operand must lie in another way.

Triton knows no complex numbers. Graphs compute with their parts, but Inductor itself copies what
an operator of torch gives, or takes, where its strides aren't those that were asked for, and made
a kernel of it that couldn't be compiled.

Read from torch/_inductor/ir.py (ExternKernel.copy_input, ExternKernel.require_strides) of 2.11 and
2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._inductor import ir, lowering

from npaccel._numpy.host.registration import operator
from npaccel._torch.patching import Patch, patched


def _restrided(x: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    sizes = [1 if step == 0 else n for n, step in zip(x.shape, strides, strict=True)]
    first = x[tuple(slice(n) for n in sizes)]
    made = torch.empty_strided(sizes, strides, dtype=x.dtype, device=x.device).copy_(first)
    return made.as_strided(x.shape, strides)


#: Copies a tensor to memory of its own, with these strides; stretched axes stay stretched.
_restriding = operator(
    "restrided(Tensor x, SymInt[] strides) -> Tensor",
    _restrided,
    lambda x, strides: torch.empty_strided(x.shape, strides, dtype=x.dtype, device=x.device),
    (torch.Tag.pt2_compliant_tag,),
    device="CompositeExplicitAutograd",
)


class _NeededError(Exception):
    """Inductor would copy complex numbers to memory with certain strides."""


def _copied(x: Any, strides: Sequence[Any]) -> Any:
    by_torch = lowering.fallback_handler(_restriding, False)  # type: ignore[no-untyped-call]
    return by_torch(x, strides)


def _is_complex_on_gpu(x: Any) -> bool:
    return bool(x.get_dtype().is_complex) and x.get_device().type != "cpu"


@contextlib.contextmanager
def complex_copies_by_torch() -> Iterator[None]:
    """Generate code meanwhile that copies complex numbers on a GPU by torch's kernels."""
    state = _State()
    with patched([patch.given(state) for patch in PATCHES]):
        yield


@dataclasses.dataclass
class _State:
    """Whether Inductor is asking for certain strides."""

    is_asking: bool = False


def _copy_input(state: _State, original: Any) -> Any:
    def copy_input(x: Any) -> Any:
        if not _is_complex_on_gpu(x):
            return original(x)
        if state.is_asking:
            raise _NeededError
        return _copied(x, ir.FlexibleLayout.contiguous_strides(x.get_size()))

    return copy_input


def _require_strides(state: _State, original: Any) -> Any:
    def require_strides(
        cls: Any, x: Any, order: Any = None, exact_strides: Any = None, *args: Any, **options: Any
    ) -> Any:
        before, state.is_asking = state.is_asking, True
        try:
            return original(cls, x, order, exact_strides, *args, **options)
        except _NeededError:
            state.is_asking = False
            strides = exact_strides or ir.FlexibleLayout.stride_ordered(x.get_size(), order)
            return _copied(x, strides)
        finally:
            state.is_asking = before

    return require_strides


_WHY = "Triton knows no complex numbers, which Inductor copies by it"
_TEST = "tests/torch_layer/inductor/test_complex_pairs.py"

PATCHES = (
    Patch(ir.ExternKernel, "copy_input", _copy_input, _WHY, _TEST),
    Patch(ir.ExternKernel, "require_strides", _require_strides, _WHY, _TEST),
)

__all__ = ["complex_copies_by_torch"]
