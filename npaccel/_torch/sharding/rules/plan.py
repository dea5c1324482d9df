"""Plans, as a rule makes them of an operation: which axes of its arrays go together.

Axes that go together have one label, as in `numpy.einsum`. A label may be cut: each rank then
computes its part of it. Axes without a label are needed whole. Labels that no result has are
reduced among ranks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from npaccel._runtime.torch.layout import Shape, Spread

#: Labels of an array's axes, None for axes that are needed whole.
Labels = tuple[Any, ...]
#: Bounds of each rank's part of an axis.
Cuts = list[tuple[int, int]]
#: Returns from where to where a rank has a label.
Bounds = Callable[[Any], tuple[int, int]]
#: Takes the size of a label, and what cuts an axis of some size into the ranks' parts.
Fits = Callable[[int, Callable[[int], list[tuple[int, int]]]], bool]


@dataclasses.dataclass
class Exchange:
    """Elements along an axis of an operand that ranks send each other.

    Parameters
    ----------
    operand : int
        Its place among those of the plan.
    dim : int
        Its axis, whose label is the number of the axis.
    size : int
        Of a result's axis by whose cut it's decided what a rank needs.
    shift : int
        How much further what a rank needs is in the operand than what it has of that axis.
    compute : callable
        As that of the plan, with what each rank needs of the operand.
    """

    operand: int
    dim: int
    size: int
    shift: int
    compute: Callable[[list[torch.Tensor], list[Shape], Bounds], Any]

    def wanted(self, cuts: Cuts, most: int) -> Cuts:
        """Return what each rank needs of the operand's elements, whose number is given."""
        shifted = [(low + self.shift, high + self.shift) for low, high in cuts]
        return [(min(max(low, 0), most), min(max(high, 0), most)) for low, high in shifted]


@dataclasses.dataclass
class Plan:
    """Plan of how an operation goes along axes.

    Parameters
    ----------
    operands : sequence of (Spread, tuple)
        In the order in which the operation takes them, with their labels.
    outputs : sequence of tuple
        Labels of results.
    compute : callable
        Takes what a rank has of the operands, the shapes of what it makes of the results, and the
        bounds of labels.
    reduces : mapping
        By label that no result has: how it's reduced, a key of `REDUCERS`.
    fits : mapping
        By label: whether it may be cut, for labels for which that isn't always so.
    exchange : Exchange, optional
        What ranks send each other where its label is cut along one axis of the mesh; along several,
        the label isn't cut.
    adds : callable, optional
        Is called with the first operand and the reduced result, and makes the result of both.
    """

    operands: Sequence[tuple[Spread, Labels]]
    outputs: Sequence[Labels]
    compute: Callable[[list[torch.Tensor], list[Shape], Bounds], Any]
    reduces: Mapping[Any, str] = dataclasses.field(default_factory=dict)
    fits: Mapping[Any, Fits] = dataclasses.field(default_factory=dict)
    exchange: Exchange | None = None
    adds: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None

    def for_some(self) -> Plan:
        """Return a plan by which each rank has something to compute: libraries refuse nothing."""
        labels = {label for _, own in self.operands for label in own}
        return dataclasses.replace(self, fits=dict.fromkeys(labels, has_no_empty))

    def without(self, dims: Any) -> Plan:
        """Return a plan in which some axes of the first operand are needed whole."""
        x, labels = self.operands[0]
        whole = {labels[axis] for axis in axes_of(dims, len(x.shape))} if x.shape else set()

        def kept(own: Labels) -> Labels:
            return tuple(None if label in whole else label for label in own)

        return dataclasses.replace(
            self,
            operands=[(one, kept(own)) for one, own in self.operands],
            outputs=[kept(own) for own in self.outputs],
            exchange=None,
        )


@dataclasses.dataclass
class Operation:
    """An operation of a graph, with its arguments.

    Parameters
    ----------
    target : callable
    args, kwargs
        With `Spread` for tensors.
    shapes : list of tuple
        Of the whole results.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: list[Shape]

    def arg(self, place: int, name: str, default: Any = None) -> Any:
        """Return an argument by place or name."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name, default)

    @property
    def name(self) -> str:
        """Name of the operation without its overload."""
        is_overload = isinstance(self.target, torch._ops.OpOverload)
        function = self.target.overloadpacket if is_overload else self.target
        return str(getattr(function, "__name__", function))

    @property
    def spreads(self) -> list[Spread]:
        """The tensors among the arguments."""
        leaves = torch.utils._pytree.tree_leaves((self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, Spread)]

    def call(self, locals_: Iterable[torch.Tensor]) -> Any:
        """Compute with other tensors for those among the arguments."""
        given = iter(locals_)
        args, kwargs = torch.utils._pytree.tree_map(
            lambda leaf: next(given) if isinstance(leaf, Spread) else leaf,
            (self.args, self.kwargs),
        )
        return self.target(*args, **kwargs)

    def as_it_is(self, locals_: list[torch.Tensor], shapes: list[Shape], bounds: Bounds) -> Any:
        """Compute what a rank makes, where no argument depends on sizes."""
        del shapes, bounds
        return self.call(locals_)


Rule = Callable[[Operation], Plan | None]
#: Rules by overload of an operation.
RULES: dict[Any, Rule] = {}


def rule(*targets: Any) -> Callable[[Rule], Rule]:
    """Note a rule for operations, whatever their overloads."""

    def note(made: Rule) -> Rule:
        for target in targets:
            overloads = [getattr(target, name) for name in target.overloads()]
            RULES.update(dict.fromkeys(overloads, made))
        return made

    return note


def has_no_empty(size: int, cuts: Callable[[int], list[tuple[int, int]]]) -> bool:
    """Whether each rank has something of an axis."""
    return all(start < stop for start, stop in cuts(size))


def axes_of(dims: Any, ndim: int) -> list[int]:
    """Return axes as numbers from 0; all of them where none is given."""
    if dims is None:
        return list(range(ndim))
    given = [dims] if isinstance(dims, int) else list(dims)
    return [dim % ndim if ndim else 0 for dim in given] or list(range(ndim))


def along(op: Operation, dims: Any) -> Plan | None:
    """Plan what goes along some axes, and keeps all of them; other operands are aligned."""
    spreads = op.spreads
    x = spreads[0]
    own = tuple(range(len(x.shape)))
    axes = set() if dims == [] else set(axes_of(dims, len(x.shape)))
    for shape in [*(one.shape for one in spreads), *op.shapes]:
        if len(shape) != len(x.shape):
            return None
        axes |= {i for i in own if shape[i] != x.shape[i]}
    plan = Plan([(one, own) for one in spreads], [own] * len(op.shapes), op.as_it_is)
    return plan.without(sorted(axes)) if axes else plan


__all__ = [
    "RULES",
    "Bounds",
    "Cuts",
    "Exchange",
    "Fits",
    "Labels",
    "Operation",
    "Plan",
    "Rule",
    "along",
    "axes_of",
    "has_no_empty",
    "rule",
]
