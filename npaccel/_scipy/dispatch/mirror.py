"""The modules of `npaccel.scipy`: SciPy's names, with functions that take tensors."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from npaccel._scipy.dispatch import listing


def mirror(
    submodule: str,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a module of `npaccel.scipy`.

    Parameters
    ----------
    submodule : str
        SciPy's name of it, as in ``"spatial.distance"``.
    """
    public = sorted(importlib.import_module(f"scipy.{submodule}").__all__)
    wanted = set(public)

    def find(name: str) -> Any:
        if name not in wanted:
            raise AttributeError(f"scipy.{submodule} has no public name {name!r}")
        return _public(submodule, name)

    return public, find, lambda: public


@functools.cache
def _public(submodule: str, name: str) -> Any:
    """Return SciPy's function, class or object as one that takes tensors; the rest as it is."""
    from npaccel._scipy.dispatch import routes, table
    from npaccel._scipy.objects import classes, distributions

    original = listing.find(f"{submodule}.{name}")
    if distributions.is_distribution(original):
        return distributions.Distribution(original, name)
    row = table.row(f"scipy.{submodule}.{name}")
    if row is not None:
        return routes.routed(row)
    if classes.is_offered(original):
        return classes.offered(original, f"scipy.{submodule}.{name}")
    return original
