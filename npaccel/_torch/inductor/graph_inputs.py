"""Inputs of graphs: each size that code computes with has a name, and numbers are computed.

From 2.14 on a size that is no input by itself gets its name where the code asserts sizes, or where
an operation asks for it. npaccel's code asserts none, as guards have said so before: the name was
missing where a buffer has the size of a conjugated or negated argument.

Of a float64 array without dimensions torch takes ``b.item()`` for an input of its own, which
kernels then read and nobody passes. Python's floats are such inputs, and integers stay one, as
guards may depend on them.

A graph keeps inputs that nothing reads. Inductor takes them out of it where the only thing that was
made of them is a view of another dtype that isn't used, and goes on to pass them: unsigned numbers
that are written over before they're read.

Read from torch/_inductor/codegen/wrapper.py (PythonWrapperCodegen.codegen_inputs) of 2.13 to 2.15,
torch/_subclasses/fake_tensor.py (FakeTensorConverter.from_real_tensor) of 2.11 to 2.15 and
torch/_inductor/fx_passes/joint_graph.py (remove_redundant_views) of 2.13 to 2.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._dynamo.source import FloatTensorSource
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.fx_passes import joint_graph
from torch._subclasses.fake_tensor import FakeTensorConverter

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def input_sizes_named() -> Iterator[None]:
    """Have code that is generated meanwhile name the sizes of its inputs."""
    with patched(_OF_SIZES):
        yield


@contextlib.contextmanager
def input_numbers_computed() -> Iterator[None]:
    """Make arguments of graphs meanwhile whose number isn't known before it's asked for."""
    with patched(_OF_NUMBERS):
        yield


@contextlib.contextmanager
def unused_inputs_kept() -> Iterator[None]:
    """Keep inputs in graphs that are compiled meanwhile, which nothing reads."""
    with patched(_OF_VIEWS):
        yield


def _of_used(original: Any) -> Any:
    def remove_redundant_views(gm: torch.fx.GraphModule) -> None:
        gm.graph.eliminate_dead_code()  # Views among them: the original takes their base as well.
        original(gm)

    return remove_redundant_views


def _named(original: Any) -> Any:
    def codegen_inputs(self: Any) -> None:
        with inductor_config.patch({"size_asserts": True}):
            original(self)

    return codegen_inputs


def _from_real_tensor(original: Any) -> Any:
    def from_real_tensor(self: Any, *args: Any, source: Any = None, **kwargs: Any) -> Any:
        fake = original(self, *args, source=source, **kwargs)
        if fake.dtype == torch.float64 and not isinstance(source, FloatTensorSource):
            fake.item_memo = None
        return fake

    return from_real_tensor


_OF_SIZES = (
    Patch(
        PythonWrapperCodegen, "codegen_inputs", _named,
        "Inductor names sizes of inputs only where it asserts them",
        "tests/runtime/test_tensors.py", read="2.14", only="2.14-",
    ),
)  # fmt: skip
_OF_NUMBERS = (
    Patch(
        FakeTensorConverter, "from_real_tensor", _from_real_tensor,
        "the number of an argument without dimensions is missing in kernels",
        "tests/torch_layer/inductor/test_graph_inputs.py",
    ),
)  # fmt: skip

_OF_VIEWS = (
    Patch(
        joint_graph, "remove_redundant_views", _of_used,
        "an input goes with the unused view of it, and is passed all the same",
        "tests/torch_layer/inductor/test_graph_inputs.py",
    ),
)  # fmt: skip

PATCHES = (*_OF_SIZES, *_OF_NUMBERS, *_OF_VIEWS)

__all__ = ["PATCHES", "input_numbers_computed", "input_sizes_named", "unused_inputs_kept"]
