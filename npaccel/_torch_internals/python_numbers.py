"""Trace `float(x)`, `int(x)` and `x.item()` as numbers of Python's, which are weak.

A number that depends on the data is a symbol in a graph; where the frame needs it, it leaves
the graph as a tensor without dimensions.

Read from torch/_dynamo/codegen.py and torch/_dynamo/variables/{tensor,builtin,builder}.py of
2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo.codegen as dynamo_codegen
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo.bytecode_transformation import create_call_function, create_dup_top
from torch._dynamo.variables.tensor import SymNodeVariable

from npaccel._numpy._dtypes import to_numpy

#: In a node's meta: whether it is a number of Python's, as a tensor.
NUMBER = "npaccel_number"

#: The dtypes in which numbers leave a graph.
_DTYPES: dict[type, torch.dtype] = {int: torch.int64, float: torch.float64}


def value_of(x: torch.Tensor) -> Any:
    """Return the value of a tensor without dimensions; symbolic while tracing."""
    return x.item()


def number(tx: Any, element: Any, operation: Any, refuse: Callable[..., Any]) -> Any:
    """Return the variable for the Python number that an array without dimensions holds.

    Parameters
    ----------
    tx : InstructionTranslator
    element : NumpyNdarrayVariable
    operation : Operation
        Calls `value_of`.
    refuse : callable
        Breaks the graph.
    """
    dtype = to_numpy(element.as_proxy().node.meta["example_value"].dtype)
    if dtype.kind not in "iuf" or dtype.name == "uint64":
        refuse(f"a Python scalar of an array of {dtype.name}", "")
    proxy = tx.output.create_proxy("call_function", operation, (element.as_proxy(),), {})
    return dynamo_builder.wrap_fx_proxy(tx, proxy)


def patch_outputs(active: Any) -> None:
    """Let numbers leave a frame through `npaccel._results`: PyCodegen.__call__.

    Parameters
    ----------
    active : object
        Its `depth` is 0 where npaccel doesn't trace.
    """
    original = dynamo_codegen.PyCodegen.__call__

    def call(self: Any, value: Any, allow_cache: bool = True) -> None:
        if not (active.depth and type(value) is SymNodeVariable and _is_computed(self, value)):
            original(self, value, allow_cache)
            return
        tensor = value.as_tensor(self.tx, _DTYPES[value.python_type()])
        tensor.as_proxy().node.meta[NUMBER] = True
        key = self.add_graph_output(tensor)
        self.add_push_null(lambda: self.load_import_from("npaccel._results", "leave"))
        self.load_graph_output(self.graph_outputs[key].index)
        self.extend_output(create_call_function(1, False))
        if value in self.tempvars:
            self.append_output(create_dup_top())
            self.add_cache(value)
        self.top_of_stack = value

    dynamo_codegen.PyCodegen.__call__ = call  # type: ignore[method-assign]


def _is_computed(codegen: Any, value: Any) -> bool:
    """Whether a number is neither on the stack, nor in a variable, nor an input."""
    known = codegen.top_of_stack is value or codegen.tempvars.get(value) is not None
    return not known and value.source is None and value.python_type() in _DTYPES


__all__ = ["NUMBER", "number", "patch_outputs", "value_of"]
