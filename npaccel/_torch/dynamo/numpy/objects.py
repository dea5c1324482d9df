"""Trace NumPy objects that aren't functions: index helpers, settings for a block, polynomials.

Read from torch/_dynamo/{trace_rules.py,variables/{user_defined,ctx_manager,misc}.py} of 2.11
and 2.13.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, ClassVar

import numpy as np
from torch._dynamo import trace_rules
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.ctx_manager import ContextWrappingVariable
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.lists import TupleVariable
from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

from npaccel._numpy.core import table
from npaccel._numpy.indexing import index_helpers
from npaccel._runtime.errstate import WITHOUT_EFFECT
from npaccel._torch.dynamo.numpy.calls import call_row, refuse
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch, is_release

#: Helpers by id: they can't all be hashed.
_INDEX_HELPERS = {
    id(getattr(np, name)): name for name in ("c_", "index_exp", "mgrid", "ogrid", "r_", "s_")
}
#: Functions that evaluate a polynomial at points: traced, as they only call functions of the table.
_EVALUATIONS: set[Any] = {np.polynomial.Polynomial.__call__}
if is_release("2.12-"):
    # torch 2.11 takes the item "coeffs" of an object's dict for its property, which asks for that.
    _EVALUATIONS |= {np.poly1d.__call__, np.poly1d.coeffs.fget, np.poly1d._coeffs.fget}
#: Reason why other settings break the graph.
HAS_EFFECT = "compiled code raises and calls nothing where NumPy would; use 'ignore' or 'warn'"


class SettingsVariable(ContextWrappingVariable):
    """A block such as ``with np.errstate(...)``, in which compiled code computes the same.

    What NumPy runs inside of it, at a graph break, does so under the settings.
    """

    _nonvar_fields: ClassVar[set[str]] = {"function", *ContextWrappingVariable._nonvar_fields}

    def __init__(self, function: str, target_values: Any, **kwargs: Any) -> None:
        super().__init__(target_values=target_values, **kwargs)
        self.function = function

    def enter(self, tx: Any) -> Any:
        return VariableTracker.build(tx, None)

    def exit(self, tx: Any, *args: Any) -> Any:
        return VariableTracker.build(tx, None)

    def module_name(self) -> str:
        return index_helpers.__name__

    def fn_name(self) -> str:
        return self.function

    def python_type(self) -> type:
        return np.errstate


def settings_block(value: Any, args: Any, kwargs: Any) -> SettingsVariable | None:
    """Return the block that a call of `np.errstate` or `np.printoptions` makes.

    Parameters
    ----------
    value : object
        What is called.
    args, kwargs : list and dict of VariableTracker

    Returns
    -------
    SettingsVariable or None
        None where it is no such call, or one that compiled code can't ignore.
    """
    if value not in (np.errstate, np.printoptions):
        return None
    if args or not all(variable.is_python_constant() for variable in kwargs.values()):
        return None
    given = {name: variable.as_python_constant() for name, variable in kwargs.items()}
    if value is np.errstate and any(v not in WITHOUT_EFFECT for v in given.values()):
        return None
    return SettingsVariable(value.__name__, [x for item in given.items() for x in item])


def _helper_of(variable: Any) -> str | None:
    """Return the name of an object such as `np.r_`, None for others."""
    return _INDEX_HELPERS.get(id(variable.value)) if active.depth else None


def _item(tx: Any, helper: str, key: Any) -> Any:
    """Trace ``np.r_[key]``."""
    if _asks_for_matrix(key):
        return refuse(f"np.{helper}", f"key: {key}", "matrices aren't compiled; use arrays")
    row = table.row_named(f"numpy.{helper}")
    assert row is not None
    return call_row(tx, row, [key], {})


def _call_method(original: Any) -> Any:
    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        helper = _helper_of(self)
        if helper is None or name != "__getitem__":
            return original(self, tx, name, args, kwargs)
        return _item(tx, helper, args[0])

    return call_method


def _mp_subscript_impl(original: Any) -> Any:
    def mp_subscript_impl(self: Any, tx: Any, key: Any) -> Any:
        helper = _helper_of(self)
        return original(self, tx, key) if helper is None else _item(tx, helper, key)

    return mp_subscript_impl


def _lookup_inner(original: Any) -> Any:
    """Look into ``p(x)`` for an object p of `numpy.polynomial`, or of `numpy.poly1d`."""

    @functools.wraps(original)
    def lookup_inner(
        obj: Any,
        name: str | None = None,
        filename: str | None = None,
        is_direct_call: bool = True,
        reasons: set[str] | None = None,
    ) -> Any:
        if not active.depth or not inspect.isfunction(obj) or obj not in _EVALUATIONS:
            return original(obj, name, filename, is_direct_call, reasons)
        if reasons is not None:
            reasons.add("npaccel implements what it calls")
        return UserFunctionVariable

    return lookup_inner


def _asks_for_matrix(key: Any) -> bool:
    first = key.items[0] if isinstance(key, TupleVariable) and key.items else key
    if not first.is_python_constant():
        return False
    word = first.as_python_constant()
    return isinstance(word, str) and (first is key or word.strip() in ("r", "c"))


_INDEXED = "Dynamo has no items of objects such as `np.r_`"
_OF_HELPERS = "tests/torch_layer/dynamo/test_uncompiled.py"

PATCHES = (
    Patch(UserDefinedObjectVariable, "call_method", _call_method, _INDEXED, _OF_HELPERS),
    Patch(
        UserDefinedObjectVariable, "mp_subscript_impl", _mp_subscript_impl,
        _INDEXED, _OF_HELPERS, only="2.12-",
    ),
    Patch(
        trace_rules, "lookup_inner", _lookup_inner,
        "Dynamo doesn't look into NumPy's own functions", "tests/numpy_layer/test_polynomials.py",
    ),
)  # fmt: skip

__all__ = ["HAS_EFFECT", "PATCHES", "settings_block"]
