"""Split a function at its loops: what is compiled, and what Python does between.

The result computes the same as the function, statement by statement; only
statements that follow each other are taken together, and those about Python
numbers alone are moved out of the compiled parts where nothing can tell.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from npaccel._loops import _names
from npaccel._loops._kinds import Kinds
from npaccel._loops._names import Flow, Names
from npaccel._loops._nodes import (
    INDEX,
    INNER,
    NATIVE,
    TEMPORARY,
    Inline,
    Nest,
    Region,
    assign,
    name,
)

#: Loops over so few constants are left to the compiler, which unrolls them.
MAX_UNROLLED = 8
_MAX_UNROLLED_STATEMENTS = 32

_GROWING_METHODS = frozenset(
    {"append", "extend", "insert", "add", "update", "pop", "popleft", "appendleft"}
    | {"remove", "discard", "clear", "setdefault", "popitem"}
)
_NATIVE_BUILTINS = frozenset({"print", "input", "open", "next", "iter", "setattr", "delattr"})
_ITERATORS = frozenset({"enumerate", "zip", "reversed", "range", "tqdm", "map", "iter"})
_REFUSED: dict[type[ast.AST], str] = {
    ast.Yield: "it has a `yield`",
    ast.YieldFrom: "it has a `yield`",
    ast.Await: "it has an `await`",
    ast.AsyncFor: "it has an `async for`",
    ast.AsyncWith: "it has an `async with`",
    ast.ClassDef: "it defines a class",
    ast.Match: "it has a `match`",
    ast.TryStar: "it has an `except*`",
}
_REFUSED_CALLS = frozenset({"locals", "exec", "eval", "vars", "super", "globals", "dir"})


class CannotSplitError(Exception):
    """A function can't be split.

    Parameters
    ----------
    reason : str
    line : int
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclasses.dataclass
class Split:
    """A function split into regions.

    Parameters
    ----------
    body : list of ast.stmt
        With `Region`, `Inline` and `Nest` among the statements.
    kinds : Kinds
    varying : frozenset of str
        Host values that change from one turn of a loop to the next.
    loops : list of ast.For or ast.While
        Those that Python drives, in the order of the file.
    native : list of (int, str)
        Lines that Python runs uncompiled although they are about arrays, and why.
    temporaries : frozenset of str
        Local names that the split function has besides the function's own.
    declared : dict
        Names that the function declares as global or nonlocal.
    """

    body: list[ast.stmt]
    kinds: Kinds
    varying: Names
    loops: list[ast.For | ast.While]
    native: list[tuple[int, str]]
    temporaries: Names
    declared: dict[str, type[ast.Global | ast.Nonlocal]]


def split(
    definition: ast.FunctionDef,
    kinds: Kinds,
    callee_loops: Callable[[ast.expr], bool],
    form: Callable[[ast.expr], Sequence[str] | None],
    *,
    nests: bool,
) -> Split:
    """Split a function.

    Parameters
    ----------
    definition : ast.FunctionDef
    kinds : Kinds
    callee_loops : callable
        Whether a called expression is a function of the user's that loops, or a form.
    form : callable
        The parameters of `npaccel.fori_loop` and the like, if a called expression is one.
    nests : bool
        Whether loops may be handed to an element-wise engine.

    Raises
    ------
    CannotSplitError
    """
    _check(definition)
    splitter = _Splitter(definition, kinds, callee_loops, form, nests)
    body = splitter.block(definition.body, frozenset(splitter.parameters), 0)
    loops = sorted(splitter.loops, key=lambda loop: loop.lineno)
    return Split(
        body,
        kinds,
        splitter.varying,
        loops,
        splitter.native,
        frozenset(splitter.temporaries),
        splitter.declared,
    )


def _check(definition: ast.FunctionDef) -> None:
    for node in ast.walk(definition):
        reason = _REFUSED.get(type(node))
        if reason is not None:
            raise CannotSplitError(reason, getattr(node, "lineno", definition.lineno))
        if isinstance(node, ast.Call) and _called_name(node) in _REFUSED_CALLS:
            raise CannotSplitError(f"it calls {_called_name(node)}()", node.lineno)
        if isinstance(node, ast.While) and any(
            isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.test)
        ):
            raise CannotSplitError("a `while` assigns in its condition", node.lineno)


def _called_name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


class _CannotLiftError(Exception):
    """Something in an expression can't be computed ahead of the rest."""


class _Splitter:
    """What is known about one function while it's split."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        kinds: Kinds,
        callee_loops: Callable[[ast.expr], bool],
        form: Callable[[ast.expr], Sequence[str] | None],
        nests: bool,
    ) -> None:
        self.kinds = kinds
        self.form = form
        self._outer_loops = callee_loops
        self.nests = nests
        self.parameters = [a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)]
        self.loops: list[ast.For | ast.While] = []
        self.native: list[tuple[int, str]] = []
        self.in_nest = False
        self.temporaries: list[str] = []
        self.containers = _containers(definition)
        self.inner = _inner_definitions(definition)
        self.declared: dict[str, type[ast.Global | ast.Nonlocal]] = {
            declared: type(node)
            for node in ast.walk(definition)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for declared in node.names
        }
        self.looping: frozenset[str] = frozenset()
        self.looping = self._looping_functions()
        in_loops = [n for n in ast.walk(definition) if isinstance(n, ast.For | ast.While)]
        assigned = _names.of_statements([s for s in in_loops if not self.is_unrolled(s)]).writes
        self.changing = assigned
        self.varying = assigned & frozenset(kinds.host)

    def new_name(self) -> str:
        self.temporaries.append(TEMPORARY.format(len(self.temporaries)))
        return self.temporaries[-1]

    def block(self, statements: Sequence[ast.stmt], bound: Names, depth: int) -> list[ast.stmt]:
        """Split statements that follow each other.

        Parameters
        ----------
        statements : sequence of ast.stmt
        bound : frozenset of str
            Names that surely have a value before them.
        depth : int
            Of the loops around them.
        """
        builder = _Builder(self, bound, depth)
        for statement in statements:
            builder.place(statement)
        return builder.finished()

    # -- Questions about nodes ------------------------------------------------

    def callee_loops(self, node: ast.expr) -> bool:
        """Whether a called expression is a function that loops, an inner one or another."""
        if isinstance(node, ast.Name) and node.id in self.inner:
            return node.id in self.looping
        return self._outer_loops(node)

    def _looping_functions(self) -> frozenset[str]:
        """The inner functions that loop, themselves or in what they call."""
        looping = {n for n, d in self.inner.items() if any(map(self._turns, ast.walk(d)))}
        before = -1
        while before != len(looping):
            before = len(looping)
            for inner, node in self.inner.items():
                if looping & _names.free_names(_function_node(node)):
                    looping.add(inner)
        return frozenset(looping)

    def _turns(self, node: ast.AST) -> bool:
        """Whether a part of an inner function is a loop that mustn't be unrolled."""
        if isinstance(node, ast.While):
            return True
        if isinstance(node, ast.For):
            return not self.is_unrolled(node)
        return isinstance(node, ast.Call) and self._outer_loops(node.func)

    def has_form(self, node: ast.AST) -> bool:
        """Whether `npaccel.fori_loop` or the like is called somewhere in it."""
        return any(
            isinstance(n, ast.Call) and self.form(n.func) is not None for n in ast.walk(node)
        )

    def functions_of(self, node: ast.Call) -> list[ast.expr]:
        """The arguments of a form that are functions, which Python makes."""
        names = self.form(node.func)
        if names is None:
            return []
        by_place = [a for a, n in zip(node.args, names, strict=False) if n.endswith("()")]
        keywords = {n.removesuffix("()") for n in names if n.endswith("()")}
        return by_place + [k.value for k in node.keywords if k.arg in keywords]

    def is_unrolled(self, loop: ast.For | ast.While) -> bool:
        """Whether a loop has few turns, known from its text, and nothing leaves it."""
        if isinstance(loop, ast.While) or loop.orelse or len(loop.body) > 8:
            return False
        turns = _constant_turns(loop.iter)
        if turns is None or not 0 < turns <= MAX_UNROLLED:
            return False
        leaving = ast.Break | ast.Continue | ast.Return | ast.While
        inside = [n for s in loop.body for n in ast.walk(s)]
        if any(isinstance(n, leaving) or self.is_hoisted(n) for n in inside):
            return False
        nested = [n for n in inside if isinstance(n, ast.For)]
        if not all(map(self.is_unrolled, nested)):
            return False
        total = turns
        for n in nested:
            total *= _constant_turns(n.iter) or 1
        return total * len(loop.body) <= _MAX_UNROLLED_STATEMENTS

    def is_hoisted(self, node: ast.AST) -> bool:
        """Whether an expression is computed by Python itself, ahead of what it stands in."""
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return self.is_container(node.value) and self.kinds.moves(node.slice)
        if not isinstance(node, ast.Call):
            return False
        if self.callee_loops(node.func) or self.kinds.converts(node):
            return True
        if isinstance(node.func, ast.Name) and node.func.id in _NATIVE_BUILTINS:
            return node.func.id not in self.kinds.locals
        if any(map(self.is_container, node.args)):
            return not (isinstance(node.func, ast.Name) and node.func.id in ("len", "enumerate"))
        method = isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING_METHODS
        return method and self.is_container(node.func.value)  # type: ignore[attr-defined]

    def is_container(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.containers

    def has_hoisted(self, node: ast.AST) -> bool:
        return any(self.is_hoisted(n) for n in ast.walk(node))

    def reads_container(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.containers for n in ast.walk(node))

    def needs_python(self, statements: Iterable[ast.stmt]) -> bool:
        """Whether statements hold something that Python has to drive."""
        leaving = ast.Break | ast.Continue | ast.Return | ast.Raise | ast.Try | ast.While
        for statement in statements:
            for node in ast.walk(statement):
                if isinstance(node, leaving | ast.Delete | ast.Import | ast.ImportFrom):
                    return True
                if isinstance(node, ast.For) and not self.is_unrolled(node):
                    return True
                if self.is_hoisted(node) or (
                    isinstance(node, ast.Name) and node.id in self.containers
                ):
                    return True
                if isinstance(node, ast.If) and not self.is_static_test(node.test):
                    return True
        return False

    def is_static_test(self, test: ast.expr) -> bool:
        """Whether a condition is about Python values that stay the same in all loops."""
        return self.kinds.is_host(test) and not (_names.of_expression(test).reads & self.changing)

    def flow(self, statement: ast.stmt) -> Flow:
        """What a statement does with names, in the inner functions that it uses too."""
        reads = [_names.free_names(_function_node(d)) for d in self.definitions_for([statement])]
        return Flow(frozenset().union(*reads)).then(_names.of_statement(statement))

    def commute(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether two statements, one of which touches no array's elements, may change places."""
        a, b = self.flow(one), self.flow(other)
        return not (a.writes & (b.reads | b.writes) or b.writes & a.reads)

    def definitions_for(self, statements: Sequence[ast.AST]) -> list[ast.stmt]:
        """The inner functions that statements use, and those that these use."""
        needed: dict[str, ast.stmt] = {}
        todo = list(statements)
        while todo:
            for node in ast.walk(todo.pop()):
                if isinstance(node, ast.Name) and node.id in self.inner and node.id not in needed:
                    needed[node.id] = self.inner[node.id]
                    todo.append(self.inner[node.id])
        return [copy.deepcopy(d) for d in sorted(needed.values(), key=lambda d: d.lineno)]


class _Builder:
    """Collects the pieces of one block."""

    def __init__(self, splitter: _Splitter, bound: Names, depth: int) -> None:
        self.splitter = splitter
        self.kinds = splitter.kinds
        self.bound = bound
        self.start = bound  # What is bound before the statements that aren't in a region yet.
        self.depth = depth
        self.out: list[ast.stmt] = []
        self.run: list[ast.stmt] = []
        self.deferred: list[ast.stmt] = []

    # -- Collecting -----------------------------------------------------------

    def add(self, statement: ast.stmt) -> None:
        """Add a statement to what is compiled together."""
        statement = self._with_known_bounds(statement)
        if self.deferred and not self._commutes(statement, self.deferred):
            self.flush()
        self.run.append(statement)
        self._written(statement)

    def python(self, statement: ast.stmt, *, may_wait: bool = False) -> None:
        """Add a statement that Python runs."""
        statement = self._with_inner_calls(statement)
        if may_wait and self.run:
            self.deferred.append(statement)
        else:
            self.flush()
            self.out.append(statement)
        self._written(statement)

    def _written(self, statement: ast.stmt) -> None:
        self.bound |= _names.of_statement(statement).sure

    def flush(self) -> None:
        """Make a region of the statements collected so far."""
        before, inside, after = self._sorted_out(self.run)
        self.out += before
        if inside:
            definitions = self.splitter.definitions_for(inside)
            self.out.append(Region(inside, definitions, self.depth > 0, self.start))
        self.out += after
        self.out += self.deferred
        self.run, self.deferred = [], []
        self.start = self.bound

    def finished(self) -> list[ast.stmt]:
        self.flush()
        return self.out or [ast.Pass()]

    def _sorted_out(
        self, run: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
        """Take what is about Python values alone out of a run, to its ends."""
        before: list[ast.stmt] = []
        inside: list[ast.stmt] = []
        after: list[ast.stmt] = []
        for statement in run:
            if self.is_move(statement) and self._may_move(statement, inside):
                before.append(statement)
            else:
                inside.append(statement)
        for statement in reversed(inside[:]):
            if not self.is_move(statement):
                continue
            later = inside[inside.index(statement) + 1 :]
            if self._may_move(statement, later):
                inside.remove(statement)
                after.insert(0, statement)
        return before, inside, after

    def _commutes(self, statement: ast.stmt, others: Iterable[ast.stmt]) -> bool:
        return all(self.splitter.commute(statement, other) for other in others)

    def _may_move(self, statement: ast.stmt, past: Sequence[ast.stmt]) -> bool:
        """Whether a statement about host values may change places with some others."""
        if not past:
            return True
        known = self.kinds.locals | frozenset(self.splitter.temporaries)
        flow = _names.of_statement(statement)
        # What isn't local may be read and written by functions that are called.
        local = flow.reads | flow.writes <= known
        return local and _cannot_fail(statement) and self._commutes(statement, past)

    def is_move(self, statement: ast.stmt) -> bool:
        """Whether a statement only renames values, or is about host values."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_name_target, targets)) and self.kinds.moves(value)
            case ast.AnnAssign(target=target, value=value):
                return isinstance(target, ast.Name) and (value is None or self.kinds.moves(value))
            case ast.AugAssign(target=ast.Name() as target, value=value):
                return target.id in self.kinds.host and self.kinds.is_host(value)
            case ast.Pass():
                return True
            case ast.Expr(value=value):
                return isinstance(value, ast.Constant)
            case _:
                return False

    # -- Placing --------------------------------------------------------------

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
        splitter = self.splitter
        if _makes_container(statement, splitter.containers) or _is_inner(statement):
            self.python(statement, may_wait=self._commutes(statement, self.run))
            return
        if _names.of_statement(statement).writes & self.splitter.declared.keys() and self._is_hosts(
            statement
        ):
            self.python(statement)
            return
        if not splitter.has_hoisted(statement) and not splitter.reads_container(statement):
            self.add(statement)
            return
        try:
            self._lifted(statement)
        except _CannotLiftError:
            self._natively(statement)

    def _is_hosts(self, statement: ast.stmt) -> bool:
        """Whether a statement gives a global name, or one of a closure, a host value."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_name_target, targets)) and self.kinds.moves(value)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                read = ast.copy_location(name(target.id), target)
                return self.kinds.is_host(read) and self.kinds.is_host(value)
        return False

    def _natively(self, statement: ast.stmt) -> None:
        self.splitter.native.append(
            (statement.lineno, "it uses a list that grows, or a loop of another function, inside "
             "an expression")
        )  # fmt: skip
        self.python(statement)

    def _lifted(self, statement: ast.stmt) -> None:
        """Compute by Python what has to be, then go on with the rest."""
        match statement:
            case ast.Expr(value=value) if self.splitter.is_hoisted(value):
                assert isinstance(value, ast.Call)
                grows = isinstance(value.func, ast.Attribute)
                call = self._with_lifted_arguments(value)
                new = ast.copy_location(ast.Expr(value=call), statement)
                self.python(new, may_wait=grows)
            case ast.Assign(targets=targets, value=value) if self.splitter.is_hoisted(value) and (
                all(map(_is_name_target, targets))
            ):
                call = self._with_lifted_arguments(value)
                self.python(ast.copy_location(ast.Assign(targets=targets, value=call), statement))
                if isinstance(value, ast.Call):  # Numbers that may be others at the next call.
                    self.splitter.varying |= _names.of_statement(statement).sure
            case ast.Assign(targets=targets, value=value):
                if any(map(self.splitter.has_hoisted, targets)):
                    raise _CannotLiftError
                new_value = self.lift(value)
                assigned = ast.copy_location(
                    ast.Assign(targets=targets, value=new_value), statement
                )
                if any(map(self.splitter.reads_container, targets)):
                    self._store_in_container(assigned)
                else:
                    self._after_lifting(assigned)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                new_value = self.lift(value)
                operation = ast.AugAssign(target=target, op=statement.op, value=new_value)
                self._after_lifting(ast.copy_location(operation, statement))
            case ast.Expr(value=value):
                self._after_lifting(ast.copy_location(ast.Expr(self.lift(value)), statement))
            case _:
                raise _CannotLiftError

    def _after_lifting(self, statement: ast.stmt) -> None:
        if self.splitter.reads_container(statement):
            raise _CannotLiftError
        self.add(statement)

    def _store_in_container(self, statement: ast.Assign) -> None:
        """``results[key] = value``: the value is compiled, Python stores it."""
        if not self.kinds.moves(statement.value):
            value = self._as_temporary(statement.value)
            statement = ast.copy_location(ast.Assign(statement.targets, value), statement)
        self.python(statement)

    def _as_temporary(self, value: ast.expr) -> ast.Name:
        temporary = self.splitter.new_name()
        self.add(assign(temporary, value))
        return ast.copy_location(name(temporary), value)

    def lift(self, node: ast.expr) -> ast.expr:
        """Compute the parts of an expression that Python has to, in order; return the rest."""
        splitter = self.splitter
        if not splitter.has_hoisted(node):
            return node
        if splitter.is_hoisted(node):
            call = self._with_lifted_arguments(node)
            temporary = splitter.new_name()
            self.python(assign(temporary, call))
            if isinstance(node, ast.Call):
                splitter.varying |= {temporary}
            if self.kinds.converts(node):
                self._is_number(temporary)
            return ast.copy_location(name(temporary), node)
        if isinstance(node, ast.Lambda | ast.IfExp | ast.BoolOp | _COMPREHENSIONS):
            raise _CannotLiftError
        return self._with_lifted_parts(node)

    def _with_lifted_parts(self, node: ast.expr) -> ast.expr:
        parts = _evaluated(node)
        last = max(i for i, part in enumerate(parts) if self.splitter.has_hoisted(part))
        new: dict[int, ast.expr] = {}
        for i, part in enumerate(parts[: last + 1]):
            lifted = self.lift(part)
            if i < last and not self.kinds.moves(lifted) and not _is_module(lifted, self.kinds):
                lifted = self._as_temporary(lifted)
            new[id(part)] = lifted
        return _replaced(node, new)

    def _with_lifted_arguments(self, node: ast.expr) -> ast.expr:
        """A call by Python, whose arguments are there already."""
        if isinstance(node, ast.Subscript):
            return node
        assert isinstance(node, ast.Call)
        parts = [*node.args, *(k.value for k in node.keywords)]
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise _CannotLiftError
        new: dict[int, ast.expr] = {}
        functions = self.splitter.functions_of(node)
        for part in parts:
            if part in functions or _is_display_of_names(part, self.kinds):
                continue
            if self.kinds.moves(part) or self.splitter.is_container(part):
                continue
            if functions and isinstance(part, ast.Tuple | ast.List):
                new[id(part)] = self._with_lifted_elements(part)
                continue
            if isinstance(part, ast.JoinedStr):
                new[id(part)] = self._with_lifted_fields(part)
                continue
            lifted = self.lift(part)
            if self.splitter.reads_container(lifted):
                raise _CannotLiftError
            new[id(part)] = lifted if self.kinds.moves(lifted) else self._as_temporary(lifted)
        return _replaced(node, new)

    def _with_lifted_elements(self, node: ast.Tuple | ast.List) -> ast.expr:
        """What a form starts with: Python puts it together, so that numbers stay Python's."""
        new: dict[int, ast.expr] = {}
        for part in node.elts:
            if self.kinds.moves(part) or self.splitter.reads_container(part):
                continue
            if isinstance(part, ast.Starred):
                raise _CannotLiftError
            lifted = self.lift(part)
            new[id(part)] = lifted if self.kinds.moves(lifted) else self._as_temporary(lifted)
        return _replaced(node, new)

    def _with_lifted_fields(self, node: ast.JoinedStr) -> ast.expr:
        new: dict[int, ast.expr] = {}
        for field in node.values:
            if isinstance(field, ast.FormattedValue) and not self.kinds.moves(field.value):
                if self.splitter.reads_container(field.value):
                    raise _CannotLiftError
                new[id(field.value)] = self._as_temporary(self.lift(field.value))
        return _replaced(node, new)

    def _with_known_bounds(self, statement: ast.stmt) -> ast.stmt:
        """Let Python compute the bounds of slices that it gets from arrays.

        Compiled code has to know how sizes depend on its inputs.
        """
        bounds = [
            bound
            for node in ast.walk(statement)
            if isinstance(node, ast.Slice)
            for bound in (node.lower, node.upper, node.step)
            if bound is not None and self._is_bound_of_array(bound)
        ]
        if not bounds or not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
            return statement
        new: dict[int, ast.expr] = {}
        for bound in bounds:
            temporary = self.splitter.new_name()
            index = ast.Call(func=name(INDEX), args=[bound], keywords=[])
            self.python(assign(temporary, ast.copy_location(index, bound)))
            self._is_number(temporary)
            new[id(bound)] = ast.copy_location(name(temporary), bound)
        return _replaced(statement, new)

    def _is_number(self, temporary: str) -> None:
        self.kinds.host.add(temporary)
        self.splitter.varying |= {temporary}

    def _is_bound_of_array(self, bound: ast.expr) -> bool:
        return _is_scalar_by_text(bound) and not self.kinds.is_host(bound)

    def _with_inner_calls(self, statement: ast.stmt) -> ast.stmt:
        """Let functions that loop, called by Python, be split functions too."""
        return _InnerCalls(self.splitter).visit(statement)  # type: ignore[no-any-return]

    # -- Conditions -----------------------------------------------------------

    def _if(self, statement: ast.If) -> None:
        splitter = self.splitter
        if (
            splitter.is_static_test(statement.test)
            and not splitter.needs_python([*statement.body, *statement.orelse])
            and not splitter.reads_container(statement)
            and self._leaves_bound(statement)
        ):
            self.add(statement)
            return
        test = self.test(statement.test, first=True)
        self.flush()
        bound = self.bound
        body = splitter.block(statement.body, bound, self.depth)
        orelse = splitter.block(statement.orelse, bound, self.depth) if statement.orelse else []
        self.out.append(ast.copy_location(ast.If(test=test, body=body, orelse=orelse), statement))
        self._written(statement)

    def _leaves_bound(self, statement: ast.If) -> bool:
        """Whether every name that a branch may write has a value after it."""
        flow = _names.of_statement(statement)
        return flow.writes <= flow.sure | self.bound and flow.reads & self.kinds.locals <= (
            self.bound
        )

    def test(self, node: ast.expr, *, first: bool) -> ast.expr:
        """Return a condition for Python to test.

        Parameters
        ----------
        node : ast.expr
        first : bool
            Whether it's always computed, so that it may be computed ahead.
        """
        if self._is_pythons(node):
            return node
        if isinstance(node, ast.BoolOp):
            head, *rest = node.values
            values = [self.test(head, first=first), *(self.test(v, first=False) for v in rest)]
            return ast.copy_location(ast.BoolOp(op=node.op, values=values), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operand = self.test(node.operand, first=first)
            return ast.copy_location(ast.UnaryOp(op=node.op, operand=operand), node)
        if self.splitter.reads_container(node) or self.splitter.has_hoisted(node):
            if not first:
                return _InnerCalls(self.splitter).visit(node)  # type: ignore[no-any-return]
            try:
                node = self.lift(node)
            except _CannotLiftError:
                return _InnerCalls(self.splitter).visit(node)  # type: ignore[no-any-return]
            if self.kinds.is_host(node) or self.splitter.reads_container(node):
                return node
        if first:
            return self._as_temporary(node)
        return Inline(node, self.splitter.definitions_for([node]))

    def _is_pythons(self, test: ast.expr) -> bool:
        """Whether Python tests a condition itself: on numbers it's faster than any call."""
        if isinstance(test, ast.Compare):
            parts = [test.left, *test.comparators]
            return self.kinds.is_host(test) or all(map(_is_scalar_by_text, parts))
        return self.kinds.is_host(test) or _is_scalar_by_text(test)

    def _assert(self, statement: ast.Assert) -> None:
        test = self.test(statement.test, first=True)
        new = ast.Assert(test=test, msg=statement.msg)
        self.python(ast.copy_location(new, statement))

    def _return(self, statement: ast.Return) -> None:
        value = statement.value
        if value is not None and not self.kinds.moves(value):
            try:
                value = self.lift(value)
                if self.splitter.reads_container(value):
                    value = self._returned_parts(value)
                elif not self.kinds.moves(value):
                    value = self._as_temporary(value)
            except _CannotLiftError:
                self._natively(statement)
                return
        self.python(ast.copy_location(ast.Return(value=value), statement))

    def _returned_parts(self, value: ast.expr) -> ast.expr:
        """``return u, history``: what isn't about the list is compiled."""
        if self.splitter.is_container(value):
            return value
        if not isinstance(value, ast.Tuple):
            raise _CannotLiftError
        parts = [
            p
            if self.kinds.moves(p) or self.splitter.is_container(p)
            else self._as_temporary(self.lift(p))
            for p in value.elts
        ]
        return ast.copy_location(ast.Tuple(elts=parts, ctx=ast.Load()), value)

    # -- Blocks ---------------------------------------------------------------

    def _with(self, statement: ast.With) -> None:
        if not self.splitter.needs_python(statement.body) and not (
            self.splitter.reads_container(statement)
        ):
            self.add(statement)
            return
        self.flush()
        body = self.splitter.block(statement.body, self.bound, self.depth)
        self.out.append(ast.copy_location(ast.With(items=statement.items, body=body), statement))
        self._written(statement)

    def _try(self, statement: ast.Try) -> None:
        """Each statement is compiled by itself: what it assigned must be seen by handlers."""
        self.flush()
        block = self.splitter.block

        def singly(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
            return [new for s in statements for new in block([s], self.bound, self.depth)]

        # What a nest has assigned when it raises isn't known outside of it.
        nests, self.splitter.nests = self.splitter.nests, False

        handlers = []
        for old in statement.handlers:
            body = block(old.body, self.bound, self.depth)
            handler = ast.ExceptHandler(type=old.type, name=old.name, body=body)
            handlers.append(ast.copy_location(handler, old))
        new = ast.Try(
            body=singly(statement.body),
            handlers=handlers,
            orelse=singly(statement.orelse),
            finalbody=singly(statement.finalbody),
        )
        self.splitter.nests = nests
        self.out.append(ast.copy_location(new, statement))
        self._written(statement)

    def _loop(self, statement: ast.For | ast.While) -> None:
        splitter = self.splitter
        if splitter.is_unrolled(statement) and not splitter.reads_container(statement):
            self.add(statement)
            return
        nest = splitter.nests and not splitter.in_nest and _may_be_elementwise(statement)
        nest = nest and not splitter.has_form(statement)
        if nest:
            self.flush()
            splitter.in_nest = True
            inner = _Builder(splitter, self.bound, self.depth)
            inner._driven(statement)
            self.out.append(Nest(statement, inner.finished(), self.bound))
            splitter.in_nest = False
        else:
            self._driven(statement)
        self._written(statement)

    def _driven(self, statement: ast.For | ast.While) -> None:
        self.splitter.loops.append(statement)
        if isinstance(statement, ast.While):
            self._while(statement)
        else:
            self._for(statement)

    def _for(self, statement: ast.For) -> None:
        iterable = self._iterable(statement.iter)
        self.flush()
        bound = self.bound | _names.of_expression(statement.target).sure
        body = self.splitter.block(statement.body, bound, self.depth + 1)
        orelse = self._else(statement)
        new = ast.For(target=statement.target, iter=iterable, body=body, orelse=orelse)
        self.out.append(ast.copy_location(new, statement))

    def _else(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        if not statement.orelse:
            return []
        return self.splitter.block(statement.orelse, self.bound, self.depth)

    def _iterable(self, node: ast.expr) -> ast.expr:
        """What a loop goes over; Python takes its items."""
        if self.kinds.moves(node) or self.splitter.is_container(node):
            return node
        if isinstance(node, ast.Call) and _called_name(node) in _ITERATORS:
            args = [
                a if _called_name(node) == "range" and _is_scalar_by_text(a) else self._iterable(a)
                for a in node.args
            ]
            return ast.copy_location(ast.Call(node.func, args, node.keywords), node)
        if self._is_array_expression(node):
            return self._as_temporary(node)
        return _InnerCalls(self.splitter).visit(node)  # type: ignore[no-any-return]

    def _is_array_expression(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript) and self.kinds.is_simple(node.value):
            return not self.kinds.is_host(node.slice)  # A view is made by Python sooner.
        if self.splitter.has_hoisted(node) or self.splitter.reads_container(node):
            return False
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            found = self.kinds.value_of(owner) if owner is not None else None
            return getattr(found, "__name__", "") == "numpy" and node.func.attr not in (  # type: ignore[attr-defined]
                "ndindex", "nditer", "ndenumerate",
            )  # fmt: skip
        return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)

    def _while(self, statement: ast.While) -> None:
        """A condition on arrays is computed at the end of the turn, with the rest."""
        lead = _leading(statement.test)
        if self._is_pythons(lead):
            test, body = self.test(statement.test, first=False), statement.body
        else:
            temporary = self.splitter.new_name()
            ahead = assign(temporary, lead)
            self.place(ahead)
            test = self.test(
                _with_leading(statement.test, ast.copy_location(name(temporary), lead)),
                first=False,
            )
            body = [*_Continues(ahead).all(statement.body), copy.deepcopy(ahead)]
        self.flush()
        inner = self.splitter.block(body, self.bound, self.depth + 1)
        new = ast.While(test=test, body=inner, orelse=self._else(statement))
        self.out.append(ast.copy_location(new, statement))


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _InnerCalls(ast.NodeTransformer):
    """Wrap what is called by Python: functions that loop, and NumPy on lists."""

    def __init__(self, splitter: _Splitter) -> None:
        self.splitter = splitter
        self.bodies: list[ast.expr] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.bodies += self.splitter.functions_of(node)
        self.generic_visit(node)
        function: ast.expr | None = None
        if self.splitter.callee_loops(node.func):
            line = ast.Constant(node.lineno)
            function = ast.Call(func=name(INNER), args=[node.func, line], keywords=[])
        elif self._is_numpy(node.func) and any(map(self.splitter.is_container, node.args)):
            function = ast.Call(func=name(NATIVE), args=[node.func], keywords=[])
        if function is None:
            return node
        new = ast.Call(func=function, args=node.args, keywords=node.keywords)
        return ast.fix_missing_locations(ast.copy_location(new, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Inner functions are split from their source when they're called.
        return node if node.name in self.splitter.inner else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node if node in self.bodies else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return node if _is_inner(node) else self.generic_visit(node)

    def _is_numpy(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        return getattr(self.splitter.kinds.value_of(node.value), "__name__", "") == "numpy"


class _Continues(ast.NodeTransformer):
    """Put a statement before every ``continue`` of one loop."""

    def __init__(self, ahead: ast.stmt) -> None:
        self.ahead = ahead

    def all(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        module = ast.Module(body=[copy.deepcopy(s) for s in body], type_ignores=[])
        return self.visit(module).body  # type: ignore[no-any-return]

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [copy.deepcopy(self.ahead), node]

    def visit_For(self, node: ast.For) -> ast.For:
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


def _leading(test: ast.expr) -> ast.expr:
    """The part of a condition that is always computed, and first."""
    while True:
        if isinstance(test, ast.BoolOp):
            test = test.values[0]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        else:
            return test


def _with_leading(test: ast.expr, new: ast.expr) -> ast.expr:
    if isinstance(test, ast.BoolOp):
        values = [_with_leading(test.values[0], new), *test.values[1:]]
        return ast.copy_location(ast.BoolOp(op=test.op, values=values), test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        operand = _with_leading(test.operand, new)
        return ast.copy_location(ast.UnaryOp(op=test.op, operand=operand), test)
    return new


def _cannot_fail(statement: ast.stmt) -> bool:
    """Whether a statement about host values can't raise."""
    may = ast.Call | ast.Subscript | ast.Attribute | ast.Compare
    for node in ast.walk(statement):
        if isinstance(node, may):
            return False
        if isinstance(node, ast.BinOp | ast.AugAssign) and not isinstance(
            node.op, ast.Add | ast.Sub | ast.Mult
        ):
            return False
    return True


def _is_display_of_names(node: ast.expr, kinds: Kinds) -> bool:
    """Whether an expression puts values together that are there already."""
    parts: Sequence[ast.expr | None]
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.Dict(keys=keys, values=values):
            parts = [*keys, *values]
        case _:
            return False
    return all(
        part is not None and (kinds.moves(part) or _is_display_of_names(part, kinds))
        for part in parts
    )


def _is_name_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_is_name_target, target.elts))
    return isinstance(target, ast.Name)


def _is_module(node: ast.expr, kinds: Kinds) -> bool:
    return kinds.value_of(node) is not None


def _evaluated(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression in the order in which Python computes them."""
    if isinstance(node, ast.Call):
        return [node.func, *node.args, *(k.value for k in node.keywords)]
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]


class _Replace(ast.NodeTransformer):
    def __init__(self, new: dict[int, ast.expr]) -> None:
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        found = self.new.get(id(node))
        if found is not None:
            return found
        copied = copy.copy(node)
        return self.generic_visit(copied)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self._part(v) for v in value])
            else:
                setattr(node, field, self._part(value))
        return node

    def _part(self, value: object) -> object:
        return self.visit(value) if isinstance(value, ast.AST) else value


_Node = TypeVar("_Node", bound=ast.AST)


def _replaced(node: _Node, new: dict[int, ast.expr]) -> _Node:
    """A copy of an expression or statement with some of its parts, by identity, replaced."""
    return _Replace(new).visit(node)  # type: ignore[return-value]


def _is_scalar_by_text(node: ast.expr) -> bool:
    """Whether an expression is made of names, single elements, and arithmetic on them."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(value=ast.Name(), slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            return all(map(_is_scalar_by_text, parts))
        case ast.BinOp(left=left, right=right):
            return _is_scalar_by_text(left) and _is_scalar_by_text(right)
        case ast.UnaryOp(operand=operand):
            return _is_scalar_by_text(operand)
        case ast.Call(func=ast.Name(id="int" | "min" | "max" | "len" | "abs"), args=args):
            return all(map(_is_scalar_by_text, args))
    return False


def _constant_turns(iterable: ast.expr) -> int | None:
    """How often a loop turns, if its text says so."""
    if isinstance(iterable, ast.Tuple | ast.List):
        return len(iterable.elts)
    if not isinstance(iterable, ast.Call) or _called_name(iterable) != "range":
        return None
    values = [_integer(a) for a in iterable.args]
    numbers = [v for v in values if v is not None]
    if len(numbers) != len(values) or not 1 <= len(values) <= 3 or numbers[2:] == [0]:
        return None
    return len(range(*numbers))


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _integer(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _containers(definition: ast.FunctionDef) -> Names:
    """The lists, dicts and sets of a function that grow or change."""
    made = set()
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_container_display(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made |= {t.id for t in targets if isinstance(t, ast.Name)}
    changed = set()
    for node in ast.walk(definition):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _GROWING_METHODS
            and isinstance(node.func.value, ast.Name)
        ):
            changed.add(node.func.value.id)
        is_stored = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if is_stored and isinstance(node.value, ast.Name):  # type: ignore[attr-defined]
            changed.add(node.value.id)  # type: ignore[attr-defined]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
    return frozenset(made & changed)


def _is_container_display(node: ast.expr | None) -> bool:
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_container_display(node.left) or _is_container_display(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("list", "dict", "set", "deque", "defaultdict")
    return False


def _makes_container(statement: ast.stmt, containers: Names) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            return target in containers and _is_plain_display(value)
        case ast.AnnAssign(target=ast.Name(id=target), value=value):
            return target in containers and _is_plain_display(value)
    return False


def _is_plain_display(node: ast.expr | None) -> bool:
    """An empty list or dict, or one of constants and names."""
    if isinstance(node, ast.List | ast.Set):
        return all(isinstance(e, ast.Constant | ast.Name) for e in node.elts)
    if isinstance(node, ast.Dict):
        return all(isinstance(e, ast.Constant | ast.Name) for e in (*node.keys, *node.values))
    if isinstance(node, ast.Call):
        return _is_container_display(node) and not any(
            isinstance(n, ast.Call) for a in node.args for n in ast.walk(a)
        )
    if isinstance(node, ast.BinOp):
        return _is_container_display(node)
    return False


def _inner_definitions(definition: ast.FunctionDef) -> dict[str, ast.stmt]:
    """Functions defined inside, once, that can be defined again wherever they are used."""
    found: dict[str, list[ast.stmt]] = {}
    for node in ast.walk(definition):
        if node is definition:
            continue
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Lambda):
                found.setdefault(target.id, []).append(node)
    return {n: nodes[0] for n, nodes in found.items() if len(nodes) == 1 and _is_again(nodes[0])}


def _function_node(definition: ast.stmt) -> ast.FunctionDef | ast.Lambda:
    node = definition.value if isinstance(definition, ast.Assign) else definition
    assert isinstance(node, ast.FunctionDef | ast.Lambda)
    return node


def _is_again(node: ast.stmt) -> bool:
    """Whether defining an inner function a second time makes the same function."""
    inner = _function_node(node)
    defaults = [d for d in (*inner.args.defaults, *inner.args.kw_defaults) if d is not None]
    decorated = isinstance(inner, ast.FunctionDef) and inner.decorator_list
    nonlocal_ = any(isinstance(n, ast.Nonlocal) for n in ast.walk(inner))
    return not decorated and not nonlocal_ and all(isinstance(d, ast.Constant) for d in defaults)


def _is_inner(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda)


def _may_be_elementwise(loop: ast.For | ast.While) -> bool:
    """Whether the innermost loops read or write single elements, by their text."""
    subscripts = [n for n in ast.walk(loop) if isinstance(n, ast.Subscript)]
    over_items = isinstance(loop, ast.For) and not (
        isinstance(loop.iter, ast.Call) and _called_name(loop.iter) == "range"
    )
    return (bool(subscripts) or over_items) and not any(_has_slice(n.slice) for n in subscripts)


def _has_slice(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value in (None, ...))
        for p in parts
    )
