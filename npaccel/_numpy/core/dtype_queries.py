"""Questions about dtypes, answered by NumPy with Python constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import needs_array
from npaccel._numpy.core.dtypes import (
    DType,
    as_tensor,
    is_scalar,
    result_dtype,
    to_numpy,
    weak_type,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs.dispatch import concrete


def _described(x: Any) -> Any:
    """Return a tensor's dtype; others as they are."""
    if isinstance(x, torch.Tensor):
        return to_numpy(x.dtype)
    return to_numpy(x) if isinstance(x, torch.dtype) else x


def _standing_for(x: Any) -> Any:
    """Return an array or a NumPy scalar of a tensor's dtype; others as they are."""
    if isinstance(x, torch.Tensor):
        return np.ones((1,) * x.ndim, to_numpy(x.dtype))[()]
    return _described(x)


def _asked(function: Any) -> Callable[..., Any]:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        return function(
            *(_standing_for(x) for x in args),
            **{key: _standing_for(x) for key, x in kwargs.items()},
        )

    return implementation


for _function in (np.can_cast, np.promote_types, np.issubdtype, np.isdtype):
    implements(_function)(_asked(_function))


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> DType:
    """`numpy.result_type`, of dtypes exactly NumPy's."""
    if any(isinstance(x, torch.Tensor) or is_scalar(x) for x in arrays_and_dtypes):
        return result_dtype(*(_weak(x) for x in arrays_and_dtypes))
    return np.result_type(*(_described(x) for x in arrays_and_dtypes))


def _weak(x: Any) -> Any:
    if isinstance(x, torch.Tensor) or is_scalar(x):
        return x
    return np.dtype(x)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> DType:
    """`numpy.min_scalar_type` of arrays and Python numbers."""
    if isinstance(a, torch.SymInt | torch.SymFloat | torch.SymBool) or (
        isinstance(a, torch.Tensor) and not a.ndim
    ):
        raise NotImplementedError(
            "min_scalar_type of a number depends on its value, which is not known while "
            "compiling; ask it outside the function"
        )
    return np.min_scalar_type(np.empty(1, to_numpy(a.dtype)) if isinstance(a, torch.Tensor) else a)


@implements(np.common_type)
def common_type(*arrays: Any) -> type[Any]:
    """`numpy.common_type`."""
    known = [to_numpy(needs_array(x, "dtype").dtype) for x in arrays]
    return np.common_type(*(np.empty(0, dtype) for dtype in known))


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """`numpy.iscomplexobj`."""
    return weak_type(x) is complex if is_scalar(x) else as_tensor(x).is_complex()


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """`numpy.isrealobj`."""
    return not iscomplexobj(x)


@implements(np.isscalar)
def isscalar(element: Any) -> bool:
    """`numpy.isscalar`."""
    if isinstance(element, torch.Tensor):
        return element.ndim == 0
    return bool(np.isscalar(concrete(element)))


@implements(np.iterable)
def iterable(y: Any) -> bool:
    """`numpy.iterable`: whether an array has dimensions."""
    return y.ndim > 0 if isinstance(y, torch.Tensor) else bool(np.iterable(y))
