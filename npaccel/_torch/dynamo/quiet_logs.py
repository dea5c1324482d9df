"""Keep torch's log free of what npaccel tells itself.

Where a trace fails, fake tensors and symbolic sizes log the error with its stack before they raise
it. npaccel catches it, lets NumPy run the call, and says so in a warning and in the report. So it
does of functions that Dynamo can't look into, of which Dynamo warns.

Read from torch/_subclasses/fake_tensor.py, torch/fx/experimental/symbolic_shapes.py,
torch/utils/_sympy/interp.py and torch/_dynamo/utils.py (warn_once) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from typing import Any

from torch._dynamo import utils as dynamo_utils

from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

_LOGGERS = (
    "torch._subclasses.fake_tensor",
    "torch.fx.experimental.symbolic_shapes",
    "torch.utils._sympy.interp",
)


class _NotWhileTracing(logging.Filter):
    """Drop what is logged while this thread traces for npaccel."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep a record."""
        return not active.depth


def _logs_are_wanted() -> bool:
    """Whether the user has asked torch for logs."""
    return bool(os.environ.get("TORCH_LOGS"))


def _warn_once(original: Any) -> Any:
    are_wanted = _logs_are_wanted()

    @functools.wraps(original)
    def warn_once(*args: Any, **kwargs: Any) -> None:
        if are_wanted or not active.depth:
            original(*args, **kwargs)

    return warn_once


def add_filters(undo: contextlib.ExitStack) -> None:
    """Keep torch's loggers quiet while npaccel traces, unless the user has asked for logs."""
    if _logs_are_wanted():
        return
    dropping = _NotWhileTracing()
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addFilter(dropping)
        undo.callback(logger.removeFilter, dropping)


PATCHES = (
    Patch(
        dynamo_utils, "warn_once", _warn_once,
        "Dynamo warns of functions that NumPy runs", "tests/torch_layer/dynamo/test_quiet_logs.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "add_filters"]
