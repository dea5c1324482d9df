"""Call jitted functions with Dask arrays: the function itself is evaluated, its graph compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from dask.array.core import Array
from dask.highlevelgraph import HighLevelGraph

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._dask import fusion
from npaccel._dask.block_function import options_of
from npaccel._runtime import arguments

#: Whether a function is being evaluated: what it calls is part of its graph.
_evaluates: ContextVar[bool] = ContextVar("evaluates", default=False)


def call(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    """Call a function with Dask arrays.

    Parameters
    ----------
    spec : FunctionSpec
    values : sequence
        Of all parameters.

    Returns
    -------
    object
        What the function returns, with compiled functions in the graphs of its Dask arrays.
    """
    if _evaluates.get():
        return spec.binding.call(values)
    known = set().union(*(array.dask.layers for array in _arrays(values)))
    token = _evaluates.set(True)
    try:
        result = spec.binding.call(values)
    finally:
        _evaluates.reset(token)
    new = {array.name: array for array in _arrays([result]) if array.name not in known}
    if not new:
        return result
    graph = HighLevelGraph.merge(*(array.dask for array in new.values()))
    own = [name for name in graph.layers if name not in known]
    found = fusion.fused(graph, own, list(new), options_of(spec.options))
    _note(spec, found)
    whole = HighLevelGraph(found.layers, found.dependencies)
    made = {name: _with_graph(array, whole) for name, array in new.items()}
    return arguments.map_leaves(
        result, lambda leaf: made.get(leaf.name, leaf) if isinstance(leaf, Array) else leaf
    )


def _arrays(values: Iterable[Any]) -> list[Array]:
    return [
        part
        for value in values
        for _, part in arguments.parts(value, "")
        if isinstance(part, Array)
    ]


def _with_graph(array: Array, graph: HighLevelGraph) -> Array:
    """Return an array whose blocks come from another graph."""
    own = graph.cull_layers([array.name])
    return Array(own, array.name, array.chunks, meta=array._meta)


def _note(spec: FunctionSpec, found: fusion.Fused) -> None:
    """Note what is compiled of a graph, and what Dask goes on calling."""
    for function in found.functions:
        function.report_to(spec.log)
        spec.log.add_note(f"for each block of Dask arrays, one compiled function: {function.does}")
    for name, count in Counter(found.left).items():
        times = f", {count} times" if count > 1 else ""
        spec.log.add_note(f"left to Dask: {name}{times}")


__all__ = ["call"]
