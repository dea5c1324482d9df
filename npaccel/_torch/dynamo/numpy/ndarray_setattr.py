"""Trace assignments to attributes of arrays: `a.real = x`, `a.flat = x`.

Read from torch/_dynamo/variables/builtin.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch._dynamo.variables.builtin as dynamo_builtin
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.tensor import NumpyNdarrayVariable


def patch_assignments(active: Any, refuse: Callable[..., Any], assign: Callable[..., bool]) -> None:
    """Patch Dynamo's `setattr`, which has only tensors' attributes in mind.

    Parameters
    ----------
    active : object
        Its `depth` is 0 where npaccel doesn't trace.
    refuse : callable
        Breaks the graph.
    assign : callable
        Adds the assignment to the graph: ``assign(tx, name, array, value)``; False where
        it has no compiled form.
    """
    owner: Any = getattr(dynamo_builtin, "SetAttrBuiltinVariable", dynamo_builtin.BuiltinVariable)
    method = "call_setattr" if hasattr(owner, "call_setattr") else "_call_setattr"  # from 2.13 on
    original = getattr(owner, method)

    @functools.wraps(original)
    def call_setattr(self: Any, tx: Any, obj: Any, name_var: Any, val: Any) -> Any:
        obj = obj.realize()
        if not (active.depth and isinstance(obj, NumpyNdarrayVariable)):
            return original(self, tx, obj, name_var, val)
        name = name_var.as_python_constant()
        value = val.realize()
        if not assign(tx, name, obj, value):
            refuse(f"an assignment to ndarray.{name}", "")
        return VariableTracker.build(tx, None)

    setattr(owner, method, call_setattr)


__all__ = ["patch_assignments"]
