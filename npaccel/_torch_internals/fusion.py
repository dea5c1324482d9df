"""Let Inductor fuse more than it does by itself.

Read from torch/_inductor/{config,ir}.py of 2.11 and 2.13. Imports none of the compiler.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator

#: What reads more arrays, or takes more operations, is stored before it's read, by default.
_THRESHOLDS = (
    "realize_reads_threshold",
    "realize_opcount_threshold",
    "realize_acc_reads_threshold",
)


@contextlib.contextmanager
def nothing_stored_between() -> Iterator[None]:
    """Compute what is reduced where it's reduced, however many arrays it reads."""
    config = importlib.import_module("torch._inductor.config")
    with config.patch(dict.fromkeys(_THRESHOLDS, 1 << 20)):
        yield
