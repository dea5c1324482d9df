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

from npaccel._runtime.callables import LEFT_ALONE, is_jitted
from npaccel._torch.dynamo.state import active

_COMPARISONS = (operator.is_, operator.is_not, operator.eq, operator.ne)


def patch_methods() -> None:
    """Trace `self.step()` and `super().step()` where a jitted function is the method.

    Dynamo traces ``Jitted.__get__``, which makes a method of what stands for the function. It
    doesn't do so for `super`, and takes static and class methods for functions.
    """
    original_call = UserDefinedClassVariable.call_function
    original_found = SuperVariable._resolved_getattr_and_source
    original_function = UserFunctionVariable.__init__
    original_method = UserMethodVariable.__init__

    @functools.wraps(original_call)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if active.depth and self.value is types.MethodType and len(args) == 2 and not kwargs:
            function = args[0].realize()
            if type(function) is UserFunctionVariable:
                return UserMethodVariable(function.fn, args[1], source_fn=function.source)
        return original_call(self, tx, args, kwargs)

    @functools.wraps(original_found)
    def resolved(self: Any, tx: Any, name: str) -> Any:
        found, source = original_found(self, tx, name)
        if active.depth and is_jitted(found):
            return found.__wrapped__, source and AttrSource(source, "__wrapped__")
        return found, source

    @functools.wraps(original_function)
    def function(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        if active.depth and is_jitted(fn):
            source = kwargs.get("source")
            if source is not None and not isinstance(self, UserMethodVariable):
                kwargs["source"] = AttrSource(source, "__wrapped__")
            fn = fn.__wrapped__
        original_function(self, fn, *args, **kwargs)

    @functools.wraps(original_method)
    def method(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        original_method(self, fn, *args, **kwargs)
        if active.depth and is_jitted(fn) and self.source_fn is not None:
            self.source_fn = AttrSource(self.source_fn, "__wrapped__")

    UserFunctionVariable.__init__ = function  # type: ignore[method-assign]
    UserMethodVariable.__init__ = method  # type: ignore[method-assign]
    UserDefinedClassVariable.call_function = call_function  # type: ignore[method-assign]
    SuperVariable._resolved_getattr_and_source = resolved  # type: ignore[method-assign]
    _patch_attributes()


def _patch_attributes() -> None:
    """Take a jitted function that an object itself has for what it is, not for a method of it.

    Dynamo of 2.11 calls its ``__get__``, as it does where the class has it.
    """
    original = UserDefinedObjectVariable.var_getattr

    @functools.wraps(original)
    def var_getattr(self: Any, tx: Any, name: str) -> Any:
        if active.depth and _has_jitted(self, tx, name):
            return VariableTracker.build(tx, vars(self.value)[name], AttrSource(self.source, name))
        return original(self, tx, name)

    UserDefinedObjectVariable.var_getattr = var_getattr  # type: ignore[method-assign]


def _has_jitted(variable: Any, tx: Any, name: str) -> bool:
    """Whether an attribute of an object, not of its class, is a jitted function."""
    value = getattr(variable.value, "__dict__", {}).get(name)
    if not is_jitted(value) or variable.source is None or variable._object_has_getattribute:
        return False
    if tx.output.side_effects.has_pending_mutation_of_attr(variable, name):
        return False
    return inspect.getattr_static(variable.value, name) is value


def patch_comparisons() -> None:
    """Ask which function it is where two are compared: BuiltinVariable.call_function.

    A function that is an argument stands for all of its definition, see `FunctionKey`.
    """
    original = BuiltinVariable.call_function

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if active.depth and self.fn in _COMPARISONS:
            functions = [argument.realize() for argument in args]
            if all(type(one) is UserFunctionVariable for one in functions):
                for source in (one.source for one in functions if one.source is not None):
                    install(source.make_guard(GuardBuilder.ID_MATCH))
        return original(self, tx, args, kwargs)

    BuiltinVariable.call_function = call_function  # type: ignore[method-assign]


@functools.cache
def leave_alone() -> None:
    """Keep Dynamo's frame hook from calls of jitted functions, and from all that those call."""
    skip = FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP)
    for code in LEFT_ALONE:
        set_code_exec_strategy(code, skip)
