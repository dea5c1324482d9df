"""Loops over the rows of a table, as loops over places: ``for row in table: row -= row.mean()``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, name_of
from npaccel._loops.nests.resolve import builtin
from npaccel._loops.nests.scalarize.ranks import REDUCTIONS

#: Maximum that can be added to any place without an overflow.
_SMALL = 1 << 31
_VIEWED = frozenset({"shape", "size", "ndim", "dtype"})


def reduces_rows(node: ast.AST) -> bool:
    """Whether loops in some code go over what they call reductions of, by its text."""
    return any(_reduced(loop) for loop in ast.walk(node) if isinstance(loop, ast.For))


def _reduced(loop: ast.For) -> bool:
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in REDUCTIONS
        and isinstance(part.value, ast.Name)
        and part.value.id in targets
        for statement in loop.body
        for part in ast.walk(statement)
    )


def with_places(
    nest: ast.FunctionDef, arrays: Mapping[str, np.ndarray[Any, Any]], names: Mapping[str, Any]
) -> ast.FunctionDef:
    """Return a copy of a nest whose loops over rows go over places.

    Parameters
    ----------
    nest : ast.FunctionDef
    arrays : mapping
        Those of its parameters that are assigned to nowhere.
    names : mapping
        The values of names; what isn't among them may be a builtin.
    """
    made = copy.deepcopy(nest)
    counts: dict[str, int] = {}
    for part in ast.walk(made):
        if isinstance(part, ast.Name):
            counts[part.id] = counts.get(part.id, 0) + 1
    _Loops(arrays, names, counts).visit(made)
    return made


class _Loops(ast.NodeTransformer):
    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        names: Mapping[str, Any],
        counts: Mapping[str, int],
    ) -> None:
        self.arrays = arrays
        self.names = names
        self.counts = dict(counts)
        self.places = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.target, unpacked = self._with_rows(node.target, node.iter)
        node.body = [*(ast.copy_location(one, node) for one in unpacked), *node.body]
        pairs, number, first = self._pairs(node.target, node.iter)
        tables = [self.arrays.get(table) for _, table in pairs]
        rows = {
            row: table
            for (row, table), array in zip(pairs, tables, strict=True)
            if array is not None and array.ndim == 2
        }
        known = all(array is not None and array.ndim in (1, 2) for array in tables)
        if not rows or not known or not all(self._is_row_only(row, node) for row in rows):
            return node
        self.places += 1
        place = f"0p{self.places}"
        lengths = [called(len, name_of(table)) for _, table in pairs]
        least = lengths[0] if len(lengths) == 1 else called(min, *lengths)
        count: ast.expr = name_of(place)
        if first:
            count = ast.BinOp(count, ast.Add(), ast.Constant(first))
        given: list[tuple[str, ast.expr]] = [(number, count)] if number else []
        given += [
            (name, ast.Subscript(name_of(table), _known(place), ast.Load()))
            for name, table in pairs
            if name not in rows
        ]
        start: list[ast.stmt] = [
            ast.Assign([name_of(name, ast.Store())], value) for name, value in given
        ]
        body = [
            _Rows(rows, place, builtin("len", self.names) is len).visit(statement)
            for statement in node.body
        ]
        node.body = [*(ast.copy_location(one, node) for one in start), *body]
        node.target = name_of(place, ast.Store())
        node.iter = called(range, least)
        return node

    def _with_rows(self, target: ast.expr, items: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """Return a target with a name for each row that is unpacked, and what unpacks them."""
        match target, items:
            case ast.Tuple(), ast.Name(id=table):
                array = self.arrays.get(table)
                if array is None or array.ndim != 2:
                    return target, []
                self.places += 1
                row = f"0r{self.places}"
                self.counts[row] = 2
                return name_of(row, ast.Store()), [ast.Assign([target], name_of(row))]
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                own = builtin(name, self.names)
            case _:
                return target, []
        parts: list[tuple[ast.expr, list[ast.stmt]]]
        if len(targets) == 2 and own is enumerate and _first(args) is not None:
            parts = [(targets[0], []), self._with_rows(targets[1], args[0])]
        elif len(targets) == len(args) and own is zip:
            parts = [self._with_rows(one, item) for one, item in zip(targets, args, strict=True)]
        else:
            return target, []
        made = ast.Tuple([one for one, _ in parts], ast.Store())
        return made, [statement for _, some in parts for statement in some]

    def _pairs(self, target: ast.expr, items: ast.expr) -> tuple[list[tuple[str, str]], str, int]:
        """Return names with the arrays that they go over, the name of their number, the first."""
        match target, items:
            case ast.Name(), ast.Name():
                return [(target.id, items.id)], "", 0
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                own = builtin(name, self.names)
            case _:
                return [], "", 0
        first = _first(args)
        if len(targets) == 2 and own is enumerate and first is not None:
            pairs, number, _ = self._pairs(targets[1], args[0])
            if not number and isinstance(targets[0], ast.Name):
                return pairs, targets[0].id, first
        elif len(targets) == len(args) and own is zip:
            found = [self._pairs(one, item) for one, item in zip(targets, args, strict=True)]
            if all(len(pairs) == 1 and not number for pairs, number, _ in found):
                return [pairs[0] for pairs, _, _ in found], "", 0
        return [], "", 0

    def _is_row_only(self, row: str, loop: ast.For) -> bool:
        """Whether a name is the row's alone, in this loop alone."""
        own = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == row]
        in_place = {id(n.target) for n in ast.walk(loop) if isinstance(n, ast.AugAssign)}
        stored = [n for n in own if isinstance(n.ctx, ast.Store) and id(n) not in in_place]
        deleted = any(isinstance(n.ctx, ast.Del) for n in own)
        return len(own) == self.counts[row] and len(stored) == 1 and not deleted


def _first(args: Sequence[ast.expr]) -> int | None:
    """Return with which number `enumerate` begins; None where that isn't written there."""
    match args:
        case [_]:
            return 0
        case [_, ast.Constant(value=int(first))] if abs(first) < _SMALL:
            return int(first)
    return None


def _known(place: str) -> ast.Call:
    return called(Intrinsic.KNOWN, name_of(place))


class _Rows(ast.NodeTransformer):
    """Write rows as what they are of their tables."""

    def __init__(self, rows: Mapping[str, str], place: str, len_is_builtin: bool) -> None:
        self.rows = rows
        self.place = place
        self.len_is_builtin = len_is_builtin

    def _whole(self, row: str, context: ast.expr_context) -> ast.Subscript:
        index = ast.Tuple([_known(self.place), ast.Slice()], ast.Load())
        return ast.Subscript(name_of(self.rows[row]), index, context)

    def _view(self, row: str) -> ast.Subscript:
        return ast.Subscript(name_of(self.rows[row]), _known(self.place), ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(self._whole(node.id, node.ctx), node) if self._is(node) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not self._is(node.value):
            return self.generic_visit(node)
        assert isinstance(node.value, ast.Name)
        index = self.visit(node.slice)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(isinstance(part, ast.Slice) for part in parts):
            every = ast.Tuple([_known(self.place), *parts], ast.Load())
            made = ast.Subscript(name_of(self.rows[node.value.id]), every, node.ctx)
        else:
            made = ast.Subscript(self._view(node.value.id), index, node.ctx)
        return ast.copy_location(made, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not self._is(node.value) or node.attr not in _VIEWED:
            return self.generic_visit(node)
        assert isinstance(node.value, ast.Name)
        return ast.copy_location(
            ast.Attribute(self._view(node.value.id), node.attr, ast.Load()), node
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_length = isinstance(node.func, ast.Name) and node.func.id == "len"
        if is_length and self.len_is_builtin and len(node.args) == 1 and self._is(node.args[0]):
            assert isinstance(node.args[0], ast.Name)
            return ast.copy_location(called(len, self._view(node.args[0].id)), node)
        return self.generic_visit(node)

    def _is(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.rows
