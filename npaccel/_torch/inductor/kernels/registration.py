"""Write kernels of npaccel's own into generated code, in place of calls of operators.

Read from torch/_inductor/{ir.py,codecache.py,codegen/wrapper.py} of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch._inductor import ir
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def written_in_place_of(
    operator: Any, fits: Callable[[Any], bool], write: Callable[[Any, Any], None]
) -> Iterator[None]:
    """Have code that is generated meanwhile do without calls of an operator.

    Parameters
    ----------
    operator : torch.ops.OpOverload
    fits : callable
        Whether a call, an `ir.FallbackKernel`, can be done without.
    write : callable
        Takes the generator and such a call, and writes what does the same.
    """
    with patched([patch.given(operator, fits, write) for patch in PATCHES]):
        yield


def _generating(
    operator: Any, fits: Callable[[Any], bool], write: Callable[[Any, Any], None], original: Any
) -> Any:
    def generate_fallback_kernel(self: PythonWrapperCodegen, node: ir.FallbackKernel) -> None:
        if node.op_overload is operator and fits(node):
            write(self, node)
        else:
            original(self, node)

    return generate_fallback_kernel


def define_kernel(wrapper: Any, text: str, types: list[str]) -> str:
    """Define a kernel in the generated module if it isn't there, and return its name."""
    name: str | None = wrapper.src_to_kernel.get(text)
    if name is None:
        name = f"cpp_own_{wrapper.next_kernel_suffix()}"
        wrapper.src_to_kernel[text] = name
        body = f"async_compile.cpp_pybinding({types!r}, r'''{text}''')"
        wrapper.define_kernel(name, body, gpu=False)
    return name


PATCHES = (
    Patch(
        PythonWrapperCodegen, "generate_fallback_kernel", _generating,
        "Inductor writes no kernels for some of NumPy's functions",
        "tests/torch_layer/inductor/test_vector_products.py",
    ),
)  # fmt: skip

__all__ = ["define_kernel", "written_in_place_of"]
