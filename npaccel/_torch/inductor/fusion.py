"""Fuse more than Inductor does by itself, products with sums too.

Read from torch/_inductor/{config,ir}.py of 2.11 and 2.13. Imports none of the compiler.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from contextvars import ContextVar

#: Thresholds: what reads more arrays, or takes more operations, is stored before it's read.
_THRESHOLDS = (
    "realize_reads_threshold",
    "realize_opcount_threshold",
    "realize_acc_reads_threshold",
)


#: Whether C++ may round a product and a sum at once, as Triton does by default.
_CONTRACTS = "cpp.enable_floating_point_contract_flag"


_is_on: ContextVar[bool] = ContextVar("npaccel_nothing_stored_between", default=False)


@contextlib.contextmanager
def nothing_stored_between() -> Iterator[None]:
    """Compute what is reduced where it's reduced, however many arrays it reads.

    A product and a sum are rounded once: faster and more accurate, but not what NumPy gives.
    Inside another one it costs nothing; else 0.1 ms.
    """
    if _is_on.get():
        yield
        return
    config = importlib.import_module("torch._inductor.config")
    changes: dict[str, object] = dict.fromkeys(_THRESHOLDS, 1 << 20)
    token = _is_on.set(True)
    try:
        with config.patch({**changes, _CONTRACTS: "fast"}):
            yield
    finally:
        _is_on.reset(token)
