"""`npaccel.sklearn.accelerate`: estimators that compute on a device."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch

from npaccel._runtime import foreign_arrays
from npaccel._sklearn.dispatch import state as dispatch_state
from npaccel._sklearn.dispatch.estimator import Accelerated, class_of


def _accelerated_class(kind: type) -> type:
    return kind if issubclass(kind, Accelerated) else class_of(kind)


def _original_class(kind: type) -> type:
    return kind._npaccel_original if issubclass(kind, Accelerated) else kind


def _copied(value: Any, change: Callable[[type], type], seen: dict[int, Any] | None = None) -> Any:
    """Return a copy of an estimator, with all that are in it, of changed classes.

    What isn't an estimator, or a container that holds some, is the same object.
    """
    from sklearn.base import BaseEstimator

    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, BaseEstimator):
        kind: Any = change(type(value))
        made = seen[id(value)] = kind.__new__(kind)
        deep = change is _original_class or _is_made_of_others(value)
        parameters = set(value._get_param_names())
        for name, part in vars(value).items():
            if name == dispatch_state.KEY:
                continue
            copied = _copied(part, change, seen) if deep else part
            if copied is part and (name in parameters or isinstance(part, np.ndarray)):
                # Neither draws of a random state nor what a method writes reaches the original.
                copied = copy.deepcopy(part)
            vars(made)[name] = copied
        return made
    return _copied_container(value, change, seen)


def _is_made_of_others(estimator: Any) -> bool:
    """Whether estimators are among the parameters, and not only among what it makes itself."""
    found: list[Any] = []
    for name in estimator._get_param_names():
        _visit(getattr(estimator, name, None), found.append)
    return bool(found)


def _copied_container(value: Any, change: Callable[[type], type], seen: dict[int, Any]) -> Any:
    engine = foreign_arrays.parts_of(value)
    if engine is not None:
        return dispatch_state.host_value(engine.whole(value))
    if isinstance(value, torch.Tensor):
        return dispatch_state.host_value(value)
    if type(value) in (list, tuple):
        parts = [_copied(part, change, seen) for part in value]
        same = all(a is b for a, b in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, dict):
        changed = {name: _copied(part, change, seen) for name, part in value.items()}
        if all(changed[name] is part for name, part in value.items()):
            return value
        made = copy.copy(value)
        made.update(changed)
        return made
    if isinstance(value, np.ndarray) and value.dtype == object:
        parts = [_copied(part, change, seen) for part in value.flat]
        if all(a is b for a, b in zip(parts, value.flat, strict=True)):
            return value
        array = np.empty_like(value)
        array.flat[:] = parts
        return array
    return _copied_helper(value, change, seen) if _is_helper(value) else value


def _is_helper(value: Any) -> bool:
    """Whether a value is an object of scikit-learn's that may hold estimators: a scorer, say."""
    ours = type(value).__module__.startswith("sklearn.")
    return ours and not isinstance(value, type) and hasattr(value, "__dict__")


def _copied_helper(value: Any, change: Callable[[type], type], seen: dict[int, Any]) -> Any:
    parts = {name: _copied(part, change, seen) for name, part in vars(value).items()}
    if all(parts[name] is part for name, part in vars(value).items()):
        return value
    made = copy.copy(value)
    vars(made).update(parts)
    return made


def _visit(value: Any, act: Callable[[Any], None], seen: set[int] | None = None) -> None:
    """Call a function with each estimator that is in a value."""
    from sklearn.base import BaseEstimator

    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    parts: Any = ()
    if isinstance(value, BaseEstimator):
        act(value)
        parts = list(vars(value).values())
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, tuple | list) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        parts = value
    elif _is_helper(value):
        parts = list(vars(value).values())
    for part in parts:
        _visit(part, act, seen)


def accelerate(
    estimator: Any,
    device: str | None = "auto",
    on_unsupported: Literal["host", "raise"] = "host",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Any:
    """Return an estimator that behaves as another and computes on a device.

    Parameters
    ----------
    estimator : estimator
        Any of scikit-learn's, alone or made of others (a pipeline, a search, a union). It isn't
        changed. If it's fitted, what is returned is fitted too.
    device : {"auto", "cpu", "cuda", "cuda:N"} or None, default "auto"
        Where NumPy's arrays and tables are computed. ``"auto"``: on CUDA where there is one. None:
        as `npaccel.options` says. Tensors stay where they are.
    on_unsupported : {"host", "raise"}, default "host"
        What becomes of a step that can't run on the device. ``"host"``: it runs in scikit-learn,
        and ``report_`` says so and why. ``"raise"``: an error.
    checkpoint : path-like, optional
        Folder in which fits with DTensors or Dask arrays save what they have found so far, if they
        take several passes over the rows. A program that begins again, by
        ``torchrun --max-restarts`` for one, goes on from there. All ranks have to see it.

    Returns
    -------
    estimator
        Of a class that derives from that of `estimator`, with the same parameters.

    Raises
    ------
    npaccel.errors.OptionError
        For another value of `device` or `on_unsupported`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import StandardScaler
    >>> import npaccel.sklearn
    >>> X, y = load_digits(return_X_y=True)
    >>> scaler = npaccel.sklearn.accelerate(StandardScaler()).fit(X)
    >>> scaler.report_.steps[0].route
    'device'
    """
    dispatch_state.checked_settings(device, on_unsupported)
    changed = _copied(estimator, _accelerated_class)

    def settle(one: Any) -> None:
        if isinstance(one, Accelerated):
            state = dispatch_state.state_of(one)
            state.device, state.on_unsupported = device, on_unsupported
            state.checkpoint = checkpoint

    _visit(changed, settle)
    return changed


def to_host(estimator: Any) -> Any:
    """Return plain scikit-learn estimators: what they were made of is gone, what they learnt isn't.

    Parameters
    ----------
    estimator : estimator
        It isn't changed.

    Returns
    -------
    estimator
        Of scikit-learn's classes, with NumPy's arrays. It can be pickled for a machine without
        npaccel and torch.
    """
    return _copied(estimator, _original_class)
