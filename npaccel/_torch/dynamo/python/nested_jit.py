"""Functions that others call: jitted ones and methods, and those that are arguments.

Read from torch/_dynamo/variables/{builtin,misc,user_defined}.py and torch/_dynamo/eval_frame.py of
2.11 and 2.13.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from typing import Any

from torch._dynamo.eval_frame import set_code_exec_strategy
from torch._dynamo.guards import GuardBuilder
from torch._dynamo.guards import install_guard as install
from torch._dynamo.source import AttrSource
from torch._dynamo.types import FrameAction, FrameExecStrategy
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.functions import UserFunctionVariable, UserMethodVariable
from torch._dynamo.variables.misc import SuperVariable
from torch._dynamo.variables.user_defined import UserDefinedClassVariable, UserDefinedObjectVariable

from npaccel._runtime.callables import LEFT_ALONE, is_jitted, on_left_alone
from npaccel._torch.dynamo.releases import GETATTR, bound_method
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

_COMPARISONS = (operator.is_, operator.is_not, operator.eq, operator.ne)


# Dynamo traces ``Jitted.__get__``, which makes a method of what stands for the function. It doesn't
# do so for `super`, and takes static and class methods for functions.


def _call_function(original: Any) -> Any:
    """Trace ``self.step()`` where a jitted function is the method."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if active.depth and self.value is types.MethodType and len(args) == 2 and not kwargs:
            function = args[0].realize()
            if type(function) is UserFunctionVariable:
                return bound_method(function, args[1])
        return original(self, tx, args, kwargs)

    return call_function


def _resolved_getattr(original: Any) -> Any:
    """Trace ``super().step()`` where a jitted function is the method."""

    @functools.wraps(original)
    def resolved(self: Any, tx: Any, name: str) -> Any:
        found, source = original(self, tx, name)
        if active.depth and is_jitted(found):
            return found.__wrapped__, source and AttrSource(source, "__wrapped__")
        return found, source

    return resolved


def _init_function(original: Any) -> Any:
    """Trace a jitted static method, or function of a class, as what it wraps."""

    @functools.wraps(original)
    def function(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        if active.depth and is_jitted(fn):
            source = kwargs.get("source")
            if source is not None and not isinstance(self, UserMethodVariable):
                kwargs["source"] = AttrSource(source, "__wrapped__")
            fn = fn.__wrapped__
        original(self, fn, *args, **kwargs)

    return function


def _init_method(original: Any) -> Any:
    """Note where the code of a jitted method comes from."""

    @functools.wraps(original)
    def method(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        original(self, fn, *args, **kwargs)
        if active.depth and is_jitted(fn) and self.source_fn is not None:
            self.source_fn = AttrSource(self.source_fn, "__wrapped__")

    return method


def _getattr(original: Any) -> Any:
    """Take a jitted function that an object itself has for what it is, not for a method of it."""

    @functools.wraps(original)
    def get(self: Any, tx: Any, name: str) -> Any:
        if active.depth and _has_jitted(self, tx, name):
            return VariableTracker.build(tx, vars(self.value)[name], AttrSource(self.source, name))
        return original(self, tx, name)

    return get


def _has_jitted(variable: Any, tx: Any, name: str) -> bool:
    """Whether an attribute of an object, not of its class, is a jitted function."""
    value = getattr(variable.value, "__dict__", {}).get(name)
    if not is_jitted(value) or variable.source is None or variable._object_has_getattribute:
        return False
    if tx.output.side_effects.has_pending_mutation_of_attr(variable, name):
        return False
    return inspect.getattr_static(variable.value, name) is value


def _compare(original: Any) -> Any:
    """Ask which function it is where two are compared.

    A function that is an argument stands for all of its definition, see `FunctionKey`.
    """

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if active.depth and self.fn in _COMPARISONS:
            functions = [argument.realize() for argument in args]
            if all(type(one) is UserFunctionVariable for one in functions):
                for source in (one.source for one in functions if one.source is not None):
                    install(source.make_guard(GuardBuilder.ID_MATCH))
        return original(self, tx, args, kwargs)

    return call_function


def leave_alone() -> None:
    """Keep Dynamo's frame hook from calls of jitted functions, and from all that those call.

    From now on, until somebody calls ``torch._dynamo.reset``.
    """
    for code in list(LEFT_ALONE):
        _skip(code)
    if _skip not in on_left_alone:
        on_left_alone.append(_skip)


def _skip(code: types.CodeType) -> None:
    set_code_exec_strategy(code, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP))


_OF_JITTED = "Dynamo takes jitted methods for functions, or knows no guard on their code"
_METHODS = "tests/jit/test_jitted_methods.py"

PATCHES = (
    Patch(UserFunctionVariable, "__init__", _init_function, _OF_JITTED, _METHODS),
    Patch(
        UserMethodVariable, "__init__", _init_method, _OF_JITTED, _METHODS,
        only="2.11-2.14",  # Later a method has the variable of its function, which knows.
    ),
    Patch(UserDefinedClassVariable, "call_function", _call_function, _OF_JITTED, _METHODS),
    Patch(SuperVariable, "_resolved_getattr_and_source", _resolved_getattr, _OF_JITTED, _METHODS),
    Patch(
        UserDefinedObjectVariable, GETATTR, _getattr,
        "Dynamo of 2.11 makes a method of a jitted function that an object itself has", _METHODS,
    ),
    Patch(
        BuiltinVariable, "call_function", _compare,
        "functions that are arguments have no guard on which they are",
        "tests/torch_layer/dynamo/test_functions_given.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "leave_alone"]
