"""Call NumPy's kernels from compiled code without torch's dispatcher.

Read from torch/_inductor/codegen/wrapper.py (generate_fallback_kernel, write_header) and
torch/_inductor/ir.py (ExternKernel.set_python_kernel_name) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch._inductor import ir
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from npaccel._numpy.host.registration import KERNELS
from npaccel._torch.inductor.ndarray_codegen import HOST_KERNELS
from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def host_kernels_called_directly() -> Iterator[None]:
    """Have code that is generated meanwhile call them so."""
    with patched(PATCHES):
        yield


def _generating(original: Any) -> Any:
    def generate_fallback_kernel(self: PythonWrapperCodegen, node: ir.FallbackKernel) -> None:
        name = KERNELS.get(node.op_overload)
        if name is not None:
            node.python_kernel_name = f"{import_kernels(self)}.{name}"
        original(self, node)

    return generate_fallback_kernel


def import_kernels(wrapper: Any) -> str:
    """Have the generated module import them, and return the name that they have there."""
    line = f"from npaccel._numpy.host.kernels import direct as {HOST_KERNELS}"
    if line not in wrapper.src_to_kernel:
        wrapper.src_to_kernel[line] = HOST_KERNELS
        wrapper.header.writeline(line)
    return HOST_KERNELS


PATCHES = (
    Patch(
        PythonWrapperCodegen, "generate_fallback_kernel", _generating,
        "torch's dispatcher takes longer than a small kernel of NumPy's",
        "tests/torch_layer/inductor/test_array_code.py",
    ),
)  # fmt: skip

__all__ = ["host_kernels_called_directly", "import_kernels"]
