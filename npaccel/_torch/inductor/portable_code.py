"""Generated modules without the compiler's own modules, so that a new process needn't import them.

Read from torch/_inductor/codegen/wrapper.py of 2.11 and 2.13.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import torch

from npaccel._runtime.torch.loader import HOST_MODULE, STAND_INS, ExternKernels, NotPortableError
from npaccel._torch.inductor import ndarray_codegen

#: A name that Inductor gives its value after the module is loaded.
_GIVEN_LATER = re.compile(r"^(?P<name>\w+) = None\b.*$", re.MULTILINE)
#: Maximum size of such an array that is kept with the code.
_MAX_BYTES = 1 << 20
_COMPILER_MODULES = ("torch._inductor", "torch._dynamo")


def portable_source(source: str) -> str:
    """Take the compiler's imports out of a generated module.

    Raises
    ------
    NotPortableError
        If it imports something that has no stand-in, or calls a library
        function that isn't known here.
    """
    tree = ast.parse(source)
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_COMPILER_MODULES):
            _check_stand_ins(node)
        elif isinstance(node, ast.Import | ast.ImportFrom) and _is_foreign(node):
            raise NotPortableError(f"the generated code has `{ast.unparse(node)}`")
        elif _is_given_later(node):
            raise NotPortableError(f"it has an array of over {_MAX_BYTES} bytes in its code")
        elif not _is_main_block(node):
            kept.append(node)
    _check_extern_kernels(tree)
    tree.body = [node for node in kept if not _is_unneeded_function(node)]
    return f"{ast.unparse(tree)}\n{ndarray_codegen.on_arrays(source)}"


def with_constants(source: str, scope: Mapping[str, Any]) -> str:
    """Write the arrays into a generated module that Inductor gives it when it's loaded.

    Parameters
    ----------
    source : str
    scope : mapping
        The names of the loaded module.
    """

    def written(found: re.Match[str]) -> str:
        value = scope.get(found["name"])
        if not isinstance(value, torch.Tensor) or value.nbytes > _MAX_BYTES:
            return found[0]
        flat = value.detach().cpu().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes().hex()
        dtype = str(value.dtype).partition(".")[2]
        shape, strides = tuple(value.shape), tuple(value.stride())
        made = f"constant_tensor({dtype!r}, {shape}, {strides}, {str(value.device)!r}, {data!r})"
        return f"{found['name']} = {made}"

    return _GIVEN_LATER.sub(written, source)


def _check_stand_ins(node: ast.ImportFrom) -> None:
    for alias in node.names:
        name = alias.asname or alias.name
        if name != "AsyncCompile" and name not in STAND_INS:
            raise NotPortableError(f"the generated code has `{ast.unparse(node)}`")


def _is_foreign(node: ast.Import | ast.ImportFrom) -> bool:
    plain = {"torch", "math", "random", "os", "tempfile", "ctypes", "cmath", HOST_MODULE}
    if isinstance(node, ast.ImportFrom):
        return node.module not in plain
    return any(alias.name not in plain for alias in node.names)


def _is_given_later(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and node.value.value is None
    )


def _is_main_block(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).startswith("__name__")


def _is_unneeded_function(node: ast.stmt) -> bool:
    unneeded = {"benchmark_compiled_module", "get_args"}
    return isinstance(node, ast.FunctionDef) and node.name in unneeded


def _check_extern_kernels(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "extern_kernels"
            and not hasattr(ExternKernels, node.attr)
        ):
            raise NotPortableError(f"the generated code calls extern_kernels.{node.attr}")


__all__ = ["portable_source", "with_constants"]
