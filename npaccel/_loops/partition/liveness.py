"""Inputs and outputs of each region of a split function."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npaccel._loops.partition.nodes import Nest, Region
from npaccel._syntax.dataflow import Names
from npaccel._syntax.liveness import Liveness, Where, closure_names


def annotate(body: Sequence[ast.stmt], local_names: Names) -> None:
    """Set the inputs and outputs of every region in a split function.

    Parameters
    ----------
    body : sequence of ast.stmt
    local_names : frozenset of str
        Other names are read from where the function itself reads them.
    """
    _Liveness(local_names).block(body, frozenset(), Where(always=closure_names(body)))


class _Liveness(Liveness):
    def statement(self, node: ast.stmt, after: Names, where: Where) -> Names:
        if isinstance(node, Nest):
            self._connect(node, after)
            return self.block(node.split, after, where)
        if isinstance(node, Region):
            self._connect(node, after)
        return super().statement(node, after, where)

    def _connect(self, node: Region | Nest, after: Names) -> None:
        flow = node.npaccel_flow()
        outputs = flow.writes & after & self.locals
        # What may stay unwritten comes out as it went in, if it was there.
        inputs = (flow.reads | ((outputs - flow.sure) & node.bound)) & self.locals
        # What has no value before it is only its own.
        inputs -= flow.writes - node.bound if isinstance(node, Nest) else node.unset
        node.inputs = tuple(sorted(inputs))
        node.outputs = tuple(sorted(outputs))
