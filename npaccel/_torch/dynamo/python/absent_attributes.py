"""What isn't there is a condition too: attributes and keys that a function does without.

Read from torch/_dynamo/{exc,guards}.py and torch/_dynamo/variables/{dicts,functions,misc,
user_defined}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from torch._dynamo.exc import ObservedAttributeError
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource
from torch._dynamo.variables.dicts import ConstDictVariable
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.misc import PythonModuleVariable
from torch._dynamo.variables.user_defined import UserDefinedClassVariable, UserDefinedObjectVariable

from npaccel._torch.dynamo.state import active


def patch_missing_names() -> None:
    """Patch `hasattr` and what raises AttributeError or KeyError, of which Dynamo has no guard."""
    kinds: tuple[Any, ...] = (UserFunctionVariable, PythonModuleVariable)
    for kind in kinds:  # Of classes and other objects Dynamo has it.
        kind.call_obj_hasattr = _looked_for(kind.call_obj_hasattr)
    kinds = (UserDefinedClassVariable, UserDefinedObjectVariable, PythonModuleVariable)
    for kind in kinds:
        kind.var_getattr = _noticed(kind.var_getattr)
    _patch_keys()


def _looked_for(original: Any) -> Any:
    @functools.wraps(original)
    def has(self: Any, tx: Any, name: str) -> Any:
        if active.depth and self.source is not None:
            install_guard(_has_attribute(self.source, name))
        return original(self, tx, name)

    return has


def _has_attribute(source: Any, name: str) -> Any:
    """Return the guard on whether an object has an attribute."""
    if "attr" in inspect.signature(GuardBuilder.HASATTR).parameters:  # In 2.13.
        return source.make_guard(functools.partial(GuardBuilder.HASATTR, attr=name))
    return AttrSource(source, name).make_guard(GuardBuilder.HASATTR)


def _noticed(original: Any) -> Any:
    @functools.wraps(original)
    def var_getattr(self: Any, tx: Any, name: str) -> Any:
        try:
            return original(self, tx, name)
        except ObservedAttributeError:
            if active.depth and self.source is not None:
                install_guard(_has_attribute(self.source, name))
            raise

    return var_getattr


def _patch_keys() -> None:
    original = ConstDictVariable.getitem_const_raise_exception_if_absent

    @functools.wraps(original)
    def item(self: Any, tx: Any, key: Any) -> Any:
        if active.depth and key not in self:
            self.install_dict_contains_guard(tx, [key])
        return original(self, tx, key)

    ConstDictVariable.getitem_const_raise_exception_if_absent = item  # type: ignore[method-assign]
