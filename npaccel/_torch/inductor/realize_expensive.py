"""Compute what takes long once, not in every iteration of the loops that use it.

Inductor stores what takes long and is used more often, or along an axis that it hasn't: of sines
and powers it doesn't know that they take long. And what is computed from places alone, as
`np.exp(np.arange(n))` is, it computes again wherever it's used, stored or not.

Read from torch/_inductor/ir.py (StorageBox, ComputedBuffer) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch._inductor.ir import ComputedBuffer, Pointwise, Reduction, StorageBox, is_cpu

from npaccel._torch.patching import Patch, patched

#: Functions that a processor takes some tens of operations for.
_LONG = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "pow", "sigmoid"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("erf", "erfc", "erfinv", "lgamma", "digamma"),
    }
)


@contextlib.contextmanager
def computed_once() -> Iterator[None]:
    """Store what takes a CPU long and is used more often, in graphs that are lowered meanwhile."""
    with patched(PATCHES):
        yield


def _stored(original: Any) -> Any:
    def should_realize_on_reuse(self: Any, users: int, **kwargs: Any) -> bool:
        if users > 1 and isinstance(self.data, Pointwise | Reduction) and _takes_long(self.data):
            return True
        return bool(original(self, users, **kwargs))

    return should_realize_on_reuse


def _loaded(original: Any) -> Any:
    def make_loader(self: Any) -> Any:
        is_computed = isinstance(self.data, Pointwise) and self.num_reads() == 0
        if is_computed and _takes_long(self.data):
            return super(ComputedBuffer, self).make_loader()
        return original(self)

    return make_loader


def _takes_long(data: Any) -> bool:
    return is_cpu(data) and not _LONG.isdisjoint(data.inner_fn_opcount().used_ops)


_WHY = "Inductor computes sines and powers again wherever they are used"
_TEST = "tests/torch_layer/inductor/test_stored_values.py"

PATCHES = (
    Patch(StorageBox, "should_realize_on_reuse", _stored, _WHY, _TEST),
    Patch(ComputedBuffer, "make_loader", _loaded, _WHY, _TEST),
)

__all__ = ["computed_once"]
