"""A line in the terminal while something compiles for long.

Only where standard error is a terminal, after two seconds, and not with
``NPACCEL_PROGRESS=0``.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from npaccel._process import environment

T = TypeVar("T")

#: Seconds after which a compilation is worth a line.
DELAY = 2.0


def is_wanted() -> bool:
    """Whether progress is shown."""
    if environment.is_off("NPACCEL_PROGRESS"):
        return False
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def notice(what: str) -> Iterator[None]:
    """Show that something compiles, once that takes long, until the block ends.

    Parameters
    ----------
    what : str
    """
    if not is_wanted():
        yield
        return
    shown = _Notice(f"npaccel: compiling {what}")
    timer = threading.Timer(DELAY, shown.show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        shown.close()


def bar(items: Sequence[T], what: str) -> Iterable[T]:
    """Pass on items, one after the other, with a bar in the terminal."""
    if not is_wanted():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, f"npaccel: {what}", console=Console(stderr=True), transient=True)


class _Notice:
    """A line with the seconds that have passed, and the last word when it's over."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._begin = time.perf_counter()
        self._lock = threading.Lock()
        self._closed = False
        self._progress: Any = None

    def show(self) -> None:
        """Show the line; the time in it goes on by itself."""
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with self._lock:
            if self._closed:
                return
            # What the program prints meanwhile goes where it always does.
            self._progress = Progress(
                *columns,
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._progress.add_task(self.text, total=None)
            self._progress.start()

    def close(self) -> None:
        """Take the line away, and leave how long it took."""
        with self._lock:
            self._closed = True
            progress = self._progress
        if progress is not None:
            progress.stop()
            seconds = time.perf_counter() - self._begin
            progress.console.print(f"{self.text}: {seconds:.1f} s", markup=False, highlight=False)
