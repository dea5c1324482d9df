"""Rewrite the ``for`` loops of a function as calls with their body, a function.

::

    for i in range(n):
        u = f(u, i)

becomes, in short::

    def body(i, carry):
        (u,) = carry
        u = f(u, i)
        return (u,)

    (u,) = over(range(n), body, (u,))

with the loop itself besides, for where it can't be a scan. Names that an iteration writes, and a
later one or the code behind the loop reads, are the carry. One that may have no value before the
loop gets it from a first iteration by itself. ``enumerate``, ``zip`` and ``reversed`` become tuples
of the builtin and what it goes over, ``while i < n: ...; i += 1`` a loop over a range.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from npaccel._syntax import dataflow, source
from npaccel._syntax.dataflow import Names
from npaccel._syntax.liveness import Liveness, Where, closure_names
from npaccel._syntax.loop_detection import FRAME_CALLS, UNSPLIT
from npaccel._syntax.source import NoSourceError

_MODULE = "npaccel._torch.transforms.loop_calls"
#: Functions that the rewritten function calls, by names that aren't the user's.
_NAMES = {
    name: f"_npaccel_{name}"
    for name in ("may_loop", "over", "first_of", "last_of", "rest_of", "counted")
}
_IMPORT = f"from {_MODULE} import " + ", ".join(f"{a} as {b}" for a, b in _NAMES.items())
_STEPS, _BODY, _CARRY, _ITEM, _END = (
    f"_npaccel_{one}{{}}" for one in ("steps", "body", "carry", "item", "end")
)


@dataclasses.dataclass(frozen=True)
class LoopForm:
    """A function whose loops are written as calls.

    Parameters
    ----------
    code : types.CodeType or None
        None where none of them is.
    refused : dict
        Lines of loops that stay as they are, and why.
    """

    code: types.CodeType | None
    refused: dict[int, str]

    def of(self, function: types.FunctionType) -> types.FunctionType:
        """Return a function with this code, and what else another one has."""
        if self.code is None:
            return function
        made = source.as_function(self.code, function, {})
        made.__defaults__ = function.__defaults__
        made.__kwdefaults__ = function.__kwdefaults__
        made.__name__ = function.__name__
        return made


#: Rewritten functions by their code; None for one whose source can't be rewritten.
_forms: weakref.WeakKeyDictionary[types.CodeType, LoopForm | None] = weakref.WeakKeyDictionary()
#: Code that was rewritten, as a weak reference: else neither would ever go.
_originals: weakref.WeakKeyDictionary[types.CodeType, Any] = weakref.WeakKeyDictionary()


def form_of(function: types.FunctionType) -> LoopForm | None:
    """Return a function with its loops as calls; None where its source can't be rewritten."""
    code = function.__code__
    if code not in _forms:
        found = _form(function)
        _forms[code] = found
        if found is not None and found.code is not None:
            _originals[found.code] = weakref.ref(code)
    return _forms[code]


def original_of(code: types.CodeType) -> types.CodeType:
    """Return the user's code that some code was made of."""
    original = _originals[code]() if code in _originals else None
    return code if original is None else original


def _form(function: types.FunctionType) -> LoopForm | None:
    try:
        definition = source.definition(function)
    except NoSourceError:
        first = function.__code__.co_firstlineno
        return LoopForm(None, {first: "the source of its function isn't in a file"})
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and node.id in FRAME_CALLS:
            return LoopForm(None, {node.lineno: f"its function calls {node.id}()"})
        if type(node) in UNSPLIT:
            line = getattr(node, "lineno", definition.lineno)
            return LoopForm(None, {line: f"its function{UNSPLIT[type(node)].removeprefix('it')}"})
    rewriter = _Rewriter()
    rewriter.function(definition)
    if not rewriter.count:
        return LoopForm(None, rewriter.refused)
    (load,) = ast.parse(_IMPORT).body
    definition.body.insert(0, ast.copy_location(load, definition))
    ast.fix_missing_locations(definition)
    code = source.build([definition], function, {})[0]
    if code.co_freevars != function.__code__.co_freevars:
        return None
    return LoopForm(code, rewriter.refused)


class _Rewriter:
    """Rewrites loops in place.

    Attributes
    ----------
    count : int
        The number of loops that were.
    counted : int
        The number of ``while`` loops among them.
    refused : dict
        Lines of others, and why.
    """

    def __init__(self) -> None:
        self.count = 0
        self.counted = 0
        self.refused: dict[int, str] = {}

    def function(self, definition: ast.FunctionDef) -> None:
        """Rewrite the loops of a function."""
        names = dataflow.local_names(definition)
        own = closure_names(definition.body)
        Liveness(names).block(definition.body, frozenset(), Where(always=own))
        parameters = definition.args
        every = [
            *parameters.posonlyargs,
            *parameters.args,
            *parameters.kwonlyargs,
            *(one for one in (parameters.vararg, parameters.kwarg) if one is not None),
        ]
        scope = _Scope(names, _by_functions(definition.body))
        definition.body = self._block(definition.body, frozenset(a.arg for a in every), scope)

    def _block(self, body: Sequence[ast.stmt], bound: Names, scope: _Scope) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            sure = dataflow.of_statement(node).sure
            found += self._statement(node, bound, scope)
            bound |= sure
        return found

    def _statement(self, node: ast.stmt, bound: Names, scope: _Scope) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            self.function(node)
            return [node]
        if isinstance(node, ast.For):
            return self._for(node, bound, scope)
        if isinstance(node, ast.While):
            return self._while(node, bound, scope)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                setattr(node, field, self._block(getattr(node, field), bound, scope))
        for handler in getattr(node, "handlers", ()):
            handler.body = self._block(handler.body, bound, scope)
        return [node]

    def _for(self, node: ast.For, bound: Names, scope: _Scope) -> list[ast.stmt]:
        targets = dataflow.of_expression(node.target).writes
        written = (dataflow.of_statements(node.body).writes | targets) & scope.names
        live: Names = node.__dict__["npaccel_live"]
        carry = (written - targets) & live
        reason = _refusal(node, written, targets & live, scope)
        node.body = self._block(node.body, bound | targets | carry, scope)
        if reason:
            self.refused[node.lineno] = reason
            return [node]
        self.count += 1
        steps = _steps(node.iter, scope.names, _STEPS.format(self.count))
        return _calls(node, steps, self.count, sorted(carry), carry - bound, targets & live)

    def _while(self, node: ast.While, bound: Names, scope: _Scope) -> list[ast.stmt]:
        """Rewrite a loop that counts as one over a range, and leave it for what isn't integers."""
        counted = _counted(node)
        if counted is None:
            self.refused[node.lineno] = "it doesn't count with `i < n` and `i += 1` at its end"
            node.body = self._block(node.body, bound, scope)
            return [node]
        plain = copy.deepcopy(node)
        plain.body = self._block(plain.body, bound, scope)
        name, end, step = counted
        self.counted += 1
        text = _COUNTED.format(name=name, end=end, step=step, ends=_END.format(self.counted))
        (found,) = _Template(node, {"PLAIN": [plain], "BODY": node.body[:-1]}).filled(
            ast.parse(text).body
        )
        assert isinstance(found, ast.If)
        loop = found.body[1]
        assert isinstance(loop, ast.For)
        loop.__dict__["npaccel_live"] = node.__dict__["npaccel_live"] - {name}
        found.body[1:2] = self._for(loop, bound, scope)
        return [found]


@dataclasses.dataclass(frozen=True)
class _Scope:
    """A function whose loops are rewritten.

    Parameters
    ----------
    names : frozenset of str
        Its local names.
    shared : dict
        Names that functions defined in it read, and those functions.
    """

    names: Names
    shared: dict[str, list[ast.AST]]


def _by_functions(body: Sequence[ast.stmt]) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.Lambda | ast.GeneratorExp):
                for name in dataflow.free_names(node):
                    found.setdefault(name, []).append(node)
    return found


_COUNTED = """
if counted({name}, {end}):
    {ends} = {name} + len(range({name}, {end}, {step})) * {step}
    for {name} in range({name}, {end}, {step}):
        BODY
    {name} = {ends}
else:
    PLAIN
"""
#: Numbers to add to the end of a range, by the comparison.
_ENDS = {ast.Lt: 0, ast.LtE: 1, ast.Gt: 0, ast.GtE: -1}


def _counted(node: ast.While) -> tuple[str, str, int] | None:
    """Return the name that a loop counts with, the end of its range, and its step."""
    match node:
        case ast.While(
            test=ast.Compare(left=ast.Name(id=name), ops=[operation], comparators=[end]),
            body=[_, *_, ast.AugAssign(ast.Name(id=other), sign, ast.Constant(int(step)))],
            orelse=[],
        ) if name == other and type(operation) in _ENDS and isinstance(sign, ast.Add | ast.Sub):
            pass
        case _:
            return None
    step = step if isinstance(sign, ast.Add) else -step
    upward = isinstance(operation, ast.Lt | ast.LtE)
    kinds = ast.Name | ast.Constant | ast.BinOp | ast.operator | ast.expr_context
    used = {part.id for part in ast.walk(end) if isinstance(part, ast.Name)} | {name}
    if (
        not step
        or upward != (step > 0)
        or used & dataflow.of_statements(node.body[:-1]).writes
        or (isinstance(end, ast.Name) and end.id == name)
        or not all(isinstance(part, kinds) for part in ast.walk(end))
    ):
        return None
    return name, f"({ast.unparse(end)}) + {_ENDS[type(operation)]}", step


def _refusal(node: ast.For, written: Names, counted: Names, scope: _Scope) -> str:
    """Return why a loop stays as it is; empty if it needn't."""
    if node.orelse:
        return "it has an `else`"
    if not dataflow.is_name_target(node.target):
        return "its target isn't a name"
    if counted & dataflow.of_statements(node.body).writes:
        return "its body writes to the name that it counts with"
    inside = {id(one) for one in ast.walk(node)}
    for name in written:
        if any(id(function) not in inside for function in scope.shared.get(name, ())):
            return f"a function that is defined outside of it reads `{name}`"
    return _left(node.body)


def _left(body: Sequence[ast.stmt]) -> str:
    """Return how a loop is left, but at its end."""
    leaving = next(dataflow.leaving(body), None)
    if leaving is not None:
        return f"it has a `{'break' if isinstance(leaving, ast.Break) else 'continue'}`"
    if any(isinstance(one, ast.Return) for one in _statements(body, in_loops=True)):
        return "it has a `return`"
    kinds = ast.Delete | ast.Global | ast.Nonlocal
    if any(isinstance(one, kinds) for one in _statements(body, in_loops=False)):
        return "it has a `del`, `global` or `nonlocal`"
    return ""


def _statements(body: Sequence[ast.stmt], *, in_loops: bool) -> Iterator[ast.stmt]:
    """Yield statements, and those in them; of inner loops those of their bodies where asked for."""
    for statement in body:
        yield statement
        is_loop = isinstance(statement, ast.For | ast.While)
        for block in dataflow.blocks(statement):
            if in_loops or not (is_loop and block is statement.body):  # type: ignore[attr-defined]
                yield from _statements(block, in_loops=in_loops)


_CALLS = """
{steps} = STEPS
if may_loop({steps}, {line}, {first}):
    FIRST
    def {body}({item}, {held}):
        ({names}) = {held}
        TARGET = {item}
        BODY
        return ({names})
    ({names}) = over({rest}, {line}, {body}, ({names}))
    LAST
else:
    for TARGET in ITER:
        BODY
"""


def _steps(node: ast.expr, local_names: Names, name: str) -> tuple[ast.expr, ast.expr]:
    """Return what a loop goes over, taken apart, and what is made of that again.

    Parameters
    ----------
    node : ast.expr
    local_names : frozenset of str
    name : str
        Of what is taken apart.
    """
    whole = ast.parse(name, mode="eval").body
    match node:
        case ast.Call(func=ast.Name(id=kind), args=args, keywords=keywords) if (
            kind in _OPTIONS
            and kind not in local_names
            and args
            and not any(isinstance(one, ast.Starred) for one in args)
            and all(one.arg == _OPTIONS[kind][0] for one in keywords)
        ):
            option, default = _OPTIONS[kind]
            given: ast.expr = keywords[0].value if keywords else ast.Constant(default)
            if kind == "enumerate" and len(args) == 2:
                args, given = args[:1], args[1]
        case _:
            return node, whole
    if kind != "zip" and len(args) != 1:  # Python raises.
        return node, whole
    pairs = [_steps(part, local_names, f"{name}[{i + 2}]") for i, part in enumerate(args)]
    taken = ast.Tuple([node.func, given, *(one for one, _ in pairs)], ast.Load())
    again = ast.parse(f"{name}[1]", mode="eval").body
    named = [ast.keyword(option, again)] if option else []
    return taken, ast.Call(node.func, [other for _, other in pairs], named)


#: Further argument of a builtin that a loop goes over, and its default.
_OPTIONS: dict[str, tuple[str, Any]] = {
    "enumerate": ("start", 0),
    "reversed": ("", None),
    "zip": ("strict", False),
}


def _calls(
    node: ast.For,
    given: tuple[ast.expr, ast.expr],
    number: int,
    carry: Sequence[str],
    unbound: Names,
    counted: Names,
) -> list[ast.stmt]:
    """Return statements in the place of a loop.

    Parameters
    ----------
    node : ast.For
        Inner loops are rewritten.
    given : tuple of ast.expr
        What it goes over, taken apart, and what is made of that.
    number : int
        Of the loop in its function.
    carry : sequence of str
    unbound : frozenset of str
        Those of the carry that may have no value before the loop.
    counted : frozenset of str
        Names that it counts with, and that are read behind it.
    """
    steps = _STEPS.format(number)
    text = _CALLS.format(
        steps=steps,
        rest=f"rest_of({steps})" if unbound else steps,
        line=node.lineno,
        first=bool(unbound),
        body=_BODY.format(number),
        item=_ITEM.format(number),
        held=_CARRY.format(number),
        names="".join(f"{name}, " for name in carry),
    )
    pieces = {"BODY": node.body, "FIRST": [], "LAST": []}
    if unbound:
        pieces["FIRST"] = [*ast.parse(f"TARGET = first_of({steps})").body, *node.body]
    if counted:
        pieces["LAST"] = ast.parse(f"TARGET = last_of({steps})").body
    parts = {"TARGET": node.target, "STEPS": given[0], "ITER": given[1]}
    return _Template(node, pieces, parts).filled(ast.parse(text).body)


class _Template(ast.NodeTransformer):
    """Puts parts of a loop into statements that stand where it stood."""

    def __init__(
        self,
        node: ast.For | ast.While,
        pieces: dict[str, list[ast.stmt]],
        parts: dict[str, ast.expr] | None = None,
    ) -> None:
        self.node = node
        self.pieces = pieces
        self.parts = parts or {}

    def filled(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements."""
        found: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    def visit(self, node: ast.AST) -> Any:
        if "lineno" in node._attributes:
            ast.copy_location(node, self.node)
        return super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in self.pieces:
            name = node.value.id
            piece = copy.deepcopy(self.pieces[name])
            return self.filled(piece[:1]) + piece[1:] if name in ("FIRST", "LAST") else piece
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.parts:
            return source.placed(copy.deepcopy(self.parts[node.id]), self.node)
        if node.id in _NAMES:
            node.id = _NAMES[node.id]
        return node


__all__ = ["form_of", "original_of"]
