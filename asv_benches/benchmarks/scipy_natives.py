"""Native functions of `npaccel.scipy` on tensors of a CPU, against SciPy on arrays.

The calls are those of the tests (``tests/scipy_layer/calls_*.py``), with a million elements.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .common import PAUSE, samples

_TESTS = Path(__file__).resolve().parents[2] / "tests" / "scipy_layer"

#: Where the tests' first call makes no sense for a million elements.
_AT_THAT_SIZE = {
    "interpolate.interpn": (
        "(xp.arange(1000.0), xp.arange(1000.0)), image, xp.stack([999 * unit, 100 * positive], -1)"
    ),
    "linalg.expm_cond": "square[:20, :20]",
    "linalg.fiedler": "x[:1000]",
    "linalg.circulant": "x[:1000]",
    "linalg.companion": "x[:1000]",
    "linalg.eig": "square[:40, :40], right=False",
    "linalg.diagsvd": "w[:500], 500, 1000",
    "linalg.eigh_tridiagonal": "x[:300], y[:299], eigvals_only=True",
    "linalg.eigvals": "square[:40, :40]",
    "linalg.eigvalsh_tridiagonal": "x[:300], y[:299]",
    "linalg.hankel": "x[:1000]",
    "linalg.leslie": "w[:1000], unit[:999]",
    "linalg.lstsq": "tall, w[:20_000]",
    "linalg.lu_solve": "(square, xp.arange(300)), square[0]",
    "linalg.matmul_toeplitz": "x[:300], square",
    "linalg.null_space": "spd, rcond=0.5",
    "linalg.solve_circulant": "x, y",
    "linalg.solve_toeplitz": "x[:300], y[:300]",
    "linalg.toeplitz": "x[:1000]",
    "linalg.qr_multiply": "square, spd",
    "ndimage.distance_transform_bf": "mask[:60, :60]",
    "ndimage.map_coordinates": "image, xp.stack([999 * unit, 100 * positive])",
    "signal.check_COLA": "xp.ones(1_000_000), 1_000_000, 500_000",
    "signal.check_NOLA": "xp.ones(1_000_000), 1_000_000, 500_000",
    "signal.deconvolve": "x, w[:20]",
    "signal.lombscargle": "time[:1000], signal[:1000], w[:1000]",
    "spatial.distance.dice": "x > 0, y > 0",
    "spatial.distance.rogerstanimoto": "x > 0, y > 0",
    "spatial.distance.russellrao": "x > 0, y > 0",
    "spatial.distance.seuclidean": "x, y, w",
    "interpolate.make_interp_spline": "sorted_x, y)(sorted_x",
}
#: Optimizers that take a million equations or points at once.
_BY_ELEMENT = {"optimize.curve_fit", "optimize.newton"}


@functools.cache
def calls() -> dict[str, str]:
    """Return a call of each native function, by name: the first that the tests make."""
    from npaccel._scipy import _table

    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    found = {}
    for module in pkgutil.iter_modules([str(_TESTS)]):
        if module.name.startswith("calls_"):
            for name, texts in importlib.import_module(module.name).CALLS.items():
                row = _table.row(f"scipy.{name}")
                if row is not None and row.route == "native":
                    found[name] = _AT_THAT_SIZE.get(name, texts[0])
    return found


@functools.cache
def _arrays(dtype: str, of_a_million: bool) -> dict[str, Any]:
    from scipy_arrays import LARGE, Sizes, arrays

    return arrays(dtype, LARGE if of_a_million else Sizes())


def prepare(name: str, implementation: str, dtype: str = "float64") -> Callable[[], Any]:
    """Return a call without arguments, compiled and warmed up.

    Parameters
    ----------
    name : str
        Without ``scipy.``.
    implementation : {"scipy", "npaccel"}
    dtype : str
    """
    import scipy
    import torch

    import npaccel.scipy

    text = calls()[name]
    # Optimizers differentiate by each variable: a million of them is no case.
    of_a_million = name in _BY_ELEMENT or not name.startswith("optimize.")
    known = dict(_arrays(dtype, of_a_million))
    module: Any = scipy
    if implementation == "npaccel":
        module, known = npaccel.scipy, {k: torch.from_numpy(v) for k, v in known.items()}
    importlib.import_module(f"scipy.{name.split('.', 1)[0]}")
    function = functools.reduce(getattr, name.split("."), module)
    xp = np if implementation == "scipy" else torch
    call = eval(f"lambda: f({text})", {"f": function, "np": np, "scipy": scipy, "xp": xp, **known})  # noqa: S307 (the tests' own text)

    def run() -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()

    run()
    return run


def differing(name: str, runs: dict[str, Callable[[], Any]]) -> list[str]:
    """Say how npaccel's answer differs from SciPy's.

    The tests' tolerances hold for some dozens of numbers; more of them gather more rounding.
    """
    from scipy_running import differences, tolerance

    return differences(runs["scipy"](), runs["npaccel"](), False, 1e5 * tolerance(name))


class NativeScipy:
    """One native function."""

    params = [["scipy", "npaccel"], sorted(calls())]
    param_names = ["implementation", "function"]
    unit = "seconds"

    def setup(self, implementation: str, function: str) -> None:
        self.call = prepare(function, implementation)
        time.sleep(PAUSE)

    def track_call(self, *_: Any) -> float:
        """Return the median seconds per call."""
        return statistics.median(samples(self.call))
