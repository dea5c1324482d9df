"""The dtypes that operations give in Inductor's code: a table made once, and that of `where`.

The table is meant to be one object for a process, but Python calls the constructor of what a class
gives back each time it's asked for: two hundred entries for every operation that code is generated
for, a twentieth of the time that a graph takes before the C++ compiler runs.

What `where` gives is asked of all its operands, the condition too, which fails beside wide unsigned
integers: torch has no common dtype of them and truth values.

Read from torch/_inductor/dtype_propagation.py (DtypePropagationOpsHandler) of 2.13 and
torch/_inductor/codegen/common.py (DataTypePropagation) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._inductor import utils
from torch._inductor.codegen import common
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def dtype_rules_made_once() -> Iterator[None]:
    """Make the table meanwhile only where operations were registered since it was made."""
    with patched(_OF_RULES):
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


@contextlib.contextmanager
def where_has_dtypes_of_its_values() -> Iterator[None]:
    """Have `where` in code that is generated meanwhile give what it chooses from."""
    with patched(_OF_WHERE):
        yield


def _of_values(original: Any) -> Any:
    def deduce_node_dtype_by_inputs(self: Any, node: torch.fx.Node) -> Any:
        if node.target != "where":
            return original(self, node)
        known = [
            value.meta[common.OptimizationContext.key].dtype
            for value in node.args[2:]
            if isinstance(value, torch.fx.Node) and common.OptimizationContext.key in value.meta
        ]
        if len(known) < len(node.args[2:]) or None in known:
            return None
        return functools.reduce(torch.promote_types, known)

    return deduce_node_dtype_by_inputs


_OF_RULES = (
    Patch(
        DtypePropagationOpsHandler, "__init__", _once,
        "Inductor makes its table of dtypes again for every operation",
        "tests/torch_layer/test_torch_internals.py", read="2.13",
    ),
)  # fmt: skip
_OF_WHERE = (
    Patch(
        common.DataTypePropagation, "deduce_node_dtype_by_inputs", _of_values,
        "Inductor asks for the common dtype of a condition and wide unsigned integers",
        "tests/torch_layer/inductor/test_bools.py",
    ),
)  # fmt: skip

PATCHES = (*_OF_RULES, *_OF_WHERE)

__all__ = ["dtype_rules_made_once", "where_has_dtypes_of_its_values"]
