"""Put the marks of transforms into Dynamo's graph.

Read from torch/_dynamo/variables/functions.py (UserFunctionVariable) of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._runtime import transform_marks
from npaccel._torch.dynamo.numpy.calls import emit, is_scalar_variable
from npaccel._torch.dynamo.numpy.operations import SCALAR, Operation
from npaccel._torch.dynamo.python import scalars
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Kind of a region that is the body of a loop.
SCAN_KIND = "scan"


def as_tensor(leaf: Any) -> torch.Tensor:
    """Return a leaf that may be a Python float as a tensor."""
    if isinstance(leaf, torch.Tensor):
        return leaf
    dtype = torch.int64 if isinstance(leaf, int | torch.SymInt) else torch.float64
    return torch.full((), leaf, dtype=dtype)


def _entered(kind: str, settings: Sequence[Any], leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return what stands for the leaves inside of a region, while it's traced."""
    tensors = [as_tensor(leaf) for leaf in leaves]
    if kind == SCAN_KIND:
        index = torch.empty((), dtype=torch.int64)
        carried = settings[2]
        items = [t.new_empty(t.shape[1:]) for t in tensors[carried:]]
        return (index, *(torch.clone(t) for t in tensors[:carried]), *items)
    if kind == "vmap":
        pairs = zip(tensors, settings, strict=True)
        tensors = [t if axis is None else t.new_empty(_without(t.shape, axis)) for t, axis in pairs]
    return tuple(torch.clone(t) for t in tensors)


def _left(
    kind: str,
    settings: Sequence[Any],
    entered: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    extra: Sequence[Any],
) -> tuple[Any, ...]:
    """Return what stands for a region's results, while the code behind it is traced."""
    if kind == "vmap":
        (size,) = extra
        pairs = zip(outputs, settings, strict=True)
        return tuple(
            torch.stack([out], axis).expand(with_axis(out.shape, axis, size)).clone()
            for out, axis in pairs
        )
    if kind == SCAN_KIND:
        length, _, carried = settings
        tensors = [as_tensor(out) for out in outputs]
        stacked = [out.new_empty((length, *out.shape)) for out in tensors[carried:]]
        return (*map(torch.empty_like, tensors[:carried]), *stacked)
    count, main, *_ = settings
    like = torch.empty_like
    leaves, values = entered[:count], outputs[:main]
    found: list[torch.Tensor] = []
    if kind == "jvp":
        found = [like(out) for out in values]
    elif kind in ("grad", "vjp"):
        found = [like(leaf) for leaf in leaves]
    elif kind in ("jacrev", "jacfwd"):
        found = [
            out.new_empty(
                (*out.shape, *leaf.shape), dtype=torch.promote_types(out.dtype, leaf.dtype)
            )
            for out in values
            for leaf in leaves
        ]
    return (*map(like, outputs), *found)


def _without(shape: Sequence[Any], axis: int) -> tuple[Any, ...]:
    place = axis if axis >= 0 else len(shape) + axis
    return (*shape[:place], *shape[place + 1 :])


def with_axis(shape: Sequence[Any], axis: int, size: Any) -> tuple[Any, ...]:
    """Return a shape with one more axis."""
    place = axis if axis >= 0 else len(shape) + 1 + axis
    return (*shape[:place], size, *shape[place:])


def _scalars_entered(args: Sequence[Any]) -> list[bool]:
    leaves = args[2].items
    return [not _is_array(leaf) for leaf in leaves]


def _scalars_left(args: Sequence[Any]) -> list[bool]:
    """Whether NumPy has a scalar for each result that has no dimensions."""
    kind, settings, entered, outputs = (
        args[0].as_python_constant(),
        args[1],
        [not _is_array(leaf) for leaf in args[2].items],
        [not _is_array(out) for out in args[3].items],
    )
    if kind == "vmap":
        return [False] * len(outputs)
    count, main, *_ = settings.as_python_constant()
    if kind == "value":
        return outputs
    if kind == "jvp":
        return outputs + outputs[:main]
    if kind in ("grad", "vjp"):
        return outputs + entered[:count]
    return outputs + [out and leaf for out in outputs[:main] for leaf in entered[:count]]


def _is_array(variable: Any) -> bool:
    variable = variable.realize()
    return isinstance(variable, NumpyNdarrayVariable) and not is_scalar_variable(variable)


def _never(node: torch.fx.Node, flags: Sequence[bool]) -> bool:
    return False


#: Functions that stand in a graph for each mark, and say which results are scalars.
_OPERATIONS: dict[Any, tuple[Operation, Callable[[Sequence[Any]], list[bool]]]] = {
    transform_marks.enter: (Operation(scalars.ENTER, _entered, _never), _scalars_entered),
    transform_marks.leave: (Operation(scalars.LEAVE, _left, _never), _scalars_left),
}
ENTER, LEAVE = (operation for operation, _ in _OPERATIONS.values())


def _call_function(original: Any) -> Any:
    """Put a mark into the graph."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth or self.fn not in transform_marks.MARKS:
            return original(self, tx, args, kwargs)
        operation, flags_of = _OPERATIONS[self.fn]
        args = [arg.realize() for arg in args]
        flags = flags_of(args)
        if self.fn is transform_marks.enter and args[0].as_python_constant() == "vmap":
            axes = args[1].as_python_constant()
            flags = [flag or axis is not None for flag, axis in zip(flags, axes, strict=True)]
        return marked(tx, operation, args, flags)

    return call_function


def marked(tx: Any, operation: Operation, args: Sequence[Any], flags: Sequence[bool]) -> Any:
    """Put a mark into the graph, and say which results are scalars."""
    found = emit(tx, operation, list(args), {})
    for one, flag in zip(found.items, flags, strict=True):
        node = one.as_proxy().node
        node.meta[SCALAR] = flag and not node.meta["example_value"].ndim
    return found


PATCHES = (
    Patch(
        UserFunctionVariable, "call_function", _call_function,
        "Dynamo would trace the marks of transforms as functions",
        "tests/transforms/test_grad.py",
    ),
)  # fmt: skip

__all__ = ["ENTER", "LEAVE", "PATCHES", "SCAN_KIND", "as_tensor", "marked", "with_axis"]
