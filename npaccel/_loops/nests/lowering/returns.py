"""Returns of a function of a nest: types and code of its results."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npaccel._loops.nests.lowering.expression_writer import Static
from npaccel._loops.nests.lowering.expressions import Expressions
from npaccel._loops.nests.lowering.types import (
    Array,
    Character,
    DType,
    NotSupportedError,
    Np,
    One,
    Other,
    Py,
    Types,
    Value,
    cast,
    join,
    storage_name,
)


class Returns(Expressions):
    """Code of what a function returns.

    Attributes
    ----------
    returned : list of tuple of types, or None
        The types of each part of what the function returns.
    single : bool or None
        Whether it returns one value, not a tuple.
    is_nest : bool
        Whether it is the nest itself, not a function that it calls.
    """

    returned: list[Types] | None = None
    single: bool | None = None
    is_nest = False

    def _return(self, node: ast.Return) -> None:
        if self.is_nest:
            raise NotSupportedError("`return` in the loop", node.lineno)
        self.leave(node.value, node.lineno)

    def leave(self, node: ast.expr | None, line: int) -> None:
        """Write that a user's function returns an expression, or None."""
        result = Static(None) if node is None else self.expression(node)
        if isinstance(result, Static) and result.value is None:
            result = Value((One(Other("None", is_none=True), ""),))
        if isinstance(result, Static):
            raise NotSupportedError("a return of what isn't a number", line)
        values = [result] if isinstance(result, Value) else list(result.items)
        single = isinstance(result, Value)
        if self.returned is not None and self.single is not None and single != self.single:
            raise NotSupportedError("returns of one value and of several", line)
        self.single = single
        for value in values:
            if not isinstance(value, Value) or any(isinstance(k, Array) for k in value.types):
                raise NotSupportedError("a return of an array or a nested tuple", line)
        self.give_back([value for value in values if isinstance(value, Value)], line)
        self.env = None

    def give_back(self, values: Sequence[Value], line: int) -> None:
        """Write the return of values, and note their types."""
        if self.returned is None:
            self.returned = [value.types for value in values]
        if len(values) != len(self.returned):
            raise NotSupportedError("returns of tuples of different lengths", line)
        self.returned = [
            join(known, value.types) for known, value in zip(self.returned, values, strict=True)
        ]
        codes: list[str] = []
        for kinds, value in zip(self.returned, values, strict=True):
            given = {storage_name("", one.type): one.code for one in value.ones}
            codes += [given.get(name, zero) for name, zero in layout(kinds).items()]
            codes.append(value.tag or str(self.program.tag(value.ones[0].type)))
        self.put(f"return ({', '.join(codes or ['0'])},)")

    def failed(self) -> str:
        """Return the line that makes what `FAILED` returns."""
        zeros: list[str] = []
        for kinds in self.returned or []:
            zeros += [*layout(kinds).values(), "0"]
        return f"_z = ({', '.join(zeros)},)" if zeros else "_z = (0,)"


def zero(dtype: DType) -> str:
    """Return code for a zero of a dtype."""
    plain = {"int64": "0", "float64": "0.0", "complex128": "0j", "bool": "False"}
    return plain.get(dtype.name) or cast("0", dtype)


def layout(kinds: Types) -> dict[str, str]:
    """Return where the numbers of a returned value stand, and zeros for them."""
    return {
        storage_name("", kind): zero(kind.storage)
        for kind in kinds
        if isinstance(kind, Py | Np | Character)
    }
