"""SciPy's table as capture asks it."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from npaccel._scipy.dispatch.listing import own


class TracedScipy:
    """SciPy's functions and distributions, where a jitted function calls them.

    The table is loaded when a row is asked for.
    """

    def owns(self, obj: Any) -> bool:
        """Return whether an object is a function or a distribution of SciPy."""
        obj = own(obj)
        if isinstance(obj, np.ufunc):
            return getattr(np, obj.__name__, None) is not obj and _row_of(obj) is not None
        module = getattr(obj, "__module__", None) or ""
        if isinstance(obj, types.FunctionType) or type(obj).__name__ == "MultiUFunc":
            return module.startswith("scipy.")
        if type(obj).__module__.startswith("scipy.stats."):
            from npaccel._scipy.objects import distributions

            return distributions.is_distribution(obj)
        return False

    def row_of(self, function: Any) -> tuple[str, Any]:
        """Return the name of a function, and its row or None."""
        function = own(function)
        module = getattr(function, "__module__", None) or "scipy.special"
        return f"{module}.{function.__name__}", _row_of(function)

    def row_of_method(self, obj: Any, name: str) -> tuple[str, Any]:
        """Return the name of a distribution's method, and its row or None."""
        from npaccel._scipy.dispatch import table

        full = f"scipy.stats.{obj.name}.{name}"
        return full, table.row(full)


def _row_of(function: Any) -> Any:
    from npaccel._scipy.dispatch import table

    table.load()
    return table.row_of(function)
