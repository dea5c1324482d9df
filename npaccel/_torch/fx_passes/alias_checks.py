"""Find captured graphs in which a copy stands for a view that would have to be one.

torch has no negative strides: `a[::-1]` is a copy in a graph, where NumPy has
a view. So are `a[i]` for a NumPy scalar i, which isn't known while tracing, and
`a.flat` of an array that isn't contiguous. That shows when the view or its
array is written to and the other is read afterwards; such a graph isn't used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from npaccel._runtime.torch.symbolic_sizes import surely
from npaccel._torch.dynamo.numpy.layouts import ALWAYS_VIEWS, depends_on_layout
from npaccel._torch.dynamo.numpy.operations import INPLACE, RESTRIDED, is_scalar, stored_to
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.nodes import name_of

#: Functions that reverse an array.
FLIPS = frozenset(f"numpy.{name}" for name in ("flip", "fliplr", "flipud", "rot90"))
#: Reason why a subgraph that makes a copy of a view isn't used.
LEAVES = (
    "a reversed view, such as a[::-1], a broadcast one, or one that may be a copy by its array's "
    "strides goes on to code that isn't compiled with it: compiled code has a copy, or an array to "
    "write to, where NumPy has a view"
)
#: Reason why a subgraph isn't used that hands on a view with other strides.
UNLIKE = (
    "a reversed view, such as a[::-1] (or a[i] with a NumPy scalar i), that was written to, or of "
    "which another view was made, goes on to code that isn't compiled with it: compiled code has "
    "it with other strides than NumPy; take a `copy()` of it before"
)
#: Reason why a graph isn't used that writes to a view or its array.
REASON = (
    "a reversed view, such as a[::-1] (or a[i] with a NumPy scalar i, or a.flat of an array that "
    "isn't contiguous), is written to, or its array is, and the other is used afterwards: "
    "compiled code has a copy where NumPy has a view"
)
#: Reason why a graph isn't used that writes to what may be a view.
UNSURE = (
    "an array is written to, or what `ravel` or `reshape` make of it, and the other is used "
    "afterwards: whether that is a view or a copy goes by the array's strides, which aren't surely "
    "NumPy's; take a `copy()` of the array before"
)
#: Reason why a graph isn't used that writes to a reversed array.
RESHAPED = (
    "an array whose strides are negative is written to, and this may be a view of it or a copy: "
    "compiled code has the array with other strides; take np.ascontiguousarray of it"
)


def line_of_stale_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a write that a graph loses, or None.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured: its nodes are calls of NumPy, with fake tensors.
    """
    copies = [node for node in graph.nodes if is_view_in_numpy(node)]
    return _line_of_lost_write(graph, copies, {node: memory_of(node) for node in graph.nodes})


def line_of_unsure_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a write that may go through a view in one of NumPy and the graph.

    Whether `a.ravel()` is a view goes by strides, and not all arrays surely have NumPy's.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured.
    """
    unsure = [node for node in graph.nodes if depends_on_layout(node)]
    if not unsure:
        return None
    copies = [node for node in graph.nodes if is_view_in_numpy(node)]
    return _line_of_lost_write(graph, copies + unsure, _places(graph, unsure))


def _places(graph: torch.fx.Graph, unsure: list[torch.fx.Node]) -> dict[torch.fx.Node, Any]:
    """Give each array's memory a number, as if what may be a view or a copy were a copy."""
    places: dict[torch.fx.Node, Any] = {}
    for node in graph.nodes:
        places[node] = memory = memory_of(node)
        if node in unsure:
            places[node] = node
        elif memory is not None:
            same = (arg for arg in node.all_input_nodes if memory_of(arg) == memory)
            places[node] = next((places[arg] for arg in same), memory)
    return places


def _line_of_lost_write(
    graph: torch.fx.Graph, copies: list[torch.fx.Node], places: dict[torch.fx.Node, Any]
) -> tuple[str, int] | None:
    """Return file and line of a write to a copy, or to what it's one of, of which both are used."""
    if not copies:
        return None
    nodes = list(graph.nodes)
    family = _families(copies, places)
    members = [node for node in nodes if places[node] in family]
    order = {node: i for i, node in enumerate(nodes)}
    for node in nodes:
        for target in written(node):
            memory = places[target]
            if memory not in family or _is_stored_back(node, target):
                continue
            for other in members:
                if family[places[other]] != family[memory] or places[other] == memory:
                    continue
                if order[other] < order[node] and _is_used_after(other, order, order[node]):
                    return line_of(node)
    return None


def line_of_leaving_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of a view that a subgraph would hand on as a copy, or None.

    What runs after the subgraph may write to it, or to its array. A view of an
    array that nothing else can reach may as well be a copy. A view of a
    reversed argument is one of a copy of it, and a broadcast view is read-only
    in NumPy.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured, of a part of a function.
    """
    nodes = list(graph.nodes)
    outputs = nodes[-1].all_input_nodes
    unsure = [node for node in nodes if depends_on_layout(node)]
    places = _places(graph, unsure)
    seen = {places[node] for node in nodes if node.op == "placeholder"}
    leaving = {places[node] for node in outputs}
    copies = [node for node in nodes if node in unsure or is_view_in_numpy(node)]
    family = _families(copies, places)
    for node in copies:
        own = places[node]
        if own in leaving - {None} and any(
            other != own and family.get(other) == family[own] for other in seen | leaving
        ):
            return line_of(node)
    restrided, wholes = _restrided(graph), wholes_of(graph) if active.is_subgraph else {}
    for node in outputs:
        is_lost = memory_of(node) in restrided and node not in wholes
        if node.op != "placeholder" and (is_lost or is_broadcast(node)):
            return line_of(node)
    return None


def inputs_by_memory(graph: torch.fx.Graph) -> dict[int | None, int]:
    """Return the number of the input that lies in each memory."""
    inputs = enumerate(graph.find_nodes(op="placeholder"))
    return {memory_of(node): i for i, node in inputs if memory_of(node) is not None}


def wholes_of(graph: torch.fx.Graph) -> dict[torch.fx.Node, int]:
    """Return the outputs that are a whole input, such as what `a += b` gives, and its number."""
    inputs = inputs_by_memory(graph)
    examples = [node.meta.get("example_value") for node in graph.find_nodes(op="placeholder")]
    found = {}
    for node in graph.output_node().all_input_nodes:
        i = inputs.get(memory_of(node))
        if i is None:
            continue
        own, whole = node.meta["example_value"], examples[i]
        if own.dtype == whole.dtype and _is_like(own, whole) and _is_surely_of_input(node):
            found[node] = i
    return found


def _is_surely_of_input(node: torch.fx.Node) -> bool:
    """Whether calls that NumPy makes no copies in lead from an input to a node."""
    while node.op != "placeholder":
        base = node.args[0] if node.args else None
        if name_of(node) not in ALWAYS_VIEWS | INPLACE or not isinstance(base, torch.fx.Node):
            return False
        node = base
    return True


def _is_like(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one memory surely have the same elements in the same places."""
    pairs = zip(
        (*one.shape, *one.stride(), one.storage_offset()),
        (*other.shape, *other.stride(), other.storage_offset()),
        strict=False,
    )
    return one.ndim == other.ndim and all(surely(mine == its) for mine, its in pairs)


def is_broadcast(node: torch.fx.Node) -> bool:
    """Whether several elements of an array are one in memory; NumPy doesn't let them be written."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return False
    if any(surely(size == 0) for size in value.shape):  # Its strides say nothing.
        return False
    axes = zip(value.stride(), value.shape, strict=True)
    return any(stride == 0 and surely(size > 1) for stride, size in axes if type(stride) is int)


def line_of_reshaped_view(graph: torch.fx.Graph) -> tuple[str, int] | None:
    """Return file and line of what may be a view of an array in NumPy or a copy, or None.

    Whether it's one depends on strides, which an input may have lost on its
    way to torch, and which a reversed array never had. It matters where the array is written to.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured.
    """
    flips = {memory_of(n) for n in graph.nodes if _is_flip(n) and is_view_in_numpy(n)}
    restrided = _restrided(graph) | flips
    if not restrided:
        return None
    lost = restrided & {memory_of(target) for node in graph.nodes for target in written(node)}
    for node in graph.nodes:
        is_other = name_of(node) not in ALWAYS_VIEWS | FLIPS and not any(written(node))
        if node.op == "call_function" and is_other and memory_of(node) in lost - {None}:
            return line_of(node)
    return None


def _restrided(graph: torch.fx.Graph) -> set[int | None]:
    """Return the memory of inputs that lie in another way than the caller's arrays."""
    return {memory_of(n) for n in graph.find_nodes(op="placeholder") if n.meta.get(RESTRIDED)}


def is_view_in_numpy(node: torch.fx.Node) -> bool:
    """Whether a node's value, a copy, would be a view of its first argument in NumPy."""
    name = name_of(node)
    if not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    if name == "numpy.ndarray.flat":
        return memory_of(node) != memory_of(node.args[0])
    if name in FLIPS:
        return True
    parts = _key_of(node)
    indices = [part for part in parts if isinstance(part, torch.fx.Node)]
    if not all(map(_is_integer_scalar, indices)) or any(isinstance(p, list) for p in parts):
        return False  # A copy in NumPy too.
    if indices:
        return not is_scalar(node)
    return _is_flip(node)


def _is_flip(node: torch.fx.Node) -> bool:
    """Whether a node's value is a reversed array, here a copy."""
    return name_of(node) in FLIPS or any(
        isinstance(part, slice) and isinstance(part.step, int) and part.step < 0
        for part in _key_of(node)
    )


def _key_of(node: torch.fx.Node) -> tuple[Any, ...]:
    """Return what stands between the brackets; nothing for a node that takes no items."""
    if name_of(node) != "operator.getitem" or len(node.args) < 2:
        return ()
    key = node.args[1]
    return key if isinstance(key, tuple) else (key,)


def _is_integer_scalar(node: torch.fx.Node) -> bool:
    """Whether an index is a NumPy integer that isn't known while tracing."""
    value = node.meta.get("example_value")
    is_integer = isinstance(value, torch.Tensor) and not (
        value.dtype == torch.bool or value.is_floating_point()
    )
    return is_integer and is_scalar(node)


def memory_of(node: torch.fx.Node) -> int | None:
    """Return a number for the memory that a node's value lies in."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return None
    return int(value.untyped_storage()._cdata)


def output_memory(graph: torch.fx.Graph) -> list[int | None]:
    """Return a number for the memory of each output of a graph."""
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    return [memory_of(out) if isinstance(out, torch.fx.Node) else None for out in outputs]


def _families(copies: list[torch.fx.Node], places: dict[torch.fx.Node, Any]) -> dict[Any, int]:
    """Give the memory of views and of what they are views of the same number."""
    family: dict[Any, int] = {}
    for number, node in enumerate(copies):
        base = node.args[0]
        assert isinstance(base, torch.fx.Node)
        pair = {places[node], places[base]} - {None}
        old = {family[memory] for memory in pair if memory in family}
        for memory, known in family.items():
            if known in old:
                family[memory] = number
        family.update(dict.fromkeys(pair, number))
    return family


def written(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """Yield the arrays that a node writes to."""
    for target in stored_to(name_of(node), node.args, node.kwargs):
        for one in target if isinstance(target, tuple | list) else (target,):
            if isinstance(one, torch.fx.Node):
                yield one


def written_inputs(graph: torch.fx.Graph) -> tuple[int, ...]:
    """Return the inputs of a graph that its calls write to, or to views of which they do."""
    memory = {memory_of(target) for node in graph.nodes for target in written(node)} - {None}
    inputs = graph.find_nodes(op="placeholder")
    return tuple(i for i, node in enumerate(inputs) if memory_of(node) in memory)


def _is_stored_back(node: torch.fx.Node, target: torch.fx.Node) -> bool:
    """Whether this is the middle of `a[::-1] += b`, which stores its result in a."""
    return any(stored_back(user) is target for user in node.users)


def stored_back(node: torch.fx.Node) -> torch.fx.Node | None:
    """Return the items that a node stores again where they come from, as `a[k] += b` ends.

    Parameters
    ----------
    node : torch.fx.Node

    Returns
    -------
    torch.fx.Node or None
        What got the items; None if the node does something else.
    """
    value = node.args[2] if name_of(node) == "operator.setitem" else None
    if not isinstance(value, torch.fx.Node) or name_of(value) not in INPLACE:
        return None
    items = value.args[0]
    if not isinstance(items, torch.fx.Node) or name_of(items) != "operator.getitem":
        return None
    is_same = items.args[0] is node.args[0] and repr(items.args[1]) == repr(node.args[1])
    return items if is_same else None


def without_stores_back(graph: torch.fx.Graph) -> None:
    """Take stores of views into themselves out of a graph: `a[1:] += b` ends with one.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured.
    """
    for node in list(graph.nodes):
        items = stored_back(node)
        if items is None:
            continue
        array, _, value = node.args
        assert isinstance(array, torch.fx.Node)
        assert isinstance(value, torch.fx.Node)
        if memory_of(array) == memory_of(items) == memory_of(value):  # Not for masks: a copy.
            graph.erase_node(node)


def _is_used_after(node: torch.fx.Node, place: dict[torch.fx.Node, int], time: int) -> bool:
    """Whether an array is read later on; the caller may read every argument."""
    return node.op != "call_function" or any(place[user] > time for user in node.users)


def line_of(node: torch.fx.Node) -> tuple[str, int]:
    """Return the user's file and line that a node comes from."""
    found = frames_of(node.stack_trace)
    return found[-1][:2] if found else ("", 0)
