"""Loop nests in processes of their own, and how many of them each process compiled.

Imported by the interpreters that `test_numba_disk.py` starts. They fork before Numba has compiled
any of these: each child is a process that knows nothing of them but what lies on the disk.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nest_checking import check, compiled, function_of, nest_of
from numba.core import event

import npaccel
from npaccel._loops.nests import numba_backend
from npaccel._loops.nests.lowering import lower_nest

RATE = 1.5


# Programs


def above(value, limit):
    total = 0.0
    for k in range(limit):
        for j in range(k):
            if value * k > j:
                total += math.sqrt(value + j)
            elif value > k + j:
                total -= math.log(1 + value * j)
            else:
                total += math.atan2(value, j + 1)
    return total


def calling(v, out, n):
    for i in range(len(v)):
        out[i] = above(v[i], n) + above(v[i] / 2, n + 1)
    return (i,)


def functions(v, out):
    for i in range(len(v)):
        x = v[i]
        out[i] = math.sin(x) + math.exp(-x) + math.hypot(x, 2) + np.log1p(x) + np.tanh(x) + x**2.5
    return (x,)


def complexes(z, out, c):
    for i in range(len(z)):
        w = z[i] * c + 1j
        out[i] = w / (z[i] - 3) + abs(w)
        last = w.conjugate()
    return (last, w)


def outputs(v, n, best, total):
    place, seen = 0, False
    for i in range(n):
        total += int(v[i]) % 7 // 2
        if best is None or v[i] > best:
            best, place = v[i], i
        seen = seen or v[i] < 0
    return (best, place, total, seen, i)


def errors(v, w, k):
    for i in range(len(v)):
        if v[i] < 0:
            raise ValueError("negative")
        assert v[i] != 3, "three"
        w[i] = math.sqrt(v[i] - 1) + k // int(v[i])
        w[i + k] += 1
    return ()


def growing(n):
    x = 1
    for _ in range(n):
        x = x * 3 + 1
    return (x,)


def scaled(u):
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            u[i, j] = RATE * u[i, j] + 1
    return ()


def another(u, v):
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            u[i, j] = v[i] - 2 * u[i, j]
    return ()


V = np.linspace(0.1, 4.0, 9)
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "calling": [(V, V.copy(), 5)],
    "functions": [(V, V.copy())],
    "complexes": [(V + 2j * V[::-1], np.zeros(9, complex), 0.5 - 2j)],
    "outputs": [(np.array([3, 9, -2, 9]), 4, None, 0), (np.array([3]), 0, None, 0)],
    "errors": [
        (np.array(values), np.zeros(size), k)
        for values, size, k in (
            *(([1.0, 2.0], 5, 1), ([1.0, 2.0], 2, 1), ([2.0, 3.0], 5, 1)),
            *(([2.0, -1.0], 5, 1), ([1.5, 0.5], 5, 1), ([1.0], 5, -7)),
        )
    ],
    "growing": [(9,), (70,)],
    "scaled": [(np.ones((3, 4)),)],
}


def check_all() -> None:
    """Compare all calls with Python, their exceptions as well, and the lines of these."""
    check_some(*CALLS)
    nest = compiled(errors, *CALLS["errors"][0])
    lines = [line_of(function, *CALLS["errors"][3]) for function in (errors, nest)]
    assert lines == [lines[0]] * 2
    assert lines[0].endswith('raise ValueError("negative")')


def check_some(*names: str) -> None:
    """Compare some calls with Python."""
    for name in names:
        calls = CALLS[name]
        function = globals()[name]
        nest = compiled(function, *calls[0])
        for args in calls:
            check(function, *args, nest=nest, ulps=4)


def line_of(function: Callable[..., Any], *args: Any) -> str:
    """Return the number and the text of the line that a call fails at."""
    try:
        function(*args)
    except ValueError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{place.filename}:{place.lineno}: {place.line}"
    raise AssertionError("it raised nothing")


def check_scaled(kind: str = "f8", rate: float = RATE, *, cache: bool = True) -> None:
    """Compare one small nest with Python, for arrays of a dtype and a constant."""
    u = np.ones((3, 4), kind)
    wanted = (rate * u + 1).astype(kind)
    nest = numba_backend.compile_nest(
        nest_of(scaled), {"u": u}, {"RATE": rate}, __file__, cache=cache
    )
    nest(u)
    np.testing.assert_array_equal(u, wanted, strict=True)


def check_layouts(order: Sequence[int]) -> None:
    """Compile one text for several layouts, in some order."""
    u = np.arange(24.0).reshape(4, 6)
    nest, names = nest_of(scaled), {"RATE": RATE}
    lowered = lower_nest.lower(nest, {"u": u}, names, narrow=False)
    arrays = [u, u.T.copy().T, np.repeat(u, 2, 1)[:, ::2]]
    for array in (arrays[place] for place in order):
        function = numba_backend._compile(lowered, {"u": array}, nest, cache=True)
        function(np.zeros(8, np.int64), np.zeros(3), array)
        np.testing.assert_array_equal(array, RATE * np.arange(24.0).reshape(4, 6) + 1)


LARGE_ITERATION = """
    for j in range(k):
        if x * k > j + {i}:
            x += math.sqrt(x + j) + RATE
        else:
            x -= math.atan2(x, j + {i} + 1)
"""


def check_large(rate: float) -> None:
    """Compare a nest that calls a function which is too long to become part of it."""
    iterations = "".join(LARGE_ITERATION.format(i=i) for i in range(7))
    large = function_of(
        f"def large(x, k):\n{iterations}\n    return x\n", {"math": math, "RATE": rate}
    )

    def calling(v, out, n):
        for i in range(len(v)):
            out[i] = large(v[i], n) + large(v[i] / 2, n + 1)
        return (i,)

    check(calling, V, V.copy(), 3, namespace={"large": large}, ulps=4)


def jitted(*, cache: bool = True) -> None:
    """The same through `npaccel.jit`."""
    u = np.ones((3, 4))

    def f(u):
        for i in range(u.shape[0]):
            for j in range(1, u.shape[1]):
                u[i, j] = 0.5 * u[i, j - 1] + i
        return u

    wanted = f(u.copy())
    got = npaccel.jit(f, cache=cache)(u.copy())
    np.testing.assert_array_equal(got, wanted)


# Processes


def serve() -> None:
    """Run each line that comes in, JSON of code and of environment variables, in a process."""
    warm()
    for line in sys.stdin:
        code, variables = json.loads(line)
        pid = _fork(lambda code=code, variables=variables: _run(code, variables))
        sys.stdout.write(f"{os.waitpid(pid, 0)[1]}\n")
        sys.stdout.flush()


def _run(code: str, variables: dict[str, str]) -> None:
    os.environ.update(variables)
    exec(code, dict(globals()))


def _fork(work: Callable[[], object]) -> int:
    """Do some work in a forked process; return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def warm() -> None:
    """Let Numba import what it compiles with, once for all processes that are forked later."""
    for kind in ("f8", "f4"):
        arrays = {"u": np.ones((3, 4), kind), "v": np.ones(3, kind)}
        numba_backend.compile_nest(nest_of(another), arrays, {}, __file__, cache=False)


def begin(work: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Run something in a forked process; return what waits for it.

    What waits returns how many nests the process compiled, the warnings of the cache that it gave,
    and what the work returned.
    """
    read, write = os.pipe()
    pid = _fork(lambda: os.write(write, json.dumps(_counted(work, args)).encode()))
    os.close(write)

    def wait() -> Any:
        with os.fdopen(read) as file:
            text = file.read()
        assert os.waitpid(pid, 0)[1] == 0, "the process failed"
        return json.loads(text)

    return wait


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """Run something in a forked process to its end; see `begin`."""
    return begin(work, *args)()


def compilations(work: Callable[..., Any], *args: Any) -> int:
    """Return how many nests a process compiles, which must not warn."""
    count, warned, _ = apart(work, *args)
    assert warned == []
    return int(count)


def _counted(work: Callable[..., Any], args: Sequence[Any]) -> tuple[int, list[str], Any]:
    """Run something; return how many nests were compiled, the cache's warnings, and its result."""
    with (
        event.install_recorder("numba:compile") as recorder,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", npaccel.errors.CacheWarning)
        result = work(*args)
    started = [e.data["dispatcher"].py_func for _, e in recorder.buffer if e.is_start]
    nests = sum(function.__name__ == "nest" for function in started)
    return nests, [str(item.message) for item in warned], result


def payloads() -> list[Path]:
    """Return the files of code in the cache."""
    return sorted(Path(os.environ["NPACCEL_CACHE_DIR"]).glob("v1/??/*/*/nest.pickle"))
