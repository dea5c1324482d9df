"""Compare what ranks are about to do, so that they don't wait for each other endlessly."""

from __future__ import annotations

import itertools
import platform
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from npaccel._runtime.guard_serialization import code_digest
from npaccel._version import __version__
from npaccel.errors import CollectiveError, RankMismatchError

#: Letters of a digest that are told.
_SHOWN = 12
#: Words of libraries for another rank that doesn't come, or is gone.
_OF_WAITING = re.compile(
    r"tim(ed|e)[ -]?out|connection|closed|reset|peer|pipe|abort", re.IGNORECASE
)


def of_process(function: types.FunctionType) -> dict[str, str]:
    """Return what all ranks must have in common for a function: code and versions."""
    return {
        "function": function.__qualname__,
        "code": code_digest(function.__code__)[:_SHOWN],
        "npaccel": __version__,
        "torch": torch.__version__,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
    }


def agree(mesh: Any, told: Mapping[str, str], name: str) -> None:
    """Wait for all ranks of a mesh, and compare what they tell.

    Parameters
    ----------
    mesh : DeviceMesh or None
        None: all ranks of the program.
    told : mapping
        What has to be the same on all ranks.
    name : str
        The function's.

    Raises
    ------
    RankMismatchError
        If something isn't.
    CollectiveError
        If another rank doesn't come.
    """
    where = f"before it begins, to compare {', '.join(told)}"
    everyone = gathered(mesh, (_rank(), dict(told)), name, where)
    first, expected = everyone[0]
    for rank, other in everyone:
        for what in dict.fromkeys([*expected, *other]):
            mine, its = expected.get(what, "nothing"), other.get(what, "nothing")
            if mine != its:
                raise RankMismatchError(
                    f"{name}: ranks disagree on {what}: rank {first} has {mine}, rank {rank} has "
                    f"{its}; all ranks have to call the same functions, with arguments of the "
                    "same shapes, dtypes and placements, in the same order"
                )


def gathered(
    mesh: Any, value: Any, name: str, where: str, axes: Iterable[int] | None = None
) -> list[Any]:
    """Return what all ranks give, in their order.

    Parameters
    ----------
    mesh : DeviceMesh or None
        None: all ranks of the program; in a program without ranks this process alone.
    value : object
    name, where : str
        The function, and where in it, for errors.
    axes : iterable of int, optional
        Of the mesh, the last one first; without it all of them.

    Raises
    ------
    CollectiveError
        If another rank doesn't come.
    """
    everyone = [value]
    for group in _groups(mesh, axes):
        found: list[Any] = [None] * dist.get_world_size(group)
        try:
            dist.all_gather_object(found, everyone, group=group)
        except RuntimeError as error:
            raise waited(error, name, where) from error
        everyone = list(itertools.chain.from_iterable(found))
    return everyone


def of_first(mesh: Any, function: Callable[[], Any], name: str) -> Any:
    """Return on all ranks of a mesh what a function gives on the first one.

    Parameters
    ----------
    mesh : DeviceMesh or None
        See `gathered`.
    function : callable
        What it raises is raised on all ranks.
    name : str
        The function's, for errors.
    """
    is_first = all(dist.get_rank(group) == 0 for group in _groups(mesh))
    error, found = None, None
    try:
        found = function() if is_first else None
    except Exception as failure:  # noqa: BLE001 (told to all ranks)
        error = failure
    told = (is_first, error, found)
    everyone = gathered(mesh, told, name, "where the first rank reads or writes for all")
    error, found = next((error, found) for first, error, found in everyone if first)
    if error is not None:
        raise error
    return found


def _groups(mesh: Any, axes: Iterable[int] | None = None) -> list[Any]:
    if mesh is not None:
        return [
            mesh.get_group(axis) for axis in (reversed(range(mesh.ndim)) if axes is None else axes)
        ]
    return [dist.group.WORLD] if dist.is_available() and dist.is_initialized() else []


def _rank() -> int:
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def waited(error: Exception, name: str, where: str) -> CollectiveError:
    """Return the error for a collective that has failed: most often as a rank doesn't come.

    Parameters
    ----------
    error : Exception
        What the library of collectives raised.
    name, where : str
        The function, and where in it.
    """
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    if not _OF_WAITING.search(said):
        return CollectiveError(f"{name}: a collective has failed {where}\n  {said}")
    return CollectiveError(
        f"{name}: rank {_rank()} waited for the other ranks in vain, {where}\n  {said}\n"
        "  look at what the other ranks say and do: one may have ended, or may be in another call; "
        "where they only take longer, raise the timeout of init_process_group"
    )


__all__ = ["agree", "gathered", "of_first", "of_process", "waited"]
