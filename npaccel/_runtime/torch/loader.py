"""Run Inductor's compiled output with `torch` alone imported.

Inductor writes a Python module that allocates buffers and calls the kernels.
Its imports of dynamo and inductor serve the compiler only. Here the module is
run without them: kernels come from shared libraries that are compiled already.

Read from torch/_inductor/codegen/wrapper.py of 2.11 and 2.13.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from npaccel._runtime.torch import ndarray_runtime
from npaccel._runtime.torch.huge_pages import use_huge_pages
from npaccel._runtime.torch.libraries import load_kernels, path_of

#: Pattern of code that calls an operator of npaccel's.
_OPERATOR = "torch.ops.npaccel."
#: Name of the file that generated code says it is in.
GENERATED = "<npaccel generated code>"
#: Module that registers npaccel's operators.
HOST_MODULE = "npaccel._numpy.host.kernels"


class NotPortableError(Exception):
    """Generated code needs the compiler's own modules at run time."""


def _align(nbytes: int) -> int:
    """Round a number of bytes up to 64, as Inductor's memory planning does."""
    return (nbytes + 63) & -64


def constant_tensor(
    dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], device: str, data: str
) -> torch.Tensor:
    """Return an array that generated code has among its names.

    Parameters
    ----------
    dtype : str
        Torch's name of it.
    shape, strides : tuple of int
    device : str
    data : str
        Its bytes in C order, as hexadecimal digits.
    """
    made = torch.empty_strided(shape, strides, dtype=getattr(torch, dtype), device=device)
    content = bytearray.fromhex(data)
    if content:
        made.copy_(torch.frombuffer(content, dtype=made.dtype).reshape(shape))
    return made


class ExternKernels:
    """Library calls of the generated code, by torch's public names."""

    addmm = staticmethod(torch.addmm)
    baddbmm = staticmethod(torch.baddbmm)
    bmm = staticmethod(torch.bmm)
    mm = staticmethod(torch.mm)
    convolution = staticmethod(torch.convolution)


#: Stand-ins for names that the generated module imports from dynamo and inductor.
STAND_INS: dict[str, Any] = {
    "run_intermediate_hooks": lambda name, value: None,
    "maybe_profile": None,
    "align": _align,
    "extern_kernels": ExternKernels,
    "constant_tensor": constant_tensor,
}


@dataclasses.dataclass(frozen=True)
class Code:
    """Callable of a generated module.

    Parameters
    ----------
    call : callable
        Takes a list of tensors (and sizes), which it empties, and returns the outputs.
    on_arrays : callable or None
        Takes arrays (and sizes) as arguments, and returns arrays. None where the code needs
        tensors.
    """

    call: Callable[[list[Any]], Any]
    on_arrays: Callable[..., Any] | None = None


class _Kernels:
    """Hand out compiled kernels in the order in which the module asks for them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._kernels = [kernel for path in paths for kernel in load_kernels(path)]

    def cpp_pybinding(
        self, argtypes: list[str], source: str, **options: Any
    ) -> Callable[..., None]:
        if not self._kernels:
            raise NotPortableError("the generated code asks for more kernels than were kept")
        return self._kernels.pop(0)

    def wait(self, scope: dict[str, Any]) -> None:
        if self._kernels:
            raise NotPortableError("the generated code asks for fewer kernels than were kept")


def load_module(source: str, kernels: Sequence[Path]) -> Code:
    """Return the callables of a generated module.

    Parameters
    ----------
    source : str
        As `portable_code.portable_source` returns it.
    kernels : sequence of Path
        The shared libraries of its kernels, as `kernel_paths` returns them.

    Returns
    -------
    Code
    """
    if _OPERATOR in source:
        importlib.import_module(HOST_MODULE)  # registers the operators
    scope: dict[str, Any] = STAND_INS | ndarray_runtime.names()
    scope["AsyncCompile"] = lambda: _Kernels(kernels)
    scope["__name__"] = "npaccel_generated"
    exec(compile(source, GENERATED, "exec"), scope)
    use_huge_pages(scope, source)
    return Code(scope["call"], scope.get(ndarray_runtime.ON_ARRAYS))


def kernel_paths(scope: SimpleNamespace | dict[str, Any], source: str) -> list[Path]:
    """Return the libraries behind the kernels of a module that Inductor loaded.

    Parameters
    ----------
    scope : dict
        The module's names.
    source : str
        Its source, which gives the kernels' order.

    Returns
    -------
    list of Path
        A library has one kernel or several that follow each other.

    Raises
    ------
    NotPortableError
        If a kernel isn't a C++ one of a library.
    """
    names = vars(scope) if isinstance(scope, SimpleNamespace) else scope
    paths: dict[Path, None] = {}
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        call = ast.unparse(node.value.func)
        if not call.startswith("async_compile."):
            continue
        if call != "async_compile.cpp_pybinding" or not isinstance(node.targets[0], ast.Name):
            raise NotPortableError(f"a kernel is made by {call}")
        kernel = names.get(node.targets[0].id)  # None where the call is one of torch's, on a GPU
        path = path_of(kernel)
        if path is None:
            raise NotPortableError(f"{node.targets[0].id} has no library file")
        paths[path] = None
    return list(paths)
