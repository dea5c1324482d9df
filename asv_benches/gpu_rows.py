"""The lines about a GPU: NumPy on the processor against compiled code on tensors of the device.

    python asv_benches/compare.py gpu --json asv_benches/results/NAME.json

Arrays stay on the device, as in a program that works on tensors; where they are copied there and
back at every call it's said. Each call waits until the device is done.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks import functions
from benchmarks.calls import DTYPES, expression, more_calls, operands
from benchmarks.common import build, on_device, same_results, side_by_side, synchronise
from benchmarks.table import no_remarks
from rows import Row

_POINTS = (2_000_000, 20_000_000)
#: Rows of the table that programs call often, and the methods for which GPUs are known.
_FAMILIAR = (
    *("sum", "mean", "std", "max", "argmax", "cumsum", "sort", "argsort", "unique", "median"),
    *("percentile", "histogram", "bincount", "searchsorted", "where", "take", "clip", "interp"),
    *("matmul", "einsum", "linalg.solve", "linalg.svd", "fft.fft", "fft.rfft", "roll", "diff"),
)


def _timed(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    def run() -> Any:
        found = call(*arguments)
        synchronise("cuda")
        return found

    return run


def _checked(expected: Any, actual: Any) -> None:
    actual = actual.cpu().numpy() if hasattr(actual, "cpu") else actual
    if not same_results(expected, actual):
        raise AssertionError("compare: the answer on the device is not NumPy's")


def kmeans(points: int, dtype: str) -> Row:
    """Time the k-means step: on the device, and with copies of all arrays."""
    import npaccel

    arguments = functions.kmeans_points(points, dtype)
    there = on_device(arguments, "cuda")
    copying = npaccel.jit(functions.kmeans, device="cuda")
    runs = {
        "numpy": lambda: functions.kmeans(*arguments),
        "npaccel": _timed(build(functions.kmeans, "npaccel", "cuda"), there),
        "torch_compile": _timed(build(functions.kmeans, "torch_compile", "cuda"), there),
        "npaccel, copied": _timed(copying, arguments),
    }
    expected = runs["numpy"]()
    for name in ("npaccel", "npaccel, copied"):
        _checked(expected, runs[name]())
    taken = side_by_side(runs, rounds=2)
    measured = ", ".join(
        f"{name} {taken['numpy'] / x:.0f}x" for name, x in taken.items() if name != "numpy"
    )
    met = taken["npaccel"] <= 1.05 * taken["torch_compile"]
    what = f"k-means step, {points:,} points, {dtype}, on a GPU, vs NumPy"
    return Row(what, "at least as fast as bare torch.compile", measured, met, taken)


def _ratios(texts: dict[str, str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Time calls on arrays of a million elements, as tensors of the device and in NumPy."""
    for name, text in texts.items():
        for dtype in DTYPES:
            key = f"{name.removeprefix('numpy.')} {dtype}"
            function, given = operands(text, dtype)
            is_array = [isinstance(x, np.ndarray) for x in given]
            moved = tuple(
                on_device((x,), "cuda")[0] if known else x
                for x, known in zip(given, is_array, strict=True)
            )
            compiled = build(function, "npaccel", "cuda", strict=True, default_float="float64")
            try:
                with no_remarks():
                    taken = side_by_side(
                        {
                            "numpy": lambda: function(*given),  # noqa: B023  called right here
                            "npaccel": _timed(compiled, moved),
                        },
                        rounds=1,
                        seconds=0.1,
                    )
            except (TypeError, NotImplementedError) as error:
                print(f"  left out: {key}: {error}", file=sys.stderr)
                continue
            except Exception as error:
                if type(error).__name__ != "NotCompiledError":
                    raise
                print(f"  not compiled: {key}: {error}", file=sys.stderr)
                continue
            print(f"  {key}: {taken['numpy'] / taken['npaccel']:.1f}x", file=sys.stderr)
            yield key, taken


def _mean(what: str, texts: dict[str, str]) -> Row:
    figures: dict[str, float] = {}
    ratios = {}
    for key, taken in _ratios(texts):
        figures |= {f"{key}: {name}": seconds for name, seconds in taken.items()}
        ratios[key] = taken["numpy"] / taken["npaccel"]
    worst = sorted(ratios, key=ratios.__getitem__)[:5]
    listed = ", ".join(f"{name} {ratios[name]:.1f}x" for name in worst)
    mean = statistics.geometric_mean(ratios.values())
    measured = f"geometric mean {mean:.0f}x of {len(ratios)}; least: {listed}"
    met = min(ratios.values()) >= 1
    return Row(f"{what}, on a GPU, vs NumPy", "none slower", measured, met, figures)


def gpu_rows() -> list[Row]:
    """Time what is done on a CUDA device; without one there are no lines."""
    import torch

    if not torch.cuda.is_available():
        print("  left out: torch sees no CUDA device", file=sys.stderr)
        return []
    rows = []
    for points in _POINTS:
        for dtype in ("float64", "float32"):
            with contextlib.suppress(torch.cuda.OutOfMemoryError):
                rows.append(kmeans(points, dtype))
    chains = {name: text for name, text in more_calls().items() if name.startswith("chain")}
    rows.append(_mean("elementwise chains of three, 1,000,000 elements", chains))
    texts = {name: expression(f"numpy.{name}") for name in _FAMILIAR}
    rows.append(_mean("familiar calls, 1,000,000 elements", texts))
    return rows
