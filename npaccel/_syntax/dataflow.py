"""Local names that statements read and write."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from npaccel._syntax.context_managers import may_swallow

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclasses.dataclass(frozen=True)
class Flow:
    """Names that code reads, writes and deletes.

    Parameters
    ----------
    reads : frozenset of str
        Read, or perhaps read, before they are surely written here.
    writes : frozenset of str
        Perhaps written.
    sure : frozenset of str
        Written whenever the code ends normally.
    """

    reads: Names = _NONE
    writes: Names = _NONE
    sure: Names = _NONE

    @property
    def needs(self) -> Names:
        """Names that have to be handed in: read, or left as they were where they aren't written."""
        return self.reads | (self.writes - self.sure)

    def then(self, later: Flow) -> Flow:
        """Return the flow of this code, then some other."""
        return Flow(
            self.reads | (later.reads - self.sure),
            self.writes | later.writes,
            self.sure | later.sure,
        )

    def either(self, other: Flow) -> Flow:
        """Return the flow of this code or some other."""
        return Flow(self.reads | other.reads, self.writes | other.writes, self.sure & other.sure)

    def perhaps(self) -> Flow:
        """Return the flow of this code, or of nothing."""
        return Flow(self.reads, self.writes, _NONE)


def of_statements(statements: Iterable[ast.stmt]) -> Flow:
    """The flow of statements in a row."""
    flow = Flow()
    for statement in statements:
        flow = flow.then(of_statement(statement))
    return flow


def of_statement(node: ast.stmt) -> Flow:
    """The flow of one statement."""
    own = getattr(node, "npaccel_flow", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    special = _STATEMENTS.get(type(node))
    if special is not None:
        return special(node)
    return _all(ast.iter_child_nodes(node))


def _all(nodes: Iterable[ast.AST]) -> Flow:
    flow = Flow()
    for node in nodes:
        flow = flow.then(of_expression(node))
    return flow


def of_expression(node: ast.AST) -> Flow:
    """The flow of an expression, or of a target of an assignment."""
    own = getattr(node, "npaccel_flow", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    if isinstance(node, ast.Name):
        name = frozenset({node.id})
        return Flow(reads=name) if isinstance(node.ctx, ast.Load) else Flow(_NONE, name, name)
    if isinstance(node, ast.NamedExpr):
        return of_expression(node.value).then(of_expression(node.target))
    if isinstance(node, ast.Lambda | _COMPREHENSIONS):
        return Flow(reads=free_names(node), writes=walrus_targets(node))
    if isinstance(node, ast.BoolOp):
        first, *rest = node.values
        return of_expression(first).then(_all(rest).perhaps())
    if isinstance(node, ast.IfExp):
        branches = of_expression(node.body).either(of_expression(node.orelse))
        return of_expression(node.test).then(branches)
    if isinstance(node, ast.stmt):
        return of_statement(node)
    return _all(ast.iter_child_nodes(node))


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def walrus_targets(node: ast.AST) -> Names:
    """The names that ``:=`` in an expression writes."""
    return frozenset(n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))


def free_names(node: ast.AST) -> Names:
    """The names that a lambda, comprehension or definition reads from around it."""
    if isinstance(node, ast.Lambda | ast.FunctionDef):
        arguments = node.args
        own = {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
        body: Sequence[ast.AST] = node.body if isinstance(node.body, list) else [node.body]
        own |= frozenset(stores(body))
        defaults = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
        return (_loaded(body) - own) | _loaded(defaults)
    return _loaded([node]) - frozenset(stores([node])) | walrus_targets(node)


def _loaded(nodes: Iterable[ast.AST]) -> Names:
    return frozenset(
        n.id
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


def stores(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Return how often each name is assigned to in some code, in place as well."""
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return Counter(n.id for n in names if isinstance(n.ctx, ast.Store))


def _assign(node: ast.Assign) -> Flow:
    return of_expression(node.value).then(_all(node.targets))


def _augmented(node: ast.AugAssign) -> Flow:
    if isinstance(node.target, ast.Name):
        name = frozenset({node.target.id})
        return Flow(reads=name).then(of_expression(node.value)).then(Flow(_NONE, name, name))
    return of_expression(node.target).then(of_expression(node.value))


def _annotated(node: ast.AnnAssign) -> Flow:
    if node.value is None:
        return Flow()
    return of_expression(node.value).then(of_expression(node.target))


def _if(node: ast.If) -> Flow:
    branches = of_statements(node.body).either(of_statements(node.orelse))
    return of_expression(node.test).then(branches)


def _for(node: ast.For) -> Flow:
    body = of_expression(node.target).then(of_statements(node.body))
    rest = of_statements(node.orelse)
    return of_expression(node.iter).then(body.perhaps()).then(rest.perhaps())


def _while(node: ast.While) -> Flow:
    body = of_statements(node.body).perhaps().then(of_statements(node.orelse).perhaps())
    return of_expression(node.test).then(body)


def _with(node: ast.With) -> Flow:
    body = of_statements(node.body)
    return _all(node.items).then(body.perhaps() if may_swallow(node) else body)


def _try(node: ast.Try | ast.TryStar) -> Flow:
    flow = of_statements(node.body).perhaps()
    for handler in node.handlers:
        caught = bound_names(handler)
        start = Flow() if handler.type is None else of_expression(handler.type)
        inner = start.then(Flow(_NONE, caught, caught)).then(of_statements(handler.body))
        flow = flow.then(inner.perhaps())
    flow = flow.then(of_statements(node.orelse).perhaps())
    return flow.then(of_statements(node.finalbody))


def bound_names(node: ast.ExceptHandler | ast.match_case) -> Names:
    """The names that a handler, or a pattern, gives what it has caught, or parts of it."""
    if isinstance(node, ast.ExceptHandler):
        return frozenset({node.name} if node.name else ())
    parts = list(ast.walk(node.pattern))
    names = [p.name for p in parts if isinstance(p, ast.MatchAs | ast.MatchStar)]
    names += [p.rest for p in parts if isinstance(p, ast.MatchMapping)]
    return frozenset(name for name in names if name)


def _match(node: ast.Match) -> Flow:
    flow = of_expression(node.subject)
    for case in node.cases:
        names = bound_names(case)
        pattern = _all(n for n in ast.walk(case.pattern) if isinstance(n, ast.expr))
        inner = pattern.then(Flow(_NONE, names, names))
        if case.guard is not None:
            inner = inner.then(of_expression(case.guard))
        flow = flow.then(inner.then(of_statements(case.body)).perhaps())
    return flow


def _class(node: ast.ClassDef) -> Flow:
    name = frozenset({node.name})
    return Flow(_loaded([node]), name, name)


def _definition(node: ast.FunctionDef) -> Flow:
    name = frozenset({node.name})
    return Flow(free_names(node), name, name)


def _import(node: ast.Import | ast.ImportFrom) -> Flow:
    names = frozenset(a.asname or a.name.partition(".")[0] for a in node.names)
    return Flow(_NONE, names, names)


def _nothing(_: ast.stmt) -> Flow:
    return Flow()


_STATEMENTS: dict[type[ast.stmt], Callable[[Any], Flow]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.AnnAssign: _annotated,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.With: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.ClassDef: _class,
    ast.FunctionDef: _definition,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
}


def is_name_target(target: ast.expr) -> bool:
    """Whether an assignment's target is a name, or a tuple of such targets."""
    if isinstance(target, ast.Tuple):
        return all(map(is_name_target, target.elts))
    return isinstance(target, ast.Name)


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement, but those of functions and classes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return
    for field in ("body", "orelse", "finalbody"):
        part = getattr(statement, field, None)
        if isinstance(part, list):
            yield part
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def leaving(body: Iterable[ast.stmt]) -> Iterator[ast.Break | ast.Continue]:
    """Yield what ends iterations of the loop that statements are the body of."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            yield statement
        elif isinstance(statement, ast.For | ast.While):
            yield from leaving(statement.orelse)
        else:
            for block in blocks(statement):
                yield from leaving(block)


def local_names(function: ast.FunctionDef) -> Names:
    """The parameters of a function and the names that it assigns to."""
    parameters = {a.arg for a in _parameters(function.args)}
    written = of_statements(function.body).writes | parameters
    return frozenset(written - declarations(function).keys())


def declarations(function: ast.FunctionDef) -> dict[str, type[ast.Global | ast.Nonlocal]]:
    """The names that a function, not one defined in it, declares as global or nonlocal."""
    found: dict[str, type[ast.Global | ast.Nonlocal]] = {}
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            found |= dict.fromkeys(node.names, type(node))
        elif not isinstance(node, ast.FunctionDef):
            todo += ast.iter_child_nodes(node)
    return found


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    extra = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]
