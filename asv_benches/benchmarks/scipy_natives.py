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


@functools.cache
def calls() -> dict[str, str]:
    """Return the first call that the tests make of each native function, by name."""
    from npaccel._scipy import _table

    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    found = {}
    for module in pkgutil.iter_modules([str(_TESTS)]):
        if module.name.startswith("calls_"):
            for name, texts in importlib.import_module(module.name).CALLS.items():
                row = _table.row(f"scipy.{name}")
                if row is not None and row.route == "native":
                    found[name] = texts[0]
    return found


@functools.cache
def _arrays(dtype: str) -> dict[str, Any]:
    from scipy_arrays import LARGE, arrays

    return arrays(dtype, LARGE)


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
    known = dict(_arrays(dtype))
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
    """Say how npaccel's answer differs from SciPy's, at the tests' tolerance."""
    from scipy_running import differences, tolerance

    return differences(runs["scipy"](), runs["npaccel"](), False, tolerance(name))


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
