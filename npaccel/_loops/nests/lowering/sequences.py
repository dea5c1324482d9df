"""Lists and strings in a loop nest: their items, and what changes a list.

A list of numbers of one type is memory that the code is given, with room to grow, and its length.
What the code has made of it becomes the list's content when the code has ended, or failed. A string
is the numbers of its characters.
"""

from __future__ import annotations

import ast

from npaccel._loops.nests.lowering.code_builder import Code, shortened
from npaccel._loops.nests.lowering.types import (
    CHARACTER,
    MAX,
    PY_BOOL,
    Character,
    List,
    NotSupportedError,
    Np,
    One,
    Other,
    Py,
    Text,
    Type,
    Value,
    integer,
    key_of,
)

#: Methods that change a list, and how.
_METHODS = ("append", "pop", "clear")


def sequence(value: Value) -> List | Text | None:
    """Return the type of a value that is a list or a string; None if it may be something else."""
    kind = value.ones[0].type
    return kind if isinstance(kind, List | Text) and len(value.ones) == 1 else None


def is_sequence(value: object) -> bool:
    """Whether a value is a list or a string."""
    return isinstance(value, Value) and sequence(value) is not None


def length(code: Code, value: Value) -> Value:
    """Write the number of items."""
    kind = value.ones[0].type
    text = value.ones[0].code
    if isinstance(kind, Text):
        return Value((One(integer(0, kind.limit), code.pure(f"{text}.shape[0]")),))
    return Value((One(integer(0, MAX), code.temporary(f"{text}_length[0]")),))


def item(code: Code, value: Value, index: One) -> Value:
    """Write the reading of an item that is there.

    Parameters
    ----------
    code : Code
    value : Value
    index : One
    """
    kind, text = value.ones[0].type, value.ones[0].code
    if isinstance(kind, Text):
        return Value((One(CHARACTER, code.temporary(f"{text}[_uint64({index.code})]")),))
    assert isinstance(kind, List)
    found = code.program.items.get(kind.origin)
    assert found is not None
    return Value((One(found, code.temporary(f"{text}_items[_uint64({index.code})]")),))


def load(code: Code, value: Value, index: Value, line: int) -> Value:
    """Write ``x[i]`` of a list or string."""
    return item(code, value, _checked(code, value, index, line, "read"))


def store(code: Code, value: Value, index: Value, new: Value, line: int) -> None:
    """Write ``x[i] = new`` of a list."""
    kind, text = value.ones[0].type, value.ones[0].code
    if isinstance(kind, Text):
        raise NotSupportedError("a write to a string", line)
    assert isinstance(kind, List)
    found = _as_item(code, kind, new, line)
    place = _checked(code, value, index, line, "write")
    code.program.changed |= {kind.origin}
    code.put(f"{text}_items[_uint64({place.code})] = {found.code}")


def call(code: Code, value: Value, method: str, arguments: list[Value], line: int) -> Value:
    """Write a call of a list's method.

    Raises
    ------
    NotSupportedError
        If it isn't one that changes the end of the list.
    """
    kind, text = value.ones[0].type, value.ones[0].code
    if not isinstance(kind, List) or method not in _METHODS:
        raise NotSupportedError(f"the method `{method}` of a {kind}", line)
    if len(arguments) != (method == "append"):
        raise NotSupportedError(f"these arguments of `{method}`", line)
    program = code.program
    if method == "append":
        found = _as_item(code, kind, arguments[0], line)
        size = code.temporary(f"{text}_length[0]")
        program.bails = True
        code.fail_if(f"{size} >= {text}_items.shape[0]", line, "grow", kind.origin)
        code.put(f"{text}_items[_uint64({size})] = {found.code}")
        code.put(f"{text}_length[0] = {size} + 1")
        program.grown |= {kind.origin}
        return _nothing()
    program.changed |= {kind.origin}
    if method == "clear":
        code.put(f"{text}_length[0] = 0")
        return _nothing()
    size = code.temporary(f"{text}_length[0]")
    code.fail_if(f"{size} <= 0", line, "empty list")
    if program.items.get(kind.origin) is None:
        code.fail(line, "empty list")
    last = One(integer(0, MAX), code.temporary(f"{size} - 1"))
    result = item(code, value, last)
    code.put(f"{text}_length[0] = {last.code}")
    return result


def truth(code: Code, value: Value) -> Value:
    """Write whether there are items."""
    return Value((One(PY_BOOL, f"({length(code, value).ones[0].code} != 0)"),))


def _nothing() -> Value:
    """Return None."""
    return Value((One(Other("None", is_none=True), ""),))


def _as_item(code: Code, kind: List, new: Value, line: int) -> One:
    """Return a number as an item of a list, whose items are of one type."""
    if len(new.ones) != 1 or not isinstance(new.ones[0].type, Py | Np):
        raise NotSupportedError("items of a list that aren't numbers of one type", line)
    one = new.ones[0]
    assert isinstance(one.type, Py | Np)
    wanted = code.program.items.setdefault(kind.origin, _plain(one.type))
    if key_of(wanted) != key_of(one.type):
        raise NotSupportedError(f"a list of {wanted} and of {one.type}", line)
    return one


def _plain(kind: Py | Np) -> Py | Np:
    """Return a type without bounds: those of one item aren't those of another."""
    return Py(kind.kind) if isinstance(kind, Py) else kind


def _checked(code: Code, value: Value, index: Value, line: int, how: str) -> One:
    """Write the check of an index, as Python has it."""
    if len(index.ones) != 1:
        raise NotSupportedError("an index of several types", line)
    one = index.ones[0]
    kind: Type = one.type
    if not isinstance(kind, Py | Np) or kind.storage.kind != "i":
        raise NotSupportedError(f"a {kind} as an index of a list or string", line)
    owner = value.ones[0].type
    size = length(code, value).ones[0].code
    detail = ("string", how) if isinstance(owner, Text) else ("list", how)
    if isinstance(owner, List) and code.program.items.get(owner.origin) is None:
        code.fail(line, "item", detail)  # Nothing was ever put into it.
    found = code.temporary(f"_at(_int64({one.code}), {size})")
    code.check(f"{found} < 0", line, "item", detail)
    return One(integer(0, MAX), found)


# -- Characters ----------------------------------------------------------------


def compare(code: Code, left: object, right: object, op: ast.cmpop, line: int) -> Value | None:
    """Write a comparison in which there is a character; None if there is none.

    Parameters
    ----------
    code : Code
    left, right : Value or str or object
        A string of the program is itself.
    op : ast.cmpop
    line : int
    """
    sides = [_character(side) for side in (left, right)]
    if not any(isinstance(side, One) for side in sides):
        return None
    symbol = _SYMBOLS.get(type(op))
    if symbol is None or None in sides:
        raise NotSupportedError("a comparison of a character and something else", line)
    codes: list[str] = []
    for side in sides:
        if isinstance(side, One):
            codes.append(side.code)
        else:
            assert isinstance(side, str)
            if len(side) != 1:
                if symbol not in ("==", "!="):
                    raise NotSupportedError("an order of strings", line)
                return Value((One(PY_BOOL, str(symbol == "!=")),))
            codes.append(str(ord(side)))
    return Value((One(PY_BOOL, code.pure(f"_uint32({codes[0]}) {symbol} _uint32({codes[1]})")),))


def is_in(code: Code, left: Value, text: str, line: int) -> Value:
    """Write ``c in "text"``."""
    one = _character(left)
    if not isinstance(one, One):
        raise NotSupportedError("`in` a string of what isn't a character", line)
    tests = " or ".join(f"{one.code} == {ord(c)}" for c in dict.fromkeys(text)) or "False"
    return Value((One(PY_BOOL, code.pure(f"({tests})")),))


def number_of(code: Code, value: object, node: ast.expr) -> Value:
    """Write ``ord(c)``."""
    one = _character(value)
    if not isinstance(one, One):
        raise NotSupportedError(f"`ord` of `{shortened(node)}`", node.lineno)
    return Value((One(integer(0, 0x10FFFF), code.pure(f"_int64({one.code})")),))


_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def _character(side: object) -> One | str | None:
    if isinstance(side, str):
        return side
    if isinstance(side, Value) and len(side.ones) == 1:
        (one,) = side.ones
        return one if isinstance(one.type, Character) else None
    return None


__all__ = [
    "call",
    "compare",
    "is_in",
    "is_sequence",
    "item",
    "length",
    "load",
    "number_of",
    "sequence",
    "store",
    "truth",
]
