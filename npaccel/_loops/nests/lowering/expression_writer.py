"""Base of `expressions.Expressions`, for expressions of whatever kind."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

from npaccel._loops.nests.lowering.code_builder import Code, Program, shortened
from npaccel._loops.nests.lowering.types import (
    Array,
    Items,
    NotSupportedError,
    Np,
    One,
    Other,
    Py,
    Value,
    names,
)

#: One index: a subscript, and the index's number in it.
Index: TypeAlias = "tuple[int, int]"


def index_of(node: ast.Subscript, number: int) -> Index:
    """Return what an index is known by while a nest is written."""
    return id(node), number


@dataclasses.dataclass(frozen=True)
class Static:
    """An object that is known when the nest is compiled: a module, a function, a string."""

    value: Any


Result: TypeAlias = "Value | Items | Static"


class ExpressionWriter(Code):
    """Code of a function, written from nodes; a subclass has a method for each kind of them.

    Parameters
    ----------
    program : Program
    local_names : set of str
    file : str

    Attributes
    ----------
    inside : frozenset of (int, int)
        Indices that were seen to be within the bounds.
    """

    def __init__(self, program: Program, local_names: set[str], file: str = "") -> None:
        super().__init__(program, file)
        self.locals = local_names
        self.inside: frozenset[Index] = frozenset()
        self._results: dict[int, Result] = {}

    def expression(self, node: ast.expr) -> Result:
        """Write an expression and return what it gives."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotSupportedError(f"`{shortened(node)}` isn't scalar code", node.lineno)
        result: Result = method(node)
        self._results[id(node)] = result
        return result

    def result_of(self, node: ast.expr) -> Result | None:
        """Return what an expression gave when it was written last."""
        return self._results.get(id(node))

    def value(self, node: ast.expr) -> Value:
        """Write an expression that isn't a tuple, a module, or the like."""
        result = self.expression(node)
        if isinstance(result, Value):
            return result
        raise NotSupportedError(f"`{shortened(node)}` isn't a number", node.lineno)

    def number(self, node: ast.expr) -> Value:
        """Write an expression whose value is a number."""
        return self.as_number(self.value(node), node)

    def as_number(self, value: Value, node: ast.expr) -> Value:
        """Return a value that is a number, with a way out for where it isn't.

        Raises
        ------
        NotSupportedError
            If it may be an array.
        """
        ones = tuple(one for one in value.ones if isinstance(one.type, Py | Np))
        if len(ones) == len(value.ones):
            return value
        arrays = [one.type for one in value.ones if isinstance(one.type, Array)]
        if arrays:
            text = f"`{shortened(node)}` is an {names(arrays[:1])}, not an element of it"
            raise NotSupportedError(text, node.lineno, is_array_code=True)
        reason = f"`{shortened(node)}` is {names(value.types)}"
        if not ones:
            self.leave_to_python(node.lineno, reason)
        for one in value.ones:
            if isinstance(one.type, Other):
                tag = self.program.tag(one.type)
                self.bail_if(f"{value.tag} == {tag}", node.lineno, reason)
        return Value(ones, value.tag if len(ones) > 1 else "")

    def apply(self, function: Callable[..., One], node: ast.expr, *operands: Value) -> Value:
        """Apply a function that takes the code, a line and single types."""
        return self.combine(lambda *ones: function(self, node.lineno, *ones), *operands)
