"""Run a script as ``python script.py`` does, or a module as ``python -m``, functions decorated."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from npaccel._tools.decorate import Source


def run_script(
    script: str,
    args: Sequence[str],
    source: Source,
    *,
    named: str | None = None,
    space: dict[str, Any] | None = None,
    spec: ModuleSpec | None = None,
) -> int:
    """Run a script, and say what it would have exited with.

    ``sys.argv``, ``sys.path[0]`` and ``__main__`` are as under ``python``. An exception
    is shown by ``sys.excepthook``, without frames of npaccel's.

    Parameters
    ----------
    script : str
    args : sequence of str
    source : Source
    named : str, optional
        What the script thinks its file is, `script` by default.
    space : dict, optional
        Is given the script's names, as they are at its end.
    spec : ModuleSpec, optional
        Of the module that it is, as `module_of` has found it.

    Returns
    -------
    int
        The exit code: 1 for an exception, 130 for an interruption.
    """
    path = os.path.abspath(script)
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=named or script, __cached__=None, __spec__=spec, __builtins__=__builtins__
    )
    folder = os.path.dirname(os.path.abspath(named or script))
    if spec is not None:
        module.__dict__.update(__package__=spec.parent, __loader__=spec.loader)
        folder = os.getcwd()
    module.__dict__.update(source.names("__main__"))
    with _as_main(module, named or script, args, folder), source.importing():
        try:
            if spec is not None and spec.parent:
                importlib.import_module(spec.parent)
            code = source.code(Path(path).read_bytes(), script, "__main__")
            exec(code, module.__dict__)
        except SystemExit as stop:
            return _exit_code(stop)
        except BaseException as error:  # noqa: BLE001 (shown as Python shows it)
            _show(error, path)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            if space is not None:
                space.update(module.__dict__)
    return 0


def module_of(name: str) -> ModuleSpec:
    """Find the module that ``python -m`` would run; import nothing.

    Raises
    ------
    ImportError
        If there is none, or none that is written in Python.
    """
    find = PathFinder.find_spec  # `importlib.util` would import the packages.
    first, *others = name.split(".")
    spec = find(first, [os.getcwd()]) or importlib.util.find_spec(first)
    for part in others:
        if spec is not None:
            folders = list(spec.submodule_search_locations or ())
            spec = find(f"{spec.name}.{part}", folders) if folders else None
    if spec is None:
        raise ImportError(f"there is no module {name!r} in this folder or on sys.path")
    if spec.submodule_search_locations:
        return module_of(f"{name}.__main__")
    if not (spec.origin or "").endswith(".py"):
        raise ImportError(f"the module {name!r} isn't a file of Python code")
    return spec


@contextlib.contextmanager
def _as_main(
    module: types.ModuleType, script: str, args: Sequence[str], folder: str
) -> Iterator[None]:
    argv, main, path = sys.argv, sys.modules["__main__"], sys.path[:]
    sys.argv = [script, *args]
    sys.modules["__main__"] = module
    sys.path[0] = folder
    try:
        yield
    finally:
        sys.argv, sys.modules["__main__"] = argv, main
        sys.path[:] = path
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.flush()


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)  # noqa: T201 (as Python does)
    return 1


def _show(error: BaseException, script: str) -> None:
    traceback = error.__traceback__
    while traceback and os.path.abspath(traceback.tb_frame.f_code.co_filename) != script:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
