"""Statements that the rewriting of array code in a loop nest writes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, called, name_of, temporary
from npaccel._loops.nests.lowering.types import NotSupportedError
from npaccel._loops.nests.scalarize.array_variables import unfit
from npaccel._loops.nests.scalarize.views import Element, View

#: Places that are done in one iteration of an unrolled loop.
ACCUMULATORS = 4
#: Number of elements up to which they are added up one by one, where it isn't always the same.
_FEW = 32


class Writing:
    """Code that has been written.

    Attributes
    ----------
    preceding : list of ast.stmt
        What the statement that is being written needs done before.
    line : int
        Of the user's file.
    sizes : set of str
        The lengths that are known before the loop, and don't change.
    """

    def __init__(self, line: int) -> None:
        self.line = line
        self.count = 0
        self.preceding: list[ast.stmt] = []
        self.sizes: set[str] = set()

    def unfit(self, what: str) -> NotSupportedError:
        """Return the error for what isn't taken, at the line that is being written."""
        return unfit(what, self.line)

    def new(self) -> str:
        """Return a name for a number."""
        self.count += 1
        return temporary(self.count)

    def total(self, lengths: Sequence[str], element: Element) -> ast.expr:
        """Write the sum of elements, given what writes the one at a place."""
        if len(lengths) > 1:
            whole = self.new()
            self.let(whole, ast.Constant(np.float64(0.0)))

            def add_row(places: list[ast.expr]) -> None:
                row = self.total(lengths[-1:], lambda last: element([*places, *last]))
                self.preceding.append(_add(whole, row))

            self.over(lengths[:-1], add_row)
            return name_of(whole)
        sums = [self.new() for _ in range(ACCUMULATORS)]
        for name in sums:
            self.let(name, ast.Constant(np.float64(0.0)))
        self._add_up(lengths[0], sums, element)
        halves = [
            ast.BinOp(name_of(a), ast.Add(), name_of(b))
            for a, b in zip(sums[::2], sums[1::2], strict=True)
        ]
        total = self.new()
        self.let(total, ast.BinOp(halves[0], ast.Add(), halves[1]))
        return name_of(total)

    def _add_up(self, length: str, sums: Sequence[str], element: Element) -> None:
        """Write the addition of elements to several sums; of a few, to the first of them.

        Where lengths differ from one iteration of the nest to the next, the processor guesses the
        end of one loop wrong, not of two.
        """
        if length in self.sizes:
            self.unrolled(length, lambda i, at: [_add(sums[i], element([at]))])
            return
        outer, self.preceding = self.preceding, []
        place = self.new()
        self.loop(place, [name_of(length)], [_add(sums[0], element([name_of(place)]))])
        few, self.preceding = self.preceding, []
        self.unrolled(length, lambda i, at: [_add(sums[i], element([at]))])
        many, self.preceding = self.preceding, outer
        test = ast.Compare(name_of(length), [ast.Lt()], [ast.Constant(_FEW)])
        self.preceding.append(ast.If(test, few, many))

    def unrolled(self, length: str, step: Callable[[int, ast.expr], list[ast.stmt]]) -> None:
        """Write a loop that does several places per iteration, which don't wait for each other.

        Parameters
        ----------
        length : str
        step : callable
            Writes what is done at a place, which is given after its number within the iteration.
        """

        def write(places: list[ast.expr]) -> None:
            for i, at in enumerate(places):
                self.preceding += step(i, at)

        self.in_groups(length, write)

    def in_groups(self, length: str, write: Callable[[list[ast.expr]], None]) -> None:
        """Write a loop that does several places per iteration, and one for those that are left.

        Parameters
        ----------
        length : str
        write : callable
            Writes what is done at some places.
        """
        whole, place = self.new(), self.new()
        parts, size = ast.Constant(ACCUMULATORS), name_of(length)
        self.let(whole, ast.BinOp(size, ast.FloorDiv(), parts))
        first = ast.BinOp(name_of(place), ast.Mult(), parts)
        places: list[ast.expr] = [
            ast.BinOp(first, ast.Add(), ast.Constant(i)) if i else first
            for i in range(ACCUMULATORS)
        ]
        rest = ast.BinOp(name_of(whole), ast.Mult(), parts)
        loops: list[tuple[list[ast.expr], list[ast.expr]]] = [
            ([name_of(whole)], places),
            ([rest, size], [name_of(place)]),
        ]
        for bounds, group in loops:
            outer, self.preceding = self.preceding, []
            write(group)
            body, self.preceding = self.preceding, outer
            self.loop(place, bounds, body)

    def loop(self, place: str, bounds: list[ast.expr], body: list[ast.stmt]) -> None:
        """Write a loop over places."""
        call = called(range, *bounds)
        self.preceding.append(ast.For(name_of(place, ast.Store()), call, body, []))

    def over(self, lengths: Sequence[str], write: Callable[[list[ast.expr]], None]) -> None:
        """Write loops over the places of some axes, around what writes what is done at each."""
        places = [self.new() for _ in lengths]
        outer, self.preceding = self.preceding, []
        write([name_of(place) for place in places])
        body, self.preceding = self.preceding, outer
        for place, length in reversed(list(zip(places, lengths, strict=True))):
            call = called(range, name_of(length) if length else ast.Constant(1))
            body = [ast.For(name_of(place, ast.Store()), call, body, [])]
        self.preceding += body

    def put(self, view: View, places: list[ast.expr], value: ast.expr) -> None:
        """Write an assignment to an element."""
        self.preceding.append(ast.Assign([view.element(places, ast.Store())], value))

    def let(self, target: str, value: ast.expr) -> None:
        """Write an assignment to a number."""
        self.preceding.append(ast.Assign([name_of(target, ast.Store())], value))

    def require(self, condition: ast.expr) -> None:
        """Leave what follows to Python where a condition doesn't hold."""
        self.preceding.append(ast.Expr(called(Intrinsic.REQUIRE, condition)))

    def replace_if(self, name: str, op: ast.cmpop, limit: ast.expr, new: ast.expr) -> None:
        """Write that a number is replaced where it is below or above a limit."""
        test = ast.Compare(name_of(name), [op], [limit])
        self.preceding.append(ast.If(test, [ast.Assign([name_of(name, ast.Store())], new)], []))


def _add(total: str, value: ast.expr) -> ast.stmt:
    return ast.AugAssign(name_of(total, ast.Store()), ast.Add(), value)
