"""Calls that mark the body of a loop in a trace, for `npaccel._torch.transforms.loop_marks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def begin(
    count: int, reverse: bool, leaves: tuple[Any, ...], columns: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the number of the iteration, and its own carry and items.

    Parameters
    ----------
    count : int
        Number of iterations.
    reverse : bool
        Whether the last item comes first.
    leaves, columns : tuple
        Carry, and arrays of items.
    """
    raise NotImplementedError


def iterate(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that stands for all iterations of a loop."""
    raise NotImplementedError


def end(
    outputs: tuple[Any, ...], results: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[bool, ...]]:
    """Return the carry behind the loop, stacked results, and which carry was written in place.

    Parameters
    ----------
    outputs, results : tuple
        Of an iteration.
    """
    raise NotImplementedError
