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
    "cluster.vq.kmeans": "points, points[:64]",
    "cluster.vq.kmeans2": "points, points[:64]",
    "integrate.tanhsinh": "lambda t: t ** 0.5, 0 * w[:100_000], w[:100_000], rtol=1e-2",
    "linalg.cho_solve": "(spd, False), spd",
    "linalg.expm_cond": "square[:20, :20]",
    "linalg.fiedler": "x[:1000]",
    "linalg.circulant": "x[:1000]",
    "linalg.companion": "x[:2000]",
    "linalg.eig": "square[:40, :40], right=False",
    "linalg.diagsvd": "w[:500], 500, 1000",
    "linalg.eigh_tridiagonal": "x[:300], y[:299], eigvals_only=True",
    "linalg.eigvals": "square[:40, :40]",
    "linalg.eigvalsh_tridiagonal": "x[:300], y[:299]",
    "linalg.hankel": "x[:1000]",
    "linalg.leslie": "w[:2000], unit[:1999]",
    "linalg.lstsq": "tall, w[:20_000]",
    "linalg.lu_solve": "(square, xp.arange(300)), square[0]",
    "linalg.matmul_toeplitz": "x[:300], square",
    "linalg.null_space": "spd, rcond=0.5",
    "linalg.solve_circulant": "x, y",
    "linalg.solve_toeplitz": "x[:2000], y[:2000]",
    "linalg.toeplitz": "x[:1000]",
    "linalg.qr_multiply": "square, spd",
    "ndimage.distance_transform_bf": "mask[:60, :60]",
    "ndimage.fourier_gaussian": "image, 3.0",
    "ndimage.fourier_uniform": "image, 3.0",
    "ndimage.map_coordinates": "image, xp.stack([999 * unit, 100 * positive])",
    "spatial.distance.is_valid_dm": "square",
    "spatial.distance.num_obs_dm": "square",
    "signal.check_COLA": "xp.ones(1_000_000), 1_000_000, 500_000",
    "optimize.approx_fprime": "x[:1000], lambda p: (p ** 3).sum()",
    "optimize.check_grad": "lambda p: (p ** 2).sum(), lambda p: 3 * p, x[:20_000]",
    "optimize.minimize": (
        "lambda p: ((p - 1.5) ** 4).sum(), x, jac=lambda p: 4 * (p - 1.5) ** 3, "
        "method='L-BFGS-B', options={'maxiter': 5})['x'].sum("
    ),
    "signal.check_NOLA": "xp.ones(1_000_000), 1_000_000, 500_000",
    "signal.deconvolve": "x[:10_000], xp.ones(20)",
    "signal.lombscargle": "sorted_x[:1000], signal[:1000], w[:1000]",
    "spatial.distance.dice": "x > 0, y > 0",
    "spatial.distance.rogerstanimoto": "x > 0, y > 0",
    "spatial.distance.russellrao": "x > 0, y > 0",
    "spatial.distance.seuclidean": "x, y, w",
    "spatial.distance.sokalsneath": "x > 0, y > 0",
    "spatial.distance.yule": "x > 0, y > 0",
    "interpolate.make_interp_spline": "sorted_x, y)(sorted_x",
}
#: Optimizers that take a million equations or points at once.
_BY_ELEMENT = {
    "optimize.approx_fprime",
    "optimize.check_grad",
    "optimize.curve_fit",
    "optimize.minimize",
    "optimize.newton",
}


@functools.cache
def calls() -> dict[str, str]:
    """Return a call of each native function, by name: the first that the tests make."""
    from npaccel._scipy.dispatch import table

    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    found = {}
    for module in pkgutil.iter_modules([str(_TESTS)]):
        if module.name.startswith("calls_"):
            for name, texts in importlib.import_module(module.name).CALLS.items():
                row = table.row(f"scipy.{name}")
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
    call = eval(  # noqa: S307 (the tests' own text)
        f"lambda: f({text})",
        {"__name__": __name__, "f": function, "np": np, "scipy": scipy, "xp": xp, **known},
    )

    def run() -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()

    run()
    return run


def on_every_core(name: str) -> bool:
    """Whether SciPy's own code, where it runs, gets a part of the elements on each core."""
    from npaccel._scipy.dispatch import element_loops, table

    row = table.row(f"scipy.{name}")
    return row is not None and element_loops.is_by_element(row)


def left_to_scipy(name: str) -> str:
    """Say why SciPy's own code ran the calls so far, or return an empty string."""
    import npaccel.scipy

    calls_of = [call for call in npaccel.scipy.report() if call.name == f"scipy.{name}"]
    return calls_of[0].reason if {call.route for call in calls_of} == {"host"} else ""


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
