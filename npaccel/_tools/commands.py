"""The commands ``npaccel run`` and ``npaccel doctor``."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import click

from npaccel._jit import Jitted, jit
from npaccel._tools.decorate import Source
from npaccel._tools.jit_options import flags, given, jit_options
from npaccel._tools.run_script import module_of, run_script

#: Exit statuses of `npaccel doctor`, besides 0 and click's 2 for wrong usage.
SCRIPT_FAILED, DIFFERS, TOO_SLOW = 1, 3, 4

_SETTINGS = {"allow_interspersed_args": False}
_script = click.argument("script")
_module = click.option(
    "-m", "is_module", is_flag=True, help="SCRIPT is the name of a module, as for python -m."
)
_args = click.argument("args", nargs=-1, type=click.UNPROCESSED)


@dataclasses.dataclass(frozen=True)
class _Program:
    """Program that is run.

    Parameters
    ----------
    script : str
        Its file.
    spec : ModuleSpec or None
        Of a module.
    shown : list of str
        How a command names it.
    """

    script: str
    spec: ModuleSpec | None
    shown: list[str]


def _program(context: click.Context, script: str, is_module: bool) -> _Program:
    """Find what is run, or say that there is no such thing."""
    if not is_module:
        kind = click.Path(exists=True, dir_okay=False)
        parameter = next(one for one in context.command.params if one.name == "script")
        return _Program(str(kind.convert(script, parameter, context)), None, [script])
    try:
        spec = module_of(script)
    except ImportError as error:
        raise click.UsageError(str(error)) from error
    return _Program(str(spec.origin), spec, ["-m", script])


def _own(args: Sequence[str]) -> Sequence[str]:
    """Return the script's own arguments, without the -- before them."""
    return args[1:] if args[:1] == ("--",) else args


@click.command("run", context_settings=_SETTINGS)
@click.option("--jit", "targets", multiple=True, metavar="MODULE:FUNCTION",
              help="Compile this function. The script is __main__, the default.")  # fmt: skip
@click.option("--auto", is_flag=True, help="Compile what `npaccel doctor` advises to.")
@click.option("--sklearn", is_flag=True, help="Let scikit-learn's estimators compute on it.")
@click.option("--quiet", "-q", is_flag=True, help="Print no report.")
@click.option("--html", type=click.Path(dir_okay=False), help="Write the report as a page.")
@_module
@jit_options
@_script
@_args
@click.pass_context
def run(
    context: click.Context,
    /,
    targets: Sequence[str],
    auto: bool,
    sklearn: bool,
    quiet: bool,
    html: str | None,
    is_module: bool,
    script: str,
    args: Sequence[str],
    **found: Any,
) -> None:
    """Run SCRIPT with some of its functions compiled, and print their reports.

    ARGS are the script's own; put -- before those that begin with a dash. The report goes
    to standard error, and the exit code is the script's; 2 says that a function wasn't found.
    --auto runs the script twice: first in plain NumPy, its output thrown away.
    """
    options, args = given(found), _own(args)
    program = _program(context, script, is_module)
    wanted = {_parsed(target) for target in targets}
    if auto:
        targets, is_now = _advised(program, args, options)
        wanted |= {_parsed(target) for target in targets}
        if is_now:
            options.setdefault("compile", "now")
    _check_script(program.script, wanted)
    jitted: dict[str, Jitted[..., Any]] = {}

    def decorate(module: str, name: str, function: Any) -> Any:
        made = jitted[f"{module}:{name}"] = jit(function, **options)
        return made

    modules = {module for module, _ in wanted}
    source = Source(
        lambda module, file: module in modules,
        lambda module, name: (module, name) in wanted,
        decorate,
    )
    with _sklearn_accelerated(options.get("device")) if sklearn else contextlib.nullcontext():
        code = run_script(program.script, args, source, spec=program.spec)
    if not quiet:
        _print_reports(jitted)
    if sklearn and not quiet:
        from npaccel._sklearn.dispatch.report import everything

        click.echo(f"\n{everything.report()}", err=True)
    if html is not None:
        _write_page(html, jitted)
    missing = sorted(wanted - source.found)
    for module, name in missing:
        click.echo(f"npaccel run: {module}:{name} wasn't found; {_why_missing(module)}", err=True)
    context.exit(code or (2 if missing else 0))


def _sklearn_accelerated(device: str | None) -> contextlib.AbstractContextManager[Any]:
    """Have scikit-learn's classes compute on the device until the block ends, in all threads."""
    try:
        from npaccel.sklearn import accelerated  # noqa: F401 (its error names what is missing)
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    from npaccel._sklearn.dispatch.patching import everywhere

    return everywhere(device or "auto")


def _parsed(target: str) -> tuple[str, str]:
    module, colon, name = target.rpartition(":")
    return (module or "__main__", name) if colon else ("__main__", target)


def _check_script(script: str, wanted: set[tuple[str, str]]) -> None:
    """Refuse functions that the script doesn't define, before it runs."""
    names = {name for module, name in wanted if module == "__main__"}
    if not names:
        return
    source = Source(lambda *_: False, lambda module, name: True, lambda *_: None)
    with contextlib.suppress(SyntaxError):  # Python tells of it when the script runs.
        source.tree(ast.parse(Path(script).read_bytes(), script), "__main__")
        missing = sorted(names - {name for _, name in source.found})
        if missing:
            names_there = sorted(name for _, name in source.found)
            known = ", ".join(names_there) or "none"
            close = difflib.get_close_matches(missing[0], names_there, n=1)
            hint = f"; did you mean {close[0]!r}? Its" if close else "; its"
            raise click.UsageError(
                f"{script} defines no function {missing[0]!r}{hint} functions are: {known}. One of "
                "another module is named MODULE:FUNCTION"
            )


def _why_missing(module: str) -> str:
    if module in sys.modules and module != "__main__":
        return (
            f"{module} was imported, but has no such function in its source, or was imported before"
        )
    return f"the script imports no module {module}"


def _advised(
    program: _Program, args: Sequence[str], options: dict[str, Any]
) -> tuple[list[str], bool]:
    """Ask the doctor, in a process of its own, what to compile, and whether from the first call."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "diagnosis.json")
        command = [sys.executable, "-m", "npaccel", "doctor", "--json", path, *flags(options)]
        done = subprocess.run(  # noqa: S603 (this interpreter)
            [*command, *program.shown, "--", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if not os.path.exists(path):
            raise click.ClickException(
                f"npaccel doctor, which --auto asks, stopped with {done.returncode}"
            )
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return found["targets"], found["is_now"]


def _print_reports(jitted: dict[str, Jitted[..., Any]]) -> None:
    for target, one in jitted.items():
        report = one.report()
        made = report.graphs or report.loops or report.fallbacks or report.notes
        was_called = made or report.tiers
        text = (
            str(report)
            if was_called
            else f"{target}: not called, or only by other compiled functions"
        )
        click.echo(f"\n{text}", err=True)


def _write_page(path: str, jitted: dict[str, Jitted[..., Any]]) -> None:
    from npaccel._report.html import page

    Path(path).write_text(page([one.report() for one in jitted.values()]), encoding="utf-8")


@click.command("doctor", context_settings=_SETTINGS)
@click.option("--json", "json_path", type=click.Path(dir_okay=False),
              help="Write what was found as JSON, too.")  # fmt: skip
@click.option("--write", "write_path", type=click.Path(dir_okay=False),
              help="Write the script with functions made of its statements there.")  # fmt: skip
@click.option("--expect", type=float, metavar="FACTOR",
              help="Exit with 4 if the whole run can't be made faster by this factor.")  # fmt: skip
@_module
@jit_options
@_script
@_args
@click.pass_context
def doctor(
    context: click.Context,
    /,
    json_path: str | None,
    write_path: str | None,
    expect: float | None,
    is_module: bool,
    script: str,
    args: Sequence[str],
    **given_options: Any,
) -> None:
    """Say which functions of SCRIPT to compile, and what keeps others from it.

    Runs the script, or the cells of a notebook, in plain NumPy and takes the time of its functions.
    Those that take most of it are compiled, compared with NumPy and timed on the arguments of one
    of their calls. Where statements outside of functions take long, functions are made of them
    first, the script runs once more, and what changes is shown.

    Exit codes: 0; 1 if the script itself fails; 2 for wrong usage; 3 if a compiled function
    differs from NumPy; 4 if --expect isn't met.
    """
    from npaccel._process.progress import bar
    from npaccel._tools.doctor import diagnose

    program = _program(context, script, is_module)
    found = diagnose(
        program.script,
        _own(args),
        given(given_options),
        progress=lambda some: bar(some, "trying"),
        spec=program.spec,
        shown=" ".join(program.shown),
    )
    if json_path is not None:
        Path(json_path).write_text(found.to_json(), encoding="utf-8")
    if write_path is not None:
        if not found.text:
            click.echo("npaccel doctor: --write: no functions are made of statements", err=True)
        else:
            Path(write_path).write_text(found.text, encoding="utf-8")
    click.echo(f"\n{found}")
    if found.exit_code:
        click.echo(f"the script exited with {found.exit_code}", err=True)
        context.exit(SCRIPT_FAILED)
    if found.differs:
        context.exit(DIFFERS)
    if expect is not None and found.speed_up < expect:
        click.echo(f"expected {expect:g} times, found {found.speed_up:.1f}", err=True)
        context.exit(TOO_SLOW)
