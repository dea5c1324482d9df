"""Rules for calls on ``a[mask]`` that can be made on all of `a` instead, and their arguments."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Hashable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core import operators, table
from npaccel._numpy.core.axes import NO_VALUE
from npaccel._numpy.indexing import index_keys, masking
from npaccel._torch.dynamo.numpy.operations import INPLACE, Operation
from npaccel._torch.fx_passes.nodes import name_of

#: Python's operators that are elementwise.
OPERATORS = frozenset(
    f"operator.{op.__name__}"
    for op in (*operators.BINARY, *operators.UNARY)
    if op.__name__ not in ("matmul", "divmod")
) | (INPLACE - {"operator.imatmul"})

_WITH_WHERE = ("sum", "prod", "mean", "std", "var", "any", "all")
_EXTREMA = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}

#: Reductions that can pass over elements.
REDUCTIONS = frozenset(
    f"{module}.{name}"
    for module in ("numpy", "numpy.ndarray")
    for name in (*_WITH_WHERE, *_EXTREMA, "count_nonzero")
)


@dataclasses.dataclass(frozen=True)
class Gathered:
    """Value of a node that has the elements under a mask only.

    Parameters
    ----------
    twin : torch.fx.Node
        The node that holds all elements.
    mask : torch.fx.Node
    content : object
        What the mask held.
    width : int
        How many axes the mask has, which are one axis of the node.
    after : int
        How many axes of the node follow that one.
    """

    twin: torch.fx.Node
    mask: torch.fx.Node
    content: Hashable
    width: int
    after: int

    def fits(self, other: Gathered) -> bool:
        """Whether two nodes have the same elements side by side when they broadcast."""
        return (self.content, self.width, self.after) == (other.content, other.width, other.after)

    def with_(self, **changes: Any) -> Gathered:
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass(frozen=True)
class Reduced:
    """A call of a reduction on a twin.

    Parameters
    ----------
    target : Operation
    args : tuple
    kwargs : dict
    gathered : Gathered or None
        Where the result still has the elements under the mask.
    place : str or int
        The keyword, or the position, at which the mask goes in.
    """

    target: Operation
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    gathered: Gathered | None = None
    place: str | int = "where"

    def with_mask(self, mask: torch.fx.Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, the mask among them."""
        if isinstance(self.place, str):
            return self.args, {**self.kwargs, self.place: mask}
        return (*self.args[: self.place], mask, *self.args[self.place :]), self.kwargs


def broadcasts(value: Any, gathered: Gathered) -> bool:
    """Whether an operand is the same for every element under the mask."""
    if isinstance(value, list | tuple):
        return False
    if not isinstance(value, torch.Tensor) or value.ndim <= gathered.after:
        return True
    size: int | torch.SymInt = value.shape[value.ndim - 1 - gathered.after]
    return isinstance(size, int) and size == 1


def is_plain(node: torch.fx.Node, row: table.Row) -> bool:
    """Whether a call of an elementwise function has nothing but operands and dtypes."""
    words = set(node.kwargs)
    ufunc = row.numpy
    if isinstance(ufunc, np.ufunc):
        operands: int = ufunc.nin
        return len(node.args) == operands and words <= {"dtype", "casting"}
    if row.name == "numpy.where":
        return len(node.args) == 3 and not words
    given = bound(node)
    if given is None or any(given.get(name) is not None for name in ("out", "kwargs")):
        return False
    parts = [*node.args, *node.kwargs.values()]
    return "where" not in words and not any(isinstance(part, list) for part in parts)


def bound(node: torch.fx.Node) -> dict[str, Any] | None:
    """Return the arguments of a call of a row by name, or None if they don't fit."""
    assert isinstance(node.target, Operation)
    try:
        return dict(
            inspect.signature(node.target.function).bind(*node.args, **node.kwargs).arguments
        )
    except TypeError:
        return None


def key_of_twin(node: torch.fx.Node, gathered: Gathered) -> tuple[Any, int] | None:
    """Return the key for a twin where one is a key for a node, and what `after` becomes.

    Only what keeps all elements under the mask has one.
    """
    ndim = node.args[0].meta["example_value"].ndim  # type: ignore[union-attr]
    key = node.args[1]
    entries = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, list | torch.fx.Node) for part in entries):
        return None
    parts = index_keys.expanded_key(ndim, key)
    if any(part.kind not in ("int", "slice", "new", "rest") for part in parts):
        return None
    axis, found, after = 0, [], None
    for part in parts:
        if part.kind == "rest":
            continue
        if part.source and axis == ndim - 1 - gathered.after:
            if part.kind != "slice" or part.value != slice(None):
                return None
            found += [slice(None)] * gathered.width
            after = 0
        else:
            found.append(part.value)
            after = None if after is None else after + (part.kind != "int")
        axis += part.source
    return None if after is None else (tuple(found), after)


def reduced(node: torch.fx.Node, gathered: Gathered) -> Reduced | None:
    """Return what a reduction of a node becomes, or None where that can't be said."""
    given = bound(node)
    if given is None or set(given) - {"a", "axis", "dtype", "initial", "ddof", "keepdims"}:
        return None
    if given.get("keepdims", False) not in (False, NO_VALUE):
        return None
    if any(isinstance(given.get(name), torch.fx.Node) for name in ("axis", "dtype")):
        return None
    axes = _axes(given.get("axis"), node.args[0].meta["example_value"].ndim, gathered)  # type: ignore[union-attr]
    if axes is None:
        return None
    own, after, whole = axes
    rest = {k: v for k, v in given.items() if k not in ("a", "axis", "keepdims")}
    assert isinstance(node.target, Operation)
    if not whole:
        kept = {**rest, "axis": own}
        return Reduced(node.target, (gathered.twin,), kept, gathered.with_(after=after))
    return _under_mask(node, gathered, own, rest)


def _under_mask(
    node: torch.fx.Node, gathered: Gathered, axes: tuple[int, ...], rest: dict[str, Any]
) -> Reduced | None:
    name = name_of(node).rpartition(".")[2]
    assert isinstance(node.target, Operation)
    if name in _WITH_WHERE:
        return Reduced(node.target, (gathered.twin,), {**rest, "axis": axes})
    if name == "count_nonzero":
        target = Operation(name_of(node), masking.count_masked, node.target.zero_d)
        return Reduced(target, (gathered.twin, axes), {}, None, 1)
    if node.args[0].meta["example_value"].is_complex():  # type: ignore[union-attr]
        return None
    target = Operation(name_of(node), masking.extremum_masked, node.target.zero_d)
    return Reduced(target, (_EXTREMA[name], gathered.twin, axes), rest, None, 2)


def _axes(axis: Any, ndim: int, gathered: Gathered) -> tuple[tuple[int, ...], int, bool] | None:
    """Return the axes of the twin, `after` of the result, and whether the mask's are among them."""
    place = ndim - 1 - gathered.after
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    if not all(isinstance(one, int) for one in given):
        return None
    axes = {one % ndim for one in given}
    found: list[int] = []
    for one in sorted(axes):
        width = gathered.width if one == place else 1
        start = one if one <= place else one + gathered.width - 1
        found += range(start, start + width)
    after = gathered.after - sum(one > place for one in axes)
    return tuple(found), after, place in axes


__all__ = ["OPERATORS", "REDUCTIONS", "Gathered", "Reduced", "bound", "broadcasts", "is_plain",
           "key_of_twin", "reduced"]  # fmt: skip
