"""Methods of the distributions of `scipy.stats`: densities, probabilities and quantiles."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from npaccel._scipy._parts_distribution_families import ELEMENTARY
from npaccel._scipy._parts_distribution_methods import Continuous, call, methods, parameters
from npaccel._scipy._parts_distribution_tails import OF_TAILS
from npaccel._scipy._table import on_tensors

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
#: What SciPy calls the first parameter.
_FIRST = {**dict.fromkeys(("ppf", "isf"), "q"), **dict.fromkeys(("pmf", "logpmf"), "k")}
#: By distribution and method: how far from SciPy's, and why.
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


def _faster_on_a_cpu(bound: dict[str, Any]) -> str:
    """SciPy's C code stops where it is exact enough; a GPU computes all terms of all elements."""
    tensors = [value for value in bound.values() if isinstance(value, torch.Tensor)]
    if any(
        t.device.type != "cpu" or (t.requires_grad and torch.is_grad_enabled()) for t in tensors
    ):
        return ""
    return "SciPy's own code is faster on a CPU"


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
            hosted=_faster_on_a_cpu if name in OF_TAILS and method not in _DENSITIES else None,
        )(_twin(family, method, first))


for _name, _family in {**ELEMENTARY, **OF_TAILS}.items():
    _declare(_name, _family)
