"""The user's lines: of a node, and of what is traced at the moment.

Read from torch/_guards.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch._guards import TracingContext

from npaccel._numpy.core import context
from npaccel._report.details import Narrowed

_FRAME = re.compile(r'File "([^"]*)", line (\d+)[^\n]*(?:\n([^\n]*))?')


#: Folders of the private parts of torch and npaccel; a user's folder may be called so, too.
_INTERNAL = tuple(
    f"{folder}/_" for folder in (Path(torch.__file__).parent, Path(__file__).parents[2])
)


def is_internal(filename: str) -> bool:
    """Whether a file is torch's or npaccel's own."""
    return filename.startswith(_INTERNAL)


def frames_of(stack_trace: str | None) -> list[tuple[str, int, str]]:
    """Return the user's lines in a node's stack trace, innermost last."""
    found = _FRAME.findall(stack_trace or "")
    return [(file, int(line), text.strip()) for file, line, text in found if not is_internal(file)]


@contextlib.contextmanager
def narrowings_noted(found: dict[Narrowed, None]) -> Iterator[None]:
    """Note at which lines floats become 32 bit, while a function is captured."""

    def note(wide: Any, narrow: Any) -> None:
        users = [f for f in TracingContext.extract_stack() if not is_internal(f.filename)]
        if users:
            frame = users[-1]
            found[Narrowed(frame.filename, frame.lineno or 0, str(wide), str(narrow))] = None

    before = context.on_narrow
    context.on_narrow = note
    try:
        yield
    finally:
        context.on_narrow = before
