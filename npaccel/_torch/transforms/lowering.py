"""Write a region without writes in place: torch refuses to differentiate what was written over.

Read from torch/_functorch/eager_transforms.py (functionalize) and
torch/fx/experimental/proxy_tensor.py of 2.11 and 2.13.
"""

from __future__ import annotations

import dataclasses
import sys
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


#: What functionalization writes that has no derivative, as what has one.
_DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    _aten.copy.default: _copy,
    _aten.fill.Scalar: _fill,
    _aten.fill.Tensor: _fill,
    _aten.lift_fresh_copy.default: torch.clone,
}


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
    """

    def run(*inputs: Any) -> Any:
        own = [torch.clone(x) if isinstance(x, torch.Tensor) else x for x in inputs]
        return torch.fx.Interpreter(region).run(*own)

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
    found.recompile()
    return found


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
