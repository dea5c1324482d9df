"""Syntax nodes of a split function that Python's own grammar doesn't have."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npaccel._syntax import dataflow
from npaccel._syntax.dataflow import Flow, Names

#: Names that the split function uses; no user's name begins so.
TEMPORARY = "_npaccel_t{}"
REGION = "_npaccel_region{}"
NEST = "_npaccel_nest{}"
INNER = "_npaccel_inner"
NATIVE = "_npaccel_native"
APPENDING = "_npaccel_appending"
INDEX = "_npaccel_index"
LOOP = "_npaccel_loop{}"
EXECUTION = "_npaccel_execution{}"


class Region(ast.stmt):
    """Statements that are compiled together.

    Parameters
    ----------
    statements : sequence of ast.stmt
    definitions : sequence of ast.stmt
        Of the inner functions that they use.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Set by `liveness`.
    in_loop : bool
        Whether it runs more than once a call.
    bound, unset : frozenset of str
        Names that surely have a value before it, and that have none.
    """

    def __init__(
        self,
        statements: Sequence[ast.stmt],
        definitions: Sequence[ast.stmt],
        in_loop: bool,
        bound: Names,
        unset: Names,
    ) -> None:
        super().__init__()
        self.bound = bound
        self.unset = unset
        self.statements = [*definitions, *statements]
        self.own = statements
        self.in_loop = in_loop
        self.inputs: tuple[str, ...] = ()
        self.outputs: tuple[str, ...] = ()
        ast.copy_location(self, statements[0])

    def npaccel_flow(self) -> Flow:
        """Names that it reads and writes."""
        return dataflow.of_statements(self.statements)


class Inline(ast.expr):
    """An expression that is compiled, where it can't be computed ahead."""

    def __init__(self, value: ast.expr, definitions: Sequence[ast.stmt]) -> None:
        super().__init__()
        self.value = value
        self.definitions = definitions
        ast.copy_location(self, value)

    def npaccel_flow(self) -> Flow:
        """Names that it reads and writes."""
        return dataflow.of_statements(self.definitions).then(dataflow.of_expression(self.value))


class Nest(ast.stmt):
    """Loops that may suit Numba together, and the same loops split.

    Parameters
    ----------
    loops : sequence of ast.For or ast.While
        One, or several that follow each other.
    split : list of ast.stmt
    bound : frozenset of str
        Names that surely have a value before it.
    of_elements : bool
        Whether it is about single elements by its text. If not, it is for Numba only
        where it computes with arrays, small ones.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Set by `liveness`.
    """

    def __init__(
        self,
        loops: Sequence[ast.For | ast.While],
        split: list[ast.stmt],
        bound: Names,
        of_elements: bool,
    ) -> None:
        super().__init__()
        self.bound = bound
        self.of_elements = of_elements
        self.loops = loops
        self.split = split
        self.inputs: tuple[str, ...] = ()
        self.outputs: tuple[str, ...] = ()
        ast.copy_location(self, loops[0])

    def npaccel_flow(self) -> Flow:
        """Names that it reads and writes."""
        return dataflow.of_statements(self.loops)


def is_compiled(node: ast.AST) -> bool:
    """Whether a node of a split function is compiled, or calls what may be."""
    calls = isinstance(node, ast.Name) and node.id == INNER
    return calls or isinstance(node, Region | Inline | Nest)


def name(identifier: str, context: ast.expr_context | None = None) -> ast.Name:
    """Return a node for a name; read, unless said otherwise."""
    return ast.Name(id=identifier, ctx=context or ast.Load())


def assign(identifier: str, value: ast.expr) -> ast.Assign:
    """Return an assignment to a name, at the value's place in the file."""
    node = ast.Assign(targets=[name(identifier, ast.Store())], value=value)
    return ast.fix_missing_locations(ast.copy_location(node, value))
