"""Rewrite a function so that every operation on values passes through an observer.

The function's source is parsed, its operators, calls, subscripts and in-place
operations become calls of the observer, and the result is compiled with the
user's file name and line numbers. Functions that it calls are rewritten when
they are called, unless they belong to a library.
"""

from __future__ import annotations
import __future__

import ast
import dataclasses
import functools
import linecache
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from npaccel._runtime.callables import with_code
from npaccel._syntax.library_files import library_folders

#: The free variable by which rewritten code finds its observer.
OBSERVER = "_npaccel_observer"

_FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

#: Names of `operator` for operators that `ast` names otherwise, in lower case.
_NAMES = {
    "mult": "mul", "div": "truediv", "matmult": "matmul", "bitor": "or_", "bitxor": "xor",
    "bitand": "and_", "uadd": "pos", "usub": "neg", "noteq": "ne", "lte": "le", "gte": "ge",
}  # fmt: skip
_NOT_VALUES = (ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Not)
_ATTRIBUTES = ("T", "mT", "real", "imag", "flat")
#: Builtins that look at the frame that calls them.
_FRAME_READERS = ("super", "locals", "globals", "vars", "dir", "eval", "exec")


class SourceError(Exception):
    """A function whose source can't be had, or isn't the one that runs."""


@dataclasses.dataclass(frozen=True)
class Attribute:
    """Read an attribute; the operator of ``a.T``."""

    name: str

    def __call__(self, value: Any) -> Any:
        return getattr(value, self.name)


@dataclasses.dataclass(frozen=True)
class Site:
    """One operation in the user's source.

    Parameters
    ----------
    file : str
    line, column : int
        Where it begins; the line counts from 1.
    text : str
        The operation as it's written.
    operands : tuple of str
        The operands as they are written.
    function : callable or None
        The operator; None for a call, whose function is known when it runs.
    """

    file: str
    line: int
    column: int
    text: str
    operands: tuple[str, ...]
    function: Callable[..., Any] | None


#: Every site ever rewritten; code refers to them by index.
_sites: list[Site] = []
_rewritten: dict[tuple[str, types.CodeType], types.CodeType | SourceError] = {}


def site(index: int) -> Site:
    """Return the site with this number."""
    return _sites[index]


def instrument(function: types.FunctionType, observer: Any) -> types.FunctionType:
    """Return the function with its operations passed through an observer.

    Parameters
    ----------
    function : types.FunctionType
    observer : Observer

    Raises
    ------
    SourceError
        If there is no source to rewrite.
    """
    code = function.__code__
    if OBSERVER in code.co_freevars:
        return function
    key = (code.co_filename, code)
    if key not in _rewritten:
        try:
            _rewritten[key] = _rewrite(function)
        except SourceError as error:
            _rewritten[key] = error
    found = _rewritten[key]
    if isinstance(found, SourceError):
        raise found
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[OBSERVER] = types.CellType(observer)
    return with_code(function, found, tuple(cells[name] for name in found.co_freevars))


def is_users(function: types.FunctionType, root: types.FunctionType) -> bool:
    """Whether a function called by `root` is the user's, not a library's."""
    name, theirs = (str(f.__globals__.get("__name__", "")) for f in (root, function))
    if name.partition(".")[0] == theirs.partition(".")[0]:
        return True
    return not function.__code__.co_filename.startswith(("<frozen", *library_folders()))


# -- Finding the source -------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> ast.Module:
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        raise SourceError(f"{file} can't be parsed: {error}") from error


def _source_of(function: types.FunctionType) -> tuple[str, ast.Module]:
    file = function.__code__.co_filename
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        raise SourceError(f"{function.__qualname__}: its source, {file}, isn't there")
    text = "".join(lines)
    return text, _parsed(file, text)


def _name(operation: ast.AST) -> str:
    """Return the name of an operator's function in `operator`."""
    name = type(operation).__name__.lower()
    return _NAMES.get(name, name)


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    lines: list[int] = [node.lineno, *(d.lineno for d in decorators)]
    return min(lines)


def _definition(code: types.CodeType, tree: ast.Module) -> ast.FunctionDef | ast.Lambda:
    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    spans = {place[:3:2] for place in code.co_positions() if place[2] is not None}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, kind) or _first_line(node) != code.co_firstlineno:
            continue
        if isinstance(node, ast.FunctionDef) and node.name != code.co_name:
            continue
        if isinstance(node, ast.Lambda):
            body = node.body
            begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
            if not any(begin <= span <= end for span in spans):
                continue
        found.append(node)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for node in found:
        arguments = node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if tuple(names) == parameters:
            return node
    raise SourceError(f"{code.co_qualname}: its source isn't at {code.co_filename}:"
                      f"{code.co_firstlineno}")  # fmt: skip


# -- Rewriting ----------------------------------------------------------------


def _rewrite(function: types.FunctionType) -> types.CodeType:
    code = function.__code__
    text, tree = _source_of(function)
    definition = _definition(code, tree)
    transformer = _Transformer(code.co_filename, text)
    fresh: Any = transformer.definition(definition)
    if isinstance(fresh, ast.Lambda):
        body: list[ast.stmt] = [ast.Return(fresh)]
    else:
        body = [fresh]
    names = [OBSERVER, *code.co_freevars]
    factory = ast.parse(f"def _factory({', '.join(names)}): pass").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body = body
    owner = code.co_qualname.split(".")[-2] if "." in code.co_qualname else "<locals>"
    outer: ast.stmt = factory
    if owner != "<locals>":  # So that private names (__x) are mangled as they were.
        outer = ast.parse(f"class {owner}: pass").body[0]
        outer.body = [factory]  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(
        module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
    )
    for found in _nested(compiled):
        if found.co_name == code.co_name and found.co_firstlineno >= code.co_firstlineno:
            return found
    raise SourceError(f"{code.co_qualname}: its rewritten source has no such function")


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name != "_factory":
                yield constant
            yield from _nested(constant)


class _Transformer(ast.NodeTransformer):
    """Make calls of the observer out of operations."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = [line.encode() for line in text.splitlines(keepends=True)]

    def definition(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """Return a rewritten copy of the function that is looked at."""
        if isinstance(node, ast.Lambda):
            return _like(node, args=node.args, body=self.visit(node.body))
        body = [self._visit_all(child) for child in node.body]
        flat = [one for part in body for one in (part if isinstance(part, list) else [part])]
        return _like(node, decorator_list=[], returns=None, body=flat)

    def generic_visit(self, node: ast.AST) -> Any:
        """Visit the children of a copy: the tree is kept for other functions."""
        return super().generic_visit(_like(node))

    def _visit_all(self, node: Any) -> Any:
        return [self.visit(one) for one in node] if isinstance(node, list) else self.visit(node)

    def _text(self, node: Any) -> str:
        first, last = node.lineno - 1, node.end_lineno - 1
        begin, end = node.col_offset, node.end_col_offset
        if first == last:
            whole: str = self.lines[first][begin:end].decode()
            return whole
        parts = [self.lines[first][begin:], *self.lines[first + 1 : last], self.lines[last][:end]]
        return " ".join(part.decode().strip() for part in parts)

    def _site(self, node: Any, operands: list[Any], function: Any = None) -> ast.Constant:
        texts = tuple(self._text(operand) for operand in operands)
        _sites.append(
            Site(self.file, node.lineno, node.col_offset, self._text(node), texts, function)
        )
        return ast.copy_location(ast.Constant(len(_sites) - 1), node)

    def _observe(self, node: Any, method: str, *args: Any, keywords: Any = ()) -> ast.Call:
        target = ast.Attribute(ast.Name(OBSERVER, ast.Load()), method, ast.Load())
        made = ast.copy_location(ast.Call(target, list(args), list(keywords)), node)
        return ast.fix_missing_locations(made)

    def _operate(self, node: Any, name: str, operands: list[Any]) -> ast.Call:
        where = self._site(node, operands, getattr(operator, name))
        return self._observe(node, "operate", where, *(self.visit(one) for one in operands))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """``a + b``."""
        return self._operate(node, _name(node.op), [node.left, node.right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``-a``; a negative literal stays one."""
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return self.generic_visit(node)
        return self._operate(node, _name(node.op), [node.operand])

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``a < b``; chains are for numbers, not arrays."""
        if len(node.ops) > 1 or isinstance(node.ops[0], _NOT_VALUES):
            return self.generic_visit(node)
        return self._operate(node, _name(node.ops[0]), [node.left, node.comparators[0]])

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """``a.T``."""
        if node.attr not in _ATTRIBUTES or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        where = self._site(node, [node.value], Attribute(node.attr))
        return self._observe(node, "operate", where, self.visit(node.value))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """``a[i]`` where it's read."""
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        where = self._site(node, [node.value, node.slice], operator.getitem)
        return self._observe(node, "operate", where, self.visit(node.value), self._key(node.slice))

    def _key(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            made = [ast.Constant(None) if one is None else self.visit(one) for one in parts]
            return self._observe(node, "slice", *made)
        if isinstance(node, ast.Tuple):
            items = [self._key(one) for one in node.elts]
            return ast.copy_location(ast.Tuple(items, ast.Load()), node)
        result: ast.expr = self.visit(node)
        return result

    def visit_Call(self, node: ast.Call) -> Any:
        """``f(a)``."""
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME_READERS:
            return self.generic_visit(node)
        where = self._site(node, [*node.args, *(word.value for word in node.keywords)])
        args = [self.visit(one) for one in (node.func, *node.args)]
        words = [_like(word, value=self.visit(word.value)) for word in node.keywords]
        return self._observe(node, "call", where, *args, keywords=words)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``a += b`` and ``a[i] += b``."""
        plain = _name(node.op)
        name = "i" + plain.rstrip("_")
        function = getattr(operator, name)
        target, value = node.target, self.visit(node.value)
        if isinstance(target, ast.Subscript):
            where = self._site(node, [target, node.value], function)
            made = self._observe(
                node, "operate_item", where, self.visit(target.value), self._key(target.slice),
                value,
            )  # fmt: skip
            return ast.copy_location(ast.Expr(made), node)
        if not isinstance(target, ast.Name):
            return _like(node, value=value)
        where = self._site(node, [target, node.value], function)
        read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        made = self._observe(node, "operate", where, read, value)
        return ast.copy_location(ast.Assign([target], made), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """``a[i] = b``."""
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return self.generic_visit(node)
        where = self._site(node, [target, target.slice, node.value], operator.setitem)
        made = self._observe(
            node, "store", where, self.visit(node.value), self.visit(target.value),
            self._key(target.slice),
        )  # fmt: skip
        return ast.copy_location(ast.Expr(made), node)

    def visit_Return(self, node: ast.Return) -> Any:
        """``return a``."""
        if node.value is None:
            return node
        where = self._site(node, [node.value])
        return _like(node, value=self._observe(node, "leave", where, self.visit(node.value)))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``a: int = b``; annotations stay as they are."""
        value = None if node.value is None else self.visit(node.value)
        return _like(node, value=value)

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter, whose annotation stays as it is."""
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        """A case, whose pattern stays as it is."""
        guard = None if node.guard is None else self.visit(node.guard)
        flat: list[Any] = [self.visit(one) for one in node.body]
        return _like(node, guard=guard, body=flat)


def _like(node: Any, **changes: Any) -> Any:
    """Return a copy of a node, its lists copied too, with some fields changed."""
    fields = {name: _copied(value) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**{**fields, **changes}), node)


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
