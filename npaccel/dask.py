"""Compiled functions on Dask arrays: a graph pass, and functions mapped over blocks.

A function that `npaccel.jit` made takes Dask arrays as it is. This module is for graphs that other
code builds, and for functions of whole blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npaccel._runtime import options as runtime_options

try:
    from npaccel._dask import graphs, mapping
except ModuleNotFoundError as error:
    if not str(error.name).startswith("dask"):
        raise
    raise ModuleNotFoundError(
        f"npaccel.dask: {error.name!r} isn't installed; run pip install 'npaccel[dask]'",
        name=error.name,
    ) from error

__all__ = ["apply_gufunc", "graph_pass", "map_blocks", "map_overlap", "optimize"]


def optimize(*collections: Any, **options: Any) -> tuple[Any, ...]:
    """Compile what NumPy's functions do to the blocks of Dask arrays.

    Parameters
    ----------
    *collections : object
        Dask arrays, xarray's objects that hold some, or containers of them.
    **options
        Of `npaccel.jit`.

    Returns
    -------
    tuple
        The same collections, with the same blocks. Each task's chain of NumPy's functions is one
        compiled function; what it can't be made of is called as before.

    Notes
    -----
    Dtypes are NumPy's: no floats are narrowed, whatever `default_float` says.

    Examples
    --------
    >>> import dask.array as da, npaccel.dask
    >>> x = da.arange(6.0, chunks=3)
    >>> y, = npaccel.dask.optimize((2.0 * x + 1.0).sum())
    >>> float(y.compute())
    36.0
    """
    return graphs.optimized(collections, runtime_options.checked(options))


def graph_pass(**options: Any) -> Callable[..., Any]:
    """Return what compiles graphs of arrays when they are computed, for Dask's configuration.

    Parameters
    ----------
    **options
        Of `npaccel.jit`.

    Returns
    -------
    callable
        A value of Dask's setting ``array_optimize``.

    Examples
    --------
    >>> import dask, dask.array as da, npaccel.dask
    >>> with dask.config.set(array_optimize=npaccel.dask.graph_pass()):
    ...     float(da.arange(6.0, chunks=3).sum().compute())
    15.0
    """
    return graphs.GraphPass(runtime_options.checked(options))


def map_blocks(
    function: Callable[..., Any],
    /,
    *args: Any,
    name: str | None = None,
    chunks: Any = None,
    drop_axis: Any = None,
    new_axis: Any = None,
    **kwargs: Any,
) -> Any:
    """Map a compiled function over the blocks of Dask arrays.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one.
    *args : object
        Its arguments: Dask arrays, whose blocks it's given, and others.
    name : str, optional
        Of the result's tasks.
    chunks : tuple, optional
        The result's chunks. None: as a trial of the function shows.
    drop_axis, new_axis : int or sequence of int, optional
        Axes of the blocks that its results lack, and that only they have.
    **kwargs
        Further arguments.

    Returns
    -------
    dask.array.Array
        Its dtype and chunks come from calls of the function in NumPy, with arrays of ones of the
        blocks' shapes.

    Raises
    ------
    ValueError
        If there is no Dask array, if results have another number of dimensions and no axis is
        named, or if the function asks where its block lies.

    Examples
    --------
    >>> import numpy as np, dask.array as da, npaccel.dask
    >>> x = da.arange(6.0, chunks=3)
    >>> npaccel.dask.map_blocks(lambda block: block[1:] - block[:-1], x).chunks
    ((2, 2),)
    """
    return mapping.map_blocks(
        function,
        *args,
        name=name,
        chunks=chunks,
        drop_axis=drop_axis,
        new_axis=new_axis,
        **kwargs,
    )


def map_overlap(
    function: Callable[..., Any], /, *args: Any, depth: Any, boundary: Any = None, **kwargs: Any
) -> Any:
    """Map a compiled function over blocks that share their edges.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one. Its results have the shapes of the blocks.
    *args : object
        Its arguments: Dask arrays, and others.
    depth : int, tuple or dict
        Number of elements that each block is given of its neighbours.
    boundary : str, optional
        What is beyond the array, as `dask.array.map_overlap` has it.
    **kwargs
        Further arguments, and ``trim``, ``align_arrays`` and ``allow_rechunk``, which are Dask's.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, npaccel.dask
    >>> x = da.arange(6.0, chunks=3)
    >>> def smooth(x):
    ...     y = x.copy()
    ...     y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    ...     return y
    >>> npaccel.dask.map_overlap(smooth, x, depth=1, boundary="nearest").compute().shape
    (6,)
    """
    return mapping.map_overlap(function, *args, depth=depth, boundary=boundary, **kwargs)


def apply_gufunc(
    function: Callable[..., Any],
    signature: str,
    /,
    *args: Any,
    axes: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
    allow_rechunk: bool = False,
    **kwargs: Any,
) -> Any:
    """Apply a compiled function to core dimensions of Dask arrays, for each block of the others.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one. It's given arrays whose last dimensions are
        the core dimensions.
    signature : str
        As in ``"(i,j),(j)->(i)"``.
    *args : array_like
    axes, axis, keepdims, allow_rechunk
        As of `dask.array.apply_gufunc`.
    **kwargs
        Further arguments.

    Returns
    -------
    dask.array.Array or tuple of them
        Dtypes, and sizes of core dimensions that are new, come from a call in NumPy with arrays of
        ones that have core dimensions alone.

    Raises
    ------
    ValueError
        If the size of a core dimension isn't known.

    Examples
    --------
    >>> import numpy as np, dask.array as da, npaccel.dask
    >>> x = da.ones((4, 3), chunks=(2, 3))
    >>> def spread(x):
    ...     return x.max(axis=-1) - x.min(axis=-1)
    >>> npaccel.dask.apply_gufunc(spread, "(i)->()", x).compute()
    array([0., 0., 0., 0.])
    """
    return mapping.apply_gufunc(
        function,
        signature,
        *args,
        axes=axes,
        axis=axis,
        keepdims=keepdims,
        allow_rechunk=allow_rechunk,
        **kwargs,
    )
