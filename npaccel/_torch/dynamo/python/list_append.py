"""Lists that a function only appends to, whose length isn't a guard of its code.

Read from torch/_guards.py, torch/_dynamo/{side_effects,codegen}.py and
torch/_dynamo/variables/{builder,lists}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from torch._dynamo.bytecode_transformation import create_call_method, create_instruction
from torch._dynamo.guards import GuardBuilder
from torch._dynamo.guards import install_guard as install
from torch._dynamo.side_effects import SideEffects
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.lists import ListVariable

from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch


class GrowingListVariable(ListVariable):
    """A list from outside, until something else than appending is done with it.

    What is in it is read through `items`, which makes a `ListVariable` of it, with a guard on the
    length, as Dynamo has it from the start.
    """

    #: Fields that Dynamo leaves out: results that hold the list have guards on nothing in it.
    _nonvar_fields: ClassVar[set[str]] = {"before", *ListVariable._nonvar_fields}

    before: list[Any]
    added: list[Any]

    @property
    def items(self) -> list[Any]:  # type: ignore[override]
        before = self.__dict__.pop("before")
        found = [*before, *self.__dict__.pop("added")]
        self.__class__ = ListVariable  # type: ignore[assignment]
        self.items = found
        # What was in it before the function changed any; clones have the same `mutation_type`.
        self.mutation_type.npaccel_before = tuple(before)  # type: ignore[union-attr]
        assert self.source is not None
        install(self.source.make_guard(GuardBuilder.SEQUENCE_LENGTH))
        return found

    def call_method(self, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name != "append" or len(args) != 1 or kwargs or not self.is_mutable():
            assert self.items is not None
            return self.call_method(tx, name, args, kwargs)  # Of a `ListVariable` now.
        tx.output.side_effects.mutation(self)
        self.added.append(args[0])
        return ConstantVariable.create(None)


def growing(builder: Any, value: Any, variable: Any) -> None:
    """Make the variable of a list one that may grow.

    Parameters
    ----------
    builder : VariableBuilder
    value : object
        What it made the variable for.
    variable : VariableTracker
    """
    if type(value) is not list or type(variable) is not ListVariable or variable.source is None:
        return
    _remove_guards(builder.tx.output.guards, variable.source)
    builder.install_guards(GuardBuilder.TYPE_MATCH)
    variable.before, variable.added = variable.__dict__.pop("items"), []
    variable.__class__ = GrowingListVariable


def _remove_guards(guards: Any, source: Any) -> None:
    """Remove the guards on a source: that of 2.11 does so for arguments and globals alone."""
    guards.remove_guards_with_source(source)
    for guard in [guard for guard in guards if guard.originating_source == source]:
        guards.inner.discard(guard)


def _wrap_listlike(original: Any) -> Any:
    """Allow a list from outside to grow."""

    @functools.wraps(original)
    def wrap_listlike(self: Any, value: Any) -> Any:
        variable = original(self, value)
        if active.depth:
            growing(self, value, variable)
        return variable

    return wrap_listlike


def _update_mutated(original: Any) -> Any:
    """Append to lists after the graph."""

    @functools.wraps(original)
    def codegen_update_mutated(self: Any, cg: Any, *args: Any, **kwargs: Any) -> None:
        modified = self._get_modified_vars()
        grown = [variable for variable in modified if type(variable) is GrowingListVariable]
        others = [variable for variable in modified if type(variable) is not GrowingListVariable]
        if not grown:
            original(self, cg, *args, **kwargs)
            return
        for variable in grown:  # Before the others, which may put another list into its place.
            cg(variable.source)
            cg.load_method("extend")
            cg.foreach(variable.added)
            length = len(variable.added)
            cg.append_output(create_instruction("BUILD_LIST", arg=length))
            cg.extend_output([*create_call_method(1), create_instruction("POP_TOP")])
        self._get_modified_vars = lambda: others
        try:
            original(self, cg, *args, **kwargs)
        finally:
            del self._get_modified_vars

    return codegen_update_mutated


_WHY = "Dynamo compiles a function that appends to a list for each length of it"
_TEST = "tests/compiler/test_objects.py"

PATCHES = (
    Patch(VariableBuilder, "wrap_listlike", _wrap_listlike, _WHY, _TEST),
    Patch(SideEffects, "codegen_update_mutated", _update_mutated, _WHY, _TEST),
)

__all__ = ["PATCHES"]
