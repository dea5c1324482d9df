"""Guards on what isn't there: attributes and keys that a function does without.

Read from torch/_dynamo/{exc,guards}.py and torch/_dynamo/variables/{dicts,functions,misc,
user_defined}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
from typing import Any

from torch._dynamo.exc import ObservedAttributeError, raise_observed_exception
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.dicts import ConstDictVariable
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.misc import PythonModuleVariable
from torch._dynamo.variables.user_defined import UserDefinedClassVariable, UserDefinedObjectVariable

from npaccel._torch.dynamo.releases import GETATTR
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch, is_release


def _looked_for(original: Any) -> Any:
    @functools.wraps(original)
    def has(self: Any, tx: Any, name: str) -> Any:
        if active.depth and self.source is not None:
            install_guard(_has_attribute(self.source, name))
        return original(self, tx, name)

    return has


def _has_attribute(source: Any, name: str) -> Any:
    """Return the guard on whether an object has an attribute."""
    if is_release("2.12-"):
        return source.make_guard(functools.partial(GuardBuilder.HASATTR, attr=name))
    return AttrSource(source, name).make_guard(GuardBuilder.HASATTR)


def _noticed(original: Any) -> Any:
    @functools.wraps(original)
    def get(self: Any, tx: Any, name: str) -> Any:
        try:
            return original(self, tx, name)
        except ObservedAttributeError:
            if active.depth and self.source is not None:
                install_guard(_has_attribute(self.source, name))
            raise

    return get


def _item(original: Any) -> Any:
    @functools.wraps(original)
    def item(self: Any, tx: Any, key: Any) -> Any:
        if active.depth and key not in self:
            self.install_dict_contains_guard(tx, [key])
        return original(self, tx, key)

    return item


#: Types whose attributes Dynamo looks up when they're called.
_CONTAINERS = frozenset({dict, frozenset, list, range, set, tuple})


def _load_attr(original: Any) -> Any:
    """Raise for ``(1, 2).sum`` where it's read: a break would read it before earlier writes."""

    @functools.wraps(original)
    def load_attr(self: Any, attr: str) -> None:
        owner = self.stack[-1].realize() if active.depth else None
        kind = None if owner is None else _kind_of(owner)
        if kind is not None and not hasattr(kind, attr):
            named = kind if isinstance(kind, type) else type(kind)
            text = f"{named.__name__!r} object has no attribute {attr!r}"
            raise_observed_exception(AttributeError, self, args=[text])
        original(self, attr)

    return load_attr


def _kind_of(variable: Any) -> Any:
    """Return the type of a container, a function of Python's own, None for other objects."""
    if isinstance(variable, BuiltinVariable):
        return None if isinstance(variable.fn, type) else variable.fn
    try:
        kind = variable.python_type()
    except NotImplementedError:
        return None
    return kind if kind in _CONTAINERS else None


_HAVE_CALL_HASATTR: tuple[Any, ...] = (UserFunctionVariable, PythonModuleVariable)
_HAVE_ATTRIBUTES: tuple[Any, ...] = (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
    PythonModuleVariable,
)
_WHY = "Dynamo has no guard on what isn't there"
_TEST = "tests/compiler/test_stale_classes.py"

PATCHES = (
    # Of classes and other objects Dynamo has the guard.
    *(Patch(kind, "call_obj_hasattr", _looked_for, _WHY, _TEST) for kind in _HAVE_CALL_HASATTR),
    *(Patch(kind, GETATTR, _noticed, _WHY, _TEST) for kind in _HAVE_ATTRIBUTES),
    Patch(ConstDictVariable, "getitem_const_raise_exception_if_absent", _item, _WHY, _TEST),
    Patch(
        InstructionTranslatorBase, "_load_attr", _load_attr,
        "a break reads what is on the stack before it writes to objects",
        "tests/compiler/test_writes_before_errors.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
