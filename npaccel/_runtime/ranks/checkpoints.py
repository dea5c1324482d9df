"""Checkpoints in a folder, written by `torch.distributed.checkpoint`.

What is the same on all ranks is one object, which the first of them writes; DTensors are written in
parts, and may be read by another number of ranks.
"""

from __future__ import annotations

import contextlib
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

#: Number of checkpoints that are kept: the last one may be incomplete.
KEPT = 2
#: The file that a complete one has.
_COMPLETE = ".metadata"


def words_of(mesh: Any) -> dict[str, Any]:
    """Return parameters of torch's functions for the ranks of a mesh, or of the whole program."""
    if not (dist.is_available() and dist.is_initialized()):
        return {"no_dist": True}
    return {"process_group": mesh.get_group() if mesh is not None and mesh.ndim == 1 else None}


class Folder:
    """Numbered checkpoints in a folder.

    Parameters
    ----------
    path : Path
        All ranks have to see it.
    of_first : callable
        Returns what a function gives in the first of the processes that compute.
    words : dict
        Parameters of `torch.distributed.checkpoint.save` and `load`.
    """

    def __init__(
        self, path: Path, of_first: Callable[[Callable[[], Any]], Any], words: dict[str, Any]
    ) -> None:
        self.path, self.of_first, self._words = path, of_first, words

    def last(self) -> int | None:
        """Return the number of the last complete checkpoint, or None."""
        numbers = self.of_first(lambda: _numbers(self.path))
        return numbers[-1] if numbers else None

    def load(self, number: int, state: dict[str, Any]) -> None:
        """Put what a checkpoint has into a dict with values of the same kinds."""
        with _quietly():
            load(state, checkpoint_id=self.path / str(number), **self._words)

    def save(self, number: int, state: dict[str, Any], kept: int | None = KEPT) -> None:
        """Save a dict, and remove all but some of the last checkpoints."""
        path = self.path / str(number)
        self.of_first(lambda: shutil.rmtree(path, ignore_errors=True))
        with _quietly():
            save(state, checkpoint_id=path, **self._words)
        if kept is not None:
            self.of_first(lambda: self._keep(kept))

    def _keep(self, count: int) -> None:
        for number in _numbers(self.path)[:-count]:
            shutil.rmtree(self.path / str(number), ignore_errors=True)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep torch from warning that there is one process: Dask's own ones aren't torch's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


def _numbers(path: Path) -> list[int]:
    """Return the numbers of complete checkpoints, in order."""
    paths = path.iterdir() if path.exists() else ()
    return sorted(int(one.name) for one in paths if (one / _COMPLETE).exists())


__all__ = ["KEPT", "Folder", "words_of"]
