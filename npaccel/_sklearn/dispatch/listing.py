"""scikit-learn's own names, and what scikit-learn says of them."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

#: The submodules that are mirrored.
SUBMODULES = (
    "calibration",
    "cluster",
    "compose",
    "covariance",
    "cross_decomposition",
    "decomposition",
    "discriminant_analysis",
    "dummy",
    "ensemble",
    "feature_extraction",
    "feature_extraction.text",
    "feature_selection",
    "frozen",
    "gaussian_process",
    "impute",
    "isotonic",
    "kernel_approximation",
    "kernel_ridge",
    "linear_model",
    "manifold",
    "metrics",
    "metrics.cluster",
    "metrics.pairwise",
    "mixture",
    "model_selection",
    "multiclass",
    "multioutput",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "pipeline",
    "preprocessing",
    "random_projection",
    "semi_supervised",
    "svm",
    "tree",
)
#: Modules whose functions are listed: the others' aren't array algorithms of their own.
_WITH_FUNCTIONS = ("metrics", "metrics.cluster", "metrics.pairwise")


def find(name: str) -> Any:
    """Return what scikit-learn has under a dotted name, None where it has nothing."""
    module, _, last = name.rpartition(".")
    if module not in SUBMODULES:
        return None
    try:
        return getattr(_module(module), last, None)
    except ImportError:  # of an experimental estimator, say
        return None


def _module(name: str) -> Any:
    if name in ("ensemble", "impute", "model_selection"):
        # Estimators that scikit-learn calls experimental are there after these imports.
        for experimental in ("enable_halving_search_cv", "enable_iterative_imputer"):
            importlib.import_module(f"sklearn.experimental.{experimental}")
    return importlib.import_module(f"sklearn.{name}")


def public(module: str) -> list[str]:
    """Return the public names of a submodule."""
    found = _module(module)
    listed = getattr(found, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == f"sklearn.{module}"
    )


def is_estimator(value: Any) -> bool:
    """Whether a public object is an estimator's class."""
    from sklearn.base import BaseEstimator

    if not (isinstance(value, type) and issubclass(value, BaseEstimator)):
        return False
    return not inspect.isabstract(value) and hasattr(value, "fit")


def is_wanted(value: Any) -> bool:
    """Whether a public object has a row: estimators and functions."""
    return is_estimator(value) or inspect.isfunction(value)


@functools.cache
def names() -> tuple[str, ...]:
    """Return the public names of all estimators and metrics."""
    found: dict[int, str] = {}
    for module in SUBMODULES:
        for name in public(module):
            value = find(f"{module}.{name}")
            listed = inspect.isfunction(value) and module in _WITH_FUNCTIONS
            if is_estimator(value) or listed:
                found.setdefault(id(value), f"{module}.{name}")
    return tuple(sorted(found.values()))


def name_of(original: Any) -> str | None:
    """Return the public name of a class or function of scikit-learn, None for any other."""
    root, *parts = (getattr(original, "__module__", None) or "").split(".")
    if root != "sklearn":
        return None
    for n in range(1, len(parts) + 1):
        name = f"{'.'.join(parts[:n])}.{original.__name__}"
        if find(name) is original:
            return name
    return None


#: Functions of ``sklearn.metrics`` that take tensors (scikit-learn 1.9's page on the array API).
_METRICS_ON_TENSORS: frozenset[str] = frozenset()


def computes_on_tensors(original: Any) -> bool:
    """Whether scikit-learn itself computes on tensors, by its own tags."""
    if not is_estimator(original):
        return getattr(original, "__name__", "") in _METRICS_ON_TENSORS
    made = object.__new__(original)  # a deprecated one warns of being called
    for parameter in inspect.signature(original.__init__).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            setattr(made, parameter.name, parameter.default)
    try:
        tags = made.__sklearn_tags__()
    except (TypeError, ValueError, AttributeError):  # it needs another estimator, say
        return False
    return bool(getattr(tags, "array_api_support", False))
