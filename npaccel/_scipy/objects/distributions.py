"""SciPy's distributions with methods that take tensors."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from npaccel._scipy.dispatch import conversion, listing

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
        self.__dict__.update(_original=original, _public=name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in METHODS and hasattr(self._original, name):
            return _method(self._public, name)
        return getattr(self._original, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Freeze the parameters, as in SciPy; they may be tensors."""
        return _frozen(self._original, self._public, args, kwargs)

    def freeze(self, *args: Any, **kwargs: Any) -> Any:
        """Freeze the parameters, as in SciPy; they may be tensors."""
        return self(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Pickle by name."""
        return listing.by_public_name, ("stats", self._public)

    def __repr__(self) -> str:
        return f"<npaccel.scipy.stats.{self._public}>"


@functools.cache
def _method(distribution: str, name: str) -> Any:
    from npaccel._scipy.dispatch import routes

    return routes.routed(_row(distribution, name))


def _row(distribution: str, name: str) -> Any:
    from npaccel._scipy.dispatch import table

    row = table.row(f"scipy.stats.{distribution}.{name}")
    assert row is not None
    return row


# -- Frozen ---------------------------------------------------------------------------------


class _OfFrozen(Distribution):
    """The distribution inside of a frozen one: SciPy's own copy, with its own random numbers."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """SciPy asks whether it's discrete."""
        return type(self._original)

    def __getattr__(self, name: str) -> Any:
        if name != "rvs":
            return super().__getattr__(name)
        from npaccel._scipy.dispatch import routes

        row = dataclasses.replace(_row(self._public, name), scipy=self._original.rvs)
        return routes.routed(row)

    def __reduce__(self) -> Any:
        """Pickle by value: it has random numbers of its own."""
        return _OfFrozen, (self._original, self._public)


def _frozen(original: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Return SciPy's frozen distribution, whose methods take npaccel's routes."""
    found = next(iter(conversion.tensors([args, kwargs])), None)
    if found is None:
        frozen = original.freeze(*args, **kwargs)
    else:
        frozen = _with_tensors(original, args, kwargs)
    frozen.dist = _OfFrozen(frozen.dist, name)
    return frozen


def _with_tensors(original: Any, args: Any, kwargs: Any) -> Any:
    """Return SciPy's frozen distribution without the support, which SciPy computes of arrays."""
    import scipy.stats
    from scipy.stats import distributions

    original._parse_args(*args, **kwargs)  # raises where a parameter is missing
    discrete = isinstance(original, scipy.stats.rv_discrete)
    kind = distributions.rv_frozen
    for one in kind.__subclasses__():
        if one.__name__ == ("rv_discrete_frozen" if discrete else "rv_continuous_frozen"):
            kind = one
    frozen = kind.__new__(kind)
    frozen.args, frozen.kwds = args, kwargs
    frozen.dist = type(original)(**original._updated_ctor_param())
    return frozen
