"""Have generated code name each size of its inputs that it computes with.

From 2.14 on a size that is no input by itself gets its name where the code asserts sizes, or where
an operation asks for it. npaccel's code asserts none, as guards have said so before: the name was
missing where a buffer has the size of a conjugated or negated argument.

Read from torch/_inductor/codegen/wrapper.py (PythonWrapperCodegen.codegen_inputs) of 2.13 to 2.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch._inductor.config as inductor_config
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def input_sizes_named() -> Iterator[None]:
    """Have code that is generated meanwhile name the sizes of its inputs."""
    with patched(PATCHES):
        yield


def _named(original: Any) -> Any:
    def codegen_inputs(self: Any) -> None:
        with inductor_config.patch({"size_asserts": True}):
            original(self)

    return codegen_inputs


PATCHES = (
    Patch(
        PythonWrapperCodegen, "codegen_inputs", _named,
        "Inductor names sizes of inputs only where it asserts them",
        "tests/runtime/test_tensors.py", read="2.14", only="2.14-",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "input_sizes_named"]
