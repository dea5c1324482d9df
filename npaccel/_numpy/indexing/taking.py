"""Functions that take elements by index, mask or condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, deliver, needs_array, probe, written_back
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import (
    BOOL,
    INT64,
    as_tensor,
    cast,
    is_scalar,
    result_dtype,
    to_numpy,
)
from npaccel._numpy.core.layouts import lying_as_numpys
from npaccel._numpy.core.table import implements
from npaccel._numpy.creation.grids import split_index
from npaccel._numpy.host import kernels as host
from npaccel._numpy.indexing.index_keys import bounded
from npaccel._numpy.indexing.indexing import getitem, selected, value_for
from npaccel._numpy.manipulation.manipulation import along
from npaccel._numpy.ufuncs.dispatch import broadcast_shape, concrete, is_symbolic
from npaccel._numpy.ufuncs.integers import as_bits, as_signed, either
from npaccel._runtime.torch.symbolic_sizes import assume, depends_on_data, surely

_AT_RUN_TIME = "an index out of bounds in an array raises when the compiled code runs"


def _asked(indices: Any) -> None:
    np.take(np.zeros(1), indices, mode="clip")


def integer_indices(x: Any, ask: Callable[[Any], None] = _asked) -> torch.Tensor:
    """Return index arrays as int64.

    Parameters
    ----------
    x : tensor, nested list or Python int
        The indices.
    ask : callable
        Calls NumPy with indices of this dtype, to let it raise.

    Raises
    ------
    TypeError
        If NumPy wouldn't take this dtype for an index here.
    """
    found = as_tensor(x)
    # NumPy is asked: its rule has changed between versions.
    probe = np.zeros(1, to_numpy(found.dtype)) if isinstance(x, torch.Tensor) else concrete(x)
    if not _has_tensors(probe):
        ask(probe)
    return cast(found, INT64)


def _has_tensors(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(_has_tensors(item) for item in x)
    return isinstance(x, torch.Tensor) or is_symbolic(x)


@implements(np.take, zero_d="scalar", mutates=(3,), note=_AT_RUN_TIME)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> torch.Tensor:
    """`numpy.take`."""
    x, where = along(as_tensor(a), axis)
    index = integer_indices(indices)
    if any(surely(size == 0) for size in x.shape[:where]):  # NumPy looks at no index then.
        bounded(index, 1, mode)
        shape = (*x.shape[:where], *index.shape, *x.shape[where + 1 :])
        return written_back(x.new_empty(shape), out)
    index = bounded(index, x.shape[where], mode)
    # A Python int is kept as it is: its bounds are checked now.
    static = mode == "raise" and isinstance(indices, int) and not isinstance(indices, bool)
    found = getitem(x, (*(slice(None),) * where, indices if static else index))
    return written_back(_in_c_order(found.clone() if static else found), out)


def _in_c_order(found: torch.Tensor) -> torch.Tensor:
    """Return items as they lie in NumPy's, which takes them from a copy in C order."""
    return found if any(map(depends_on_data, found.shape)) else found.contiguous()


def along_axis_key(x: torch.Tensor, indices: torch.Tensor, axis: int) -> tuple[torch.Tensor, ...]:
    """Return the key that takes elements along an axis, beside where they stand."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == torch.bool:
        raise IndexError("`indices` must be an integer array")
    if x.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    key = []
    for i, size in enumerate(x.shape):
        line = torch.arange(size, device=x.device)
        key.append(indices if i == axis else line.reshape((-1,) + (1,) * (x.ndim - 1 - i)))
    return tuple(key)


@implements(np.take_along_axis, note=_AT_RUN_TIME)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> torch.Tensor:
    """`numpy.take_along_axis`."""
    x, index = needs_array(arr), as_tensor(indices)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    key = along_axis_key(x, index, axis)
    if settings().is_sharded and _has_shape_besides(index, x, axis):  # Rows stay where they are.
        places = torch.where(index < 0, index + x.shape[axis], index).to(torch.int64)
        return as_bits(torch.gather(as_signed(x), axis, places), x.dtype)
    return getitem(x, key)


def _has_shape_besides(one: torch.Tensor, other: torch.Tensor, axis: int) -> bool:
    """Whether two tensors have the same shape but for an axis."""
    shapes = [[*x.shape[:axis], *x.shape[axis + 1 :]] for x in (one, other)]
    return one.ndim == other.ndim and shapes[0] == shapes[1]


@implements(np.choose, zero_d="scalar", mutates=(2,), note=_AT_RUN_TIME)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> torch.Tensor:
    """`numpy.choose`."""
    items = list(choices.unbind(0)) if isinstance(choices, torch.Tensor) else list(choices)
    kind = result_dtype(*(x if is_scalar(x) else as_tensor(x) for x in items))
    index = as_tensor(a)
    if index.is_floating_point() or index.is_complex():
        np.choose(np.zeros(1, to_numpy(index.dtype)), [0])
    tensors = [as_tensor(x, kind) for x in items]
    shape = broadcast_shape([x.shape for x in (index, *tensors)])
    rows = torch.stack([x.expand(shape) for x in tensors])
    place = bounded(cast(index, INT64), len(items), mode).expand(shape).unsqueeze(0)
    place = torch.where(place < 0, place - len(items), place)  # NumPy refuses negative ones
    found = as_bits(torch.gather(as_signed(rows), 0, place).squeeze(0), rows.dtype)
    return found if out is None else deliver(cast(found, to_numpy(out.dtype)), out)


@implements(np.where, data_dependent=True, elementwise=True)
def where(condition: Any, /, *choices: Any) -> Any:
    """`numpy.where`: a choice between two arrays, or the positions of nonzero elements."""
    if not choices:
        return nonzero(condition)
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    kind = result_dtype(*(part if is_scalar(part) else as_tensor(part) for part in choices))
    # From 2.5 on NumPy raises for Python numbers that don't fit, before they wrap around.
    np.where(np.ones(1, bool), *(_asked_with(part) for part in choices))
    chosen = cast(as_tensor(condition), BOOL)
    first, second = (_branch(_wrapped(part, kind), kind, chosen) for part in choices)
    broadcast_shape([chosen.shape, first.shape, second.shape])
    seen = [part for part in (condition, *choices) if isinstance(part, torch.Tensor)]
    return lying_as_numpys(either(chosen, first, second), seen or [chosen, first, second])


def _branch(x: Any, kind: Any, like: torch.Tensor) -> torch.Tensor:
    return value_for(x, kind, like.device) if is_scalar(x) else as_tensor(x, kind)


@implements(np.nonzero, data_dependent=True)
def nonzero(a: Any) -> tuple[torch.Tensor, ...]:
    """`numpy.nonzero`: positions, one array per axis."""
    x = as_tensor(a)
    if not x.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead."
        )
    if x.ndim == 1 and host.worth(x):
        return (host.flatnonzero(x),)
    # Columns of one array, as NumPy's are; torch has rows there.
    return tuple(torch.nonzero(as_signed(x)).contiguous().unbind(1))


@implements(np.flatnonzero, data_dependent=True)
def flatnonzero(a: Any) -> torch.Tensor:
    """`numpy.flatnonzero`."""
    x = as_tensor(a).reshape(-1)
    return host.flatnonzero(x) if host.worth(x) else nonzero(x)[0]


@implements(np.argwhere, data_dependent=True)
def argwhere(a: Any) -> torch.Tensor:
    """`numpy.argwhere`."""
    return torch.nonzero(as_signed(as_tensor(a)))


@implements(np.compress, data_dependent=True, mutates=(3,))
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> torch.Tensor:
    """`numpy.compress`."""
    x, where = along(as_tensor(a), axis)
    mask = as_tensor(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if isinstance(condition, torch.Tensor) and host.worth(x, mask):
        return written_back(host.chosen(x, mask, where), out)
    if isinstance(condition, Sequence):
        # A list of Python bools: the number of elements is known.
        kept = np.flatnonzero(np.asarray(condition)).tolist()
        places = torch.tensor(kept, dtype=torch.int64, device=x.device)
    else:
        places = nonzero(mask)[0]
    places = bounded(places, x.shape[where], "raise")
    if out is not None and out.ndim > where and depends_on_data(places.shape[0]):
        assume(places.shape[0] == out.shape[where], "`out` has another shape than the result")
    return written_back(_in_c_order(getitem(x, (*(slice(None),) * where, places))), out)


@implements(np.extract, data_dependent=True)
def extract(condition: Any, arr: Any) -> torch.Tensor:
    """`numpy.extract`."""
    x, mask = as_tensor(arr).reshape(-1), as_tensor(condition).reshape(-1)
    if host.worth(x, mask):
        return host.chosen(x, mask, 0)
    return selected(x, 0, nonzero(mask)[0])


def _asked_with(x: Any) -> Any:
    """Return what NumPy is asked with in place of an operand."""
    return concrete(x) if is_scalar(x) else probe(as_tensor(x), (1,))


def _wrapped(x: Any, kind: Any) -> Any:
    """Return a Python number as it is when an array of it is cast to a dtype."""
    if not is_scalar(x) or is_symbolic(x):
        return x
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(kind).item()


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> torch.Tensor:
    """`numpy.select`: the choice of the first condition that holds."""
    choices = [x if is_scalar(x) else as_tensor(x) for x in (*choicelist, default)]
    masks = [as_tensor(mask) for mask in condlist]
    # NumPy is asked what it would raise: which Python numbers fit differs by version.
    probes = [_asked_with(x) for x in choices]
    np.select([probe(mask, (1,)) for mask in masks], probes[:-1], probes[-1])
    kind = result_dtype(*choices)
    *tensors, found = [_branch(_wrapped(x, kind), kind, masks[0]) for x in choices]
    shape = broadcast_shape([x.shape for x in (*masks, *tensors, found)])
    for mask, choice in zip(reversed(masks), reversed(tensors), strict=True):
        found = either(mask, choice, found)
    return found.expand(shape).contiguous()  # NumPy fills an array in C order.


def flat_key(x: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the key of positions in the flattened array."""
    return tuple(split_index(places, x.shape))
