"""Work that one helper thread does beside the program, in the order in which it's asked for.

The thread begins with the first work and doesn't keep the process alive: at its exit the work that
runs is cut short, since Python ends such a thread in the middle of C++ code otherwise, which
aborts. A forked child has no thread, and none of its parent's work.

While it works Python switches between threads more often. A thread gets the interpreter back one
interval after each file that it reads, and an import reads thousands: beside a Python loop, with
the usual 5 ms, it would take minutes.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from npaccel._process import fork, logs

#: Seconds that the exit of the process waits for the thread, and from one try to end it to another.
_PATIENCE = 10.0
_INTERVAL = 0.25
#: Seconds after which a thread lets another one have the interpreter, while there is work.
_SWITCH_INTERVAL = 200e-6


class _StoppedError(BaseException):
    """The process exits. No handler of errors takes it for a failure."""


class _Thread:
    """The thread, its work and who waits for it, of one process."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.todo: deque[Callable[[], Any]] = deque()
        #: Number of jobs that aren't done yet, the one that is being done included.
        self.count = 0
        self.is_stopped = False
        self.thread: threading.Thread | None = None
        #: `sys.getswitchinterval` of the program, while work is being done.
        self.usual_interval: float | None = None

    def add(self, work: Callable[[], Any]) -> None:
        with self.changed:
            if self.is_stopped:
                return
            if self.thread is None:
                thread = threading.Thread(target=self._run, name="npaccel builds", daemon=True)
                thread.start()  # Raises where there can be no more threads.
                self.thread = thread
            self.todo.append(work)
            self.count += 1
            self.changed.notify_all()

    def _run(self) -> None:
        with contextlib.suppress(_StoppedError):
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.todo)
                    work = self.todo.popleft()
                try:
                    self.switch_often()
                    work()
                except Exception:  # noqa: BLE001 (what is asked for deals with its own errors)
                    logs.compile.debug("work in the background failed", exc_info=True)
                finally:
                    del work
                    self.switch_as_usual()
                    with self.changed:
                        self.count -= 1
                        self.changed.notify_all()

    def switch_often(self) -> None:
        """Have threads switch at least every `_SWITCH_INTERVAL`."""
        usual = sys.getswitchinterval()
        if usual > _SWITCH_INTERVAL:
            self.usual_interval = usual
            sys.setswitchinterval(_SWITCH_INTERVAL)

    def switch_as_usual(self) -> None:
        """Undo `switch_often`, where the program hasn't set an interval of its own since."""
        usual, self.usual_interval = self.usual_interval, None
        if usual is not None and math.isclose(sys.getswitchinterval(), _SWITCH_INTERVAL):
            sys.setswitchinterval(usual + 0.5e-6)  # Python cuts off what's below 1 µs.

    def wait(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: not self.count, timeout)

    def stop(self) -> None:
        self.is_stopped = True
        self.todo.clear()
        thread, end = self.thread, time.monotonic() + _PATIENCE
        sys.unraisablehook = _unraisable(sys.unraisablehook)
        while thread is not None and thread.is_alive() and time.monotonic() < end:
            for action in _on_stop:
                action()
            _raise_in(thread)
            thread.join(_INTERVAL)


def _unraisable(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Don't tell of the error that ends the thread where it comes out in a callback."""
    return lambda told: None if told.exc_type is _StoppedError else hook(told)


def _raise_in(thread: threading.Thread) -> None:
    """Have a thread raise an error as soon as it runs Python."""
    number = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(_StoppedError))


_thread = _Thread()
#: End what the thread may wait for, where no error reaches it.
_on_stop: list[Callable[[], Any]] = []


_at_once: contextvars.ContextVar[bool] = contextvars.ContextVar("npaccel_at_once", default=False)


@contextlib.contextmanager
def unused() -> Iterator[None]:
    """Have this context do at once what it would leave to the helper thread."""
    token = _at_once.set(True)
    try:
        yield
    finally:
        _at_once.reset(token)


def is_used() -> bool:
    """Whether work may be left to the helper thread."""
    return not _at_once.get()


def is_idle() -> bool:
    """Whether the helper thread has nothing to do."""
    return not _thread.count


def begin(work: Callable[[], Any]) -> None:
    """Do something in the helper thread, in this context, when its turn comes.

    Raises
    ------
    RuntimeError
        If there can be no more threads.
    """
    context = contextvars.copy_context()
    _thread.add(lambda: context.run(work))


def on_stop(action: Callable[[], Any]) -> None:
    """Call something while the thread is being ended: several times, if it goes on."""
    _on_stop.append(action)


def wait(timeout: float | None = None) -> bool:
    """Wait until nothing is compiled beside the program any more.

    With ``compile="behind"`` NumPy answers calls while they're compiled in a helper thread. Some of
    what is compiled there is used from the second call on after that: where a function draws random
    numbers, or changes objects, the first one makes the switch.

    Parameters
    ----------
    timeout : float, optional
        Maximum number of seconds to wait.

    Returns
    -------
    bool
        Whether all of it is compiled.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager", compile="behind")
    ... def double(x):
    ...     return 2 * x
    >>> double(np.ones(2))
    array([2., 2.])
    >>> npaccel.wait()
    True
    >>> len(double.report().graphs)
    1
    """
    return _thread.wait(timeout)


def _forget() -> None:
    """Start over in a forked child, which has no thread."""
    global _thread
    _thread.switch_as_usual()
    _thread = _Thread()


def _stop() -> None:
    _thread.stop()


fork.at_exit(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
