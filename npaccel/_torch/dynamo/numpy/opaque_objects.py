"""Objects in a frame that hold arrays, but that compiled code can only hand on.

Masked arrays, arrays of strings, DataFrames. Dynamo would take some for functions of NumPy's, and
says of others what it lacks itself. Here each is an object of which only the type is known; what
else is asked of it isn't compiled, and the reason names it.

Read from torch/_dynamo/variables/{base,builder,functions,user_defined}.py and
torch/_dynamo/trace_rules.py (check_verbose) of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from torch._dynamo import trace_rules
from torch._dynamo.exc import Unsupported, unimplemented
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import GuardBuilder
from torch._dynamo.variables.functions import UserMethodVariable
from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

from npaccel._runtime import opaque
from npaccel._runtime.opaque import Kind
from npaccel._torch.dynamo.dynamo_errors import category_of
from npaccel._torch.dynamo.releases import GETATTR, owner_of
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Dynamo's names of why a function isn't captured, by kind of object.
CATEGORIES = {
    Kind.DTYPE: "NumPy's dtype",
    Kind.SUBCLASS: "subclass of ndarray",
    Kind.LIBRARY: "another library's arrays",
}
_PACKAGE = re.compile(r"site-packages[/\\\\](\w+)")
_KINDS = {category: kind for kind, category in CATEGORIES.items()}
#: Methods that a variable is asked for, besides the slots of Python's types, all ``..._impl``.
_ASKED = frozenset(
    {"as_proxy", "call_function", "call_method", "call_obj_hasattr", "generic_getattr", "mp_length"}
    | {"method_setattr_standard", "next_variable", "sq_contains", "sq_length", GETATTR}
    | {"unpack_var_sequence"}
)


def kind_of(category: str) -> Kind | None:
    """Return which kind of object has stopped a capture, None if it was something else."""
    return _KINDS.get(category)


class OpaqueVariable(UserDefinedObjectVariable):
    """An array of NumPy's that torch has no counterpart of."""

    # A tuple with it in it isn't one either, which is asked of every result.
    as_python_constant = VariableTracker.as_python_constant


class LibraryVariable(UserDefinedObjectVariable):
    """An object of another library's, whose attributes may be read where Dynamo can."""

    _nonvar_fields: ClassVar[set[str]] = UserDefinedObjectVariable._nonvar_fields


def _refuse(variable: Any, *_: Any, **__: Any) -> Any:
    value, name = variable.value, _name(variable.source)
    kind = opaque.kind_of(value)
    assert kind is not None
    unimplemented(
        gb_type=CATEGORIES[kind],
        context="",
        explanation=f"{_place(name)} is {opaque.described(value)}",
        hints=[opaque.advice(value, name)],
    )


def _name(source: Any) -> str:
    """Return what the user calls an object; empty for one that only Dynamo has named."""
    text = "" if source is None else source.name
    text = text() if callable(text) else text  # A method up to torch 2.9.
    text = re.sub(r"[GL]\['(\w+)'\]", r"\1", text).replace(".cell_contents", "")
    return "" if "___" in text or "(" in text else text


def _place(name: str) -> str:
    """Say where an object is, for the beginning of a sentence."""
    if not name:
        return "a value"
    code = InstructionTranslator.current_tx().output.root_tx.f_code
    root = re.match(r"\w*", name)
    assert root is not None
    parameters = inspect.getargs(code)
    names = {*parameters.args, parameters.varargs, parameters.varkw}
    is_whole = not code.co_name.startswith(("_npaccel", "torch_dynamo_resume"))
    return f"argument `{name}`" if is_whole and root[0] in names else f"`{name}`"


def _asked() -> Iterator[str]:
    for name in dir(UserDefinedObjectVariable):
        if name in _ASKED or name.endswith("_impl"):
            yield name


def _or_refused(original: Callable[..., Any]) -> Callable[..., Any]:
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except (Unsupported, NotImplementedError) as error:
            if category_of(error) in _KINDS:
                raise
            return _refuse(self)

    return asked


for _method in _asked():
    setattr(OpaqueVariable, _method, _refuse)
    setattr(LibraryVariable, _method, _or_refused(getattr(LibraryVariable, _method)))


def _call_function(original: Any) -> Any:
    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        owner = owner_of(self)
        if isinstance(owner, LibraryVariable):
            return _refuse(owner)
        return original(self, tx, args, kwargs)

    return call_function


def _check_verbose(original: Any) -> Any:
    @functools.wraps(original)
    def check_verbose(obj: Any, *args: Any, **kwargs: Any) -> Any:
        if active.depth and _is_librarys(obj):
            return trace_rules.SkipResult(True, "it is another library's")
        return original(obj, *args, **kwargs)

    return check_verbose


def _is_librarys(obj: Any) -> bool:
    """Whether code is in a package of array-like objects."""
    found = _PACKAGE.search(obj.co_filename) if isinstance(obj, types.CodeType) else None
    return found is not None and found[1] in opaque.LIBRARIES


def variable_for(builder: Any, value: Any) -> OpaqueVariable | None:
    """Return the variable for an array that torch has no counterpart of, None for others."""
    if not opaque.is_opaque(value):
        return None
    builder.install_guards(GuardBuilder.TYPE_MATCH)
    made = OpaqueVariable(value, source=builder.source)
    found: OpaqueVariable = builder.tx.output.side_effects.track_object_existing(value, made)
    return found


def noticed(variable: Any) -> Any:
    """Return a variable, as one that names another library's object where it's such."""
    if type(variable) is not UserDefinedObjectVariable:
        return variable
    if opaque.kind_of(variable.value) is Kind.LIBRARY:
        variable.__class__ = LibraryVariable
    return variable


_INTO_LIBRARIES = "Dynamo looks into methods of other libraries' arrays"
_TEST = "tests/torch_layer/dynamo/test_words.py"

PATCHES = (
    Patch(UserMethodVariable, "call_function", _call_function, _INTO_LIBRARIES, _TEST),
    Patch(trace_rules, "check_verbose", _check_verbose, _INTO_LIBRARIES, _TEST),
)

__all__ = ["CATEGORIES", "PATCHES", "kind_of", "noticed", "variable_for"]
