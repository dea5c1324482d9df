"""Helpers of several modules: columns, tiles of rows, and the way back to scikit-learn's code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import call_stack, routes, state, validation

#: Reason why a call on a CPU is left to scikit-learn's own code.
AS_FAST = "scikit-learn's own code is as fast on a CPU"
#: Number of elements of an intermediate result of a tile of rows.
TILE = 1 << 23


class HostOnCpu:
    """Base of estimators whose code in scikit-learn is as fast on a CPU."""

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        return AS_FAST


def writes_into(self: Any, method: str, more: dict[str, Any]) -> str:
    """Say that a call is to write into the caller's X, if it is."""
    asked = more.get("copy", self.copy)
    return "`copy=False` writes into X" if asked is False and "transform" in method else ""


def checked(self: Any, X: Any, **params: Any) -> torch.Tensor:
    """Return data on the device after ``check_array``, which knows nothing of what was fitted."""
    from sklearn.utils import check_array

    if isinstance(X, torch.Tensor):
        found = check_array(X, **validation._for_tensors(params))
    else:
        with call_stack.dispatching(False):
            found = check_array(X, **params)
    return self._moved(found)  # type: ignore[no-any-return]


@contextlib.contextmanager
def on_host(self: Any, keeps: bool = False) -> Iterator[None]:
    """Have the attributes of an estimator read as NumPy's arrays until the block ends.

    Parameters
    ----------
    self : Accelerated
    keeps : bool, default False
        Whether scikit-learn's own methods run, which may write into them: then they stay arrays.
    """
    parent = call_stack.current()
    given = parent.given if parent is not None else state.state_of(self).given
    cpu = torch.device("cpu")
    frame = call_stack.Frame(self, False, cpu, given, own=not keeps, parent=parent)
    with call_stack.entered(frame):
        yield
    if parent is not None:
        parent.count.add(frame.count)


def by_scikit_learn(self: Any, name: str, *data: Any, **more: Any) -> Any:
    """Call scikit-learn's own method on host arrays: for its errors, and what is rare.

    A fit that has begun leaves no trace: attributes and random numbers are as they were before.
    """
    frame = call_stack.current()
    if frame is not None and frame.before is not None and "fit" in name:
        frame.before(name)
    arrays = [routes._array(part) for part in data]
    with on_host(self, keeps=True):
        return routes._sklearns(self, name)(self, *arrays, **more)


def kept(self: Any, name: str, device: torch.device, made: Callable[[Any], Any]) -> Any:
    """Return what is made of an attribute for a device, made once per value of it."""
    value = vars(self)[name]
    return state._copy(self, name, value, ("kept", device), made)


def tiled(function: Callable[[torch.Tensor], Any], X: torch.Tensor, width: int) -> torch.Tensor:
    """Return the rows of a function's results, computed for tiles of rows.

    Parameters
    ----------
    function : callable
    X : torch.Tensor
    width : int
        How many numbers are made of one row on the way.
    """
    rows = max(1, TILE // max(1, width))
    if len(X) <= rows:
        return function(X)  # type: ignore[no-any-return]
    return torch.cat([function(X[start : start + rows]) for start in range(0, len(X), rows)])


# -- Columns ------------------------------------------------------------------------------------


def sorted_columns(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the columns in order, NaN last, and how many numbers each has."""
    return torch.sort(X, dim=0).values, (~torch.isnan(X)).sum(dim=0)


def quantiles_of(ordered: torch.Tensor, count: torch.Tensor, levels: Any) -> torch.Tensor:
    """Return quantiles of sorted columns, as ``np.nanquantile`` computes them."""
    levels = torch.as_tensor(levels, dtype=torch.float64, device=ordered.device)
    last = (count - 1).clamp(min=0)
    place = levels[:, None] * last
    below = torch.floor(place)
    part = place - below
    low = torch.gather(ordered, 0, below.long())
    high = torch.gather(ordered, 0, torch.minimum(below.long() + 1, last))
    apart = high - low
    return torch.where(part >= 0.5, high - apart * (1 - part), low + apart * part)


def medians_of(ordered: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return the medians of sorted columns."""
    last = (count - 1).clamp(min=0)
    low = torch.gather(ordered, 0, (last // 2)[None])[0]
    high = torch.gather(ordered, 0, (last - last // 2)[None])[0]
    return (low + high) / 2


def numpy_dtype(dtype: torch.dtype) -> Any:
    """Return NumPy's dtype of torch's."""
    return np.dtype(str(dtype).rpartition(".")[2])
