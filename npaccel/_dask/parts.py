"""Estimators on Dask arrays: a task reduces each block of rows, and a tree combines the results."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import Array
from dask.base import compute, tokenize
from dask.delayed import delayed

from npaccel._dask import mapping
from npaccel._dask.block_function import BlockFunction
from npaccel._runtime.callables import is_jitted
from npaccel._sklearn.parts.engine import (
    Combine,
    Kernel,
    Parts,
    WholeArraysError,
    check_rows,
    sums,
)

#: Number of results that one task combines.
_FAN_IN = 16


class BlockParts(Parts):
    """Rows of Dask arrays, in blocks along the first axis.

    See `Parts`. Other axes are made one block.
    """

    route = "blocks"
    without = "the whole array is computed, in this process"

    def __init__(self, array: Any, others: Sequence[Any], who: str) -> None:
        if type(array._meta) is not np.ndarray:
            raise WholeArraysError(f"blocks are of {type(array._meta).__name__}")
        if array.dtype.kind not in "biuf":
            if array.ndim == 2:
                raise WholeArraysError(f"X has the dtype {array.dtype}")
        elif array.ndim == 2 and array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        self._X = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        self.who = who
        self.dtype = array.dtype
        self.shape = array.shape
        self._arrays = [self._blocks(self._X)]
        self._arrays += [self._aligned(one) for one in others]

    @staticmethod
    def _blocks(array: Array) -> list[Any]:
        return list(array.to_delayed().ravel())

    def _aligned(self, value: Any) -> Any:
        """Return the blocks of an array at the rows of those of X."""
        if value is None:
            return [None] * len(self._arrays[0])
        rows = self._X.chunks[0]
        is_known = not np.isnan(self.shape[0])
        if isinstance(value, Array):
            value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1))
            if is_known and not np.isnan(value.shape[0]):
                check_rows(self.shape[0], value.shape[0])
                value = value.rechunk({0: rows})
            elif value.numblocks[0] != len(rows):
                raise WholeArraysError("sizes of blocks aren't known, and their numbers differ")
            return self._blocks(value)
        lengths = rows if is_known else self.lengths()
        check_rows(sum(lengths), len(value))
        if isinstance(value, range):
            return self._blocks(da.arange(len(value), chunks=(tuple(map(int, lengths)),)))
        return np.split(np.asarray(value), np.cumsum(lengths)[:-1])

    # -- Kernels ----------------------------------------------------------------

    def _tasks(self, kernel: Kernel, constants: Sequence[Any], each: Sequence[Any]) -> list[Any]:
        """Return a task for each block, and None where it isn't wanted."""
        function = delayed(_Called(kernel), pure=False)
        shared = [delayed(one, pure=False, traverse=False) for one in constants]
        blocks = zip(*self._arrays, strict=True)
        return [
            None if own and own[0] is None else function(*arrays, *shared, *own)
            for arrays, own in zip(blocks, each, strict=True)
        ]

    def reduce(self, kernel: Kernel, combine: Combine, *constants: Any) -> Any:
        found = self._tasks(kernel, constants, [()] * len(self._arrays[0]))
        (result,) = compute(_tree(combine, found))
        return sums(result, [0.0] * len(result)) if combine is sums else result

    def collect(self, kernel: Kernel, *constants: Any, each: Sequence[Any] | None = None) -> Any:
        own = [()] * len(self._arrays[0]) if each is None else [(one,) for one in each]
        tasks = self._tasks(kernel, constants, own)
        wanted = iter(compute(*[task for task in tasks if task is not None]))
        return [None if task is None else next(wanted) for task in tasks]

    def lengths(self) -> np.ndarray[Any, Any]:
        if np.isnan(self.shape[0]):
            return super().lengths()
        return np.array(self._X.chunks[0], dtype=np.int64)

    def map(
        self, kernel: Kernel, *constants: Any, nan: bool = False, like: Sequence[Any] | None = None
    ) -> Any:
        function = _OfRows(_Called(kernel), constants, nan)
        if like is not None:
            tuples = delayed(function, pure=False)
            return self._arrays_of([tuples(block) for block in self._arrays[0]], like)
        with np.errstate(all="ignore"):
            tried = function.tried(np.ones((1, *self.shape[1:]), self.dtype))
        return da.map_blocks(
            function,
            self._X,
            dtype=tried.dtype,
            chunks=(self._X.chunks[0], *((size,) for size in tried.shape[1:])),
            drop_axis=[] if tried.ndim == self._X.ndim else [1],
            meta=np.empty((0,) * tried.ndim, tried.dtype),
        )

    def _arrays_of(self, tuples: Sequence[Any], like: Sequence[Any]) -> tuple[Any, ...]:
        """Return arrays of tasks that give a tuple of blocks for each block of rows."""
        item = delayed(operator.getitem, pure=False)
        arrays = []
        for i, one in enumerate(like):
            meta = np.empty((0,) * one.ndim, one.dtype)
            blocks = [
                da.from_delayed(item(found, i), shape=(rows, *one.shape[1:]), meta=meta)
                for found, rows in zip(tuples, self._X.chunks[0], strict=True)
            ]
            arrays.append(da.concatenate(blocks, allow_unknown_chunksizes=True))
        return tuple(arrays)

    def across(
        self,
        queries: Parts,
        kernel: Kernel,
        combine: Combine,
        finish: Callable[..., Any],
        like: Sequence[Any],
        *constants: Any,
    ) -> tuple[Any, ...]:
        assert isinstance(queries, BlockParts)
        ended = delayed(finish, pure=False)
        tuples = []
        for block, *others in zip(*queries._arrays, strict=True):
            found = self._tasks(kernel, (block, *constants), [()] * len(self._arrays[0]))
            tuples.append(ended(_tree(combine, found), *others, *constants))
        return queries._arrays_of(tuples, like)

    def of_first(self, function: Callable[[], Any]) -> Any:
        return function()

    def of_checkpoints(self) -> dict[str, Any]:
        return {"no_dist": True}

    # -- Whole arrays -------------------------------------------------------------

    @staticmethod
    def whole(value: Any) -> Any:
        return value.compute() if isinstance(value, Array) else value

    @staticmethod
    def spread(value: Any, like: Any) -> Any:
        if not isinstance(value, np.ndarray) or not value.ndim:
            return value
        rows = like.chunks[0]
        fits = not np.isnan(like.shape[0]) and len(value) == like.shape[0]
        return da.from_array(value, chunks=(rows if fits else -1, *(-1,) * (value.ndim - 1)))


def _tree(combine: Combine, found: list[Any]) -> Any:
    """Return a task that combines the results of others."""
    together = delayed(_folded, pure=False)
    while len(found) > 1:
        groups = [found[i : i + _FAN_IN] for i in range(0, len(found), _FAN_IN)]
        found = [together(combine, group) for group in groups]
    return found[0]


def _folded(combine: Combine, results: Sequence[Any]) -> Any:
    found = results[0]
    for one in results[1:]:
        found = combine(found, one)
    return found


class _Called:
    """Callable of a task: a kernel, compiled in the process of the task where it's one for that."""

    def __init__(self, kernel: Any) -> None:
        self._function: Any = kernel
        if is_jitted(kernel):
            self._function = mapping.called(mapping.of_blocks(kernel, "estimators"))

    def __dask_tokenize__(self) -> Any:
        return "npaccel", tokenize(self._function)

    @property
    def __name__(self) -> str:
        """Name that Dask's dashboard shows."""
        return self._function.__name__.strip("_")

    def plain(self, *args: Any) -> Any:
        """Call the function itself."""
        function = self._function
        return function.plain(*args) if isinstance(function, BlockFunction) else function(*args)

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return self._function(*args)


class _OfRows:
    """Callable of a task for rows that aren't reduced: it looks at their values first."""

    def __init__(self, called: _Called, constants: Sequence[Any], nan: bool) -> None:
        self._called, self._constants, self._nan = called, constants, nan

    def __dask_tokenize__(self) -> Any:
        return tokenize(self._called, self._constants, self._nan)

    @property
    def __name__(self) -> str:
        """Name that Dask's dashboard shows."""
        return self._called.__name__

    def tried(self, block: Any) -> Any:
        """Return what rows give, uncompiled."""
        return self._called.plain(block, *self._constants)

    def __call__(self, block: Any) -> Any:
        from sklearn.utils import assert_all_finite

        assert_all_finite(block, allow_nan=self._nan, input_name="X")
        return self._called(block, *self._constants)


__all__ = ["BlockParts"]
