"""Starts and lengths of slices of a loop nest's arrays."""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, is_intrinsic, name_of
from npaccel._loops.nests.lowering.types import FLOAT64
from npaccel._loops.nests.scalarize.builder import Writing
from npaccel._loops.nests.scalarize.ranks import Ranks, is_full, parts_of
from npaccel._loops.nests.scalarize.result import SMALL, SMALL_IF_CHANGING, ArrayVariable, Bound
from npaccel._loops.nests.scalarize.views import Axis, Expression, View

_SIZE = "0size_{}_{}"


class Bounds(Writing, abc.ABC):
    """The parts of arrays that statements name; a subclass says what expressions are.

    Parameters
    ----------
    arrays : mapping
        The parameters that are arrays and never assigned to.
    ranks : Ranks
    line : int

    Attributes
    ----------
    names : mapping
        The values of names that aren't assigned to.
    variables : dict
        The names that are assigned arrays.
    buffers : dict
        Memory that is needed, and how long its axes are at most.
    bounds : dict
        What each length is at most.
    begin : list of ast.stmt
        What is done before the loop.
    changing : frozenset of str
        Names that are assigned in the nest.
    target : (str, int)
        The array that the expression is written to, and the dimensions of the part.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray[Any, Any]], ranks: Ranks, line: int) -> None:
        super().__init__(line)
        self.arrays = arrays
        self.ranks = ranks
        self.names = ranks.names
        self.variables: dict[str, ArrayVariable] = {}
        self.buffers: dict[str, list[Bound]] = {}
        self.bounds: dict[str, Bound] = {}
        self.changing: frozenset[str] = frozenset()
        self.begin: list[ast.stmt] = []
        self.target: tuple[str, int] = "", 0
        self._fixed: dict[Any, str] = {}
        self._less_than: dict[str, tuple[str, int]] = {}
        self._expected: set[tuple[str, str]] = set()

    @abc.abstractmethod
    def number(self, node: ast.expr) -> ast.expr:
        """Return an expression that gives a number, with what is done to arrays written before."""

    @abc.abstractmethod
    def expression(self, node: ast.expr) -> Expression:
        """Return what gives the elements of an expression."""

    def size(self, name: str, axis: int) -> str:
        """Write the length of a parameter's axis, before the loop."""
        size = _SIZE.format(name, axis)
        if size not in self.sizes:
            shape = ast.Attribute(name_of(name), "shape", ast.Load())
            length = ast.Subscript(shape, ast.Constant(axis), ast.Load())
            self.begin.append(ast.Assign([name_of(size, ast.Store())], length))
            self.bounds[size] = frozenset({(name, axis)})
            self.sizes.add(size)
        return size

    def may_be_same(self, one: str, other: str) -> bool:
        """Whether two lengths that don't change can be equal."""
        first = self._less_than.get(one, (one, 0))
        second = self._less_than.get(other, (other, 0))
        return first[0] != second[0] or first[1] == second[1]

    def require_same(self, one: str, other: str) -> None:
        """Leave what follows to Python where two lengths differ."""
        if one == other:
            return
        test = ast.Compare(name_of(one), [ast.Eq()], [name_of(other)])
        if not {one, other} <= self.sizes:
            self.require(test)
        elif (one, other) not in self._expected:
            self._expected |= {(one, other), (other, one)}
            self.begin.append(ast.Expr(called(Intrinsic.EXPECT, test)))

    def require_length(self, length: str, wanted: int) -> None:
        """Leave what follows to Python where a length is another one than is wanted."""
        test = ast.Compare(name_of(length), [ast.Eq()], [ast.Constant(wanted)])
        if length in self.sizes:
            self.begin.append(ast.Expr(called(Intrinsic.EXPECT, test)))
        else:
            self.require(test)

    def require_shape(self, lengths: Sequence[str], others: Sequence[str]) -> None:
        """Leave what follows to Python where an array isn't of the shape of another."""
        for one, other in zip(lengths[len(lengths) - len(others) :], others, strict=True):
            if one and other:
                self.require_same(one, other)

    def is_float64(self, array: str) -> bool:
        """Whether an array has elements of the one dtype that is taken."""
        return array in self.buffers or self.arrays[array].dtype == FLOAT64

    def is_overwritten(self, view: View) -> bool:
        """Whether a view, of fewer dimensions, is of the array that is written to."""
        array, rank = self.target
        return view.array == array and 0 < len(view.lengths) < rank and "" not in view.lengths

    def root(self, node: ast.expr) -> str:
        """Return the name that subscripts are of; empty if it is no name."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    def hoisted(self, node: ast.expr) -> ast.expr:
        """Compute a number before the statement, once."""
        if isinstance(node, ast.Name | ast.Constant) and self.root(node) not in self.variables:
            return node
        name = self.new()
        self.let(name, self.number(node))
        return name_of(name)

    def memory(self, lengths: Sequence[str]) -> View:
        """Return a view of new memory."""
        name = self.new()
        self.buffers[name] = [self.bounds[length] for length in lengths]
        return View(name, tuple(Axis("", length) for length in lengths))

    def view(self, node: ast.expr, *, of_any_size: bool = False) -> View | None:
        """Return the part of an array that an expression names; None if it doesn't name one."""
        if isinstance(node, ast.Name):
            return self._view(node.id, [], node.id, of_any_size)
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        return self._view(node.value.id, parts_of(node), ast.dump(_as_read(node)), of_any_size)

    def _view(self, name: str, parts: list[ast.expr], text: str, of_any_size: bool) -> View | None:
        if name in self.variables:
            array, rank = self.variables[name].memory, self.variables[name].rank
            sizes = [*self.variables[name].lengths]
        elif name in self.arrays:
            array, rank = name, self.arrays[name].ndim
            sizes = [self.size(name, axis) for axis in range(rank)]
        else:
            return None
        if len(parts) == 1 == rank and self.ranks.of(parts[0]) == 1:
            source = self.view(parts[0])
            if source is None or not self._is_whole_numbers(source.array):
                return None
            return View(array, (Axis("", source.lengths[0], source),))
        parts = _every_part(parts, rank)
        given = [part for part in parts if not _is_new(part)]
        if len(given) != rank:
            raise self.unfit("these indices")
        if not of_any_size:
            self._check_small(name, given)
        found: list[ast.expr | Axis | None] = []
        axis = 0
        fixed = tuple(None if isinstance(p, ast.Slice) else _whole_number(p) for p in given)
        for part in parts:
            if _is_new(part):
                found.append(None)
                continue
            if isinstance(part, ast.Slice):
                found.append(self._axis(part, sizes[axis]))
            elif self.ranks.of(part) or isinstance(part, ast.List):
                return None
            else:
                found.append(self.place(name, axis, part))
            axis += 1
        return View(array, tuple(found), text, fixed)

    def _is_whole_numbers(self, array: str) -> bool:
        return array in self.arrays and self.arrays[array].dtype.kind in "iu"

    def _check_small(self, name: str, parts: Sequence[ast.expr]) -> None:
        """Check that there are few elements; of pieces, as of a sparse matrix, that isn't known."""
        if name in self.variables:
            return  # All memory is looked at together.
        shape, size, limit = self.arrays[name].shape, 1.0, SMALL
        for axis, part in enumerate(parts):
            if not isinstance(part, ast.Slice):
                continue
            if isinstance(part.lower, ast.Name) and isinstance(part.upper, ast.Name):
                continue
            size *= shape[axis]
            if any(isinstance(n, ast.Name) and n.id in self.changing for n in ast.walk(part)):
                limit = SMALL_IF_CHANGING
        if size > limit:
            raise self.unfit("a large array")

    def place(self, name: str, axis: int, node: ast.expr) -> ast.expr:
        """Look once whether an index is within the bounds."""
        if is_intrinsic(node, Intrinsic.KNOWN):
            return node
        place = self.new()
        index = self.number(node)
        if name not in self.variables:
            self.let(place, called(Intrinsic.PLACE, name_of(name), ast.Constant(axis), index))
            return called(Intrinsic.KNOWN, name_of(place))
        length = self.variables[name].lengths[axis]
        self.let(place, called(Intrinsic.INDEX, index))
        again = ast.BinOp(name_of(place), ast.Add(), name_of(length))
        self.replace_if(place, ast.Lt(), ast.Constant(0), again)
        self.require(ast.Compare(name_of(place), [ast.GtE()], [ast.Constant(0)]))
        self.require(ast.Compare(name_of(place), [ast.Lt()], [name_of(length)]))
        return called(Intrinsic.KNOWN, name_of(place))

    def _axis(self, node: ast.Slice, size: str) -> Axis:
        """Write where a slice starts, and how many elements it has."""
        if node.step is not None:
            raise self.unfit("a slice with a step")
        if node.lower is None and node.upper is None:
            return Axis("", size)
        fixed = [_whole_number(bound) for bound in (node.lower, node.upper)]
        if None not in fixed and size in self.sizes:
            return self._fixed_axis(size, fixed[0] or 0, fixed[1] or 0, node)
        start = self._bound(node.lower, size) if node.lower is not None else ""
        stop = self._bound(node.upper, size) if node.upper is not None else size
        return Axis(start, self._between(start, stop, size))

    def _between(self, start: str, stop: str, size: str) -> str:
        """Write the length of a slice between two places."""
        if not start:
            return stop
        length = self.new()
        self.let(length, ast.BinOp(name_of(stop), ast.Sub(), name_of(start)))
        self.replace_if(length, ast.Lt(), ast.Constant(0), ast.Constant(0))
        self.bounds[length] = self.bounds[size]
        return length

    def _fixed_axis(self, size: str, lower: int, upper: int, node: ast.Slice) -> Axis:
        """Write a slice between constants of an axis whose length doesn't change, once."""
        is_open = node.upper is None
        start = ""
        if lower:
            start = self._once((size, lower), lambda: self._bound(ast.Constant(lower), size))
        if lower >= 0 and (is_open or upper < 0):  # All of them but a number.
            less = lower - upper
            length = self._once((size, "less", less), lambda: self._less(size, less))
            return Axis(start, length)
        stop = size
        if not is_open:
            stop = self._once((size, upper), lambda: self._bound(ast.Constant(upper), size))
        if not start:
            return Axis("", stop)
        return Axis(start, self._once((start, stop), lambda: self._between(start, stop, size)))

    def _less(self, size: str, less: int) -> str:
        name = self.new()
        self.let(name, ast.BinOp(name_of(size), ast.Sub(), ast.Constant(less)))
        self.replace_if(name, ast.Lt(), ast.Constant(0), ast.Constant(0))
        self.bounds[name] = self.bounds[size]
        base, before = self._less_than.get(size, (size, 0))
        self._less_than[name] = base, before + less
        return name

    def _once(self, key: Any, write: Callable[[], str]) -> str:
        """Write a number at the beginning of the nest, if it isn't there yet."""
        if key not in self._fixed:
            outer, self.preceding = self.preceding, self.begin
            self._fixed[key] = write()
            self.sizes.add(self._fixed[key])
            self.preceding = outer
        return self._fixed[key]

    def _bound(self, node: ast.expr, size: str) -> str:
        name = self.new()
        self.bounds[name] = self.bounds[size]
        known = _whole_number(node)
        if known is not None and known < 0:
            self.let(name, ast.BinOp(name_of(size), ast.Sub(), ast.Constant(-known)))
            self.replace_if(name, ast.Lt(), ast.Constant(0), ast.Constant(0))
            return name
        self.let(name, called(Intrinsic.INDEX, self.number(node)))
        if known is None:
            again = ast.BinOp(name_of(name), ast.Add(), name_of(size))
            self.replace_if(name, ast.Lt(), ast.Constant(0), again)
            self.replace_if(name, ast.Lt(), ast.Constant(0), ast.Constant(0))
        self.replace_if(name, ast.Gt(), name_of(size), name_of(size))
        return name


def _every_part(parts: Sequence[ast.expr], rank: int) -> list[ast.expr]:
    """Return the indices of a subscript with a slice for each axis that isn't named."""
    missing = rank - sum(not _is_new(part) and not is_full(part) for part in parts)
    full: list[ast.expr] = [ast.Slice() for _ in range(missing)]
    for i, part in enumerate(parts):
        if is_full(part):
            return [*parts[:i], *full, *parts[i + 1 :]]
    return [*parts, *full]


def _whole_number(node: ast.expr | None) -> int | None:
    """Return the int that an expression is whatever happens; 0 for none."""
    match node:
        case None:
            return 0
        case ast.Constant(value=value) if type(value) is int:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if type(value) is int:
            return -value
    return None


def _is_new(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is None


def _as_read(node: ast.Subscript) -> ast.Subscript:
    return ast.Subscript(node.value, node.slice, ast.Load())
