"""Checkpoints of fits by parts: a program that was ended goes on where it was.

They are written by `torch.distributed.checkpoint`. What a fit has combined so far is small, and the
same on all ranks, so that one of them writes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from npaccel._sklearn.dispatch import state as dispatch_state
from npaccel._sklearn.parts.engine import Parts

#: Number of checkpoints that are kept: the last one may be incomplete.
_KEPT = 2
#: The file that a complete one has.
_COMPLETE = ".metadata"
#: Relative tolerance of sums of the same rows in other parts.
_SAME = 1e-6


class Checkpoints:
    """Checkpoints of one fit; none where no folder was given.

    Parameters
    ----------
    estimator : Accelerated
    parts : Parts
    like : sequence of ndarray
        Sums over all rows. Checkpoints of a fit with others aren't taken.
    """

    def __init__(self, estimator: Any, parts: Parts, like: Sequence[Any]) -> None:
        folder = dispatch_state.state_of(estimator).checkpoint
        self._parts, self._like = parts, [np.asarray(one, np.float64) for one in like]
        self._folder: Path | None = None
        if folder is not None:
            told = repr((sorted(estimator.get_params().items()), parts.shape[1:], parts.dtype))
            digest = hashlib.sha256(told.encode()).hexdigest()[:12]
            self._folder = Path(folder) / f"{type(estimator).__name__}-{digest}"
        self._count = 0

    def load(self) -> dict[str, Any] | None:
        """Return what was saved last by a fit of the same estimator to the same rows, or None."""
        folder = self._folder
        if folder is None:
            return None
        found = self._parts.of_first(lambda: _numbers(folder))
        if not found:
            return None
        self._count = found[-1]
        held: dict[str, Any] = {"fit": _Saved([], {})}
        words = self._parts.of_checkpoints()
        with _quietly():
            load(held, checkpoint_id=folder / str(self._count), **words)
        saved: _Saved = held["fit"]
        is_same = len(saved.like) == len(self._like) and all(
            a.shape == b.shape and np.allclose(a, b, rtol=_SAME, atol=0.0)
            for a, b in zip(saved.like, self._like, strict=True)
        )
        return saved.state if is_same else None

    def save(self, **state: Any) -> None:
        """Save what a fit goes on from."""
        folder = self._folder
        if folder is None:
            return
        self._count += 1
        path = folder / str(self._count)
        self._parts.of_first(lambda: shutil.rmtree(path, ignore_errors=True))
        words = self._parts.of_checkpoints()
        with _quietly():
            save({"fit": _Saved(self._like, state)}, checkpoint_id=path, **words)
        self._parts.of_first(lambda: _remove_old(folder))


@dataclasses.dataclass
class _Saved:
    """Content of a checkpoint, as one object.

    Parameters
    ----------
    like : list of ndarray
    state : dict
    """

    like: list[Any]
    state: dict[str, Any]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep torch from warning that there is one process: Dask's own ones aren't torch's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


def _numbers(folder: Path) -> list[int]:
    """Return the numbers of complete checkpoints, in order."""
    paths = folder.iterdir() if folder.exists() else ()
    return sorted(int(path.name) for path in paths if (path / _COMPLETE).exists())


def _remove_old(folder: Path) -> None:
    for number in _numbers(folder)[:-_KEPT]:
        shutil.rmtree(folder / str(number), ignore_errors=True)


__all__ = ["Checkpoints"]
