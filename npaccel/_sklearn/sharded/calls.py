"""The way of a call of an estimator's method with DTensors."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor, distribute_tensor

from npaccel._jit import jit
from npaccel._sklearn.dispatch import call_stack, listing
from npaccel._torch.sharding import layout

#: Computes a method: takes the estimator, X and further arguments.
Method = Callable[..., Any]
_MODULES = ("clusters", "components", "linear", "moments")
_methods: dict[tuple[type, str], Method] = {}


class WholeArraysError(Exception):
    """A call has to be computed on whole arrays; the text says why."""


def sharded(names: str, method: str) -> Callable[[Method], Method]:
    """Say that a function computes a method of estimators on DTensors.

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


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel of a NumPy function, compiled for each rank's part.

    What each rank has a whole of comes back as an array, the rest as DTensors.
    """
    compiled = jit(function, default_float="float64", compile="now")

    def call(*args: Any) -> Any:
        found = compiled(*args)
        several = isinstance(found, tuple)
        left = tuple(map(_local_if_whole, found if several else (found,)))
        return left if several else left[0]

    return call


def _local_if_whole(value: Any) -> Any:
    if not isinstance(value, DTensor) or not layout.is_replicated(value.placements):
        return value
    local = value.to_local().numpy()
    return local if local.ndim else local[()]


def method_of(original: type, name: str) -> Method | None:
    """Return what computes a method of a class of scikit-learn; None if nothing does."""
    for module in _MODULES:
        importlib.import_module(f"npaccel._sklearn.sharded.{module}")
    return _methods.get((original, name))


def computed(
    self: Any, name: str, args: Any, kwargs: Any, original: Method, refuse: Callable[[str], None]
) -> tuple[Any, str]:
    """Compute a method with DTensors.

    Parameters
    ----------
    self : Accelerated
    name : str
    args, kwargs
        What it was called with.
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
    method = method_of(type(self)._npaccel_original, name)
    why = f"{type(self).__name__}.{name} isn't computed by parts"
    if method is not None:
        try:
            with _in_numpy():
                return method(self, *args, **kwargs), ""
        except WholeArraysError as error:
            why = str(error)
    refuse(why)
    found = original(*map(whole, args), **{key: whole(one) for key, one in kwargs.items()})
    return found if found is self else _spread(found, _mesh(args, kwargs)), why


@contextlib.contextmanager
def _in_numpy() -> Iterator[None]:
    """Have scikit-learn's own functions take arrays as ever."""
    with call_stack.dispatching(False):
        yield


def whole(value: Any) -> Any:
    """Return a DTensor as the whole tensor, anything else as it is."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def _mesh(args: Any, kwargs: Any) -> Any:
    given = [*args, *kwargs.values()]
    return next(one.device_mesh for one in given if isinstance(one, DTensor))


def _spread(found: Any, mesh: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(_spread(one, mesh) for one in found)
    if isinstance(found, torch.Tensor):
        return distribute_tensor(found, mesh, layout.replicated(mesh))
    return found


# -- What methods use ----------------------------------------------------------


@kernel
def _finite(X: Any) -> Any:
    return np.isfinite(X).all(), np.isinf(X).any()


def checked(self: Any, X: DTensor, *, fits: bool, nan: bool = False) -> DTensor:
    """Check data as scikit-learn does, by its dtype, shape and values.

    Parameters
    ----------
    self : Accelerated
    X : DTensor
    fits : bool
        Whether it's data to fit.
    nan : bool
        Whether NaN is allowed.

    Raises
    ------
    ValueError
    """
    if X.ndim != 2:
        raise WholeArraysError(f"X has {X.ndim} dimensions")
    if not X.dtype.is_floating_point:
        raise WholeArraysError(f"X has the dtype {X.dtype}")
    if not all(X.shape):
        raise WholeArraysError("X is empty")
    finite, infinite = _finite(X)
    if not finite and (infinite or not nan):
        raise WholeArraysError("X has infinite or missing values")
    if fits:
        self._validate_params()
        self.n_features_in_ = X.shape[1]
        with contextlib.suppress(AttributeError):
            del self.feature_names_in_
    elif X.shape[1] != self.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
            f"{self.n_features_in_} features as input"
        )
    return X


def unweighted(sample_weight: Any) -> None:
    """Refuse weights of rows."""
    if sample_weight is not None:
        raise WholeArraysError("rows have weights")


def array(value: Any) -> Any:
    """Return a fitted attribute as an array."""
    return value.numpy() if isinstance(value, torch.Tensor) else value


__all__ = [
    "WholeArraysError",
    "array",
    "checked",
    "computed",
    "kernel",
    "sharded",
    "unweighted",
    "whole",
]
