"""The lines about estimators: how fast they are beside scikit-learn's, and their peak memory."""

from __future__ import annotations

import numpy as np
from benchmarks.common import side_by_side
from benchmarks.processes import run_child
from benchmarks.sklearn_estimators import CASES, prepare
from rows import Row

_BOTH = ("sklearn", "npaccel")


def agreement(wanted: np.ndarray, found: np.ndarray) -> float:
    """Return which share of labels, or of numbers to 3 digits, is the same."""
    if wanted.dtype.kind in "iu":
        return float(np.mean(wanted == found))
    close = np.isclose(np.abs(wanted), np.abs(found), rtol=1e-3, atol=1e-3)  # signs of components
    return float(np.mean(close))


def sklearn_rows() -> list[Row]:
    """Time each case, and measure its peak in processes of their own."""
    rows = []
    for name, (make, bound) in CASES.items():
        runs = {which: prepare(name, which) for which in _BOTH}
        same = agreement(*(np.asarray(run()) for run in runs.values()))
        if same < 0.99:
            raise AssertionError(f"{name}: only {same:.1%} is what scikit-learn gives")
        taken = side_by_side(runs)
        speed = taken["sklearn"] / taken["npaccel"]
        what = f"{name}: {(make.__doc__ or '').rstrip('.')}, vs scikit-learn"
        rows.append(Row(what, f">= {bound}x", f"{speed:.2f}x", speed >= bound, taken))
        peaks = {which: run_child("estimator_memory", name, which)["bytes"] for which in _BOTH}
        measured = ", ".join(f"{which} {peak / 1e6:.0f} MB" for which, peak in peaks.items())
        met = peaks["npaccel"] <= max(1.05 * peaks["sklearn"], peaks["sklearn"] + 4e6)
        rows.append(Row(f"{name}: peak memory", "not above scikit-learn's", measured, met, peaks))
    return rows
