"""Make Inductor's table of the dtypes that operations give once, not for each operation again.

The table is meant to be one object for a process, but Python calls the constructor of what a class
gives back each time it's asked for: two hundred entries for every operation that code is generated
for, a twentieth of the time that a graph takes before the C++ compiler runs.

Read from torch/_inductor/dtype_propagation.py (DtypePropagationOpsHandler) of 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from torch._inductor import utils
from torch._inductor.codegen import common
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler

from npaccel._torch_internals.patching import patched


@contextlib.contextmanager
def dtype_rules_made_once() -> Iterator[None]:
    """Make the table meanwhile only where operations were registered since it was made."""
    with patched(((DtypePropagationOpsHandler, "__init__", _once),)):
        yield


@functools.cache
def _once(original: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(original)
    def fill(self: Any) -> None:
        sources = len(utils.op_dtype_propagation_rules), len(common.pointwise_overrides_data)
        if vars(self).get("_npaccel_made_of") != sources:
            original(self)
            self._npaccel_made_of = sources

    return fill


__all__ = ["dtype_rules_made_once"]
