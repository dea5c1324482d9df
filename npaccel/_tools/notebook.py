"""npaccel in notebooks: ``%load_ext npaccel``, ``%%npaccel``, ``%npaccel report``.

Only imported by IPython.
"""

from __future__ import annotations

import ast
import types
from typing import Any

import click
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from npaccel._jit import Jitted, jit
from npaccel._syntax.dataflow import of_statements
from npaccel._tools.decorate import Source
from npaccel._tools.flat_scripts import is_value
from npaccel._tools.jit_options import parsed

#: The name of the function that a cell without functions becomes.
_CELL = "cell"


def _options(line: str) -> dict[str, Any]:
    """Read the options of a cell."""
    try:
        return parsed(line, "%%npaccel")
    except click.UsageError as error:
        raise UsageError(f"%%npaccel: {error.format_message()}") from None


@magics_class
class NpaccelMagics(Magics):
    """The magics of ``%load_ext npaccel``."""

    @property
    def _shell(self) -> Any:
        return self.shell

    @line_cell_magic
    def npaccel(self, line: str, cell: str | None = None) -> None:
        """Compile a cell, or show reports.

        ``%%npaccel``, with options of `jit` such as ``--default-float=float64``, over a cell
        compiles the functions that it defines, as `npaccel.jit` would; its other
        statements run as ever. A cell without functions is compiled as a whole: the names
        that it reads are its arguments, those that it assigns are there afterwards.

        ``%npaccel report [NAME ...]`` shows the reports of these functions, or of all
        compiled functions of the notebook.
        """
        if cell is not None:
            self._run_cell(line, cell)
            return
        command, *names = line.split() or [""]
        if command != "report":
            raise UsageError("%npaccel: write %npaccel report [NAME ...], or %%npaccel over a cell")
        show: Any = display
        for one in self._jitted(names):
            show(one.report())

    def _jitted(self, names: list[str]) -> list[Jitted[..., Any]]:
        space = self._shell.user_ns
        unknown = [name for name in names if not isinstance(space.get(name), Jitted)]
        if unknown:
            raise UsageError(f"%npaccel report: {unknown[0]} isn't a compiled function")
        shown = names or [
            name for name in space if not name.startswith("_") or name == _hidden(_CELL)
        ]
        found = {id(space[name]): space[name] for name in shown if isinstance(space[name], Jitted)}
        return list(found.values())

    def _run_cell(self, line: str, cell: str) -> None:
        options = _options(line)
        text = self._shell.transform_cell(cell)
        file = self._shell.compile.cache(text, self._shell.execution_count)
        tree = ast.parse(text, file)
        module = self._shell.user_ns.get("__name__", "__main__")
        source = Source(
            lambda module, file: False,
            lambda module, name: True,
            lambda module, name, function: jit(function, **options),
        )
        source.tree(tree, module)
        space = self._shell.user_ns
        space.update(source.names(module))
        if source.found:
            self._execute(tree, file)
        else:
            self._run_compiled(tree, file, options)

    def _execute(self, tree: ast.Module, file: str) -> None:
        """Run statements, and display the value of a last expression."""
        space, last = self._shell.user_ns, tree.body[-1:]
        if not (last and isinstance(last[0], ast.Expr)):
            exec(compile(tree, file, "exec"), space)
            return
        exec(compile(ast.Module(tree.body[:-1], []), file, "exec"), space)
        exec(compile(ast.Interactive(last), file, "single"), space)

    def _run_compiled(self, tree: ast.Module, file: str, options: dict[str, Any]) -> None:
        """Compile a cell's body as a function of the names that it reads."""
        space = self._shell.user_ns
        flow = of_statements(tree.body)
        arguments = sorted(name for name in flow.needs if name in space and is_value(space[name]))
        outputs = sorted(flow.writes)
        body = list(tree.body)
        shown = bool(body) and isinstance(body[-1], ast.Expr)
        if shown:
            last = body.pop()
            assert isinstance(last, ast.Expr)
            value: ast.expr = last.value
        else:
            value = ast.Constant(None)
        result = ast.Tuple([value, *(ast.Name(name, ast.Load()) for name in outputs)], ast.Load())
        body.append(ast.Return(result))
        function = _function(body, arguments, space, file)
        made: Jitted[..., Any] = jit(function, **options)
        space[_hidden(_CELL)] = made
        value_of_last, *assigned = made(*(space[name] for name in arguments))
        space.update(zip(outputs, assigned, strict=True))
        if shown and value_of_last is not None:
            self._shell.displayhook(value_of_last)


def _hidden(name: str) -> str:
    return f"__npaccel_{name}__"


def _function(
    body: list[ast.stmt], arguments: list[str], space: dict[str, Any], file: str
) -> types.FunctionType:
    parameters = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in arguments],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    made = ast.FunctionDef(_CELL, parameters, body, [], lineno=1, col_offset=0)
    made.__dict__["type_params"] = []
    tree = ast.fix_missing_locations(ast.Module([made], []))
    own: dict[str, Any] = {}
    exec(compile(tree, file, "exec"), space, own)
    function = own[_CELL]
    assert isinstance(function, types.FunctionType)
    return function


def load_ipython_extension(shell: Any) -> None:
    """Register the magics."""
    shell.register_magics(NpaccelMagics)
