"""scikit-learn's functions on arrays, called with tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from npaccel._scipy.dispatch import conversion
from npaccel._sklearn.dispatch import transfers


def routed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of scikit-learn's that takes tensors, too: it's computed on the host.

    Parameters
    ----------
    original : callable

    Returns
    -------
    callable
        Arrays among its results are tensors where there were some among the arguments.
    """

    @functools.wraps(original, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
        if not given:
            return original(*args, **kwargs)
        device = conversion.device_of(original.__name__, given)
        args, kwargs = conversion.mapped((args, kwargs), _array)
        found = original(*args, **kwargs)
        return conversion.mapped(found, lambda part: _tensor(part, device))

    return call


def _array(value: Any) -> Any:
    return transfers.to_host(value) if isinstance(value, torch.Tensor) else value


def _tensor(value: Any, device: torch.device) -> Any:
    is_array = hasattr(value, "dtype") and hasattr(value, "shape") and value.shape != ()
    if not is_array or isinstance(value, torch.Tensor) or value.dtype.kind not in "biufc":
        return value
    return transfers.to_device(value, device)
