"""The modules of `npaccel.sklearn`: scikit-learn's names, with accelerated classes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from npaccel._sklearn.dispatch import listing


def mirror(
    submodule: str,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a module of `npaccel.sklearn`.

    Parameters
    ----------
    submodule : str
        scikit-learn's name of it, as in ``"metrics.pairwise"``.
    """
    public = listing.public(submodule)
    below = [m.rpartition(".")[2] for m in listing.SUBMODULES if m.startswith(f"{submodule}.")]

    def find(name: str) -> Any:
        if name in below:
            return importlib.import_module(f"npaccel.sklearn.{submodule}.{name}")
        if name.startswith("_") or listing.find(f"{submodule}.{name}") is None:
            raise AttributeError(f"sklearn.{submodule} has no public name {name!r}")
        return offered(submodule, name)

    return public, find, lambda: public


@functools.cache
def offered(submodule: str, name: str) -> Any:
    """Return scikit-learn's class accelerated, or its function on tensors; else what it has."""
    from npaccel._sklearn.dispatch import estimator, functions, table

    original = listing.find(f"{submodule}.{name}")
    if listing.is_estimator(original):
        return estimator.class_of(original)
    row = table.row(f"{submodule}.{name}")
    found = original
    if row is not None and row.implementation is not None:
        found = row.implementation
    elif row is not None and submodule.startswith("metrics"):
        found = functions.routed(original)
    if submodule == "metrics" and callable(original):
        from npaccel._sklearn.parts import metrics

        return metrics.with_parts(name, original, found)
    return found
