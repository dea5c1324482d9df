"""Questions about syntax trees, and changes of them, that need nothing but the tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TypeVar

from npaccel._loops.nests.resolve import is_slice
from npaccel._loops.nests.scalarize.interchange import may_be_columns
from npaccel._loops.nests.scalarize.scalarize import has_products
from npaccel._syntax.dataflow import Names


def called_name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def cannot_fail(statement: ast.stmt) -> bool:
    """Whether a statement about host values can't raise."""
    may = ast.Call | ast.Subscript | ast.Attribute | ast.Compare
    for node in ast.walk(statement):
        if isinstance(node, may):
            return False
        if isinstance(node, ast.BinOp | ast.AugAssign) and not isinstance(
            node.op, ast.Add | ast.Sub | ast.Mult
        ):
            return False
    return True


def is_scalar_by_text(node: ast.expr) -> bool:
    """Whether an expression is made of names, single elements, and arithmetic on them."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(value=ast.Name(), slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            return all(map(is_scalar_by_text, parts))
        case ast.BinOp(left=left, right=right):
            return is_scalar_by_text(left) and is_scalar_by_text(right)
        case ast.UnaryOp(operand=operand):
            return is_scalar_by_text(operand)
        case ast.Call(func=ast.Name(id="int" | "min" | "max" | "len" | "abs"), args=args):
            return all(map(is_scalar_by_text, args))
    return False


def constant_iterations(iterable: ast.expr) -> int | None:
    """Return the number of iterations of a loop, if its text says so."""
    if isinstance(iterable, ast.Tuple | ast.List):
        return len(iterable.elts)
    if not isinstance(iterable, ast.Call) or called_name(iterable) != "range":
        return None
    values = [_integer(a) for a in iterable.args]
    numbers = [v for v in values if v is not None]
    if len(numbers) != len(values) or not 1 <= len(values) <= 3 or numbers[2:] == [0]:
        return None
    return len(range(*numbers))


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _integer(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


#: Methods that give the elements of an array along one axis.
_FLATTENS = ("ravel", "flatten")


def root_of_part(node: ast.expr) -> str:
    """Return the name of which an expression is slices or elements in a row; "" of another one."""
    is_part = False
    while True:
        match node:
            case ast.Subscript(value=owner, slice=index):
                is_part = is_part or any(isinstance(n, ast.Slice) for n in ast.walk(index))
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[], keywords=[]) if (
                attr in _FLATTENS
            ):
                is_part = True
            case ast.Attribute(value=owner, attr="T"):
                is_part = True
            case ast.Name(id=found):
                return found if is_part else ""
            case _:
                return ""
        node = owner


def may_be_elementwise(loop: ast.For | ast.While, containers: Names) -> bool:
    """Whether a loop is about single elements or products of vectors, by its text.

    Parameters
    ----------
    loop : ast.For or ast.While
    containers : frozenset of str
        Names of lists and dicts: ``states[-1]`` is no element of an array.
    """
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.For | ast.While) and n is not loop]
    # An inner loop about elements is one whatever becomes of slices around it.
    may_be = has_products(loop) or may_be_columns(loop)
    inside = any(_is_of_elements(one, containers) for one in inner)
    return _is_of_elements(loop, containers) or (may_be and not inside)


_SIMPLE = (
    ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Pass, ast.Expr, ast.Break,
    ast.Continue, ast.Assert, ast.Raise,
)  # fmt: skip
_MADE = (
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Dict, ast.Set, ast.Lambda,
    ast.JoinedStr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred, ast.NamedExpr,
)  # fmt: skip


def may_be_simple(loop: ast.For | ast.While, containers: Names) -> bool:
    """Whether a loop only computes with numbers and arrays, by its text.

    Parameters
    ----------
    loop : ast.For or ast.While
    containers : frozenset of str
        Names of lists and dicts.
    """
    displays = 0
    used = _used_as_lists(loop, containers)
    for node in ast.walk(loop):
        if isinstance(node, ast.stmt) and not isinstance(node, _SIMPLE):
            return False
        if isinstance(node, ast.Name) and node.id in containers and id(node) not in used:
            return False
        if isinstance(node, _MADE):
            return False
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.List):
            displays += 1
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.List):
            displays -= 1
    return not displays


def _used_as_lists(loop: ast.For | ast.While, containers: Names) -> set[int]:
    """Return the names, by identity, that are used for items of lists and for their ends."""
    found: list[ast.expr] = []
    for node in ast.walk(loop):
        match node:
            case ast.Subscript(value=ast.Name(), slice=index) if not is_slice(index):
                found.append(node.value)
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="append" | "pop" | "clear")):
                found.append(node.func.value)  # type: ignore[attr-defined]
            case ast.Call(func=ast.Name(id="len" | "enumerate" | "zip" | "reversed")):
                found += node.args
            case ast.For():
                found.append(node.iter)
            case ast.While() | ast.If():
                found += [n for n in ast.walk(node.test) if isinstance(n, ast.Name)]
    return {id(node) for node in found if isinstance(node, ast.Name) and node.id in containers}


def _is_of_elements(loop: ast.For | ast.While, containers: Names) -> bool:
    subscripts = [
        n for n in ast.walk(loop) if isinstance(n, ast.Subscript) and not _is_item(n, containers)
    ]
    over_items = isinstance(loop, ast.For) and not (
        isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "range"
    )
    return (bool(subscripts) or over_items) and not any(is_slice(n.slice) for n in subscripts)


def _is_item(node: ast.Subscript, containers: Names) -> bool:
    """Whether this is always the same place of a list, or in a dict."""
    index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
    of_container = isinstance(node.value, ast.Name) and node.value.id in containers
    return of_container and isinstance(index, ast.Constant)


def leading(test: ast.expr) -> ast.expr:
    """The part of a condition that is always computed, and first."""
    while True:
        if isinstance(test, ast.BoolOp):
            test = test.values[0]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        else:
            return test


def with_leading(test: ast.expr, new: ast.expr) -> ast.expr:
    if isinstance(test, ast.BoolOp):
        values = [with_leading(test.values[0], new), *test.values[1:]]
        return ast.copy_location(ast.BoolOp(op=test.op, values=values), test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        operand = with_leading(test.operand, new)
        return ast.copy_location(ast.UnaryOp(op=test.op, operand=operand), test)
    return new


class Continues(ast.NodeTransformer):
    """Put a statement before every ``continue`` of one loop."""

    def __init__(self, ahead: ast.stmt) -> None:
        self.ahead = ahead

    def all(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        module = ast.Module(body=[copy.deepcopy(s) for s in body], type_ignores=[])
        return self.visit(module).body  # type: ignore[no-any-return]

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [copy.deepcopy(self.ahead), node]

    def visit_For(self, node: ast.For) -> ast.For:
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


_Node = TypeVar("_Node", bound=ast.AST)


def replaced(node: _Node, new: dict[int, ast.expr]) -> _Node:
    """A copy of an expression or statement with some of its parts, by identity, replaced."""
    return _Replace(new).visit(node)  # type: ignore[return-value]


class _Replace(ast.NodeTransformer):
    def __init__(self, new: dict[int, ast.expr]) -> None:
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        found = self.new.get(id(node))
        if found is not None:
            return found
        copied = copy.copy(node)
        return self.generic_visit(copied)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self._part(v) for v in value])
            else:
                setattr(node, field, self._part(value))
        return node

    def _part(self, value: object) -> object:
        return self.visit(value) if isinstance(value, ast.AST) else value
