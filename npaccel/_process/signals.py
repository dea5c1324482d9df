"""Exceptions that handlers of signals raise: Ctrl-C, timeouts by SIGALRM.

Python calls a handler between any two instructions of the main thread, and what it raises comes
out there. That must not cut everything: an import of the compiler that is cut in half can't be
made again in this process, nor can patches of torch. And it must not stay there: torch takes any
`Exception` for its own failure, and npaccel would let NumPy run such calls from then on.

So npaccel stands in for the handlers, while the main thread does one of two kinds of work.

* `held`: a handler is called after the work. This is for imports, and for what is short.
* `passing`: a handler is called at once, unless the main thread is in an import or in the begin or
  end of a block, else as soon as it isn't. What it raises comes out as no `Exception`, and leaves
  `passing` as what it was. This is for compiling.

Neither is for work that runs the user's own code, which may catch what its handlers raise.

What is called where is read off the stack, so that it's right at any instant; a stand-in that was
left behind calls the handler.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # What `signal` has, without enumerations.
import _thread
import contextlib
import inspect
import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_INTERVAL = 0.01  # seconds until a signal that came at a bad instant is sent again
_PATIENCE = 0.25  # seconds in which `_Interrupted` should have arrived, if nothing has caught it

_depth = 0
#: Errors that handlers have raised in the work of `passing`.
_raised: list[BaseException] = []
#: Signals whose handlers are to be called yet.
_late: set[int] = set()
#: Signals that are sent since what their handlers have raised hasn't arrived.
_again: set[int] = set()
#: Code by identity: Dynamo's can't be hashed.
_whole: set[int] = set()
#: Functions that change the state of modules and classes, or put it back; two are what Inductor and
#: Numba do at their first compilation.
_STARTS_AND_ENDS = ("__enter__", "__exit__", "__del__", "lazy_init", "refresh")


class _Interrupted(BaseException):
    """A handler has raised something, which `passing` raises in place of this."""


def held(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something; handlers of signals that come meanwhile are called after it."""
    if not _in_main_thread():
        return work(*args, **kwargs)
    try:
        return _with_stand_ins(work, *args, **kwargs)
    finally:
        _call_late_handlers()


def passing(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something, and let what handlers of signals raise meanwhile through all that it does."""
    if not _in_main_thread():
        return work(*args, **kwargs)
    outermost = not _depth
    try:
        result = _with_stand_ins(work, *args, **kwargs)
    except BaseException:
        if not (outermost and _raised):
            raise
    else:
        if not (outermost and _raised):  # or else something has caught it
            _call_late_handlers()
            return result
    error = _raised[-1]
    _raised.clear()
    try:
        raise error
    finally:
        del error  # It has this frame.


def whole(function: F) -> F:
    """Have a function that changes others for good do so as a whole, in the work of `passing`."""
    assert isinstance(function, FunctionType)
    _whole.add(id(function.__code__))
    return function


def from_handler(error: BaseException) -> bool:
    """Whether an exception was raised in a handler of a signal.

    A handler's arguments are the signal's number and the frame that was interrupted.
    """
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        if _is_of_handler(traceback.tb_frame):
            return True
        traceback = traceback.tb_next
    return False


def _is_of_handler(frame: FrameType) -> bool:
    code = frame.f_code
    names = list(code.co_varnames[: code.co_argcount])
    if code.co_flags & inspect.CO_VARARGS:
        names.append(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    given: list[Any] = []
    for name in names:
        value = frame.f_locals.get(name)
        given += value if isinstance(value, tuple) else [value]
    signals = signal.valid_signals()
    return any(
        isinstance(one, FrameType) and isinstance(number, int) and number in signals
        for number, one in itertools.pairwise(given)
    )


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _with_stand_ins(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    global _depth
    _depth += 1
    try:
        if _depth == 1:
            _stand_in()
        return work(*args, **kwargs)
    finally:
        _depth -= 1
        if not _depth:
            _step_back()


@whole
def _stand_in() -> None:
    for number in range(1, signal.NSIG):
        handler = _signal.getsignal(number)
        if callable(handler) and not isinstance(handler, _StandIn):
            _signal.signal(number, _StandIn(handler))


@whole
def _step_back() -> None:
    for number in range(1, signal.NSIG):
        handler = _signal.getsignal(number)  # The user's handler may have set another one.
        if isinstance(handler, _StandIn):
            _signal.signal(number, handler.handler)


class _StandIn:
    """Called in place of a handler."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        is_inside, is_good = _place(frame)
        if number in _again:
            _again.discard(number)
            if is_inside and _raised:  # It hasn't arrived since.
                _interrupt(number, now=is_good)
        elif not is_good or _raised:
            _call_later(number)
        elif not is_inside:
            self.handler(number, frame)
        else:
            _late.discard(number)
            try:
                self.handler(number, frame)
            except BaseException as error:  # noqa: BLE001 (`passing` raises it)
                _raised.append(error)
            if _raised:
                _interrupt(number)


def _interrupt(number: int, *, now: bool = True) -> None:
    _in_thread(_remind, number)
    if now:
        raise _Interrupted


def _place(frame: FrameType | None) -> tuple[bool, bool]:
    """Return whether `held` or `passing` called what runs, and whether it may be interrupted."""
    is_inside, is_good = False, True
    while frame is not None:
        code = frame.f_code
        if code is held.__code__:
            return True, False
        if code is passing.__code__:
            is_inside = True
        elif not is_inside and is_good and _is_whole(code):
            is_good = False  # If it's inside.
        frame = frame.f_back
    return is_inside, is_good or not is_inside


def _is_whole(code: CodeType) -> bool:
    name, file = code.co_name, code.co_filename
    if name in _STARTS_AND_ENDS or id(code) in _whole or file.startswith("<frozen importlib"):
        return True
    return file == contextlib.__file__ and name != "inner"  # which runs decorated functions


def _call_later(number: int) -> None:
    if number in _late:
        return
    _late.add(number)
    _in_thread(_send_again, number)


def _in_thread(work: Callable[[int, Any], None], number: int) -> None:
    # Not `threading.Thread`, of whose lock the main thread may be in the middle. Where there can be
    # no more threads, what they do is done at the end.
    with contextlib.suppress(RuntimeError):
        _thread.start_new_thread(work, (number, threading.main_thread().ident))


def _send_again(number: int, main_thread: int) -> None:
    """Send a signal to the main thread once its handler may be called; a thread's work."""
    is_good = False
    while not is_good:
        time.sleep(_INTERVAL)
        if number not in _late:
            return
        _, is_good = _place(sys._current_frames().get(main_thread))
    _late.discard(number)
    _send(number, main_thread)


def _remind(number: int, main_thread: int) -> None:
    """Have `_Interrupted` raised again where something has caught it; a thread's work."""
    time.sleep(_PATIENCE)
    while _raised:
        _, is_good = _place(sys._current_frames().get(main_thread))
        if is_good:
            if isinstance(signal.getsignal(number), _StandIn):
                _again.add(number)
                _send(number, main_thread)
            return
        time.sleep(_INTERVAL)


def _send(number: int, main_thread: int) -> None:
    if not callable(signal.getsignal(number)):  # The user has no handler any more.
        return
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(main_thread, number)


def _call_late_handlers() -> None:
    """Call what is late, unless the caller's caller may not be interrupted either."""
    if not _late:
        return
    frame = sys._getframe(1).f_back
    _, is_good = _place(frame)
    for number in list(_late) if is_good else ():
        handler = signal.getsignal(number)
        _late.discard(number)
        if callable(handler):
            handler(number, frame)
