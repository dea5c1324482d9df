"""Run a compiled nest: whole, or with its iterations in threads.

Where the iterations of the outermost loop are independent, the first of them are run and timed. If
those that are left take long enough, each thread takes a part of them, unless that was found to be
slower: two cores may share what they compute with. What Python would leave behind where an
iteration raises is what the parts before and the part itself have written: what later parts have
written is undone.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._loops.nests.lowering.lower_nest import Lowered
from npaccel._process import thread_pool

#: Seconds from which work is worth threads, and further ones for each byte that is copied.
_WORTH, _COPIED = 4e-4, 3e-10
#: Calls that take no longer aren't looked at, nor those with as few elements.
_SHORT = 25e-6
#: Seconds from which work, and the ratio to the first ones from which iterations, are cut into more
#: parts than there are threads; and how many more.
_LONG, _UNEVEN, _PARTS = 4e-3, 2.0, 4
#: Number of calls that are timed whole and in threads, and again after 64, 128, 256, ... calls.
_ROUNDS, _FIRST_INTERVAL = 3, 64
#: Maximum ratio that is expected of the last iterations' time to that of the first ones.
_MOST = 16
#: Requests in a record, see `numba_runtime.some_iterations`.
_ALL, _FIRST, _SOME = 0, 1, 2

#: Saved arrays: a view of one, and its copy.
Kept = list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


@dataclasses.dataclass
class Ran:
    """Outcome of some iterations.

    Parameters
    ----------
    ints, floats : ndarray
        The record: the number of the site that failed, and its operands.
    found : tuple
        What the code returned.
    seconds : float
        How long it took.
    kept : list
        What it wrote to, as that was before.
    in_thread : bool
        Whether other iterations ran at the same time.
    """

    ints: np.ndarray[Any, Any]
    floats: np.ndarray[Any, Any]
    found: tuple[Any, ...]
    seconds: float
    kept: Kept
    in_thread: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether it ended at a site."""
        return bool(self.ints[0])


class Choice:
    """Whether threads do the work of a nest sooner, as measured on calls that are needed anyway."""

    def __init__(self) -> None:
        self._costs: dict[bool, list[float]] = {True: [], False: []}
        self._in_threads = True
        self._left, self._interval = 0, _FIRST_INTERVAL

    def in_threads(self) -> bool:
        """Whether the next call uses threads."""
        if self._left:
            self._left -= 1
            return self._in_threads
        return len(self._costs[True]) <= len(self._costs[False])

    def note(self, in_threads: bool, cost: float) -> None:
        """Note what a call took, for each second that was expected by its first iterations."""
        if self._left:
            return
        self._costs[in_threads].append(cost)
        if min(map(len, self._costs.values())) >= _ROUNDS:
            costs = {way: statistics.median(found) for way, found in self._costs.items()}
            self._in_threads = costs[True] < costs[False]
            self._costs = {True: [], False: []}
            self._left, self._interval = self._interval, 2 * self._interval


class Runner:
    """Calls of one compiled nest.

    Parameters
    ----------
    lowered : Lowered
    function : callable
        Its code.
    """

    def __init__(self, lowered: Lowered, function: Callable[..., tuple[Any, ...]]) -> None:
        self.lowered = lowered
        self.function = function
        # Counters that outgrow 64 bits after years are no reason to copy arrays.
        sites = (site for site in lowered.sites if site.kind != "bail")
        self._may_raise = lowered.bails or any(sites)
        self._choice = Choice()
        #: Ratio of the iterations' time to that of the first ones, the last time.
        self._factor = 1.0
        #: Number of elements with which calls were short, the last time.
        self._short = -1

    def __call__(self, values: Mapping[str, Any], inputs: Sequence[Any]) -> list[Ran]:
        """Run the nest; return what came of its parts, in order, up to the first that failed.

        Parameters
        ----------
        values : mapping
            Of the parameters.
        inputs : sequence
            The arguments of the code.
        """
        lowered = self.lowered
        written = [a for n in lowered.written for a in _arrays(values[n])] if lowered.bails else ()
        kept = [(array, array.copy()) for array in written]
        if lowered.independent is None or torch.get_num_threads() == 1:
            return [self._run(inputs, _ALL, kept=kept)]
        size = sum(value.size for value in inputs if isinstance(value, np.ndarray))
        if size <= self._short:
            ran = [self._run(inputs, _ALL, kept=kept)]
            self._note(size, ran)
            return ran
        first = self._run(inputs, _FIRST, kept=kept)
        if first.has_failed:  # Before the loop, perhaps, so that it isn't known what is left.
            return [first]
        left = range(*first.ints[4:7].tolist())
        if not left:
            return [first]
        expected = first.seconds * len(left) / int(first.ints[7])
        may_be = self._is_worth(expected * self._factor, values) and self._are_apart(values, left)
        in_threads = may_be and self._choice.in_threads()
        start = time.perf_counter()
        if in_threads:
            ran = self._in_threads(values, inputs, left, expected * self._factor, kept)
        else:
            ran = [self._run(inputs, _SOME, left)]
            self._note(size, [first, *ran])
        if may_be:
            self._choice.note(in_threads, (time.perf_counter() - start) / expected)
        seconds = sum(one.seconds for one in ran)
        self._factor = min(max(seconds / expected, 1.0), _MOST)
        failed = next((i for i, one in enumerate(ran) if one.has_failed), len(ran))
        undo(ran[failed + 1 :])
        return [first, *ran[: failed + 1]]

    def _note(self, size: int, ran: Sequence[Ran]) -> None:
        """Note for the next calls whether one with that many elements was short."""
        is_short = sum(one.seconds for one in ran) < _SHORT
        self._short = max(self._short, size) if is_short else min(self._short, size - 1)

    def _run(
        self,
        inputs: Sequence[Any],
        asked: int,
        iterations: range | None = None,
        kept: Kept | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Ran:
        ints, floats = np.zeros(8, np.int64), np.zeros(3)
        ints[3] = asked
        if iterations is not None:
            ints[4:6] = iterations.start, iterations.stop
        start = clock()
        found = self.function(ints, floats, *inputs)
        return Ran(ints, floats, found, clock() - start, kept or [])

    def _is_worth(self, seconds: float, values: Mapping[str, Any]) -> bool:
        """Whether threads would do work sooner, with the copies that they make."""
        copies = self._may_raise and not self.lowered.bails
        size = sum(values[name].nbytes for name in self.lowered.written) if copies else 0
        return seconds >= _WORTH + _COPIED * size

    def _in_threads(
        self,
        values: Mapping[str, Any],
        inputs: Sequence[Any],
        left: range,
        seconds: float,
        whole: Kept,
    ) -> list[Ran]:
        more = seconds > _LONG or self._factor > _UNEVEN
        count = torch.get_num_threads() * (_PARTS if more else 1)
        ends = [len(left) * part // count for part in range(count + 1)]
        parts = [left[a:b] for a, b in itertools.pairwise(ends) if a < b]

        def work(part: range) -> Ran:
            may_be_undone = self._may_raise and part is not parts[0]
            kept = self._kept(values, part, whole) if may_be_undone else []
            ran = self._run(inputs, _SOME, part, kept, time.thread_time)
            return dataclasses.replace(ran, in_thread=True)

        return thread_pool.in_threads(work, parts, helps=True)

    def _kept(self, values: Mapping[str, Any], iterations: range, whole: Kept) -> Kept:
        """Copy what some iterations may write, if there are no copies of the whole arrays."""
        assert self.lowered.independent is not None
        own = slice(min(iterations[0], iterations[-1]), max(iterations[0], iterations[-1]) + 1)
        found = []
        copies = {id(array): copy for array, copy in whole}
        for name in self.lowered.written:
            place = (slice(None),) * self.lowered.independent.axes[name] + (own,)
            array = values[name]
            copy = copies.get(id(array))
            kept = array[place].copy(order="K") if copy is None else copy[place]
            found.append((array[place], kept))
        return found

    def _are_apart(self, values: Mapping[str, Any], iterations: range) -> bool:
        """Whether no element has two indices or belongs to two arrays."""
        written = self.lowered.written
        return (
            min(iterations[0], iterations[-1]) >= 0
            and not share_memory(written, values)
            and not any(_overlaps_itself(values[name]) for name in written)
        )


def undo(ran: Sequence[Ran]) -> None:
    """Give arrays the contents again that they had before some parts ran."""
    for one in reversed(ran):
        for view, content in one.kept:
            view[...] = content


def share_memory(written: frozenset[str], values: Mapping[str, Any]) -> bool:
    """Whether an array that is written shares memory with another one."""
    arrays = [(name, item) for name, value in values.items() for item in _arrays(value)]
    return any(
        np.may_share_memory(one, other)
        for i, (name, one) in enumerate(arrays)
        if name in written
        for other in (array for j, (_, array) in enumerate(arrays) if j != i)
    )


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """Return a parameter that is an array, or the arrays of a tuple."""
    return [v for v in (value if type(value) is tuple else (value,)) if isinstance(v, np.ndarray)]


def _overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array may have two indices for some byte of its memory."""
    reach = array.itemsize
    steps = ((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    for stride, size in sorted(steps):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False
