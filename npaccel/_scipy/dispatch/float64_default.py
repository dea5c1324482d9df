"""float64 for what SciPy's code makes without a dtype, while it computes on tensors.

torch's default is float32: ``xp.asarray(0.1)`` loses digits, and integers become float32. The
default itself is of all threads; a mode of torch's and SciPy's own question for the default are of
one (``scipy/_lib/_array_api.py``, `xp_result_type`, read in 1.17).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_on: ContextVar[bool] = ContextVar("npaccel_scipy_wide_floats", default=False)
_WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
#: Functions that make tensors of values that are given, and without any.
_OF_VALUES = {torch.asarray, torch.as_tensor, torch.tensor, torch.full, torch.arange}
_OF_SIZES = {torch.ones, torch.zeros, torch.empty, torch.eye, torch.linspace, torch.logspace}


def _ndtr(x: torch.Tensor) -> torch.Tensor:
    """The normal distribution; torch's own cancels in the left tail, where p-values are."""
    return torch.erfc(x * -math.sqrt(0.5)) * 0.5


class _Mode(TorchFunctionMode):
    """Give results 64 bits that would have torch's default dtype."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.special.ndtr:
            func = _ndtr
        if func in _OF_SIZES and kwargs.get("dtype") is None:
            return func(*args, **{**kwargs, "dtype": torch.float64})
        found = func(*args, **kwargs)
        wider = _WIDER.get(getattr(found, "dtype", found))
        if wider is None or _is_narrow([*args, *kwargs.values()]):
            return found
        if func in _OF_VALUES:
            return func(*args, **{**kwargs, "dtype": wider})
        return wider if found in _WIDER else func(*map(_widened, args), **kwargs)


def _is_narrow(value: Any) -> bool:
    """Whether a float of 32 bits or less, or the dtype of one, is among arguments."""
    if isinstance(value, tuple | list):
        return any(map(_is_narrow, value))
    dtype = getattr(value, "dtype", value)
    if isinstance(dtype, torch.dtype):
        return dtype in _WIDER or (dtype.itemsize < 4 and dtype.is_floating_point)
    return hasattr(value, "dtype")


def _widened(value: Any) -> Any:
    """Return integers as floats, in lists too."""
    if isinstance(value, tuple | list):
        return type(value)(map(_widened, value))
    return value.to(torch.float64) if isinstance(value, torch.Tensor) else value


@functools.cache
def _ask_here() -> None:
    """Answer SciPy's question for the default dtype in this thread."""
    try:
        module: Any = importlib.import_module("scipy._lib._array_api")
        original = module.xp_default_dtype
    except (ImportError, AttributeError):
        return

    def xp_default_dtype(xp: Any) -> Any:
        return torch.float64 if _on.get() else original(xp)

    module.xp_default_dtype = xp_default_dtype


@contextlib.contextmanager
def wide_floats() -> Iterator[None]:
    """Make tensors without a dtype 64 bits wide in this thread."""
    _ask_here()
    token = _on.set(True)
    try:
        with _Mode():
            yield
    finally:
        _on.reset(token)
