"""SciPy's distributions with methods that take tensors."""

from __future__ import annotations

import functools
from typing import Any

#: Methods whose arguments and results are arrays.
METHODS = (
    *("pdf", "pmf", "logpdf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"),
    *("stats", "entropy", "mean", "median", "var", "std", "interval", "support"),
    *("moment", "fit", "nnlf", "rvs"),
)


def is_distribution(value: Any) -> bool:
    """Whether a value is a distribution of `scipy.stats`, like ``scipy.stats.norm``."""
    import scipy.stats

    return isinstance(value, scipy.stats.rv_continuous | scipy.stats.rv_discrete)


class Distribution:
    """A distribution of `scipy.stats` whose methods take tensors too.

    What it doesn't have itself is SciPy's.

    Parameters
    ----------
    original : scipy.stats.rv_continuous or scipy.stats.rv_discrete
    name : str
        Its name in `scipy.stats`.
    """

    def __init__(self, original: Any, name: str) -> None:
        self._original = original
        self._public = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in METHODS and hasattr(self._original, name):
            return _method(self._public, name)
        return getattr(self._original, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Freeze the parameters, as in SciPy."""
        return self._original(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Pickle by name."""
        from npaccel._scipy import _namespace

        return _namespace._public, ("stats", self._public)

    def __repr__(self) -> str:
        return f"<npaccel.scipy.stats.{self._public}>"


@functools.cache
def _method(distribution: str, name: str) -> Any:
    from npaccel._scipy import _routes, _table

    row = _table.row(f"scipy.stats.{distribution}.{name}")
    assert row is not None
    return _routes.routed(row)
