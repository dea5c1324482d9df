"""Whether a loop nest works on single elements of arrays."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from npaccel._loops import _captured, _scalar_nest, _slices
from npaccel._loops._meanings import is_slice
from npaccel._loops._scalar_types import NotSupportedError


def why_not(
    nest: ast.FunctionDef, values: Mapping[str, object], namespace: Mapping[str, object]
) -> str:
    """Say why a loop nest isn't element-wise work, which Numba suits.

    Numba isn't imported for this.

    Parameters
    ----------
    nest : ast.FunctionDef
        Its parameters are what the loop reads; its body is the loop and a
        return of the names that are read afterwards.
    values : mapping
        The value of each parameter.
    namespace : mapping
        The values of other names.

    Returns
    -------
    str
        Empty if it is. Element-wise code that can't be typed counts as such:
        `_numba.compile_nest` says why it can't.
    """
    changed, paths = _captured.with_captured(nest, values, namespace)
    every = {**values, **{name: path.fetch(values, namespace) for name, path in paths.items()}}
    try:
        _scalar_nest.lower(changed, every, namespace, narrow=False)
    except NotSupportedError as error:
        if error.is_array_code:
            return str(error)
        return _array_code(changed, every)
    return ""


def _array_code(nest: ast.FunctionDef, values: Mapping[str, object]) -> str:
    """Return why code that couldn't be typed to its end is array code, judged by its text."""
    subscripts = [node for node in ast.walk(nest) if isinstance(node, ast.Subscript)]
    for node in subscripts:
        if is_slice(node.slice):
            return f"line {node.lineno}: a slice: this is array code"
    for name in _slices.whole_arrays(nest, values):
        return f"line {name.lineno}: `{name.id}` as a whole: this is array code"
    return "" if subscripts else f"line {nest.body[0].lineno}: it doesn't read or write elements"
