"""SciPy's own functions of single elements, on every core.

SciPy computes `scipy.special`'s functions and distributions' methods on one core, and lets go of
Python's lock in their loops: each core gets some of the elements. SciPy has no variables left there
that threads share since 1.15, which is the first that it tests without the lock.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from npaccel._process import thread_pool
from npaccel._scipy.dispatch.listing import scipy_since
from npaccel._scipy.dispatch.table import Row

#: Minimum number of elements of a part: in a loop of C, and in one of SciPy's methods in Python.
_UFUNC_PART, _METHOD_PART = 1 << 12, 1 << 15
#: Number of parts for each core: some elements take longer.
_PARTS = 4


class _Division(NamedTuple):
    """Arguments whose first axis is divided, the shape of the result, and the slices."""

    values: list[Any]
    shape: tuple[int, ...]
    slices: list[slice]

    def part(self, rows: slice) -> list[Any]:
        """Return the arguments of a part."""
        return [v[rows] if _is_array(v) and len(v) != 1 else v for v in self.values]

    def empty(self) -> tuple[int, ...]:
        """Return the shape in which a result is put together."""
        axes = max(v.ndim for v in self.values if _is_array(v))
        return self.shape if axes == len(self.shape) else (self.slices[-1].stop,)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _divided(values: list[Any], least: int, most: int) -> _Division | None:
    """Divide the elements into parts of `least` elements or more, `most` parts at the most.

    None where there are too few, or the result wouldn't have the order in memory that SciPy's has.
    """
    arrays = [v for v in values if _is_array(v)]
    if not arrays or not all(a.flags.c_contiguous for a in arrays):
        return None
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        return None  # the function says so
    count = min(math.prod(shape) // least, most)
    if count < 2:
        return None
    if all(a.shape == shape for a in arrays):
        values = [v.reshape(-1) if _is_array(v) else v for v in values]
        length = math.prod(shape)
    else:
        length = shape[0]
        if length < count:
            return None
        axes = len(shape)
        values = [
            v.reshape(*[1] * (axes - v.ndim), *v.shape) if _is_array(v) else v for v in values
        ]
    edges = [length * n // count for n in range(count + 1)]
    slices = [slice(*pair) for pair in itertools.pairwise(edges)]
    return _Division(values, shape, slices)


def is_by_element(row: Row) -> bool:
    """Whether SciPy's function of a row can be given its elements in parts."""
    is_ufunc = isinstance(row.scipy, np.ufunc) and row.scipy.signature is None
    return row.by_element or is_ufunc


def in_scipy(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a function of SciPy that is by element with NumPy's arrays, on every core.

    Returns
    -------
    object
        What the function returns, to the last bit.
    """
    of_ufunc = isinstance(function, np.ufunc)
    threads = torch.get_num_threads()
    values = [*args, *kwargs.values()]
    divisible = threads > 1 and scipy_since(1, 15) and all(map(_is_numeric, values))
    division = None
    if divisible and not (of_ufunc and kwargs):
        least = _UFUNC_PART if of_ufunc else _METHOD_PART
        division = _divided(values, least, _PARTS * threads)
    if division is None:
        return function(*args, **kwargs)
    if isinstance(function, np.ufunc):
        return _of_ufunc(function, division)

    def work(rows: slice) -> Any:
        part = division.part(rows)
        rest = part[len(args) :]
        return function(*part[: len(args)], **dict(zip(kwargs, rest, strict=True)))

    return np.concatenate(_in_threads(work, division.slices)).reshape(division.shape)


def _is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc"
    return type(value) in (int, float, complex)


def _of_ufunc(ufunc: np.ufunc, division: _Division) -> Any:
    weak = (int, float, complex)
    kinds = [type(v) if type(v) in weak else v.dtype for v in division.values]
    dtypes = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))[ufunc.nin :]
    wholes = [np.empty(division.empty(), dtype) for dtype in dtypes]
    _in_threads(
        lambda rows: ufunc(*division.part(rows), out=tuple(whole[rows] for whole in wholes)),
        division.slices,
    )
    shaped = tuple(whole.reshape(division.shape) for whole in wholes)
    return shaped if ufunc.nout > 1 else shaped[0]


def _in_threads(work: Callable[[slice], Any], slices: list[slice]) -> list[Any]:
    """Work on slices in threads, with this thread's handling of errors."""
    from scipy import special

    how, by_special = np.geterr(), special.geterr()
    told: Any = np.geterrcall()

    def with_errors(rows: slice) -> Any:
        with np.errstate(call=told, **how), special.errstate(**by_special):
            return work(rows)

    return thread_pool.in_threads(with_errors, slices)
