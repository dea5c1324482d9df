"""Call a region that runs many times: compiled, or in NumPy where that is measured faster.

Compiled code takes some microseconds to call. A body that computes on a few
elements is done sooner by NumPy. Which one is the faster is measured on calls
that are needed anyway, and again after 64, 128, 256, ... calls, because sizes
may change.
"""

from __future__ import annotations

import dis
import time
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

import numpy as np

from npaccel._compiler.dispatcher import NO_KEYWORDS
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.driver.tensor_calls import ObservedCall, observe
from npaccel._runtime.arguments import device_of
from npaccel._runtime.kinds import as_kinds, kinds_of

#: Number of calls of each that are timed; the shortest counts.
_ROUNDS = 3
#: Number of them where threads of BLAS and OpenMP have to wake first, which takes the first six;
#: fewer of NumPy's if it's slower by more than this factor.
_ROUNDS_OF_THREADS, _FAR = 10, 4
#: NumPy has to be faster by this factor.
MARGIN = 0.9
#: Calls until both are timed again, at first.
_FIRST_INTERVAL = 64
#: Names under which NumPy calls BLAS.
_BLAS = frozenset({"dot", "vdot", "inner", "tensordot", "matmul", "einsum", "linalg"})
#: Number of elements from which on NumPy is tried once only, if it isn't the faster one: BLAS's
#: threads spin for 0.1 s after each call, which starves those of compiled code.
_MANY = 1 << 16
_RANDOM = frozenset({"random", "rng", "default_rng", "RandomState", "Generator", "shuffle"})


class Runnable(Protocol):
    """Callable of a region: a `Dispatcher`, or a split function."""

    spec: FunctionSpec
    compilations: int
    last: Any

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
        """Call it."""

    def is_pending(self) -> bool:
        """Whether calls are answered otherwise until something is compiled."""


class Region:
    """A compiled region, called once per iteration.

    Parameters
    ----------
    dispatcher : Runnable
    on_choice : callable
        Called with what runs it and why, in a line, and with "" when only compiled code will.
    unit : str
        What a call of it is, in words.
    """

    def __init__(
        self, dispatcher: Runnable, on_choice: Callable[[str], None], unit: str = "iteration"
    ) -> None:
        self.dispatcher = dispatcher
        self._function = dispatcher.spec.function
        self.on_choice = on_choice
        self.unit = unit
        self.interval = _FIRST_INTERVAL
        self.chosen: Callable[..., Any] = self._compiled
        self.countdown = 1
        self.times: dict[bool, list[float]] = {False: [], True: []}
        self.kinds: Any = None
        self.may_choose = may_run_in_numpy(dispatcher)
        self.multiplies = _multiplies(dispatcher.spec.function.__code__)
        #: Whether NumPy's BLAS may use threads, so that it isn't tried again and again.
        self.wakes_threads = False
        #: Whether both were timed; whether calls are noted in `observed`.
        self.was_timed = self.observes = False
        self.observed: ObservedCall | None = None

    def __call__(self, *args: Any) -> Any:
        """Run the region."""
        self.countdown -= 1
        if self.countdown:
            return self.chosen(*args)
        return self._measured(args)

    @property
    def is_in_numpy(self) -> bool:
        """Whether NumPy was found to be faster."""
        return self.chosen == self._in_numpy

    def _compiled(self, *args: Any) -> Any:
        result = self.dispatcher(args, NO_KEYWORDS)
        if self.observes and self.dispatcher.last is not None and not self.dispatcher.is_pending():
            self.observed = observe(self.dispatcher.last, args, self.dispatcher.spec.varying)
        return result

    def observed_call(self, args: Sequence[Any]) -> tuple[Any, ObservedCall | None]:
        """Run it, and describe the call, if that's possible."""
        self.observes, self.observed = True, None
        try:
            return self(*args), self.observed
        finally:
            self.observes, self.observed = False, None

    def _in_numpy(self, *args: Any) -> Any:
        if self.observes or device_of(args) is not None:
            return self._compiled(*args)
        return self._function(*args)

    def _measured(self, args: tuple[Any, ...]) -> Any:
        """Time a call of one or the other; choose when both were timed."""
        self.countdown = 1
        if device_of(args) is not None:  # NumPy doesn't compute on tensors.
            self.keep_compiled()
            return self._compiled(*args)
        if self.multiplies and any(isinstance(a, np.ndarray) and a.size >= _MANY for a in args):
            self.wakes_threads = True
        in_numpy = self._is_numpy_next()
        if in_numpy and not self.times[True]:
            self.on_choice(f"in NumPy for single {self.unit}s, which are timed")
        before = self.dispatcher.compilations
        start = time.perf_counter()
        result = self._function(*args) if in_numpy else self._compiled(*args)
        seconds = time.perf_counter() - start
        if self.dispatcher.compilations == before:  # A call that compiles says nothing.
            self.times[in_numpy].append(seconds)
        if not in_numpy:
            self.kinds = kinds_of(result)
            self.may_choose = self.may_choose and device_of([result]) is None
        elif kinds_of(result) != self.kinds:  # NumPy invents other dtypes here.
            result = as_kinds(result, self.kinds)
            self.may_choose = False
        if not self.may_choose:
            self.keep_compiled()
        elif self._is_timed():
            self._choose()
        return result

    @property
    def _rounds(self) -> int:
        return _ROUNDS_OF_THREADS if self.wakes_threads else _ROUNDS

    def _is_timed(self) -> bool:
        """Whether enough calls of both were timed."""
        compiled, plain = self.times[False], self.times[True]
        is_far = len(plain) >= _ROUNDS and min(plain) > _FAR * min(compiled)
        return is_far or len(plain) >= self._rounds

    def _is_numpy_next(self) -> bool:
        """Whether NumPy is to be timed next.

        The two alternate, each first in every other pair, or arrays that shrink with the iterations
        would speak for the one that is timed last. Not where NumPy wakes BLAS's threads, that are
        in compiled code's way for a while.
        """
        compiled, plain = len(self.times[False]), len(self.times[True])
        if self.wakes_threads or compiled in (0, _ROUNDS):
            return compiled >= self._rounds
        return plain < compiled or (plain == compiled and plain % 2 == 1)

    def time_again(self) -> None:
        """Time further calls of both."""
        if self.may_choose:
            self.countdown, self.was_timed = 1, False

    def keep_compiled(self) -> None:
        """Run it in NumPy never again."""
        self.may_choose = False
        self.on_choice("")
        self.chosen = self._compiled
        self.countdown = -1  # Never 0 again.

    def _choose(self) -> None:
        self.was_timed = True
        compiled, plain = min(self.times[False]), min(self.times[True])
        in_numpy = plain < (compiled / MARGIN if self.wakes_threads else MARGIN * compiled)
        unit = self.unit
        measured = f"{compiled * 1e6:.0f} µs per {unit} compiled, {plain * 1e6:.0f} µs in NumPy"
        runs = "in NumPy" if in_numpy else f"compiled, and single {unit}s in NumPy to compare"
        self.on_choice(f"{runs}: {measured}")
        if self.wakes_threads and not in_numpy:
            self.keep_compiled()
            return
        self.chosen = self._in_numpy if in_numpy else self._compiled
        self.times = {False: [], True: []}
        self.countdown, self.interval = self.interval, 2 * self.interval


def may_run_in_numpy(dispatcher: Runnable) -> bool:
    """Whether a region gives the same in NumPy, as far as its text says.

    Random numbers may come from elsewhere, and another backend is asked for
    to see what it does.
    """
    options, code = dispatcher.spec.options, dispatcher.spec.function.__code__
    names = {*code.co_names, *code.co_varnames, *code.co_freevars}
    return (
        options.backend == "inductor"
        and options.loops == "auto"
        and not options.strict
        and not options.narrow_inputs
        and not names & _RANDOM
    )


def _multiplies(code: CodeType) -> bool:
    """Whether code multiplies matrices, as far as its text says."""
    return bool(_BLAS & set(code.co_names)) or any(
        "MATRIX_MULTIPLY" in i.opname or (i.opname == "BINARY_OP" and i.argrepr.startswith("@"))
        for i in dis.get_instructions(code)
    )
