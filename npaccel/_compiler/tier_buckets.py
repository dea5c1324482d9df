"""Buckets: calls with similar arguments, and who makes them.

Each bucket goes through the tiers that `npaccel._compiler.tiers` names: NumPy's calls until
compiling pays, calls while it's compiled, both ways timed, and the faster one.
"""

from __future__ import annotations

import math
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from npaccel._compiler import brief
from npaccel._compiler.call_kinds import Key, is_separate, makes_wide
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import background, logs
from npaccel._process.imports import load
from npaccel._report.log import Tier
from npaccel._runtime import options as runtime_options
from npaccel._runtime.kinds import WIDE_CODES, as_kinds, kinds_of
from npaccel._runtime.options import Scope
from npaccel._syntax.wide_reach import NarrowReach, is_flat

if TYPE_CHECKING:
    from npaccel._compiler.verdicts import Verdict, Verdicts

#: Makes a call: takes its arguments by position and by keyword.
Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]
#: Seconds that a compilation is taken to last before one has been made.
_USUAL_SECONDS = 3.0
#: Seconds that loading what is on disk is taken to last; such calls of NumPy's aren't even begun.
_LOAD_SECONDS, _LONG_CALL = 0.03, 0.03
#: Number of times that the price doubles for what NumPy did faster in an earlier process.
_WAS_SLOWER = 3
#: The share of it after which NumPy's calls are summed up.
_LOOK_SHARE = 0.02
#: Maximum of those seconds, for a compilation that took longer.
_LONGEST = 30.0
#: Number of calls of each way that are timed before one is chosen, and if both are about as fast.
_FEWEST = 3
_CLOSE_SAMPLES = 9
#: Calls that take less, in seconds, are shorter than those of compiled code.
_BRIEF, _BRIEF_OF_NUMBERS = 3e-6, 6e-6
#: Calls that take less are timed once in so many: a clock would take a share of them.
_SHORT, _SHORT_CALLS = 50e-6, 8
#: Number of calls after which it's said that they are short.
_BRIEF_CALLS = 100
#: Seconds after which it's looked for the first time what calls take.
_FIRST_LOOK = 1e-3
#: A way that takes less than this of the other's time is faster without a doubt.
_CLEARLY = 0.7
#: A compiled call that takes less than this of what NumPy took before needs no trial.
_BEYOND_DOUBT = 0.25
#: Seconds and share of NumPy's time by which calls have to be slower beside the compilation, until
#: they wait for it: both need Python's interpreter.
_HELD_UP, _HELD_UP_SHARE = 0.05, 0.2
#: The share of the time that goes into timing both again.
_RETRY_SHARE = 1 / 50
#: Multiple of the price that calls may take until one compiles nothing.
_PATIENCE = 3
#: Number of compiled calls after which it's looked whether all are compiled.
_NOTED_CALLS = 64

_set_scope, _reset_scope = runtime_options._scope.set, runtime_options._scope.reset
#: Seconds that the last compilations have taken.
_prices: deque[float] = deque(maxlen=16)


def price() -> float:
    """Return how many seconds compiling a function is likely to take."""
    return float(np.median(_prices)) if _prices else _USUAL_SECONDS


def note_price(seconds: float) -> None:
    """Note how long compiling a function has taken."""
    _prices.append(min(max(seconds, 0.1), _LONGEST))


class Owner(Protocol):
    """A function whose calls go into buckets: a `npaccel._compiler.tiers.Tiered`."""

    spec: FunctionSpec
    function: types.FunctionType
    rent: float
    narrow_scope: Scope
    exact_scope: Scope
    python: Callable[..., Any]
    deciding: threading.RLock

    def dispatcher(self, is_exact: bool) -> Any:
        """Return what compiles the function."""

    def is_as_numpy(self, values: Sequence[Any]) -> bool:
        """Whether a call has NumPy's dtypes throughout."""

    def reaches_wide(self, values: Sequence[Any]) -> bool:
        """Whether a call narrows no floats."""

    def has_to_compile(self, values: Sequence[Any]) -> bool:
        """Whether NumPy can't make a call as the compiled function would."""

    def price(self) -> float:
        """Return how many seconds NumPy may take before the next bucket is compiled."""

    def verdicts(self) -> Verdicts | None:
        """Return the function's verdicts on disk."""

    def note_settled(self) -> None:
        """Have calls go straight to the compiled function, if that makes all of them."""

    def note_brief(self, bucket: Bucket) -> bool:
        """Have calls of a bucket go straight to the function; return whether they do."""

    def note_long(self) -> None:
        """Have calls that were brief come to their buckets again."""


class Bucket:
    """Calls of one function with similar arguments.

    Parameters
    ----------
    owner : Owner
    key : tuple
        What such calls have in common.
    values : sequence
        Of a call, of all parameters.
    is_warm : bool
        Whether the function has been compiled for them.
    """

    #: Makes a call: takes its arguments by position and by keyword.
    call: Call

    def __init__(self, owner: Owner, key: Key, values: Sequence[Any], *, is_warm: bool) -> None:
        self.owner = owner
        self.key = key
        self.is_exact = owner.is_as_numpy(values)
        self.scope = owner.exact_scope if self.is_exact else owner.narrow_scope
        self.tier = Tier(owner.spec.describe(values))
        #: The last times of calls, in seconds.
        self.numpys: deque[float] = deque(maxlen=_CLOSE_SAMPLES)
        self.compileds: deque[float] = deque(maxlen=_CLOSE_SAMPLES)
        #: Seconds that calls have taken in this state, and after how many something is decided.
        self.spent = 0.0
        self.limit = 0.0
        #: Whether NumPy makes calls, and nothing is to be done besides.
        self.is_numpys = False
        #: Number of calls for each one that is timed.
        self._calls_for_one = 1
        #: Seconds of all calls of NumPy's until compiling paid.
        self._seconds = 0.0
        self._is_slower = False
        #: Verdict of an earlier process, as far as that is known.
        self._verdict: Verdict | None = None
        #: Types and dtypes that compiled code gives, where NumPy's are others.
        self._kinds: Any = None
        #: The dtype, where it is one array.
        self._dtype: np.dtype[Any] | None = None
        #: Whether NumPy's answers are cast to those, and what says that they may be.
        self.casts = False
        self._reach: NarrowReach | None = None
        #: Whether arguments like these can't have come to lead to 64-bit floats.
        self._is_flat = False
        self._count = 0
        #: Seconds that calls may wait for compiling yet.
        self._credit = 0.0
        #: Seconds of NumPy's calls beside the compilation, and of as many before it.
        self._beside, self._before = 0.0, 0.0
        #: Seconds of one before it, on average.
        self._usual = 0.0
        self._failures = 0
        self._graphs = 0
        self._dispatcher: Any = None
        self._has_arrays = any(isinstance(value, np.ndarray) for value in values)
        owner.spec.log.add_tier(self.tier)
        if is_warm or owner.has_to_compile(values):
            self.be_compiled("compiled")
        else:
            self._begin_as_known()

    def _begin_as_known(self) -> None:
        """Begin with what earlier processes have found."""
        verdicts = self.owner.verdicts()
        self._verdict = known = None if verdicts is None else verdicts.find(self.key)
        if known is not None and not known.is_compiled:
            self._failures = _WAS_SLOWER
        if self.is_exact:
            self._rent()
            if known is not None and known.is_compiled and known.numpy > _LONG_CALL:
                self._begin()
        elif known is not None and known.is_compiled:
            # NumPy's first call would only show which floats it invents.
            self.tier.compiled, self.tier.numpy = known.compiled, known.numpy
            self.be_compiled("compiled")
        else:
            self._go_on("numpy", self._first_call)

    def _note_verdict(self, compiled: float, numpy: float) -> None:
        """Keep for later processes which way is the faster, where that isn't kept already."""
        verdicts, known = self.owner.verdicts(), self._verdict
        if verdicts is None or (known is not None and known.is_compiled == (compiled <= numpy)):
            return
        self._verdict = verdicts.store(self.key, compiled, numpy)

    def _price(self) -> float:
        """Return how many seconds NumPy may take before this is compiled, or loaded."""
        price = self.owner.price()
        if self._failures:
            return float(price * 2**self._failures)
        is_kept = self._verdict is not None and self._verdict.is_compiled
        return min(price, _LOAD_SECONDS) if is_kept else price

    def leave(self, state: str) -> None:
        """Have NumPy make the calls for good."""
        self._rent()
        self.limit = math.inf
        self.tier.state = state

    def be_compiled(self, state: str) -> None:
        """Have the compiled function make the calls."""
        self._dispatcher = self.owner.dispatcher(self.is_exact)
        self._end_brief()
        self.tier.state = state
        self._go_on("compiled", self._compiled)

    def _go_on(self, way: str, call: Call) -> None:
        self.way, self.call = way, call
        self.spent = 0.0
        self._count = 0
        self._time_all()
        self.is_numpys = call == self._answer

    def in_numpy(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in NumPy, and time it."""
        token = _set_scope(self.scope)
        start = time.perf_counter()
        try:
            return self.owner.python(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - start
            _reset_scope(token)
            self.numpys.append(seconds)
            self.spent += seconds
            self.tier.counted += 1

    def note_time(self, seconds: float) -> None:
        """Note what a call in NumPy has taken, for those as well that weren't timed since."""
        if seconds > _SHORT:
            self._calls_for_one = 1
        calls = self._calls_for_one
        self.spent += calls * seconds
        self.tier.counted += calls
        self.tier.untimed = calls - 1
        if self.spent >= self.limit:
            self.pay()

    def _time_all(self) -> None:
        """Have each call timed from now on."""
        self._calls_for_one = 1
        self.tier.counted, self.tier.untimed = self.tier.calls, 0

    # -- NumPy's calls, until compiling pays ---------------------------------------

    def _is_brief(self) -> bool:
        """Whether calls are shorter than those of compiled code."""
        calls, seconds = self.tier.calls, self._seconds + self.spent
        limit = _BRIEF if self._has_arrays else _BRIEF_OF_NUMBERS
        return calls >= _BRIEF_CALLS and seconds < limit * calls

    def _end_brief(self) -> None:
        """Have calls come here that went straight to the function, if they did."""
        if self.tier.state == brief.STATE:
            self.owner.note_long()

    def _rent(self) -> None:
        self.limit = _FIRST_LOOK
        self.tier.state = brief.STATE_AFTER
        self._is_slower = False
        self._go_on("numpy", self._answer)

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in NumPy, whose result has the dtypes of compiled code."""
        if self.casts and self.meets_wide(args, kwargs):
            return self.call(args, kwargs)
        result = self.in_numpy(args, kwargs)
        return result if self.is_exact else self.as_compiled(result)

    def meets_wide(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call may meet 64-bit floats, as earlier ones didn't; then it's compiled."""
        assert self._reach is not None
        if not self._reach.is_left(() if self._is_flat else (*args, *kwargs.values())):
            return False
        with self.owner.deciding:
            self.be_compiled("compiled, as 64-bit floats have come to where it reads")
        return True

    def as_compiled(self, result: Any) -> Any:
        """Return what NumPy has computed with the dtypes of compiled code."""
        if type(result) is np.ndarray:
            if result.dtype.char not in WIDE_CODES:
                return result
            if self._dtype is not None:
                return result.astype(self._dtype, copy=False)
        if self.casts:
            return as_kinds(result, self._kinds)
        if makes_wide(result):  # The calls before this one did without.
            self.be_compiled("compiled, as NumPy's floats may be other than compiled code's")
        return result

    def pay(self) -> None:
        """Look whether calls have taken long enough for compiling to pay."""
        with self.owner.deciding:
            if self.is_numpys and self.spent >= self.limit:  # As another thread has left it.
                self._pay()

    def _pay(self) -> None:
        if self._is_slower:  # What calls take may have changed.
            self._compare()
            return
        owner = self.owner
        self.limit = min(2 * self.limit, _LOOK_SHARE * price())
        if self._is_brief() and owner.note_brief(self):
            self.tier.state = brief.STATE
        owner.rent += self.spent
        self._seconds += self.spent
        if self._seconds < _SHORT * self.tier.calls:
            self._calls_for_one = _SHORT_CALLS
        self.spent = 0.0
        if self._paid() >= self._price():
            self._begin()

    def _paid(self) -> float:
        """Return how many seconds NumPy has taken that count for compiling these calls."""
        return self.owner.rent

    def _begin(self) -> None:
        logs.compile.debug("%s: is worth compiling: %s", self.owner.spec.name, self.tier.signature)
        self._end_brief()
        self._dispatcher = self.owner.dispatcher(self.is_exact)
        self.owner.rent = 0.0
        self._graphs = len(self.owner.spec.log.graphs)
        self.compileds.clear()
        self.tier.state = "being compiled"
        self._credit = price()
        self._beside = self._before = 0.0
        self._usual = self._seconds / max(self.tier.calls, 1)
        if self._verdict is None or not self._verdict.is_compiled:  # It isn't on disk.
            self._dispatcher.get_ready()
        self._go_on("building", self._building)

    # -- Compiled calls, until they are compiled -----------------------------------

    def _building(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.casts and self.meets_wide(args, kwargs):
            return self.call(args, kwargs)
        if self._credit > 0 and self._is_held_up() and not background.is_idle():
            start = time.perf_counter()
            background.wait(self._credit)
            self._credit -= time.perf_counter() - start
        if not background.is_idle() or self._credit < 0:
            before = self.spent
            try:
                return self._answer(args, kwargs)
            finally:
                seconds = self.spent - before
                self._credit += seconds
                self._beside += seconds
                self._before += self._usual
                self._seconds += seconds
                self.spent = before
        start = time.perf_counter()
        try:
            result = self._dispatcher(args, kwargs)
        finally:
            seconds = time.perf_counter() - start
            if background.is_idle():
                self._note_build(seconds)
        return self._as_before(result) if self.casts else result

    def _is_held_up(self) -> bool:
        """Whether NumPy's calls and the helper thread keep each other waiting."""
        lost = self._beside - self._before
        return lost > max(_HELD_UP, _HELD_UP_SHARE * self._before)

    def _as_before(self, result: Any) -> Any:
        """Return a compiled call's result with the dtypes of earlier ones, which NumPy made.

        They're others where the function runs in parts, of which one meets NumPy's floats.
        """
        found = as_kinds(result, self._kinds)
        if found is not result:
            with self.owner.deciding:
                self.leave("NumPy's, as compiled code gives other dtypes")
        return found

    def _note_build(self, seconds: float) -> None:
        with self.owner.deciding:
            if self.way == "building":
                self.spent += seconds
                self._credit -= seconds
                self.compileds.append(seconds)
                self._look_at_build()

    def _look_at_build(self) -> None:
        """Decide whether calls still compile something, by how long they take."""
        fastest, numpys = min(self.compileds), self._seconds / max(self.tier.calls, 1)
        if len(self.compileds) >= _FEWEST and self.compileds[-1] <= max(numpys, 2 * fastest):
            waited = self.spent - len(self.compileds) * fastest
            built = self.owner.spec.log.graphs[self._graphs :]
            note_price(waited + sum(graph.seconds for graph in built if not graph.loaded))
            if self.compileds[-1] < _BEYOND_DOUBT * self._usual:
                self._choose_compiled(fastest, self._usual)
            else:
                self._compare()
        elif self.spent > _PATIENCE * 2**self._failures * (price() + numpys):
            self._failures += 1
            self._note_verdict(self.spent / len(self.compileds), numpys)
            self._rent()
            self.tier.state = "NumPy's for now, as compiled calls went on compiling"

    # -- Both, timed -----------------------------------------------------------------

    def _compare(self) -> None:
        self.numpys.clear()
        self.compileds.clear()
        self._go_on("trial", self._trial)

    def _trial(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call the way that was timed less."""
        if self.casts and self.meets_wide(args, kwargs):
            return self.call(args, kwargs)
        if len(self.numpys) < len(self.compileds):
            try:
                return self._answer(args, kwargs)
            finally:
                with self.owner.deciding:
                    if self.way == "trial" and self.numpys and self.compileds:
                        self._decide()
        start = time.perf_counter()
        try:
            return self._dispatcher(args, kwargs)
        finally:
            self.compileds.append(time.perf_counter() - start)

    def _decide(self) -> None:
        compiled, numpy = min(self.compileds), min(self.numpys)
        samples = len(self.numpys)
        is_close = _CLEARLY < compiled / numpy < 1 / _CLEARLY
        if samples < _FEWEST or (is_close and samples < _CLOSE_SAMPLES):
            return
        if compiled <= numpy:
            self._choose_compiled(compiled, numpy)
            return
        self._note_times(compiled, numpy)
        self.limit = max(samples * compiled / _RETRY_SHARE, price())
        self.tier.state = "NumPy's, which is faster"
        self._is_slower = True
        self._go_on("numpy", self._answer)

    def _choose_compiled(self, compiled: float, numpy: float) -> None:
        self._note_times(compiled, numpy)
        self.be_compiled("compiled")
        self.owner.note_settled()

    def _note_times(self, compiled: float, numpy: float) -> None:
        self.tier.compiled, self.tier.numpy = compiled, numpy
        logs.compile.debug(
            "%s: %.3g s compiled, %.3g s in NumPy: %s",
            self.owner.spec.name, compiled, numpy, self.tier.signature,
        )  # fmt: skip
        self._note_verdict(compiled, numpy)

    # -- What was chosen -------------------------------------------------------------

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start = time.perf_counter()
        result = self._dispatcher(args, kwargs)
        self.spent += time.perf_counter() - start
        self._count += 1
        if self._count >= _NOTED_CALLS:
            self._look_back()
        return result

    def _look_back(self) -> None:
        """Look whether compiled calls are as fast as when they were chosen."""
        with self.owner.deciding:
            if self.way != "compiled" or not self._count:
                return
            mean, self.spent, self._count = self.spent / self._count, 0.0, 0
            # Each call may compile another one.
            if self.tier.numpy and mean > self.tier.numpy / _CLEARLY:
                self._failures += 1
                self._rent()
            else:
                self.owner.note_settled()

    # -- Calls in which floats may be narrowed ---------------------------------------

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in NumPy, and again compiled where NumPy's floats would be narrowed."""
        owner = self.owner
        values = owner.spec.binding.bind(args, kwargs)
        snapshot = load("npaccel._compiler.snapshot").Snapshot(owner.function, values)
        if snapshot.irreversible:
            self.be_compiled("compiled, as NumPy's floats may be other than compiled code's")
            return self.call(args, kwargs)
        result = self.in_numpy(args, kwargs)
        reaches_wide = owner.reaches_wide(values)
        if not reaches_wide and not makes_wide(result):
            self._rent()
            return result
        can_be_cast = not reaches_wide and is_separate(result)
        if can_be_cast:
            module = load("npaccel._compiler.invented_floats")
            kinds = module.narrowed_kinds(owner.function, values, result)
            if kinds is not None:
                self._cast_to(kinds, values)
                return as_kinds(result, kinds)
        snapshot.restore()
        self.be_compiled("compiled, as NumPy's floats are other than compiled code's")
        compiled = self.call(args, kwargs)
        if can_be_cast:
            self._cast_to(kinds_of(compiled), values)
        return compiled

    def _cast_to(self, kinds: Any, values: Sequence[Any]) -> None:
        """Have NumPy make calls, whose answers are cast."""
        self._kinds, self.casts = kinds, True
        self._dtype = kinds[1] if type(kinds) is tuple and kinds[0] is True else None
        self._is_flat = all(map(is_flat, values))
        self._reach = NarrowReach(self.owner.function)
        self._rent()


class SettledBucket(Bucket):
    """Calls of which it's known who makes them: with Dask arrays or DTensors, or long lists.

    Parameters
    ----------
    owner : Owner
    runner : callable
        Makes a call with bound values.
    """

    def __init__(self, owner: Owner, runner: Callable[[Sequence[Any]], Any]) -> None:
        # As of a bucket that is settled.
        self.is_numpys, self.way = False, "compiled"
        self.spec = owner.spec
        self._run = runner
        self.call = self._elsewhere

    def be_compiled(self, state: str) -> None:
        """Do nothing: NumPy makes no such call."""

    def _elsewhere(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._run(self.spec.binding.bind(args, kwargs))
