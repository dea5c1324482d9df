"""Log of calls: by function, how often it took which route, and the bytes that moved."""

from __future__ import annotations

import dataclasses
import threading

from npaccel._process import fork
from npaccel._report.text import table


@dataclasses.dataclass(frozen=True)
class Calls:
    """The calls of one function that took one route for one reason.

    Parameters
    ----------
    name : str
    route : {"delegated", "native", "host"}
    reason : str
        Why they went through the host.
    count : int
    bytes : int
        How many bytes were copied between host and device, there and back.
    """

    name: str
    route: str
    reason: str
    count: int
    bytes: int


class Report(tuple[Calls, ...]):
    """The calls with tensors so far; ``str()`` of it is a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("function", "route", "calls", "bytes", "why")]
        rows += [(c.name, c.route, str(c.count), str(c.bytes), c.reason) for c in self]
        return "\n".join(table(rows)) if self else "no call with tensors yet"


_counts: dict[tuple[str, str, str], tuple[int, int]] = {}
_noted: set[tuple[str, str]] = set()
_lock = threading.Lock()
fork.hold(_lock)


def note(name: str, route: str, reason: str = "", nbytes: int = 0) -> None:
    """Count a call."""
    with _lock:
        count, before = _counts.get((name, route, reason), (0, 0))
        _counts[name, route, reason] = count + 1, before + nbytes


def first(name: str, reason: str) -> bool:
    """Whether a reason hasn't been told yet."""
    with _lock:
        new = (name, reason) not in _noted
        _noted.add((name, reason))
        return new


def report() -> Report:
    """Tell which functions of SciPy were called with tensors, and what became of the calls.

    Returns
    -------
    Report
        A tuple of `Calls`, those that moved most bytes first.

    Examples
    --------
    >>> import torch, npaccel.scipy
    >>> npaccel.scipy.clear_report()
    >>> t = npaccel.scipy.special.expit(torch.zeros(3))
    >>> [(calls.name, calls.count) for calls in npaccel.scipy.report()]
    [('scipy.special.expit', 1)]
    """
    with _lock:
        found = [Calls(*key, *counts) for key, counts in _counts.items()]
    return Report(sorted(found, key=lambda calls: (-calls.bytes, -calls.count, calls.name)))


def clear_report() -> None:
    """Forget the calls so far; warnings that were given once are given again."""
    with _lock:
        _counts.clear()
        _noted.clear()
