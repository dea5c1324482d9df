"""Batches of functions: `npaccel.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npaccel._transforms import traced
from npaccel._transforms.transformed import transformed


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes another for all elements of a batch at once.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns arrays, also in containers: of one element.
    in_axes : int, None or container of such, default 0
        The axis of the batch in each positional argument; None for what all elements share. A
        container has the structure of the arguments, or of parts of them: ``(0, None)``.
    out_axes : int or container of int, default 0
        Where the axis of the batch is in the results.
    axis_size : int, optional
        The number of elements; needed where no argument has the axis.

    Returns
    -------
    callable
        Takes what `fun` takes, with one more axis. It's compiled at its first call.

    Raises
    ------
    ValueError
        By the returned function, if `in_axes` doesn't fit the arguments, or axes aren't as long
        as each other.
    NotCompiledError
        By the returned function, if part of `fun` can't be compiled or batched, with the line.

    Notes
    -----
    As ``jax.vmap``. Arguments by keyword have the axis first.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> def norm(x):
    ...     return np.sqrt(np.sum(x**2))
    >>> npaccel.vmap(norm)(np.array([[3.0, 4.0], [6.0, 8.0]]))
    array([ 5., 10.])
    """
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    return transformed("vmap", fun, traced.batched, (axes, out_axes, axis_size))
