"""Marks at which a transformed function begins and ends in a trace, such as `npaccel.grad`'s.

What is traced between the two is a region, see `npaccel._torch.transforms.regions`. Where Python
runs them, the function gets its arguments, or the first elements of a batch, and raises its own
errors; there is no transform that NumPy could compute.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from npaccel.errors import NotCompiledError


class UntracedError(NotCompiledError):
    """A transform runs in Python, which has nothing to compute it with."""


def enter(kind: str, settings: tuple[Any, ...], leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """Begin a region: return its own copies of arrays and numbers.

    Parameters
    ----------
    kind : {"grad", "value", "vjp", "jvp", "jacrev", "jacfwd", "vmap"}
    settings : tuple
        For "vmap" the axis of each leaf, or None; for others the number of leaves, the first
        ones, with respect to which there are derivatives.
    leaves : tuple
        Arrays and floats.
    """
    axes = settings if kind == "vmap" else (None,) * len(leaves)
    return tuple(_entered(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True))


def leave(
    kind: str,
    settings: tuple[Any, ...],
    entered: tuple[Any, ...],
    outputs: tuple[Any, ...],
    extra: tuple[Any, ...],
) -> tuple[Any, ...]:
    """End a region; while tracing, return what its transform makes of the outputs.

    Parameters
    ----------
    kind : str
        As of `enter`.
    settings : tuple
        For "vmap" the axis of each output; for others as of `enter`, the number of outputs, the
        first ones, that are differentiated, and `checkpoint` where the transform goes back.
    entered : tuple
        What `enter` returned.
    outputs : tuple of array
        All of them come first in what is returned, and derivatives behind.
    extra : tuple
        Cotangents of "vjp", tangents of "jvp", the number of elements of "vmap".

    Raises
    ------
    UntracedError
    """
    del settings, entered, outputs, extra  # For what is traced.
    raise UntracedError(
        f"{kind}: derivatives and batches are computed by compiled code alone; call what "
        "`npaccel` returned, not the function in its `__wrapped__`"
    )


def _entered(leaf: Any, axis: int | None) -> Any:
    if isinstance(leaf, torch.Tensor):
        leaf = leaf.detach()
        return leaf.clone() if axis is None else _first(leaf, axis, torch.zeros)
    if axis is None:
        return np.float64(leaf) if isinstance(leaf, float) else copy.copy(leaf)
    return _first(leaf, axis, np.zeros)


def _first(array: Any, axis: int, zeros: Any) -> Any:
    """Return the first element of a batch, zeros of an empty one."""
    shape = list(array.shape)
    if not shape.pop(axis):
        return zeros(shape, dtype=array.dtype)
    key = (slice(None),) * (axis % array.ndim) + (0,)
    return copy.copy(array[key]) if isinstance(array, np.ndarray) else array[key].clone()


MARKS = (enter, leave)
