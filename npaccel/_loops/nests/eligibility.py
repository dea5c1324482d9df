"""Whether a loop nest works on single elements of arrays."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from npaccel._loops.nests import captured_values
from npaccel._loops.nests.lowering import lower_nest
from npaccel._loops.nests.lowering.lower_nest import Lowered
from npaccel._loops.nests.lowering.types import NotSupportedError
from npaccel._loops.nests.resolve import is_slice
from npaccel._loops.nests.scalarize import scalarize


def examine(
    nest: ast.FunctionDef,
    values: Mapping[str, object],
    namespace: Mapping[str, object],
    *,
    narrow: bool = False,
) -> tuple[str, Lowered | None]:
    """Say why a loop nest isn't element-wise work, which Numba suits, and type it.

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
    narrow : bool
        Whether floats that NumPy would invent become float32.

    Returns
    -------
    reason : str
        Empty if it is. Element-wise code that can't be typed counts as such:
        `numba_backend.compile_nest` says why it can't.
    lowered : Lowered or None
        What `numba_backend.compile_nest` compiles; None if it can't be typed.
    """
    changed, paths = captured_values.with_captured(nest, values, namespace)
    every = {**values, **{name: path.fetch(values, namespace) for name, path in paths.items()}}
    try:
        return "", lower_nest.lower(changed, every, namespace, narrow)
    except NotSupportedError as error:
        return str(error) if error.is_array_code else _array_code(changed, every), None


def _array_code(nest: ast.FunctionDef, values: Mapping[str, object]) -> str:
    """Return why code that couldn't be typed to its end is array code, judged by its text."""
    subscripts = [node for node in ast.walk(nest) if isinstance(node, ast.Subscript)]
    for node in subscripts:
        if is_slice(node.slice):
            return f"line {node.lineno}: a slice: this is array code"
    for name in scalarize.whole_arrays(nest, values):
        return f"line {name.lineno}: `{name.id}` as a whole: this is array code"
    return "" if subscripts else f"line {nest.body[0].lineno}: it doesn't read or write elements"
