"""Run a script as ``python script.py`` does, with functions of its decorated."""

from __future__ import annotations

import contextlib
import os
import sys
import types
from collections.abc import Iterator, Sequence
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

    Returns
    -------
    int
        The exit code: 1 for an exception, 130 for an interruption.
    """
    path = os.path.abspath(script)
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=named or script, __cached__=None, __spec__=None, __builtins__=__builtins__
    )
    module.__dict__.update(source.names("__main__"))
    folder = os.path.dirname(os.path.abspath(named or script))
    with _as_main(module, named or script, args, folder), source.importing():
        try:
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
