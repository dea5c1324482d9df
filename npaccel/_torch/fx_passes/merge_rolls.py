"""Read one wrapped copy of an array for several rolls of it by small shifts.

A stencil on a torus is a sum of rolls. Each by itself is a copy of all elements, in two parts for
each axis. Of one array that goes on at its ends with the elements of the other end each roll is a
slice, which is read by whole vectors in the loop that computes with it.
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
from collections.abc import Hashable

import numpy as np
import torch

from npaccel._numpy.host.kernels import usable
from npaccel._numpy.manipulation import rolls as manipulation_rolls
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.fx_passes.masked_sizes import is_known
from npaccel._torch.fx_passes.nodes import name_of

_ROLL = "numpy.roll"
_SIGNATURE = inspect.signature(np.roll)
_WRAPPED = Operation("roll.wrapped", manipulation_rolls.wrapped, lambda node, flags: False)
_WINDOW = Operation(_ROLL, manipulation_rolls.window, lambda node, flags: False)
#: Arrays are wrapped by at most this part of an axis on each side: the copy stays small.
_LEAST_SIZES = 4


@dataclasses.dataclass
class _Roll:
    """A roll by known shifts: how far the elements move along each axis, down if negative."""

    node: torch.fx.Node
    source: torch.fx.Node
    shifts: list[int]


def with_shared_rolls(graph: torch.fx.Graph) -> None:
    """Rewrite a captured graph in place.

    Parameters
    ----------
    graph : torch.fx.Graph
        As captured: its nodes are calls of NumPy, with fake tensors.
    """
    if not any(name_of(node) == _ROLL for node in graph.nodes):
        return
    for rolls in _groups(graph):
        if len({tuple(roll.shifts) for roll in rolls}) > 1:
            _share(graph, rolls)


def _groups(graph: torch.fx.Graph) -> list[list[_Roll]]:
    """Return rolls of one array each, that nothing writes to between them."""
    groups: dict[Hashable, list[_Roll]] = {}
    versions: dict[int | None, int] = collections.defaultdict(int)
    unknown = 0
    for node in graph.nodes:
        roll = _small_roll(node)
        if roll is not None:
            version = versions[memory_of(roll.source)], unknown
            groups.setdefault((roll.source, len(roll.shifts), version), []).append(roll)
        for target in written(node):
            versions[memory_of(target)] += 1
        if node.op == "call_method" or (node.op == "call_function" and not is_known(node)):
            unknown += 1  # It may write to anything.
    return list(groups.values())


def _small_roll(node: torch.fx.Node) -> _Roll | None:
    """Return a roll of a real array on a CPU by shifts that are small for its sizes, or None."""
    if name_of(node) != _ROLL or len(node.all_input_nodes) != 1:  # A shift or an axis isn't known.
        return None
    given = _SIGNATURE.bind(*node.args, **node.kwargs)
    given.apply_defaults()
    source, shift, axis = given.args
    value = source.meta.get("example_value") if isinstance(source, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or not usable(value) or value.is_complex():
        return None
    shape, axis = ((value.numel(),), 0) if axis is None else (value.shape, axis)
    if not all(isinstance(size, int) for size in shape):
        return None
    moved = manipulation_rolls.known_shifts(
        shape, manipulation_rolls.pairs_of(shift, axis, len(shape))
    )
    if not moved:
        return None
    shifts = [_nearest(moved.get(i, 0), size) for i, size in enumerate(shape)]
    if any(abs(a) * _LEAST_SIZES > size for a, size in zip(shifts, shape, strict=True)):
        return None
    return _Roll(node, source, shifts)


def _nearest(shift: int, size: int) -> int:
    return shift - size if 2 * shift > size else shift


def _share(graph: torch.fx.Graph, rolls: list[_Roll]) -> None:
    axes = list(zip(*(roll.shifts for roll in rolls), strict=True))
    before = [max(0, *shifts) for shifts in axes]
    after = [max(0, *(-shift for shift in shifts)) for shifts in axes]
    first = rolls[0]
    with graph.inserting_before(first.node):
        wide = graph.call_function(_WRAPPED, (first.source, before, after))
    wide.meta["stack_trace"] = first.node.stack_trace
    value = first.source.meta["example_value"]
    with value.fake_mode:
        wide.meta["example_value"] = _WRAPPED(value, before, after)
    for roll in rolls:
        starts = [front - shift for front, shift in zip(before, roll.shifts, strict=True)]
        roll.node.target = _WINDOW
        roll.node.args = (roll.source, wide, starts)
        roll.node.kwargs = {}


__all__ = ["with_shared_rolls"]
