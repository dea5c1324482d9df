"""The way of one call of an estimator's method: choose where it runs, run it, give results back."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy import sparse

from npaccel._runtime import foreign_arrays, options
from npaccel._runtime.torch import malloc
from npaccel._scipy.dispatch import conversion
from npaccel._scipy.dispatch.float64_default import wide_floats
from npaccel._sklearn.dispatch import call_stack, report, transfers
from npaccel._sklearn.dispatch import state as dispatch_state
from npaccel._sklearn.dispatch.call_stack import Container, Frame
from npaccel._sklearn.parts import calls
from npaccel.errors import NotOnDeviceError

#: Methods that validate the estimator's parameters.
_FITS = ("fit", "fit_predict", "fit_transform", "partial_fit")
#: Methods whose results go from step to step.
_TRANSFORMS = ("transform", "fit_transform", "inverse_transform")
#: The ``score`` that all classifiers or regressors have.
_METRICS = ("ClassifierMixin.score", "RegressorMixin.score")


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Route of a call: where it runs.

    Parameters
    ----------
    on_device : bool
        Whether tensors are computed on.
    own : bool
        Whether npaccel's method runs; else scikit-learn's.
    moves : bool
        Whether data is moved to the device at the entry.
    passes : bool
        Whether X is passed on as it came; else, on the host, tensors become arrays.
    reason : str
        Why it runs on the host.
    refused : bool
        Whether it runs there because it can't run on the device.
    wants : {"tensor", "array"} or None
        The field of `Frame`.
    foreign : bool
        The field of `Frame`.
    """

    on_device: bool
    own: bool = True
    moves: bool = False
    passes: bool = False
    reason: str = ""
    refused: bool = False
    wants: Container | None = None
    foreign: bool = False


def call(
    self: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """Run a method of an accelerated estimator.

    Parameters
    ----------
    self : Accelerated
    name : str
    function : callable
        The method as the class has it.
    args, kwargs
        What it was called with.
    """
    parent = call_stack.current()
    if parent is not None and parent.estimator is self and not parent.passes:
        # A method that another one of the same estimator calls runs where that one runs.
        method = function if parent.own else _sklearns(self, name)
        return method(self, *args, **kwargs)
    X = args[0] if args else kwargs.get("X")
    state = dispatch_state.state_of(self)
    if type(self)._npaccel_route != "composite":
        engine = calls.engine_for(self, X)
        if engine is not None:
            return _by_parts(self, name, function, args, kwargs, engine)
    given = _given(X, state)
    device = _device(X, state, parent)
    plan = _plan(self, name, function, args, kwargs, device)
    frame = Frame(
        self,
        plan.on_device,
        device,
        parent.given if parent is not None else given,
        plan.own,
        plan.passes,
        plan.wants,
        gives=_gives(self, name, given, parent),
        foreign=plan.foreign,
        parent=parent,
    )
    if plan.refused and state.on_unsupported == "raise":
        raise _refusal(self, name, plan.reason)
    if parent is None and name.startswith(("fit", "partial")):
        state.log.clear()
        state.given = given
    elif name.startswith(("fit", "partial")):
        state.given = frame.given
    return _run(frame, plan, name, function, args, kwargs)


def _run(
    frame: Frame,
    plan: _Plan,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    """Run a call as planned, and note what it took."""
    self = frame.estimator
    start = time.perf_counter()
    if plan.on_device:
        malloc.prepare()
    if plan.on_device and plan.own and name in _FITS and not frame.is_of_composite:
        frame.before = dispatch_state.remembered(self, name)
    try:
        with call_stack.entered(frame), _joblib_in_this_thread(plan.on_device):
            if plan.foreign:
                pass  # as scikit-learn would get it
            elif plan.moves:
                args, kwargs = _moved(frame, args, kwargs)
            elif plan.passes:
                args, kwargs = _of_metric(args, kwargs)
            elif not plan.on_device:
                args, kwargs = conversion.mapped((args, kwargs), _array)
            method = function if plan.own else _sklearns(self, name)
            is_delegated = plan.on_device and type(self)._npaccel_route == "delegated"
            with wide_floats() if is_delegated else contextlib.nullcontext():
                found = method(self, *args, **kwargs)
            if name.startswith(("fit", "partial")) and not plan.foreign:
                dispatch_state.note_arrays(self, frame.device)
            return found if found is self else _left(frame, found)
    finally:
        _note(frame, plan, name, time.perf_counter() - start)


# -- Data in parts ------------------------------------------------------------------------------


def _by_parts(
    self: Any, name: str, function: Callable[..., Any], args: Any, kwargs: Any, engine: Any
) -> Any:
    """Run a method with arrays in parts: by parts, or on whole arrays, and note which."""
    state, parent = dispatch_state.state_of(self), call_stack.current()
    fits = name.startswith(("fit", "partial"))

    def refuse(why: str) -> None:
        if state.on_unsupported == "raise":
            raise _refusal(self, name, why)

    def on_whole_arrays(*args: Any, **kwargs: Any) -> Any:
        return call(self, name, function, args, kwargs)

    if fits and parent is None:
        state.log.clear()
    X = args[0] if args else kwargs.get("X")
    device = getattr(X, "device", "cpu")
    on = device if isinstance(device, torch.device) else torch.device("cpu")
    frame = Frame(self, True, on, "array", parent=parent)
    start = time.perf_counter()
    found, why = calls.computed(self, name, args, kwargs, engine, on_whole_arrays, refuse)
    if fits and not why:
        state.given = "array"
    reason = f"{why}: {engine.without}" if why else ""
    key = (type(self).__name__, name, "gathered" if why else engine.route, str(on), reason)
    _note_of(frame, key, time.perf_counter() - start)
    return found


# -- Where a call runs --------------------------------------------------------------------------


def _given(X: Any, state: dispatch_state.State) -> Container:
    """Return what the caller gives, and gets back."""
    if X is None or isinstance(X, int | np.integer):  # how many samples, say
        return state.given
    return "tensor" if isinstance(X, torch.Tensor) else "array"


def _device(X: Any, state: dispatch_state.State, parent: Frame | None) -> torch.device:
    if isinstance(X, torch.Tensor):
        return X.device
    if parent is not None and parent.on_device:
        return parent.device
    return dispatch_state.device_for_arrays(state)


def _gives(self: Any, name: str, given: Container, parent: Frame | None) -> Container:
    """Return in which container the result leaves."""
    if name in _TRANSFORMS[:2] and gives_table(self):
        return "array"  # scikit-learn makes a DataFrame of it
    if parent is None or parent.wants is None:
        return given
    if parent.wants == "tensor" and name not in _TRANSFORMS:
        return parent.gives  # the last step's: it leaves as it is
    return parent.wants


def gives_table(self: Any) -> bool:
    """Whether scikit-learn makes a table of what an estimator's `transform` gives."""
    from sklearn.utils import _set_output

    if not _set_output._auto_wrap_is_configured(self):
        return False
    config = vars(self).get(dispatch_state.OUTPUT, {})
    dense = config.get("transform") or _set_output._get_output_config("transform")["dense"]
    return bool(dense != "default")


def _plan(
    self: Any, name: str, function: Callable[..., Any], args: Any, kwargs: Any, device: torch.device
) -> _Plan:
    """Choose where a call runs."""
    kind = type(self)
    X = args[0] if args else kwargs.get("X")
    if foreign_arrays.parts_of(X) is not None:  # Its parts take it.
        return _Plan(False, False, foreign=True)
    library = _foreign(self, args, kwargs)
    if library:
        reason = f"an array of {library} is computed with by scikit-learn's own code"
        return _Plan(False, False, reason=reason, refused=True, foreign=True)
    if _is_metric(function):  # the host computes it of the predictions
        return _Plan(False, passes=True, wants="array")
    arguments = _bound(args, kwargs)
    if kind._npaccel_route == "composite":
        return _plan_of_composite(self, name, arguments, device)
    if kind._npaccel_route == "host":
        return _Plan(False, False, reason=kind._npaccel_reason, refused=True)
    if kind._npaccel_route == "device":
        return _plan_of_device(self, name, arguments, device)
    return _plan_of_delegated(self, name, arguments, device)


def _plan_of_delegated(
    self: Any, name: str, arguments: dict[str, Any], device: torch.device
) -> _Plan:
    """Choose where scikit-learn's own code runs: on tensors, if that is worth anything."""
    X, y = arguments["X"], arguments.get("y")
    why = self._unsupported(name, **arguments)
    if not why and not isinstance(X, np.ndarray | torch.Tensor | None):
        why = f"X is a {type(X).__name__}"
    if not why and y is not None and not isinstance(y, torch.Tensor):
        kind = np.asarray(y).dtype.kind
        why = "" if kind in "biuf" else "y holds no numbers"
    if why:
        return _Plan(False, False, reason=why, refused=True)
    if not isinstance(X, torch.Tensor) and not transfers.is_apart(device):
        return _Plan(False, False)
    return _Plan(True, moves=True)


def _plan_of_device(self: Any, name: str, arguments: dict[str, Any], device: torch.device) -> _Plan:
    if name in _FITS and not (name == "partial_fit" and hasattr(self, "n_features_in_")):
        _validate_parameters(self)
    why = self._unsupported(name, **arguments)
    if why:
        return _Plan(False, False, reason=why, refused=True)
    if not transfers.is_apart(device):
        why = self._faster_on_host(name, **arguments)
    return _Plan(False, False, reason=why) if why else _Plan(True)


def _plan_of_composite(
    self: Any, name: str, arguments: dict[str, Any], device: torch.device
) -> _Plan:
    """Choose for an estimator of estimators: its own code only carries the data."""
    X = arguments["X"]
    why = why_not(self, X) if X is not None else ""
    tensor = isinstance(X, torch.Tensor)
    why = why or _plain_part(self)
    if why or not self._npaccel_carries or not (tensor or transfers.is_apart(device)):
        return _Plan(False, False, reason=why)
    if name in (*_FITS, *_TRANSFORMS) and gives_table(self):
        return _Plan(False, False)  # its parts give tables, also those that pass on what they get
    is_table = not tensor and not isinstance(X, np.ndarray)
    in_fit = name in _FITS or name == "score"
    return _Plan(True, moves=not is_table, wants=self._npaccel_wants[0 if in_fit else 1])


def _plain_part(self: Any) -> str:
    """Return why data can't stay on the device: a part that isn't npaccel's."""
    for name in ("steps", "transformer_list", "transformers", "estimators", "estimator"):
        value = getattr(self, name, None)
        listed = value if isinstance(value, tuple | list) else [("", value)]
        for _, part, *_ in listed:
            if hasattr(part, "fit") and not hasattr(type(part), "_npaccel_route"):
                return f"{type(part).__name__} isn't npaccel's"
    return ""


def _foreign(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the library of an array that is neither NumPy's nor torch's, if there is one."""
    for value in (*args, *kwargs.values(), *vars(self).values()):
        if hasattr(value, "__array_namespace__") and not isinstance(
            value, np.ndarray | np.generic | torch.Tensor | type
        ):
            return type(value).__module__.partition(".")[0]
    return ""


def _is_metric(function: Any) -> bool:
    """Whether a method is the ``score`` that all classifiers or regressors have."""
    return function.__module__ == "sklearn.base" and function.__qualname__ in _METRICS


def why_not(self: Any, X: Any) -> str:
    """Return why data can't be computed on a device whatever the estimator."""
    if options.current().disabled:
        return "npaccel is switched off"
    if "_skl_callbacks" in vars(self):
        return "its callbacks are called by scikit-learn's own code"
    if sparse.issparse(X):
        return "X is a sparse matrix"
    allowed = type(self)._npaccel_sparse
    held = [n for n, value in vars(self).items() if sparse.issparse(value) and n not in allowed]
    if held:
        return f"{held[0]} is a sparse matrix"
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind not in "biuf":
        return f"X has the dtype {dtype}"
    if isinstance(X, torch.Tensor):
        if X.is_sparse or X.layout != torch.strided:
            return "X is a sparse tensor"
        return f"X has the dtype {X.dtype}" if X.is_complex() else ""
    return ""


def _bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return arguments by name; the first two are X and y, or what stands in their places."""
    return {"X": None, **dict(zip(("X", "y"), args, strict=False)), **kwargs}


def _validate_parameters(self: Any) -> None:
    from sklearn import get_config

    if not get_config()["skip_parameter_validation"]:
        self._validate_params()


def _sklearns(self: Any, name: str) -> Callable[..., Any]:
    """Return the method as scikit-learn's own class has it."""
    return _method_of(type(self)._npaccel_original, name)


@functools.cache
def _method_of(kind: type, name: str) -> Callable[..., Any]:
    found: Any = inspect.getattr_static(kind, name)
    is_conditional = hasattr(found, "fn") and hasattr(found, "check")
    return found.fn if is_conditional else found  # type: ignore[no-any-return]


def _refusal(self: Any, name: str, reason: str) -> NotOnDeviceError:
    kind = type(self).__name__
    return NotOnDeviceError(
        f"{kind}.{name} would run on the host: {reason}; change that, or let it: "
        f'npaccel.sklearn.accelerate(estimator, on_unsupported="host")'
    )


# -- Data in and results out --------------------------------------------------------------------


def _moved(frame: Frame, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return arguments with NumPy's numbers on the device.

    Of an estimator of estimators X only: the labels are taken by whoever fits them.
    """
    only_x = type(frame.estimator)._npaccel_route == "composite"

    def part(name: str, value: Any) -> Any:
        if only_x and name == "y" and frame.wants == "array" and isinstance(value, torch.Tensor):
            return transfers.to_host(value)  # what predictions are compared with
        if name == "y" and isinstance(value, list | tuple) and not only_x:
            value = np.asarray(value)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or not value.ndim:
            return value
        return value if only_x and name != "X" else transfers.to_device(value, frame.device)

    names = ("X", "y", *[""] * len(args))
    moved = tuple(part(name, value) for name, value in zip(names, args, strict=False))
    return moved, {name: part(name, value) for name, value in kwargs.items()}


def _of_metric(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the arguments of a metric with true values and weights on the host, and X as it is."""
    named = {name: value if name == "X" else _array(value) for name, value in kwargs.items()}
    return (*args[:1], *map(_array, args[1:])), named


def _array(value: Any) -> Any:
    return transfers.to_host(value) if isinstance(value, torch.Tensor) else value


def _left(frame: Frame, found: Any) -> Any:
    """Return a result in the container in which it leaves."""
    if frame.foreign:
        return found
    if frame.gives == "array":
        return conversion.mapped(found, _array_or_number)

    def part(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            return transfers.to_device(value, frame.device)
        return value

    return conversion.mapped(found, part)


def _array_or_number(value: Any) -> Any:
    return dispatch_state.host_value(value) if isinstance(value, torch.Tensor) else value


@contextlib.contextmanager
def _joblib_in_this_thread(on_device: bool) -> Iterator[None]:
    """Have joblib run jobs one after the other: tensors don't go to other processes."""
    if not on_device:
        yield
        return
    import joblib

    with joblib.parallel_config(backend="sequential"):
        yield


def _note(frame: Frame, plan: _Plan, name: str, seconds: float) -> None:
    """Tell the estimator's report of a call, and those of the estimators that called it."""
    kind = type(frame.estimator)
    route = kind._npaccel_route if not plan.refused and not plan.reason else "host"
    where = str(frame.device) if plan.on_device else "cpu"
    _note_of(frame, (kind.__name__, name, route, where, plan.reason), seconds)


def _note_of(frame: Frame, key: tuple[str, str, str, str, str], seconds: float) -> None:
    report.everything.note(key, frame.count, seconds)
    told: list[Any] = []
    up: Frame | None = frame
    while up is not None:
        if not any(up.estimator is one for one in told):
            told.append(up.estimator)
            dispatch_state.state_of(up.estimator).log.note(key, frame.count, seconds)
        up = up.parent
