"""Differences between releases of torch in Dynamo: names of slots, raising, bound methods.

Read from torch/_dynamo/symbolic_convert.py and
torch/_dynamo/variables/{base,exception,functions,misc,tensor,user_defined}.py of 2.11 to 2.15.
"""

from __future__ import annotations

from typing import Any

from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._dynamo.variables import ExceptionVariable  # Its module has changed.
from torch._dynamo.variables.functions import UserFunctionVariable, UserMethodVariable

from npaccel._torch.patching import is_release

_HAS_CPYTHON_SLOTS = is_release("2.14-")
_COMPOSES_METHODS = is_release("2.15-")

#: Method of variables that looks an attribute up.
GETATTR = "tp_getattro_impl" if _HAS_CPYTHON_SLOTS else "var_getattr"
#: Method of variables that gives their truth.
BOOL = "nb_bool_impl" if _HAS_CPYTHON_SLOTS else "bool_impl"
#: Method of `InstructionTranslatorBase` that raises what the function raises.
RAISE = "do_raise" if _HAS_CPYTHON_SLOTS else "_raise_exception_variable"
#: Method of `ExceptionStack` that is given what is raised, whoever raises it.
NOTE_RAISED = "set_raised_exception" if _HAS_CPYTHON_SLOTS else "set_current_exception"


def get_attribute(variable: Any, tx: Any, name: str) -> Any:
    """Return the variable for an attribute, by the variable's own lookup."""
    return getattr(variable, GETATTR)(tx, name)


def raised_error(tx: InstructionTranslatorBase) -> Any:
    """Return the variable for the error that the traced function has raised, not yet caught."""
    stack = tx.exn_vt_stack
    return stack.get_raised_exception() if _HAS_CPYTHON_SLOTS else stack.get_current_exception()


def bound_method(function: UserFunctionVariable, owner: Any) -> Any:
    """Return the variable for a function as a method of an object."""
    kind: Any = UserMethodVariable  # Its parameters have changed.
    if _COMPOSES_METHODS:
        return kind(function, owner)
    return kind(function.fn, owner, source_fn=function.source)


def source_in_class(variable: Any, tx: Any, name: str) -> Any:
    """Return where an attribute lies among an object's classes."""
    return variable.get_source_by_walking_mro(*(() if is_release("2.11") else (tx,)), name)


def owner_of(method: Any) -> Any:
    """Return the variable for the object that a method is bound to."""
    return method.im_self if _COMPOSES_METHODS else method.obj


__all__ = [
    "BOOL",
    "GETATTR",
    "NOTE_RAISED",
    "RAISE",
    "ExceptionVariable",
    "bound_method",
    "get_attribute",
    "owner_of",
    "raised_error",
    "source_in_class",
]
