"""First calls of ordinary programs under default options, the next ones, and those after that."""

from __future__ import annotations

import collections
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from .common import PAUSE, is_installed
from .ordinary_programs import MODULE_OF, PLAIN, Program, load, outcome, same_answers
from .ordinary_programs.record import Call, recording
from .processes import empty_caches, run_child

#: Number of calls that are the first ones, and of those after them.
FIRST, AFTER = 10, 20
#: Number of calls in a block, at least, and seconds that one takes, about; twice that is the end.
FEWEST, BLOCK = 3, 0.1
#: Seconds of calling until who makes the calls is taken as settled.
SETTLING = 30.0
#: Seconds that one program may take altogether.
LIMIT = 90.0
#: States of `npaccel`'s tiers in which nothing is decided.
_OPEN = frozenset({"NumPy's so far", "being compiled"})


def timed(call: Call, arguments: tuple[Any, ...]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


class Alternating:
    """Programs that are the same but for who makes their calls, timed in blocks of calls.

    Parameters
    ----------
    programs : mapping of str to Program
        By who makes the calls.
    is_repeatable : bool
        Whether a call leaves its arguments as they are, so that the same ones do for the next.
    """

    def __init__(self, programs: Mapping[str, Program], *, is_repeatable: bool) -> None:
        self.programs = programs
        self.is_repeatable = is_repeatable
        self.taken: dict[str, list[float]] = {who: [] for who in programs}

    def block(self, who: str, calls: int) -> None:
        """Time some calls, or fewer of them where they take too long."""
        program = self.programs[who]
        arguments = program.make()
        end = time.perf_counter() + 2 * BLOCK
        for call in range(calls):
            if call >= FEWEST and time.perf_counter() > end:
                break
            if call and not self.is_repeatable:
                arguments = program.make()
            self.taken[who].append(timed(program.call, arguments)[0])

    def blocks(self, rounds: int, calls: int, pause: float = 0.0) -> None:
        """Time some blocks of each, in alternation."""
        for _ in range(rounds):
            for who in self.programs:
                time.sleep(pause)
                self.block(who, calls)

    def medians(self) -> dict[str, float]:
        """Return the median seconds of a call."""
        return {who: statistics.median(taken) for who, taken in self.taken.items()}


def measured(name: str) -> Iterator[dict[str, Any]]:
    """Measure a program in this process; yield all that is known of it after each step.

    Parameters
    ----------
    name : str
        One of `MODULE_OF`.

    Yields
    ------
    dict
        ``first``: seconds of the first calls, of NumPy's and of decorated ones; ``after``: median
        seconds of those that follow; ``steady``: the same once it's settled who makes the calls;
        ``longest``: seconds of the longest decorated call; ``settling``: seconds until then;
        ``who``: by whom they're made; ``wrong``: how many first calls have another answer than
        NumPy's.
    """
    import npaccel

    warnings.simplefilter("ignore")  # of what runs uncompiled
    module = MODULE_OF[name]
    jitted: list[Any] = []
    programs = {"numpy": PLAIN[module][name]}
    programs["npaccel"] = load(module, recording(npaccel.jit, jitted))[name]
    expected = outcome(programs["numpy"])
    alternating = Alternating(
        programs, is_repeatable=same_answers(programs["numpy"].make(), expected[1])
    )

    first: dict[str, list[float]] = {}
    found: dict[str, Any] = {"first": first, "wrong": 0}
    for who, program in programs.items():
        first[who] = []
        for _ in range(FIRST):
            arguments = program.make()
            seconds, result = timed(program.call, arguments)
            first[who].append(seconds)
            found["wrong"] += not same_answers(
                expected, (result, arguments), program.narrow_tolerance
            )
    yield found

    alternating.blocks(rounds=4, calls=AFTER // 4)
    found["after"] = alternating.medians()
    yield found

    found["settling"] = _settle(alternating, jitted)
    found["longest"] = max(first["npaccel"] + alternating.taken["npaccel"])
    found["who"] = _who(jitted)  # in case that the next step comes to no end
    yield found

    if programs["numpy"].numba and is_installed("numba"):
        import numba

        programs["numba"] = load(module, numba.njit)[name]
        programs["numba"].call(*programs["numba"].make())
    steady = Alternating(programs, is_repeatable=alternating.is_repeatable)
    calls = max(FEWEST, round(BLOCK / found["after"]["numpy"]))
    steady.blocks(rounds=3, calls=calls, pause=PAUSE)
    found["steady"] = steady.medians()
    found["who"] = _who(jitted)
    yield found


def _settle(alternating: Alternating, jitted: list[Any]) -> float:
    """Make calls until it's settled who makes them, or time is up; return the seconds."""
    import npaccel

    start = time.perf_counter()
    left = SETTLING
    while left > 0 and _is_open(jitted):
        alternating.block("npaccel", sys.maxsize)
        npaccel.wait(left)
        left = start + SETTLING - time.perf_counter()
    return time.perf_counter() - start


def _is_open(jitted: list[Any]) -> bool:
    return any(tier.state in _OPEN for one in jitted for tier in one.report().tiers)


def _who(jitted: list[Any]) -> str:
    """Say in which states the tiers of all functions are, and how many in each."""
    states = collections.Counter(tier.state for one in jitted for tier in one.report().tiers)
    return ", ".join(
        state if count == 1 else f"{count} x {state}" for state, count in states.most_common()
    )


class FirstTenCalls:
    """Seconds that the first ten calls take longer than NumPy's: new process, empty caches."""

    params = ["nearest_line", "csr_gauss_seidel", "gillespie", "kepler_anomalies", "spring_chain"]
    param_names = ["program"]
    unit = "seconds"
    timeout = 300

    def track_longer(self, program: str) -> float:
        with empty_caches() as caches:
            first = run_child("first_ten", program, caches=caches)["first"]
        return sum(first["npaccel"]) - sum(first["numpy"])
