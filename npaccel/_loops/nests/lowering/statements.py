"""Statements of a loop nest, typed and written for Numba.

The body of a loop is written again until the types of its variables, as they
come round, are among those that it was written for.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence

from npaccel._loops.nests.intrinsics import Intrinsic, is_intrinsic
from npaccel._loops.nests.lowering import (
    array_access,
    hoisted_checks,
    int_ranges,
    operators,
    range_refinement,
    sequences,
)
from npaccel._loops.nests.lowering.code_builder import Block, Env, shortened
from npaccel._loops.nests.lowering.expression_writer import Index, Result, Static
from npaccel._loops.nests.lowering.expressions import Expressions
from npaccel._loops.nests.lowering.types import (
    CHARACTER,
    MAX,
    MIN,
    NP_BOOL,
    Array,
    Character,
    DType,
    Items,
    List,
    NotSupportedError,
    Np,
    One,
    Other,
    Py,
    Types,
    Value,
    cast,
    constant,
    integer,
    join,
    storage_name,
    widen,
    within,
)


@dataclasses.dataclass
class _Loop:
    """Environments at each ``break`` and ``continue`` of one loop."""

    breaks: list[Env | None] = dataclasses.field(default_factory=list)
    continues: list[Env | None] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Iterations:
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


#: Maximum number of times that a body is written. Each adds a type or gives up a bound.
_ROUNDS = 60


class Statements(Expressions):
    """Code of a function.

    Attributes
    ----------
    returned : list of tuple of types, or None
        The types of each part of what the function returns.
    single : bool or None
        Whether it returns one value, not a tuple.
    is_nest : bool
        Whether it is the nest itself, not a function that it calls.
    divided : ast.For or None
        The loop that can be asked for some of its iterations.
    """

    returned: list[Types] | None = None
    single: bool | None = None
    is_nest = False
    divided: ast.For | None = None
    _loops: list[_Loop]
    #: Lists that the loop which is about to be written goes through.
    _iterated_lists: list[str]

    def begin(
        self,
        env: Env,
        tuples: dict[str, Items],
        tagged: set[str],
        returned: list[Types] | None,
    ) -> None:
        """Start writing, knowing the parameters and what an earlier round found out."""
        self.env, self.tuples, self.tagged, self.returned = env, tuples, tagged, returned
        self._loops = []
        self._iterated_lists = []

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Write statements; what control doesn't reach is left out."""
        for statement in body:
            if self.env is None:
                return
            self.arm(lambda statement=statement: self.statement(statement))  # type: ignore[misc]

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None or isinstance(node, ast.Delete | ast.With | ast.Try):
            text = f"`{shortened(node)}` isn't scalar code"
            raise NotSupportedError(text, node.lineno)
        method(node)

    def _pass(self, node: ast.Pass) -> None:
        """Write nothing."""

    def _expr(self, node: ast.Expr) -> None:
        if is_intrinsic(node.value, Intrinsic.REQUIRE):
            condition = self.condition(node.value.args[0])
            if condition != "True":
                self.bail_if(f"not {condition}", node.lineno, "vectors of different lengths")
        elif is_intrinsic(node.value, Intrinsic.EXPECT):
            condition = self.condition(node.value.args[0])
            self.fail_if(f"not {condition}", node.lineno, "unfit")
        elif not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        result = self.settled(self.expression(node.value))
        for target in node.targets:
            self.bind(target, result)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.expression(node.value))

    def settled(self, result: Result) -> Result:
        """Return a tuple whose parts don't change when a variable does."""
        return self._settled(result) if isinstance(result, Items) else result

    def _settled(self, items: Items) -> Items:
        return Items(
            tuple(
                self._copied(item) if isinstance(item, Value) else self._settled(item)
                for item in items.items
            )
        )

    def _copied(self, value: Value) -> Value:
        codes = {one.code: self.temporary(one.code) for one in value.ones if one.code}
        ones = tuple(One(one.type, codes.get(one.code, "")) for one in value.ones)
        return Value(ones, self.temporary(value.tag) if value.tag else "")

    def bind(self, target: ast.expr, result: Result) -> None:
        """Assign to a name, an element, or several of them."""
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(result, Items) or len(result.items) != len(target.elts):
                text = f"what `{shortened(target)}` is unpacked from"
                raise NotSupportedError(text, target.lineno)
            for part, item in zip(target.elts, result.items, strict=True):
                self.bind(part, item)
            return
        if isinstance(result, Static) and result.value is None:
            result = Value((One(Other("None", is_none=True), ""),))
        if isinstance(result, Static) and isinstance(result.value, str) and len(result.value) == 1:
            result = Value((One(CHARACTER, f"_uint32({ord(result.value)})"),))
        if not isinstance(result, Value):
            text = f"`{shortened(target)}` is no number or array"
            raise NotSupportedError(text, target.lineno)
        if isinstance(target, ast.Name):
            self.assign(target.id, result, target.lineno)
        elif isinstance(target, ast.Subscript) and self.is_item(target):
            owner, index = self.item_place(target)
            sequences.store(self, owner, index, self.as_number(result, target), target.lineno)
        elif isinstance(target, ast.Subscript):
            array_access.store(self, array_access.place(self, target), result, target)
        else:
            text = f"a write to `{shortened(target)}`"
            raise NotSupportedError(text, target.lineno)

    def _augassign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Subscript) and self.is_item(target):
            owner, index = self.item_place(target)
            old = self.as_number(sequences.load(self, owner, index, node.lineno), target)
            new = self.operate(node.op, old, self.number(node.value), node)
            sequences.store(self, owner, index, new, node.lineno)
        elif isinstance(target, ast.Subscript):
            place = array_access.place(self, target)
            old = self.as_number(array_access.load(self, place), target)
            new = self.number(node.value)
            array_access.store(self, place, self.operate(node.op, old, new, node), target)
        elif isinstance(target, ast.Name):
            old = self.as_number(self.read(target.id, node.lineno), target)
            new = self.number(node.value)
            self.assign(target.id, self.operate(node.op, old, new, node), node.lineno)
        else:
            text = f"a write to `{shortened(target)}`"
            raise NotSupportedError(text, node.lineno)

    # Branches

    def _if(self, node: ast.If) -> None:
        condition = self.condition(node.test)

        def part(body: list[ast.stmt], holds: bool) -> Callable[[], None]:
            def write() -> None:
                range_refinement.refine(self, node.test, holds)
                self.statements(body)

            return write

        self.branch(condition, part(node.body, True), part(node.orelse, False))

    def _assert(self, node: ast.Assert) -> None:
        condition = self.condition(node.test)
        if condition != "True":
            self.fail_if(f"not {condition}", node.lineno, "statement", _replayed(node))
        range_refinement.refine(self, node.test, True)

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None or node.cause is not None:
            raise NotSupportedError(f"`{shortened(node)}`", node.lineno)
        self.fail(node.lineno, "statement", _replayed(node))

    def _break(self, node: ast.Break) -> None:  # noqa: ARG002
        self._loops[-1].breaks.append(self.env)
        self.put("break")
        self.env = None

    def _continue(self, node: ast.Continue) -> None:  # noqa: ARG002
        self._loops[-1].continues.append(self.env)
        self.put("continue")
        self.env = None

    # Loops

    def _while(self, node: ast.While) -> None:
        exits: list[Env | None] = []

        def iteration() -> None:
            exits.clear()
            condition = self.condition(node.test)
            if condition != "True":
                before = self.env
                self.env = dict(before) if before is not None else None
                with self.block(f"if not {condition}:"):
                    range_refinement.refine(self, node.test, False)
                    self._in_outer_loop(lambda: self.statements(node.orelse))
                    exits.append(self.env)
                    self.put("break")
                self.env = before
                if condition == "False":
                    self.env = None
                    return
            range_refinement.refine(self, node.test, True)
            self.statements(node.body)

        loop = self._repeat("while True:", iteration)
        self.env = None
        for env in (*exits, *loop.breaks):
            self.env = self.join_envs(self.env, env)

    def _in_outer_loop(self, write: Callable[[], None]) -> None:
        """Write the ``else`` part of a loop: break and continue there mean the outer loop."""
        marks = [(len(loop.breaks), len(loop.continues)) for loop in self._loops[-1:]]
        write()
        for loop, (breaks, continues) in zip(self._loops[-1:], marks, strict=True):
            if len(loop.breaks) > breaks or len(loop.continues) > continues:
                raise NotSupportedError("`break` in the `else` part of a while loop", 0)

    def _for(self, node: ast.For) -> None:
        iterations = self._iterated(node.iter)
        self._check_lists(node)
        first, last = _counted(iterations)
        count = self.new("k")
        start, stop, step = iterations.start.code, iterations.stop.code, iterations.step.code
        if node is self.divided:
            asked = self.temporary(f"_some_iterations(_e, {start}, {stop}, {step})")
            start, stop = self.temporary(f"{asked}[0]"), self.temporary(f"{asked}[1]")
        head = f"for {count} in range({start}, {stop}, {step}):"
        fixed = dataclasses.replace(
            iterations,
            start=One(iterations.start.type, start),
            stop=One(iterations.stop.type, stop),
        )
        numbers = One(integer(first, last), count)
        name = _numbered(node.target, iterations)
        checks = None
        if name is not None:
            counter = hoisted_checks.Counter(name, fixed.start, fixed.stop, iterations.step)
            checks = hoisted_checks.hoisted(self, node, counter)
        if checks is None:
            self._for_iterations(node, fixed, head, numbers)
            return
        low = max(first, checks.low)
        near = One(integer(low, max(low, min(last, checks.high))), count)

        def unchecked(indices: frozenset[Index] = checks.indices) -> None:
            outer, self.inside = self.inside, self.inside | indices
            self._for_iterations(node, fixed, head, near)
            self.inside = outer

        self.branch(
            self.temporary(checks.condition),
            unchecked,
            lambda: self._for_iterations(node, fixed, head, numbers),
        )

    def _check_lists(self, node: ast.For) -> None:
        """Refuse a loop over a list that its body makes longer or shorter."""
        lists, self._iterated_lists = self._iterated_lists, []
        for part in node.body:
            for call in ast.walk(part):
                is_method = isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name)
                if is_method and call.value.id in lists:  # type: ignore[attr-defined]
                    raise NotSupportedError("a loop over a list that it changes", node.lineno)

    def _for_iterations(
        self, node: ast.For, iterations: _Iterations, head: str, number: One
    ) -> None:
        """Write the iterations of a for loop, and what follows them."""
        entry = None if self.env is None else dict(self.env)

        def iteration() -> None:
            self.bind(node.target, iterations.item(number))
            self.statements(node.body)

        ends: list[Env | None] = []
        loop = self._repeat(head, iteration, ends)
        self.env = ends[0] if _is_never_empty(iterations) else self.join_envs(entry, ends[0])
        if node.orelse:
            with self.block("else:"):
                self.statements(node.orelse)
        for env in loop.breaks:
            self.env = self.join_envs(self.env, env)

    def _repeat(
        self, head: str, iteration: Callable[[], None], ends: list[Env | None] | None = None
    ) -> _Loop:
        """Write a loop until its variables' types are settled.

        Parameters
        ----------
        head : str
        iteration : callable
            Writes the body.
        ends : list, optional
            What is known after an iteration is put here.

        Returns
        -------
        _Loop
            Where the loop was left, as it was written last.
        """
        assert self.env is not None
        entry: Env = dict(self.env)
        start, mark, outer = entry, self.mark(), self.lines
        wider: Env | None = None
        may_narrow = True
        for _ in range(_ROUNDS):
            self.reset(mark)
            loop, end, lines = self._written(iteration, dict(start))
            back = self.join_envs(dict(entry), end) or {}
            if not _covers(start, back):
                # Where narrowing went too far, the wider bounds are taken after all.
                start, may_narrow = (wider, False) if wider else (_widened(start, back), True)
                wider = None
            elif may_narrow and wider is None and back != start:
                wider, start = start, back
            else:
                break
        else:
            raise NotSupportedError("types that don't settle in a loop", 0)
        if ends is not None:
            ends.append(end)
        self.lines = outer
        self.lines += [head, lines or ["pass"]]
        return loop

    def _written(
        self, iteration: Callable[[], None], start: Env
    ) -> tuple[_Loop, Env | None, Block]:
        loop = _Loop()
        self._loops.append(loop)
        self.env = start
        with self.block() as lines:
            self.forget()
            self.arm(iteration)
        self._loops.pop()
        end: Env | None = self.env
        for env in loop.continues:
            end = self.join_envs(end, env)
        return loop, end, lines

    # What a for loop runs over

    def _iterated(self, node: ast.expr) -> _Iterations:
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

    def _range(self, node: ast.Call) -> _Iterations:
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
        return _Iterations(start, self._stop(start, stop, kind, node.lineno), step, _itself)

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

    def _derived(self, function: type, node: ast.Call) -> _Iterations:
        parts = [self._from_zero(self._iterated(argument)) for argument in node.args]
        if function is zip and parts:
            stop = parts[0].stop
            for part in parts[1:]:
                text = f"min({stop.code}, {part.stop.code})"
                stop = self.one(integer(0, _high(stop)), text)
            return _Iterations(
                parts[0].start, stop, parts[0].step, lambda k: _row([p.item(k) for p in parts])
            )
        if len(parts) != 1:
            raise NotSupportedError(f"`{shortened(node)}`", node.lineno)
        only = parts[0]
        last = self.one(integer(-1, _high(only.stop) - 1), f"{only.stop.code} - 1")

        def mirrored(k: One) -> Result:
            bounds = integer(0, max(_high(only.stop) - 1, 0))
            return only.item(self.one(bounds, f"{last.code} - {k.code}"))

        return _Iterations(only.start, only.stop, only.step, mirrored)

    def _enumerated(self, node: ast.Call) -> _Iterations:
        """Return items with their numbers, which may begin with another one than 0."""
        given = [*node.args, *(part.value for part in node.keywords if part.arg == "start")]
        if len(given) != len(node.args) + len(node.keywords) or len(given) not in (1, 2):
            raise NotSupportedError(f"`{shortened(node)}`", node.lineno)
        items = self._from_zero(self._iterated(given[0]))
        if len(given) == 1:
            return _Iterations(
                items.start,
                items.stop,
                items.step,
                lambda k: _row([_itself(k), items.item(k)]),
                is_numbered=True,
            )
        first = self._bound_of_range(given[1])
        low, high = int_ranges.bounds(first)
        if low < MIN + 1 or high > MAX - _high(items.stop):
            test = f"_add_overflows({first.code}, {items.stop.code})"
            self.bail_if(test, node.lineno, "numbers of more than 63 bits")
        stop = self.one(integer(low, high + _high(items.stop)), f"{first.code} + {items.stop.code}")
        _, last = _counted(items)

        def item(k: One) -> Result:
            place = self.one(integer(0, last), f"{k.code} - {first.code}")
            return _row([_itself(k), items.item(place)])

        return _Iterations(first, stop, items.step, item, is_numbered=True)

    def _from_zero(self, iterations: _Iterations) -> _Iterations:
        """Return the same items, counted from 0 in steps of 1."""
        start, stop, step = iterations.start, iterations.stop, iterations.step
        if start.code == "0" and step.code == "1":
            return iterations
        size = self.one(integer(0, MAX), f"_range_size({start.code}, {stop.code}, {step.code})")
        low, high = _counted(iterations)

        def item(k: One) -> Result:
            return iterations.item(
                self.one(integer(low, high), f"{start.code} + {k.code} * {step.code}")
            )

        return _Iterations(constant(0).ones[0], size, constant(1).ones[0], item)

    def _elements(self, owner: Value, node: ast.expr) -> _Iterations:
        array = self._copied(array_access.array(owner, node))
        kind = array.ones[0].type
        assert isinstance(kind, Array)
        if kind.ndim == 0:
            raise NotSupportedError("a loop over an array without dimensions", node.lineno)
        return _Iterations(
            constant(0).ones[0],
            array_access.size(self, array, 0).ones[0],
            constant(1).ones[0],
            lambda k: array_access.load(self, (array, [f"_uint64({k.code})"])),
        )

    def _items(self, owner: Value) -> _Iterations:
        """Return the items of a list or string; the loop mustn't change how many there are."""
        kind = sequences.sequence(owner)
        if isinstance(kind, List):
            self._iterated_lists.append(kind.origin)
            if self.program.items.get(kind.origin) is None:
                zero = constant(0).ones[0]
                return _Iterations(zero, zero, constant(1).ones[0], lambda _: constant(0))
        stop = sequences.length(self, owner).ones[0]
        return _Iterations(
            constant(0).ones[0],
            stop,
            constant(1).ones[0],
            lambda k: sequences.item(self, owner, k),
        )

    # Results

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


def _replayed(node: ast.stmt) -> str:
    """Return a raise or assert statement that needs nothing of the nest, as text."""
    parts = [node.exc] if isinstance(node, ast.Raise) else [getattr(node, "msg", None)]
    for part in parts:
        arguments = part.args if isinstance(part, ast.Call) else []
        names = isinstance(part, ast.Call) and not isinstance(part.func, ast.Name)
        if names or not all(isinstance(a, ast.Constant) for a in arguments):
            raise NotSupportedError("an exception whose text isn't constant", node.lineno)
        if isinstance(node, ast.Assert) and not isinstance(part, ast.Constant | None):
            raise NotSupportedError("an assertion whose text isn't constant", node.lineno)
    if isinstance(node, ast.Assert):
        return f"assert False, {ast.unparse(node.msg)}" if node.msg else "assert False"
    return ast.unparse(node)


def _is_lenient(keyword: ast.keyword) -> bool:
    """Whether a keyword is ``strict=False``, as `zip` is without it."""
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    return keyword.arg == "strict" and value is False


def _itself(k: One) -> Value:
    return Value((k,))


def _numbered(target: ast.expr, iterations: _Iterations) -> str | None:
    """Return the name that a loop gives its count, if it has one."""
    if iterations.is_numbered:
        target = target.elts[0] if isinstance(target, ast.Tuple | ast.List) else target
    elif iterations.item is not _itself:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _row(items: Sequence[Result]) -> Items:
    return Items(tuple(item for item in items if not isinstance(item, Static)))


def _high(one: One) -> int:
    assert isinstance(one.type, Py)
    return one.type.high


def _counted(iterations: _Iterations) -> tuple[int, int]:
    """Return the bounds of what a loop counts."""
    start, stop, step = (one.type for one in (iterations.start, iterations.stop, iterations.step))
    assert isinstance(start, Py) and isinstance(stop, Py) and isinstance(step, Py)  # noqa: PT018
    up = (start.low, max(start.low, stop.high - 1))
    down = (min(start.high, stop.low + 1), start.high)
    if step.low > 0:
        return up
    return down if step.high < 0 else (min(up[0], down[0]), max(up[1], down[1]))


def _is_never_empty(iterations: _Iterations) -> bool:
    start, stop, step = (one.type for one in (iterations.start, iterations.stop, iterations.step))
    assert isinstance(start, Py) and isinstance(stop, Py) and isinstance(step, Py)  # noqa: PT018
    if step.low > 0:
        return start.high < stop.low
    return step.high < 0 and start.low > stop.high


def _covers(outer: Env, inner: Env) -> bool:
    unbound = outer.keys() ^ inner.keys()
    return not unbound and all(within(inner[name], outer[name]) for name in inner)


def _widened(before: Env, after: Env) -> Env:
    return {
        name: widen(before[name], join(before[name], kinds)) if name in before else kinds
        for name, kinds in after.items()
    }
