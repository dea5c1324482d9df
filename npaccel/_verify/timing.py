"""Measure how long a call takes, compiled and in plain NumPy."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npaccel._report.details import Timing
from npaccel._runtime import arguments
from npaccel._verify.case import as_array
from npaccel._verify.copies import Surroundings, copied

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Dispatcher
    from npaccel._loops.driver.driver import Driver

#: Seconds, about, and maximum number of calls of each way; the shortest call counts.
_SECONDS = 0.3
_MOST_CALLS = 200
_FEWEST_CALLS = 2


def measured(dispatcher: Dispatcher | Driver, values: Sequence[Any]) -> Timing:
    """Time calls on copies of the arguments; what the function reads is put back.

    Parameters
    ----------
    dispatcher : Dispatcher or Driver
    values : sequence
        Of all parameters.
    """
    surroundings = Surroundings(dispatcher.spec.function)

    def fresh() -> Any:
        surroundings.restore()
        return copied(list(values))

    def fresh_arrays() -> Any:
        return [arguments.map_arrays(value, as_array) for value in fresh()]

    # What a call prints, it has printed once.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            dispatcher.run_unverified(fresh())  # Compiles, where it wasn't yet.
            compiled = _shortest(dispatcher.run_unverified, fresh)
            plain = _shortest(dispatcher.spec.binding.call, fresh_arrays)
        finally:
            surroundings.restore()
    return Timing(plain, compiled, described(dispatcher, values))


def described(dispatcher: Dispatcher | Driver, values: Sequence[Any]) -> str:
    """Return the arguments of a call as text."""
    from npaccel._report.describe import describe

    return describe(values, dispatcher.spec.binding.names)


def _shortest(call: Callable[[Any], Any], fresh: Callable[[], Any]) -> float:
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _FEWEST_CALLS or (time.perf_counter() < end and len(times) < _MOST_CALLS):
        values = fresh()
        begin = time.perf_counter()
        call(values)
        times.append(time.perf_counter() - begin)
    return min(times)
