"""Ignore warnings of one thread alone.

`warnings.catch_warnings` changes the filters of the whole process: warnings of threads beside it
are lost meanwhile, and where one of these has such a block too, filters stay that were to be put
back.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any


class _OfThread:
    """A pattern for a filter: matches what the thread that made it warns of."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.is_used = True  # Copies of the filters may live on, and the thread's number too.

    def match(self, _: str) -> bool:
        """Whether a warning of this text is one that is meant."""
        return self.is_used and threading.get_ident() == self.thread


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Ignore what this thread warns of until the block ends."""
    pattern = _OfThread()
    entry: Any = ("ignore", pattern, Warning, None, 0)
    filters: Any = warnings.filters
    filters.insert(0, entry)
    try:
        yield
    finally:
        pattern.is_used = False
        with contextlib.suppress(ValueError):  # The block of another thread has dropped it.
            filters.remove(entry)
