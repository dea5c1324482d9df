"""How many times as fast as scikit-learn's each device estimator is, for the support page.

    python asv_benches/compare.py estimators --kept docs/reference/sklearn_speeds.json
    python asv_benches/compare.py estimators --kept FILE --match '*.PCA'       # these once more
    python asv_benches/compare.py estimators --kept FILE --device cuda           # on a GPU

Without ``--match`` those are measured that have no figure yet. Figures of one device are of one
machine and its versions: where these differ from the file's, all of the device are measured again.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import PAUSE, side_by_side
from benchmarks.sklearn_estimators import blobs
from rows import Row
from table_rows import Pieces

_TESTS = Path(__file__).resolve().parent.parent / "tests" / "sklearn_layer"
_ROWS, _FEATURES, _CLUSTERS = 20_000, 32, 5
#: Fewer rows by the beginning of a name, where memory or time grows with all pairs.
_FEWER = {
    "cluster.DBSCAN": 5_000,
    "gaussian_process.": 1_000,
    "impute.KNNImputer": 2_000,
    "kernel_ridge.": 2_000,
    "manifold.": 1_000,
    "svm.Nu": 4_000,
    "svm.One": 4_000,
    "svm.SV": 4_000,
}
#: What takes longer than so many seconds is called twice by each, in turn.
_LONG = 0.2
#: How much slower than scikit-learn an estimator may be.
_SLOWEST = 1.1


def _examples() -> Any:
    """Return the tests' module that says how each estimator is called."""
    sys.path.insert(0, str(_TESTS))
    try:
        return importlib.import_module("sklearn_examples")
    finally:
        sys.path.remove(str(_TESTS))


def calls(row: Any, device: str) -> tuple[dict[str, Callable[[], Any]], Any]:
    """Return by who computes it a fit and what follows, and npaccel's estimator."""
    import npaccel.sklearn

    examples = _examples()
    rows = next((n for name, n in _FEWER.items() if row.name.startswith(name)), _ROWS)
    data, labels = blobs(rows, _FEATURES, _CLUSTERS)
    target = labels
    if examples.kind(row) == "regressor":
        target = data @ np.linspace(-1, 1, _FEATURES) + labels
    suited = examples.suited(row, data.astype("float64"), target)
    given = [examples.cast(part, "float32") for part in suited]
    theirs = examples.estimator(row)
    mine = npaccel.sklearn.accelerate(theirs, device=device)

    def run(one: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.fit(*given)
            method = next((m for m in examples.METHODS if callable(getattr(one, m, None))), None)
            return getattr(one, method)(given[0]) if method else None

    return {"sklearn": lambda: run(theirs), "npaccel": lambda: run(mine)}, mine


def measured(row: Any, device: str) -> dict[str, Any]:
    """Return the seconds of both, and whether npaccel's device or scikit-learn computed."""
    runs, mine = calls(row, device)
    first = {}
    for name, run in runs.items():
        run()  # compiles
        start = time.perf_counter()
        run()
        first[name] = time.perf_counter() - start
    routes = {step.route for step in mine.report_.steps}
    if max(first.values()) < _LONG:
        taken = side_by_side(runs, rounds=2, seconds=0.2)
    else:
        taken = _in_turn(runs, first)
    return {**taken, "where": "device" if "device" in routes else "host"}


def _in_turn(runs: Mapping[str, Callable[[], Any]], first: Mapping[str, float]) -> dict[str, float]:
    samples = {name: [seconds] for name, seconds in first.items()}
    for _ in range(2):
        for name, run in runs.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            run()
            samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in samples.items()}


def estimator_rows(pieces: Pieces, device: str, around: dict[str, str]) -> list[Row]:
    """Time every device estimator.

    Parameters
    ----------
    pieces : Pieces
    device : {"cpu", "cuda"}
    around : dict
        What the figures depend on.
    """
    from npaccel._sklearn.dispatch import table as dispatch_table

    conditions = f"conditions {device}"
    if pieces.found.get(conditions) != around:
        pieces.found = {k: v for k, v in pieces.found.items() if not k.endswith(f" {device}")}
        pieces.keep(conditions, around)
    table = sorted(dispatch_table.device_estimators(), key=lambda row: row.name)
    ratios = {}
    for row in table:
        key = f"{row.name} {device}"
        if pieces.wants(key):
            taken = measured(row, device)
            pieces.keep(key, taken)
            speed = taken["sklearn"] / taken["npaccel"]
            print(f"  {key}: {speed:.2f}x, {taken['where']}", file=sys.stderr, flush=True)
        if key in pieces.found:
            taken = pieces.found[key]
            ratios[key] = taken["sklearn"] / taken["npaccel"]
    return [_summary(ratios, len(table) - len(ratios))]


def _summary(ratios: dict[str, float], left: int) -> Row:
    slow = [name for name, speed in ratios.items() if speed * _SLOWEST < 1]
    worst = ", ".join(f"{n} {ratios[n]:.2f}x" for n in sorted(ratios, key=ratios.__getitem__)[:10])
    missing = f"{left} not measured yet; " if left else ""
    return Row(
        f"{len(ratios)} device estimators, {_ROWS:,} x {_FEATURES}, vs scikit-learn",
        "none slower by more than 10%",
        f"{missing}{len(slow)} slower; worst: {worst}",
        not slow and not left,
        ratios,
    )
