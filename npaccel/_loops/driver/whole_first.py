"""Functions that go over lists and dicts of arrays: tried as one graph before they're split.

The layers of a network or the parameters of an optimizer are few, and differ in shape. Unrolled
they make one small graph, where the body of a loop would be compiled for each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from npaccel._runtime import arguments as runtime_arguments

#: Maximum number of iterations of a loop over a range whose length is an argument.
_MAX_ITERATIONS = 32
#: Attributes that tell how many elements an array has.
_SIZES = ("shape", "size")


def may_fit(definition: ast.FunctionDef, arguments: Mapping[str, Any]) -> bool:
    """Whether no loop of a function that is given lists or dicts of arrays goes over elements.

    Parameters
    ----------
    definition : ast.FunctionDef
    arguments : mapping
        Of a call, by name.
    """
    loops = [node for node in ast.walk(definition) if isinstance(node, ast.For | ast.While)]
    return all(isinstance(loop, ast.For) and _is_short(loop, arguments) for loop in loops)


def has_arrays(value: Any) -> bool:
    """Whether a value, or an attribute that it has of its own, is a list or dict of arrays."""
    own = getattr(value, "__dict__", None)
    attributes = own.values() if type(own) is dict and not isinstance(value, type) else ()
    return any(map(runtime_arguments.holds_arrays, [value, *attributes]))


def _is_short(loop: ast.For, arguments: Mapping[str, Any]) -> bool:
    """Whether a loop may have few iterations, and takes no element of an argument."""
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Attribute) and node.attr in _SIZES:
            return False
        value = arguments.get(node.id) if isinstance(node, ast.Name) else None
        if runtime_arguments.is_array(value) or (type(value) is int and value > _MAX_ITERATIONS):
            return False
    subscripts = [node for node in ast.walk(loop) if isinstance(node, ast.Subscript)]
    return not any(_is_element(node, arguments) for node in subscripts)


def _is_element(node: ast.Subscript, arguments: Mapping[str, Any]) -> bool:
    if any(isinstance(part, ast.Slice | ast.Constant) for part in ast.walk(node.slice)):
        return False
    owner = node.value
    while isinstance(owner, ast.Subscript | ast.Attribute):
        owner = owner.value
    is_of_item = isinstance(node.value, ast.Subscript)  # As `points[0][i]`.
    value = arguments.get(owner.id) if isinstance(owner, ast.Name) else None
    return is_of_item or runtime_arguments.is_array(value)
