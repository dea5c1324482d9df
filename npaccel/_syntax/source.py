"""The syntax tree of a function, and functions from syntax trees."""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import functools
import inspect
import linecache
import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)
_FEATURES = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
_FACTORY = "_npaccel_factory"
#: The file that functions have which cloudpickle 3.1 and later has sent by value.
_SENT = "<dynamic-code>"
#: Instructions that depend on how calls are made and on how far jumps go.
_NO_MEANING = frozenset({"PUSH_NULL", "PRECALL", "NOP", "CACHE", "RESUME", "EXTENDED_ARG"})
_WITH_TARGET = frozenset({"FOR_ITER", "SEND", "SETUP_FINALLY", "SETUP_WITH", "SETUP_CLEANUP"})


class NoSourceError(Exception):
    """The source of a function can't be had, or isn't that of its code."""


def definition(function: types.FunctionType) -> ast.FunctionDef:
    """Return the definition of a function, with the line numbers of its file.

    Raises
    ------
    NoSourceError
        If there is no source, or if its code is another one: the file was
        changed, or the code was rewritten since.
    """
    code = function.__code__
    # `inspect.getsourcelines` would look for the file in all modules: 10 ms for one that is none's.
    file = _file_name(function)
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)[code.co_firstlineno - 1 :]
    if not lines:
        raise NoSourceError("its source can't be found")
    node = _parsed(inspect.getblock(lines), code.co_firstlineno, code)
    node.decorator_list = []
    again = build([node], function, {})[0]
    if not _same_code(again, code):
        raise NoSourceError("its source isn't what it was made from")
    return node


def node_of(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Return the definition of a function, or the lambda that made it.

    Raises
    ------
    NoSourceError
    """
    code = function.__code__
    if code.co_name != "<lambda>":
        return definition(function)
    for node in ast.walk(_file(_file_name(function))):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            found = copy.deepcopy(node)
            # What several lambdas of a line do is the same where their code is.
            if _same_code(_code_of_lambda(found, function), code):
                return found
    raise NoSourceError("its source can't be found")


def _file_name(function: types.FunctionType) -> str:
    """Return the file of a function, also in a process that it was sent to by value."""
    name = function.__code__.co_filename
    return str(function.__globals__.get("__file__", name)) if name == _SENT else name


def _file(filename: str) -> ast.Module:
    try:
        return _parsed_file("".join(linecache.getlines(filename)))
    except SyntaxError as error:
        raise NoSourceError("its source can't be read by itself") from error


@functools.lru_cache(maxsize=16)
def _parsed_file(text: str) -> ast.Module:
    return ast.parse(text)


def _code_of_lambda(node: ast.Lambda, function: types.FunctionType) -> types.CodeType:
    returned = ast.copy_location(ast.Return(value=node), node)
    made = ast.FunctionDef(
        name="<made>",
        args=parameters(()),
        body=[returned],
        decorator_list=[],
    )
    made.__dict__["type_params"] = []
    ast.copy_location(made, node)
    outer = build([made], function, {})[0]
    return next(c for c in outer.co_consts if isinstance(c, types.CodeType))


def _parsed(lines: Sequence[str], start: int, code: types.CodeType) -> ast.FunctionDef:
    text, first = "".join(lines), start
    if lines[0][:1].isspace():
        text, first = "if True:\n" + text, start - 1
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoSourceError("its source can't be read by itself") from error
    ast.increment_lineno(tree, first - 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            return node
    raise NoSourceError("it isn't made by a def statement")


def _same_code(one: types.CodeType, other: types.CodeType) -> bool:
    same_names = one.co_varnames == other.co_varnames and one.co_freevars == other.co_freevars
    return same_names and _instructions(one) == _instructions(other)


def _instructions(code: types.CodeType) -> list[tuple[str, object]]:
    """Instructions without how they call, which depends on the module's imports."""
    found: list[tuple[str, object]] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in _NO_MEANING:
            continue
        value: object = repr(instruction.argval)
        if isinstance(instruction.argval, types.CodeType):
            value = _instructions(instruction.argval)
        elif "JUMP" in instruction.opname or instruction.opname in _WITH_TARGET:
            value = None
        found.append((instruction.opname.replace("LOAD_METHOD", "LOAD_ATTR"), value))
    return found


def placed(node: _Node, place: ast.AST) -> _Node:
    """Return a syntax tree, whose parts that stand nowhere stand where another one does."""
    for one in ast.walk(node):
        if "lineno" in one._attributes and not hasattr(one, "lineno"):
            ast.copy_location(one, place)
    return node


def parameters(names: Iterable[str]) -> ast.arguments:
    """Return the parameters of a definition that takes its arguments by position."""
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )


def build(
    nodes: Sequence[ast.FunctionDef],
    function: types.FunctionType,
    cells: Mapping[str, types.CellType],
) -> list[types.CodeType]:
    """Compile definitions as if they stood where a function stands.

    Parameters
    ----------
    nodes : sequence of ast.FunctionDef
    function : types.FunctionType
        Whose closure they share.
    cells : mapping
        More closure cells, by name.
    """
    free = [*function.__code__.co_freevars, *cells]
    factory = ast.FunctionDef(
        name=_FACTORY,
        args=parameters(free),
        body=[*nodes],
        decorator_list=[],
        lineno=1,
        col_offset=0,
    )
    factory.__dict__["type_params"] = []  # Python 3.12 asks for it, 3.11 has none.
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    flags = function.__code__.co_flags & _FEATURES
    compiled = compile(
        module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True
    )
    outer = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    by_name = {c.co_name: c for c in outer.co_consts if isinstance(c, types.CodeType)}
    return [by_name[node.name] for node in nodes]


def as_function(
    code: types.CodeType, function: types.FunctionType, cells: Mapping[str, types.CellType]
) -> types.FunctionType:
    """Return a function of some code, with the globals and the closure of another one."""
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    every = {**own, **cells}
    made = types.FunctionType(
        code,
        function.__globals__,
        code.co_name,
        None,
        tuple(every[name] for name in code.co_freevars),
    )
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made


def line(filename: str, number: int) -> str:
    """Return the text of a line of a file, "" if it can't be had."""
    return linecache.getline(filename, number).strip()


def lines(places: Sequence[ast.AST]) -> str:
    """Return where code stands, for the report."""
    numbers = [
        line
        for place in places
        for node in ast.walk(place)
        for line in (getattr(node, "lineno", None), getattr(node, "end_lineno", None))
        if line is not None
    ]
    first, last = min(numbers), max(numbers)
    return f"line {first}" if first == last else f"lines {first}-{last}"
