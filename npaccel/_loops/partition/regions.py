"""Runs of statements: what becomes one region, and what Python does before and after."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from npaccel._loops.partition.ast_utils import (
    cannot_fail,
    is_scalar_by_text,
    replaced,
)
from npaccel._loops.partition.facts import Facts
from npaccel._loops.partition.nodes import INDEX, Region, assign, name
from npaccel._loops.partition.python_calls import InnerCalls
from npaccel._syntax import dataflow
from npaccel._syntax.dataflow import Names


class Runs:
    """Collector of the statements of one block that are compiled together."""

    def __init__(self, facts: Facts, bound: Names, depth: int) -> None:
        self.facts = facts
        self.host_values = facts.host_values
        self.bound = bound
        self.start = bound  # What is bound before the statements that aren't in a region yet.
        self.depth = depth
        self.out: list[ast.stmt] = []
        self.run: list[ast.stmt] = []
        self.deferred: list[ast.stmt] = []

    # -- Collecting -----------------------------------------------------------

    def add(self, statement: ast.stmt) -> None:
        """Add a statement to what is compiled together."""
        statement = self._with_known_bounds(statement)
        if self.deferred and not self._commutes(statement, self.deferred):
            self.flush()
        self.run.append(statement)
        self._written(statement)

    def python(self, statement: ast.stmt, *, may_wait: bool = False) -> None:
        """Add a statement that Python runs."""
        statement = self._with_inner_calls(statement)
        if may_wait and self.run:
            self.deferred.append(statement)
        else:
            self.flush()
            self.out.append(statement)
        self._written(statement)

    def _written(self, statement: ast.stmt) -> None:
        self.bound |= dataflow.of_statement(statement).sure

    def flush(self) -> None:
        """Make a region of the statements collected so far."""
        before, inside, after = self._sorted_out(self.run)
        self.out += before
        bound = self.start | dataflow.of_statements(before).sure
        while inside:
            end, unset = self._end_of_region(inside, bound)
            definitions = self.facts.definitions_for(inside[:end])
            self.out.append(Region(inside[:end], definitions, self.depth > 0, bound, unset))
            bound |= dataflow.of_statements(inside[:end]).sure
            inside = inside[end:]
        self.out += after
        self.out += self.deferred
        self.run, self.deferred = [], []
        self.start = self.bound

    def _end_of_region(self, inside: list[ast.stmt], bound: Names) -> tuple[int, Names]:
        """Return how many statements one region takes, and names without a value before it.

        A loop may not have written what is read after it, so that it counts as read before. Where
        it surely has no value there, it's the region's own. Otherwise another region begins where
        it's read.
        """
        names = self._perhaps_unset(inside, bound)
        if self._are_unset(inside, names):
            return len(inside), names
        ends = range(len(inside) - 1, 1, -1)
        return next((n for n in ends if not self._perhaps_unset(inside[:n], bound)), 1), frozenset()

    def _perhaps_unset(self, statements: Sequence[ast.stmt], bound: Names) -> Names:
        """Return names that statements write and may read before, which may have no value then."""
        flow = dataflow.of_statements(statements)
        return ((flow.reads & flow.writes) - bound) & self.host_values.locals

    def _are_unset(self, statements: Sequence[ast.stmt], names: Names) -> bool:
        """Whether names surely have no value before statements: nobody could hand on others."""
        return not names or (not self.depth and self.facts.is_alone(statements, names))

    def finished(self) -> list[ast.stmt]:
        self.flush()
        return self.out or [ast.Pass()]

    def _sorted_out(
        self, run: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
        """Take what is about Python values alone out of a run, to its ends."""
        before: list[ast.stmt] = []
        inside: list[ast.stmt] = []
        after: list[ast.stmt] = []
        for statement in run:
            if self.is_move(statement) and self._may_move(statement, inside):
                before.append(statement)
            else:
                inside.append(statement)
        for statement in reversed(inside[:]):
            if not self.is_move(statement):
                continue
            later = inside[inside.index(statement) + 1 :]
            if self._may_move(statement, later):
                inside.remove(statement)
                after.insert(0, statement)
        return before, inside, after

    def _commutes(self, statement: ast.stmt, others: Iterable[ast.stmt]) -> bool:
        return all(self.facts.commute(statement, other) for other in others)

    def _may_move(self, statement: ast.stmt, past: Sequence[ast.stmt]) -> bool:
        """Whether a statement about host values may change places with some others."""
        if not past:
            return True
        known = self.host_values.locals | frozenset(self.facts.temporaries)
        flow = dataflow.of_statement(statement)
        # What isn't local may be read and written by functions that are called.
        local = flow.reads | flow.writes <= known
        return (
            local
            and cannot_fail(statement)
            and self._is_fixed(statement)
            and self._commutes(statement, past)
        )

    def _is_fixed(self, statement: ast.stmt) -> bool:
        """Whether a statement does the same after other code has run."""
        values = self.host_values
        match statement:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return values.may_wait(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                return name in values.fixed.host and values.may_wait(value)
        return True

    def is_move(self, statement: ast.stmt) -> bool:
        """Whether a statement only renames values, or is about host values."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                return all(map(dataflow.is_name_target, targets)) and self.host_values.moves(value)
            case ast.AnnAssign(target=target, value=value):
                return isinstance(target, ast.Name) and (
                    value is None or self.host_values.moves(value)
                )
            case ast.AugAssign(target=ast.Name() as target, value=value):
                return target.id in self.host_values.host and self.host_values.is_host(value)
            case ast.Pass():
                return True
            case ast.Expr(value=value):
                return isinstance(value, ast.Constant)
            case _:
                return False

    def _as_temporary(self, value: ast.expr) -> ast.Name:
        temporary = self.facts.new_name()
        self.add(assign(temporary, value))
        return ast.copy_location(name(temporary), value)

    def _with_known_bounds(self, statement: ast.stmt) -> ast.stmt:
        """Have Python compute the bounds of slices that it gets from arrays.

        Compiled code has to know how sizes depend on its inputs.
        """
        bounds = [
            bound
            for node in ast.walk(statement)
            if isinstance(node, ast.Slice)
            for bound in (node.lower, node.upper, node.step)
            if bound is not None and self._is_bound_of_array(bound)
        ]
        if not bounds or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
            return statement
        new: dict[int, ast.expr] = {}
        for bound in bounds:
            temporary = self.facts.new_name()
            index = ast.Call(func=name(INDEX), args=[bound], keywords=[])
            self.python(assign(temporary, ast.copy_location(index, bound)))
            self._is_number(temporary)
            new[id(bound)] = ast.copy_location(name(temporary), bound)
        return replaced(statement, new)

    def _is_number(self, temporary: str) -> None:
        self.host_values.add(temporary)
        self.facts.varying |= {temporary}

    def _is_bound_of_array(self, bound: ast.expr) -> bool:
        return is_scalar_by_text(bound) and not self.host_values.is_host(bound)

    def _with_inner_calls(self, statement: ast.stmt) -> ast.stmt:
        """Split functions that loop and are called by Python, too."""
        return InnerCalls(self.facts).visit(statement)  # type: ignore[no-any-return]
