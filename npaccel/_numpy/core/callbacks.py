"""Functions that call a function of the user on parts of an array.

These are written with NumPy calls: a trace goes through them, and through the
function that they call, as through the user's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npaccel._numpy.core.table import implements

#: Maximum number of slices of `apply_along_axis` that are traced one by one.
_MANY = 64
#: NumPy's functions that do with an axis what they do with a vector.
_WITH_AXIS = (
    *(np.sum, np.prod, np.min, np.max, np.mean, np.std, np.var, np.median, np.any, np.all),
    *(np.argmin, np.argmax, np.ptp, np.count_nonzero, np.cumsum, np.cumprod, np.sort, np.argsort),
    *(np.nansum, np.nanmean, np.nanmin, np.nanmax, np.linalg.norm),
)


@implements(np.piecewise, inlined=True, note="functions are also called where nothing is chosen")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """`numpy.piecewise`: each function is traced on the elements that its condition chooses."""
    array = np.asarray(x)
    one = isinstance(condlist, bool) or (
        not isinstance(condlist[0], (list, tuple, np.ndarray)) and array.ndim != 0
    )
    chosen = [np.asarray(c, dtype=bool) for c in ([condlist] if one else condlist)]
    if len(chosen) == len(funclist) - 1:
        rest = ~chosen[0]
        for condition in chosen[1:]:
            rest = rest & ~condition
        chosen.append(rest)
    elif len(chosen) != len(funclist):
        raise ValueError("with the conditions, as many functions or one more are expected")
    found = np.zeros_like(array)
    for condition, function in zip(chosen, funclist, strict=True):
        if callable(function):
            found[condition] = function(array[condition], *args, **kw)
        else:
            found[condition] = function
    return found


@implements(np.mask_indices, inlined=True, data_dependent=True)
def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Any:
    """`numpy.mask_indices`: the function is traced on an array of ones."""
    return np.nonzero(mask_func(np.ones((n, n), int), k) != 0)


@implements(np.apply_along_axis, inlined=True, note=f"of functions that aren't NumPy's, up to "
            f"{_MANY} slices are traced one by one; more are refused")  # fmt: skip
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`numpy.apply_along_axis`: the function is traced on every slice.

    Raises
    ------
    ValueError
        If there are no slices.
    """
    array = np.asarray(arr)
    place = axis + array.ndim if axis < 0 else axis
    if not 0 <= place < array.ndim:
        raise np.exceptions.AxisError(axis, array.ndim)
    if any(size == 0 for i, size in enumerate(array.shape) if i != place):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    if not args and not kwargs and any(func1d is known for known in _WITH_AXIS):
        whole = np.asarray(func1d(array, axis=place))
        if whole.ndim < array.ndim:
            return np.asarray(whole, order="C")
        return np.moveaxis(np.asarray(np.moveaxis(whole, place, -1), order="C"), -1, place)
    last = np.moveaxis(array, place, -1)
    rows = last.reshape((-1, last.shape[-1]))
    if rows.shape[0] > _MANY:
        raise NotImplementedError(f"there are more than {_MANY} slices")
    found = [np.asarray(func1d(row, *args, **kwargs)) for row in rows]
    kind, shape = found[0].dtype, found[0].shape
    stacked = np.stack([part.astype(kind) for part in found])
    stacked = stacked.reshape(last.shape[:-1] + shape)
    outer, inner = last.ndim - 1, len(shape)
    order = [
        *range(place),
        *range(outer, outer + inner),
        *range(place, outer),
    ]
    return stacked.transpose(order)
