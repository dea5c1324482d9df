"""Products of matrices and vectors by the kernels that suit how the matrix lies in memory.

``X.T @ r`` is ``r @ X``, which reads X row by row. Derivatives of products with vectors are such
products too, of which Inductor makes loops that read X column by column.

Read from torch/_inductor/lowering.py and torch/_inductor/kernel/mm.py of 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npaccel._numpy.host.linalg import of_row, of_vector, vector_usable

_aten = torch.ops.aten


def with_vector_kernels(module: torch.fx.GraphModule) -> None:
    """Rewrite a functional graph of AOTAutograd in place.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Its nodes have fake tensors.
    """
    graph = module.graph
    is_changed = False
    for target, is_row in ((of_vector, False), (of_row, True)):
        for node in graph.find_nodes(op="call_function", target=target):
            is_changed |= _rewrite(node, is_row)
    if is_changed:
        graph.eliminate_dead_code()
        module.recompile()


def _rewrite(node: torch.fx.Node, is_row: bool) -> bool:
    arguments: tuple[Any, ...] = node.args
    matrix, vector = reversed(arguments) if is_row else arguments
    base = _base(matrix)
    if base is None:
        return False
    # The other kernel, for what the matrix is a transposed view of.
    target: Any = of_vector if is_row else of_row
    with node.graph.inserting_before(node):
        found = node.graph.call_function(target, (base, vector) if is_row else (vector, base))
    found.meta.update(node.meta)
    node.replace_all_uses_with(found)
    node.graph.erase_node(node)
    return True


def _base(matrix: torch.fx.Node) -> torch.fx.Node | None:
    """Return what a matrix is the transposed view of, if that lies in memory row by row."""
    arguments: tuple[Any, ...] = matrix.args
    is_transposed = matrix.target is _aten.t.default or (
        matrix.target is _aten.permute.default and list(arguments[1]) == [1, 0]
    )
    if not is_transposed:
        return None
    base: torch.fx.Node = arguments[0]
    value = base.meta["val"]
    return base if value.ndim == 2 and value.is_contiguous() else None


def mv(by_torch: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decomposition of ``aten.mv``: the kernel that suits a large matrix, or torch's."""

    def decomposed(matrix: torch.Tensor, vector: torch.Tensor) -> Any:
        if not vector_usable(matrix, vector):
            return by_torch(matrix, vector)
        if matrix.t().is_contiguous():
            return of_row(vector, matrix.t())
        return of_vector(matrix, vector) if matrix.is_contiguous() else by_torch(matrix, vector)

    return decomposed


__all__ = ["mv", "with_vector_kernels"]
