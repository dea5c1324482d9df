"""Measurements in a process of their own. Run as a script; prints one line of JSON.

    python children.py import MODULE
    python children.py first_result IMPLEMENTATION
    python children.py first_call IMPLEMENTATION
    python children.py peak_memory IMPLEMENTATION DTYPE
    python children.py estimator_memory CASE IMPLEMENTATION
    python children.py compile_loop STEPS
    python children.py compile_gradient STEPS
    python children.py gradient_memory
    python children.py first_nest PROGRAM
    python children.py first_ten PROGRAM
    python children.py regret PROGRAM

The clock starts before anything heavy is imported, and this file imports
nothing else first: keep it so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Points of the k-means step.
POINTS = 2_000_000
#: Modules that `import npaccel` must not load.
HEAVY = ("torch._dynamo", "torch._inductor", "scipy", "sklearn")


def import_seconds(module: str) -> dict[str, Any]:
    """Return the seconds that an import takes and which heavy modules it loads."""
    start = time.perf_counter()
    __import__(module)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "loaded": [name for name in HEAVY if name in sys.modules]}


def _compile(implementation: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the k-means step of an implementation and the maker of its inputs."""
    from functions import kmeans, kmeans_points

    call: Callable[..., Any] = kmeans
    if implementation == "npaccel":
        import npaccel

        call = npaccel.jit(kmeans, compile="now")
    elif implementation == "torch_compile":
        import torch

        call = torch.compile(kmeans)
    elif implementation != "numpy":
        raise SystemExit(f"children.py: {implementation!r} has no fresh-process benchmark")
    return call, kmeans_points


def first_result(implementation: str) -> dict[str, Any]:
    """Return the seconds from the first import to the first k-means result.

    Making the inputs is not counted.
    """
    start = time.perf_counter()
    call, make = _compile(implementation)
    seconds = time.perf_counter() - start
    inputs = make(POINTS, "float64")
    start = time.perf_counter()
    call(*inputs)
    seconds += time.perf_counter() - start
    return {"seconds": seconds, "loaded": [name for name in HEAVY if name in sys.modules]}


def first_call(implementation: str) -> dict[str, Any]:
    """Return the seconds of the first call on small inputs, imports not counted."""
    call, make = _compile(implementation)
    inputs = make(1000, "float64")
    start = time.perf_counter()
    call(*inputs)
    return {"seconds": time.perf_counter() - start}


def peak_memory(implementation: str, dtype: str) -> dict[str, Any]:
    """Return how far a call raises the process's peak above inputs and output."""
    import numpy as np

    call, make = _compile(implementation)
    inputs = make(POINTS, dtype)
    extra, result = _peak_above(lambda: call(*inputs))
    inputs_bytes = sum(array.nbytes for array in inputs)
    return {"bytes": extra - np.asarray(result).nbytes, "inputs": inputs_bytes}


def estimator_memory(case: str, implementation: str) -> dict[str, Any]:
    """Return how far fitting and predicting raises the process's peak."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from benchmarks.sklearn_estimators import prepare

    return {"bytes": _peak_above(prepare(case, implementation))[0]}


def _peak_above(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return how many bytes a warm call raises the process's peak by, and its result.

    The peak so far, which compiling set, is made up with ballast first, so that
    whatever the call allocates raises it.
    """
    import ctypes
    import resource

    import numpy as np

    for _ in range(3):
        call()
    ctypes.CDLL(None).malloc_trim(0)

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()

    ballast = np.ones(max(0, peak() - resident()), np.uint8)
    before = peak()
    result = call()
    extra = peak() - before
    del ballast
    return extra, result


def compile_loop(steps: str) -> dict[str, Any]:
    """Return the seconds that the first call of a loop takes longer than the second."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import npaccel
    from benchmarks.loop_programs.stencils import jacobi_2d, jacobi_2d_arguments

    call = npaccel.jit(jacobi_2d, compile="now")
    taken = []
    for _ in range(2):
        arguments = jacobi_2d_arguments(150, int(steps))
        start = time.perf_counter()
        call(*arguments)
        taken.append(time.perf_counter() - start)
    return {"seconds": taken[0] - taken[1], "running": taken[1]}


def compile_gradient(steps: str) -> dict[str, Any]:
    """Return the seconds that the first call of a loop's gradient takes longer than the second."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import numpy as np

    import npaccel
    from benchmarks.loop_programs.diffusion import nonlinear_heat

    npaccel.grad(lambda x: np.sum(x**2))(np.ones(3))  # imports the compiler
    call = npaccel.grad(nonlinear_heat)
    taken = []
    for _ in range(2):
        u = np.random.default_rng(0).normal(size=(64, 64))
        start = time.perf_counter()
        call(u, int(steps))
        taken.append(time.perf_counter() - start)
    return {"seconds": taken[0] - taken[1]}


def gradient_memory() -> dict[str, Any]:
    """Return how many states gradients of 200 steps with checkpoints keep at their peak."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import numpy as np

    import npaccel
    from benchmarks.loop_programs.diffusion import heat, nonlinear_heat

    found = {}
    for name, function in (("linear", heat), ("nonlinear", nonlinear_heat)):
        gradient = npaccel.grad(function, checkpoint=True)
        u = np.random.default_rng(0).normal(size=(1024, 1024))
        gradient(u, 200)
        nbytes, _ = _peak_above(lambda gradient=gradient, u=u: gradient(u, 200))
        found[name] = nbytes / u.nbytes
    return found


def first_nest(program: str) -> dict[str, Any]:
    """Return the seconds that Numba's import and the first call of a program's loop take.

    Less those of a second call.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import npaccel
    from benchmarks.loop_programs import PROGRAMS

    start = time.perf_counter()
    import numba  # noqa: F401 (the call imports it otherwise)

    imported = time.perf_counter() - start
    call = npaccel.jit(PROGRAMS[program].function, compile="now", default_float="float64")
    taken = []
    for _ in range(2):
        arguments = PROGRAMS[program].make_arguments("test")
        start = time.perf_counter()
        call(*arguments)
        taken.append(time.perf_counter() - start)
    called = taken[0] - taken[1]
    return {"seconds": imported + called, "import": imported, "call": called}


def first_ten(program: str) -> dict[str, Any]:
    """Return the seconds of an ordinary program's first ten calls, and of NumPy's."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from benchmarks.first_calls import measured

    return next(measured(program))


def regret(program: str) -> dict[str, Any]:
    """Return all figures of an ordinary program; print a line after each step too."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import json

    from benchmarks.first_calls import measured

    found: dict[str, Any] = {}
    for found in measured(program):
        print(json.dumps(found), flush=True)
    return found


def main(task: str, *arguments: str) -> None:
    """Do one task and print its answer."""
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "import": import_seconds,
        "first_result": first_result,
        "first_call": first_call,
        "peak_memory": peak_memory,
        "estimator_memory": estimator_memory,
        "compile_gradient": compile_gradient,
        "compile_loop": compile_loop,
        "gradient_memory": gradient_memory,
        "first_nest": first_nest,
        "first_ten": first_ten,
        "regret": regret,
    }
    answer = tasks[task](*arguments)
    import json

    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
