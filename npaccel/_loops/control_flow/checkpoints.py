"""Checkpoints of loops: a program that was ended goes on where it was.

A checkpoint has the carry after some iterations, and what a scan has recorded since the one before.
It's taken where the loop is the same: its functions, what these read, and what it begins with.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import os
import pickle
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor, Replicate, empty

from npaccel._loops.control_flow.carry import leaves, mapped, spec_of
from npaccel._runtime.callables import read_by, underlying
from npaccel._runtime.guard_serialization import code_digest
from npaccel._runtime.ranks import agreement
from npaccel._runtime.ranks.checkpoints import KEPT, Folder, words_of
from npaccel._runtime.torch.fingerprints import fingerprint
from npaccel._syntax.loop_detection import is_users
from npaccel.errors import PerformanceWarning, UnsupportedArrayError

#: Letters of a digest.
_LETTERS = 16
#: The file that says what a loop is.
_TOLD = "loop.json"
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


@dataclasses.dataclass
class Found:
    """State that a loop goes on from.

    Parameters
    ----------
    count : int
        How many iterations are done.
    value : object
        The carry.
    results : list
        What they have recorded, in the order of iterations.
    """

    count: int
    value: Any
    results: list[Any]


class LoopCheckpoints:
    """Checkpoints of one loop.

    Parameters
    ----------
    primitive : str
        For names of folders and messages.
    function : callable
        What an iteration calls.
    init : object
        The first carry.
    others : dict
        What else says which loop it is.
    folder : path-like
    every : int
        After how many iterations there is one.
    """

    def __init__(
        self,
        primitive: str,
        function: Any,
        init: Any,
        others: dict[str, Any],
        folder: Any,
        every: Any,
    ) -> None:
        self.primitive, self._init = primitive, init
        self._every = operator.index(every)
        if self._every < 1:
            raise ValueError(
                f"{primitive}: every is {every}; pass after how many iterations there is a "
                "checkpoint, 1 or more"
            )
        if hasattr(function, "npaccel_prepared"):  # A compiled body.
            function = function.__wrapped__
        code, read = _of_function(function)
        self._mesh = next(
            (
                leaf.device_mesh
                for leaf in _leaves([init, others, read])
                if isinstance(leaf, DTensor)
            ),
            None,
        )
        kinds = {name: spec_of(value).text for name, value in ({"init": init} | others).items()}
        agreement.agree(self._mesh, {"function": code} | kinds, primitive)
        try:
            told = {"function": code, "init": _digest(init)}
            told |= {name: _digest(value) for name, value in others.items()}
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise TypeError(
                f"{primitive}: init holds an object that can't be saved in a checkpoint ({error}); "
                "carry arrays, numbers and what can be pickled"
            ) from error
        of_read = {name: _digest(value, is_state=False) for name, value in read.items()}
        self._told = told | {f"what it reads as {name!r}": one for name, one in of_read.items()}
        agreement.agree(self._mesh, self._told, primitive)
        text = json.dumps(self._told, sort_keys=True)
        whole = hashlib.sha256(text.encode()).hexdigest()[:_LETTERS]
        self._above = Path(os.fspath(folder))
        path = self._above / f"{primitive}-{whole}"

        def of_first(act: Callable[[], Any]) -> Any:
            return agreement.of_first(self._mesh, act, primitive)

        words = words_of(self._mesh)
        self._carries = Folder(path / "carry", of_first, words)
        self._results = Folder(path / "results", of_first, words)
        #: The checkpoints that have what is recorded, in order.
        self._numbers: list[int] = []
        other = of_first(lambda: self._begun(path))
        if other:
            warnings.warn(
                f"{primitive}: a checkpoint in {self._above} isn't taken, because {other} was "
                "another one; the loop begins anew",
                PerformanceWarning,
                stacklevel=_level(),
            )

    def _begun(self, path: Path) -> str:
        """Write down which loop it is; return what differs if another reads other values."""
        if (path / _TOLD).exists():
            return ""
        found = ""
        for one in sorted(self._above.glob(f"{self.primitive}-*/{_TOLD}")):
            other = json.loads(one.read_text(encoding="utf-8"))
            differs = [
                name for name in {**self._told, **other} if self._told.get(name) != other.get(name)
            ]
            if all(name.startswith("what it reads") for name in differs):
                found = " and ".join(differs)
        path.mkdir(parents=True, exist_ok=True)
        made = path / f"{_TOLD}.{os.getpid()}"
        made.write_text(json.dumps(self._told, sort_keys=True), encoding="utf-8")
        made.replace(path / _TOLD)
        return found

    def load(self) -> Found | None:
        """Return what the last checkpoint has, or None."""
        last = self._carries.last()
        if last is None:
            return None
        found, saved = self._read(self._carries, last)
        value, is_same = found
        self._numbers = saved.numbers
        results = []
        for number in self._numbers:
            results += self._read(self._results, number)[0]
        return Found(last, self._written(value, is_same), results)

    def is_due(self, count: int, whole: int) -> bool:
        """Whether there is a checkpoint after some of a loop's iterations."""
        return count % self._every == 0 or count == whole

    def save(self, count: int, value: Any, results: Sequence[Any]) -> None:
        """Save the carry, and what was recorded since the last checkpoint."""
        if any(one is not None for one in results):
            self._write(self._results, count, list(results), None)
            self._numbers = [*self._numbers, count]
        pairs = zip(_leaves(value), _leaves(self._init), strict=False)
        self._write(self._carries, count, (value, [a is b for a, b in pairs]), KEPT)

    def _written(self, value: Any, is_same: Sequence[bool]) -> Any:
        """Return a carry; what the loop had written into arrays of the first one is there again."""
        spec = spec_of(value)
        found = []
        for leaf, first, same in zip(_leaves(value), _leaves(self._init), is_same, strict=False):
            if same and isinstance(leaf, np.ndarray | torch.Tensor):
                first[...] = leaf
                leaf = first
            found.append(leaf)
        return mapped(spec, iter(found))

    def _write(self, folder: Folder, number: int, value: Any, kept: int | None) -> None:
        spec = spec_of(value)
        sharded: dict[str, DTensor] = {}
        plain = []
        for i, (_, leaf) in enumerate(leaves(spec, value)):
            if not isinstance(leaf, DTensor):
                plain.append(leaf)
                continue
            if self._mesh is None:
                raise UnsupportedArrayError(
                    f"{self.primitive}: the carry has a DTensor after {number} iterations, and had "
                    "none before; begin with DTensors, or leave `checkpoint` out"
                )
            whole = [Replicate() if one.is_partial() else one for one in leaf.placements]
            sharded[str(i)] = leaf.redistribute(leaf.device_mesh, whole)
            plain.append(_Sharded(tuple(leaf.shape), leaf.dtype, tuple(whole)))
        saved = _Saved(mapped(spec, iter(plain)), self._numbers)
        folder.save(number, {"plain": saved} | sharded, kept)

    def _read(self, folder: Folder, number: int) -> tuple[Any, _Saved]:
        """Return what was written, and how it was kept."""
        held: dict[str, Any] = {"plain": _Saved(None, [])}
        folder.load(number, held)
        saved: _Saved = held["plain"]
        spec = spec_of(saved.value)
        found = [leaf for _, leaf in leaves(spec, saved.value)]
        sharded = {
            str(i): empty(
                leaf.shape, dtype=leaf.dtype, device_mesh=self._mesh, placements=leaf.placements
            )
            for i, leaf in enumerate(found)
            if isinstance(leaf, _Sharded)
        }
        if sharded:
            folder.load(number, sharded)
        merged = [sharded.get(str(i), leaf) for i, leaf in enumerate(found)]
        return mapped(spec, iter(merged)), saved


@dataclasses.dataclass
class _Saved:
    """Value that is saved as one object.

    Parameters
    ----------
    value : object
        With `_Sharded` for DTensors.
    numbers : list of int
        The checkpoints that have what was recorded.
    """

    value: Any
    numbers: list[int]


@dataclasses.dataclass
class _Sharded:
    """Description of a DTensor, which is saved in parts."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    placements: tuple[Any, ...]


def _leaves(value: Any) -> Iterator[Any]:
    for _, leaf in leaves(spec_of(value), value):
        yield leaf


def _level() -> int:
    """Return the `stacklevel` of the user's call, for a warning of the caller's."""
    level, frame = 0, sys._getframe(1)
    inside = str(Path(__file__).parents[2])
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    return level + 1


# -- Which loop it is -----------------------------------------------------------


def _of_function(function: Any) -> tuple[str, dict[str, Any]]:
    """Return a digest of a function's code, and what it reads from outside."""
    target, prefix, keywords = underlying(function)
    if not isinstance(target, types.FunctionType):
        return repr(getattr(target, "__qualname__", type(target))), {}
    entered: dict[types.FunctionType, None] = {}
    read = read_by(target, is_users, entered)
    digest = hashlib.sha256()
    for one in entered:
        digest.update(code_digest(one.__code__).encode())
    read |= {f"argument {i}": value for i, value in enumerate(prefix)} | keywords
    return digest.hexdigest()[:_LETTERS], read


def _digest(value: Any, *, is_state: bool = True) -> str:
    """Return a digest of a value.

    Parameters
    ----------
    value : object
    is_state : bool, default True
        Whether all of it counts. If not, of objects that aren't arrays, numbers or strings only the
        types do, and their attributes that are.
    """
    digest = hashlib.sha256(spec_of(value).text.encode())
    for leaf in _leaves(value):
        digest.update(_of_leaf(leaf, is_state))
    return digest.hexdigest()[:_LETTERS]


def _of_leaf(leaf: Any, is_state: bool) -> bytes:
    if isinstance(leaf, DTensor):
        return repr(fingerprint(leaf)).encode()
    if isinstance(leaf, torch.Tensor):
        host = leaf.detach().cpu().resolve_conj().resolve_neg().contiguous()
        leaf = host.reshape(-1).view(torch.uint8).numpy()
    if isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind != "O":
        return hashlib.sha256(np.ascontiguousarray(leaf).view(np.uint8).data).digest()
    if isinstance(leaf, _NUMBERS):
        return repr(leaf).encode()
    if is_state:
        return pickle.dumps(leaf)
    known = [
        f"{name}={_digest(one)}"
        for name, one in sorted(getattr(leaf, "__dict__", {}).items())
        if isinstance(one, (*_NUMBERS, np.ndarray, torch.Tensor))
    ]
    return ", ".join(known).encode()


__all__ = ["Found", "LoopCheckpoints"]
