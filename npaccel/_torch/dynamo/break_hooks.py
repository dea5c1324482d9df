"""Hear of graph breaks, and keep Dynamo's frame hook from what npaccel does otherwise.

Read from torch/_dynamo/{convert_frame,guards,symbolic_convert}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import traceback
import weakref
from typing import Any

from torch._dynamo import guards
from torch._dynamo.convert_frame import CatchErrorsWrapper
from torch._dynamo.symbolic_convert import InstructionTranslatorBase

from npaccel._process import signals
from npaccel._runtime.torch.compiler_errors import inner_of
from npaccel._torch.dynamo.break_reasons import reason_in
from npaccel._torch.dynamo.capture_errors import CaptureError, described
from npaccel._torch.dynamo.dynamo_errors import traced_frames
from npaccel._torch.dynamo.source_lines import is_internal
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch


class _Suppressed(logging.Filter):
    """Tell of errors that Dynamo suppresses, instead of printing them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the messages that aren't about a subgraph of npaccel's."""
        error = record.exc_info[1] if record.exc_info else None
        if active.on_break is None or error is None:
            return True
        inner = inner_of(error)
        if isinstance(inner, CaptureError):
            active.on_break(inner)
            return False
        stack = traced_frames(error) or traceback.extract_tb(error.__traceback__)
        user = [frame for frame in stack if not is_internal(frame.filename)]
        text = f"the code after this line can't be compiled: {reason_in(str(error))}"
        active.on_break(CaptureError(text, "error", user, True))
        return False


def add_filter(undo: contextlib.ExitStack) -> None:
    """Have the errors that Dynamo suppresses reported as graph breaks."""
    logger, telling = logging.getLogger("torch._dynamo.convert_frame"), _Suppressed()
    logger.addFilter(telling)
    undo.callback(logger.removeFilter, telling)


def _log_graph_break(original: Any) -> Any:
    """Report every graph break."""

    @functools.wraps(original)
    def log_graph_break(
        self: Any, code_options: Any, reason: str = "", *rest: Any, **named: Any
    ) -> Any:
        if active.on_break is not None:
            _tell(self, reason, [*rest, *named.values()])
        return original(self, code_options, reason, *rest, **named)

    return log_graph_break


def _call(original: Any) -> Any:
    """Keep what handlers of signals raise from being suppressed."""

    @functools.wraps(original)
    def call(self: Any, *args: Any) -> Any:
        if not active.is_subgraph:
            return original(self, *args)
        return signals.passing(original, self, *args)

    return call


def _id_ref(original: Any) -> Any:
    """Keep guards on a class or module from living as long as that.

    Dynamo has them told when it's gone, and keeps them, with all that they know, until then.
    """

    @functools.wraps(original)
    def id_ref(self: Any, value: object, text: str) -> int:
        if active.on_break is None or id(value) in self._weakrefs:
            found: int = original(self, value, text)
            return found
        try:
            self._weakrefs[id(value)] = weakref.ref(value)
        except TypeError:  # There are no weak references to such an object.
            return id(value)
        told = weakref.finalize(value, _invalidate, weakref.ref(self), text)
        weakref.finalize(self, told.detach).atexit = told.atexit = False
        return id(value)

    return id_ref


def _invalidate(manager: weakref.ref[Any], text: str) -> None:
    found = manager()
    if found is not None:
        found.invalidate(obj_str=text)


def _profile_guard_manager(original: Any) -> Any:
    """Don't time guards of npaccel's subgraphs."""

    @functools.wraps(original)
    def profile_guard_manager(*args: Any) -> Any:
        return original(*args) if active.on_break is None else 0.0

    return profile_guard_manager


def _tell(translator: Any, reason: str, rest: list[Any]) -> None:
    error = next((value for value in rest if isinstance(value, Exception)), None)
    stacks = [value for value in rest if isinstance(value, traceback.StackSummary)]
    stack = traced_frames(error) or (stacks[0] if stacks else [])
    user = [frame for frame in stack if not is_internal(frame.filename)]
    user = user or [translator.frame_summary()]
    assert active.on_break is not None
    active.on_break(described(error or Exception(reason), user, True, reason))


PATCHES = (
    Patch(
        InstructionTranslatorBase, "log_graph_break", _log_graph_break,
        "graph breaks belong into the report", "tests/torch_layer/dynamo/test_uncompiled.py",
    ),
    Patch(
        CatchErrorsWrapper, "__call__", _call,
        "Dynamo suppresses what handlers of signals raise", "tests/faults/test_interrupts.py",
    ),
    Patch(
        guards, "profile_guard_manager", _profile_guard_manager,
        "Dynamo empties the processor's caches to time guards, longer than a small subgraph takes",
        "tests/torch_layer/dynamo/test_breaks.py",
    ),
    Patch(
        guards.CheckFunctionManager, "id_ref", _id_ref,
        "guards on classes and modules live as long as those, with all that they know",
        "tests/torch_layer/dynamo/test_breaks.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "add_filter"]
