"""Arrays whose rows are in parts, and how kernels' results for them become one."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from npaccel._jit import jit
from npaccel._runtime import foreign_arrays

#: Kernel of a part: takes X, the other arrays and constants, and returns a tuple.
Kernel = Callable[..., Any]
#: Return the result for two parts that follow on each other, given those of each.
Combine = Callable[[Any, Any], Any]


class WholeArraysError(Exception):
    """A call has to be computed on whole arrays; the text says why."""


def kernel(function: Callable[..., Any]) -> Any:
    """Make a kernel of a NumPy function, compiled where that pays.

    Kernels that aren't decorated are called as they are. All of them take parts without rows.
    """
    return jit(function, default_float="float64")


def sums(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Combine results by adding them up, in 64 bits."""
    return tuple(np.add(a, b, dtype=np.float64) for a, b in zip(one, other, strict=True))


class Parts(abc.ABC):
    """Rows of X, with a target and weights, in parts.

    Parameters
    ----------
    array : distributed array
        X, with 2 dimensions, or 1.
    others : sequence
        Arrays with as many rows, distributed or not, ranges, or None.
    who : str
        The method, for errors.

    Raises
    ------
    WholeArraysError
        For arrays that aren't computed with by parts.
    """

    #: Name in the report.
    route: ClassVar[str]
    #: Outcome of calls that aren't computed by parts.
    without: ClassVar[str]
    who: str
    #: Shape of X; the number of rows is NaN where it isn't known.
    shape: tuple[Any, ...]
    dtype: np.dtype[Any]

    @abc.abstractmethod
    def __init__(self, array: Any, others: Sequence[Any], who: str) -> None: ...

    @abc.abstractmethod
    def reduce(self, kernel: Kernel, combine: Combine, *constants: Any) -> Any:
        """Return the combined results of a kernel for all parts.

        Parameters
        ----------
        kernel : callable
            Takes a part of each array, and the constants.
        combine : callable
        *constants : object
        """

    @abc.abstractmethod
    def collect(self, kernel: Kernel, *constants: Any, each: Sequence[Any] | None = None) -> Any:
        """Return the results of a kernel for each part, in the order of rows.

        Parameters
        ----------
        kernel : callable
        *constants : object
        each : sequence, optional
            One more argument for each part. Where it's None, so is the result, and nothing is read.
        """

    @abc.abstractmethod
    def map(
        self, kernel: Kernel, *constants: Any, nan: bool = False, like: Sequence[Any] | None = None
    ) -> Any:
        """Return distributed arrays of what a kernel gives for the rows of X.

        Parameters
        ----------
        kernel : callable
            Takes a part of X, and the constants.
        *constants : object
        nan : bool, default False
            Whether X may have missing values. Where it has others, computing it is an error.
        like : sequence of ndarray, optional
            Where the kernel gives a tuple: arrays of one row with its dtypes and sizes.
        """

    @abc.abstractmethod
    def across(
        self,
        queries: Parts,
        kernel: Kernel,
        combine: Combine,
        finish: Callable[..., Any],
        like: Sequence[Any],
        *constants: Any,
    ) -> tuple[Any, ...]:
        """Return distributed arrays, of which each part is a reduction of all parts of these rows.

        Parameters
        ----------
        queries : Parts
        kernel : callable
            Takes a part of each array, one of the queries, and the constants.
        combine : callable
        finish : callable
            Takes the combined result, parts of the queries' other arrays, and the constants;
            returns a tuple of arrays with the rows of the queries.
        like : sequence of ndarray
            Arrays of one row with their dtypes and sizes.
        *constants : object
        """

    @abc.abstractmethod
    def of_first(self, function: Callable[[], Any]) -> Any:
        """Return what a function gives in the first of the processes that compute."""

    @abc.abstractmethod
    def of_checkpoints(self) -> dict[str, Any]:
        """Return parameters of `torch.distributed.checkpoint.save` and `load`."""

    @staticmethod
    @abc.abstractmethod
    def whole(value: Any) -> Any:
        """Return a distributed array as one of this process."""

    @staticmethod
    @abc.abstractmethod
    def spread(value: Any, like: Any) -> Any:
        """Return an array of this process, the same in all of them, as a distributed one."""

    # -- Rows ------------------------------------------------------------------

    def lengths(self) -> np.ndarray[Any, Any]:
        """Return the number of rows of each part."""
        found = getattr(self, "_lengths", None)
        if found is None:
            found = self._lengths = np.array(self.collect(_length), dtype=np.int64)
        return found  # type: ignore[no-any-return]

    def rows(self, indices: Any) -> np.ndarray[Any, Any]:
        """Return rows of X by their numbers."""
        indices = np.asarray(indices, dtype=np.int64)
        stops = np.cumsum(self.lengths())
        owner = np.searchsorted(stops, indices, side="right")
        starts = stops - self.lengths()
        local = indices - starts[owner]
        each = [
            local[owner == part] if (owner == part).any() else None for part in range(len(stops))
        ]
        found = np.empty((len(indices), *self.shape[1:]), self.dtype)
        for part, rows in enumerate(self.collect(_taken, each=each)):
            if rows is not None:
                found[owner == part] = rows
        return found


def _length(X: Any, *others: Any) -> int:
    return len(X)


def _taken(X: Any, *others: Any) -> Any:
    return X[others[-1]]


def check_rows(one: int, other: int) -> None:
    """Refuse arrays with other numbers of rows, as scikit-learn does."""
    if one != other:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[int(one), int(other)]}"
        )


def engine_of(value: Any) -> type[Parts] | None:
    """Return what computes with an array by parts; None for one of this process."""
    return foreign_arrays.parts_of(value)


__all__ = [
    "Combine",
    "Kernel",
    "Parts",
    "WholeArraysError",
    "check_rows",
    "engine_of",
    "kernel",
    "sums",
]
