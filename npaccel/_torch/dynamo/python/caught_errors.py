"""Errors that a function catches, but didn't raise itself.

Where Python or NumPy would raise, Dynamo raises an error of the same type, with a text of its own.
So a handler is traced for what the type says; where it asks for the text, the graph breaks.

Read from torch/_dynamo/{exc,symbolic_convert}.py and
torch/_dynamo/variables/{builtin,exception,misc}.py of 2.11, 2.13 and 2.15.
"""

from __future__ import annotations

import functools
from typing import Any

from torch._dynamo.exc import TorchRuntimeError
from torch._dynamo.symbolic_convert import ExceptionStack, InstructionTranslatorBase
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.user_defined import (
    UserDefinedExceptionObjectVariable,
    UserDefinedObjectVariable,
)

from npaccel._torch.dynamo.numpy.calls import refuse
from npaccel._torch.dynamo.releases import GETATTR, NOTE_RAISED, RAISE, ExceptionVariable
from npaccel._torch.dynamo.source_lines import is_internal
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch, is_release

if is_release("2.14-"):
    from torch._dynamo.exc import FakeTensorObservedException

ERRORS = (ExceptionVariable, UserDefinedExceptionObjectVariable)
#: Attributes of errors that give their text.
_OF_TEXT = frozenset({"args", "msg", "name", "obj"})
_METHODS = frozenset({"__repr__", "__str__"})


def _raise(original: Any) -> Any:
    """Note that it's the function's own error; break the graph at one that came from outside."""

    @functools.wraps(original)
    def do_raise(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        error = None if value is None else value.realize()  # None for a bare `raise`.
        if active.depth and not isinstance(error, ERRORS) and _is_error(error):
            refuse("raising an error that was made outside of the function", "")
        is_statement = self.current_instruction.opname == "RAISE_VARARGS"
        before = active.raises
        active.raises = is_statement and not is_internal(self.f_code.co_filename)
        try:
            return original(self, value, *args, **kwargs)
        finally:
            active.raises = before

    return do_raise


def _is_error(variable: Any) -> bool:
    return isinstance(variable, UserDefinedObjectVariable) and isinstance(
        variable.value, BaseException
    )


def _note_raised(original: Any) -> Any:
    """Note an error, and whether the function raises it itself."""

    @functools.wraps(original)
    def note(self: Any, error: Any, *args: Any, **kwargs: Any) -> Any:
        if active.depth and not any(error is known for known, _ in active.errors):
            active.errors.append((error, active.raises))
        return original(self, error, *args, **kwargs)

    return note


def _check_text(variable: Any) -> None:
    if active.depth and any(variable is error and not is_own for error, is_own in active.errors):
        refuse("the text of an error that Python or NumPy raises", "")


def _as_text(original: Any) -> Any:
    """Break the graph at ``str(e)`` also where the error has a ``__str__`` of its own."""

    @functools.wraps(original)
    def as_text(self: Any, tx: Any, arg: Any, *args: Any) -> Any:
        error = arg.realize()
        if active.depth and isinstance(error, ERRORS):
            _check_text(error)
            kind: Any = error.python_type()
            if kind.__str__ is not BaseException.__str__:
                return refuse(f"the text of a {kind.__name__}", "", "it's made in another way")
        return original(self, tx, arg, *args)

    return as_text


def _format_value(original: Any) -> Any:
    """Break the graph at ``f"{e}"``."""

    @functools.wraps(original)
    def format_value(self: Any, fmt_spec: Any, flags: int) -> None:
        _check_text(self.stack[-1].realize())
        original(self, fmt_spec, flags)

    return format_value


def _named(original: Any) -> Any:
    """Break the graph at ``e.args``, and at ``e.__str__()`` of all errors: Dynamo's is the repr."""

    @functools.wraps(original)
    def of_error(self: Any, *args: Any) -> Any:
        names = {name for name in args if isinstance(name, str)}
        if active.depth and names & _METHODS:
            refuse("the text of an error by its own method", "", "call str() or repr()")
        if names & _OF_TEXT:
            _check_text(self)
        found = original(self, *args)
        if "args" in names and type(found) is ListVariable:  # In 2.11.
            return TupleVariable(found.items)
        return found

    return of_error


def _reconstruct(original: Any) -> Any:
    """Break the graph where the error goes on to other code."""

    @functools.wraps(original)
    def reconstruct(self: Any, codegen: Any) -> None:
        _check_text(self)
        original(self, codegen)

    return reconstruct


def _handle(original: Any) -> Any:
    """Give up at an error of a call that is traced: it has Dynamo's type, too."""

    @functools.wraps(original)
    def exception_handler(self: Any, raised: Any) -> None:
        if active.depth and isinstance(raised, FakeTensorObservedException):
            error = TorchRuntimeError(str(raised), raised.real_stack)
            raise error.with_traceback(raised.__traceback__)
        original(self, raised)

    return exception_handler


_WHY = "Dynamo's errors have other texts than Python's and NumPy's"
_TEST = "tests/torch_layer/dynamo/test_caught_errors.py"

PATCHES = (
    Patch(
        InstructionTranslatorBase, RAISE, _raise,
        "Dynamo raises TypeError for an error from outside",
        "tests/torch_layer/dynamo/test_python_functions.py",
    ),
    Patch(ExceptionStack, NOTE_RAISED, _note_raised, _WHY, _TEST),
    Patch(BuiltinVariable, "call_str", _as_text, _WHY, _TEST),
    Patch(BuiltinVariable, "call_repr", _as_text, _WHY, _TEST),
    Patch(InstructionTranslatorBase, "_format_value", _format_value, _WHY, _TEST),
    Patch(ExceptionVariable, GETATTR, _named, _WHY, _TEST),
    Patch(
        ExceptionVariable, "lookup_tp_getset_member", _named, _WHY, _TEST, only="2.14-",
    ),
    Patch(ExceptionVariable, "call_method", _named, _WHY, _TEST),
    Patch(ExceptionVariable, "reconstruct", _reconstruct, _WHY, _TEST),
    Patch(
        InstructionTranslatorBase, "exception_handler", _handle,
        "Dynamo lets a function catch the error of its own call as a RuntimeError", _TEST,
        only="2.14-",
    ),
)  # fmt: skip

__all__ = ["ERRORS", "PATCHES"]
