"""Liveness: the local names that are needed later, at each place of a function."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from npaccel._syntax import dataflow
from npaccel._syntax.context_managers import may_swallow
from npaccel._syntax.dataflow import Flow, Names

_NONE: Names = frozenset()


@dataclasses.dataclass(frozen=True)
class Where:
    """Live names at the places that control may go to.

    Parameters
    ----------
    after_loop, next_iteration : frozenset of str
        Where ``break`` and ``continue`` lead.
    always : frozenset of str
        Live everywhere: what inner functions and exception handlers read.
    """

    after_loop: Names = _NONE
    next_iteration: Names = _NONE
    always: Names = _NONE


def closure_names(body: Sequence[ast.stmt]) -> Names:
    """Return the names that functions defined in some code read from around them."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                found |= dataflow.free_names(node)
    return frozenset(found)


class Liveness:
    """Finder of the names that are live; it notes them at each loop, as ``npaccel_live``.

    Parameters
    ----------
    local_names : frozenset of str
        Other names are read from where the function itself reads them.
    """

    def __init__(self, local_names: Names) -> None:
        self.locals = local_names

    def block(self, body: Sequence[ast.stmt], after: Names, where: Where) -> Names:
        """Return what is live before statements, given what is live after them."""
        live = after | where.always
        for statement in reversed(body):
            live = self.statement(statement, live, where) | where.always
        return live

    def statement(self, node: ast.stmt, after: Names, where: Where) -> Names:
        """Return what is live before a statement, given what is live after it."""
        match node:
            case ast.Return() | ast.Raise():
                return dataflow.of_statement(node).reads
            case ast.Break():
                return where.after_loop
            case ast.Continue():
                return where.next_iteration
            case ast.If():
                branches = self.block(node.body, after, where) | self.block(
                    node.orelse, after, where
                )
                return _before(dataflow.of_expression(node.test), branches)
            case ast.For():
                return self._for(node, after, where)
            case ast.While():
                return self._while(node, after, where)
            case ast.With():
                return self._with(node, after, where)
            case ast.Try():
                return self._try(node, after, where)
            case _:
                return _before(dataflow.of_statement(node), after)

    def _for(self, node: ast.For, after: Names, where: Where) -> Names:
        target = dataflow.of_expression(node.target)
        head = done = self.block(node.orelse, after, where)
        while True:
            iteration = dataclasses.replace(where, after_loop=after, next_iteration=head)
            new = done | head | _before(target, self.block(node.body, head, iteration))
            if new == head:
                node.__dict__["npaccel_live"] = head | after
                return _before(dataflow.of_expression(node.iter), head)
            head = new

    def _while(self, node: ast.While, after: Names, where: Where) -> Names:
        test = dataflow.of_expression(node.test)
        done = self.block(node.orelse, after, where)
        head = _before(test, done)
        while True:
            iteration = dataclasses.replace(where, after_loop=after, next_iteration=head)
            new = head | _before(test, done | self.block(node.body, head, iteration))
            if new == head:
                node.__dict__["npaccel_live"] = head | after
                return head
            head = new

    def _with(self, node: ast.With, after: Names, where: Where) -> Names:
        items = Flow()
        for item in node.items:
            items = items.then(dataflow.of_expression(item))
        if may_swallow(node):  # The body may be left anywhere.
            where = dataclasses.replace(where, always=where.always | after)
        return _before(items, self.block(node.body, after, where))

    def _try(self, node: ast.Try, after: Names, where: Where) -> Names:
        final = self.block(node.finalbody, after, where)
        handled = final
        for handler in node.handlers:
            handled |= self.block(handler.body, final, where)
        done = self.block(node.orelse, final, where)
        inside = dataclasses.replace(where, always=where.always | handled | done)
        return self.block(node.body, done | handled, inside)


def _before(flow: Flow, after: Names) -> Names:
    return flow.reads | (after - flow.sure)
