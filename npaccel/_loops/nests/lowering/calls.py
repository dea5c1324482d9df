"""Functions of code, and the user's functions that a nest calls: typed for each kind of call."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from npaccel._loops.nests.lowering.code_builder import (
    FAILED,
    Block,
    Code,
    Env,
    Program,
    Unreachable,
    rendered,
)
from npaccel._loops.nests.lowering.expression_writer import Result, Static
from npaccel._loops.nests.lowering.expressions import Expressions, Scope
from npaccel._loops.nests.lowering.returns import layout, zero
from npaccel._loops.nests.lowering.statements import Statements
from npaccel._loops.nests.lowering.types import (
    MAX,
    MIN,
    UNBOUND,
    Items,
    NotSupportedError,
    One,
    Other,
    Py,
    Type,
    Types,
    Value,
    storage_name,
)
from npaccel._syntax import dataflow

_ROUNDS = 8


def written(
    make: Callable[[], Statements],
    start: Env,
    items: Mapping[str, Items],
    stored: set[str],
    write: Callable[[Statements], None],
) -> Statements:
    """Write a function until it is known which variables need tags and what it returns."""
    tagged: set[str] = set()
    returned: list[Types] | None = None
    for _ in range(_ROUNDS):
        code = make()
        code.begin(dict(start), dict(items), set(tagged), returned)
        code.fixed = frozenset(
            storage_name(f"v_{name}", kind)
            for name, kinds in start.items()
            for kind in kinds
            if name not in stored
        )
        mark = code.mark()
        code.arm(lambda code=code: write(code))  # type: ignore[misc]
        if code.tagged == tagged and code.returned == returned:
            return code
        code.reset(mark)
        tagged, returned = code.tagged, code.returned
    raise NotSupportedError("types that don't settle", 0)


def function_body(code: Statements, start: Env, parameters: Sequence[str]) -> list[str]:
    """Return the lines of a function: its variables, then its code."""
    lines: Block = [code.failed()]
    for name, dtype in code.storages.items():
        if name not in parameters:
            lines.append(f"{name} = {zero(dtype)}")
    for name in sorted(code.tagged):
        kind = start.get(name, (UNBOUND,))[0]
        if f"v_{name}_tag" not in parameters:
            lines.append(f"v_{name}_tag = {code.program.tag(kind)}")
    lines += code.lines
    return [*rendered(lines), f"    {FAILED}"]


@dataclasses.dataclass
class _Helper:
    """A user's function, for one combination of types.

    Parameters
    ----------
    name : str
    lines : list of str
    returned : list of tuple of types, or None
        None: it never returns.
    single : bool
        Whether it returns one value, not a tuple.
    can_fail : bool
    bails, written, opaque
        See `Program`.
    """

    name: str
    lines: list[str]
    returned: list[Types] | None
    single: bool | None
    can_fail: bool
    bails: bool
    written: frozenset[str]
    opaque: frozenset[tuple[int, str]]


class _Cells(Mapping[str, Any]):
    """The closure of a function, as it is now."""

    def __init__(self, function: types.FunctionType) -> None:
        cells = function.__closure__ or ()
        self.cells = dict(zip(function.__code__.co_freevars, cells, strict=True))

    def __getitem__(self, name: str) -> Any:
        try:
            return self.cells[name].cell_contents
        except ValueError:  # not filled yet
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


class Helpers:
    """The user's functions that a nest calls.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.found: dict[tuple[Any, ...], _Helper] = {}
        self.scopes: list[Scope] = []
        self.active: list[types.CodeType] = []

    def names(self) -> list[str]:
        """Return the names of the functions written."""
        return [helper.name for helper in self.found.values()]

    def lines(self) -> list[str]:
        """Return the code of the functions written."""
        return [line for helper in self.found.values() for line in helper.lines]

    def guards(self) -> list[tuple[Mapping[str, Any], str, Any]]:
        """Return what the functions rely on."""
        return [guard for scope in self.scopes for guard in scope.guards]

    def __call__(
        self, code: Expressions, function: types.FunctionType, arguments: Any, node: ast.Call
    ) -> Result:
        """Write a call of a function."""
        given = _bound(code, function, arguments, node)
        start: Env = {
            n: tuple(map(_rounded, r.types)) for n, r in given.items() if isinstance(r, Value)
        }
        static = {n: r for n, r in given.items() if isinstance(r, Static)}
        key = (
            function.__code__,
            id(function),
            *start.items(),
            *((n, id(r.value)) for n, r in static.items()),
        )
        helper = self.found.get(key)
        if helper is None:
            helper = self._written(function, start, static, node)
            self.found[key] = helper
        program = self.program
        program.bails |= helper.bails
        program.written |= helper.written
        program.opaque |= helper.opaque
        return _called(code, helper, given)

    def _written(
        self,
        function: types.FunctionType,
        start: Env,
        static: Mapping[str, Static],
        node: ast.Call,
    ) -> _Helper:
        if function.__code__ in self.active:
            raise NotSupportedError(f"`{function.__name__}` calls itself", node.lineno)
        definition = _definition(function, node)
        program = self.program
        outer = program.bails, program.written, program.opaque
        program.bails, program.written, program.opaque = False, frozenset(), frozenset()
        self.active.append(function.__code__)
        try:
            return self._finished(function, definition, start, static)
        except NotSupportedError as error:
            if error.line == node.lineno:
                raise
            text = f"in `{function.__name__}`, line {error.line}: {error.reason}"
            raise NotSupportedError(text, node.lineno, is_array_code=error.is_array_code) from None
        finally:
            self.active.pop()
            program.bails, program.written, program.opaque = outer

    def _finished(
        self,
        function: types.FunctionType,
        definition: ast.FunctionDef,
        start: Env,
        static: Mapping[str, Static],
    ) -> _Helper:
        scope = Scope(_Cells(function), function.__globals__)
        self.scopes.append(scope)
        stored = set(dataflow.stores(definition.body))
        local_names = stored | start.keys()
        for name in static.keys() & local_names:
            raise NotSupportedError(f"`{name}` is assigned to", definition.lineno)
        file = function.__code__.co_filename

        def write(code: Statements) -> None:
            code.statics = static
            code.statements(definition.body)
            if code.env is not None:
                code.leave(None, definition.lineno)

        code = written(
            lambda: Statements(self.program, scope, local_names, self, file),
            start,
            {},
            stored,
            write,
        )
        parameters = [text for name, kinds in start.items() for text in _parameters(name, kinds)]
        name = f"h{len(self.found)}_{function.__name__}"
        body = function_body(code, start, parameters)
        return _Helper(
            name,
            [f"def {name}({', '.join(['_e', '_f', *parameters])}):", *body],
            code.returned,
            code.single,
            any("_fail" in line or "_e[0] != 0" in line for line in body),
            self.program.bails,
            self.program.written,
            self.program.opaque,
        )


def _bound(
    code: Expressions, function: types.FunctionType, arguments: Any, node: ast.Call
) -> dict[str, Value | Static]:
    """Return what each parameter of a function is given."""
    positional, named = arguments
    signature = inspect.signature(function)
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise NotSupportedError(f"`{function.__name__}` has `*` parameters", node.lineno)
    try:
        bound = signature.bind(*positional, **named)
    except TypeError as error:
        raise NotSupportedError(f"`{function.__name__}`: {error}", node.lineno) from None
    given = dict(bound.arguments)
    for name, parameter in signature.parameters.items():
        if name not in given:
            given[name] = code.known(parameter.default, node)
    for name, result in given.items():
        if isinstance(result, Items):
            raise NotSupportedError(f"a tuple as `{name}`", node.lineno)
        if isinstance(result, Static) and result.value is None:
            given[name] = Value((One(Other("None", is_none=True), ""),))
    return given


def _rounded(kind: Type) -> Type:
    """Return a type with wide bounds, so that few versions of a function are written."""
    if not isinstance(kind, Py) or kind.kind is not int:
        return kind
    low = next((b for b in (0, -(2**31)) if b <= kind.low), MIN)
    high = next((b for b in (2**20, 2**31) if b >= kind.high), MAX)
    return Py(int, low, high)


def _parameters(name: str, kinds: Types) -> list[str]:
    """Return the names by which code is given a variable."""
    storages = dict.fromkeys(storage_name(f"v_{name}", kind) for kind in kinds)
    tags = [f"v_{name}_tag"] if len(kinds) > 1 else []
    return [text for text in (*storages, *tags) if text]


def _called(code: Code, helper: _Helper, given: Mapping[str, Value | Static]) -> Result:
    """Write the call itself, and take its result apart."""
    arguments = ["_e", "_f"]
    for name, value in given.items():
        if isinstance(value, Value):
            codes = {storage_name(name, one.type): one.code for one in value.ones}
            arguments += [text for storage, text in codes.items() if storage]
            arguments += [value.tag] if len(value.ones) > 1 else []
    result = code.temporary(f"{helper.name}({', '.join(arguments)})")
    if helper.can_fail:
        with code.block("if _e[0] != 0:"):
            code.put(FAILED)
    if helper.returned is None:
        raise Unreachable
    values, place = [], 0
    for kinds in helper.returned:
        storages = {}
        for storage in layout(kinds):
            storages[storage] = code.temporary(f"{result}[{place}]")
            place += 1
        ones = tuple(One(kind, storages.get(storage_name("", kind), "")) for kind in kinds)
        tag = code.temporary(f"{result}[{place}]") if len(kinds) > 1 else ""
        place += 1
        values.append(Value(ones, tag))
    return values[0] if helper.single else Items(tuple(values))


def _definition(function: types.FunctionType, node: ast.Call) -> ast.FunctionDef:
    """Return the definition of a function, with the line numbers of its file."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        tree = None
    definition = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__code__.co_name:
        text = f"the source of `{function.__name__}` can't be had"
        raise NotSupportedError(text, node.lineno)
    ast.increment_lineno(definition, first - 1)
    return definition
