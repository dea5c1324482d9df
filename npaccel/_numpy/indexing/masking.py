"""Masked reads and writes in a graph whose sizes mustn't depend on the data.

``a[mask]`` stands for its array with all elements, and what is computed from it
is stored, or counted in a reduction, where the mask is True.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import NO_VALUE
from npaccel._numpy.core.context import wants_gradients
from npaccel._numpy.core.dtypes import cast, to_numpy
from npaccel._numpy.indexing.index_keys import Selection, expanded_key, numpy_place, places, select
from npaccel._numpy.indexing.indexing import fitted, flipped, value_for
from npaccel._numpy.statistics.reductions import max_, min_, nonzero_mask
from npaccel._numpy.ufuncs.integers import either
from npaccel._runtime.torch.symbolic_sizes import raise_unless, surely


def rest_after(ndim: int, key: Any) -> int | None:
    """Return how many axes of ``a[key]`` follow the one that a mask leaves.

    Parameters
    ----------
    ndim : int
        Of the array.
    key : object
        What stands between the brackets; tensors may be fake.

    Returns
    -------
    int or None
        None where the key holds anything else that gathers, or an empty mask.
    """
    parts = expanded_key(ndim, key)
    masks = [part for part in parts if part.kind == "mask"]
    if len(masks) != 1 or any(part.kind == "array" for part in parts):
        return None
    if not masks[0].source or any(surely(size == 0) for size in masks[0].value.shape[:1]):
        return None
    kept = sum(part.kind in ("slice", "new") for part in parts)
    return kept - (numpy_place(parts) or 0)


def masked_item(a: torch.Tensor, key: Any) -> torch.Tensor:
    """Return a copy of what a mask in a key chooses from, with the mask's axes in its place."""
    selection = select(a, key)
    view = _masked_axes_in_place(selection)
    if view.dtype.is_floating_point and wants_gradients(view):
        mask = _mask(selection)
        view = _filled(view, mask, view.ndim - mask.ndim - places(selection)[1])
    return flipped(view, _flips_in_place(selection)).clone()


#: Value of the elements that a mask leaves out where it leaves out all.
_NOTHING_CHOSEN = 0.5


def _filled(view: torch.Tensor, mask: torch.Tensor, after: int) -> torch.Tensor:
    """Put a chosen element in the place of those that a mask leaves out.

    What is computed of them isn't used, but may have no finite derivative, and 0 times that is NaN.
    """
    if any(surely(size == 0) for size in mask.shape):
        return view
    wide = wide_mask(mask, after)
    first = view.ndim - after - mask.ndim
    flat, elements = mask.reshape(-1), view.flatten(first, first + mask.ndim - 1)
    if not all(surely(size != 0) for size in mask.shape):  # There may be none to take.
        flat = torch.cat([flat, flat.new_ones(1)])
        one = (*elements.shape[:first], 1, *elements.shape[first + 1 :])
        elements = torch.cat([elements, elements.new_full(one, _NOTHING_CHOSEN)], first)
    place = torch.argmax(flat.to(torch.uint8)).reshape(1)
    chosen = elements.index_select(first, place)
    chosen = torch.where(torch.any(mask), chosen, _NOTHING_CHOSEN)
    shape = chosen.shape[:first] + (1,) * mask.ndim + chosen.shape[first + 1 :]
    return torch.where(wide, view, chosen.reshape(shape))


def masked_store(a: torch.Tensor, key: Any, value: torch.Tensor) -> None:
    """Store a value that has all elements where the mask in a key is True."""
    selection = select(a, key)
    view = _masked_axes_in_place(selection)
    mask = _mask(selection)
    after = view.ndim - mask.ndim - places(selection)[1]
    each = fitted(value_for(value, to_numpy(a.dtype), a.device), view.shape)
    flips = _flips_in_place(selection)
    if flips:
        each = flipped(each.expand(view.shape), flips)
    view.copy_(either(wide_mask(mask, after), each, view))


def wide_mask(mask: torch.Tensor, after: int) -> torch.Tensor:
    """Return a mask that broadcasts to an array with further axes behind the mask's."""
    return mask.reshape(mask.shape + (1,) * after) if after else mask


def widened(x: torch.Tensor, after: int, width: int) -> torch.Tensor:
    """Give an operand of length one along a gathered axis as many axes as the mask has."""
    place = x.ndim - 1 - after
    return x.reshape(x.shape[:place] + (1,) * width + x.shape[place + 1 :])


def count_masked(x: torch.Tensor, mask: torch.Tensor, axis: tuple[int, ...]) -> torch.Tensor:
    """Return how many elements that aren't zero a mask chooses."""
    return torch.sum(torch.logical_and(nonzero_mask(x), mask), axis)


def extremum_masked(
    name: str, x: torch.Tensor, mask: torch.Tensor, axis: tuple[int, ...], **kwargs: Any
) -> torch.Tensor:
    """Return the largest or smallest element that a mask chooses.

    Raises
    ------
    RuntimeError
        While the code runs, if it chooses none; without ``initial=``.
    """
    function = max_ if name == "maximum" else min_
    if kwargs.get("initial", NO_VALUE) is NO_VALUE:
        text = f"zero-size array to reduction operation {name} which has no identity"
        raise_unless(torch.any(mask), text)
        kwargs["initial"] = _beyond(name, x)
    return function(x, axis, where=mask, **kwargs)


def _beyond(name: str, x: torch.Tensor) -> Any:
    """Return a number that no element is larger (or smaller) than."""
    dtype = to_numpy(x.dtype)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return bounds.min if name == "maximum" else bounds.max
    if dtype.kind == "b":
        return name != "maximum"
    return -np.inf if name == "maximum" else np.inf


def _mask(selection: Selection) -> torch.Tensor:
    return cast(next(i for i in selection.indices if i is not None), np.dtype(bool))


def _masked_axes_in_place(selection: Selection) -> torch.Tensor:
    """Return a view with the mask's axes where NumPy puts the axis that it leaves."""
    width = _mask(selection).ndim
    source = next(i for i, index in enumerate(selection.indices) if index is not None)
    target = places(selection)[1]
    return torch.movedim(
        selection.view,
        tuple(range(source, source + width)),
        tuple(range(target, target + width)),
    )


def _flips_in_place(selection: Selection) -> list[int]:
    """Return the axes that run backwards, in `_masked_axes_in_place`."""
    if not selection.flips:
        return []
    width = _mask(selection).ndim
    source = next(i for i, index in enumerate(selection.indices) if index is not None)
    order = list(range(selection.view.ndim))
    gathered = order[source : source + width]
    del order[source : source + width]
    target = places(selection)[1]
    order[target:target] = gathered
    return [order.index(axis) for axis in selection.flips]
