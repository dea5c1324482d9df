"""Reversed views that leave a graph are made by NumPy: torch's tensors can't be reversed.

A graph has a copy for `a[::-1]`. Where such an array leaves it, the array that it's a view of
leaves in its place, and what the function did to it is done by NumPy. So the result shares memory
with what NumPy's does, and lies there in the same way. Read from torch/_dynamo/codegen.py of 2.11
and 2.13.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
import torch._dynamo
from torch._dynamo.bytecode_transformation import create_call_function
from torch._dynamo.codegen import PyCodegen
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._runtime import outputs
from npaccel._torch.dynamo.numpy.layouts import ALWAYS_VIEWS, lies_as_in_numpy
from npaccel._torch.dynamo.numpy.operations import FLAT_OF, RESTRIDED, is_scalar
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import (
    FLIPS,
    is_view_in_numpy,
    line_of,
    memory_of,
    written,
)
from npaccel._torch.fx_passes.nodes import name_of
from npaccel._torch.patching import Patch

#: Key of a node's meta: how NumPy makes the array.
_REMADE = "npaccel_remade"


@dataclasses.dataclass(frozen=True)
class _Remade:
    """Recipe of a view.

    Parameters
    ----------
    base : NumpyNdarrayVariable
        What it's a view of.
    source : str
        Python for the view of an array ``x``.
    """

    base: Any
    source: str


def note_view(found: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Remember of a reversed view, or of a view of a reversed array, how NumPy makes it.

    Parameters
    ----------
    found : VariableTracker
        What a call gave, an array or several.
    name : str
        NumPy's name of the call.
    args, kwargs : list and dict of VariableTracker
    """
    if name not in ALWAYS_VIEWS | FLIPS or not args or not _is_array(args[0]):
        return
    base, is_several = args[0], isinstance(found, TupleVariable | ListVariable)
    meta = base.as_proxy().node.meta
    for i, one in enumerate(found.items if is_several else [found]):
        if not _is_array(one) or one.as_proxy().node is base.as_proxy().node:
            continue
        node = one.as_proxy().node
        if not (
            _REMADE in meta or meta.get(RESTRIDED) or (not is_several and is_view_in_numpy(node))
        ):
            return
        source = _source(name, args[1:], kwargs)
        if source is not None:
            node.meta[_REMADE] = _Remade(base, f"{source}[{i}]" if is_several else source)


def _is_array(variable: Any) -> bool:
    if not isinstance(variable, NumpyNdarrayVariable):
        return False
    node = variable.as_proxy().node
    return not is_scalar(node) and FLAT_OF not in node.meta


def _source(name: str, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """Return Python for a call on an array ``x``, None where not all else is known."""
    if not all(variable.is_python_constant() for variable in (*args, *kwargs.values())):
        return None
    values = [variable.as_python_constant() for variable in args]
    named = {word: variable.as_python_constant() for word, variable in kwargs.items()}
    given = (*values, *named.values())
    if not all(_is_plain(tuple(value) if type(value) is list else value) for value in given):
        return None
    if name == "operator.getitem":
        return f"x[{values[0]!r}]" if _is_plain(values[0]) else None
    text = ", ".join([*map(repr, values), *(f"{word}={value!r}" for word, value in named.items())])
    if not name.startswith("numpy.ndarray."):
        return f"np.{name.removeprefix('numpy.')}(x{', ' if text else ''}{text})"
    attribute = name.removeprefix("numpy.ndarray.")
    is_method = callable(getattr(np.ndarray, attribute))
    return f"x.{attribute}" + (f"({text})" if is_method else "")


def _is_plain(value: Any) -> bool:
    """Whether a value is an axis, a size or a key that chooses a view."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if isinstance(value, slice):
        return all(map(_is_plain, (value.start, value.stop, value.step)))
    return value is None or value is Ellipsis or type(value) is int


def _call(original: Any) -> Any:
    """Load the array that a view is one of, and make the view."""

    def call(self: Any, value: Any, allow_cache: bool = True) -> None:
        remade = _how(self, value)
        if remade is None:
            original(self, value, allow_cache)
            return
        name = value.as_proxy().node.name
        self.add_push_null(lambda: self.load_import_from("npaccel._runtime.outputs", "remade"))
        self(remade.base)
        self.append_output(self.create_load_const(remade.source))
        self.append_output(self.create_load_const(name))
        self.extend_output(create_call_function(3, False))
        self.clear_tos()

    return call


def _how(codegen: Any, value: Any) -> _Remade | None:
    """Return how NumPy makes an array that leaves a graph, None where the graph computes it."""
    if not active.remakes_views or type(value) is not NumpyNdarrayVariable or value.source:
        return None
    node = value.as_proxy().node
    remade: _Remade | None = node.meta.get(_REMADE)
    if remade is None or not _is_as_it_was_made(codegen.tx.output.graph, node):
        return None
    return remade


def line_of_unlike_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a view that a subgraph would hand on with other strides, or None.

    What runs after the subgraph may take a view of it, such as `v.reshape(-1)`, where NumPy takes
    a copy. A view that nothing has written to is made by NumPy and lies as NumPy's.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured, of a part of a function.
    """
    copies = {
        memory_of(node)
        for node in graph.nodes
        if is_view_in_numpy(node) and FLAT_OF not in node.meta and not lies_as_in_numpy(node)
    }
    for node in graph.output_node().all_input_nodes if copies else ():
        if memory_of(node) not in copies - {None} or is_scalar(node) or _is_flat_copy(node):
            continue
        if _REMADE not in node.meta or not _is_as_it_was_made(graph, node):
            return line_of(node)
    return None


def _is_flat_copy(node: torch.fx.Node) -> bool:
    """Whether NumPy surely puts an array in C order here."""
    is_ravel = name_of(node) in ("numpy.ravel", "numpy.ndarray.ravel")
    return is_ravel and len(node.args) == 1 and not node.kwargs


def _is_as_it_was_made(graph: torch.fx.Graph, node: torch.fx.Node) -> bool:
    """Whether nothing writes to a copy that stands for a view, and no other array is one of it."""
    memory = set()
    while _REMADE in node.meta:
        memory.add(memory_of(node))
        node = node.meta[_REMADE].base.as_proxy().node
    if node.meta.get(RESTRIDED):  # What is written to its copy is written to the array, too.
        memory.discard(memory_of(node))
    if None in memory or memory_of(node) in memory:
        return False
    for other in graph.nodes:
        if memory_of(other) in memory and _REMADE not in other.meta:
            return False
        if any(memory_of(target) in memory for target in written(other)):
            return False
    return True


_TEST = "tests/torch_layer/fx_passes/test_remade_views.py"

PATCHES = (
    Patch(PyCodegen, "__call__", _call, "tensors can't have the negative strides of a view", _TEST),
    Patch(
        outputs, "remade", torch._dynamo.disable,
        "frames call it while Dynamo looks at every new frame", _TEST,
    ),
)  # fmt: skip

__all__ = ["PATCHES", "line_of_unlike_view", "note_view"]
