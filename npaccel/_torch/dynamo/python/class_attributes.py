"""Attributes of classes and of what `super()` gives, which may change, and dicts of attributes.

Read from torch/_dynamo/variables/{user_defined,misc,dicts}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import enum
import functools
import inspect
from typing import Any

from torch._dynamo.source import AttrSource, GetItemSource, TypeMROSource, TypeSource
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.misc import SuperVariable
from torch._dynamo.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)

from npaccel._torch.dynamo.numpy.calls import break_graph
from npaccel._torch.dynamo.releases import GETATTR, source_in_class
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Attributes of a class that its own dict doesn't hold.
_NAMES = ("__name__", "__qualname__")
_MISSING = object()


def _getattr(original: Any) -> Any:
    """Read what a class has from where it is: Dynamo of 2.11 takes it for a constant.

    It has no guard on it then, and what is appended to a list there is lost.
    """

    @functools.wraps(original)
    def get(self: Any, tx: Any, name: str) -> Any:
        value = _constant(self, tx, name) if active.depth else _MISSING
        if value is _MISSING:
            return original(self, tx, name)
        return VariableTracker.build(tx, value, AttrSource(self.source, name))

    return get


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


def _resolved_getattr(original: Any) -> Any:
    """Trace ``super().rate`` of objects that the function makes, and where it is 0 or None.

    Dynamo has no guard on the one, and goes on to other classes for the other.
    """

    @functools.wraps(original)
    def resolved(self: Any, tx: Any, name: str) -> Any:
        found = _inherited(self, name) if active.depth and self.objvar is not None else None
        return original(self, tx, name) if found is None else found

    return resolved


def _inherited(variable: Any, name: str) -> tuple[Any, Any] | None:
    """Return a number or text that `super()` finds, and its source; None for everything else."""
    owner, kind = variable.objvar, variable.objvar.python_type()
    if issubclass(kind, type):
        kind, source = owner.value, owner.source
    elif owner.source is not None:
        source = TypeSource(owner.source)
    else:
        source = owner.cls_source if isinstance(owner, UserDefinedObjectVariable) else None
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


def _reconstruct(original: Any) -> Any:
    """Break the graph at ``vars(p)`` of an object that the function makes, as a result."""

    def reconstruct(self: Any, codegen: Any) -> None:
        if active.depth and self.source is None:
            break_graph(
                "dict of attributes",
                "The dict of an object's attributes goes on to uncompiled code.",
            )
        original(self, codegen)

    return reconstruct


def _set_property(original: Any) -> Any:
    """Call the setter of a property, which may set something else than it's given."""

    @functools.wraps(original)
    def setattr_standard(self: Any, tx: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        text: str = name.as_python_constant() if name.is_python_constant() else ""
        found = inspect.getattr_static(type(self.value), text, None)
        if not active.depth or kwargs or not isinstance(found, property) or found.fset is None:
            return original(self, tx, name, *args, **kwargs)
        source = source_in_class(self, tx, text) if self.cls_source else None
        setter = VariableTracker.build(tx, found.fset, source and AttrSource(source, "fset"))
        return setter.call_function(tx, [self, *args], {})

    return setattr_standard


_TEST = "tests/compiler/test_stale_classes.py"

PATCHES = (
    Patch(
        UserDefinedClassVariable, GETATTR, _getattr,
        "Dynamo of 2.11 takes attributes of classes for constants", _TEST,
    ),
    Patch(
        SuperVariable, "_resolved_getattr_and_source", _resolved_getattr,
        "Dynamo has no guard on what `super()` finds, or goes on where that is 0 or None", _TEST,
    ),
    Patch(
        "torch._dynamo.variables.dicts.DunderDictVariable", "reconstruct", _reconstruct,
        "Dynamo gives an empty dict for `vars(p)`", _TEST, only="2.12-",
    ),
    Patch(
        UserDefinedObjectVariable, "method_setattr_standard", _set_property,
        "Dynamo of 2.11 reads what a property's setter was given, not what it has set; of 2.12 it"
        " guards on something else than the setter",
        "tests/compiler/test_object_writes.py", read="2.11, 2.12", only="2.11-2.12",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
