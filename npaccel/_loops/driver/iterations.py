"""Run the iterations of a loop: by its regions, all at once on tensors, or in NumPy.

All variants give the same. `LoopScheduler` goes through these states::

    by regions -> profile the regions' calls -> time both variants -> run the faster one
                                                      ^                      |
                                                      +----------------------+
                                                  after 256, 1024, 4096, ... iterations

The first iterations call the regions, one by one. What is timed are iterations that are needed
anyway; they are timed again because sizes may change. Where only one variant is possible, it runs
the rest untimed.
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
from npaccel._loops.driver.tensor_calls import (
    Factory,
    NotOnTensorsError,
    ObservedCall,
    make_tensor_call,
)
from npaccel._loops.nests.nest_runner import NestRunner
from npaccel._runtime.arguments import conversion_of, map_arrays
from npaccel._runtime.error_translation import CompiledCodeError
from npaccel._runtime.outputs import has_overlap

#: Maximum number of runs on tensors that soon end in the middle; then they aren't tried again.
_MAX_FAILURES = 3
#: Seconds after which a run on tensors was worth its start.
_WORTHWHILE = 2e-3
#: Maximum number of kinds of calls of one region that are made on tensors: the first and the last
#: iterations of a loop often differ from those between.
_MAX_KINDS = 8
#: Maximum number of iterations that are profiled: some may take a branch for the first time.
_MAX_PROFILED = 32
#: Maximum number of iterations left for which another variant isn't worth it.
_FEWEST = 3
#: Iterations until both variants are timed again, at first.
_FIRST_INTERVAL = 256
#: Seconds after a call until OpenMP's threads sleep; until then they keep BLAS's from their work.
_OPENMP_SLEEP = 5e-3
#: Seconds that BLAS's threads spin, which keeps OpenMP's from their work.
_BLAS_SPIN = 0.12
#: Iterations in which BLAS's or OpenMP's threads wake; iterations that are timed together.
_WAKE_UP, _BATCH = 7, 8
#: Seconds; bodies that take longer are timed by single iterations.
_SLOW = 100e-6


@dataclasses.dataclass(frozen=True)
class LoopVariants:
    """The functions that can run a loop, and what they need.

    Parameters
    ----------
    loop : ast.For or ast.While
    state : tuple of str
        What they take and return.
    on_tensors, in_numpy : function or None
        The loop on tensors, driven by Python, and the loop as the user wrote it.
    host_reads : frozenset of str
        Names that Python computes with, so that they can't be tensors.
    lists : frozenset of str
        Names that have to be lists: the loop appends to them.
    regions : mapping of str to (Region, int)
        By their names in the code, with the number of names that each assigns to.
    nests : sequence of NestRunner
    """

    loop: ast.For | ast.While
    state: tuple[str, ...]
    on_tensors: Callable[..., Any] | None
    in_numpy: Callable[..., Any] | None
    host_reads: frozenset[str]
    lists: frozenset[str]
    regions: dict[str, tuple[Region, int]]
    nests: Sequence[NestRunner]


class LoopScheduler:
    """Decide who runs the iterations of one loop of a split function.

    Parameters
    ----------
    variants : LoopVariants
    on_choice : callable
        Called with who runs the loop, and why.
    """

    def __init__(self, variants: LoopVariants, on_choice: Callable[[str, str], None]) -> None:
        self.variants = variants
        self.on_choice = on_choice
        self.factories: dict[str, dict[ObservedCall, Factory]] | None = None
        self.failures = 0
        self.profiled = 0
        self.interval, self.remaining = _FIRST_INTERVAL, 0
        self.chosen: bool | None = None  # Whether on tensors; None: not known yet.
        self.best = {True: math.inf, False: math.inf}  # Seconds of the shortest iterations.
        self.is_over = False

    def __call__(self, iterable: Iterable[Any] = ()) -> LoopExecution:
        """Begin an execution of the loop."""
        return LoopExecution(self, iter(iterable))

    # -- What may run it ------------------------------------------------------

    def is_ready(self, execution: LoopExecution) -> bool:
        """Whether enough is known to run further iterations by another variant."""
        is_short = (
            not execution.is_while and operator.length_hint(execution.it, _FEWEST + 1) <= _FEWEST
        )
        if self.is_over or is_short:
            execution.next_check = math.inf
            return False
        if any(nest.is_taken() for nest in self.variants.nests):
            self.is_over = True
            return False
        regions = [region for region, _ in self._regions]
        if any(region.dispatcher.is_pending() for region in regions):
            return False
        if any(region.may_choose and not region.was_timed for region in regions):
            return False
        if self._can_use_tensors and self.factories is None:
            return self._profile(regions)
        self.is_over = not (self._can_use_tensors or self._can_use_numpy)
        return not self.is_over

    @property
    def _can_use_tensors(self) -> bool:
        return self.variants.on_tensors is not None and self.failures < _MAX_FAILURES

    @property
    def _can_use_numpy(self) -> bool:
        every = all(region.may_choose for region, _ in self._regions)
        return self.variants.in_numpy is not None and every

    @property
    def _wakes_threads(self) -> bool:
        """Whether NumPy's BLAS may use threads."""
        return any(region.wakes_threads for region, _ in self._regions)

    @property
    def _regions(self) -> Collection[tuple[Region, int]]:
        return self.variants.regions.values()

    @property
    def _compilations(self) -> int:
        return sum(region.dispatcher.compilations for region, _ in self._regions)

    def _profile(self, regions: Sequence[Region]) -> bool:
        """Observe an iteration's calls, to make the same ones on tensors."""
        if any(region.observed is None for region in regions):
            for region in regions:
                region.observes = True
            self.profiled += 1
            if self.profiled < _MAX_PROFILED:
                return False
            self.failures = _MAX_FAILURES
            return self._can_use_numpy
        found = {name: region for name, (region, _) in self.variants.regions.items()}
        # Others see it once it's whole: a loop may run in several threads.
        factories: dict[str, dict[ObservedCall, Factory]] = {name: {} for name in found}
        if all(r.observed and self._add(factories[n], n, r.observed) for n, r in found.items()):
            self.factories = factories
        else:
            self.failures, self.factories = _MAX_FAILURES, None
        for region in regions:
            region.observes, region.observed = False, None
        return self._can_use_tensors or self._can_use_numpy

    def _learn(self, name: str, call: ObservedCall) -> bool:
        """Have calls of a region made on tensors that are like one of it."""
        factories = self.factories
        return factories is not None and self._add(factories[name], name, call)

    def _add(self, kinds: dict[ObservedCall, Factory], name: str, call: ObservedCall) -> bool:
        """Add what makes calls of a region on tensors that are like one of it."""
        region, outputs = self.variants.regions[name]
        if call in kinds or len(kinds) >= _MAX_KINDS:
            return False
        try:
            kinds[call] = make_tensor_call(call, region.dispatcher.spec, outputs)
        except NotOnTensorsError:
            return False
        return True

    # -- Running it -----------------------------------------------------------

    def run(self, execution: LoopExecution, values: Sequence[Any]) -> Sequence[Any]:
        """Run iterations until there are none or something is to be measured again."""
        both = self._can_use_tensors and self._can_use_numpy
        if both and (self.chosen is None or self.remaining <= 0):
            values = self._compare(execution, values)
            if self.chosen and self._wakes_threads:
                for region, _ in self._regions:
                    region.keep_compiled()
                both = False
            elif self.chosen is not None:
                self.remaining, self.interval = self.interval, min(4 * self.interval, 2**20)
        elif self.chosen is None:
            self.chosen = self._can_use_tensors
            if self.chosen or all(region.is_in_numpy for region, _ in self._regions):
                self._note("")
            else:  # Python goes on calling the regions, of which each may change to NumPy.
                self.chosen, execution.next_check = None, execution.count + _FIRST_INTERVAL
                return values
        if execution.is_done:
            return values
        on_tensors = self._can_use_tensors and self.chosen is not False
        if not both and not on_tensors:
            return self._in_numpy(execution, values)
        budget = max(self.remaining, 1) if both else None
        values, _ = self._run_some(execution, values, budget, on_tensors)
        self.remaining -= execution.done
        return values

    def _in_numpy(self, execution: LoopExecution, values: Sequence[Any]) -> Sequence[Any]:
        """Run iterations in NumPy for a while, then have the regions timed again."""
        values, _ = self._run_some(execution, values, self.interval, on_tensors=False)
        if not execution.is_done:
            self.chosen, self.interval = None, min(4 * self.interval, 2**20)
            for region, _ in self._regions:
                region.time_again()
        return values

    def _compare(self, execution: LoopExecution, values: Sequence[Any]) -> Sequence[Any]:
        """Time some iterations of both variants, and choose.

        An execution may end before both are timed: the next one goes on with what's missing.
        """
        best, wakes = self.best, self._wakes_threads
        order: Sequence[bool] = (True, False, False, True)
        if wakes:  # As long as NumPy's threads spin, compiled code can't be timed again.
            order = [on_tensors for on_tensors in (True, False) if best[on_tensors] == math.inf]
        if wakes and self.chosen is None and any(r.is_in_numpy for r, _ in self._regions):
            time.sleep(_BLAS_SPIN)
        for on_tensors in order:
            if wakes and not on_tensors:
                time.sleep(_OPENMP_SLEEP)
            for count in (_WAKE_UP if wakes else 1, 1, _BATCH):
                values, seconds = self._run_some(execution, values, count, on_tensors)
                is_last = execution.is_done or execution.has_run_out
                if count != _WAKE_UP or is_last:
                    best[on_tensors] = min(best[on_tensors], seconds)
                if is_last or not self._can_use_tensors or (count == 1 and seconds > _SLOW):
                    break
            if is_last or not self._can_use_tensors:
                break
        if max(best.values()) < math.inf:
            # NumPy's threads would be in the way of compiled code.
            clearly = best[True] < MARGIN * best[False]
            self.chosen = clearly if wakes else not best[False] < MARGIN * best[True]
            self._note(f"{best[self.chosen] * 1e6:.3g} µs per iteration, "
                       f"{'NumPy' if self.chosen else 'compiled'} "
                       f"{best[not self.chosen] * 1e6:.3g} µs")  # fmt: skip
            self.best = {True: math.inf, False: math.inf}
        return values

    def _note(self, detail: str) -> None:
        self.on_choice("compiled body" if self.chosen else "NumPy", detail)
        for region, _ in self._regions:
            region.on_choice("")

    def _run_some(
        self, execution: LoopExecution, values: Sequence[Any], budget: int | None, on_tensors: bool
    ) -> tuple[Sequence[Any], float]:
        """Run up to `budget` iterations by one variant.

        Returns
        -------
        values : sequence
        seconds : float
            Of one iteration; infinity where something was compiled.
        """
        compiled = self._compilations
        execution.begin(budget)
        if on_tensors:
            values, seconds = self._on_tensors(execution, values)
        else:
            assert self.variants.in_numpy is not None
            execution.residency = None
            start = time.perf_counter()
            values = self.variants.in_numpy(execution, execution.items, *values)
            seconds = time.perf_counter() - start
        execution.end(budget)
        says_nothing = not execution.done or self._compilations != compiled
        return values, math.inf if says_nothing else seconds / execution.done

    def _on_tensors(
        self, execution: LoopExecution, values: Sequence[Any]
    ) -> tuple[Sequence[Any], float]:
        residency = TensorResidency(values)
        host_reads, lists = self.variants.host_reads, self.variants.lists
        given = dict(zip(self.variants.state, values, strict=True))
        unfit = any(
            isinstance(value, np.ndarray) and name in host_reads for name, value in given.items()
        )
        unfit = unfit or not all(type(given.get(name)) is list for name in lists)
        factories = self.factories
        if unfit or residency.is_unfit or factories is None:
            self.failures = _MAX_FAILURES
            execution.broke = False
            return values, math.inf
        execution.residency = residency
        calls = [self._call(residency, name, kinds) for name, kinds in factories.items()]
        assert self.variants.on_tensors is not None
        start = time.perf_counter()
        found = self.variants.on_tensors(
            execution, execution.items, residency.exits, *calls, *residency.tensors
        )
        seconds = time.perf_counter() - start
        if residency.exits:
            self.failures = self.failures + 1 if seconds < _WORTHWHILE else 0
        if execution.returns:
            execution.result = map_arrays(execution.result, residency.array)
        return [residency.array(value) for value in found], seconds

    def _call(
        self, residency: TensorResidency, name: str, kinds: dict[ObservedCall, Factory]
    ) -> Callable[..., Any]:
        """Return what calls a region's code: each kind leaves to the next one what it can't do."""
        slow, failed = residency.fallbacks(
            self.variants.regions[name][0], functools.partial(self._learn, name)
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

            runs.append(kind(residency.exits, otherwise, failed))

        for kind in list(kinds.values()):
            add(kind)
        return runs[0]


class LoopExecution:
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

    def __init__(self, runner: LoopScheduler, it: Any) -> None:
        self.runner = runner
        self.it = it
        self.is_while = isinstance(runner.variants.loop, ast.While)
        self.next_check: float = 1
        self.count = 0
        self.broke = self.returns = False
        self.result: Any = None
        self.values: Sequence[Any] = ()
        self.remaining = self.done = 0
        self.items: Any = it
        self.hint = -1
        self.ended = False
        self.is_done = False
        self.residency: TensorResidency | None = None

    def shown(self, value: Any) -> Any:
        """Return what the user's own code is to see of a value."""
        return value if self.residency is None else self.residency.array(value)

    def should_switch(self) -> bool:
        """Whether another variant may run the iterations after this one."""
        self.count += 1
        return self.count >= self.next_check and self.runner.is_ready(self)

    def continue_with(self, *values: Any) -> None:
        """Run further iterations; take the loop's variables and leave them in `values`."""
        self.values = self.runner.run(self, values)

    def begin(self, budget: int | None) -> None:
        """Be ready for `budget` iterations, or for all."""
        self.remaining = self.start = -1 if budget is None else budget
        self.ended = False
        self.hint = operator.length_hint(self.it, -1)
        if budget is None or self.is_while:
            self.items = self.it
        elif self.hint < 0:
            self.items = itertools.islice(_Counted(self), budget)
        else:
            self.items = itertools.islice(self.it, budget)

    @property
    def has_run_out(self) -> bool:
        """Whether the condition of a ``while`` is false after what ran last."""
        exits = self.residency.exits if self.residency is not None else ()
        return self.is_while and self.remaining > 0 and not exits

    def end(self, budget: int | None) -> None:
        """Note how many iterations were run."""
        if self.hint >= 0 and not self.is_while:
            now = operator.length_hint(self.it, 0)
            self.ended = not now
            self.remaining = self.start - (self.hint - now)
        self.is_done = self.broke or self.ended or self.returns
        self.done = 0 if budget is None else self.start - self.remaining


class _Counted:
    """Items of a loop, counted."""

    def __init__(self, execution: LoopExecution) -> None:
        self.execution = execution

    def __iter__(self) -> Any:
        execution = self.execution
        for item in execution.it:
            execution.remaining -= 1
            yield item
            if not execution.remaining:
                return
        execution.ended = True


class TensorResidency:
    """The arrays of a loop's variables, which stay tensors while it runs.

    Attributes
    ----------
    exits : list of str
        Why the loop is to be left at the end of the iteration.
    is_unfit : bool
        Whether the variables can't be tensors.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.exits: list[str] = []
        self._tensors: dict[int, tuple[Any, torch.Tensor]] = {}
        self._arrays: dict[int, tuple[torch.Tensor, Any]] = {}
        arrays = {id(v): v for v in values if isinstance(v, np.ndarray)}
        found = list(arrays.values())
        self.is_unfit = any(
            type(a) is not np.ndarray or conversion_of(a) != "direct" for a in found
        ) or has_overlap(found, range(len(found)))
        self.tensors = [] if self.is_unfit else [self.tensor(value) for value in values]

    def tensor(self, value: Any) -> Any:
        """An array as the tensor that stands for it; other values as they are."""
        if type(value) is not np.ndarray or conversion_of(value) != "direct":
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

    def fallbacks(
        self, region: Region, learn: Callable[[ObservedCall], bool]
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
            if self.exits:
                return tensors(region(*values))
            result, call = region.observed_call(values)
            if call is None or not learn(call):
                self.exits.append("a value is of another kind")
            return tensors(result)

        def failed(failure: CompiledCodeError, args: Sequence[Any]) -> Any:
            self.exits.append("an error")
            values = [self.array(value) for value in args]
            return tensors(fallback.after_error(region.dispatcher.spec, failure, values))

        return slow, failed


__all__ = ["LoopExecution", "LoopScheduler", "LoopVariants"]
