"""Blocks of statements: each one is compiled, driven by Python, or taken apart."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from npaccel._loops.nests.scalarize.interchange import may_be_columns
from npaccel._loops.partition.ast_utils import (
    Continues,
    called_name,
    leading,
    may_be_elementwise,
    may_be_simple,
    replaced,
    root_of_part,
    with_leading,
)
from npaccel._loops.partition.facts import Facts
from npaccel._loops.partition.hoisting import CannotHoistError, Hoisting
from npaccel._loops.partition.host_values import ITERATORS
from npaccel._loops.partition.locals import is_inner, makes_container
from npaccel._loops.partition.nodes import Nest, assign, name
from npaccel._syntax import dataflow
from npaccel._syntax.context_managers import may_swallow
from npaccel._syntax.dataflow import Names


def block(facts: Facts, statements: Sequence[ast.stmt], bound: Names, depth: int) -> list[ast.stmt]:
    """Split statements that follow each other.

    Parameters
    ----------
    facts : Facts
    statements : sequence of ast.stmt
    bound : frozenset of str
        Names that surely have a value before them.
    depth : int
        Of the loops around them.
    """
    builder = _Builder(facts, bound, depth)
    for statement in statements:
        builder.place(statement)
    return builder.finished()


class _Builder(Hoisting):
    """Builder of one block: it places the statements, and what is inside them."""

    def place(self, statement: ast.stmt) -> None:
        """Decide about one statement."""
        match statement:
            case ast.For() | ast.While():
                self._loop(statement)
            case ast.If():
                self._if(statement)
            case ast.With():
                self._with(statement)
            case ast.Try():
                self._try(statement)
            case ast.Return():
                self._return(statement)
            case ast.Assert():
                self._assert(statement)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                self._simple(statement)
            case _:
                self.python(statement)

    def _simple(self, statement: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr) -> None:
        facts = self.facts
        if makes_container(statement, facts.containers) or is_inner(statement):
            reads = isinstance(statement.value, ast.Call) and statement.value.args  # `list(x)`
            self.python(statement, may_wait=not reads and self._commutes(statement, self.run))
            return
        if dataflow.of_statement(statement).writes & self.facts.declared.keys() and self._is_hosts(
            statement
        ):
            self.python(statement)
            return
        if not facts.has_hoisted(statement) and not facts.reads_container(statement):
            self.add(statement)
            return
        try:
            self._hoisted(statement)
        except CannotHoistError:
            self._natively(statement)

    def _is_hosts(self, statement: ast.stmt) -> bool:
        """Whether a statement gives a global name, or one of a closure, a host value."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                return all(map(dataflow.is_name_target, targets)) and self.host_values.moves(value)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                read = ast.copy_location(name(target.id), target)
                return self.host_values.is_host(read) and self.host_values.is_host(value)
        return False

    def _natively(self, statement: ast.stmt) -> None:
        self.facts.native.append(
            (statement.lineno, "it uses a list that grows, or a loop of another function, inside "
             "an expression")
        )  # fmt: skip
        self.python(statement)

    def _hoisted(self, statement: ast.stmt) -> None:
        """Compute by Python what has to be, then go on with the rest."""
        match statement:
            case ast.Expr(value=value) if self.facts.is_hoisted(value):
                assert isinstance(value, ast.Call)
                grows = self.facts.takes_objects(value)
                call = self._with_hoisted_arguments(value)
                new = ast.copy_location(ast.Expr(value=call), statement)
                self.python(new, may_wait=grows)
            case ast.Assign(targets=targets, value=value) if self.facts.is_hoisted(value) and (
                all(map(dataflow.is_name_target, targets))
            ):
                call = self._with_hoisted_arguments(value)
                self.python(ast.copy_location(ast.Assign(targets=targets, value=call), statement))
                # Numbers may be others at the next call.
                self.facts.varying |= dataflow.of_statement(statement).sure
            case ast.Assign(targets=targets, value=value):
                if any(map(self.facts.has_hoisted, targets)):
                    raise CannotHoistError
                new_value = self.hoist(value)
                assigned = ast.copy_location(
                    ast.Assign(targets=targets, value=new_value), statement
                )
                if any(map(self.facts.reads_container, targets)):
                    if self.facts.reads_container(new_value):
                        raise CannotHoistError
                    self._store_in_container(assigned)
                else:
                    self._after_hoisting(assigned)
            case ast.AugAssign():
                self._augmented(statement)
            case ast.Expr(value=value):
                self._after_hoisting(ast.copy_location(ast.Expr(self.hoist(value)), statement))
            case _:
                raise CannotHoistError

    def _augmented(self, statement: ast.AugAssign) -> None:
        """Compute by Python what has to be of ``target += value``."""
        match statement:
            case ast.AugAssign(target=ast.Subscript() as target) if self.facts.is_hoisted(
                ast.Subscript(target.value, target.slice, ast.Load())
            ):
                self._item_operation(statement, target)
            case ast.AugAssign(
                target=ast.Name() as target, value=(ast.List() | ast.Tuple()) as value
            ) if self.facts.is_container(target):
                parts = self._with_hoisted_elements(value)
                operation = ast.AugAssign(target=target, op=statement.op, value=parts)
                self.python(ast.copy_location(operation, statement))
            case ast.AugAssign(target=ast.Name() as target, value=value):
                new_value = self.hoist(value)
                operation = ast.AugAssign(target=target, op=statement.op, value=new_value)
                self._after_hoisting(ast.copy_location(operation, statement))
            case _:
                raise CannotHoistError

    def _after_hoisting(self, statement: ast.stmt) -> None:
        if self.facts.reads_container(statement):
            raise CannotHoistError
        self.add(statement)

    def _store_in_container(self, statement: ast.Assign) -> None:
        """``results[key] = value``: the value is compiled, Python stores it."""
        if not self.host_values.moves(statement.value):
            value = self._as_temporary(statement.value)
            statement = ast.copy_location(ast.Assign(statement.targets, value), statement)
        self.python(statement)

    def _item_operation(self, statement: ast.AugAssign, target: ast.Subscript) -> None:
        """``params[key] -= value``: Python takes the item and stores it, the rest is compiled."""
        taken = self.facts.new_name()
        read = ast.Subscript(target.value, target.slice, ast.Load())
        self.python(assign(taken, ast.copy_location(read, target)))
        value = statement.value
        inside = list(ast.walk(value))
        if not any(isinstance(n, ast.Call) and self.facts.is_hoisted(n) for n in inside):
            # One name for one array: compiled code doesn't write to what it has by another name.
            same = [n for n in inside if ast.dump(n) == ast.dump(read)]
            value = replaced(value, {id(n): name(taken) for n in same})
        value = self.hoist(value)
        operation = ast.AugAssign(ast.Name(taken, ast.Store()), statement.op, value)
        self._after_hoisting(ast.copy_location(operation, statement))
        stored = ast.Assign([target], ast.copy_location(name(taken), target))
        self.python(ast.copy_location(stored, statement))

    def _assert(self, statement: ast.Assert) -> None:
        test = self.test(statement.test, first=True)
        new = ast.Assert(test=test, msg=statement.msg)
        self.python(ast.copy_location(new, statement))

    def _return(self, statement: ast.Return) -> None:
        value = statement.value
        if value is not None and not self.host_values.moves(value):
            try:
                value = self.hoist(value)
                if self.facts.reads_container(value):
                    value = self._returned_parts(value)
                elif not self.host_values.moves(value):
                    value = self._as_temporary(value)
            except CannotHoistError:
                self._natively(statement)
                return
        self.python(ast.copy_location(ast.Return(value=value), statement))

    # -- Blocks ---------------------------------------------------------------

    def _if(self, statement: ast.If) -> None:
        facts = self.facts
        if (
            facts.is_static_test(statement.test)
            and not facts.needs_python([*statement.body, *statement.orelse])
            and not facts.reads_container(statement)
            and self._leaves_bound(statement)
        ):
            self.add(statement)
            return
        test = self.test(statement.test, first=True)
        self.flush()
        bound = self.bound
        body = block(facts, statement.body, bound, self.depth)
        orelse = block(facts, statement.orelse, bound, self.depth) if statement.orelse else []
        self.out.append(ast.copy_location(ast.If(test=test, body=body, orelse=orelse), statement))
        self._written(statement)

    def _leaves_bound(self, statement: ast.If) -> bool:
        """Whether every name that a branch may write has a value after it."""
        flow = dataflow.of_statement(statement)
        return flow.writes <= flow.sure | self.bound and flow.reads & self.host_values.locals <= (
            self.bound
        )

    def _with(self, statement: ast.With) -> None:
        if not self.facts.needs_python([statement]) and not (self.facts.reads_container(statement)):
            self.add(statement)
            return
        self.flush()
        new = copy.copy(statement)
        if may_swallow(statement):
            nests, self.facts.nests = self.facts.nests, False
            new.body = self._singly(statement.body)
            self.facts.nests = nests
        else:
            new.body = block(self.facts, statement.body, self.bound, self.depth)
        self.out.append(new)
        self._written(statement)

    def _singly(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Compile each statement by itself: what it assigned must be seen if the next raises."""
        return [new for s in statements for new in block(self.facts, [s], self.bound, self.depth)]

    def _try(self, statement: ast.Try) -> None:
        self.flush()
        singly = self._singly
        # What a nest has assigned when it raises isn't known outside of it.
        nests, self.facts.nests = self.facts.nests, False

        handlers = []
        for old in statement.handlers:
            body = block(self.facts, old.body, self.bound, self.depth)
            handler = ast.ExceptHandler(type=old.type, name=old.name, body=body)
            handlers.append(ast.copy_location(handler, old))
        new = ast.Try(
            body=singly(statement.body),
            handlers=handlers,
            orelse=singly(statement.orelse),
            finalbody=singly(statement.finalbody),
        )
        self.facts.nests = nests
        self.out.append(ast.copy_location(new, statement))
        self._written(statement)

    def _loop(self, statement: ast.For | ast.While) -> None:
        facts = self.facts
        is_known = self._are_unset([statement], self._perhaps_unset([statement], self.bound))
        if is_known and facts.is_unrolled(statement) and not facts.reads_container(statement):
            self.add(statement)
            return
        may_be = facts.nests and not facts.in_nest and not facts.has_primitive(statement)
        may_be = may_be and is_known
        hoisted: list[ast.Assign] = []
        named = self._with_parts_hoisted(statement, hoisted) if may_be else statement
        of_elements = may_be and may_be_elementwise(named, facts.containers)
        # Where the loop around isn't fit, one in it seldom is, and asking takes time in each
        # iteration.
        simple = may_be and not facts.in_simple and may_be_simple(statement, facts.containers)
        if of_elements:
            statement = named
            for made in hoisted:
                self.python(made)
        if of_elements or simple:
            self.flush()
            before = facts.in_simple
            facts.in_nest, facts.in_simple = of_elements, True
            inner = _Builder(facts, self.bound, self.depth)
            inner._driven(statement)
            self._nest(Nest([statement], inner.finished(), self.bound, of_elements))
            facts.in_nest, facts.in_simple = False, before
        else:
            self._driven(statement)
        self._written(statement)

    def _with_parts_hoisted(
        self, loop: ast.For | ast.While, made: list[ast.Assign]
    ) -> ast.For | ast.While:
        """Return a loop over names of the slices that it goes over, and add what makes them.

        Those of arrays that it uses otherwise stay: it may write to them.
        """
        if isinstance(loop, ast.While):
            return loop
        parts = [loop.target, *loop.body, *loop.orelse]
        used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}

        def hoisted(node: ast.expr) -> ast.expr:
            if isinstance(node, ast.Call) and called_name(node) in ITERATORS:
                args = [hoisted(argument) for argument in node.args]
                return ast.copy_location(ast.Call(node.func, args, node.keywords), node)
            root = root_of_part(node)
            if not root or root in used:
                return node
            temporary = self.facts.new_name()
            made.append(assign(temporary, node))
            return ast.copy_location(name(temporary), node)

        new = copy.copy(loop)
        new.iter = hoisted(loop.iter)
        return new

    def _nest(self, made: Nest) -> None:
        """Add a nest; together with the one before, where both go along the last axis."""
        before = self.out[-1] if self.out else None
        if isinstance(before, Nest) and all(map(may_be_columns, [*before.loops, *made.loops])):
            single = before.split if len(before.loops) > 1 else [before]
            loops = [*before.loops, *made.loops]
            both = Nest(loops, [*single, made], before.bound, before.of_elements)
            if not self._perhaps_unset([both], both.bound):
                self.out.pop()
                made = both
        self.out.append(made)

    def _driven(self, statement: ast.For | ast.While) -> None:
        self.original = copy.deepcopy(statement), self.bound
        if isinstance(statement, ast.While):
            self._while(statement)
        else:
            self._for(statement)

    def _for(self, statement: ast.For) -> None:
        original = self.original
        iterable = self._iterable(statement.iter)
        self.flush()
        bound = self.bound | dataflow.of_expression(statement.target).sure
        body = block(self.facts, statement.body, bound, self.depth + 1)
        orelse = self._else(statement)
        new = ast.For(target=statement.target, iter=iterable, body=body, orelse=orelse)
        new.__dict__["npaccel_original"] = original
        self.facts.loops.append(new)
        self.out.append(ast.copy_location(new, statement))

    def _else(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        if not statement.orelse:
            return []
        return block(self.facts, statement.orelse, self.bound, self.depth)

    def _while(self, statement: ast.While) -> None:
        """A condition on arrays is computed at the end of the iteration, with the rest."""
        original = self.original
        lead = leading(statement.test)
        if self._is_pythons(lead):
            test, body = self.test(statement.test, first=False), statement.body
        else:
            temporary = self.facts.new_name()
            ahead = assign(temporary, lead)
            self.place(ahead)
            test = self.test(
                with_leading(statement.test, ast.copy_location(name(temporary), lead)), first=False
            )
            body = [*Continues(ahead).all(statement.body), copy.deepcopy(ahead)]
        self.flush()
        inner = block(self.facts, body, self.bound, self.depth + 1)
        new = ast.While(test=test, body=inner, orelse=self._else(statement))
        new.__dict__["npaccel_original"] = original
        self.facts.loops.append(new)
        self.out.append(ast.copy_location(new, statement))
