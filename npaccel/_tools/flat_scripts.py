"""Make functions of the statements of a script that take long, as there is nothing else to compile.

The commonest script has no functions: it computes line by line. Each of its statements is timed
where it stands, in the module or under ``if __name__ == "__main__"``. Those in a row that take
long become a function: the names that they read are its parameters, those that they assign and
that are read elsewhere are its results.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import types
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from npaccel._syntax.dataflow import Flow, of_statements

#: The name by which a script finds the clock.
CLOCK = "__npaccel_clock__"
#: Statements that stay where they are.
_KEPT = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global,
    ast.Nonlocal,
)  # fmt: skip
#: Calls that do more than compute: what holds one stays where it is.
_EFFECTS = frozenset({
    "input", "open", "print", "exec", "eval", "exit", "quit", "globals", "locals", "load", "save",
    "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "show", "savefig", "plot",
})  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Extracted:
    """Statements that a function was made of.

    Parameters
    ----------
    name : str
        The function's.
    first, last : int
        Lines of the script.
    """

    name: str
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Rewritten:
    """A script with functions made of its statements.

    Parameters
    ----------
    text : str
    extracted : tuple of Extracted
    """

    text: str
    extracted: tuple[Extracted, ...]

    def compiled(self, decorators: Mapping[str, str]) -> str:
        """Return the script's text with decorators on some of the functions, by their names."""
        made = []
        for line in self.text.splitlines(keepends=True):
            made += [f"{text}\n" for n, text in decorators.items() if line.startswith(f"def {n}(")]
            made.append(line)
        return _with_import("".join(made))


def clocked(tree: ast.Module) -> ast.Module:
    """Have a script's statements note when each begins, and the last one when it ends."""
    for body in _bodies(tree):
        made: list[ast.stmt] = []
        for statement in body:
            if _is_first(statement):
                made.append(statement)
                continue
            made += [_tick(statement, statement.lineno), statement]
        body[:] = [*made, _tick(body[-1], 0)] if body else made
    return tree


def rewritten(
    text: str,
    seconds: Mapping[int, float],
    space: Mapping[str, Any],
    least: float,
    only: Container[int] | None = None,
) -> Rewritten | None:
    """Make functions of the statements of a script that take long.

    Parameters
    ----------
    text : str
    seconds : mapping
        What each statement took, by its line.
    space : mapping
        The names of the script, as they are at its end.
    least : float
        Seconds of statements that take long.
    only : container of int, optional
        Lines at which the statements begin that become functions; all by default.

    Returns
    -------
    Rewritten or None
        None where there are no such statements.
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    found: list[tuple[Extracted, list[str], str]] = []
    taken = {*space}
    in_functions = _names_in_functions(tree)
    for body in _bodies(tree):
        for some in _runs(body, lambda one: seconds.get(one.lineno, 0.0) >= least):
            first, last = some[0].lineno, some[-1].end_lineno or some[-1].lineno
            if _has_long_strings(some) or lines[first - 1][: some[0].col_offset].strip():
                continue
            if only is not None and first not in only:
                continue
            flow = of_statements(some)
            if flow.writes & in_functions:  # They would read what was before.
                continue
            name = _free_name(
                "loop" if isinstance(some[-1], ast.For | ast.While) else "step", taken
            )
            taken.add(name)
            function, call = _function_and_call(name, some, flow, tree, lines, space)
            indent = lines[first - 1][: some[0].col_offset]
            found.append((Extracted(name, first, last), function, indent + call))
    if not found:
        return None
    return Rewritten(_assembled(lines, tree, found), tuple(one for one, *_ in found))


def diff(before: str, after: str, name: str) -> str:
    """Return what changes between two texts of a script, as `diff -u` does."""
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(difflib.unified_diff(old, new, name, name, lineterm="", n=2))


# -- Statements --------------------------------------------------------------------------


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the statements of the module, and those under ``if __name__ == "__main__"``."""
    yield tree.body
    for statement in list(tree.body):
        if _is_main(statement):
            assert isinstance(statement, ast.If)
            yield statement.body


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and {
        node.id if isinstance(node, ast.Name) else getattr(node, "value", None)
        for node in ast.walk(statement.test)
    } >= {"__name__", "__main__"}


def _is_first(statement: ast.stmt) -> bool:
    """Whether a statement has to come first in a module."""
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return is_future or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _names_in_functions(tree: ast.Module) -> set[str]:
    """Return the names that functions and classes of the module read."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return {
        node.id
        for outer in ast.walk(tree)
        if isinstance(outer, definitions)
        for node in ast.walk(outer)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _tick(near: ast.stmt, line: int) -> ast.stmt:
    call = ast.Call(ast.Name(CLOCK, ast.Load()), [ast.Constant(line)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), near))


def _runs(
    body: Sequence[ast.stmt], takes_long: Callable[[ast.stmt], bool]
) -> Iterator[list[ast.stmt]]:
    """Yield statements in a row, all of which take long and only compute."""
    some: list[ast.stmt] = []
    for statement in [*body, None]:
        if statement is not None and takes_long(statement) and _computes(statement):
            some.append(statement)
        elif some:
            yield some
            some = []


def _computes(statement: ast.stmt) -> bool:
    if isinstance(statement, _KEPT) or _is_main(statement):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.Global):
            return False
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in _EFFECTS:
                return False
    return True


def _has_long_strings(statements: Sequence[ast.stmt]) -> bool:
    """Whether a string goes over several lines, which can't be indented."""
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr)
        and isinstance(getattr(node, "value", ""), str)
        and (node.end_lineno or node.lineno) > node.lineno
        for statement in statements
        for node in ast.walk(statement)
    )


# -- Functions ----------------------------------------------------------------------------


def _function_and_call(
    name: str,
    some: Sequence[ast.stmt],
    flow: Flow,
    tree: ast.Module,
    lines: Sequence[str],
    space: Mapping[str, Any],
) -> tuple[list[str], str]:
    """Return the lines of a function, and the statement that stands in its place."""
    before = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < some[0].lineno
    }
    parameters = sorted(n for n in flow.needs & before if n in space and is_value(space[n]))
    here = {id(node) for statement in some for node in ast.walk(statement)}
    elsewhere = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in here
    }
    results = sorted(n for n in flow.writes if n in elsewhere)
    first, last = some[0].lineno, some[-1].end_lineno or some[-1].lineno
    cut = some[0].col_offset
    body = [
        f"    {line[cut:]}" if line[:cut].isspace() or not cut else f"    {line.lstrip()}"
        for line in lines[first - 1 : last]
    ]
    body = [line if line.strip() else "\n" for line in body]
    if results:
        body.append(f"    return {', '.join(results)}\n")
    call = f"{name}({', '.join(parameters)})\n"
    if results:
        call = f"{', '.join(results)} = {call}"
    return [f"def {name}({', '.join(parameters)}):\n", *body], call


def is_value(value: Any) -> bool:
    """Whether a script's or notebook's name stands for data, not for a module or function."""
    return not isinstance(value, types.ModuleType | type) and not callable(value)


def _free_name(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(f"{wanted}_{i}" for i in range(2, 1000) if f"{wanted}_{i}" not in taken)


def _assembled(
    lines: Sequence[str], tree: ast.Module, found: Sequence[tuple[Extracted, list[str], str]]
) -> str:
    """Put calls in the place of statements, and functions in front of the statement around."""
    replaced: dict[int, str] = {}
    gone: set[int] = set()
    inserted: dict[int, list[str]] = {}
    for one, function, call in found:
        around = next(s for s in tree.body if s.lineno <= one.first <= (s.end_lineno or s.lineno))
        inserted.setdefault(around.lineno, []).extend(["\n", "\n", *function, "\n", "\n"])
        replaced[one.first] = call
        gone |= set(range(one.first + 1, one.last + 1))
    made: list[str] = []
    for number, line in enumerate(lines, 1):
        made += inserted.get(number, [])
        if number in replaced:
            made.append(replaced[number])
        elif number not in gone:
            made.append(line)
    return "".join(_without_wide_gaps(made))


def _without_wide_gaps(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, of empty ones no more than two in a row."""
    empty = 0
    for line in lines:
        empty = 0 if line.strip() else empty + 1
        if empty <= 2:
            yield line


def _with_import(text: str) -> str:
    """Import npaccel behind the script's first imports, if it doesn't."""
    tree = ast.parse(text)
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    if any(
        isinstance(s, ast.Import) and any(a.name == "npaccel" for a in s.names) for s in imports
    ):
        return text
    lines = text.splitlines(keepends=True)
    last = 0
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_first(statement):
            last = statement.end_lineno or statement.lineno
        else:
            break
    return "".join([*lines[:last], "import npaccel\n", *lines[last:]])


__all__ = ["CLOCK", "Extracted", "Rewritten", "clocked", "diff", "is_value", "rewritten"]
