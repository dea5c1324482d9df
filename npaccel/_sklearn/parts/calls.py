"""The way of a call of an estimator's method with arrays in parts."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import call_stack, listing
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, engine_of
from npaccel.errors import PerformanceWarning

#: Computes a method: takes the estimator, X and further arguments.
Method = Callable[..., Any]
_MODULES = (
    "bayes",
    "clusters",
    "components",
    "linear",
    "logistic",
    "metrics",
    "neighbors",
    "scaling",
)
_methods: dict[tuple[type, str], Method] = {}
#: Attributes in which estimators keep the rows that they were fitted with.
_ROWS = ("_fit_X", "_y")


def by_parts(names: str, method: str) -> Callable[[Method], Method]:
    """Say that a function computes a method of estimators on arrays in parts.

    Parameters
    ----------
    names : str
        Public names without ``sklearn.``, with spaces between.
    method : str
    """

    def note(function: Method) -> Method:
        for name in names.split():
            original = listing.find(name)
            if original is not None:
                _methods[original, method] = function
        return function

    return note


def method_of(original: type, name: str) -> Method | None:
    """Return what computes a method of a class of scikit-learn; None if nothing does."""
    for module in _MODULES:
        importlib.import_module(f"npaccel._sklearn.parts.{module}")
    return _methods.get((original, name))


def engine_for(self: Any, X: Any) -> type[Parts] | None:
    """Return what computes a method by parts: X is in parts, or what was fitted.

    Parameters
    ----------
    self : Accelerated
    X : object
        Its argument.
    """
    found = engine_of(X)
    fitted = vars(self).get("_fit_X")
    return engine_of(fitted) if found is None and fitted is not None else found


def computed(
    self: Any,
    name: str,
    args: Any,
    kwargs: Any,
    engine: type[Parts],
    original: Method,
    refuse: Callable[[str], None],
) -> tuple[Any, str]:
    """Compute a method with arrays in parts.

    Parameters
    ----------
    self : Accelerated
    name : str
    args, kwargs
        What it was called with.
    engine : type
        What computes with their parts.
    original : callable
        The method as it is called with anything else.
    refuse : callable
        Is told why a call is to be computed on whole arrays, before it is.

    Returns
    -------
    result : object
    reason : str
        Why it was computed on whole arrays; "" if it wasn't.
    """
    kind = type(self)
    method = method_of(kind._npaccel_original, name)
    why = "it isn't computed by parts"
    if method is not None:
        try:
            with in_numpy():
                return method(self, *args, **kwargs), ""
        except WholeArraysError as error:
            why = str(error)
    refuse(why)
    warn_of_whole_arrays(f"{kind.__name__}.{name}", why, engine, 6)
    if not name.startswith("fit"):
        for held in _ROWS:
            if held in vars(self):
                setattr(self, held, engine.whole(vars(self)[held]))
    given = {key: engine.whole(one) for key, one in kwargs.items()}
    found = original(*map(engine.whole, args), **given)
    X = args[0] if args else kwargs.get("X")
    return found if found is self or engine_of(X) is None else _spread(found, X, engine), why


def warn_of_whole_arrays(who: str, why: str, engine: type[Parts], stacklevel: int) -> None:
    """Warn that a call computes with whole arrays."""
    text = f"{who}: {why}, so {engine.without}"
    warnings.warn(text, PerformanceWarning, stacklevel=stacklevel)


@contextlib.contextmanager
def in_numpy() -> Iterator[None]:
    """Have scikit-learn's own functions take arrays as ever."""
    with call_stack.dispatching(False):
        yield


def _spread(found: Any, like: Any, engine: type[Parts]) -> Any:
    if isinstance(found, tuple):
        return tuple(_spread(one, like, engine) for one in found)
    return engine.spread(found, like)


@contextlib.contextmanager
def on_device(self: Any, X: Any) -> Iterator[torch.device]:
    """Have an estimator's own methods compute on the device of X, with tensors as attributes."""
    device = getattr(X, "device", None)
    if not isinstance(device, torch.device):
        device = torch.device("cpu")
    with call_stack.entered(call_stack.Frame(self, True, device, "array")):
        yield device


# -- What methods use ----------------------------------------------------------


def to_fit(self: Any, X: Any, *others: Any) -> Parts:
    """Return the parts of data to fit, with a target and weights.

    Values aren't looked at: `check_finite` does, if what is computed of them isn't finite.

    Parameters
    ----------
    self : Accelerated
    X, *others : array

    Raises
    ------
    ValueError
    """
    _check_table(X)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise WholeArraysError("X is empty")
    self._validate_params()
    parts = parts_of(self, "what is fitted", X, others)
    self.n_features_in_ = X.shape[1]
    with contextlib.suppress(AttributeError):
        del self.feature_names_in_
    return parts


def fitted(self: Any, X: Any, *others: Any, width: int | None = None) -> Parts:
    """Return the parts of data for an estimator that is fitted.

    Parameters
    ----------
    self : Accelerated
    X, *others : array
    width : int, optional
        How many columns X is to have; without it, as many as what was fitted.

    Raises
    ------
    ValueError
    """
    if engine_of(X) is None:
        raise WholeArraysError("X isn't in parts, and what was fitted is")
    _check_table(X)
    check_width(self, X, width)
    return parts_of(self, "of what was given", X, others)


def _check_table(X: Any) -> None:
    """Refuse what isn't rows and columns, of which it's known how many there are."""
    if X.ndim != 2:
        raise WholeArraysError(f"X has {X.ndim} dimensions")
    if X.shape[1] != X.shape[1]:  # NaN
        raise WholeArraysError("the number of columns isn't known")


def check_width(self: Any, X: Any, width: int | None = None) -> None:
    """Check the number of columns, which is to be that of what was fitted, or another one."""
    width = self.n_features_in_ if width is None else width
    if X.shape[1] != width:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
            f"{width} features as input"
        )


def parts_of(self: Any, what: str, X: Any, others: Any) -> Parts:
    """Return the parts of arrays.

    Parameters
    ----------
    self : Accelerated
    what : str
        Which arrays they are, for errors.
    X : array
    others : sequence
    """
    engine = engine_of(X)
    if engine is None:
        raise WholeArraysError("X isn't in parts, and another array is")
    return engine(X, others, f"{type(self).__name__}, {what}")


def weights_of(sample_weight: Any) -> Any:
    """Return weights of rows, or None where all are one."""
    if sample_weight is not None and np.ndim(sample_weight) == 0:
        if sample_weight != 1:
            raise WholeArraysError("all rows have the same weight")
        return None
    return sample_weight


def check_finite(self: Any, parts: Parts, *found: Any, nan: bool = False) -> None:
    """Raise scikit-learn's error if results aren't finite because X isn't.

    Parameters
    ----------
    self : Accelerated
    parts : Parts
    *found : array
        What was computed of all rows.
    nan : bool, default False
        Whether missing values are allowed.
    """
    if not all(np.isfinite(one).all() for one in found):
        check_values(self, parts, nan=nan)
        raise WholeArraysError("sums of values aren't finite")


def check_values(self: Any, parts: Parts, *, nan: bool = False) -> None:
    """Raise scikit-learn's error if values of X aren't finite; all of them are looked at."""
    from sklearn.utils import assert_all_finite

    missing, infinite = parts.reduce(_not_finite, _either)
    for is_so, value in ((missing and not nan, np.nan), (infinite, np.inf)):
        if is_so:
            name = type(self).__name__
            assert_all_finite(np.array([[value]], parts.dtype), estimator_name=name, input_name="X")


def _not_finite(X: Any, *others: Any) -> tuple[bool, bool]:
    return bool(np.isnan(X).any()), bool(np.isinf(X).any())


def _either(one: Any, other: Any) -> tuple[bool, bool]:
    return one[0] or other[0], one[1] or other[1]


def labels_of(self: Any, y: Any) -> Any:
    """Return the different labels of a target, in order; no rows of X are read."""
    if engine_of(y) is None:
        return np.unique(y)
    return parts_of(self, "labels", y, ()).reduce(_labels, _united)


def _labels(y: Any) -> Any:
    return np.unique(y)


def _united(one: Any, other: Any) -> Any:
    return np.union1d(one, other)


def array(value: Any) -> Any:
    """Return a fitted attribute as an array."""
    return value.numpy() if isinstance(value, torch.Tensor) else value


__all__ = [
    "array",
    "by_parts",
    "check_finite",
    "check_values",
    "check_width",
    "computed",
    "engine_for",
    "fitted",
    "in_numpy",
    "labels_of",
    "on_device",
    "parts_of",
    "to_fit",
    "warn_of_whole_arrays",
    "weights_of",
]
