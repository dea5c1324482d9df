"""Elements of arrays in a loop nest: their places, reading and writing them.

Each index is compared with the array's size by the code itself, once as an unsigned number:
Numba takes those as they are.
"""

from __future__ import annotations

import ast
import dataclasses

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic, is_intrinsic
from npaccel._loops.nests.lowering import builtins, operators
from npaccel._loops.nests.lowering.code_builder import shortened
from npaccel._loops.nests.lowering.expression_writer import ExpressionWriter, index_of
from npaccel._loops.nests.lowering.types import (
    MAX,
    PY_BOOL,
    Array,
    NotSupportedError,
    Np,
    One,
    Py,
    Value,
    integer,
)

#: An array, and the code of its indices.
Place = tuple[Value, list[str]]


def array(value: Value, node: ast.expr) -> Value:
    """Return a value that is an array."""
    ones = tuple(one for one in value.ones if isinstance(one.type, Array))
    if len(ones) != len(value.ones):
        raise NotSupportedError(f"`{shortened(node)}` isn't always an array", node.lineno)
    return value


def size(code: ExpressionWriter, array: Value, axis: int) -> Value:
    """Return the length of a dimension."""

    def write(one: One) -> One:
        assert isinstance(one.type, Array)
        length = code.pure(f"{one.code}.shape[{axis}]")
        return One(integer(0, one.type.limit), length)

    return code.combine(write, array)


def place(code: ExpressionWriter, node: ast.Subscript) -> Place:
    """Write the checks of subscripts; return the array and the indices.

    ``a[i][j]`` is taken as one place.
    """
    if isinstance(node.value, ast.Subscript):
        owner, found = place(code, node.value)
    else:
        owner, found = array(code.value(node.value), node.value), []
    kind = owner.ones[0].type
    assert isinstance(kind, Array)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    known = [
        is_intrinsic(part, Intrinsic.KNOWN) or index_of(node, number) in code.inside
        for number, part in enumerate(parts)
    ]
    indices = [_index(code, part) for part in parts]
    if len(found) + len(indices) > kind.ndim:
        text = f"{len(found) + len(indices)} indices of an array of {kind.ndim} dimensions"
        raise NotSupportedError(text, node.lineno)
    if not indices and kind.ndim:
        raise NotSupportedError("`[()]` of an array with dimensions", node.lineno)
    checked = [
        index.ones[0].code
        if known[k]
        else _checked(code, owner, len(found) + k, index, k, node.lineno).ones[0].code
        for k, index in enumerate(indices)
    ]
    return owner, found + [code.pure(f"_uint64({index})") for index in checked]


def _index(code: ExpressionWriter, node: ast.expr) -> Value:
    if is_intrinsic(node, Intrinsic.KNOWN):
        node = node.args[0]
    if isinstance(node, ast.Slice):
        raise NotSupportedError("a slice: this is array code", node.lineno, is_array_code=True)
    result = code.expression(node)
    if not isinstance(result, Value):
        text = f"`{shortened(node)}` as an index: this is array code"
        raise NotSupportedError(text, node.lineno, is_array_code=True)
    value = code.as_number(result, node)
    for kind in value.types:
        assert isinstance(kind, Py | Np)
        if kind.storage.kind not in "iu":
            raise NotSupportedError(f"a {kind} as an index", node.lineno)
    return value


def _checked(
    code: ExpressionWriter, array: Value, axis: int, index: Value, shown: int, line: int
) -> Value:
    """Write the check of one index; `shown` is the axis that NumPy's message names."""

    def write(one: One, place: One) -> One:
        kind = place.type
        assert isinstance(kind, Py | Np)
        assert isinstance(one.type, Array)
        length = code.pure(f"{one.code}.shape[{axis}]")
        if kind.storage == np.uint64:
            code.fail_if(f"{place.code} > {MAX}", line, "long index")
        forward = kind.storage.kind == "u" or (isinstance(kind, Py) and kind.low >= 0)
        given = place.code
        if kind.storage != np.int64:
            given = code.pure(f"_int64({given})")
        operands = (One(Py(int), given), One(Py(int), length))
        inside = integer(0, max(one.type.limit - 1, 0))
        if not forward:
            found = code.pure(f"_at({given}, {length})")
            code.check(f"{found} < 0", line, "index", shown, *operands)
            return One(inside, found)
        unsigned = [code.pure(f"_uint64({number})") for number in (given, length)]
        code.check(f"{unsigned[0]} >= {unsigned[1]}", line, "index", shown, *operands)
        return One(inside, given)

    return code.combine(write, array, index)


def checked_place(code: ExpressionWriter, node: ast.Call) -> Value:
    """Write ``PLACE(array, axis, index)``."""
    owner, number, index = node.args
    axis: int = ast.literal_eval(number)
    taken = array(code.value(owner), owner)
    return _checked(code, taken, axis, _index(code, index), axis, node.lineno)


def bound(code: ExpressionWriter, node: ast.Call) -> Value:
    """Write ``INDEX(number)``."""
    value = _index(code, node.args[0])
    as_int = builtins.find(int)
    assert as_int is not None
    return code.apply(as_int, node, value)


def as_float64(code: ExpressionWriter, node: ast.Call) -> Value:
    """Write ``FLOAT(number)``."""
    value = code.number(node.args[0])
    if any(isinstance(k, Py | Np) and k.storage.kind in "bc" for k in value.types):
        text = f"an array of a {value.types[0]}"
        raise NotSupportedError(f"{text}: this is array code", node.lineno, is_array_code=True)
    as_float = builtins.find(np.float64)
    assert as_float is not None
    return code.apply(as_float, node, value)


def load(code: ExpressionWriter, place: Place) -> Value:
    """Write the reading of an element, or of a row."""
    array, indices = place

    def write(one: One) -> One:
        kind = one.type
        assert isinstance(kind, Array)
        text = code.temporary(f"{one.code}[{', '.join(indices) or '()'}]")
        if len(indices) == kind.ndim:
            return One(Np(kind.dtype), text)
        layout = kind.layout if kind.layout == "C" else "A"
        row = dataclasses.replace(
            kind, ndim=kind.ndim - len(indices), layout=layout, is_whole=False
        )
        return One(row, text)

    return code.combine(write, array)


def store(code: ExpressionWriter, place: Place, value: Value, node: ast.expr) -> None:
    """Write a number into an element."""
    array, indices = place

    def write(one: One, new: One) -> One:
        kind = one.type
        assert isinstance(kind, Array)
        if len(indices) != kind.ndim:
            text = "a write to a row: this is array code"
            raise NotSupportedError(text, node.lineno, is_array_code=True)
        code.program.written |= {kind.origin}
        number = operators.store(code, new, kind.dtype, node.lineno).code
        if kind.writeable:
            code.put(f"{one.code}[{', '.join(indices) or '()'}] = {number}")
        else:
            code.fail_if("True", node.lineno, "readonly")
        return One(PY_BOOL, "True")

    code.combine(write, array, code.as_number(value, node))
