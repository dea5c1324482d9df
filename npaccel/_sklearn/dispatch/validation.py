"""scikit-learn's checks of data, before it goes to the device or there."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import call_stack, transfers

_TORCH: dict[Any, Any] = {
    np.float64: torch.float64,
    np.float32: torch.float32,
    np.int64: torch.int64,
}
#: Parameters of ``check_array`` that say nothing of tensors.
_OF_MEMORY = ("order", "force_writeable", "copy", "accept_large_sparse")


def _frame() -> call_stack.Frame:
    frame = call_stack.current()
    assert frame is not None, "a device estimator's method was called without its wrapper"
    return frame


def moved(array: Any) -> torch.Tensor:
    """Return an array as a tensor on the running call's device; copied once per call."""
    frame = _frame()
    if isinstance(array, torch.Tensor):
        return array.detach().to(frame.device)
    return _remembered(array, "", lambda: transfers.to_device(np.asarray(array), frame.device))


def _remembered(given: Any, key: Any, made: Any) -> torch.Tensor:
    """Return the tensor of an object of the caller's, made once in the outermost call."""
    moved = _frame().outermost_of_estimator().moved
    _, tensors = moved.setdefault(id(given), (given, {}))
    if key not in tensors:
        tensors[key] = made()
    found: torch.Tensor = tensors[key]
    return found


def one(estimator: Any, X: Any, reset: bool, params: dict[str, Any]) -> torch.Tensor:
    """Validate X alone."""
    from sklearn.utils.validation import validate_data

    if isinstance(X, torch.Tensor):
        return _on_device(validate_data(estimator, X, reset=reset, **_for_tensors(params)))

    def made() -> torch.Tensor:
        with call_stack.dispatching(False):
            checked = validate_data(estimator, X, reset=reset, **params)
        return transfers.to_device(np.asarray(checked), _frame().device)

    return _remembered(X, _key(params), made)


def pair(
    estimator: Any, X: Any, y: Any, reset: bool, params: dict[str, Any]
) -> tuple[torch.Tensor, Any]:
    """Validate X and y, and return X on the device and y where it was; checked together."""
    from sklearn.utils.validation import validate_data

    if isinstance(X, torch.Tensor):
        checked, y = validate_data(estimator, X, y, reset=reset, **_for_tensors(params))
        return _on_device(checked), y
    if isinstance(y, torch.Tensor):
        y = transfers.to_host(y)
    given = X
    with call_stack.dispatching(False):
        X, y = validate_data(estimator, X, y, reset=reset, **params)

    def made() -> torch.Tensor:
        return transfers.to_device(np.asarray(X), _frame().device)

    return _remembered(given, _key(params), made), y


def _on_device(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(_frame().device)


def _key(params: dict[str, Any]) -> str:
    wanted = {
        name: value
        for name, value in params.items()
        if name in ("dtype", "ensure_2d", "validate_separately")
    }
    return repr(sorted(wanted.items()))


def _for_tensors(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of ``check_array`` for tensors."""
    found = {name: value for name, value in params.items() if name not in _OF_MEMORY}
    if "validate_separately" in found:
        found["validate_separately"] = tuple(map(_for_tensors, found["validate_separately"]))
    dtype = found.get("dtype")
    if isinstance(dtype, tuple | list):
        found["dtype"] = [_TORCH.get(one, one) for one in dtype]
    elif isinstance(dtype, type):
        found["dtype"] = _TORCH.get(dtype, dtype)
    return found


def weights(sample_weight: Any, X: torch.Tensor, params: dict[str, Any]) -> torch.Tensor:
    """Return weights of rows on the device."""
    from sklearn.utils import validation

    if isinstance(sample_weight, torch.Tensor):
        found = validation._check_sample_weight(
            sample_weight.to(X.device), X, dtype=X.dtype, **params
        )
        return _on_device(found)
    dtype = np.float32 if X.dtype == torch.float32 else np.float64
    rows = np.empty((len(X), 0), dtype)
    with call_stack.dispatching(False):
        found = validation._check_sample_weight(sample_weight, rows, dtype=dtype, **params)
    return _remembered(sample_weight, "weights", lambda: transfers.to_device(found, X.device))


def encoded(y: Any) -> tuple[Any, Any]:
    """Return the classes, and the labels as codes."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if isinstance(y, torch.Tensor):
        check_classification_targets(y)
        classes, codes = torch.unique(column_or_1d(y, warn=True), return_inverse=True)
        return transfers.to_host(classes), codes
    with call_stack.dispatching(False):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)


def labels(classes: Any, codes: torch.Tensor) -> Any:
    """Return the labels of codes: on the host if they leave as arrays or are strings."""
    gives = _frame().outermost_of_estimator().gives
    if gives == "array" or classes.dtype.kind not in "biuf":
        return classes[transfers.to_host(codes)]
    return transfers.to_device(classes, codes.device)[codes]
