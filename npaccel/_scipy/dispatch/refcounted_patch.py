"""Patches that are put in place for the first user and undone after the last, in any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from npaccel._process import fork


class WhileUsed:
    """Patch that lasts while it has users, which it counts.

    Parameters
    ----------
    put, take_away : callable
    """

    def __init__(self, put: Callable[[], None], take_away: Callable[[], None]) -> None:
        self._put, self._take_away = put, take_away
        self._lock = threading.RLock()
        fork.hold(self._lock)
        self._users = 0

    def enter(self) -> None:
        """Begin to use it."""
        with self._lock:
            if not self._users:
                self._put()
            self._users += 1

    def leave(self) -> None:
        """Need it no more."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._take_away()
