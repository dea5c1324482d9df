"""Find the arrays of a captured graph that are read-only in NumPy.

A tensor can always be written to. NumPy's diagonals, broadcast views, windows, and the imaginary
parts of real numbers can't be, nor can views of them and of read-only arguments.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from npaccel._torch.fx_passes.alias_checks import is_view_in_numpy, memory_of, written
from npaccel._torch.fx_passes.nodes import name_of

_DIAGONALS = ("numpy.diagonal", "numpy.ndarray.diagonal", "numpy.linalg.diagonal")
#: Functions that give a plain array for one of a subclass.
_OF_NO_CLASS = frozenset(
    f"numpy.{name}"
    for name in (
        *("array", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray"),
        *("broadcast_arrays", "broadcast_to", "lib.stride_tricks.as_strided"),
        *("lib.stride_tricks.sliding_window_view", "require"),
    )
)
#: Read-only for real numbers.
_IMAGINARY = ("numpy.imag", "numpy.ndarray.imag")
#: The position of `writeable`, and its default.
_WRITEABLE = {
    "numpy.lib.stride_tricks.as_strided": (4, True),
    "numpy.lib.stride_tricks.sliding_window_view": (4, False),
}


def is_read_only(node: torch.fx.Node) -> bool:
    """Whether NumPy's array is read-only, whatever arguments it's a view of."""
    while node.op == "call_function":
        if _makes_read_only(node):
            return True
        base = _base_of(node)
        if base is None:
            return False
        node = base
    return False


def read_only_outputs(graph: torch.fx.Graph) -> list[bool]:
    """Return for each output of a graph whether it's read-only in NumPy, as `is_read_only` says."""
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    return [isinstance(out, torch.fx.Node) and is_read_only(out) for out in outputs]


def base_inputs(graph: torch.fx.Graph, *, same_class: bool = False) -> list[int | None]:
    """Return for each output of a graph the input that it is in NumPy, or is a view of.

    Parameters
    ----------
    graph : torch.fx.Graph
    same_class : bool, default False
        Only where the view has the class of its base.
    """
    inputs = {node: i for i, node in enumerate(graph.find_nodes(op="placeholder"))}
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    found: list[int | None] = []
    for out in outputs:
        node = out if isinstance(out, torch.fx.Node) else None
        while node is not None and node.op == "call_function":
            is_other = same_class and name_of(node) in _OF_NO_CLASS
            node = None if is_other else _base_of(node)
        found.append(None if node is None else inputs.get(node))
    return found


def _makes_read_only(node: torch.fx.Node) -> bool:
    name = name_of(node)
    if name in _IMAGINARY:
        return not any(map(_has_complex, (*node.args, *node.kwargs.values())))
    if name == "numpy.diag":
        value = node.meta.get("example_value")
        return isinstance(value, torch.Tensor) and value.ndim == 1  # Of a matrix, not a matrix.
    if name in _WRITEABLE:
        place, default = _WRITEABLE[name]
        return not (
            node.args[place] if place < len(node.args) else node.kwargs.get("writeable", default)
        )
    return name in _DIAGONALS or name == "numpy.broadcast_to"


def _has_complex(x: Any) -> bool:
    if isinstance(x, tuple | list):
        return any(map(_has_complex, x))
    value = x.meta.get("example_value") if isinstance(x, torch.fx.Node) else x
    return value.is_complex() if isinstance(value, torch.Tensor) else isinstance(value, complex)


def _base_of(node: torch.fx.Node) -> torch.fx.Node | None:
    """Return what a node's value is in NumPy, or is a view of; None for a new array."""
    if is_view_in_numpy(node):
        base = node.args[0]
        assert isinstance(base, torch.fx.Node)
        return base
    memory = memory_of(node)
    if memory is None:
        return None
    places: list[Any] = [*written(node)]
    if node.target is operator.getitem:  # One of several results.
        source, place = node.args
        assert isinstance(source, torch.fx.Node)
        assert isinstance(place, int)
        places += [*written(source), *source.args[place : place + 1], *source.all_input_nodes]
    places += node.all_input_nodes
    same = (one for one in places if isinstance(one, torch.fx.Node) and memory_of(one) == memory)
    return next(same, None)


__all__ = ["base_inputs", "is_read_only", "read_only_outputs"]
