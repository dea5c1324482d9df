"""Programs with loops over arrays: compiling them, running them, and what goes uncompiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from . import loop_programs
from .common import IMPLEMENTATIONS, Benchmark, Call, build
from .loop_programs import PROGRAMS, Program, answer, same_answers
from .loop_programs.record import Size
from .processes import empty_caches, run_child

#: Bare ``torch.compile`` unrolls loops, which takes it minutes: it has no part in this.
LOOP_IMPLEMENTATIONS = [name for name in IMPLEMENTATIONS if name != "torch_compile"]


def build_program(program: Program, implementation: str) -> Call:
    """Return a program as an implementation runs it, with NumPy's dtypes."""
    return build(program.function, implementation, default_float="float64")


def check_program(program: Program, implementation: str, call: Call, size: Size) -> None:
    """Compare everything that a call returns and writes with NumPy's."""
    expected = answer(program, program.function, size)
    actual = answer(program, call, size, flat=implementation == "jax")
    if not same_answers(program, expected, actual):
        raise AssertionError(f"{program.name}: {implementation}'s answer is not NumPy's")


def repeated(program: Program, call: Call, size: Size) -> Callable[[], Any]:
    """Return a call without arguments that does the same work each time."""
    arguments = program.make_arguments(size)
    if program.repeatable:
        return lambda: call(*arguments)
    fresh = [id(array) for array in program.written(arguments)]
    return lambda: call(*(a.copy() if id(a) in fresh else a for a in arguments))


def runs_in_numpy(call: Callable[[], Any]) -> bool:
    """Say whether a program's own Python code holds ndarrays while it is called.

    The frame that drives compiled loops doesn't count: what it calls does.
    """
    folder = str(Path(loop_programs.__file__).parent)
    found = False

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found
        code = frame.f_code
        drives = any(name.startswith("_npaccel") for name in code.co_freevars)
        if event == "return" and code.co_filename.startswith(folder) and not drives:
            values = frame.f_locals.values()
            found = found or any(isinstance(v, np.ndarray) and v.ndim for v in values)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def is_silent(call: Any, run: Callable[[], Any]) -> bool:
    """Say whether something runs uncompiled without a line in the report.

    Parameters
    ----------
    call : Jitted
    run : callable
        Calls it, not for the first time.
    """
    report = call.report()
    told = any(loop.engine != "compiled body" or loop.detail for loop in report.loops)
    told = told or any("in NumPy" in note for note in report.notes)
    return not (report.fallbacks or told) and runs_in_numpy(run)


class LoopPrograms(Benchmark):
    """Each program at its larger size."""

    params = [LOOP_IMPLEMENTATIONS, list(PROGRAMS)]
    param_names = ["implementation", "program"]
    timeout = 600

    def prepare(self, implementation: str, *parameters: Any) -> Callable[[], Any]:
        program = PROGRAMS[parameters[0]]
        run = repeated(program, build_program(program, implementation), "bench")
        for _ in range(3):
            run()
        return run


class SilentPrograms:
    """How many programs run uncompiled, in part, without a line in the report."""

    unit = "programs"
    timeout = 600

    def track_silent(self) -> int:
        silent = 0
        for program in PROGRAMS.values():
            call = build(program.function, "npaccel", default_float="float64", backend="eager")
            run = repeated(program, call, "test")
            run()
            silent += is_silent(call, run)
        return silent


class CompileLoop:
    """Time that compiling Jacobi's method adds to its first call: new process, empty caches."""

    params = [50, 5000]
    param_names = ["steps"]
    unit = "seconds"
    timeout = 600

    def track_compile(self, steps: int) -> float:
        with empty_caches() as caches:
            seconds: float = run_child("compile_loop", str(steps), caches=caches)["seconds"]
        return seconds
