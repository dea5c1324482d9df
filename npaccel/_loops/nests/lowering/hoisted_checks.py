"""Checks of subscripts that are made before a loop, for all of its iterations at once.

``for k in range(n): x[i, k + 1]`` stays within the bounds if the first and the last ``k`` do, and
if ``i`` does. Compilers use vector instructions for loops without ways out only; so such a loop is
written twice, without those checks and with them, and a test before it tells which of them runs. A
test that fails costs time, nothing else: the loop with the checks says what is wrong, or counts
negative indices from the end.
"""

from __future__ import annotations

import ast
import dataclasses

from npaccel._loops.nests.lowering.expression_writer import ExpressionWriter, Index, index_of
from npaccel._loops.nests.lowering.int_ranges import bounds
from npaccel._loops.nests.lowering.types import MAX, Array, One, Py, Value, storage_name
from npaccel._syntax import dataflow

#: Sums of numbers up to here don't leave 64 bits.
_FAR = 2**60


@dataclasses.dataclass(frozen=True)
class Counter:
    """Counter of a loop.

    Parameters
    ----------
    name : str
        The user's name of it.
    start, stop, step : One
        Python ints, fixed before the loop.
    """

    name: str
    start: One
    stop: One
    step: One


@dataclasses.dataclass(frozen=True)
class HoistedChecks:
    """Checks of indices that are made before a loop.

    Parameters
    ----------
    condition : str
        Holds only if the indices are within the bounds, not negative, in every iteration.
    indices : frozenset of (int, int)
    low, high : int
        Bounds of the loop's counter where it holds.
    """

    condition: str
    indices: frozenset[Index]
    low: int
    high: int


@dataclasses.dataclass(frozen=True)
class _Linear:
    """An index: `sign` times the counter, plus a number that doesn't change in the loop."""

    sign: int
    rest: str
    low: int
    high: int


def hoisted(code: ExpressionWriter, loop: ast.For, counter: Counter) -> HoistedChecks | None:
    """Return the checks that can be hoisted out of an innermost loop; None if they don't help."""
    kind = counter.step.type
    assert isinstance(kind, Py)
    if loop.orelse or kind.low <= 0 <= kind.high:
        return None
    parts = []
    for part in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(part, ast.For | ast.While):
            return None
        parts.append(part)
    stored = dataflow.stores([loop])
    if stored[counter.name] != 1:
        return None
    tests = _Tests(code, counter, frozenset(stored))
    for part in parts:
        if isinstance(part, ast.Subscript):
            tests.add(part)
    return tests.found()


class _Tests:
    def __init__(self, code: ExpressionWriter, counter: Counter, stored: frozenset[str]) -> None:
        self.code = code
        self.counter = counter
        self.stored = stored
        self.low, self.high = -MAX, MAX
        self.indices: set[Index] = set()
        self.tests: dict[str, None] = {}
        self.helps = False

    def found(self) -> HoistedChecks | None:
        """Return what has been added; None if no index follows the counter."""
        if not self.helps:
            return None
        condition = " & ".join(f"({test})" for test in self.tests)
        return HoistedChecks(condition, frozenset(self.indices), self.low, max(self.low, self.high))

    def add(self, node: ast.Subscript) -> None:
        """Add the indices of one subscript."""
        owner, first = node.value, 0
        while isinstance(owner, ast.Subscript):
            first += len(_parts(owner))
            owner = owner.value
        array = self._array(owner)
        if array is None:
            return
        kind = array.type
        assert isinstance(kind, Array)
        for number, part in enumerate(_parts(node)):
            linear = self._linear(part)
            if linear is None or first + number >= kind.ndim:
                continue
            tests = self._test(linear, array, first + number)
            if tests:
                self.tests |= dict.fromkeys(tests)
                self.indices.add(index_of(node, number))
                self.helps |= linear.sign != 0

    def _array(self, node: ast.expr) -> One | None:
        """Return an array that has the same name, and is the same, in every iteration."""
        env = self.code.env
        if not isinstance(node, ast.Name) or node.id in self.stored or env is None:
            return None
        kinds = env.get(node.id, ())
        if len(kinds) != 1 or not isinstance(kinds[0], Array):
            return None
        return One(kinds[0], storage_name(f"v_{node.id}", kinds[0]))

    def _linear(self, node: ast.expr) -> _Linear | None:
        """Take an index apart; None if it isn't such a sum."""
        match node:
            case ast.Name(id=name) if name == self.counter.name:
                return _Linear(1, "0", 0, 0)
            case ast.Name(id=name) if name not in self.stored:
                return self._fixed(node)
            case ast.Constant(value=value) if type(value) is int:
                return _Linear(0, f"({value})", value, value)
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                first, second = self._linear(left), self._linear(right)
                if first is not None and second is not None:
                    return _sum(first, second, "+" if isinstance(op, ast.Add) else "-")
        return None

    def _fixed(self, node: ast.Name) -> _Linear | None:
        """Take a Python int that is the same in every iteration."""
        code = self.code
        if node.id in code.locals:
            kinds = (code.env or {}).get(node.id, ())
            ones = [One(kind, storage_name(f"v_{node.id}", kind)) for kind in kinds]
        else:
            found = code.expression(node)
            ones = list(found.ones) if isinstance(found, Value) else []
        kind = ones[0].type if len(ones) == 1 else None
        if not isinstance(kind, Py) or kind.kind is not int:
            return None
        return _Linear(0, ones[0].code, kind.low, kind.high)

    def _test(self, index: _Linear, array: One, axis: int) -> list[str]:
        """Return what must hold; nothing for an index that can't be looked at, or is negative."""
        kind, rest = array.type, index.rest
        assert isinstance(kind, Array)
        size = self.code.pure(f"{array.code}.shape[{axis}]")
        if index.sign == 0:
            return [f"_uint64({rest}) < _uint64({size})"] if index.high >= 0 else []
        start, stop = self.counter.start, self.counter.stop
        (first, last), (low, high) = bounds(start), bounds(stop)
        upwards = bounds(self.counter.step)[0] > 0
        if index.sign > 0:
            is_negative = (last if upwards else high + 1) + index.high < 0
            least, most = f"0 - {rest}", f"{size} - {rest}"
            own = (-index.high, kind.limit - 1 - index.low)
        else:
            is_negative = index.high - (low - 1 if upwards else first) < 0
            least, most = f"{rest} - {size} + 1", f"{rest} + 1"
            own = (index.low - kind.limit + 1, index.high)
        if is_negative or not _is_near(index):
            return []
        self.low, self.high = max(self.low, own[0]), min(self.high, own[1])
        tests = [f"{size} <= {_FAR}"] if kind.limit > _FAR else []
        if upwards:  # start <= counter < stop
            return [*tests, f"{start.code} >= {least}", f"{stop.code} <= {most}"]
        return [*tests, f"{start.code} < {most}", f"{stop.code} >= {least} - 1"]


def _sum(first: _Linear, second: _Linear, symbol: str) -> _Linear | None:
    """Add or subtract two parts of an index; None if that isn't one, or may leave 64 bits."""
    if not (_is_near(first) and _is_near(second)):
        return None
    if symbol == "+":
        sign, low, high = first.sign + second.sign, second.low, second.high
    else:
        sign, low, high = first.sign - second.sign, -second.high, -second.low
    if abs(sign) > 1:
        return None
    text = f"({first.rest} {symbol} {second.rest})"
    return _Linear(sign, text, first.low + low, first.high + high)


def _is_near(index: _Linear) -> bool:
    return max(abs(index.low), abs(index.high)) <= _FAR


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
