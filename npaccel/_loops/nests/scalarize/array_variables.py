"""Names of a loop nest that are assigned arrays: ``flux = 0.5 * u**2``.

Each gets memory of its own, in which its elements are written. What other names could show of
that, or of which array a name stands for, isn't taken.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering.types import NotSupportedError
from npaccel._loops.nests.scalarize.ranks import Ranks, is_full, parts_of

_ROUNDS = 10


def unfit(what: str, line: int) -> NotSupportedError:
    """Return the error for array code that no loops are made of."""
    return NotSupportedError(f"{what}: this is array code", line, is_array_code=True)


def stored(nodes: Iterable[ast.AST]) -> dict[str, list[ast.AST]]:
    """Return the names that are assigned to, with the nodes that do it; not those in place."""
    found: dict[str, list[ast.AST]] = {}
    for outer in nodes:
        in_place = {id(n.target) for n in ast.walk(outer) if isinstance(n, ast.AugAssign)}
        for node in ast.walk(outer):
            if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load):
                continue
            if id(node) not in in_place:
                found.setdefault(node.id, []).append(node)
    return found


def swapped_names(nest: ast.FunctionDef, values: Mapping[str, Any]) -> list[frozenset[str]]:
    """Return the parameters that only change names: ``old, u = u, old``.

    Parameters
    ----------
    nest : ast.FunctionDef
    values : mapping
        Of its parameters.

    Returns
    -------
    list of frozenset of str
        Names that stand for each other's arrays.
    """
    places = stored(nest.body)
    swaps = [(n, found) for n in ast.walk(nest) if (found := swap(n))]
    inside = {id(t) for node, _ in swaps for t in ast.walk(node.targets[0])}  # type: ignore[attr-defined]
    groups: list[frozenset[str]] = []
    for _, names in swaps:
        touched = [group for group in groups if group & names]
        groups = [group for group in groups if not group & names]
        groups.append(names.union(*touched))
    return [
        group
        for group in groups
        if all(type(values.get(n)) is np.ndarray and values[n].ndim for n in group)
        and all(id(place) in inside for n in group for place in places[n])
    ]


def swap(node: ast.AST) -> frozenset[str]:
    """Return the names that a statement has change places; empty if it does something else."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            own = [n.id for n in targets if isinstance(n, ast.Name)]
            given = [n.id for n in values if isinstance(n, ast.Name)]
            every = len(own) == len(targets) and len(given) == len(values)
            if every and set(own) == set(given) and len(set(own)) == len(own) == len(given):
                return frozenset(own)
    return frozenset()


def ranks_of(nest: ast.FunctionDef, values: Mapping[str, Any], names: Mapping[str, Any]) -> Ranks:
    """Return how many dimensions a nest's names have.

    Raises
    ------
    NotSupportedError
        If a name stands for arrays of several dimensions, or for an array and a number.
    """
    dimensions = {n: v.ndim for n, v in values.items() if isinstance(v, np.ndarray)}
    ranks = Ranks(dimensions, names)
    assigns = [n for n in ast.walk(nest) if isinstance(n, ast.Assign)]
    for _ in range(_ROUNDS):
        before = dict(ranks.dimensions)
        for node in assigns:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    rank = ranks.of(node.value)
                    if rank and ranks.dimensions.setdefault(target.id, rank) != rank:
                        raise unfit(f"`{target.id}` of several shapes", node.lineno)
        if ranks.dimensions == before:
            break
    return ranks


def array_names(nest: ast.FunctionDef, ranks: Ranks, swapped: frozenset[str]) -> dict[str, int]:
    """Return the names that are assigned new arrays, with their dimensions.

    Parameters
    ----------
    nest : ast.FunctionDef
    ranks : Ranks
    swapped : frozenset of str
        Names that only change places.

    Raises
    ------
    NotSupportedError
        If one is assigned in a way, or read at a place, that isn't taken.
    """
    places = stored(nest.body)
    simple = {
        id(target): node
        for node in ast.walk(nest)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if len(node.targets) == 1 and isinstance(target, ast.Name) and ranks.of(node.value)
    }
    found = {}
    for name, nodes in places.items():
        rank = ranks.dimensions.get(name, 0)
        if not rank or name in swapped:
            continue
        if not all(id(node) in simple for node in nodes):
            raise unfit(f"`{name}` assigned in another way", nest.body[0].lineno)
        found[name] = rank
    for node in ast.walk(nest):
        if isinstance(node, ast.NamedExpr) and ranks.of(node.value):
            raise unfit("an array assigned in an expression", node.lineno)
    return found


def check_bound(statements: Sequence[ast.stmt], names: frozenset[str]) -> frozenset[str]:
    """Check that names have values wherever they are read.

    Parameters
    ----------
    statements : sequence of ast.stmt
    names : frozenset of str
        Those that may not have one yet.

    Returns
    -------
    frozenset of str
        Those that may have none afterwards.
    """
    for node in statements:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                _check_read(test, names)
                names = check_bound(body, names) | check_bound(orelse, names)
            case ast.For(iter=items, body=body, orelse=orelse):
                _check_read(items, names)
                check_bound(body, names)
                check_bound(orelse, names)
            case ast.While(test=test, body=body, orelse=orelse):
                _check_read(test, names)
                check_bound(body, names)
                check_bound(orelse, names)
            case _:
                _check_read(node, names)
                if isinstance(node, ast.Assign):
                    names -= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return names


def _check_read(node: ast.AST, names: frozenset[str]) -> None:
    in_place = {id(n.target) for n in ast.walk(node) if isinstance(n, ast.AugAssign)}
    for part in ast.walk(node):
        if not isinstance(part, ast.Name) or part.id not in names:
            continue
        if isinstance(part.ctx, ast.Load) or id(part) in in_place:
            raise unfit(f"`{part.id}`, which may not be assigned", part.lineno)


def with_views(
    nest: ast.FunctionDef, names: dict[str, int], arrays: Mapping[str, Any], known: frozenset[str]
) -> ast.FunctionDef:
    """Return a nest without names for fixed views: ``middle = w[1:-1, 1:-1]``.

    Parameters
    ----------
    nest : ast.FunctionDef
    names : dict
        The names of views are taken out.
    arrays : mapping
        Parameters that are never assigned to.
    known : frozenset of str
        Names that have a value before the nest, or are read after it.
    """
    views: dict[str, ast.Subscript] = {}
    assigns = [n for n in ast.walk(nest) if isinstance(n, ast.Assign)]
    for node in assigns:
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or target.id not in names:
            continue
        once = sum(t.id == target.id for n in assigns for t in n.targets if isinstance(t, ast.Name))
        if once == 1 and target.id not in known and _is_fixed_view(value, arrays):
            assert isinstance(value, ast.Subscript)
            views[target.id] = value
    for name in views:
        del names[name]
    made = _Replaced(views).visit(nest) if views else nest
    assert isinstance(made, ast.FunctionDef)
    return made


def _is_fixed_view(node: ast.expr, arrays: Mapping[str, Any]) -> bool:
    """Whether an expression always is the same part of an array, and can't fail."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return False
    parts = parts_of(node)
    return (
        node.value.id in arrays
        and any(isinstance(part, ast.Slice) for part in parts)
        and all(is_full(part) or isinstance(part, ast.Slice) for part in parts)
        and not any(isinstance(n, ast.Name | ast.Call) for part in parts for n in ast.walk(part))
    )


class _Replaced(ast.NodeTransformer):
    def __init__(self, views: Mapping[str, ast.Subscript]) -> None:
        self.views = views

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Leave out what gives a view its name."""
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.views:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Write what a name of a view stands for."""
        if node.id not in self.views:
            return node
        made = copy.deepcopy(self.views[node.id])
        made.ctx = node.ctx
        return ast.copy_location(made, node)
