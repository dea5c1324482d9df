"""Methods of the distributions of `scipy.stats`: densities, probabilities and quantiles."""

from __future__ import annotations

import inspect
from typing import Any

from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.special._common import on_cpu
from npaccel._scipy.stats._families import ELEMENTARY
from npaccel._scipy.stats._methods import Continuous, call, methods, parameters
from npaccel._scipy.stats._tails import OF_TAILS

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
#: SciPy's names of the first parameter.
_FIRST = {**dict.fromkeys(("ppf", "isf"), "q"), **dict.fromkeys(("pmf", "logpmf"), "k")}
#: Tolerances by distribution and method, and why.
_LOOSENED: dict[tuple[str, str], tuple[float, str]] = {
    ("triang", "logsf"): (1e6, "SciPy subtracts from 1 what is nearly 1"),
}


def _twin(family: Continuous, method: str, first: str) -> Any:
    """Return a method as a function with SciPy's parameters."""

    def twin(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return call(family, method, *bound.arguments.values())

    names = {first: None, **parameters(family)}
    signature = inspect.Signature(
        [
            inspect.Parameter(
                name, _POSITIONAL, default=inspect.Parameter.empty if value is None else value
            )
            for name, value in names.items()
        ]
    )
    twin.__signature__ = signature  # type: ignore[attr-defined]
    twin.__name__ = method
    return twin


_DENSITIES = ("pdf", "logpdf", "pmf", "logpmf")
#: Methods that take SciPy fewer passes over the data, by distribution.
_FEWER_PASSES = {
    "beta": ("pdf",),
    "binom": ("pmf",),
    "nbinom": ("pmf",),
    "triang": ("logpdf",),
    "weibull_max": ("pdf", "logpdf", "cdf", "sf", "logsf"),
}


def _faster_in_scipy(name: str, method: str) -> bool:
    """Whether SciPy's own code is the faster on a CPU.

    Its loops over series stop where they are exact enough; a GPU computes all terms of all.
    """
    return method in _FEWER_PASSES.get(name, ()) or (name in OF_TAILS and method not in _DENSITIES)


def _declare(name: str, family: Continuous) -> None:
    discrete = "pmf" in methods(family)
    for method in methods(family):
        first = _FIRST.get(method, "k" if discrete else "x")
        tolerance, note = _LOOSENED.get((name, method), (None, ""))
        on_tensors(
            f"stats.{name}.{method}",
            arrays=(first, *parameters(family)),
            tolerance=tolerance,
            note=note,
            host_reason=on_cpu if _faster_in_scipy(name, method) else None,
            # The other methods' loops are short, and Python's part of them runs on one core.
            by_element=name in OF_TAILS,
        )(_twin(family, method, first))


for _name, _family in {**ELEMENTARY, **OF_TAILS}.items():
    _declare(_name, _family)
