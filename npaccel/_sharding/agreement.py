"""Compare what ranks are about to do, so that they don't wait for each other endlessly."""

from __future__ import annotations

import platform
import re
import types
from collections.abc import Mapping
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
    mesh : DeviceMesh
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
    everyone = [(dist.get_rank(), dict(told))]
    for axis in range(mesh.ndim):
        found: list[Any] = [None] * mesh.size(axis)
        try:
            dist.all_gather_object(found, everyone, group=mesh.get_group(axis))
        except RuntimeError as error:
            where = f"before it is compiled, to compare {', '.join(told)}"
            raise waited(error, name, where) from error
        everyone = [one for several in found for one in several]
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
        f"{name}: rank {dist.get_rank()} waited for the other ranks in vain, {where}\n  {said}\n"
        "  look at what the other ranks say and do: one may have ended, or may be in another call; "
        "where they only take longer, raise the timeout of init_process_group"
    )


__all__ = ["agree", "of_process", "waited"]
