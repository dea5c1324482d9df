"""Iterables of the for loops of a nest: ranges, arrays, lists, `enumerate` and `zip` of them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence

from npaccel._loops.nests.lowering import (
    array_access,
    int_ranges,
    operators,
    sequences,
)
from npaccel._loops.nests.lowering.code_builder import shortened
from npaccel._loops.nests.lowering.expression_writer import Result, Static
from npaccel._loops.nests.lowering.expressions import Expressions
from npaccel._loops.nests.lowering.types import (
    MAX,
    MIN,
    NP_BOOL,
    Array,
    Items,
    List,
    NotSupportedError,
    One,
    Py,
    Value,
    constant,
    integer,
)


@dataclasses.dataclass(frozen=True)
class Iterations:
    """Counter of a for loop, and what the count means.

    Parameters
    ----------
    start, stop, step : One
        Python ints.
    item : callable
        The item for the count.
    is_numbered : bool
        Whether an item is a tuple that begins with the count.
    """

    start: One
    stop: One
    step: One
    item: Callable[[One], Result]
    is_numbered: bool = False


class Iterables(Expressions):
    """Code of what loops run over.

    Attributes
    ----------
    iterated_lists : list of str
        Lists that the loop which is about to be written goes through.
    """

    iterated_lists: list[str]

    def copied(self, value: Value) -> Value:
        """Return a value that stays when the variables it's read from change."""
        codes = {one.code: self.temporary(one.code) for one in value.ones if one.code}
        ones = tuple(One(one.type, codes.get(one.code, "")) for one in value.ones)
        return Value(ones, self.temporary(value.tag) if value.tag else "")

    def iterated(self, node: ast.expr) -> Iterations:
        """Return the counter and the items of what a loop runs over."""
        if isinstance(node, ast.Call):
            target = self.expression(node.func)
            known = target.value if isinstance(target, Static) else None
            if known is enumerate:
                return self._enumerated(node)
            if known is zip and all(map(_is_lenient, node.keywords)):
                return self._derived(known, node)
            if known in (range, reversed) and not node.keywords:
                return self._range(node) if known is range else self._derived(known, node)
        owner = self.expression(node)
        if isinstance(owner, Value) and sequences.is_sequence(owner):
            return self._items(owner)
        if isinstance(owner, Value) and all(isinstance(kind, Array) for kind in owner.types):
            return self._elements(owner, node)
        raise NotSupportedError(f"a loop over `{shortened(node)}`", node.lineno)

    def _range(self, node: ast.Call) -> Iterations:
        values = [self._bound_of_range(argument) for argument in node.args]
        zero, one = constant(0).ones[0], constant(1).ones[0]
        if not 1 <= len(values) <= 3:
            raise NotSupportedError("`range` takes one to three arguments", node.lineno)
        start, stop = (zero, values[0]) if len(values) == 1 else values[:2]
        step = values[2] if len(values) == 3 else one
        kind = step.type
        assert isinstance(kind, Py)
        if kind.low <= 0 <= kind.high:
            self.fail_if(f"{step.code} == 0", node.lineno, "range")
        return Iterations(start, self._stop(start, stop, kind, node.lineno), step, itself)

    def _stop(self, start: One, stop: One, step: Py, line: int) -> One:
        """Return where a range stops so that its length, which Numba counts, fits 64 bits."""
        (first, last), (low, high) = (int_ranges.bounds(one) for one in (start, stop))
        if low - last >= MIN and high - first <= MAX:
            return stop
        has_sign = step.low > 0 or step.high < 0
        if has_sign:  # A range without an iteration, however far its stop is behind its start.
            choose = "max" if step.low > 0 else "min"
            stop = One(stop.type, self.temporary(f"{choose}({start.code}, {stop.code})"))
        test = f"_subtract_overflows({stop.code}, {start.code})"
        self.bail_if(test, line, "a range of more than 63 bits", rare=has_sign)
        return stop

    def _bound_of_range(self, node: ast.expr) -> One:
        def write(one: One) -> One:
            kind = operators.number(one, node.lineno)
            if kind.storage.kind not in "iub" or kind == NP_BOOL:
                raise NotSupportedError(f"`range` of a {kind}", node.lineno)
            return operators.to_int(self, one, node.lineno)

        value = self.combine(write, self.number(node))
        one = value.ones[0]
        return One(one.type, self.temporary(one.code))

    def _derived(self, function: type, node: ast.Call) -> Iterations:
        parts = [self._from_zero(self.iterated(argument)) for argument in node.args]
        if function is zip and parts:
            stop = parts[0].stop
            for part in parts[1:]:
                text = f"min({stop.code}, {part.stop.code})"
                stop = self.one(integer(0, _high(stop)), text)
            return Iterations(
                parts[0].start, stop, parts[0].step, lambda k: _row([p.item(k) for p in parts])
            )
        if len(parts) != 1:
            raise NotSupportedError(f"`{shortened(node)}`", node.lineno)
        only = parts[0]
        last = self.one(integer(-1, _high(only.stop) - 1), f"{only.stop.code} - 1")

        def mirrored(k: One) -> Result:
            bounds = integer(0, max(_high(only.stop) - 1, 0))
            return only.item(self.one(bounds, f"{last.code} - {k.code}"))

        return Iterations(only.start, only.stop, only.step, mirrored)

    def _enumerated(self, node: ast.Call) -> Iterations:
        """Return items with their numbers, which may begin with another one than 0."""
        given = [*node.args, *(part.value for part in node.keywords if part.arg == "start")]
        if len(given) != len(node.args) + len(node.keywords) or len(given) not in (1, 2):
            raise NotSupportedError(f"`{shortened(node)}`", node.lineno)
        items = self._from_zero(self.iterated(given[0]))
        if len(given) == 1:
            return Iterations(
                items.start,
                items.stop,
                items.step,
                lambda k: _row([itself(k), items.item(k)]),
                is_numbered=True,
            )
        first = self._bound_of_range(given[1])
        low, high = int_ranges.bounds(first)
        if low < MIN + 1 or high > MAX - _high(items.stop):
            test = f"_add_overflows({first.code}, {items.stop.code})"
            self.bail_if(test, node.lineno, "numbers of more than 63 bits")
        stop = self.one(integer(low, high + _high(items.stop)), f"{first.code} + {items.stop.code}")
        _, last = counted(items)

        def item(k: One) -> Result:
            place = self.one(integer(0, last), f"{k.code} - {first.code}")
            return _row([itself(k), items.item(place)])

        return Iterations(first, stop, items.step, item, is_numbered=True)

    def _from_zero(self, iterations: Iterations) -> Iterations:
        """Return the same items, counted from 0 in steps of 1."""
        start, stop, step = iterations.start, iterations.stop, iterations.step
        if start.code == "0" and step.code == "1":
            return iterations
        size = self.one(integer(0, MAX), f"_range_size({start.code}, {stop.code}, {step.code})")
        low, high = counted(iterations)

        def item(k: One) -> Result:
            return iterations.item(
                self.one(integer(low, high), f"{start.code} + {k.code} * {step.code}")
            )

        return Iterations(constant(0).ones[0], size, constant(1).ones[0], item)

    def _elements(self, owner: Value, node: ast.expr) -> Iterations:
        array = self.copied(array_access.array(owner, node))
        kind = array.ones[0].type
        assert isinstance(kind, Array)
        if kind.ndim == 0:
            raise NotSupportedError("a loop over an array without dimensions", node.lineno)
        return Iterations(
            constant(0).ones[0],
            array_access.size(self, array, 0).ones[0],
            constant(1).ones[0],
            lambda k: array_access.load(self, (array, [f"_uint64({k.code})"])),
        )

    def _items(self, owner: Value) -> Iterations:
        """Return the items of a list or string; the loop mustn't change how many there are."""
        kind = sequences.sequence(owner)
        if isinstance(kind, List):
            self.iterated_lists.append(kind.origin)
            if self.program.items.get(kind.origin) is None:
                zero = constant(0).ones[0]
                return Iterations(zero, zero, constant(1).ones[0], lambda _: constant(0))
        stop = sequences.length(self, owner).ones[0]
        return Iterations(
            constant(0).ones[0],
            stop,
            constant(1).ones[0],
            lambda k: sequences.item(self, owner, k),
        )


def _is_lenient(keyword: ast.keyword) -> bool:
    """Whether a keyword is ``strict=False``, as `zip` is without it."""
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    return keyword.arg == "strict" and value is False


def itself(k: One) -> Value:
    """Return the count as the item."""
    return Value((k,))


def numbered(target: ast.expr, iterations: Iterations) -> str | None:
    """Return the name that a loop gives its count, if it has one."""
    if iterations.is_numbered:
        target = target.elts[0] if isinstance(target, ast.Tuple | ast.List) else target
    elif iterations.item is not itself:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _row(items: Sequence[Result]) -> Items:
    return Items(tuple(item for item in items if not isinstance(item, Static)))


def _high(one: One) -> int:
    assert isinstance(one.type, Py)
    return one.type.high


def counted(iterations: Iterations) -> tuple[int, int]:
    """Return the bounds of what a loop counts."""
    start, stop, step = (one.type for one in (iterations.start, iterations.stop, iterations.step))
    assert isinstance(start, Py) and isinstance(stop, Py) and isinstance(step, Py)  # noqa: PT018
    up = (start.low, max(start.low, stop.high - 1))
    down = (min(start.high, stop.low + 1), start.high)
    if step.low > 0:
        return up
    return down if step.high < 0 else (min(up[0], down[0]), max(up[1], down[1]))


def is_never_empty(iterations: Iterations) -> bool:
    """Whether a loop has an iteration for sure."""
    start, stop, step = (one.type for one in (iterations.start, iterations.stop, iterations.step))
    assert isinstance(start, Py) and isinstance(stop, Py) and isinstance(step, Py)  # noqa: PT018
    if step.low > 0:
        return start.high < stop.low
    return step.high < 0 and start.low > stop.high
