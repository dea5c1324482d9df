"""Reads of a capture besides numbers and arrays of the call, and whether they still hold.

Dynamo makes guards of what is there when it has compiled. Another thread may have rebound it since
it was read: a guard for the new value would then stand before code for the old one. So each value
is noted before Dynamo looks into it, and compared with what is there once the guards are made.

Read from torch/_dynamo/{convert_frame,guards,variables/builder}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch._dynamo import convert_frame
from torch._dynamo.variables.builder import VariableBuilder

from npaccel._runtime.guards import FUNCTION_OF, HEAP_TYPE, array_token, begins_with, same
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Maximum number of captures of a function where something that it reads moves meanwhile.
ATTEMPTS = 3

_CONSTANTS = (bool, int, float, complex, str, bytes)
_SEQUENCES = (list, tuple, collections.deque)
_HAVE_CODE = (types.FunctionType, *FUNCTION_OF)


class MovedError(Exception):
    """Another thread has rebound what a capture has read."""


class Reads:
    """The values that one capture has read.

    Parameters
    ----------
    namespace : mapping
        What the sources of Dynamo refer to: ``G`` for the globals, ``L`` for the locals.
    closure : mapping
        The cells of free variables, by name: their values among the locals are read again.
    """

    def __init__(self, namespace: Mapping[str, Any], closure: Mapping[str, types.CellType]) -> None:
        self._namespace = namespace
        self._closure = closure
        self._notes: dict[tuple[Any, int], tuple[Any, Any]] = {}
        self._methods: dict[type, Any] = {}
        #: Names of modules by the aliases that Dynamo has given them.
        self.imports: Mapping[str, str] = {}

    def note(self, source: Any, value: Any) -> None:
        """Note a value before Dynamo looks into it."""
        self._notes.setdefault((source, id(value)), (value, _contents(value)))
        kind = value if isinstance(value, type) else type(value)
        if kind.__flags__ & HEAP_TYPE and kind not in self._methods:
            self._methods[kind] = _methods(kind)

    def have_moved(self, replaced: Sequence[str] = (), changed: Sequence[str] = ()) -> bool:
        """Whether something is another than it was.

        Parameters
        ----------
        replaced : sequence of str
            Expressions that are left out, with what begins so.
        changed : sequence of str
            Expressions for objects that may hold something else.
        """
        if any(_methods(kind) != noted for kind, noted in self._methods.items()):
            return True
        names = self._names()
        return any(
            self._has_moved(source.name, names, value, contents, source.name in changed)
            for (source, _), (value, contents) in self._notes.items()
            if not begins_with(source.name, replaced)
        )

    def _has_moved(
        self, name: str, names: dict[str, Any], value: Any, contents: Any, may_change: bool
    ) -> bool:
        try:
            found = eval(name, names)
        except (NameError, SyntaxError):  # Something that Dynamo alone knows.
            return False
        except (AttributeError, LookupError, TypeError, ValueError):
            return "G['__" not in name  # A name that Dynamo adds when it's done.
        if found is not value:
            if _stands_for_array(found) and not _stands_for_array(value):
                return False  # An argument, whose kind is in the signature.
            if isinstance(value, _CONSTANTS):
                return not same(found, value)
            is_made_again = eval(name, names) is not found  # As methods that are bound.
            return not is_made_again
        return not (may_change or _are_alike(_contents(found), contents))

    def _names(self) -> dict[str, Any]:
        names = dict(self._namespace)
        modules = {alias: sys.modules.get(name) for alias, name in self.imports.items()}
        names["G"] = collections.ChainMap(names["G"], modules)
        names["L"] = dict(names["L"])
        for name, cell in self._closure.items():
            try:
                names["L"][name] = cell.cell_contents
            except ValueError:  # Emptied, or not filled yet.
                names["L"].pop(name, None)
        return names


def _stands_for_array(value: Any) -> bool:
    """Whether something is a tensor, or its class: arrays among the arguments are given as such."""
    return isinstance(value, torch.Tensor) or value is torch.Tensor


def _contents(value: Any) -> Any:
    """Return what of a value may change while it stays the same object."""
    if isinstance(value, np.ndarray | torch.Tensor):
        return array_token(value)
    if isinstance(value, dict):
        # Dynamo adds to the globals of a module.
        return None if "__builtins__" in value else list(dict.keys(value))
    if isinstance(value, set):
        return set(value)
    if isinstance(value, _SEQUENCES):
        return list(value)
    if isinstance(value, types.FunctionType):
        keywords = value.__kwdefaults__
        return value.__code__, value.__defaults__, None if keywords is None else dict(keywords)
    if isinstance(value, type | types.ModuleType):
        return None
    attributes = getattr(value, "__dict__", None)
    return list(attributes) if type(attributes) is dict else None


def _are_alike(contents: Any, noted: Any) -> bool:
    if isinstance(contents, list) and isinstance(noted, list):  # Without comparing arrays.
        return len(contents) == len(noted) and all(
            one is other or (isinstance(one, _CONSTANTS) and same(one, other))
            for one, other in zip(contents, noted, strict=True)
        )
    if isinstance(contents, tuple) and contents and isinstance(contents[0], types.CodeType):
        return _are_alike([*contents[:1], *_flat(contents)], [*noted[:1], *_flat(noted)])
    return bool(contents == noted)


def _flat(of_function: tuple[Any, ...]) -> list[Any]:
    _, defaults, keywords = of_function
    return [*(defaults or ()), *(keywords or ()), *(keywords or {}).values()]


def _methods(kind: type) -> list[tuple[type, str, Any]]:
    """Return what Dynamo may inline of a class, for which it makes no guards."""
    return [
        (base, name, getattr(member, "__code__", member))
        for base in kind.__mro__
        if base.__flags__ & HEAP_TYPE
        for name, member in list(vars(base).items())
        if isinstance(member, _HAVE_CODE)
    ]


@contextlib.contextmanager
def noted(
    global_values: Mapping[str, Any],
    local_values: Mapping[str, Any],
    closure: Mapping[str, types.CellType],
) -> Iterator[Reads]:
    """Note what is read until the block ends."""
    before = active.reads
    namespace = {"G": global_values, "L": local_values, "__builtins__": builtins.__dict__}
    active.reads = reads = Reads(namespace, closure)
    try:
        yield reads
    finally:
        active.reads = before


def _call(original: Any) -> Any:
    """Note what is read."""

    @functools.wraps(original)
    def call(self: Any, value: Any) -> Any:
        if active.budget is not None:
            active.budget.read(value)
        if active.reads is not None:
            active.reads.imports = self.tx.output.import_sources
            active.reads.note(self.source, value)
        return original(self, value)

    return call


def _compile(original: Any) -> Any:
    """Compile a frame again where something that it reads has moved meanwhile."""

    @functools.wraps(original)
    def compiled(
        code: types.CodeType,
        global_values: dict[str, Any],
        local_values: dict[str, Any],
        builtin_values: dict[str, Any],
        closure: tuple[types.CellType, ...],
        *rest: Any,
        **named: Any,
    ) -> Any:
        given = code, global_values, local_values, builtin_values, closure, *rest
        if not active.is_subgraph:
            return original(*given, **named)
        cells = dict(zip(code.co_freevars, closure, strict=False))
        for _ in range(ATTEMPTS):
            with noted(global_values, local_values, cells) as reads:
                made = original(*given, **named)
            if not reads.have_moved():
                return made
        return convert_frame.ConvertFrameReturn(apply_to_code=False)  # Python runs it this time.

    return compiled


_WHY = "Dynamo makes guards of what is there when it's done, not of what it read"
_TEST = "tests/faults/test_rebinding.py"

PATCHES = (
    Patch(VariableBuilder, "__call__", _call, _WHY, _TEST),
    Patch(convert_frame, "_compile", _compile, _WHY, _TEST),
)

__all__ = ["ATTEMPTS", "PATCHES", "MovedError", "Reads", "noted"]
