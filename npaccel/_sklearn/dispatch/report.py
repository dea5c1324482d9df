"""Report on an estimator's calls: where each step computed, transfers, and time."""

from __future__ import annotations

import dataclasses
import threading

from npaccel._process import fork
from npaccel._report.text import table
from npaccel._sklearn.dispatch.transfers import Count


@dataclasses.dataclass(frozen=True)
class Step:
    """The calls of one method of one class that took one route for one reason.

    Parameters
    ----------
    estimator : str
        The class, as in ``"StandardScaler"``.
    method : str
    route : {"device", "delegated", "host", "sharded", "blocks", "gathered"}
    device : str
        Where it computed.
    reason : str
        Why it was on the host.
    calls : int
    copies_in, copies_out : int
        Arrays that were copied to the device and from it, not counting what inner steps copied.
    bytes_in, bytes_out : int
    numbers : int
        Reads of single numbers, as by tests of convergence.
    seconds : float
        Its time, with that of inner steps. On a GPU it's until the work was handed over: what a
        step leaves running there is in the time of a later one that reads its result.
    """

    estimator: str
    method: str
    route: str
    device: str
    reason: str
    calls: int
    copies_in: int
    copies_out: int
    bytes_in: int
    bytes_out: int
    numbers: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class EstimatorReport:
    """Report on the calls of an estimator and of those inside of it.

    ``str()`` of it is a table.

    Parameters
    ----------
    steps : tuple of Step
        In the order in which they were called first.
    """

    steps: tuple[Step, ...]

    @property
    def copies_in(self) -> int:
        """Number of arrays that were copied to the device."""
        return sum(step.copies_in for step in self.steps)

    @property
    def copies_out(self) -> int:
        """Number of arrays that were copied from the device."""
        return sum(step.copies_out for step in self.steps)

    @property
    def bytes_in(self) -> int:
        """Number of bytes that were copied to the device."""
        return sum(step.bytes_in for step in self.steps)

    @property
    def bytes_out(self) -> int:
        """Number of bytes that were copied from the device."""
        return sum(step.bytes_out for step in self.steps)

    @property
    def numbers(self) -> int:
        """Number of times that single numbers were read."""
        return sum(step.numbers for step in self.steps)

    def __str__(self) -> str:
        if not self.steps:
            return "no call yet"
        rows: list[tuple[str, ...]] = [
            ("step", "calls", "route", "device", "in", "out", "bytes", "time", "why")
        ]
        for s in self.steps:
            moved = str(s.bytes_in + s.bytes_out)
            counts = (str(s.copies_in), str(s.copies_out), moved, f"{1000 * s.seconds:.1f} ms")
            name = f"{s.estimator}.{s.method}"
            rows.append((name, str(s.calls), s.route, s.device, *counts, s.reason))
        return "\n".join(table(rows))


class Log:
    """The calls of an estimator so far; it stays behind when the estimator is copied or pickled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[tuple[str, str, str, str, str], tuple[int, Count, float]] = {}
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self._lock = threading.Lock()

    def note(self, key: tuple[str, str, str, str, str], count: Count, seconds: float) -> None:
        """Count a call: its class, method, route, device and reason, and what it took."""
        with self._lock:
            calls, total, time = self._steps.get(key, (0, Count(), 0.0))
            total.add(count)
            self._steps[key] = calls + 1, total, time + seconds

    def clear(self) -> None:
        """Forget the calls so far."""
        with self._lock:
            self._steps.clear()

    def report(self) -> EstimatorReport:
        """Return what was noted."""
        with self._lock:
            return EstimatorReport(
                tuple(
                    Step(
                        *key,
                        calls,
                        count.copies_in,
                        count.copies_out,
                        count.bytes_in,
                        count.bytes_out,
                        count.numbers,
                        seconds,
                    )
                    for key, (calls, count, seconds) in self._steps.items()
                )
            )

    def __deepcopy__(self, memo: object) -> Log:
        return Log()

    def __reduce__(self) -> tuple[type[Log], tuple[()]]:
        return Log, ()


#: The calls of all estimators in this process.
everything = Log()
