"""Variants of a driven loop, on tensors and as the user wrote it, and the loop that calls them.

::

    execution = loop(items)
    for i in execution.it:
        ...                                   # calls of regions, by Python
        if execution.should_switch():
            execution.continue_with(u, v)     # further iterations, by a variant
            if execution.returns:
                return execution.result
            u, v = execution.values
            if execution.broke:
                break
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Sequence
from typing import TypeGuard

from npaccel._loops.partition.nodes import EXECUTION, INNER, LOOP, NATIVE, assign, name
from npaccel._syntax import dataflow
from npaccel._syntax.dataflow import Names

#: Names of the split function that only stand for what it calls.
_PREFIXES = ("_npaccel_region", "_npaccel_nest", "_npaccel_loop", "_npaccel_execution")
_EXITS, _ITEMS = "_npaccel_exits", "_npaccel_items"
Loop = ast.For | ast.While


@dataclasses.dataclass
class VariantDefinitions:
    """The variants of one loop, as functions of its variables.

    Parameters
    ----------
    loop : ast.For or ast.While
        As the user wrote it.
    state : tuple of str
    on_tensors, in_numpy : ast.FunctionDef or None
    host_reads : frozenset of str
        Names whose values Python computes with in the variant on tensors.
    lists : frozenset of str
        Names of what the variant on tensors appends to.
    regions, nests : tuple of str
    """

    loop: Loop
    state: tuple[str, ...]
    on_tensors: ast.FunctionDef | None
    in_numpy: ast.FunctionDef | None
    host_reads: Names
    lists: Names
    regions: tuple[str, ...]
    nests: tuple[str, ...]


def define_variants(
    node: Loop,
    original: Loop,
    bound: Names,
    local_names: Names,
    live: Names,
    declared: Names,
    place: int,
) -> VariantDefinitions | None:
    """Define the variants of a loop; None if its iterations have to be driven one by one.

    Parameters
    ----------
    node : ast.For or ast.While
        With calls of regions in it.
    original : ast.For or ast.While
    bound : frozenset of str
        Names that surely have a value before the loop.
    local_names : frozenset of str
        The function's.
    live : frozenset of str
        Names that are read in later iterations, or after the loop.
    declared : frozenset of str
        Names that the function declares as global or nonlocal.
    place : int
        Part of the variants' names.
    """
    bare = without_executions(node)
    called = _called(bare)
    regions = tuple(n for n in called if n.startswith("_npaccel_region"))
    one, other = _iteration(bare), _iteration(original)
    used = (one.reads | one.writes | other.reads | other.writes) & local_names
    used &= live | one.reads | other.reads
    state = tuple(sorted(n for n in used if not n.startswith(_PREFIXES)))
    sure = bound | (one.sure & other.sure) | (one.sure - other.reads - other.writes)
    if not regions or not sure.issuperset(state) or declared & (one.writes | other.writes):
        return None
    by_python = any(n in called for n in (INNER, NATIVE))
    carried = any(n.startswith("_npaccel_t") for n in one.reads & local_names)
    in_numpy = None
    if not (by_python or carried or _leaves(original)):
        in_numpy = _in_numpy(original, state, place)
    on_tensors = (
        _on_tensors(bare, state, regions, place)
        if not by_python and _is_simple(bare.body)
        else None
    )
    if on_tensors is None and in_numpy is None:
        return None
    nests = tuple(n for n in called if n.startswith("_npaccel_nest"))
    return VariantDefinitions(
        original, state, on_tensors, in_numpy, _host_reads(bare), _lists(bare), regions, nests
    )


def with_execution(node: Loop, found: VariantDefinitions, place: int) -> list[ast.stmt]:
    """Return a loop that may call its variants."""
    execution, loop = EXECUTION.format(place), LOOP.format(place)
    items = [node.iter] if isinstance(node, ast.For) else []
    start = assign(execution, ast.copy_location(ast.Call(name(loop), [*items], []), node))
    state = ast.Tuple([name(n, ast.Store()) for n in found.state], ast.Store())
    further = _call(execution, "continue_with", [name(n) for n in found.state])
    result = ast.Return(_attribute(execution, "result"))
    returns = ast.If(_attribute(execution, "returns"), [result], [])
    values = ast.Assign([state], _attribute(execution, "values"))
    leave = ast.If(_attribute(execution, "broke"), [ast.Break()], [])
    body: list[ast.stmt] = [ast.Expr(further), returns, values, leave]
    switch = ast.If(_call(execution, "should_switch", []), body, [])
    new = copy.copy(node)
    new.body = [*node.body, ast.copy_location(switch, node)]
    if isinstance(new, ast.For):
        new.iter = ast.copy_location(_attribute(execution, "it"), node)
    new.__dict__["npaccel_bare"] = node
    start.__dict__["npaccel_begins"] = True
    return [start, new]


def without_executions(node: Loop) -> Loop:
    """Return a copy of a loop in which inner loops don't call their variants."""
    bare = _Bare().visit(copy.deepcopy(node))
    assert isinstance(bare, Loop)
    bare.orelse = []
    return bare


class _Bare(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        return None if hasattr(node, "npaccel_begins") else node

    def visit_For(self, node: ast.For) -> ast.AST:
        return self.generic_visit(getattr(node, "npaccel_bare", node))

    def visit_While(self, node: ast.While) -> ast.AST:
        return self.generic_visit(getattr(node, "npaccel_bare", node))


def _iteration(loop: Loop) -> dataflow.Flow:
    """Names that one iteration reads and writes, from its head to its end."""
    head = dataflow.of_expression(loop.target if isinstance(loop, ast.For) else loop.test)
    return head.then(dataflow.of_statements(loop.body))


def _called(node: ast.AST) -> tuple[str, ...]:
    found = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return tuple(dict.fromkeys(n for n in found if n.startswith("_npaccel_")))


def _leaves(loop: Loop) -> bool:
    """Whether something in a loop leaves the function, or needs it around."""
    refused = ast.Global | ast.Nonlocal | ast.FunctionDef | ast.Lambda | ast.Delete
    refused |= ast.Import | ast.ImportFrom | ast.Try | ast.With
    return any(isinstance(n, refused) for part in loop.body for n in ast.walk(part))


def _is_simple(body: Sequence[ast.stmt]) -> bool:
    """Whether statements only call regions, move values, and compute with numbers."""
    return all(map(_is_simple_statement, body))


def _is_simple_statement(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=targets, value=value):
            return all(map(_is_names, targets)) and (_is_move(value) or _is_computed(value))
        case ast.AugAssign(target=ast.Name(), value=value):
            return _is_of_numbers(value)
        case ast.Expr(value=value):
            return _is_region_call(value) or isinstance(value, ast.Constant) or _is_shown(value)
        case ast.If(test=test) | ast.While(test=test, orelse=[]):
            return _is_computed(test) and _is_simple([*statement.body, *statement.orelse])
        case ast.For(target=target, iter=iterable, orelse=[]):
            counts = _is_names(target) and _is_of_numbers(iterable)
            return counts and _is_simple(statement.body)
        case ast.Return(value=value):
            return value is None or _is_move(value) or _is_of_numbers(value)
        case ast.Assert(test=test):
            return _is_computed(test)
        case ast.Raise():
            return not any(isinstance(n, ast.NamedExpr | _SUSPENDS) for n in ast.walk(statement))
    return isinstance(statement, ast.Pass | ast.Break | ast.Continue)


def _is_computed(value: ast.expr) -> bool:
    return _is_region_call(value) or _is_of_numbers(value)


def _is_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_is_names, target.elts))
    return isinstance(target, ast.Name)


def _is_region_call(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith(("_npaccel_region", "_npaccel_nest"))
    )


def _is_shown(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether a call appends something to a list, or prints it: neither changes an array."""
    refused = ast.NamedExpr | ast.Lambda | ast.comprehension | _SUSPENDS
    if any(isinstance(part, refused) for part in ast.walk(node)):
        return False
    match node:
        case ast.Call(func=ast.Name(id="print")):
            return True
    return bool(_appended_to(node))


def _appended_to(node: ast.AST) -> str:
    """Return the name of what a call appends to, empty if it does something else."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[_], keywords=[]
        ):
            return owner
    return ""


def _lists(bare: Loop) -> Names:
    """Names of what a loop appends to."""
    return frozenset(filter(None, map(_appended_to, ast.walk(bare))))


def _is_move(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(map(_is_move, node.elts))
    return isinstance(node, ast.Name | ast.Constant)


_SUSPENDS = ast.Yield | ast.YieldFrom | ast.Await
_FUNCTIONS = frozenset({"range", "len", "min", "max", "abs", "int", "float", "bool", "enumerate"})


def _is_of_numbers(node: ast.expr) -> bool:
    """Whether an expression only computes with what names hold, by operators and builtins."""
    allowed = ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp
    allowed |= ast.IfExp | ast.Tuple | ast.operator | ast.unaryop | ast.cmpop | ast.boolop
    allowed |= ast.Call | ast.Attribute | ast.Subscript | ast.expr_context
    for part in ast.walk(node):
        if not isinstance(part, allowed):
            return False
        if isinstance(part, ast.Call):
            known = isinstance(part.func, ast.Name) and (
                part.func.id in _FUNCTIONS or _is_region_call(part)
            )
            if not known or part.keywords:
                return False
    return True


def _host_reads(bare: Loop) -> Names:
    """Names that Python does more with than to hand them on, or to ask for their shape."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if _is_handed_on(node):
            return
        if isinstance(node, ast.Assert):  # Its message is shown arrays.
            node = ast.copy_location(ast.If(node.test, [], []), node)
        if isinstance(node, ast.expr):
            found.update(p.id for p in ast.iter_child_nodes(node) if isinstance(p, ast.Name))
        if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Name):
            found.add(node.test.id)
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Name):
            found.add(node.iter.id)
        for part in ast.iter_child_nodes(node):
            visit(part)

    for statement in bare.body:
        visit(statement)
    if isinstance(bare, ast.While):
        visit(ast.copy_location(ast.If(bare.test, [], []), bare))
    return frozenset(found)


def _is_handed_on(node: ast.AST) -> bool:
    """Whether Python only hands values on here, asks for their shape, or is shown arrays."""
    match node:
        case ast.Raise() | ast.Attribute(attr="shape" | "ndim"):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Expr(value=value) if _is_shown(value):
            return True
    return isinstance(node, ast.expr) and (_is_move(node) or _is_region_call(node))


def _in_numpy(original: Loop, state: Sequence[str], place: int) -> ast.FunctionDef:
    return _function(f"_npaccel_in_numpy{place}", copy.deepcopy(original), [], state, place)


def _on_tensors(
    bare: Loop, state: Sequence[str], regions: Sequence[str], place: int
) -> ast.FunctionDef | None:
    nests = [n for n in _called(bare) if n.startswith("_npaccel_nest") and "result" not in n]
    loop = _OwnCode(EXECUTION.format(place)).visit(copy.deepcopy(bare))
    exits = ast.If(name(_EXITS), _exit(place), [])
    loop.body = [*loop.body, ast.copy_location(exits, loop)]
    return _function(f"_npaccel_on_tensors{place}", loop, [_EXITS, *regions], state, place, nests)


def _exit(place: int) -> list[ast.stmt]:
    """The loop is left, but isn't over."""
    target = ast.Attribute(name(EXECUTION.format(place)), "broke", ast.Store())
    return [ast.Assign([target], ast.Constant(False)), ast.Break()]


def _function(
    called: str,
    loop: Loop,
    calls: Sequence[str],
    state: Sequence[str],
    place: int,
    nests: Sequence[str] = (),
) -> ast.FunctionDef:
    execution = EXECUTION.format(place)
    broke = ast.Attribute(name(execution), "broke", ast.Store())
    loop = _Returns(execution).visit(loop)
    if isinstance(loop, ast.For):
        loop.iter = ast.copy_location(name(_ITEMS), loop)
    else:
        count = ast.Attribute(name(execution), "remaining", ast.Store())
        less = ast.AugAssign(count, ast.Sub(), ast.Constant(1))
        none = ast.UnaryOp(ast.Not(), _attribute(execution, "remaining"))
        loop.body = [*loop.body, less, ast.If(none, _exit(place), [])]
    loop.orelse = [ast.Assign([copy.deepcopy(broke)], ast.Constant(False))]
    given = [execution, _ITEMS, *calls, *state]
    # What Numba might have run was refused before.
    no_nests: list[ast.stmt] = [ast.Assign([name(n, ast.Store())], _nothing()) for n in nests]
    made = ast.FunctionDef(
        name=called,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(n) for n in given],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[
            *no_nests,
            ast.Assign([broke], ast.Constant(True)),
            loop,
            ast.Return(ast.Tuple([name(n) for n in state], ast.Load())),
        ],
        decorator_list=[],
    )
    made.__dict__["type_params"] = []
    return ast.copy_location(made, loop)


class _OwnCode(ast.NodeTransformer):
    """Give errors and lists the user's arrays, not the tensors that stand for them."""

    def __init__(self, execution: str) -> None:
        self.execution = execution

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return _Shown(self.execution).generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if node.msg is not None:
            node.msg = _Shown(self.execution).visit(node.msg)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if _is_shown(node.value):
            call, shown = node.value, _Shown(self.execution)
            call.args = [shown.visit(part) for part in call.args]
            call.keywords = [shown.visit(part) for part in call.keywords]
        return node


class _Shown(ast.NodeTransformer):
    def __init__(self, execution: str) -> None:
        self.execution = execution

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._shown(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._shown(node) if _is_region_call(node) else self.generic_visit(node)

    def _shown(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(_call(self.execution, "shown", [node]), node)


class _Returns(ast.NodeTransformer):
    """Say what the function returns instead of returning it."""

    def __init__(self, execution: str) -> None:
        self.execution = execution

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        names = {"result": node.value or ast.Constant(None), "returns": ast.Constant(True)}
        said = [
            ast.Assign([ast.Attribute(name(self.execution), n, ast.Store())], v)
            for n, v in names.items()
        ]
        return [
            ast.copy_location(new, node) for new in (*said, ast.Return(ast.Tuple([], ast.Load())))
        ]


def _nothing() -> ast.expr:
    none = ast.arguments(posonlyargs=[], args=[], vararg=ast.arg("_"), kwonlyargs=[],
                         kw_defaults=[], defaults=[])  # fmt: skip
    return ast.Lambda(none, ast.Constant(None))


def _attribute(owner: str, attribute: str) -> ast.Attribute:
    return ast.Attribute(name(owner), attribute, ast.Load())


def _call(owner: str, method: str, arguments: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(_attribute(owner, method), [*arguments], [])
