"""Intrinsics: names, functions and facts on indices that only rewritten loop nests can have."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable
from typing import Any, TypeGuard


class Intrinsic(enum.Enum):
    """A function that only code written here can call."""

    #: The bound of a slice: ``INDEX(number)`` is an int.
    INDEX = enum.auto()
    #: ``PLACE(array, axis, index)`` is the index, counted from the start; out of bounds it raises.
    PLACE = enum.auto()
    #: Index that is within the bounds: ``KNOWN(place)``.
    KNOWN = enum.auto()
    #: ``REQUIRE(condition)`` leaves what follows to Python where the condition doesn't hold.
    REQUIRE = enum.auto()
    #: ``EXPECT(condition)``, before anything is written: the nest can't be run where it's wrong.
    EXPECT = enum.auto()
    #: ``FLOAT(number)`` is a float64; where it would be anything else there, the nest isn't fit.
    FLOAT = enum.auto()


_TEMPORARY = "0s"


def temporary(number: int) -> str:
    """Return the name of a number that is only read after it is assigned."""
    return f"{_TEMPORARY}{number}"


def is_temporary(name: str) -> bool:
    """Whether a name is one of these."""
    return name.startswith(_TEMPORARY) and name[len(_TEMPORARY) :].isdigit()


def is_intrinsic(node: ast.expr, what: Intrinsic) -> TypeGuard[ast.Call]:
    """Whether an expression is a call of an intrinsic."""
    function: Any = getattr(node, "func", None)
    value: Any = getattr(function, "value", None)
    return isinstance(function, ast.Constant) and value is what


def called(function: Any, *arguments: ast.expr) -> ast.Call:
    """Return a call of a function, or of an intrinsic, whatever names mean to the user."""
    return ast.Call(ast.Constant(function), [*arguments], [])


def locate(written: Iterable[ast.AST], place: ast.AST) -> None:
    """Give what was written here, and has no place in the user's file, one."""
    for node in written:
        for part in ast.walk(node):
            if isinstance(part, ast.stmt | ast.expr) and not hasattr(part, "lineno"):
                ast.copy_location(part, place)


def name_of(identifier: str, context: ast.expr_context | None = None) -> ast.Name:
    """Return a name."""
    return ast.Name(identifier, context or ast.Load())
