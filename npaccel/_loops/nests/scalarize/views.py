"""Views of arrays in a loop nest, and expressions of them."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Sequence

from npaccel._loops.nests.intrinsics import Intrinsic, called, name_of

#: Gives Python for the element at a place: an index for each axis.
Element = Callable[[Sequence[ast.expr]], ast.expr]


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a view.

    Parameters
    ----------
    start, length : str
        Names of numbers; no start for 0.
    source : View, optional
        Indices into the array: ``x[i[a:b]]``.
    """

    start: str
    length: str
    source: View | None = None

    def index(self, place: ast.expr) -> ast.expr:
        """Return Python for the index of a place."""
        if self.source is not None:
            return self.source.element([place])
        start = name_of(self.start)
        return called(Intrinsic.KNOWN, ast.BinOp(start, ast.Add(), place) if self.start else place)


@dataclasses.dataclass(frozen=True)
class View:
    """Part of an array.

    Parameters
    ----------
    array : str
        The array's name.
    parts : tuple
        For each axis of the array an index, or an axis of the view; None for a new axis.
    text : str
        Where views of one statement have the same text, they are the same elements.
    fixed : tuple
        The index for each axis of the array where it is a constant.
    """

    array: str
    parts: tuple[ast.expr | Axis | None, ...]
    text: str = ""
    fixed: tuple[int | None, ...] = ()

    def is_apart_or_same(self, other: View) -> bool:
        """Whether two views of an array are the same elements, or surely none of them are."""
        if self.text == other.text:
            return True
        pairs = zip(self.fixed, other.fixed, strict=False)
        return any(
            a is not None and b is not None and a != b and (a < 0) == (b < 0) for a, b in pairs
        )

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names of its axes' lengths; empty for a new axis."""
        axes = [part for part in self.parts if part is None or isinstance(part, Axis)]
        return tuple(axis.length if axis else "" for axis in axes)

    def element(
        self, places: Sequence[ast.expr], context: ast.expr_context | None = None
    ) -> ast.Subscript:
        """Return Python for the element at a place."""
        indices: list[ast.expr] = []
        left = iter(places)
        for part in self.parts:
            if isinstance(part, ast.expr):
                indices.append(copy.deepcopy(part))
            elif part is None:
                next(left)
            else:
                indices.append(part.index(copy.deepcopy(next(left))))
        index = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
        return ast.Subscript(name_of(self.array), index, context or ast.Load())


@dataclasses.dataclass(frozen=True)
class Expression:
    """Array that is computed element by element.

    Parameters
    ----------
    lengths : tuple of str
        The names of its axes' lengths; empty where it has one element, which is broadcast.
    at : callable
        Gives Python for the element at a place.
    views : tuple of View
        What it reads.
    """

    lengths: tuple[str, ...]
    at: Element
    views: tuple[View, ...] = ()

    def broadcast(self, places: Sequence[ast.expr]) -> ast.expr:
        """Return the element at a place of an array with as many axes or more."""
        return self.at(places[len(places) - len(self.lengths) :])


def of_view(view: View) -> Expression:
    """Return a view as an expression."""
    return Expression(view.lengths, view.element, (view,))
