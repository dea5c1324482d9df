"""Keep reads of an array apart from the writes that follow: ``z[1:] = z[:-1]``.

What is stored is copied first, which Inductor drops: in a graph without writes a copy is as
good as its source. Then it turns the stores into writes in place, and a kernel that loads a
vector finds what it has just stored there. So the copies come back between the two, but for
parts of an array that have no element in common, as in ``u[0] = u[1]``. Of the second write
to an array on, Inductor also takes what reads it into the loop that writes it, whatever the
elements are; and it computes indices while it writes what they are computed from.

Results are kept apart likewise. ``a[0] = 3; w = a.copy(); a[:] = 0; return w`` has the copy
dropped, and the first write made in place: the result is the argument, and zero. So is that of
``a + np.zeros(a.shape)``. A copy that Inductor doesn't know to be one stands between.

Where Inductor rewrites a loop's indices, it forgets after which of the writes to an array the
loop reads, and takes it into the loop of the first.

Read from torch/_inductor/fx_passes/{post_grad,reinplace}.py, torch/_inductor/scheduler.py
(Scheduler.fusable_weak_dep, SchedulerNode.recompute_size_and_body), torch/_inductor/lowering.py
(copy_, mutate_to, index_put_impl_) and remove_no_ops and remove_noop_ops of
torch/_inductor/fx_passes of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Iterator
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor import lowering
from torch._inductor.dependencies import MemoryDep
from torch._inductor.scheduler import Scheduler, SchedulerNode
from torch.fx.experimental.symbolic_shapes import statically_known_true as surely
from torch.fx.passes.reinplace import _is_view_op
from torch.utils._sympy.symbol import SymT, free_symbol_is_type

from npaccel._torch.patching import Patch, patched

_aten = torch.ops.aten

#: Stores of a part of an array, with the view that the part is.
_PARTS: dict[Any, Any] = {
    _aten.slice_scatter.default: _aten.slice.Tensor,
    _aten.select_scatter.default: _aten.select.int,
    _aten.diagonal_scatter.default: _aten.diagonal.default,
    _aten.as_strided_scatter.default: _aten.as_strided.default,
}
#: Stores at indices, of which the second and third arguments are read.
_AT_INDICES = (
    _aten.index_put.default,
    _aten._unsafe_index_put.default,
    _aten.index_put_.default,
)
#: Views that Inductor leaves to torch: of complex numbers as pairs of real ones and back.
_UNKNOWN_VIEWS = (
    _aten.view_as_real.default,
    _aten.view_as_complex.default,
    _aten.view.dtype,
)
_COPY = _aten.copy_.default
#: Operators that Inductor may replace by one of their arguments.
_DROPPED = (
    _aten.clone.default,
    _aten.copy.default,
    _aten.add.Tensor,
    _aten.sub.Tensor,
    _aten.mul.Tensor,
    _aten.div.Tensor,
)
#: A copy that no pass removes.
_KEPT = torch.ops.prims.clone.default


@dataclasses.dataclass(frozen=True)
class _Axis:
    """An axis of a view: elements ``low`` to ``high`` of an axis of the array, or unknown."""

    of: int | None = None
    low: Any = 0
    high: Any = 1


@dataclasses.dataclass
class _Part:
    """A part of an array: the axes that are left, and those that an index was taken of."""

    axes: list[_Axis]
    gone: list[_Axis]

    def bounds(self) -> dict[int, _Axis]:
        """Return the elements by axis of the array."""
        return {axis.of: axis for axis in (*self.axes, *self.gone) if axis.of is not None}

    def is_apart(self, other: _Part) -> bool:
        """Whether the two have no element in common, as far as is known."""
        mine, theirs = self.bounds(), other.bounds()
        return any(
            surely(axis.high <= theirs[of].low) or surely(theirs[of].high <= axis.low)
            for of, axis in mine.items()
            if of in theirs
        )


@contextlib.contextmanager
def reads_before_writes() -> Iterator[None]:
    """Generate code meanwhile that reads all of what a write changes before it does."""
    # It stays: backward graphs are compiled later, by torch alone, which made a call of its own
    # of what it has no lowering for, for all graphs to come.
    lowering.register_lowering(_KEPT)(lowering.clone)
    passes = {"joint_custom_pre_pass": keep_results, "post_grad_custom_post_pass": keep_copies}
    with inductor_config.patch(passes), patched(PATCHES):
        yield


def _fusable(original: Any) -> Any:
    """Look at reads of an array under the names that earlier writes gave it, too."""

    def fusable_weak_dep(self: Any, weak_dep: Any, node1: Any, node2: Any) -> bool:
        writes = [one for one in node2.read_writes.writes if one.name == weak_dep.mutating_buf]
        if not (_is_pair(writes) or original(self, weak_dep, node1, node2)):
            return False
        if weak_dep.name not in node1.get_buffer_names():
            return False
        real = self.mutation_real_name
        array = real[weak_dep.mutating_buf]
        reads = [one for one in node1.read_writes.reads if real.get(one.name, one.name) == array]
        written = {(write.index, write.size) for write in writes}
        return all(
            isinstance(read, MemoryDep) and (read.index, read.size) in written for read in reads
        )

    return fusable_weak_dep


def _read_as_written(original: Any) -> Any:
    """Keep in mind after which write a loop reads an array, when its indices are rewritten."""

    def recompute_size_and_body(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.set_read_writes(self.read_writes.rename(self.mutation_renames))

    return recompute_size_and_body


def _is_pair(writes: list[Any]) -> bool:
    """Whether a loop writes both parts of pairs, in each iteration one that no other one writes."""
    if len(writes) != 2 or not all(isinstance(write, MemoryDep) for write in writes):
        return False
    first, second = writes
    return (
        first.size == second.size
        and abs(first.index - second.index) == 1
        and not free_symbol_is_type(first.index, SymT.TMP)
        and set(first.var_names) <= first.index.free_symbols
    )


def _reading_first(original: Any) -> Any:
    """Compute indices and values before a store to what they are computed from."""

    def index_put_impl_(self: Any, indices: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
        self.realize()
        # A buffer that is computed has the names of what it's computed from besides its own.
        names = {self.get_name(), *self.get_read_names()}
        for one in (*indices, values):
            if one is not None and names & one.get_read_names():
                one.realize()
        return original(self, indices, values, *args, **kwargs)

    return index_put_impl_


def keep_results(graph: torch.fx.Graph) -> None:
    """Keep results, and what is written to an argument, from becoming what they're copies of.

    Parameters
    ----------
    graph : torch.fx.Graph
        Of ATen operations, without writes but for those to its inputs.
    """
    results = [one for one in graph.output_node().all_input_nodes if one.op == "call_function"]
    writes = [node for node in graph.nodes if node.target is _COPY]
    if len(writes) > 1:  # each but the first may read an argument that is written by then
        results += [node.args[1] for node in writes]
    for node in dict.fromkeys(_array_of(result) for result in results):
        if isinstance(node, torch.fx.Node) and node.target in _DROPPED:
            with graph.inserting_after(node):
                copy = graph.call_function(_KEPT, (node,))
            copy.meta = dict(node.meta)
            node.replace_all_uses_with(copy, lambda user, copy=copy: user is not copy)  # type: ignore[misc]


def keep_copies(graph: torch.fx.Graph) -> None:
    """Copy views that a node stores, or reads meanwhile, where they may be of what it writes.

    A copy of what is computed element by element costs nothing: Inductor computes it where
    it's stored, or before, if it's computed from what is written.

    Parameters
    ----------
    graph : torch.fx.Graph
        Of ATen operations, without writes but for those to its inputs.
    """
    _unify_views(graph)
    for node in list(graph.nodes):
        for read in _reads(node):
            array = _array_of(read)
            if array is _array_of(node.args[0]):
                if _views(read) == _views_written(node) or _are_apart(node, read):
                    continue
            elif array.op == "placeholder" or read.meta["val"].is_complex():
                continue
            with graph.inserting_before(node):
                copy = graph.call_function(_aten.clone.default, (read,))
            copy.meta["val"] = _aten.clone.default(read.meta["val"])
            args = [copy if arg is read and i else arg for i, arg in enumerate(node.args)]
            if node.target in _AT_INDICES:
                args[1] = [copy if arg is read else arg for arg in node.args[1]]
            node.args = tuple(args)


def _unify_views(graph: torch.fx.Graph) -> None:
    """Leave one node for equal views that Inductor doesn't know to be of the same memory."""
    known: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.target not in _UNKNOWN_VIEWS or node.kwargs:
            continue
        first = known.setdefault((node.target, *node.args), node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)


def _reads(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Return the views that a store reads, and the array itself, if it reads it."""
    if node.target in _PARTS or node.target is _COPY:
        found = [node.args[1]]
    elif node.target in _AT_INDICES:
        found = [*node.args[1], node.args[2]]  # type: ignore[misc]
    else:
        return []
    nodes = [one for one in dict.fromkeys(found) if isinstance(one, torch.fx.Node)]
    return [one for one in nodes if _source(one) is not None or one is node.args[0]]


def _source(node: torch.fx.Node) -> torch.fx.Node | None:
    """Return what a node is a view of, None if it's no view."""
    source = node.args[0] if node.args else None
    if not isinstance(source, torch.fx.Node):
        return None
    if node.target is operator.getitem:
        return source if _source(source) is not None else None
    is_view = _is_view_op(node.target) or node.target is _aten._unsafe_view.default
    return source if is_view else None


def _array_of(node: Any) -> Any:
    while isinstance(node, torch.fx.Node) and (source := _source(node)) is not None:
        node = source
    return node


def _views(node: Any) -> list[Any]:
    """Return what makes a view of its array."""
    source = _source(node)
    return [] if source is None else [*_views(source), (node.target, *node.args[1:])]


def _views_written(node: torch.fx.Node) -> list[Any]:
    """Return what makes a view of the elements that a store writes."""
    last = [(_PARTS[node.target], *node.args[2:])] if node.target in _PARTS else []
    return _views(node.args[0]) + last if node.target not in _AT_INDICES else [None]


def _are_apart(node: torch.fx.Node, read: torch.fx.Node) -> bool:
    """Whether it's known that a store writes no element that it reads."""
    target: Any = node.args[0]
    written, seen = _part(target), _part(read)
    if node.target in _PARTS and written is not None:
        written = _viewed(written, _PARTS[node.target], node.args[2:], node.kwargs)
    return written is not None and seen is not None and written.is_apart(seen)


def _part(node: torch.fx.Node) -> _Part | None:
    """Return which part of its array a view is, None where that isn't known."""
    source = _source(node)
    if source is None:
        sizes = node.meta["val"].shape
        return _Part([_Axis(i, 0, size) for i, size in enumerate(sizes)], [])
    part = _part(source)
    return None if part is None else _viewed(part, node.target, node.args[1:], node.kwargs)


def _viewed(part: _Part, view: Any, args: Any, kwargs: Any) -> _Part | None:
    """Return the part that a view of a part is."""
    given = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args]
    if kwargs:
        return None
    if view is _aten.slice.Tensor:
        return _cut(part, given, _sliced, stays=True)
    if view is _aten.select.int:
        return _cut(part, given, _taken, stays=False)
    if view is _aten.permute.default:
        return _Part([part.axes[i] for i in given[0]], part.gone)
    if view is _aten.unsqueeze.default:
        axes = list(part.axes)
        axes.insert(given[0] % (len(axes) + 1), _Axis())
        return _Part(axes, part.gone)
    if view is _aten.expand.default:
        return _Part([_Axis()] * len(given[0]), [*part.gone, *part.axes])
    return None


def _cut(part: _Part, given: list[Any], cut: Any, stays: bool) -> _Part:
    """Return a part with one axis cut."""
    at = (given[0] if given else 0) % len(part.axes)
    found = cut(part.axes[at], *given[1:])
    left, right = part.axes[:at], part.axes[at + 1 :]
    if stays and found.of is not None:
        return _Part([*left, found, *right], part.gone)
    gone = [*part.gone, found if found.of is not None else part.axes[at]]
    return _Part([*left, *([_Axis()] if stays else []), *right], gone)


def _counted(place: Any, size: Any) -> Any:
    """Return an index counted from the start, None where that isn't known to be within bounds."""
    place = place if surely(place >= 0) else place + size
    return place if surely(place >= 0) and surely(place <= size) else None


def _sliced(axis: _Axis, start: Any = None, end: Any = None, step: Any = 1) -> _Axis:
    size = axis.high - axis.low
    first = _counted(0 if start is None else start, size)
    last = size if end is None or surely(end >= size) else _counted(end, size)
    if axis.of is None or first is None or last is None or step != 1:
        return _Axis()
    return _Axis(axis.of, axis.low + first, axis.low + last)


def _taken(axis: _Axis, index: Any) -> _Axis:
    place = _counted(index, axis.high - axis.low)
    if axis.of is None or place is None:
        return _Axis()
    return _Axis(axis.of, axis.low + place, axis.low + place + 1)


_TEST = "tests/torch_layer/inductor/test_overlaps.py"

PATCHES = (
    Patch(
        Scheduler, "fusable_weak_dep", _fusable,
        "Inductor fuses what reads an array with what writes it, whatever the elements are", _TEST,
    ),
    Patch(
        SchedulerNode, "recompute_size_and_body", _read_as_written,
        "Inductor forgets after which of an array's writes a loop reads it, and fuses it with one",
        _TEST, read="2.11, 2.13, 2.15",
    ),
    Patch(
        lowering, "index_put_impl_", _reading_first,
        "Inductor computes indices while it writes what they are computed from", _TEST,
    ),
)  # fmt: skip

__all__ = ["PATCHES", "reads_before_writes"]
