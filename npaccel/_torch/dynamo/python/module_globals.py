"""Globals of functions that a capture inlines: of their own module, not of another of its name.

Modules of one name come one after the other where each folder of tests has its `helpers`, or where
something is imported anew; of modules that aren't registered there may be several at once.

Read from torch/_dynamo/symbolic_convert.py of 2.11 to 2.15.
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any

from torch._dynamo import symbolic_convert
from torch._dynamo.source import DictGetItemSource, GlobalSource
from torch._dynamo.symbolic_convert import InliningInstructionTranslator
from torch._dynamo.variables.builder import VariableBuilder

from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch


def _import_module(original: Any) -> Any:
    """Return the module that has a name now, where torch goes on with the first one."""

    @functools.wraps(original)
    def import_module(name: str) -> types.ModuleType:
        found: types.ModuleType = (importlib.import_module if active.depth else original)(name)
        return found

    return import_module


def _globals_of(original: Any) -> Any:
    """Look names up in the function's own globals where those are no registered module's."""

    @functools.wraps(original)
    def globals_of(self: Any, name: str) -> Any:
        module = sys.modules.get(self.f_globals.get("__name__"))
        if not active.depth or getattr(module, "__dict__", None) is self.f_globals:
            return original(self, name)
        source = GlobalSource(self.output.install_global_by_id("___unnamed_scope", self.f_globals))
        variable = VariableBuilder(self, source)(self.f_globals)
        return self.f_globals, variable, DictGetItemSource(source, name)

    return globals_of


_TEST = "tests/torch_layer/dynamo/test_modules_of_one_name.py"

PATCHES = (
    Patch(
        symbolic_convert, "_import_module", _import_module,
        "torch caches modules by name, so it misses one that is imported anew", _TEST,
        read="2.11, 2.12, 2.13, 2.14, 2.15",
    ),
    Patch(
        InliningInstructionTranslator, "get_globals_source_and_value", _globals_of,
        "torch takes the registered module of a function's `__name__` for its globals", _TEST,
        read="2.11, 2.12, 2.13", only="2.11-2.13",
    ),
)  # fmt: skip

__all__ = ["PATCHES"]
