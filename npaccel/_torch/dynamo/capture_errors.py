"""Reasons why a function isn't captured: Dynamo's errors as npaccel's.

Read from torch/_dynamo/{exc,symbolic_convert}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import traceback
import types

from npaccel._runtime.opaque import Kind
from npaccel._torch.dynamo.break_reasons import hint_in, reason_in
from npaccel._torch.dynamo.dynamo_errors import category_of, text_of, traced_frames
from npaccel._torch.dynamo.numpy import opaque_objects
from npaccel._torch.dynamo.numpy.calls import MISSING, OWNER
from npaccel._torch.dynamo.numpy.ndarray_slots import IDENTITY
from npaccel._torch.dynamo.source_lines import is_internal

#: Name of what ends a capture that goes on for too long.
OVER_BUDGET = "npaccel: too much to capture"

#: Dynamo's names of what NumPy runs the whole call for: it raises an error of the user's own, or
#: arrays that subgraphs of the function hand on aren't as NumPy's.
_OF_WHOLE = frozenset(
    {
        IDENTITY,
        MISSING,
        OVER_BUDGET,
        OWNER,
        "Attempted to read a deleted variable",
        "Attempted to read undefined local variable",
        "Attempted to read undefined local variable (implicit)",
        "Import failure",
        "Observed exception",
        "LOAD_FAST_CHECK on uninitialized variable",
        "failed to find name in frame builtins",
    }
)


#: Text about it, and what to write.
TOO_LONG = (
    "the loops and calls from here would be unrolled into more than can be compiled in seconds",
    "write the loop in the jitted function itself, or decorate the function that has it; "
    'loops="unroll" allows ten times as much',
)


class CaptureError(Exception):
    """Dynamo couldn't make one graph of the function.

    Parameters
    ----------
    reason : str
        What stopped it, in one line.
    category : str
        Dynamo's own name of the cause.
    stack : list of traceback.FrameSummary
        The user's frames, innermost last.
    is_break : bool
        Whether the parts around the cause can be captured by themselves.
    advice : str
        What to write instead, where that isn't told by the reason.

    Attributes
    ----------
    has_wide_data : bool
        Whether 64-bit floats were met before.
    """

    has_wide_data = False

    def __init__(
        self,
        reason: str,
        category: str,
        stack: list[traceback.FrameSummary],
        is_break: bool,
        advice: str = "",
    ) -> None:
        super().__init__(reason)
        self.advice = advice
        self.reason = reason
        self.category = category
        self.stack = stack
        self.is_break = is_break


def error_of(error: Exception, function: types.FunctionType) -> CaptureError:
    """Return what has stopped the capture of a function."""
    user = [frame for frame in traced_frames(error) if not is_internal(frame.filename)]
    if not user:
        code = function.__code__
        user = [traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name)]
    return described(error, user, _is_break(error))


def described(
    error: Exception, stack: list[traceback.FrameSummary], is_break: bool, reason: str = ""
) -> CaptureError:
    """Return an error of Dynamo's with what it says in words about the user's program.

    Parameters
    ----------
    error : Exception
    stack : list of traceback.FrameSummary
        The user's frames, innermost last.
    is_break : bool
    reason : str
        What is known of the reason besides.
    """
    category = category_of(error) or type(error).__name__
    text = text_of(error) or reason or str(error)
    advice = hint_in(text, category) if opaque_objects.kind_of(category) else ""
    if category == OVER_BUDGET:
        reason, advice = TOO_LONG
        return CaptureError(reason, category, stack, is_break, advice)
    return CaptureError(reason_in(text, category), category, stack, is_break, advice)


def _is_break(error: Exception) -> bool:
    category = category_of(error)
    if category in _OF_WHOLE:
        return False
    if opaque_objects.kind_of(category) in (Kind.DTYPE, Kind.SUBCLASS):
        return False
    names = {"Unsupported", "UserError", "SkipFrame", "UncapturedHigherOrderOpError"}
    return bool(names & {kind.__name__ for kind in type(error).__mro__})


__all__ = ["OVER_BUDGET", "CaptureError", "described", "error_of"]
