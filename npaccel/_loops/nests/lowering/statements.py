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
    range_refinement,
    sequences,
)
from npaccel._loops.nests.lowering.code_builder import Block, Env, shortened
from npaccel._loops.nests.lowering.expression_writer import Index, Result, Static
from npaccel._loops.nests.lowering.iterables import (
    Iterables,
    Iterations,
    counted,
    is_never_empty,
    numbered,
)
from npaccel._loops.nests.lowering.returns import Returns
from npaccel._loops.nests.lowering.types import (
    CHARACTER,
    Items,
    NotSupportedError,
    One,
    Other,
    Types,
    Value,
    integer,
    join,
    widen,
    within,
)


@dataclasses.dataclass
class _Loop:
    """Environments at each ``break`` and ``continue`` of one loop."""

    breaks: list[Env | None] = dataclasses.field(default_factory=list)
    continues: list[Env | None] = dataclasses.field(default_factory=list)


#: Maximum number of times that a body is written. Each adds a type or gives up a bound.
_ROUNDS = 60


class Statements(Iterables, Returns):
    """Code of a function.

    Attributes
    ----------
    divided : ast.For or None
        The loop that can be asked for some of its iterations.
    """

    divided: ast.For | None = None
    _loops: list[_Loop]

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
        self.iterated_lists = []

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
                self.copied(item) if isinstance(item, Value) else self._settled(item)
                for item in items.items
            )
        )

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
        iterations = self.iterated(node.iter)
        self._check_lists(node)
        first, last = counted(iterations)
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
        name = numbered(node.target, iterations)
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
        lists, self.iterated_lists = self.iterated_lists, []
        for part in node.body:
            for call in ast.walk(part):
                is_method = isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name)
                if is_method and call.value.id in lists:  # type: ignore[attr-defined]
                    raise NotSupportedError("a loop over a list that it changes", node.lineno)

    def _for_iterations(
        self, node: ast.For, iterations: Iterations, head: str, number: One
    ) -> None:
        """Write the iterations of a for loop, and what follows them."""
        entry = None if self.env is None else dict(self.env)

        def iteration() -> None:
            self.bind(node.target, iterations.item(number))
            self.statements(node.body)

        ends: list[Env | None] = []
        loop = self._repeat(head, iteration, ends)
        self.env = ends[0] if is_never_empty(iterations) else self.join_envs(entry, ends[0])
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


def _covers(outer: Env, inner: Env) -> bool:
    unbound = outer.keys() ^ inner.keys()
    return not unbound and all(within(inner[name], outer[name]) for name in inner)


def _widened(before: Env, after: Env) -> Env:
    return {
        name: widen(before[name], join(before[name], kinds)) if name in before else kinds
        for name, kinds in after.items()
    }
