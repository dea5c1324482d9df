"""Call a rank's part of a graph with DTensors, and keep it for other processes."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor

from npaccel._runtime.torch import layout
from npaccel._runtime.torch.layout import Placements, Shape

#: Names of process groups in code that is kept: each process has its own.
_GROUP = "npaccel_group_{}"
_COLLECTIVES = "torch.ops._c10d_functional."


@dataclasses.dataclass(frozen=True)
class Interface:
    """Interface of a rank's part of a graph to DTensors.

    Parameters
    ----------
    inputs : list
        Placements of inputs that are tensors, else None.
    drawn : int
        How many of the last inputs NumPy draws.
    outputs : list
        Shapes and placements of outputs that are tensors, else None; or the number of the input
        that an output is. Sizes that data decide are -1.
    """

    inputs: list[Placements | None]
    drawn: int
    outputs: list[tuple[Shape, Placements] | int | None]

    def on_dtensors(self, full: Callable[..., Any], mesh: Any) -> Callable[..., list[Any]]:
        """Return a graph that takes and gives DTensors.

        Parameters
        ----------
        full : callable
            Takes what a rank has of its arguments.
        mesh : DeviceMesh
        """
        known = len(self.inputs) - self.drawn

        def call(*inputs: Any) -> list[Any]:
            given = [
                _entered(one, own) if isinstance(one, DTensor) else one
                for one, own in zip(inputs[:known], self.inputs, strict=False)
            ]
            # Ranks have generators of their own: the first one's numbers are for all.
            given += [_of_first(one, mesh) for one in inputs[known:]]
            return [
                _given_back(one, own, inputs, mesh)
                for one, own in zip(full(*given), self.outputs, strict=True)
            ]

        return call

    def encoded(self) -> Any:
        """Return it as JSON."""
        outputs = [
            [list(one[0]), _encoded(one[1])] if isinstance(one, tuple) else one
            for one in self.outputs
        ]
        return [[own and _encoded(own) for own in self.inputs], self.drawn, outputs]


def decoded(item: Any) -> Interface:
    """Return what `Interface.encoded` has made JSON of."""
    inputs, drawn, outputs = item
    return Interface(
        [own and _decoded(own) for own in inputs],
        drawn,
        [
            (tuple(one[0]), _decoded(one[1])) if isinstance(one, list) else one
            for one in outputs
        ],
    )  # fmt: skip


def _encoded(placements: Placements) -> list[int]:
    return [one.dim if isinstance(one, Shard) else -1 for one in placements]


def _decoded(axes: Sequence[int]) -> Placements:
    own: list[Placement] = [Replicate() if axis < 0 else Shard(axis) for axis in axes]
    return tuple(own)


def entering(given: DTensor) -> Placements:
    """Return the placements that an argument is computed with."""
    if layout.is_plain(given.placements):
        return tuple(given.placements)
    return layout.replicated(given.device_mesh)


def _entered(given: DTensor, own: Placements | None) -> torch.Tensor:
    assert own is not None
    if tuple(given.placements) != own:
        given = given.redistribute(given.device_mesh, own)
    return given.to_local()


def _of_first(given: torch.Tensor, mesh: Any) -> torch.Tensor:
    return distribute_tensor(given, mesh, layout.replicated(mesh)).to_local()


def _given_back(one: Any, own: Any, inputs: Sequence[Any], mesh: Any) -> Any:
    if own is None:
        return one
    if isinstance(own, int):
        return inputs[own]
    shape, placements = own
    # Along these axes nothing is cut.
    shape = tuple(found if size < 0 else size for size, found in zip(shape, one.shape, strict=True))
    return layout.dtensor_of(one, shape, mesh, placements)


def boxed(call: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Return what takes a list of a function's arguments."""
    return lambda inputs: call(*inputs)


# -- Names of groups ------------------------------------------------------------


def without_groups(source: str, mesh: Any) -> str:
    """Return portable code with names in place of those of this process's groups."""
    names = {
        mesh.get_group(axis).group_name: _GROUP.format(axis) for axis in range(mesh.ndim)
    }  # fmt: skip
    tree = ast.parse(source)
    for call in _calls(tree):
        call.args = [
            ast.Name(names[one.value], ast.Load())
            if isinstance(one, ast.Constant) and one.value in names
            else one
            for one in call.args
        ]
    return ast.unparse(tree)


def with_groups(call: Callable[..., Any], mesh: Any) -> None:
    """Give loaded code the names of this process's groups."""
    scope = getattr(call, "__func__", call).__globals__
    for axis in range(mesh.ndim):
        scope[_GROUP.format(axis)] = mesh.get_group(axis).group_name


def lines_of(source: str, places: Mapping[str, Any], original: str) -> dict[int, Any]:
    """Return the user's places of collectives by their lines in portable code.

    Parameters
    ----------
    source : str
    places : mapping
        By the names that the original code has in its comments.
    original : str
        With the same calls in the same order.
    """
    found: dict[int, Any] = {}
    text, last = original.splitlines(), None
    pairs = zip(_calls(ast.parse(source)), _calls(ast.parse(original)), strict=True)
    for call, old in pairs:
        comment = text[old.lineno - 2] if old.lineno > 1 else ""
        last = next((place for name, place in places.items() if name in _words(comment)), last)
        if last is not None:
            found[call.lineno] = last
    return found


def _words(comment: str) -> set[str]:
    return set(comment.replace("[", " ").replace("]", " ").replace(",", " ").split())


def _calls(tree: ast.AST) -> list[ast.Call]:
    """Return the calls of collectives in the order of lines."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(_COLLECTIVES)
    ]
    return sorted(calls, key=lambda node: node.lineno)


__all__ = [
    "Interface",
    "boxed",
    "decoded",
    "entering",
    "lines_of",
    "with_groups",
    "without_groups",
]
