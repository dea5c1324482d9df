"""Try a function compiled, whether it gives NumPy's answer and how much faster."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import time
import warnings
from typing import Any

from npaccel._check.check import check
from npaccel._compiler import tiers
from npaccel._jit import Jitted, jit
from npaccel._report import Report
from npaccel._report.details import Timing
from npaccel._runtime.binding import Binding
from npaccel._tools.profile_calls import Watched
from npaccel._verify.copies import call_on_copies
from npaccel._verify.timing import measured
from npaccel._verify.verification import CheckResult

#: Advice for what isn't run once more, since it may be the whole program.
MOVE = "move what it does with arrays into a function that takes them as arguments"


@dataclasses.dataclass(frozen=True)
class Trial:
    """Outcome of compiling a function.

    Parameters
    ----------
    watched : Watched
    problem : str
        Why there is nothing else: no arguments, an error.
    check : CheckResult or None
    timing : Timing or None
    report : Report or None
    compiling : float
        Seconds that each run compiles it anew, as that isn't kept on disk.
    """

    watched: Watched
    problem: str = ""
    check: CheckResult | None = None
    timing: Timing | None = None
    report: Report | None = None
    compiling: float = 0.0

    @property
    def speed_up(self) -> float:
        """Factor by which it's faster than NumPy; 1 where that isn't known, or it isn't right."""
        return self.timing.speed_up if self.timing and self.is_right else 1.0

    @property
    def is_right(self) -> bool:
        """Whether it gives NumPy's answer."""
        return self.check is not None and self.check.ok

    @property
    def saved(self) -> float:
        """Seconds of the run that compiling it saves, once it's compiled."""
        return self.watched.seconds * (1 - 1 / self.speed_up)

    @property
    def saved_each_run(self) -> float:
        """Seconds that it saves of every run but the first."""
        return self.saved - self.compiling


def tried(watched: Watched, options: dict[str, Any]) -> Trial:
    """Compile a function, check it and time it on the arguments of one of its calls.

    Parameters
    ----------
    watched : Watched
    options : dict
        Of `npaccel.jit`.
    """
    if watched.calls == 1 and not watched.takes_arrays:
        return Trial(watched, MOVE)
    if watched.sample is None:
        return Trial(watched, "none of its calls had arguments that can be copied")
    jitted: Jitted[..., Any] = jit(watched.function, **options)
    args, kwargs = watched.sample
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            result = check(jitted, *args, **kwargs)
            timing, anew = None, 0.0
            if result.ok:
                dispatcher = next(iter(jitted._npaccel_dispatchers.values()))
                assert dispatcher is not None
                values = dispatcher.spec.binding.bind(args, kwargs)
                timing = measured(tiers.dispatcher_of(dispatcher, values), values)
                jitted._npaccel_log.timing = timing
                if any(graph.uncacheable for graph in jitted.report().graphs):
                    first = _first_call(watched, options, dispatcher.spec.binding, values)
                    # Numbers that change are sizes only from the second call on.
                    times = 2 if watched.has_other_numbers else 1
                    anew = max(first - timing.compiled, 0.0) * times
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever stops it is told)
        return Trial(watched, f"{type(error).__name__}: {' '.join(str(error).split())}")
    return Trial(watched, "", result, timing, jitted.report(), anew)


def _first_call(
    watched: Watched, options: dict[str, Any], binding: Binding, values: list[Any]
) -> float:
    """Return the seconds of a first call where what is kept on disk isn't compiled."""
    jitted: Jitted[..., Any] = jit(watched.function, **{**options, "compile": "now"})
    seconds = 0.0

    def call(copies: list[Any]) -> None:
        nonlocal seconds
        start = time.perf_counter()
        binding.call(copies, jitted)
        seconds = time.perf_counter() - start

    call_on_copies(watched.function, call, values)
    return seconds
