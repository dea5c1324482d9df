"""Write a region without writes in place: torch refuses to differentiate what was written over.

Read from torch/_functorch/eager_transforms.py (functionalize) and
torch/fx/experimental/proxy_tensor.py of 2.11 and 2.13.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx.traceback as fx_traceback
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from npaccel._numpy.core.context import settings, tracing
from npaccel._numpy.host.own_derivatives import OF_ELEMENTS, of_name
from npaccel._torch.transforms.functional_forms import DECOMPOSITIONS
from npaccel._torch.transforms.scans.body import body_of
from npaccel._torch.transforms.scans.operator import SCAN

_aten = torch.ops.aten


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
            decomposition_table=DECOMPOSITIONS,
            _allow_non_fake_inputs=True,
        )(*examples)
    for node in found.graph.find_nodes(
        op="call_function", target=torch.ops.aten.slice_scatter.default
    ):
        _end_within(node)
    found.graph.eliminate_dead_code()
    found.recompile()
    return found


def lost_derivative(
    region: torch.fx.GraphModule, inputs: Sequence[bool]
) -> tuple[torch.fx.Node, str] | None:
    """Return where a lowered region goes on with floats that torch computes no derivative of.

    Its derivative would be zero without a word: where bits become floats, or a number of Python's.

    Parameters
    ----------
    region : torch.fx.GraphModule
    inputs : sequence of bool
        Whether each of its inputs depends on what is differentiated.

    Returns
    -------
    node, reason : torch.fx.Node, str
        None where there is no such place.
    """
    nodes = zip(region.graph.find_nodes(op="placeholder"), inputs, strict=True)
    depends = {node for node, flag in nodes if flag}
    bits: set[torch.fx.Node] = set()
    for node in region.graph.nodes:
        given = [n for n in node.all_input_nodes if n in depends]
        if not given:
            continue
        depends.add(node)
        dtype = _dtype(node)
        if node.target is SCAN:
            body = body_of(node.args[4])
            flags = [n in depends for part in node.args[:3] for n in part]
            carry, _ = body.reached(tuple(flags))
            sizes = (False,) * body.sizes
            lost = lost_derivative(body.module, (False, *carry, *flags[len(carry) :], *sizes))
            if lost is not None:
                return lost
        elif node.target is _aten._local_scalar_dense.default:
            if _is_float(_dtype(given[0])):
                return node, "a number of Python's is made of a float"
        elif node.target is _aten.view.dtype:
            is_lost = _is_float(_dtype(given[0])) and _dtype(given[0]) != dtype
            if _is_float(dtype) and (is_lost or given[0] in bits):
                return node, "floats are made of the bits of other ones"
            if is_lost:
                bits.add(node)
        elif why := _why_no_formula(node, depends):
            return node, why
        elif bits.intersection(given) and dtype is not torch.bool:
            bits.add(node)
    return None


#: Parts of names of operators whose derivative torch takes for zero.
_CONSTANTS = ("airy", "bessel", "chebyshev", "hermite", "laguerre", "legendre")


def _why_no_formula(node: torch.fx.Node, depends: set[torch.fx.Node]) -> str:
    """Return why there is no derivative of an operator, or an empty string."""
    if node.target is OF_ELEMENTS:
        name, tensors = node.args
        slopes = of_name(str(name)).slopes
        pairs = enumerate(zip(slopes, tensors, strict=True))  # type: ignore[arg-type]
        missing = [i for i, (slope, one) in pairs if slope is None and one in depends]
        return f"it has none by its parameter {missing[0] + 1}" if missing else ""
    if node.target is _aten._linalg_svd.default and _is_undetermined(node):
        return "which vectors full_matrices=True adds isn't determined"
    name = node.target._opname if isinstance(node.target, torch._ops.OpOverload) else ""
    is_constant = name.startswith("special_") and any(part in name for part in _CONSTANTS)
    return "torch has none" if is_constant else ""


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
    """Write where a slice begins and ends, counted from the front: vmap counts on from that."""
    defaults = (None, None, 0, None, None, 1)
    args = [*node.args, *defaults[len(node.args) :]]
    array, axis = args[0], args[2]
    assert isinstance(array, torch.fx.Node)
    size = array.meta["val"].shape[axis]
    bounds = args[3:5]
    if isinstance(size, int) and all(one is None or isinstance(one, int) for one in bounds):
        start, end, _ = slice(*bounds).indices(size)
        node.args = (*args[:3], start, max(start, end), args[5])
