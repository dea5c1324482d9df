"""Loops along the last axis of arrays, written as loops over the other axes around them.

``for k in range(1, n): x[..., k] = x[..., k - 1] / b[..., k]`` computes with the elements of each
column alone. Iteration by iteration it takes one element of every cache line; here each column is
done from its first iteration to its last, as a loop over single elements, and what is only computed
with in an iteration, such as a pivot, is one number. Only C-contiguous float64 arrays are taken
whose other axes have equal lengths, and indices that can be seen to be within the bounds before
anything is written. Loops that follow each other are taken together: each column is done by the
first, then by the next.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, locate, name_of
from npaccel._loops.nests.lowering.types import FLOAT64
from npaccel._loops.nests.resolve import builtin, is_ufunc
from npaccel._syntax import dataflow

_NUMBERS = (int, float, np.integer, np.floating)
#: Number of columns that are done at a time.
_LANES = 4


@dataclasses.dataclass(frozen=True)
class Columns:
    """A nest that goes over columns.

    Parameters
    ----------
    nest : ast.FunctionDef
    holds : callable
        Says for a call's values whether it does what the loop does.
    """

    nest: ast.FunctionDef
    holds: Callable[[Mapping[str, Any]], bool]


def may_be_columns(loop: ast.For | ast.While) -> bool:
    """Whether a loop goes along last axes only, by its text."""
    if not isinstance(loop, ast.For) or loop.orelse or not isinstance(loop.target, ast.Name):
        return False
    if not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Name):
        return False
    subscripts = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript)]
    return bool(subscripts) and all(
        isinstance(s, ast.Assign | ast.AugAssign) for s in loop.body
    ) and all(_along(n) is not None for n in subscripts)  # fmt: skip


def _along(node: ast.Subscript) -> tuple[str, int | None, ast.expr] | None:
    """Return the array, its dimensions if they can be told, and the index along its last axis."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if len(parts) < 2 or not isinstance(node.value, ast.Name):
        return None
    *others, last = parts
    every = all(
        isinstance(p, ast.Slice) and p.lower is None and p.upper is None and p.step is None
        for p in others
    )
    if any(isinstance(n, ast.Slice | ast.Subscript) for n in ast.walk(last)):
        return None
    if every:
        return node.value.id, len(parts), last
    is_rest = len(others) == 1 and isinstance(others[0], ast.Constant) and others[0].value is ...
    return (node.value.id, None, last) if is_rest else None


def columns(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> Columns | None:
    """Return a nest that goes over columns; None if that isn't the same.

    Parameters
    ----------
    nest : ast.FunctionDef
        Loops, and a return of the names that are read afterwards.
    values : mapping
        Of its parameters.
    namespace : mapping
        The values of other names.
    """
    loops = [one for one in nest.body[:-1] if isinstance(one, ast.For) and may_be_columns(one)]
    if not loops or len(loops) + 1 != len(nest.body):
        return None
    names = ChainMap(dict(values), namespace)  # type: ignore[arg-type]
    found = _Checking(loops, names)
    outputs = {n.id for n in ast.walk(nest.body[-1]) if isinstance(n, ast.Name)}
    if not found.is_fit() or outputs & found.stored:
        return None
    holds = _Holds(found.along, namespace)
    if not holds(values):
        return None
    return Columns(_written(nest, loops, found), holds)


@dataclasses.dataclass
class _Along:
    """The iterations of a loop, and the places that it reads or writes in an iteration.

    Parameters
    ----------
    index : str
        Its variable.
    iterations : list of code
        The arguments of `range`.
    places : list of (str, code)
        Names of arrays, with the indices along their last axes.
    """

    index: str
    iterations: list[CodeType]
    places: list[tuple[str, CodeType]] = dataclasses.field(default_factory=list)


class _Checking:
    """Look at what the bodies of loops do."""

    def __init__(self, loops: Sequence[ast.For], names: Mapping[str, Any]) -> None:
        self.loops = loops
        self.names = names
        self.stored = set(dataflow.stores(loops))
        #: Counter of the loop that is looked at.
        self.index = ""
        self.assigned: set[str] = set()
        self.viewed: set[str] = set()
        self.written: set[str] = set()
        self.along: list[_Along] = []
        self.dimensions = 0

    def is_fit(self) -> bool:
        """Whether they compute with the elements of each column alone."""
        if not all(map(self._loop, self.loops)) or self.dimensions < 2:
            return False
        return not self.viewed & self.written  # A view would show what is written.

    def _loop(self, loop: ast.For) -> bool:
        assert isinstance(loop.target, ast.Name)
        assert isinstance(loop.iter, ast.Call)
        self.index, self.assigned = loop.target.id, set()
        bounds = loop.iter.args
        is_range = builtin("range", self.names) is range and not loop.iter.keywords
        if not (is_range and bounds and all(map(self._is_bound, bounds))):
            return False
        if self.stored & {n.id for a in bounds for n in ast.walk(a) if isinstance(n, ast.Name)}:
            return False
        iterations = [compile(ast.Expression(a), "<range>", "eval") for a in bounds]
        self.along.append(_Along(self.index, iterations))
        return all(map(self._statement, loop.body))

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(targets=[target], value=value):
                ok = self._value(value)
            case ast.AugAssign(target=target, value=value):
                ok = self._value(value) and self._value(target)
                ok = ok and not isinstance(node.op, ast.MatMult)
            case _:
                return False
        if isinstance(target, ast.Name):
            if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
                self.viewed.add(value.value.id)
            self.assigned.add(target.id)
            # In place it would change what another name stands for, too.
            return ok and target.id != self.index and isinstance(node, ast.Assign)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.written.add(target.value.id)
            return ok and self._place(target)
        return False

    def _value(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return type(value) in (int, float)
            case ast.Name(id=name):
                if name in self.stored and name != self.index:
                    return name in self.assigned  # In this iteration.
                return name == self.index or isinstance(self.names.get(name), _NUMBERS)
            case ast.Subscript():
                return self._place(node)
            case ast.BinOp(left=left, op=op, right=right):
                return not isinstance(op, ast.MatMult) and self._value(left) and self._value(right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.Call(func=function, args=args, keywords=[]):
                return is_ufunc(function, self.names) and all(map(self._value, args))
        return False

    def _place(self, node: ast.Subscript) -> bool:
        along = _along(node)
        if along is None:
            return False
        name, dimensions, index = along
        array = self.names.get(name)
        if type(array) is not np.ndarray or name in self.stored or array.dtype != FLOAT64:
            return False
        self.dimensions = self.dimensions or array.ndim
        fits = array.ndim == self.dimensions == (dimensions or array.ndim)
        if not (fits and array.flags.c_contiguous and self._is_number(index)):
            return False
        self.along[-1].places.append((name, compile(ast.Expression(index), "<index>", "eval")))
        return True

    def _is_bound(self, node: ast.expr) -> bool:
        """Whether an expression is an int that doesn't change, or an array's length with one."""
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return self._is_bound(left) and self._is_bound(right)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis
            ):
                array = self.names.get(name)
                known = type(array) is np.ndarray and name not in self.stored
                return known and not isinstance(axis, ast.Name) and self._is_number(axis)
        return self._is_number(node)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is an int that grows or falls with the index, or doesn't change."""
        match node:
            case ast.Constant(value=value):
                return type(value) is int
            case ast.Name(id=name):
                if name == self.index:
                    return True
                return name not in self.stored and type(self.names.get(name)) is int
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                own = [n.id == self.index for n in ast.walk(node) if isinstance(n, ast.Name)]
                return sum(own) <= 1 and self._is_number(left) and self._is_number(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._is_number(operand)
        return False


class _Holds:
    """Whether all indices are within the bounds, and all other axes alike."""

    def __init__(self, along: Sequence[_Along], namespace: Mapping[str, Any]) -> None:
        self.along = along
        self.namespace = namespace
        codes = [code for a in along for code in (*a.iterations, *(place for _, place in a.places))]
        names = {name for code in codes for name in code.co_names}
        self.names = names - {a.index for a in along}

    def __call__(self, values: Mapping[str, Any]) -> bool:
        every: Mapping[str, Any] = ChainMap(dict(values), self.namespace)  # type: ignore[arg-type]
        names = {n: every[n] for n in self.names if n in every}
        first = every[self.along[0].places[0][0]].shape[:-1]
        for along in self.along:
            try:
                iterations = range(*(eval(code, {}, names) for code in along.iterations))
            except (ValueError, IndexError):  # A step of 0, no such axis: Python says so.
                return False
            ends = (iterations[0], iterations[-1]) if iterations else ()
            for name, code in along.places:
                shape = every[name].shape
                indices = [eval(code, {}, {**names, along.index: iteration}) for iteration in ends]
                if shape[:-1] != first or not all(0 <= index < shape[-1] for index in indices):
                    return False
        return True


def _written(nest: ast.FunctionDef, loops: Sequence[ast.For], found: _Checking) -> ast.FunctionDef:
    axes = [f"0c{axis}" for axis in range(found.dimensions - 1)]
    shape = ast.Attribute(name_of(found.along[0].places[0][0]), "shape", ast.Load())
    sizes = [ast.Subscript(shape, ast.Constant(axis), ast.Load()) for axis in range(len(axes))]
    inner: list[ast.stmt] = _through(loops, axes, found.stored, 1)
    *outer, last = zip(axes, sizes, strict=True)
    if outer:  # Where there is one loop only, its iterations run in threads.
        inner = _interleaved(*last, _through(loops, axes, found.stored, _LANES), inner)
    else:
        outer = [last]
    for name, size in reversed(outer):
        iterations = called(range, copy.deepcopy(size))
        inner = [ast.For(name_of(name, ast.Store()), iterations, inner, [])]
    made = copy.copy(nest)
    made.body = [*inner, copy.deepcopy(nest.body[-1])]
    locate([made], loops[0])
    return ast.fix_missing_locations(made)


def _interleaved(
    name: str, size: ast.expr, several: list[ast.stmt], one: list[ast.stmt]
) -> list[ast.stmt]:
    """Return loops over columns: several at a time, then one by one those that are left."""

    def size_less(number: ast.expr) -> ast.expr:
        return ast.BinOp(copy.deepcopy(size), ast.Sub(), number)

    rest = ast.BinOp(copy.deepcopy(size), ast.Mod(), ast.Constant(_LANES))
    most = size_less(ast.Constant(_LANES - 1))
    first = called(range, ast.Constant(0), most, ast.Constant(_LANES))
    last = called(range, size_less(rest), copy.deepcopy(size))
    return [
        ast.For(name_of(name, ast.Store()), iterations, body, [])
        for iterations, body in ((first, several), (last, one))
    ]


def _through(
    loops: Sequence[ast.For], axes: list[str], stored: set[str], lanes: int
) -> list[ast.stmt]:
    """Return the loops for some columns next to each other, one statement after the other.

    Divisions of one column wait for each other, those of several don't.
    """
    made: list[ast.stmt] = []
    for loop in loops:
        assert isinstance(loop.target, ast.Name)
        assert isinstance(loop.iter, ast.Call)
        own = stored - {loop.target.id}
        body = [
            _Elements(axes, lane, own).visit(copy.deepcopy(statement))
            for statement in loop.body
            for lane in range(lanes)
        ]
        iterations = called(range, *copy.deepcopy(loop.iter.args))
        made.append(
            ast.copy_location(ast.For(copy.deepcopy(loop.target), iterations, body, []), loop)
        )
    return made


class _Elements(ast.NodeTransformer):
    """Write a statement for one of the columns next to each other."""

    def __init__(self, axes: list[str], lane: int, stored: set[str]) -> None:
        self.axes = axes
        self.lane = lane
        self.stored = stored

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        along = _along(node)
        assert along is not None
        places: list[ast.expr] = [name_of(axis) for axis in self.axes]
        if self.lane:
            places[-1] = ast.BinOp(places[-1], ast.Add(), ast.Constant(self.lane))
        index = [called(Intrinsic.KNOWN, place) for place in (*places, along[2])]
        made = ast.Subscript(node.value, ast.Tuple([*index], ast.Load()), node.ctx)
        return ast.copy_location(made, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self.lane and node.id in self.stored:
            return ast.copy_location(name_of(f"0l{self.lane}_{node.id}", node.ctx), node)
        return node
