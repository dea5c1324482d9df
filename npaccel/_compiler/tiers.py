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
import threading
import time
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npaccel._compiler import fallback, recursion
from npaccel._compiler.brief import Brief, holds_objects
from npaccel._compiler.call_kinds import (
    NUMBERS,
    Key,
    has_to_compile,
    kind,
    without_defaults,
)
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.tier_buckets import Bucket, SettledBucket, price
from npaccel._process import fork
from npaccel._process.imports import load
from npaccel._report import Log
from npaccel._runtime import options as runtime_options
from npaccel._runtime.options import Options, Scope
from npaccel._syntax import wide_data
from npaccel._syntax.wide_reach import reaches_wide

if TYPE_CHECKING:
    from npaccel._compiler.verdicts import Verdicts

#: The share of the price that another bucket of a compiled function may take, which may need none.
_KNOWN_SHARE = 0.1
#: Maximum number of buckets of one function.
_MAX_BUCKETS = 512

_set_scope, _reset_scope = runtime_options._scope.set, runtime_options._scope.reset


class Tiered:
    """A function under ``compile="auto"``.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log
    scope : Scope
        In which it's called.
    make_dispatcher : callable
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
        make_dispatcher: Callable[[types.FunctionType, Options, Log], Any],
        settle: Callable[[Tiered, Any], None],
    ) -> None:
        self.spec = FunctionSpec(function, options, log)
        self.function = function
        self._make_dispatcher = make_dispatcher
        self._settle = settle
        self._dispatchers: dict[bool, Any] = {}
        self._verdicts: Verdicts | None = None
        self.buckets: dict[Key, Bucket] = {}
        #: Seconds that NumPy has taken for calls since something was compiled.
        self.rent = 0.0
        #: Maker of brief calls, and whether such have become long.
        self._brief: Brief | None = None
        self._is_long = False
        # Scopes of its own: this function's calls of itself stay in Python, other jitted functions
        # have tiers of their own.
        self.narrow_scope = Scope(scope.options, disabled=False)
        self.exact_scope = Scope({**scope.options, "default_float": "float64"}, disabled=False)
        #: Makes calls in NumPy.
        self.python = recursion.without_detours(function)
        #: Makes this function's calls of itself.
        self.plain = Plain(self.spec)
        #: Lock of whoever changes what makes calls.
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
        if not bucket.is_numpys or (bucket.casts and bucket.meets_wide(args, kwargs)):
            return bucket.call(args, kwargs)
        # What `Bucket.in_numpy` does, without frames of its own: a call may take a microsecond.
        token = _set_scope(bucket.scope)
        if (tier := bucket.tier).untimed > 0:
            tier.untimed -= 1
            try:
                result = self.python(*args, **kwargs)
            finally:
                _reset_scope(token)
        else:
            start = time.perf_counter()
            try:
                result = self.python(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - start
                _reset_scope(token)
                bucket.note_time(seconds)
        return result if bucket.is_exact else bucket.as_compiled(result)

    def dispatcher(self, is_exact: bool) -> Any:
        """Return what compiles the function: with NumPy's dtypes, or as the options say."""
        with self.deciding:
            if is_exact not in self._dispatchers:
                options = dataclasses.replace(self.spec.options, compile="behind")
                if is_exact:
                    options = dataclasses.replace(options, default_float="float64")
                dispatcher = self._make_dispatcher(self.function, options, self.spec.log)
                dispatcher.on_new = self._ask_again
                self._dispatchers[is_exact] = dispatcher
            return self._dispatchers[is_exact]

    def dispatcher_for(self, values: Sequence[Any]) -> Any:
        """Return what compiles a call with bound values."""
        return self.dispatcher(self.is_as_numpy(values))

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
            or reaches_wide(self.function, values)
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
        return bool(self.dispatcher_for(values).narrows(values))

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the compiled function with bound values, which then makes such calls."""
        result = self.dispatcher_for(values).run_unverified(values)
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
            runner = fallback.settled_runner(self.spec, values) if found is None else None
            if runner is not None:
                found = SettledBucket(self, runner)
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
            if ways == {"compiled"} and len(self._dispatchers) == 1:
                self._settle(self, *self._dispatchers.values())

    def note_brief(self, bucket: Bucket) -> bool:
        """Have calls of a bucket go straight to the function: a clock takes as long.

        Returns whether they do.
        """
        if self._is_long or self._dispatchers:
            return False
        if self._brief is not None and self._brief.key == bucket.key:
            return True
        calls_jitted = wide_data.reaches_jitted(self.function)
        made = Brief(
            *(self, bucket.key, bucket.tier),
            scope=bucket.scope if calls_jitted or holds_objects(bucket.key) else None,
            finish=None if bucket.is_exact else bucket.as_compiled,
            meets_wide=bucket.meets_wide if bucket.casts else None,
        )
        if made.is_general or made.has_method:
            self._brief = made
            self._settle(self, made)
        return made.is_general or made.has_method

    def note_long(self) -> None:
        """Have calls come here again for good: they were brief, and aren't."""
        self._is_long, self._brief = True, None
        self._settle(self, self)

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


def dispatcher_of(dispatcher: Any, values: Sequence[Any]) -> Any:
    """Return what compiles a call, where that has tiers."""
    return dispatcher.dispatcher_for(values) if isinstance(dispatcher, Tiered) else dispatcher


def has_tiers(options: Options) -> bool:
    """Whether calls under options have tiers."""
    return (
        options.compile == "auto"
        and options.backend == "inductor"
        and options.device in (None, "cpu")
        and options.rng == "numpy"
        and not (options.strict or options.verify)
    )


__all__ = ["Plain", "Tiered", "dispatcher_of", "has_tiers"]
