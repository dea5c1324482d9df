"""Changes that a function makes to the caller's objects besides arrays, for later calls to make.

Read from torch/_dynamo/{codegen,side_effects,variables/dicts}.py of 2.13 and 2.15.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

from torch._dynamo.codegen import PyCodegen
from torch._dynamo.side_effects import SideEffects
from torch._dynamo.variables import ConstantVariable, ConstDictVariable, UserDefinedObjectVariable
from torch._dynamo.variables.base import (
    AttributeMutationExisting,
    AttributeMutationNew,
    ValueMutationExisting,
    ValueMutationNew,
    VariableTracker,
)
from torch._dynamo.variables.lazy import LazyVariableTracker
from torch._dynamo.variables.lists import BaseListVariable, ListVariable
from torch._dynamo.variables.misc import DeletedVariable

from npaccel._runtime.guards import begins_with
from npaccel._torch.dynamo.capture_record import ObjectWrite
from npaccel._torch.dynamo.python.list_append import GrowingListVariable
from npaccel._torch.patching import Patch

_SETATTR: Any = object.__setattr__
#: Kinds of change that an object made by the function has.
_NEW = (AttributeMutationNew, ValueMutationNew)
#: Variables of objects that may hold others; those of named tuples differ from release to release.
_CONTAINERS = (BaseListVariable, ConstDictVariable, UserDefinedObjectVariable)


class _OtherChangeError(Exception):
    """Something changes in a way that only Dynamo's frame knows."""


def _update_mutated(original: Any) -> Any:
    def codegen_update_mutated(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.npaccel_changes = bool(self.tensor_hooks) or any(_changed(self))
        self.npaccel_writes = _object_writes(self)
        return original(self, *args, **kwargs)

    return codegen_update_mutated


def _changed(side_effects: Any) -> Iterator[Any]:
    """Yield the variables of objects that were there before, and change."""
    existing = (AttributeMutationExisting, ValueMutationExisting)
    for variable in side_effects.id_to_variable.values():
        if isinstance(variable.mutation_type, existing) and side_effects.is_modified(variable):
            yield variable


def _object_writes(side_effects: Any) -> tuple[ObjectWrite, ...] | None:
    """Return all that changes, or None where something else does than `ObjectWrite` can say."""
    if side_effects.tensor_hooks:
        return None
    found: list[ObjectWrite] = []
    try:
        for variable in _changed(side_effects):
            if variable.source is None:
                return None
            found += _WRITES[type(variable)](side_effects, variable)
    except (_OtherChangeError, KeyError):
        return None
    targets = [write.target for write in found if write.kind != "append"]
    if any(begins_with(write.owner, targets) for write in found):
        return None  # An object is replaced of which something else changes.
    return tuple(found)


def _attributes(side_effects: Any, variable: Any) -> list[ObjectWrite]:
    written = side_effects.store_attr_mutations.get(variable, {})
    if not written or not all(_is_plain(variable.value, name) for name in written):
        raise _OtherChangeError
    return [_write(variable, "attribute", name, value) for name, value in written.items()]


def _is_plain(owner: Any, name: str) -> bool:
    """Whether an attribute is the object's own already, and setting it runs no code."""
    kind = type(owner)
    if kind.__setattr__ is not _SETATTR or not name.isidentifier():
        return False
    at_class = getattr(kind, name, None)
    if isinstance(at_class, types.MemberDescriptorType):  # A slot.
        return hasattr(owner, name)
    return name in getattr(owner, "__dict__", {}) and not hasattr(type(at_class), "__set__")


def _appended(side_effects: Any, variable: Any) -> list[ObjectWrite]:
    return [_write(variable, "append", place, value) for place, value in enumerate(variable.added)]


def _items_of_list(side_effects: Any, variable: Any) -> list[ObjectWrite]:
    before = getattr(variable.mutation_type, "npaccel_before", None)
    if before is None or len(before) != len(variable.items):
        raise _OtherChangeError
    pairs = enumerate(zip(before, variable.items, strict=True))
    return [_write(variable, "item", i, new) for i, (old, new) in pairs if new is not old]


def _items_of_dict(side_effects: Any, variable: Any) -> list[ObjectWrite]:
    if variable.python_type() is not dict or variable.should_reconstruct_all:
        raise _OtherChangeError
    found = []
    for key, value in variable.items.items():
        if variable.is_new_item(variable.original_items.get(key.vt), value):
            if not isinstance(key.vt, ConstantVariable) or type(key.vt.value) not in (str, int):
                raise _OtherChangeError
            found.append(_write(variable, "item", key.vt.value, value))
    return found


def _write(owner: Any, kind: Any, key: str | int, value: Any) -> ObjectWrite:
    where = owner.source.name, kind, key
    if isinstance(value, LazyVariableTracker) and not value.is_realized():
        if value.source is None:
            raise _OtherChangeError
        return ObjectWrite(*where, source=value.source.name)  # There is no guard on it.
    set_to = value.realize()
    if isinstance(set_to, DeletedVariable):
        raise _OtherChangeError
    fixed = set_to.value if isinstance(set_to, ConstantVariable) else NotImplemented
    return ObjectWrite(*where, fixed)


def _call(original: Any) -> Any:
    """Note which lists, tuples and dicts of the caller's the frame puts into its result."""

    def call(self: Any, value: Any, allow_cache: bool = True) -> None:
        if isinstance(value, VariableTracker) and _is_callers(value) and _is_container(value):
            loaded = vars(self.tx.output.side_effects).setdefault("npaccel_loaded", {})
            loaded[value.source.name] = None  # type: ignore[union-attr]
        original(self, value, allow_cache)

    return call


def _is_callers(variable: Any) -> bool:
    """Whether an object was there before: new ones may stand in a variable of the frame."""
    return variable.source is not None and not isinstance(variable.mutation_type, _NEW)


def _is_container(variable: Any) -> bool:
    if type(variable) is LazyVariableTracker:
        if not variable.is_realized():
            return issubclass(variable.peek_type(), list | tuple | dict)
        variable = variable.realize()
    return issubclass(type(variable), _CONTAINERS)


_WRITES: dict[type, Any] = {
    UserDefinedObjectVariable: _attributes,
    GrowingListVariable: _appended,
    ListVariable: _items_of_list,
    ConstDictVariable: _items_of_dict,
}

#: Patches for as long as a function is captured: they note what it changes.
PATCHES: Sequence[Patch] = (
    Patch(
        SideEffects, "codegen_update_mutated", _update_mutated,
        "Dynamo forgets what a function changes when it's done", "tests/compiler/test_objects.py",
    ),
    Patch(
        PyCodegen, "__call__", _call,
        "results may hold lists that were there before", "tests/compiler/test_object_writes.py",
    ),
)  # fmt: skip
