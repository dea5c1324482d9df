"""The mixin of every accelerated estimator: it takes data to the device and results back.

How to write a device estimator
-------------------------------
::

    @on_device("preprocessing.StandardScaler", refused="sparse matrices")
    class StandardScaler(Accelerated, preprocessing.StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            X = self._validated(X, dtype=FLOATS, ensure_all_finite="allow-nan")
            self.mean_, self.var_ = _moments(X)          # a kernel; attributes are tensors
            return self

        def transform(self, X, copy=None):
            check_is_fitted(self)
            X = self._validated(X, reset=False, dtype=FLOATS, ensure_all_finite="allow-nan")
            return _scaled(X, self.mean_, self.scale_)   # tensors are returned

* It stands in a module that `npaccel._sklearn.MODULES` lists, and takes part in
  ``tests/sklearn_layer/test_sklearn_estimators.py``: ``check_estimator`` and the rest.
* A subclass of scikit-learn's, ``Accelerated`` first. Write public methods only; never override
  private methods of scikit-learn's, for its own code calls them when a call goes through the host.
* Methods get what the caller gave. `_validated` checks it with scikit-learn's own checks, and gives
  tensors on the device; one array is copied once per call however often it's validated. Never write
  into the tensors: on a CPU they share the caller's memory. Then come: `_encoded(y)` (class labels
  as codes, sets ``classes_``), `_labels(codes)` (and back), `_weights(sample_weight, X)`.
* Return tensors, and set fitted attributes to tensors; results and attributes reach the caller as
  what X was: arrays, or tensors. Inside of methods attributes are tensors on the device, also those
  that scikit-learn's own code or a pickle left as arrays. Names in `_on_host` (``classes_``) are
  arrays, always. What is a Python number in scikit-learn, set as one (`transfers.number`).
* `_unsupported(method, X, y, **more)` returns why a call can't be done on the device, or an empty
  string: then scikit-learn's own method runs on the host, and `report_` says so. Ask
  ``super()._unsupported`` first: sparse matrices, object arrays and callbacks are found there.
  Parameters were validated before. `_faster_on_host(method, X, y, **more)` is asked on a CPU only:
  why scikit-learn's own code is as fast there.
* Kernels are plain NumPy functions under ``@kernel``; torch on tensors is for what NumPy has no
  word for. Numbers that decide (a test of convergence) are read by `transfers.number` and
  `transfers.numbers`, several at once, so that they are counted.
* Random numbers: ``check_random_state(self.random_state)``, drawn on the host as scikit-learn draws
  them, then `self._moved(array)`.
* Calling another method of the same estimator, or ``super().method(...)`` where scikit-learn's own
  code takes tensors, is fine.
* For tests, ``with transfers.cpu_as_device():`` makes the CPU count as a device, so that copies
  are counted and nothing is left to scikit-learn for being faster on a CPU.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import math
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch

from npaccel._process import fork
from npaccel._sklearn.dispatch import call_stack, common, routes, table
from npaccel._sklearn.dispatch import state as dispatch_state
from npaccel._sklearn.dispatch.call_stack import Container
from npaccel._sklearn.dispatch.report import EstimatorReport

#: The dtypes that estimators compute in; others become the first.
FLOATS = (np.float64, np.float32)

#: The methods that take data, which are wrapped.
METHODS = (
    "fit",
    "fit_predict",
    "fit_transform",
    "partial_fit",
    "predict",
    "predict_joint_log_proba",
    "predict_log_proba",
    "predict_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score",
    "score_samples",
    "mahalanobis",
    "error_norm",
    "kneighbors",
    "kneighbors_graph",
    "radius_neighbors",
    "radius_neighbors_graph",
    "apply",
    "sample_y",
    "get_covariance",
    "get_precision",
    "path",
    "sample",
    "bic",
    "aic",
)

#: Methods of scikit-learn's that take no data, and compute with attributes in NumPy.
READERS = ("get_feature_names_out", "get_support")

_ABSENT: Any = object()
#: Maximum number of elements for which scikit-learn's own code is as fast on a CPU: calls take all
#: of the time.
_SMALL = 1 << 18
#: Reason why scikit-learn's own code is taken on a CPU.
IS_SMALL = "little data: scikit-learn's own code is as fast on a CPU"
IS_BLAS = "BLAS takes all of its time, as in scikit-learn's own code"


def is_small(X: Any) -> bool:
    """Whether data that is no tensor is so little that scikit-learn's own code is as fast."""
    return not isinstance(X, torch.Tensor) and math.prod(shape_of(X)) <= _SMALL


def shape_of(X: Any) -> tuple[int, ...]:
    """Return the shape of data, which may be a list, or an object that makes an array of itself."""
    shape = getattr(X, "shape", None)
    return np.shape(np.asarray(X)) if shape is None else tuple(shape)


class Accelerated:
    """Mixin of accelerated estimators; it stands first among their bases."""

    #: scikit-learn's class.
    _npaccel_original: ClassVar[type] = object
    #: The route of the table.
    _npaccel_route: ClassVar[str] = "device"
    #: Reason why a host row is on the host.
    _npaccel_reason: ClassVar[str] = ""
    #: Kinds of the results of a composite's parts in its fits, and in its other methods.
    _npaccel_wants: ClassVar[tuple[Container | None, Container | None]] = (None, None)
    #: Whether data stays on the device between the parts of a composite.
    _npaccel_carries: ClassVar[bool] = True
    #: Attributes that may be sparse matrices.
    _npaccel_sparse: ClassVar[tuple[str, ...]] = ()
    #: Attributes that stay NumPy's arrays: labels can be strings.
    _on_host: ClassVar[tuple[str, ...]] = ("classes_", "feature_names_in_")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "_npaccel_original" not in cls.__dict__:
            from sklearn.base import BaseEstimator

            bases = [base for base in cls.__mro__[1:] if issubclass(base, BaseEstimator)]
            cls._npaccel_original = next(b for b in bases if not issubclass(b, Accelerated))
        for name in METHODS:
            found = inspect.getattr_static(cls, name, None)
            if found is not None and (name in cls.__dict__ or not _is_wrapped(found)):
                setattr(cls, name, _wrapped(found, functools.partial(_method, name)))
        for name in READERS:
            found = inspect.getattr_static(cls, name, None)
            if found is not None and not _is_wrapped(found):
                setattr(cls, name, _wrapped(found, _reader))
        # scikit-learn wraps `transform` for `set_output`: around what stands there now.
        super().__init_subclass__(**kwargs)

    def __getattribute__(self, name: str) -> Any:
        if name == dispatch_state.OUTPUT and _keeps_tensors(self):
            return {"transform": "default"}
        value = super().__getattribute__(name)
        if type(value) in dispatch_state.KINDS and name in super().__getattribute__("__dict__"):
            return dispatch_state.read(self, name, value)
        return value

    @classmethod
    @functools.cache
    def _parameters_of(cls) -> frozenset[str]:
        """Return the names of the constructor's parameters."""
        return frozenset(cls._get_param_names())  # type: ignore[attr-defined]

    # -- What a device estimator may say -----------------------------------------------------

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        """Return why a call can't be done on the device, or an empty string."""
        return routes.why_not(self, X)

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        """Return why scikit-learn's own code is to be taken on a CPU, or an empty string."""
        return ""

    # -- What its methods use ----------------------------------------------------------------

    def _validated(
        self, X: Any, y: Any = _ABSENT, *, reset: bool = True, **check_params: Any
    ) -> Any:
        """Check data as scikit-learn does, and return it as tensors on the device.

        Parameters
        ----------
        X, y : array-like, tensor
            With `y`, a pair is returned; `y` isn't encoded.
        reset : bool
            Whether it's data to fit.
        **check_params
            Those of ``sklearn.utils.validation.validate_data``. `dtype` is in NumPy's dtypes.
        """
        from npaccel._sklearn.dispatch import validation

        if y is _ABSENT:
            return validation.one(self, X, reset, check_params)
        return validation.pair(self, X, y, reset, check_params)

    def _weights(self, sample_weight: Any, X: torch.Tensor, **params: Any) -> torch.Tensor | None:
        """Return weights of the rows on the device, in the dtype of `X`; None where there are none.

        Parameters
        ----------
        sample_weight : array-like, tensor, number or None
        X : torch.Tensor
            What `_validated` returned.
        **params
            Those of ``sklearn.utils.validation._check_sample_weight``.
        """
        from npaccel._sklearn.dispatch import validation

        return None if sample_weight is None else validation.weights(sample_weight, X, params)

    def _encoded(self, y: Any) -> torch.Tensor:
        """Set ``classes_``, and return the labels as codes (int64) on the device."""
        from npaccel._sklearn.dispatch import validation

        self.classes_, codes = validation.encoded(y)
        return self._moved(codes)

    def _labels(self, codes: torch.Tensor) -> Any:
        """Return the labels of codes, where the caller wants them."""
        from npaccel._sklearn.dispatch import validation

        return validation.labels(self.classes_, codes)

    def _moved(self, array: Any) -> torch.Tensor:
        """Return an array as a tensor on the device; a tensor as it is there."""
        from npaccel._sklearn.dispatch import validation

        return validation.moved(array)

    # -- What users see ----------------------------------------------------------------------

    @property
    def report_(self) -> EstimatorReport:
        """Report of the calls since the last fit: where they computed, copies, and time."""
        return dispatch_state.state_of(self).log.report()

    # -- scikit-learn's protocols ----------------------------------------------------------------

    def __sklearn_clone__(self) -> Any:
        made = super().__sklearn_clone__()  # type: ignore[misc]
        if made is not self:  # what is frozen stays what it is
            mine = dispatch_state.state_of(self)
            vars(made)[dispatch_state.KEY] = dispatch_state.State(
                mine.device, mine.on_unsupported, mine.checkpoint
            )
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        assert isinstance(state, dict)
        parameters = self._parameters_of()
        return {n: v if n in parameters else dispatch_state.host_value(v) for n, v in state.items()}

    def __reduce__(self) -> Any:
        kind = type(self)
        if class_of(self._npaccel_original) is kind:
            return _empty, (self._npaccel_original,), self.__getstate__()
        return copyreg.__newobj__, (kind,), self.__getstate__()  # type: ignore[attr-defined]


# -- Classes of scikit-learn's classes ---------------------------------------------------------

_classes: dict[type, type] = {}
_lock = threading.RLock()
fork.hold(_lock)


def class_of(original: type) -> type:
    """Return the accelerated class of a class of scikit-learn, or of one that derives from such.

    Parameters
    ----------
    original : type
    """
    if issubclass(original, Accelerated):
        return original
    with _lock:
        found = _classes.get(original)
        if found is None:
            found = _classes[original] = _make_class(original)
        return found


def _make_class(original: type) -> type:
    row = table.row_of(original)
    if row is not None and row.route == "device":
        return row.implementation  # type: ignore[no-any-return]
    route = "host" if row is None else row.route
    reason = "" if row is None else row.reason
    library = "scikit-learn" if row is not None else "its own code"
    space: dict[str, Any] = {
        "__doc__": original.__doc__,
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "_npaccel_original": original,
        "_npaccel_route": route,
        "_npaccel_reason": reason or f"{library} computes it on NumPy's arrays",
    }
    if row is None:
        return type(original.__name__, (Accelerated, original), space)
    space["__module__"] = f"npaccel.sklearn.{row.name.rpartition('.')[0]}"
    space["_npaccel_wants"] = row.wants
    space["_npaccel_carries"] = row.carries
    if row.route == "delegated":  # its classes are tensors where its labels were
        space["_on_host"] = ("feature_names_in_",)
    mixins = () if row.mixin is None else (row.mixin,)
    return type(original.__name__, (Accelerated, *mixins, original), space)


def _empty(original: type) -> Any:
    """Return an empty accelerated estimator: what a pickle begins with."""
    kind: Any = class_of(original)
    return kind.__new__(kind)


# -- Methods ------------------------------------------------------------------------------------


def _keeps_tensors(estimator: Any) -> bool:
    """Whether its results stay what they are: tensors aren't made tables of on their way.

    Composites put tables together, and scikit-learn's own methods make them.
    """
    frame = call_stack.current()
    if frame is None or frame.estimator is not estimator or not frame.own:
        return False
    return bool(type(estimator)._npaccel_route != "composite")


def _is_wrapped(found: Any) -> bool:
    function = getattr(found, "fn", found)
    while function is not None:
        if getattr(function, "_npaccel_wrapper", False):
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def _wrapped(found: Any, wrapper: Callable[[Any], Any]) -> Any:
    """Return a method with a wrapper; one that is there sometimes, as such a one."""
    from sklearn.utils._available_if import _AvailableIfDescriptor

    if isinstance(found, _AvailableIfDescriptor):
        method = wrapper(found.fn)
        return _AvailableIfDescriptor(method, found.check, found.attribute_name)
    return wrapper(found) if inspect.isfunction(found) else found


def _reader(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that reads its estimator's attributes, and those of its parts, as arrays."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with common.on_host(self):
            return function(self, *args, **kwargs)

    vars(method)["_npaccel_wrapper"] = True
    return method


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return routes.call(self, name, function, args, kwargs)

    vars(method)["_npaccel_wrapper"] = True
    return method
