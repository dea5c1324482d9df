"""Dask's functions that map a function over blocks, with types and shapes found by a trial run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import Array
from dask.array.gufunc import _parse_gufunc_signature
from dask.base import tokenize

from npaccel._dask.block_function import BlockFunction, options_of
from npaccel._dask.fusion import threads_of_a_task
from npaccel._jit import Jitted
from npaccel._runtime import options as runtime_options
from npaccel._runtime.callables import is_jitted

#: Parameters by which Dask tells a function where its block lies.
_PLACES = ("block_id", "block_info")


def of_blocks(function: Callable[..., Any], who: str) -> BlockFunction:
    """Return a function as a compiled one of blocks.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one.
    who : str
        Who asks, for errors.

    Raises
    ------
    ValueError
        If the function wants to know where its block lies.
    """
    jitted: Any = function if is_jitted(function) else Jitted(function, {})
    parameters = inspect.signature(jitted._npaccel_target).parameters
    places = [word for word in _PLACES if word in parameters]
    if places:
        raise ValueError(
            f"{who}: the function has a parameter {places[0]!r}, which would be another number in "
            f"each block and compile it again; pass an array with a block for each, or use "
            f"dask.array.{who}"
        )
    options = runtime_options.resolve(jitted._npaccel_explicit, runtime_options.current())
    name = getattr(function, "__name__", "function")
    made = BlockFunction("", ((name, jitted),), options_of(options), threads_of_a_task(), name)
    if is_jitted(function):
        made.report_to(jitted._npaccel_log)
    return made


def called(function: BlockFunction) -> Callable[..., Any]:
    """Return what Dask calls: the plain function where compilation is off."""
    plain: Callable[..., Any] = function.jitted.__wrapped__
    return plain if runtime_options.current().disabled else function


# -- Shapes -----------------------------------------------------------------------


#: Results of trials, by what was tried. Loops map one function again and again.
_trials: dict[Any, Any] = {}
_MAX_TRIALS = 256
#: Number of elements along an axis that shows which dtype a function gives.
_SMALL = 64


def trial(function: BlockFunction, *args: Any, **words: Any) -> Any:
    """Return arrays like those that NumPy gives for arrays of ones, which take no memory."""
    key = tokenize(function, [arg.key if isinstance(arg, _Block) else arg for arg in args], words)
    if key not in _trials:
        if len(_trials) >= _MAX_TRIALS:
            _trials.clear()
        blocks = [
            np.broadcast_to(np.ones((), arg.dtype), arg.shape) if isinstance(arg, _Block) else arg
            for arg in args
        ]
        with np.errstate(all="ignore"):
            result = function.plain(*blocks, **words)
        is_many = isinstance(result, tuple | list)
        _trials[key] = tuple(map(_like, result)) if is_many else _like(result)
    return _trials[key]


def _like(result: Any) -> Any:
    """Return an array of the same shape, dtype and class as a result, without its memory."""
    if isinstance(result, np.ndarray) and type(result) is not np.ndarray:
        return result
    array = np.asarray(result)
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


class _Block:
    """Shape and dtype of a block."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self.key = shape, dtype.str


def map_blocks(
    function: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    chunks: Any = None,
    drop_axis: Any = None,
    new_axis: Any = None,
    **words: Any,
) -> Any:
    """See `npaccel.dask.map_blocks`."""
    own = of_blocks(function, "map_blocks")
    arrays = [arg for arg in args if isinstance(arg, Array)]
    if not arrays:
        raise ValueError(
            "map_blocks: none of the arguments is a Dask array; call the function itself"
        )
    meta = None
    if not any(np.isnan(n) for array in arrays for sizes in array.chunks for n in sizes):
        found = _trial_of_chunks(own, args, words)
        meta = _without_elements(found[()])
        if chunks is None and drop_axis is None and new_axis is None:
            chunks = _chunks(arrays, found)
    given = {"chunks": chunks, "new_axis": new_axis, "drop_axis": drop_axis, "name": name}
    given = {word: value for word, value in given.items() if value is not None}
    if meta is not None:
        given |= {"meta": meta, "dtype": meta.dtype}
    return da.map_blocks(called(own), *args, **given, **words)


def _trial_of_chunks(
    function: BlockFunction, args: Sequence[Any], words: Mapping[str, Any]
) -> dict[Any, Any]:
    """Return results for the first block, by `()`, and for others, by axis and chunk size."""
    found: dict[Any, Any] = {(): trial(function, *_blocks(args, None, 0), **words)}
    ndim = max(arg.ndim for arg in args if isinstance(arg, Array))
    if np.ndim(found[()]) != ndim:
        return found
    for axis in range(ndim):
        seen: dict[Any, int] = {}
        for place in range(max(_count(arg, axis - ndim) for arg in args)):
            blocks = _blocks(args, axis - ndim, place)
            sizes = tuple(b.shape for b in blocks if isinstance(b, _Block))
            if sizes not in seen:
                result = trial(function, *blocks, **words)
                if np.ndim(result) != ndim:
                    raise ValueError(
                        f"map_blocks: {function.does} gives arrays of {ndim} dimensions for some "
                        f"blocks, and of {np.ndim(result)} for others; give all of them the same"
                    )
                seen[sizes] = np.shape(result)[axis]
            found[axis, place] = seen[sizes]
    return found


def _count(arg: Any, axis: int) -> int:
    return arg.numblocks[axis] if isinstance(arg, Array) and -axis <= arg.ndim else 1


def _blocks(args: Sequence[Any], axis: int | None, place: int) -> list[Any]:
    """Return the blocks at a place along an axis, the first ones along others."""
    return [_block(arg, axis, place) if isinstance(arg, Array) else arg for arg in args]


def _block(array: Any, axis: int | None, place: int) -> _Block:
    shape = [sizes[0] if sizes else 0 for sizes in array.chunks]
    if axis is not None and -axis <= array.ndim and array.numblocks[axis] > 1:
        shape[axis] = array.chunks[axis][place]
    return _Block(tuple(shape), array.dtype)


def _chunks(arrays: Sequence[Any], found: Mapping[Any, Any]) -> Any:
    ndim = max(array.ndim for array in arrays)
    first = found[()]
    if np.ndim(first) != ndim:
        raise ValueError(
            f"map_blocks: blocks have {ndim} dimensions and results {np.ndim(first)}; say which "
            "axes are gone or new: drop_axis=..., new_axis=... and chunks=..."
        )
    counts = [max(_count(array, axis - ndim) for array in arrays) for axis in range(ndim)]
    return tuple(
        tuple(found[axis, place] for place in range(count)) for axis, count in enumerate(counts)
    )


def map_overlap(
    function: Callable[..., Any], *args: Any, depth: Any, boundary: Any = None, **words: Any
) -> Any:
    """See `npaccel.dask.map_overlap`."""
    own_words = {k: words.pop(k) for k in ("trim", "align_arrays", "allow_rechunk") if k in words}
    own = of_blocks(function, "map_overlap")
    found = _tried_on_corners(own, args, words)
    types = {"dtype": found.dtype, "meta": _without_elements(found)}
    return da.map_overlap(
        called(own), *args, depth=depth, boundary=boundary, **types, **own_words, **words
    )


def _tried_on_corners(
    function: BlockFunction, args: Sequence[Any], words: Mapping[str, Any]
) -> Any:
    """Return a trial's result for a part of the first block: dtypes don't depend on sizes."""

    def tried(size: float) -> Any:
        blocks = (_corner(arg, size) if isinstance(arg, Array) else arg for arg in args)
        return trial(function, *blocks, **words)

    try:
        return tried(_SMALL)
    except (IndexError, ValueError):  # The function needs more; or else it raises again.
        return tried(np.inf)


def _corner(array: Any, size: float) -> _Block:
    """Return the first block, or a number of its elements; one where it isn't known how many."""
    shape = [1 if np.isnan(sizes[0]) else int(min(sizes[0], size)) for sizes in array.chunks]
    return _Block(tuple(shape), array.dtype)


def _without_elements(array: Any) -> Any:
    return np.asanyarray(array)[(slice(0, 0),) * np.ndim(array)]


def apply_gufunc(
    function: Callable[..., Any],
    signature: str,
    *args: Any,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    allow_rechunk: bool = False,
    **words: Any,
) -> Any:
    """See `npaccel.dask.apply_gufunc`."""
    own = of_blocks(function, "apply_gufunc")
    inputs, outputs = _parse_gufunc_signature(signature)
    arrays = [da.asarray(arg) for arg in args]
    dtypes, sizes = _gufuncs_types(own, inputs, outputs, arrays, axes, axis, words)
    return da.apply_gufunc(
        called(own),
        signature,
        *args,
        axes=axes,
        axis=axis,
        keepdims=keepdims,
        allow_rechunk=allow_rechunk,
        output_dtypes=dtypes,
        output_sizes=sizes,
        **words,
    )


def _gufuncs_types(
    function: BlockFunction,
    inputs: Any,
    outputs: Any,
    arrays: Sequence[Any],
    axes: Any,
    axis: Any,
    words: Mapping[str, Any],
) -> tuple[Any, dict[str, int]]:
    """Return dtypes of results and sizes of their core dimensions, by a trial run."""
    sizes: dict[str, int] = {}
    for place, (core, array) in enumerate(zip(inputs, arrays, strict=True)):
        where = _core_axes(core, place, axes, axis)
        sizes |= {name: array.shape[i] for name, i in zip(core, where, strict=True)}
    unknown = [name for name, size in sizes.items() if np.isnan(size)]
    if unknown:
        raise ValueError(
            f"apply_gufunc: the size of the dimension {unknown[0]!r} isn't known; call "
            "compute_chunk_sizes() on the array first"
        )
    blocks = [
        _Block(tuple(int(sizes[name]) for name in core), array.dtype)
        for core, array in zip(inputs, arrays, strict=True)
    ]
    results = trial(function, *blocks, **words)
    many = isinstance(outputs, list)
    results = results if many else (results,)
    for core, result in zip(outputs if many else [outputs], results, strict=True):
        for name, size in zip(reversed(core), reversed(np.shape(result)), strict=False):
            sizes.setdefault(name, size)
    dtypes = [np.asanyarray(result).dtype for result in results]
    new = {name: size for name, size in sizes.items() if not any(name in core for core in inputs)}
    return (dtypes if many else dtypes[0]), new


def _core_axes(core: Sequence[str], place: int, axes: Any, axis: Any) -> list[int]:
    if axes is not None:
        found = axes[place]
        return [found] if isinstance(found, int) else list(found)
    if axis is not None and core:
        return [axis]
    return list(range(-len(core), 0))


__all__ = ["apply_gufunc", "called", "map_blocks", "map_overlap", "of_blocks"]
