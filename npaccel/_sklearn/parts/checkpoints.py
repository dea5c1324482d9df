"""Checkpoints of fits by parts: a program that was ended goes on where it was.

What a fit has combined so far is small, and the same on all ranks, so that one of them writes it.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npaccel._runtime.ranks.checkpoints import Folder
from npaccel._sklearn.dispatch import state as dispatch_state
from npaccel._sklearn.parts.engine import Parts

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
        self._like = [np.asarray(one, np.float64) for one in like]
        self._folder: Folder | None = None
        if folder is not None:
            told = repr((sorted(estimator.get_params().items()), parts.shape[1:], parts.dtype))
            digest = hashlib.sha256(told.encode()).hexdigest()[:12]
            path = Path(folder) / f"{type(estimator).__name__}-{digest}"
            self._folder = Folder(path, parts.of_first, parts.of_checkpoints())
        self._count = 0

    def load(self) -> dict[str, Any] | None:
        """Return what was saved last by a fit of the same estimator to the same rows, or None."""
        if self._folder is None:
            return None
        last = self._folder.last()
        if last is None:
            return None
        self._count = last
        held: dict[str, Any] = {"fit": _Saved([], {})}
        self._folder.load(last, held)
        saved: _Saved = held["fit"]
        is_same = len(saved.like) == len(self._like) and all(
            a.shape == b.shape and np.allclose(a, b, rtol=_SAME, atol=0.0)
            for a, b in zip(saved.like, self._like, strict=True)
        )
        return saved.state if is_same else None

    def save(self, **state: Any) -> None:
        """Save what a fit goes on from."""
        if self._folder is not None:
            self._count += 1
            self._folder.save(self._count, {"fit": _Saved(self._like, state)})


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


__all__ = ["Checkpoints"]
