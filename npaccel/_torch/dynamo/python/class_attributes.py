"""Attributes of classes and of what `super()` gives, which may change, and dicts of attributes.

Read from torch/_dynamo/variables/{user_defined,misc,dicts}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import enum
import functools
import inspect
from typing import Any

import torch._dynamo.variables.dicts as dynamo_dicts
from torch._dynamo.exc import unimplemented
from torch._dynamo.source import AttrSource, GetItemSource, TypeMROSource, TypeSource
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.misc import SuperVariable
from torch._dynamo.variables.user_defined import UserDefinedClassVariable

from npaccel._torch.dynamo.state import active

#: Attributes of a class that its own dict doesn't hold.
_NAMES = ("__name__", "__qualname__")
_MISSING = object()


def patch_classes() -> None:
    """Read what a class has from where it is: Dynamo of 2.11 takes it for a constant.

    It has no guard on it then, and what is appended to a list there is lost.
    """
    original = UserDefinedClassVariable.var_getattr

    @functools.wraps(original)
    def var_getattr(self: Any, tx: Any, name: str) -> Any:
        value = _constant(self, tx, name) if active.depth else _MISSING
        if value is _MISSING:
            return original(self, tx, name)
        return VariableTracker.build(tx, value, AttrSource(self.source, name))

    UserDefinedClassVariable.var_getattr = var_getattr  # type: ignore[method-assign]


def _constant(variable: Any, tx: Any, name: str) -> Any:
    """Return an attribute of a class that its source gives as it is."""
    kind = variable.value
    if variable.source is None or issubclass(kind, enum.Enum):
        return _MISSING
    if tx.output.side_effects.has_pending_mutation_of_attr(variable, name):
        return _MISSING
    if name in _NAMES:
        return getattr(kind, name)
    if hasattr(type(kind), name):  # A property of the metaclass goes first.
        return _MISSING
    value = inspect.getattr_static(kind, name, _MISSING)
    is_constant = ConstantVariable.is_literal(value) or isinstance(value, enum.Enum)
    return value if is_constant else _MISSING


def patch_super() -> None:
    """`super().rate` of objects that the function makes, and where the attribute is 0 or None.

    Dynamo has no guard on the one, and goes on to other classes for the other.
    """
    original = SuperVariable._resolved_getattr_and_source

    @functools.wraps(original)
    def resolved(self: Any, tx: Any, name: str) -> Any:
        found = _inherited(self, name) if active.depth and self.objvar is not None else None
        return original(self, tx, name) if found is None else found

    SuperVariable._resolved_getattr_and_source = resolved  # type: ignore[method-assign]


def _inherited(variable: Any, name: str) -> tuple[Any, Any] | None:
    """Return a number or text that `super()` finds, and its source; None for everything else."""
    owner, kind = variable.objvar, variable.objvar.python_type()
    if issubclass(kind, type):
        kind, source = owner.value, owner.source
    elif owner.source is not None:
        source = TypeSource(owner.source)
    else:
        source = getattr(owner, "cls_source", None)
    first = variable.typevar.as_python_constant()
    if first not in kind.__mro__:
        return None
    for i in range(kind.__mro__.index(first) + 1, len(kind.__mro__)):
        value = vars(kind.__mro__[i]).get(name, _MISSING)
        if value is _MISSING:
            continue
        if source is None or not ConstantVariable.is_base_literal(value):
            return None
        return value, AttrSource(GetItemSource(TypeMROSource(source), i), name)
    return None


def patch_dicts_of_attributes() -> None:
    """`vars(p)` of an object that the function makes, as a result: Dynamo gives an empty dict.

    DunderDictVariable, in 2.13.
    """
    of_attributes = getattr(dynamo_dicts, "DunderDictVariable", None)
    if of_attributes is None:
        return
    original = of_attributes.reconstruct

    def reconstruct(self: Any, codegen: Any) -> None:
        if active.depth and self.source is None:
            unimplemented(
                gb_type="dict of attributes",
                context="",
                explanation="The dict of an object's attributes goes on to uncompiled code.",
                hints=[],
            )
        original(self, codegen)

    of_attributes.reconstruct = reconstruct
