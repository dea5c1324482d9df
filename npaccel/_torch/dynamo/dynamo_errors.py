"""Read Dynamo's errors: their category, their text, the user's frames.

By class, not by whether an error has an attribute: one that torch renames raises here.
Read from torch/_dynamo/exc.py of 2.11 to 2.15.
"""

from __future__ import annotations

import traceback

from torch._dynamo.exc import (
    StepUnsupported,
    TorchRuntimeError,
    UncapturedHigherOrderOpError,
    Unsupported,
    UserError,
    get_real_stack,
)

_WITH_TEXT = (
    Unsupported,
    UserError,
    TorchRuntimeError,
    StepUnsupported,
    UncapturedHigherOrderOpError,
)


def category_of(error: BaseException) -> str:
    """Return Dynamo's name for the kind of a graph break, "" for other errors."""
    return error.gb_type or "" if isinstance(error, Unsupported) else ""


def text_of(error: BaseException) -> str:
    """Return what an error says without the frames that Dynamo adds, "" if it isn't Dynamo's."""
    return str(error.msg) if isinstance(error, _WITH_TEXT) else ""


def traced_frames(error: BaseException | None) -> list[traceback.FrameSummary]:
    """Return the frames that were traced when an error was raised, the innermost last."""
    return list(get_real_stack(error) or []) if isinstance(error, Exception) else []


__all__ = ["category_of", "text_of", "traced_frames"]
