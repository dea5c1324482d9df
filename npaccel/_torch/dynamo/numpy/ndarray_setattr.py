"""Trace assignments to attributes of arrays: `a.real = x`, `a.flat = x`.

Read from torch/_dynamo/variables/builtin.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
from typing import Any

from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._torch.dynamo.numpy.calls import assign, refuse
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch


def _call_setattr(original: Any) -> Any:
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

    return call_setattr


_WHY = "Dynamo has only the attributes of tensors in mind"
_TEST = "tests/numpy_layer/test_in_functions.py"

PATCHES = (
    Patch(BuiltinVariable, "call_setattr", _call_setattr, _WHY, _TEST, only="2.11-2.12"),
    Patch(
        "torch._dynamo.variables.builtin.SetAttrBuiltinVariable", "_call_setattr", _call_setattr,
        _WHY, _TEST, only="2.13-",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
