"""Write a region without writes in place: torch refuses to differentiate what was written over.

Read from torch/_functorch/eager_transforms.py (functionalize) and
torch/fx/experimental/proxy_tensor.py of 2.11 and 2.13.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx.traceback as fx_traceback
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from npaccel._numpy.core.context import settings, tracing

_aten = torch.ops.aten


def _copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Return what a copy into an array leaves there."""
    return source.to(self.dtype).expand(self.shape).clone()


def _fill(self: torch.Tensor, value: Any) -> torch.Tensor:
    """Return an array like another that has one value."""
    if isinstance(value, torch.Tensor):
        return _copy(self, value)
    return torch.full_like(self, value)


def _view_as(self: torch.Tensor, dtype: torch.dtype) -> Any:
    """Return an array of the same dtype itself, which torch has no derivative for."""
    return self.view(self.shape) if self.dtype == dtype else NotImplemented


_is_written_out = threading.local()


def _detach(self: torch.Tensor) -> Any:
    """Return a view: torch has such nodes for `x.view(x.dtype)`, and NumPy detaches nothing."""
    return NotImplemented if getattr(_is_written_out, "now", False) else self.view(self.shape)


def _index_put(
    self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False
) -> Any:
    """Store items; of those that are stored at one place only the one that stays has a derivative.

    torch gives all of them one.
    """
    chosen = [index for index in indices if index is not None]
    by_masks = all(index.dtype == torch.bool for index in chosen)
    in_here = getattr(_is_written_out, "now", False)
    if accumulate or by_masks or in_here or not self.dtype.is_floating_point:
        return NotImplemented
    _is_written_out.now = True
    try:
        count = _aten.index.Tensor(torch.zeros_like(self, dtype=torch.int64), indices)
        order = torch.arange(count.numel(), device=self.device).reshape(count.shape)
        owners = _aten.index_put.default(torch.zeros_like(self, dtype=torch.int64), indices, order)
        stays = _aten.index.Tensor(owners, indices) == order
        each = values.expand(count.shape)
        each = torch.where(stays, each, each.detach())
        found: torch.Tensor = _aten.index_put.default(self, indices, each)
        return found
    finally:
        _is_written_out.now = False


def _scatter(self: torch.Tensor, axis: int, places: torch.Tensor, source: torch.Tensor) -> Any:
    """Store items along an axis, as `_index_put` does."""
    if getattr(_is_written_out, "now", False) or not self.dtype.is_floating_point:
        return NotImplemented
    _is_written_out.now = True
    try:
        order = torch.arange(places.numel(), device=self.device).reshape(places.shape)
        owners = torch.zeros_like(self, dtype=torch.int64).scatter(axis, places, order)
        stays = torch.gather(owners, axis, places) == order
        source = source[tuple(slice(size) for size in places.shape)]
        each = torch.where(stays, source, source.detach())
        found: torch.Tensor = _aten.scatter.src(self, axis, places, each)
        return found
    finally:
        _is_written_out.now = False


#: What functionalization writes that has no derivative, as what has one.
_DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    _aten.copy.default: _copy,
    _aten.detach.default: _detach,
    _aten.fill.Scalar: _fill,
    _aten.fill.Tensor: _fill,
    _aten.index_put.default: _index_put,
    _aten.lift_fresh_copy.default: torch.clone,
    _aten.scatter.src: _scatter,
    _aten.view.dtype: _view_as,
}


class LoweringError(Exception):
    """A call in a region can't be written without NumPy's own kernels, or has no derivative.

    Parameters
    ----------
    node : torch.fx.Node
        The call.
    """

    def __init__(self, node: torch.fx.Node, error: NotImplementedError) -> None:
        super().__init__(" ".join(str(error).split()))
        self.node = node


class _Interpreter(torch.fx.Interpreter):
    def run_node(self, n: torch.fx.Node) -> Any:
        try:
            return super().run_node(n)
        except NotImplementedError as error:
            raise LoweringError(n, error) from error


def fake_mode_of(examples: Sequence[Any]) -> FakeTensorMode:
    """Return the mode that fake tensors were made in; new ones are to be of it."""
    found = detect_fake_mode(examples)
    assert found is not None
    return found


def lowered(region: torch.fx.GraphModule, examples: Sequence[Any]) -> torch.fx.GraphModule:
    """Return a region as a graph of ATen's calls, of which none writes to an array.

    Parameters
    ----------
    region : torch.fx.GraphModule
        Of NumPy's calls.
    examples : sequence
        Fake tensors and sizes, as it takes them.

    Raises
    ------
    LoweringError
    """

    def run(*inputs: Any) -> Any:
        own = [torch.clone(x) if isinstance(x, torch.Tensor) else x for x in inputs]
        return _Interpreter(region).run(*own)

    transformed = dataclasses.replace(settings(), is_transformed=True)
    with (
        tracing(transformed),
        fake_mode_of(examples),
        fx_traceback.preserve_node_meta(),
        torch.no_grad(),
    ):
        found = make_fx(
            torch.func.functionalize(run),
            decomposition_table=_DECOMPOSITIONS,
            _allow_non_fake_inputs=True,
        )(*examples)
    for node in found.graph.find_nodes(
        op="call_function", target=torch.ops.aten.slice_scatter.default
    ):
        _end_within(node)
    found.graph.eliminate_dead_code()
    found.recompile()
    return found


def lost_derivative(region: torch.fx.GraphModule, count: int) -> tuple[torch.fx.Node, str] | None:
    """Return where a lowered region goes on with floats that torch computes no derivative of.

    Its derivative would be zero without a word: where bits become floats, or a number of Python's.

    Parameters
    ----------
    region : torch.fx.GraphModule
    count : int
        How many of its inputs are differentiated.

    Returns
    -------
    node, reason : torch.fx.Node, str
        None where there is no such place.
    """
    depends = set(list(region.graph.find_nodes(op="placeholder"))[:count])
    bits: set[torch.fx.Node] = set()
    for node in region.graph.nodes:
        given = [n for n in node.all_input_nodes if n in depends]
        if not given:
            continue
        depends.add(node)
        dtype = _dtype(node)
        if node.target is _aten._local_scalar_dense.default:
            if _is_float(_dtype(given[0])):
                return node, "a number of Python's is made of a float"
        elif node.target is _aten.view.dtype:
            is_lost = _is_float(_dtype(given[0])) and _dtype(given[0]) != dtype
            if _is_float(dtype) and (is_lost or given[0] in bits):
                return node, "floats are made of the bits of other ones"
            if is_lost:
                bits.add(node)
        elif node.target is _aten._linalg_svd.default and _is_undetermined(node):
            return node, "which vectors full_matrices=True adds isn't determined"
        elif bits.intersection(given) and dtype is not torch.bool:
            bits.add(node)
    return None


def _is_undetermined(node: torch.fx.Node) -> bool:
    """Whether a singular value decomposition has more vectors than values."""
    first = node.args[0]
    assert isinstance(first, torch.fx.Node)
    rows, columns = first.meta["val"].shape[-2:]
    return bool((*node.args, False)[1]) and rows != columns


def _dtype(node: torch.fx.Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, torch.Tensor) else None


def _is_float(dtype: torch.dtype | None) -> bool:
    return dtype is not None and (dtype.is_floating_point or dtype.is_complex)


def _end_within(node: torch.fx.Node) -> None:
    """Write where a slice ends that has no end: vmap counts on from it."""
    defaults = (None, None, 0, None, None)
    args = [*node.args, *defaults[len(node.args) :]]
    array, axis, end = args[0], args[2], args[4]
    if end is None or (isinstance(end, int) and end == sys.maxsize):
        assert isinstance(array, torch.fx.Node)
        size = array.meta["val"].shape[axis]
        if isinstance(size, int):
            node.args = (*args[:4], size, *args[5:])
