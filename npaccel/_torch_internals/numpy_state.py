"""Whether this thread traces NumPy for npaccel, and what is known of the arrays it was given."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _Active(threading.local):
    depth = 0
    pieces = False
    draws = False
    scalars: frozenset[int] = frozenset()
    relaid: frozenset[int] = frozenset()


active = _Active()


@contextlib.contextmanager
def in_pieces() -> Iterator[None]:
    """Trace parts of a function: arrays may come from NumPy, with any strides."""
    before = active.pieces
    active.pieces = True
    try:
        yield
    finally:
        active.pieces = before
