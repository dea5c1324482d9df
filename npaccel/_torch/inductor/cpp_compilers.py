"""Run C++ compilers that end with this process, or when nobody waits for them any more.

What is called `g++` has the compiler proper for a child, so that both are one group of processes.
A shell beside them ends the group where this process is gone, however that came about.

Read from torch/_inductor/cpp_builder.py (_run_compile_cmd) of 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch._inductor import cpp_builder, exc

from npaccel._process import background
from npaccel._torch.patching import Patch, patched

_IS_POSIX = os.name == "posix"
#: Program that ends a compiler with this process: its standard input has its other end here alone.
_WATCHED = """
exec 3<&0 </dev/null
"$@" 3<&- &
compiler=$!
{ read -r line <&3; kill -9 0; } >/dev/null 2>&1 &
watch=$!
wait $compiler
status=$?
kill -9 $watch
exit $status
"""

#: Compilers that run, and whether somebody waits for them.
_running: dict[subprocess.Popen[bytes], bool] = {}


def run(command: Sequence[str], folder: str | None = None, *, awaited: bool = True) -> None:
    """Run a C++ compiler; an exception that comes meanwhile ends it.

    Parameters
    ----------
    command : sequence of str
    folder : str, optional
        Where it runs.
    awaited : bool
        Whether nobody needs its work any more once the compilation has ended that wants it.

    Raises
    ------
    torch._inductor.exc.CppCompileError
    """
    with _started(command, folder) as process:
        _running[process] = awaited
        try:
            told, _ = process.communicate()
        except BaseException:
            _kill(process)
            raise
        finally:
            del _running[process]
    if process.returncode:
        raise exc.CppCompileError(list(command), told.decode(errors="replace"))


@contextlib.contextmanager
def _started(command: Sequence[str], folder: str | None) -> Iterator[subprocess.Popen[bytes]]:
    options: dict[str, Any] = {
        "cwd": folder,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }
    if not _IS_POSIX:
        with subprocess.Popen(command, **options) as process:  # noqa: S603 (the compiler that Inductor runs)
            yield process
        return
    theirs, ours = os.pipe()
    try:
        try:
            command = ["/bin/sh", "-c", _WATCHED, "sh", *command]
            made = subprocess.Popen(command, stdin=theirs, process_group=0, **options)  # noqa: S603
        finally:
            os.close(theirs)
        with made as process:
            yield process
    finally:
        os.close(ours)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if not _IS_POSIX:
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def stop(*, everything: bool = False) -> None:
    """End the compilers whose work nobody needs any more, or all of them."""
    for process, awaited in list(_running.items()):
        if awaited or everything:
            _kill(process)


background.on_stop(functools.partial(stop, everything=True))


@contextlib.contextmanager
def kernels_compiled_here() -> Iterator[None]:
    """Have Inductor's compilers run as this module's do, and end with what the block raises."""
    with patched(PATCHES):
        try:
            yield
        except BaseException:
            stop()
            raise


def _ours(original: Any) -> Callable[[str, str], None]:
    def run_compile_cmd(line: str, folder: str) -> None:
        run(shlex.split(line), folder)

    return run_compile_cmd


PATCHES = (
    Patch(
        cpp_builder, "_run_compile_cmd", _ours,
        "Inductor's compilers go on when a user interrupts", "tests/faults/test_interrupts.py",
    ),
)  # fmt: skip
