"""Calls that mark the body of a loop in a trace, for `npaccel._torch.transforms.loop_marks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def may_loop(steps: Any, line: int, first: bool) -> bool:
    """Whether a ``for`` loop may be a scan over some steps.

    Parameters
    ----------
    steps : object
        A range or an array, where it may, or a tuple of ``enumerate``, ``zip`` or ``reversed``,
        what it takes besides (start, strict), and what it goes over.
    line : int
        Of the loop.
    first : bool
        Whether the first step is made by itself.
    """
    raise NotImplementedError


def over(steps: Any, line: int, body: Callable[..., Any], carry: tuple[Any, ...]) -> Any:
    """Return the carry behind a ``for`` loop.

    Parameters
    ----------
    steps : object
        As `may_loop` takes it.
    line : int
        Of the loop.
    body : callable
        Takes a step and the carry, and returns the carry.
    carry : tuple
    """
    raise NotImplementedError


def first_of(steps: Any) -> Any:
    """Return the first step of a loop."""
    raise NotImplementedError


def last_of(steps: Any) -> Any:
    """Return the last step of a loop."""
    raise NotImplementedError


def rest_of(steps: Any) -> Any:
    """Return all steps of a loop but the first."""
    raise NotImplementedError


def counted(start: Any, end: Any) -> bool:
    """Whether a ``while`` loop goes over integers of Python's."""
    raise NotImplementedError


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
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return the carry behind the loop, stacked results, and which first arrays are the carry.

    Parameters
    ----------
    outputs, results : tuple
        Of an iteration.
    """
    raise NotImplementedError
