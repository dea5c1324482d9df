"""`numpy.random`: rows of the table, and what of a draw is computed in the graph.

The numbers are NumPy's own, drawn on the host, or with ``rng="device"`` the
stream of `device_rng`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.table import implements
from npaccel._numpy.indexing.taking import take, take_along_axis
from npaccel._numpy.random.results import ALIASES, PARAMETERS, Drawn
from npaccel._runtime.arguments import to_array
from npaccel._runtime.host_rng import drawn

#: Reason why a draw breaks the graph where it can't be an input of it.
ON_HOST = (
    "random numbers are drawn by NumPy itself, and this function is compiled in subgraphs, so that "
    "they are drawn between those; to compile the line, draw before the call and pass the numbers"
)
#: The same where the numbers were to be drawn on the device.
HOST_ALL_THE_SAME = (
    "this function is compiled in subgraphs, so that NumPy draws the numbers in spite of "
    'rng="device"; fix the other lines of the report first'
)
_NOTE = "drawn by NumPy on the host, in the order of the program, before the compiled code runs"
_MADE_NOTE = "made by NumPy on the host at every call; it can't be a result of the function"
#: Functions that make generators.
_MAKERS = (
    *("Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "RandomState", "SFC64"),
    *("SeedSequence", "default_rng"),
)
_INT64 = np.dtype(np.int64)


def canonical(name: str) -> str:
    """Return the method of `RandomState` behind a function of `numpy.random`."""
    return ALIASES.get(name, name)


def words_of_key() -> Drawn:
    """Key of a stream on the device."""
    return Drawn((5,), _INT64, "array")


def order_of_size(n: Any) -> Drawn:
    """Result of `permutation` of a size."""
    return Drawn((n,), _INT64, "array")


def order_of_parts(shape: tuple[Any, ...], axis: int, method: str) -> Drawn:
    """Order of an array's parts along an axis."""
    return Drawn((shape[axis],), _INT64, "array")


def order_of_permuted(shape: tuple[Any, ...], axis: int | None) -> Drawn:
    """Order of an array's elements."""
    return Drawn(tuple(shape), _INT64, "array")


def taken(axis: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function that takes the parts of an array at positions."""
    return lambda a, positions: take(a, positions, axis)


def permuted(axis: int | None) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function that puts an array's elements into an order."""
    if axis is None:
        return take
    return lambda a, order: take_along_axis(a, order, axis)


def reordered_in_place(axis: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function that puts an array's parts into an order, in place."""

    def reorder(a: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        a.copy_(take(a, order, axis))
        return a

    return reorder


def _draws(name: str) -> Callable[..., Any]:
    """Return a function that draws at once; while tracing, `HostCall` stands for it."""

    def draw(owner: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(owner, name)(*map(_on_host, args), **_named_on_host(kwargs))
        return found if found is None else drawn(found)

    return draw


def _on_host(value: Any) -> Any:
    return to_array(value) if isinstance(value, torch.Tensor) else value


def _named_on_host(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: _on_host(value) for name, value in kwargs.items()}


def _of_module(name: str) -> Callable[..., Any]:
    draw = _draws(name)

    def draw_from_the_global_state(*args: Any, **kwargs: Any) -> Any:
        return draw(np.random, *args, **kwargs)

    return draw_from_the_global_state


def _declare() -> None:
    names = [*PARAMETERS, *ALIASES, "seed"]
    for name in names:
        for kind in (np.random.Generator, np.random.RandomState):
            if hasattr(kind, name):
                implements(f"numpy.random.{kind.__name__}.{name}", note=_NOTE)(_draws(name))
        function = getattr(np.random, name, None)
        if function is not None:
            implements(function, name=f"numpy.random.{name}", note=_NOTE)(_of_module(name))
    for name in _MAKERS:
        made = getattr(np.random, name)
        implements(made, name=f"numpy.random.{name}", note=_MADE_NOTE)(made)


_declare()
