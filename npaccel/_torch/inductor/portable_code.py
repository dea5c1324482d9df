"""Generated modules without the compiler's own modules, so that a new process needn't import them.

Read from torch/_inductor/codegen/wrapper.py of 2.11 and 2.13.
"""

from __future__ import annotations

import ast

from npaccel._runtime.torch.loader import HOST_MODULE, STAND_INS, ExternKernels, NotPortableError
from npaccel._torch.inductor import ndarray_codegen

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
        elif not _is_main_block(node):
            kept.append(node)
    _check_extern_kernels(tree)
    tree.body = [node for node in kept if not _is_unneeded_function(node)]
    return f"{ast.unparse(tree)}\n{ndarray_codegen.on_arrays(source)}"


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


__all__ = ["portable_source"]
