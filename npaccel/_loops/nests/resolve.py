"""Resolve expressions of a loop nest: by their text, and by the values of names."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np


def has_slices(node: ast.AST) -> bool:
    """Whether there are slices in some code."""
    return any(
        isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is ...)
        for part in ast.walk(node)
    )


def is_slice(index: ast.expr) -> bool:
    """Whether an index takes more than an element."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...))
        for p in parts
    )


def of_numpy(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the function of NumPy's that an expression names; None if it doesn't name one."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    found = getattr(names.get(node.value.id), node.attr, None)
    return found if found is not None and getattr(np, node.attr, None) is found else None


def is_ufunc(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether an expression names a function of NumPy's that computes with elements one by one."""
    found = of_numpy(node, names)
    return isinstance(found, np.ufunc) and found.nout == 1


def builtin(name: str, names: Mapping[str, Any]) -> Any:
    """Return the builtin that a name stands for; None if it stands for something else."""
    own = getattr(builtins, name, None)
    return own if names.get(name, own) is own else None
