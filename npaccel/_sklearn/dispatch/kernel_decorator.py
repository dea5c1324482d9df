"""Plain NumPy functions as kernels on tensors.

Small work on a CPU isn't worth compiling: there the function itself runs, with NumPy's arrays that
share the tensors' memory. Else `npaccel.jit` compiles it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._jit import jit
from npaccel._runtime import options
from npaccel._sklearn.kernels import fused_distances

#: Maximum number of elements that NumPy itself computes with on a CPU: compiling takes seconds.
SMALL = 1 << 19


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    static: tuple[str, ...] = (),
    fused: bool = False,
) -> Callable[..., Any]:
    """Make a kernel of a NumPy function: tensors go in, tensors come out.

    Parameters
    ----------
    function : callable
        Written in plain NumPy. What it creates needs an explicit dtype.
    static : tuple of str
        Parameters that are Python's values, not arrays; they may decide branches, and are given by
        keyword.
    fused : bool, default False
        Whether its loops are unrolled and nothing is stored between its steps: `fused_distances`.

    Returns
    -------
    callable
        Takes tensors, Python's numbers and None. Its attribute ``compiled`` is the same, compiled
        for small work too.
    """
    if function is None:
        return functools.partial(kernel, static=static, fused=fused)
    if fused:
        compiled: Any = fused_distances.fused(*static)(function)
    else:
        compiled = jit(function, default_float="float64", static_argnames=static)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        if not _in_numpy(tensors):
            return compiled(*args, **kwargs)
        arrays = [_array(value) for value in args]
        with np.errstate(all="ignore"):
            found = function(*arrays, **{name: _array(v) for name, v in kwargs.items()})
        return _tensors(found)

    # For those who call it often with small tiles of something large.
    vars(call)["compiled"] = compiled
    return call


def _in_numpy(tensors: list[torch.Tensor]) -> bool:
    """Whether the work is too small to compile something for it."""
    if options.current().disabled:
        return all(t.device.type == "cpu" for t in tensors)
    return all(t.device.type == "cpu" for t in tensors) and (
        sum(t.numel() for t in tensors) <= SMALL
    )


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value


def _tensors(found: Any) -> Any:
    """Return a kernel's results as tensors."""
    if isinstance(found, tuple):
        return tuple(map(_tensors, found))
    if isinstance(found, np.ndarray | np.generic):
        array = np.asarray(found)
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    return found
