"""Tiered calls: NumPy makes them until compiling pays, then the faster of both does.

With ``compile="auto"`` a `Tiered` stands before what compiles a function. It puts calls into
buckets, of similar arguments, and each bucket goes through these tiers:

1. NumPy makes the calls, until they have taken as long as compiling is likely to take: renting pays
   until the rent has reached the price.
2. The function is compiled, beside the program where that can be, and its calls are timed.
3. The faster of both makes the calls from then on. The other one is tried again rarely, so that it
   takes at most a fiftieth of the time.

Which one it was is kept on disk, beside the compiled code: for a later process the price is that of
loading it, and what NumPy did faster isn't compiled again soon.

NumPy's answers have the dtypes of compiled code, or it isn't asked: a call that may meet 64-bit
floats narrows none (`npaccel._syntax.wide_data.reaches_wide`), and of another one the first answer
shows whether NumPy invents any.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npaccel._compiler import recursion
from npaccel._compiler.call_kinds import (
    NUMBERS,
    Key,
    has_to_compile,
    is_irreversible,
    is_separate,
    kind,
    makes_wide,
    without_defaults,
)
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import background, fork, logs
from npaccel._process.imports import load
from npaccel._report import Log
from npaccel._report.log import Tier
from npaccel._runtime import foreign_arrays
from npaccel._runtime import options as runtime_options
from npaccel._runtime.kinds import as_kinds, kinds_of
from npaccel._runtime.options import Options, Scope
from npaccel._syntax import wide_data

if TYPE_CHECKING:
    from npaccel._compiler.verdicts import Verdict, Verdicts

#: Makes a call: takes its arguments by position and by keyword.
Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]

#: Seconds that a compilation is taken to last before one has been made.
_USUAL_SECONDS = 3.0
#: The share of it that another bucket of a compiled function may take, which may need none.
_KNOWN_SHARE = 0.1
#: Seconds that loading what is on disk is taken to last; such calls of NumPy's aren't even begun.
_LOAD_SECONDS, _LONG_CALL = 0.03, 0.03
#: How many times the price doubles for what NumPy did faster in an earlier process.
_WAS_SLOWER = 3
#: The share of it after which NumPy's calls are summed up.
_LOOK_SHARE = 0.02
#: Maximum of it, for a compilation that took longer.
_LONGEST = 30.0
#: Number of calls of each way that are timed before one is chosen, and if both are about as fast.
_FEWEST = 3
_CLOSE_SAMPLES = 9
#: Calls that take less, in seconds, are shorter than those of compiled code.
_BRIEF, _BRIEF_OF_NUMBERS = 3e-6, 6e-6
#: Number of calls after which that is said, and of elements of arrays that it's said of.
_BRIEF_CALLS, _BRIEF_SIZE = 100, 64
#: After how many seconds it's looked for the first time what calls take.
_FIRST_LOOK = 1e-3
#: A way that takes less than this of the other's time is faster without a doubt.
_CLEARLY = 0.7
#: The share of the time that goes into timing both again.
_RETRY_SHARE = 1 / 50
#: How many times the price calls may take until one compiles nothing.
_PATIENCE = 3
#: After how many compiled calls it's looked whether all are compiled.
_NOTED_CALLS = 64
#: Maximum number of buckets of one function.
_MAX_BUCKETS = 512
#: Types of arguments of brief calls, but for small arrays.
_BRIEF_TYPES = NUMBERS | {np.float64, np.float32, np.int64, np.int32, np.bool_}

_set_scope, _reset_scope = runtime_options._scope.set, runtime_options._scope.reset
#: What the last compilations have taken, in seconds.
_prices: deque[float] = deque(maxlen=16)


def price() -> float:
    """Return how many seconds compiling a function is likely to take."""
    return float(np.median(_prices)) if _prices else _USUAL_SECONDS


def note_price(seconds: float) -> None:
    """Note how long compiling a function has taken."""
    _prices.append(min(max(seconds, 0.1), _LONGEST))


class Tiered:
    """A function under ``compile="auto"``.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log
    scope : Scope
        In which it's called.
    make_engine : callable
        Returns what compiles the function under options.
    settle : callable
        Is given this object, and what makes its calls without asking it: itself where it has to
        be asked again.
    """

    def __init__(
        self,
        function: types.FunctionType,
        options: Options,
        log: Log,
        scope: Scope,
        make_engine: Callable[[types.FunctionType, Options, Log], Any],
        settle: Callable[[Tiered, Any], None],
    ) -> None:
        self.spec = FunctionSpec(function, options, log)
        self.function = function
        self._make_engine = make_engine
        self._settle = settle
        self._engines: dict[bool, Any] = {}
        self._verdicts: Verdicts | None = None
        self.buckets: dict[Key, Bucket] = {}
        #: Seconds that NumPy has taken for calls since something was compiled.
        self.rent = 0.0
        # Scopes of its own: this function's calls of itself stay in Python, other jitted functions
        # have tiers of their own.
        self.narrow_scope = Scope(scope.options, disabled=False)
        self.exact_scope = Scope({**scope.options, "default_float": "float64"}, disabled=False)
        #: Makes calls in NumPy.
        self.python = recursion.without_detours(function)
        #: Makes this function's calls of itself.
        self.plain = Plain(self.spec)
        #: Is held by who changes what makes calls.
        self.deciding = threading.RLock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self.deciding = threading.RLock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        key = kind(args) if not kwargs else (kind(args), *kwargs, kind(kwargs.values()))
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self._new(key, self.spec.binding.bind(args, kwargs))
        if not bucket.is_numpys:
            return bucket.call(args, kwargs)
        # What `Bucket.in_numpy` does, without frames of its own: a call may take a microsecond.
        token = _set_scope(bucket.scope)
        start = time.perf_counter()
        try:
            result = self.python(*args, **kwargs)
        finally:
            bucket.spent += time.perf_counter() - start
            _reset_scope(token)
            bucket.tier.calls += 1
            if bucket.spent >= bucket.limit:
                bucket.pay()
        return result if bucket.is_exact else bucket.as_compiled(result)

    def engine(self, is_exact: bool) -> Any:
        """Return what compiles the function: with NumPy's dtypes, or as the options say."""
        with self.deciding:
            if is_exact not in self._engines:
                options = dataclasses.replace(self.spec.options, compile="behind")
                if is_exact:
                    options = dataclasses.replace(options, default_float="float64")
                engine = self._make_engine(self.function, options, self.spec.log)
                engine.on_new = self._ask_again
                self._engines[is_exact] = engine
            return self._engines[is_exact]

    def engine_for(self, values: Sequence[Any]) -> Any:
        """Return what compiles a call with bound values."""
        return self.engine(self.is_as_numpy(values))

    def is_as_numpy(self, values: Sequence[Any]) -> bool:
        """Whether a call has NumPy's dtypes throughout."""
        if self.spec.options.narrow_inputs:
            return False
        return self.reaches_wide(values) or (
            all(type(value) in NUMBERS for value in values)
            and wide_data.is_of_numbers(self.function)
        )

    def reaches_wide(self, values: Sequence[Any]) -> bool:
        """Whether a call narrows no floats, as it may meet 64-bit ones."""
        return (
            self.spec.options.default_float == "float64"
            or self.spec.has_wide(values)
            or wide_data.reaches_wide(self.function, values)
        )

    def price(self) -> float:
        """Return how many seconds NumPy may take for calls before the next bucket is compiled."""
        is_known = any(bucket.way == "compiled" for bucket in list(self.buckets.values()))
        return price() * (_KNOWN_SHARE if is_known else 1)

    def verdicts(self) -> Verdicts | None:
        """Return the function's verdicts on disk; None where nothing is kept there."""
        if self._verdicts is None and self.spec.options.cache:
            self._verdicts = load("npaccel._compiler.verdicts").Verdicts(self.spec)
        return self._verdicts

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one."""
        return bool(self.engine_for(values).narrows(values))

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the compiled function with bound values, which then makes such calls."""
        result = self.engine_for(values).run_unverified(values)
        args = tuple(values)
        for some in (args, without_defaults(self.function, args)):
            bucket = self.buckets.get(kind(some))
            if bucket is None:
                self._new(kind(some), values, is_warm=True)
            else:
                bucket.be_compiled("compiled")
        self.note_settled()
        return result

    def _new(self, key: Key, values: Sequence[Any], *, is_warm: bool = False) -> Bucket:
        with self.deciding:
            found = self.buckets.get(key)
            if found is None:  # By keyword, perhaps, what was compiled for arguments by position.
                same = self.buckets.get(kind(values))
                found = same if same is not None and same.way == "compiled" else None
            if found is None and foreign_arrays.are_among(values):
                found = ForeignBucket(self, values)
            if found is None:
                found = self.make_bucket(key, values, is_warm=is_warm)
            if len(self.buckets) < _MAX_BUCKETS:
                self.buckets[key] = found
            return found

    def make_bucket(self, key: Key, values: Sequence[Any], *, is_warm: bool) -> Bucket:
        """Return a bucket for another kind of calls."""
        return Bucket(self, key, values, is_warm=is_warm)

    def has_to_compile(self, values: Sequence[Any]) -> bool:
        """Whether NumPy can't make a call as the compiled function would."""
        return has_to_compile(self.spec.options, values)

    def note_settled(self) -> None:
        """Have calls go straight to the compiled function, if that makes all of them."""
        with self.deciding:
            ways = {bucket.way for bucket in self.buckets.values()}
            if ways == {"compiled"} and len(self._engines) == 1:
                self._settle(self, *self._engines.values())

    def note_brief(self) -> bool:
        """Have calls of small arguments go straight to the function: a clock takes as long.

        Returns whether they do.
        """
        if self._engines or wide_data.reaches_jitted(self.function):
            return False
        self._settle(self, Brief(self))
        return True

    def _ask_again(self) -> None:
        """Have calls come here again: there is one of another signature."""
        self._settle(self, self)


class Plain:
    """A function in NumPy's tier that is called from its own calls: they go on in Python.

    Parameters
    ----------
    spec : FunctionSpec
    """

    __slots__ = ("function", "spec")

    def __init__(self, spec: FunctionSpec) -> None:
        self.spec = spec
        self.function = spec.function

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the function with bound values."""
        return self.spec.binding.call(values)


class Brief:
    """A function whose calls are shorter than those of compiled code, for small arguments.

    Parameters
    ----------
    owner : Tiered
        Makes calls with other arguments.
    """

    __slots__ = ("function", "owner", "spec")

    def __init__(self, owner: Tiered) -> None:
        self.owner = owner
        self.spec = owner.spec
        self.function = owner.python

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        for value in args:
            of = type(value)
            if of not in _BRIEF_TYPES and (of is not np.ndarray or value.size > _BRIEF_SIZE):
                return self.owner(args, kwargs)
        return self.function(*args) if not kwargs else self.owner(args, kwargs)


class Bucket:
    """Calls of one function with similar arguments.

    Parameters
    ----------
    owner : Tiered
    key : tuple
        What such calls have in common.
    values : sequence
        Of a call, of all parameters.
    is_warm : bool
        Whether the function has been compiled for them.
    """

    #: Makes a call: takes its arguments by position and by keyword.
    call: Call

    def __init__(self, owner: Tiered, key: Key, values: Sequence[Any], *, is_warm: bool) -> None:
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
        #: Seconds of all calls of NumPy's until compiling paid.
        self._seconds = 0.0
        self._is_slower = False
        #: What an earlier process has found, as far as that is known.
        self._verdict: Verdict | None = None
        #: Types and dtypes that compiled code gives, where NumPy's are others.
        self._kinds: Any = None
        self._count = 0
        #: Seconds that calls may wait for compiling yet.
        self._credit = 0.0
        self._failures = 0
        self._graphs = 0
        self._engine: Any = None
        self._has_arrays = any(isinstance(value, np.ndarray) for value in values)
        owner.spec.log.add_tier(self.tier)
        if is_warm or owner.has_to_compile(values):
            self.be_compiled("compiled")
        elif not self.is_exact and is_irreversible(owner.function):
            self.be_compiled("compiled, as NumPy's floats may be other than compiled code's")
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
        self._engine = self.owner.engine(self.is_exact)
        self.tier.state = state
        self._go_on("compiled", self._compiled)

    def _go_on(self, way: str, call: Call) -> None:
        self.way, self.call = way, call
        self.spent = 0.0
        self._count = 0
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
            self.tier.calls += 1

    # -- NumPy's calls, until compiling pays ---------------------------------------

    def _is_brief(self) -> bool:
        """Whether calls are shorter than those of compiled code."""
        calls, seconds = self.tier.calls, self._seconds + self.spent
        limit = _BRIEF if self._has_arrays else _BRIEF_OF_NUMBERS
        return self.is_exact and calls >= _BRIEF_CALLS and seconds < limit * calls

    def _rent(self) -> None:
        self.limit = _FIRST_LOOK
        self.tier.state = "NumPy's so far"
        self._is_slower = False
        self._go_on("numpy", self._answer)

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in NumPy, whose result has the dtypes of compiled code."""
        result = self.in_numpy(args, kwargs)
        return result if self.is_exact else self.as_compiled(result)

    def as_compiled(self, result: Any) -> Any:
        """Return what NumPy has computed with the dtypes of compiled code."""
        if self._kinds is not None:
            return as_kinds(result, self._kinds)
        if makes_wide(result):  # The calls before this one did without.
            self.be_compiled("compiled, as NumPy's floats may be other than compiled code's")
        return result

    def pay(self) -> None:
        """Look whether calls have taken so much that compiling pays by now."""
        with self.owner.deciding:
            if self.is_numpys and self.spent >= self.limit:  # As another thread has left it.
                self._pay()

    def _pay(self) -> None:
        if self._is_slower:  # What calls take may have changed.
            self._compare()
            return
        owner = self.owner
        self.limit = min(2 * self.limit, _LOOK_SHARE * price())
        if self._is_brief() and owner.note_brief():
            self.tier.state = "NumPy's, as calls are shorter than those of compiled code"
        owner.rent += self.spent
        self._seconds += self.spent
        self.spent = 0.0
        if self._paid() >= self._price():
            self._begin()

    def _paid(self) -> float:
        """Return how many seconds NumPy has taken that count for compiling these calls."""
        return self.owner.rent

    def _begin(self) -> None:
        logs.compile.debug("%s: is worth compiling: %s", self.owner.spec.name, self.tier.signature)
        self._engine = self.owner.engine(self.is_exact)
        self.owner.rent = 0.0
        self._graphs = len(self.owner.spec.log.graphs)
        self.compileds.clear()
        self.tier.state = "being compiled"
        self._credit = price()
        if self._verdict is None or not self._verdict.is_compiled:  # It isn't on disk.
            self._engine.get_ready()
        self._go_on("building", self._building)

    # -- Compiled calls, until they are compiled -----------------------------------

    def _building(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not background.is_idle() or self._credit < 0:
            before = self.spent
            try:
                return self._answer(args, kwargs)
            finally:
                self._credit += self.spent - before
                self._seconds += self.spent - before
                self.spent = before
        start = time.perf_counter()
        try:
            return self._engine(args, kwargs)
        finally:
            seconds = time.perf_counter() - start
            if background.is_idle():
                self._note_build(seconds)

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
        if len(self.numpys) < len(self.compileds):
            try:
                return self._answer(args, kwargs)
            finally:
                with self.owner.deciding:
                    if self.way == "trial" and self.numpys and self.compileds:
                        self._decide()
        start = time.perf_counter()
        try:
            return self._engine(args, kwargs)
        finally:
            self.compileds.append(time.perf_counter() - start)

    def _decide(self) -> None:
        compiled, numpy = min(self.compileds), min(self.numpys)
        samples = len(self.numpys)
        is_close = _CLEARLY < compiled / numpy < 1 / _CLEARLY
        if samples < _FEWEST or (is_close and samples < _CLOSE_SAMPLES):
            return
        self.tier.compiled, self.tier.numpy = compiled, numpy
        logs.compile.debug(
            "%s: %.3g s compiled, %.3g s in NumPy: %s",
            self.owner.spec.name, compiled, numpy, self.tier.signature,
        )  # fmt: skip
        self._note_verdict(compiled, numpy)
        if compiled <= numpy:
            self.be_compiled("compiled")
            self.owner.note_settled()
            return
        self.limit = max(samples * compiled / _RETRY_SHARE, price())
        self.tier.state = "NumPy's, which is faster"
        self._is_slower = True
        self._go_on("numpy", self._answer)

    # -- What was chosen -------------------------------------------------------------

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start = time.perf_counter()
        result = self._engine(args, kwargs)
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
        result = self.in_numpy(args, kwargs)
        reaches_wide = owner.reaches_wide(values)
        if not reaches_wide and not makes_wide(result):
            self._rent()
            return result
        can_be_cast = not reaches_wide and is_separate(result)
        snapshot.restore()
        self.be_compiled("compiled, as NumPy's floats are other than compiled code's")
        compiled = self.call(args, kwargs)
        if can_be_cast:
            self._kinds = kinds_of(compiled)
            self._rent()
        return compiled


class ForeignBucket(Bucket):
    """Calls with Dask arrays or DTensors, which NumPy doesn't compute.

    Parameters
    ----------
    owner : Tiered
    values : sequence
        The arguments of one call.
    """

    def __init__(self, owner: Tiered, values: Sequence[Any]) -> None:
        # As of a bucket that is settled.
        self.is_numpys, self.way = False, "compiled"
        self.spec = owner.spec
        self._run = foreign_arrays.runner(owner.spec, values)
        self.call = self._elsewhere

    def be_compiled(self, state: str) -> None:
        """Do nothing: NumPy makes no such call."""

    def _elsewhere(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._run(self.spec.binding.bind(args, kwargs))


def compiler_of(engine: Any, values: Sequence[Any]) -> Any:
    """Return what compiles a call, where that has tiers."""
    return engine.engine_for(values) if isinstance(engine, Tiered) else engine


def has_tiers(options: Options) -> bool:
    """Whether calls under options have tiers."""
    return (
        options.compile == "auto"
        and options.backend == "inductor"
        and options.device in (None, "cpu")
        and options.rng == "numpy"
        and not (options.strict or options.verify)
    )


__all__ = ["Plain", "Tiered", "compiler_of", "has_tiers"]
