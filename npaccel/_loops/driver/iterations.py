"""Run the turns of a loop: by its regions, all at once on tensors, or in NumPy.

Each way gives the same. The first turns are run by the regions, one call each;
then some turns are timed on tensors and some in NumPy, turns that are needed
anyway, and the faster way runs the others. Which one it is, is measured again
after 256, 1024, 4096, ... turns, because sizes may change.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import math
import operator
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler import fallback
from npaccel._loops.driver.region import MARGIN, Region
from npaccel._loops.driver.tensor_calls import CannotStayError, Factory, Seen, make_raw
from npaccel._loops.nests.nest_runner import NestRunner
from npaccel._runtime.arguments import how_converted, map_arrays
from npaccel._runtime.error_translation import CompiledCodeError
from npaccel._runtime.outputs import has_overlap

#: After so many runs on tensors that soon ended in the middle, tensors aren't tried again.
_PATIENCE = 3
#: Runs that take as long, in seconds, are worth the beginning.
_WORTH = 2e-3
#: So many kinds of calls of one region are made on tensors: the first and the last turns of a
#: loop often differ from those between.
_MOST_KINDS = 8
#: Turns that may take a branch that hasn't been taken before.
_WATCHED = 32
#: With fewer turns left it isn't worth the while.
_FEW = 3
_FIRST_PAUSE = 256
#: So many seconds after a call OpenMP's threads sleep; until then they keep BLAS's from their work.
_REST = 5e-3
#: So many seconds BLAS's threads spin, which keeps OpenMP's from their work.
_SPIN = 0.12
#: Turns in which BLAS's or OpenMP's threads wake; turns that are timed together.
_WAKING, _SEVERAL = 7, 8
#: Bodies that take longer, in seconds, are timed by single turns.
_LONG = 100e-6


@dataclasses.dataclass(frozen=True)
class Ways:
    """A loop's functions, and what they need.

    Parameters
    ----------
    loop : ast.For or ast.While
    state : tuple of str
        What they take and return.
    raw, plain : function or None
        The loop driven by Python, and the loop as the user wrote it.
    asked : frozenset of str
        Names that Python computes with, so that they can't be tensors.
    lists : frozenset of str
        Names that have to be lists: the loop appends to them.
    regions : mapping of str to (Region, int)
        By their names in the code, with the number of names that each assigns to.
    nests : sequence of NestRunner
    """

    loop: ast.For | ast.While
    state: tuple[str, ...]
    raw: Callable[..., Any] | None
    plain: Callable[..., Any] | None
    asked: frozenset[str]
    lists: frozenset[str]
    regions: dict[str, tuple[Region, int]]
    nests: Sequence[NestRunner]


class TurnRunner:
    """One loop of a split function.

    Parameters
    ----------
    ways : Ways
    on_choice : callable
        Is told who runs the loop, and why.
    """

    def __init__(self, ways: Ways, on_choice: Callable[[str, str], None]) -> None:
        self.ways = ways
        self.on_choice = on_choice
        self.factories: dict[str, dict[Seen, Factory]] | None = None
        self.troubles = 0
        self.watched = 0
        self.pause, self.rest = _FIRST_PAUSE, 0
        self.chosen: bool | None = None  # Whether on tensors; None: not known yet.
        self.best = {True: math.inf, False: math.inf}  # The shortest turns so far, in seconds.
        self.is_over = False

    def __call__(self, iterable: Iterable[Any] = ()) -> Turns:
        """Begin to go over something."""
        return Turns(self, iter(iterable))

    # -- What may run it ------------------------------------------------------

    def is_ready(self, turns: Turns) -> bool:
        """Whether enough is known to run further turns some other way."""
        if self.is_over or (operator.length_hint(turns.it, _FEW + 1) <= _FEW and not turns.counts):
            turns.wait = math.inf
            return False
        if any(nest.is_taken() for nest in self.ways.nests):
            self.is_over = True
            return False
        regions = [region for region, _ in self._regions]
        if any(region.may_choose and not region.was_timed for region in regions):
            return False
        if self._may_stay and self.factories is None:
            return self._watch(regions)
        self.is_over = not (self._may_stay or self._may_be_plain)
        return not self.is_over

    @property
    def _may_stay(self) -> bool:
        return self.ways.raw is not None and self.troubles < _PATIENCE

    @property
    def _may_be_plain(self) -> bool:
        every = all(region.may_choose for region, _ in self._regions)
        return self.ways.plain is not None and every

    @property
    def _wakes_threads(self) -> bool:
        """Whether NumPy's BLAS may use threads."""
        return any(region.wakes_threads for region, _ in self._regions)

    @property
    def _regions(self) -> Collection[tuple[Region, int]]:
        return self.ways.regions.values()

    @property
    def _compilations(self) -> int:
        return sum(region.engine.compilations for region, _ in self._regions)

    def _watch(self, regions: Sequence[Region]) -> bool:
        """Look at a turn's calls, to make the same ones on tensors."""
        if any(region.seen is None for region in regions):
            for region in regions:
                region.watches = True
            self.watched += 1
            if self.watched < _WATCHED:
                return False
            self.troubles = _PATIENCE
            return self._may_be_plain
        self.factories = {name: {} for name in self.ways.regions}
        if not all(r.seen and self._learn(n, r.seen) for n, (r, _) in self.ways.regions.items()):
            self.troubles, self.factories = _PATIENCE, None
        for region in regions:
            region.watches, region.seen = False, None
        return self._may_stay or self._may_be_plain

    def _learn(self, name: str, call: Seen) -> bool:
        """Have calls of a region made on tensors that are like one of it."""
        region, outputs = self.ways.regions[name]
        if self.factories is None:
            return False
        kinds = self.factories[name]
        if call in kinds or len(kinds) >= _MOST_KINDS:
            return False
        try:
            kinds[call] = make_raw(call, region.engine.spec, outputs)
        except CannotStayError:
            return False
        return True

    # -- Running it -----------------------------------------------------------

    def run(self, turns: Turns, values: Sequence[Any]) -> Sequence[Any]:
        """Run turns until there are none or something is to be measured again."""
        both = self._may_stay and self._may_be_plain
        if both and (self.chosen is None or self.rest <= 0):
            values = self._compare(turns, values)
            if self.chosen and self._wakes_threads:
                for region, _ in self._regions:
                    region.stay_compiled()
                both = False
            elif self.chosen is not None:
                self.rest, self.pause = self.pause, min(4 * self.pause, 2**20)
        elif self.chosen is None:
            self.chosen = self._may_stay
            if self.chosen or all(region.is_in_numpy for region, _ in self._regions):
                self._note("")
            else:  # Python goes on calling the regions, of which each may change its way.
                self.chosen, turns.wait = None, turns.count + _FIRST_PAUSE
                return values
        if turns.is_done:
            return values
        stays = self._may_stay and self.chosen is not False
        if not both and not stays:
            return self._in_numpy(turns, values)
        values, _ = self._go(turns, values, max(self.rest, 1) if both else None, stays)
        self.rest -= turns.done
        return values

    def _in_numpy(self, turns: Turns, values: Sequence[Any]) -> Sequence[Any]:
        """Run turns in NumPy for a while, then let the regions be timed anew."""
        values, _ = self._go(turns, values, self.pause, stays=False)
        if not turns.is_done:
            self.chosen, self.pause = None, min(4 * self.pause, 2**20)
            for region, _ in self._regions:
                region.time_again()
        return values

    def _compare(self, turns: Turns, values: Sequence[Any]) -> Sequence[Any]:
        """Time some turns both ways, and choose.

        An execution may end before both ways are timed: the next one goes on with what's missing.
        """
        best, wakes = self.best, self._wakes_threads
        order: Sequence[bool] = (True, False, False, True)
        if wakes:  # As long as NumPy's threads spin, compiled code can't be timed again.
            order = [stays for stays in (True, False) if best[stays] == math.inf]
        if wakes and self.chosen is None and any(r.is_in_numpy for r, _ in self._regions):
            time.sleep(_SPIN)
        for stays in order:
            if wakes and not stays:
                time.sleep(_REST)
            for count in (_WAKING if wakes else 1, 1, _SEVERAL):
                values, seconds = self._go(turns, values, count, stays)
                is_last = turns.is_done or turns.has_run_out
                if count != _WAKING or is_last:
                    best[stays] = min(best[stays], seconds)
                if is_last or not self._may_stay or (count == 1 and seconds > _LONG):
                    break
            if is_last or not self._may_stay:
                break
        if max(best.values()) < math.inf:
            # NumPy's threads would be in the way of compiled code.
            clearly = best[True] < MARGIN * best[False]
            self.chosen = clearly if wakes else not best[False] < MARGIN * best[True]
            self._note(f"{best[self.chosen] * 1e6:.3g} µs a turn, "
                       f"{'NumPy' if self.chosen else 'compiled'} "
                       f"{best[not self.chosen] * 1e6:.3g} µs")  # fmt: skip
            self.best = {True: math.inf, False: math.inf}
        return values

    def _note(self, detail: str) -> None:
        self.on_choice("compiled body" if self.chosen else "NumPy", detail)
        for region, _ in self._regions:
            region.on_choice("")

    def _go(
        self, turns: Turns, values: Sequence[Any], budget: int | None, stays: bool
    ) -> tuple[Sequence[Any], float]:
        """Run so many turns one way; also give the seconds that one took, if none was compiled."""
        compiled = self._compilations
        turns.begin(budget)
        if stays:
            values, seconds = self._on_tensors(turns, values)
        else:
            assert self.ways.plain is not None
            turns.stay = None
            start = time.perf_counter()
            values = self.ways.plain(turns, turns.some, *values)
            seconds = time.perf_counter() - start
        turns.end(budget)
        says_nothing = not turns.done or self._compilations != compiled
        return values, math.inf if says_nothing else seconds / turns.done

    def _on_tensors(self, turns: Turns, values: Sequence[Any]) -> tuple[Sequence[Any], float]:
        stay = Stay(values)
        asked, lists = self.ways.asked, self.ways.lists
        given = dict(zip(self.ways.state, values, strict=True))
        unfit = any(
            isinstance(value, np.ndarray) and name in asked for name, value in given.items()
        )
        unfit = unfit or not all(type(given.get(name)) is list for name in lists)
        if unfit or stay.is_unfit or self.factories is None:
            self.troubles = _PATIENCE
            turns.broke = False
            return values, math.inf
        turns.stay = stay
        calls = [self._call(stay, name, kinds) for name, kinds in self.factories.items()]
        assert self.ways.raw is not None
        start = time.perf_counter()
        found = self.ways.raw(turns, turns.some, stay.left, *calls, *stay.tensors)
        seconds = time.perf_counter() - start
        if stay.left:
            self.troubles = self.troubles + 1 if seconds < _WORTH else 0
        if turns.returns:
            turns.result = map_arrays(turns.result, stay.array)
        return [stay.array(value) for value in found], seconds

    def _call(self, stay: Stay, name: str, kinds: dict[Seen, Factory]) -> Callable[..., Any]:
        """Return what calls a region's code: each kind leaves to the next one what it can't do."""
        slow, failed = stay.ways_out(
            self.ways.regions[name][0], functools.partial(self._learn, name)
        )
        runs: list[Callable[..., Any]] = []

        def add(kind: Factory) -> None:
            place = len(runs) + 1

            def otherwise(args: Sequence[Any]) -> Any:
                if place < len(runs):
                    return runs[place](*args)
                result = slow(args)
                for learnt in list(kinds.values())[place:]:
                    add(learnt)
                return result

            runs.append(kind(stay.left, otherwise, failed))

        for kind in kinds.values():
            add(kind)
        return runs[0]


class Turns:
    """One execution of a loop.

    Attributes
    ----------
    it : iterator
        Gives the items; for a ``while`` it has none.
    broke : bool
        Whether the loop was left by ``break`` in what ran last.
    returns : bool
        Whether it was left by ``return``, with `result`.
    values : sequence
        The loop's variables.
    """

    def __init__(self, runner: TurnRunner, it: Any) -> None:
        self.runner = runner
        self.it = it
        self.counts = isinstance(runner.ways.loop, ast.While)
        self.wait: float = 1
        self.count = 0
        self.broke = self.returns = False
        self.result: Any = None
        self.values: Sequence[Any] = ()
        self.left = self.done = 0
        self.some: Any = it
        self.known = -1
        self.ended = False
        self.is_done = False
        self.stay: Stay | None = None

    def shown(self, value: Any) -> Any:
        """Return what the user's own code is to see of a value."""
        return value if self.stay is None else self.stay.array(value)

    def due(self) -> bool:
        """Whether `go` has something to do after this turn."""
        self.count += 1
        return self.count >= self.wait and self.runner.is_ready(self)

    def go(self, *values: Any) -> None:
        """Run further turns; take the loop's variables and leave them in `values`."""
        self.values = self.runner.run(self, values)

    def begin(self, budget: int | None) -> None:
        """Be ready for so many turns, or for all."""
        self.left = self.start = -1 if budget is None else budget
        self.ended = False
        self.known = operator.length_hint(self.it, -1)
        if budget is None or self.counts:
            self.some = self.it
        elif self.known < 0:
            self.some = itertools.islice(_Counted(self), budget)
        else:
            self.some = itertools.islice(self.it, budget)

    @property
    def has_run_out(self) -> bool:
        """Whether the condition of a ``while`` is false after what ran last."""
        return self.counts and self.left > 0 and not (self.stay is not None and self.stay.left)

    def end(self, budget: int | None) -> None:
        """Note how many turns were run."""
        if self.known >= 0 and not self.counts:
            now = operator.length_hint(self.it, 0)
            self.ended = not now
            self.left = self.start - (self.known - now)
        self.is_done = self.broke or self.ended or self.returns
        self.done = 0 if budget is None else self.start - self.left


class _Counted:
    """Items of a loop, counted."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns

    def __iter__(self) -> Any:
        turns = self.turns
        for item in turns.it:
            turns.left -= 1
            yield item
            if not turns.left:
                return
        turns.ended = True


class Stay:
    """The arrays of a loop's variables as tensors, while it runs on those.

    Attributes
    ----------
    left : list of str
        Why the loop is to be left at the end of the turn.
    is_unfit : bool
        Whether the variables can't be tensors.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.left: list[str] = []
        self._tensors: dict[int, tuple[Any, torch.Tensor]] = {}
        self._arrays: dict[int, tuple[torch.Tensor, Any]] = {}
        arrays = {id(v): v for v in values if isinstance(v, np.ndarray)}
        found = list(arrays.values())
        self.is_unfit = any(
            type(a) is not np.ndarray or how_converted(a) != "direct" for a in found
        ) or has_overlap(found, range(len(found)))
        self.tensors = [] if self.is_unfit else [self.tensor(value) for value in values]

    def tensor(self, value: Any) -> Any:
        """An array as the tensor that stands for it; other values as they are."""
        if type(value) is not np.ndarray or how_converted(value) != "direct":
            return value
        if id(value) not in self._tensors:
            made = torch.from_numpy(value)
            self._tensors[id(value)] = value, made
            self._arrays[id(made)] = made, value
        return self._tensors[id(value)][1]

    def array(self, value: Any) -> Any:
        """A tensor as the array that it stands for, or as a new one."""
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._arrays:
            made = value.numpy()
            self._arrays[id(value)] = value, made
            self._tensors[id(made)] = made, value
        return self._arrays[id(value)][1]

    def ways_out(
        self, region: Region, learn: Callable[[Seen], bool]
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return what calls a region as usual, and what does so after an error.

        Parameters
        ----------
        region : Region
        learn : callable
            Says whether the next call like the one given needn't come here.
        """

        def tensors(result: Any) -> Any:
            if type(result) is tuple:
                return tuple(map(self.tensor, result))
            return self.tensor(result)

        def slow(args: Sequence[Any]) -> Any:
            values = [self.array(value) for value in args]
            if self.left:
                return tensors(region(*values))
            result, call = region.watched(values)
            if call is None or not learn(call):
                self.left.append("a value is of another kind")
            return tensors(result)

        def failed(failure: CompiledCodeError, args: Sequence[Any]) -> Any:
            self.left.append("an error")
            values = [self.array(value) for value in args]
            return tensors(fallback.after_error(region.engine.spec, failure, values))

        return slow, failed


__all__ = ["TurnRunner", "Turns", "Ways"]
