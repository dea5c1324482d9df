"""Measure npaccel against NumPy and its peers, each row in one run, and print the table.

    python asv_benches/compare.py                 # every row
    python asv_benches/compare.py kmeans sine     # some of them
    python asv_benches/compare.py --json out.json

The rows use the classes of ``asv_benches/benchmarks``: same code, same inputs,
same way of timing. What is compared by a ratio is timed in one process, in
blocks with pauses between them, or in new processes taking turns. The answers of
all implementations are compared with NumPy's before any time is taken.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import datetime as dt
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import overhead, steady
from benchmarks.common import Benchmark, build, same_results, side_by_side
from benchmarks.processes import empty_caches, run_child
from busy_rows import busy
from estimator_rows import estimator_rows
from gpu_rows import gpu_rows
from gradient_rows import gradients
from kernel_rows import kernel_rows
from loop_rows import loops
from mask_rows import masks
from regret_rows import regret_rows
from rows import Row, implemented, in_turn
from scipy_rows import scipy_rows
from sklearn_rows import sklearn_rows
from table_rows import Pieces, table_rows
from transform_rows import transform_rows


def check_answers(benchmark: Benchmark, implementation: str, *parameters: Any) -> None:
    """Compare one call's result and the arguments after it with NumPy's."""
    ours, theirs = (copy.deepcopy(benchmark.arguments(*parameters)) for _ in range(2))
    expected = type(benchmark).function(*ours)
    actual = build(type(benchmark).function, implementation)(*theirs)
    for left, right in zip((expected, *ours), (actual, *theirs), strict=True):
        if left is not None and not same_results(left, right):
            raise AssertionError(f"compare: {implementation}'s answer is not NumPy's")


def seconds_of(
    benchmark: Benchmark, implementations: tuple[str, ...], *parameters: Any
) -> dict[str, float]:
    """Return the median seconds per call of those implementations that can run it."""
    calls: dict[str, Callable[[], Any]] = {}
    made = implemented(implementations, lambda one: benchmark.prepare(one, *parameters))
    for implementation, call in made:
        check_answers(benchmark, implementation, *parameters)
        calls[implementation] = call
    return side_by_side(calls)


ALL = ("numpy", "npaccel", "torch_compile", "numba", "jax")


def kmeans() -> list[Row]:
    """Time the k-means step in both precisions."""
    rows = []
    for dtype in ("float64", "float32"):
        taken = seconds_of(steady.KMeansStep(), ALL, dtype, "cpu")
        ours = taken["npaccel"]
        faster = {name: taken["numpy"] / value for name, value in taken.items()}
        met = ours <= taken["torch_compile"] * 1.05  # 5%: two runs of the same code differ by it
        asked = "at least as fast as bare torch.compile"
        if dtype == "float64":
            asked += ", within 1.3x of Numba"
            met = met and ours <= 1.3 * taken.get("numba", ours)
        measured = ", ".join(f"{name} {x:.1f}x" for name, x in faster.items() if name != "numpy")
        rows.append(Row(f"k-means step, 2M x 2 {dtype}, vs NumPy", asked, measured, met, taken))
    return rows


def against_torch(benchmark: Benchmark, what: str, bound: float) -> list[Row]:
    """Time a call against bare ``torch.compile``."""
    taken = seconds_of(benchmark, ALL)
    ratio = taken["npaccel"] / taken["torch_compile"]
    measured = f"{ratio:.2f} of it: " + ", ".join(
        f"{name} {value * 1e6:.1f} µs" for name, value in taken.items()
    )
    asked = f"<= {bound} of bare torch.compile"
    return [Row(what, asked, measured, ratio <= bound, taken)]


def sine() -> list[Row]:
    """Time the smallest call."""
    return against_torch(overhead.Sine(), "np.sin(x) + 1, 10 elements", 0.3)


def stencil() -> list[Row]:
    """Time the small stencil."""
    return against_torch(overhead.SmallStencil(), "in-place 5-point stencil, 150x150", 0.45)


def slice_writes() -> list[Row]:
    """Time writes to slices of a new array."""
    taken = seconds_of(steady.SliceWrites(), ALL)
    faster = {name: taken["numpy"] / value for name, value in taken.items()}
    measured = ", ".join(f"{name} {x:.2f}x" for name, x in faster.items() if name != "numpy")
    met = faster["npaccel"] >= 2.5
    return [Row("three slice writes, 80x80x26 float64, vs NumPy", ">= 2.5x", measured, met, taken)]


def warm_start() -> list[Row]:
    """Time the first result of a new process whose caches are warm."""
    tasks = {
        "import torch": ("import", "torch"),
        "npaccel": ("first_result", "npaccel"),
        "torch_compile": ("first_result", "torch_compile"),
    }
    with empty_caches() as caches:
        in_turn(tasks, 2, caches=caches)
        taken = in_turn(tasks, 7, caches=caches)
    ratio = taken["npaccel"] / taken["import torch"]
    measured = f"{ratio:.2f}: " + ", ".join(f"{n} {v:.2f} s" for n, v in taken.items())
    what = "new process, warm cache, first import to first result"
    return [Row(what, "<= 1.3 x import torch", measured, ratio <= 1.3, taken)]


def importing() -> list[Row]:
    """Time ``import npaccel`` against ``import torch``, and list what it loads."""
    tasks = {"torch": ("import", "torch"), "npaccel": ("import", "npaccel")}
    in_turn(tasks, 1)
    taken = in_turn(tasks, 9)
    ratio = taken["npaccel"] / taken["torch"]
    loaded = run_child("import", "npaccel")["loaded"]
    measured = f"{ratio:.2f}; loads {', '.join(loaded) or 'none of them'}"
    asked = "<= 1.1 x import torch; loads no dynamo, inductor, scipy, sklearn"
    return [Row("import npaccel", asked, measured, ratio <= 1.1 and not loaded, taken)]


def cold() -> list[Row]:
    """Time the first call with empty caches, in new processes."""
    taken = in_turn({name: ("first_call", name) for name in ("npaccel", "torch_compile")}, 3, True)
    ratio = taken["npaccel"] / taken["torch_compile"]
    measured = f"{ratio:.2f}: " + ", ".join(f"{n} {v:.1f} s" for n, v in taken.items())
    asked = "<= 1.5 of bare torch.compile"
    return [Row("first call, cold cache", asked, measured, ratio <= 1.5, taken)]


def shapes() -> list[Row]:
    """Time the 21st shape against code compiled for it alone, and count compilations."""
    import npaccel

    benchmark = steady.TwentyFirstShape()
    arguments = benchmark.arguments()
    npaccel.config.cache = False  # what an earlier run left on disk would not be compiled again
    calls: dict[str, Callable[..., Any]] = {
        f"{name}{kind}": build(type(benchmark).function, name)
        for name in ("npaccel", "torch_compile")
        for kind in ("", " alone")
    }
    for name in ("npaccel", "torch_compile"):
        benchmark.warm(calls[name])
    taken = side_by_side({name: partial(call, *arguments) for name, call in calls.items()})
    npaccel.config.reset()
    slower = taken["npaccel"] / taken["npaccel alone"]
    compilations = steady.compilations(calls["npaccel"])
    measured = (
        f"{compilations} compilations, {slower:.2f} of the time of code compiled for shape 21 alone"
        f" (bare torch.compile: {taken['torch_compile'] / taken['torch_compile alone']:.2f})"
    )
    met = compilations <= 2 and slower <= 1.25  # generic code may cost an index computation
    asked = "<= 2 compilations, compiled speed"
    figures = {**taken, "compilations": compilations}
    return [Row("20 shapes, then the 21st", asked, measured, met, figures)]


def memory() -> list[Row]:
    """Measure the peak of the k-means step above its inputs and output."""
    rows = []
    for dtype in ("float64", "float32"):
        answers = {
            name: run_child("peak_memory", name, dtype)
            for name in ("numpy", "npaccel", "torch_compile")
        }
        extra = {name: max(0.0, float(answer["bytes"])) for name, answer in answers.items()}
        share = {name: extra[name] / answers[name]["inputs"] for name in answers}
        measured = ", ".join(f"{name} {value:.0%}" for name, value in share.items())
        what = f"peak memory of the k-means step, {dtype}"
        rows.append(Row(what, "<= 10% of the inputs", measured, share["npaccel"] <= 0.1, extra))
    return rows


ROWS: dict[str, Callable[..., list[Row]]] = {
    "kmeans": kmeans,
    "sine": sine,
    "stencil": stencil,
    "slice_writes": slice_writes,
    "warm_start": warm_start,
    "import": importing,
    "cold": cold,
    "shapes": shapes,
    "memory": memory,
    "kernels": kernel_rows,
    "loops": loops,
    "masks": masks,
    "gradients": gradients,
    "transforms": transform_rows,
    "rows": table_rows,
    "scipy": scipy_rows,
    "sklearn": sklearn_rows,
    "estimators": estimator_rows,
    "regret": regret_rows,
    "busy": busy,
    "gpu": gpu_rows,
}

#: What can be measured in pieces.
_IN_PIECES = ("rows", "scipy", "estimators")


def conditions() -> dict[str, str]:
    """Return what the figures depend on: versions, processor, cores."""
    import numpy as np
    import torch

    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [x for x in info.read_text(encoding="utf-8").splitlines() if "model name" in x]
        cpu = models[0].partition(":")[2].strip() if models else cpu
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": cpu,
        "cores": str(len(os.sched_getaffinity(0))),
        "torch threads": str(torch.get_num_threads()),
    }


def peers() -> dict[str, str]:
    """Return the releases of what is compared besides."""
    names = [name for name in ("numba", "jax") if importlib.util.find_spec(name) is not None]
    return {name: importlib.metadata.version(name) for name in names}


def of_estimators(around: dict[str, str], device: str) -> dict[str, str]:
    """Return what the figures of estimators depend on."""
    import sklearn

    found = {"scikit-learn": sklearn.__version__, **around}
    return found | graphics() if device == "cuda" else found


def graphics() -> dict[str, str]:
    """Return the name of the GPU, if there is one."""
    import torch

    return {"graphics": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}


def as_table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | asked | measured | met |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {row.what} | {row.asked} | {row.measured} | {'yes' if row.met else 'NO'} |"
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure the rows that are asked for, print them, and return 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", help=f"any of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    of = ", ".join(_IN_PIECES)
    parser.add_argument("--kept", type=Path, metavar="FILE", help=f"{of}: where results are kept")
    parser.add_argument(
        "--match", nargs="+", default=(), metavar="NAME", help=f"loops, regret, {of}: only these"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help=f"{of}: stop after")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="estimators: where"
    )
    options = parser.parse_args(arguments)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    around = conditions()
    measured: list[Row] = []
    for name in options.rows or ROWS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        given: tuple[Any, ...] = ()
        if name in _IN_PIECES:
            given = (Pieces(options.kept, tuple(options.match), options.minutes),)
        if name in {"loops", "regret"}:
            given = (tuple(options.match),)
        if name == "estimators":
            given += (options.device, of_estimators(around, options.device))
        if name == "gpu":
            around |= graphics()
        measured += ROWS[name](*given)
    print(", ".join(f"{key} {value}" for key, value in around.items()), end="\n\n")
    print(as_table(measured))
    if options.json:
        today = dt.datetime.now(dt.UTC).date().isoformat()
        around = {"date": today, **around, **peers()}
        figures = {"conditions": around, "rows": [dataclasses.asdict(row) for row in measured]}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.met for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
