"""Keep torch's log free of what npaccel tells itself.

Where a trace fails, fake tensors and symbolic sizes log the error with its stack before they raise
it. npaccel catches it, lets NumPy run the call, and says so in a warning and in the report. So it
does of functions that Dynamo can't look into, of which Dynamo warns.

Read from torch/_subclasses/fake_tensor.py, torch/fx/experimental/symbolic_shapes.py,
torch/utils/_sympy/interp.py and torch/_dynamo/utils.py (warn_once) of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import logging
import os
from typing import Any

from torch._dynamo import utils as dynamo_utils

from npaccel._torch.dynamo.state import active

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


def keep_quiet() -> None:
    """Install what keeps quiet, unless the user has asked torch for logs."""
    if os.environ.get("TORCH_LOGS"):
        return
    original = dynamo_utils.warn_once

    @functools.wraps(original)
    def warn_once(*args: Any, **kwargs: Any) -> None:
        if not active.depth:
            original(*args, **kwargs)

    dynamo_utils.warn_once = warn_once
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(one, _NotWhileTracing) for one in logger.filters):
            logger.addFilter(_NotWhileTracing())


__all__ = ["keep_quiet"]
