"""Trace calls of objects that `numpy.vectorize` made.

Read from torch/_dynamo/variables/{functions,builder,misc}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import types
from typing import Any, ClassVar

import numpy as np
from torch._dynamo.source import AttrSource, DefaultsSource
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import GuardBuilder, VariableBuilder
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.functions import NestedUserFunctionVariable, UserFunctionVariable
from torch._dynamo.variables.misc import NumpyVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

from npaccel._numpy.vectorize.calls import Vectorized
from npaccel._numpy.vectorize.code import Code, code_of, names_code
from npaccel._torch.dynamo.numpy.calls import emit, refuse
from npaccel._torch.dynamo.numpy.operations import Operation

_NAME = "numpy.vectorize"
_MAX_NESTED = 16


class VectorizeVariable(VariableTracker):
    """An object that `numpy.vectorize` made.

    Parameters
    ----------
    made : numpy.vectorize
        The object, or one with the same settings.
    function : VariableTracker
        What it calls.
    """

    _nonvar_fields: ClassVar[set[str]] = {"made", *VariableTracker._nonvar_fields}

    def __init__(self, made: Any, function: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.made = made
        self.function = function

    def python_type(self) -> type:
        return np.vectorize

    def call_function(self, tx: Any, args: Any, kwargs: Any) -> Any:
        """Call it, or, where it waits for its function, give it that."""
        if self.function is None:
            if len(args) != 1 or kwargs:
                return refuse("this call of numpy.vectorize", "")
            return VectorizeVariable(self.made, args[0].realize())
        return _called(tx, self, list(args), kwargs)


def variable_for(builder: Any, value: Any) -> Any:
    """Return the variable for an object that was made outside of the function."""
    if getattr(value, "pyfunc", None) is np._NoValue:
        return None
    builder.install_guards(GuardBuilder.ID_MATCH)
    parts = {
        name: VariableBuilder(builder.tx, AttrSource(builder.source, name))(getattr(value, name))
        for name in ("pyfunc", "otypes", "signature", "cache")
    }
    return VectorizeVariable(value, parts["pyfunc"], source=builder.source)


def made(tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the variable for ``numpy.vectorize(...)`` inside of the function."""
    named = dict(kwargs)
    given = [*args[:1], *([named.pop("pyfunc")] if "pyfunc" in named else [])]
    names = ("otypes", "doc", "excluded", "cache", "signature")
    named |= dict(zip(names, args[1:], strict=False))
    try:
        settings = {name: _plain(value) for name, value in named.items()}
        found = np.vectorize(_nothing, **settings)
    except Exception as error:  # noqa: BLE001 (NumPy says so itself, when it makes the call)
        return refuse(_NAME, "", " ".join(str(error).split()))
    return VectorizeVariable(found, given[0].realize() if given else None)


def _nothing() -> None:
    raise NotImplementedError


def _plain(variable: Any) -> Any:
    return variable.realize().as_python_constant()


def _called(tx: Any, variable: VectorizeVariable, args: list[Any], kwargs: Any) -> Any:
    vectorize = variable.made
    if vectorize.signature is not None:
        return refuse(f"this call of {_NAME}", "", "functions with a signature aren't compiled")
    try:
        function, codes = _understood(tx, variable.function)
        positions, operands = _placed(function, vectorize.excluded, args, kwargs)
    except NotImplementedError as error:
        return refuse(f"this call of {_NAME}", "", _reason(error))
    whole = frozenset(i for i, is_whole in enumerate(positions) if is_whole)
    names = tuple((code, name) for code, name, _ in codes)
    cached = vectorize.cache and vectorize.otypes is None
    call = Vectorized(function, vectorize.otypes or None, whole, names, cached)
    operation = Operation(f"{_NAME}.__call__", call, lambda node, flags: False)
    return emit(tx, operation, [*operands, *(value for *_, value in codes)], {})


def _reason(error: NotImplementedError) -> str:
    return f"{error}; write it with whole arrays and numpy.where"


def _placed(
    function: Any, excluded: set[Any], args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[bool], list[Any]]:
    """Put arguments in the order of the parameters; says which are handed on as they are."""
    whole = [i in excluded for i in range(len(args))]
    operands = list(args)
    if not kwargs:
        return whole, operands
    if not isinstance(function, Code):
        raise NotImplementedError("with keywords for a function that isn't written in Python")
    for name in function.parameters[len(args) :]:
        if name in kwargs:
            if len(operands) != function.parameters.index(name):
                raise NotImplementedError("with a keyword behind a default")
            operands.append(kwargs[name])
            whole.append(name in excluded)
    if len(operands) != len(args) + len(kwargs):
        raise NotImplementedError("with keywords that the function doesn't have")
    return whole, operands


def _understood(tx: Any, variable: Any) -> tuple[Any, list[tuple[Code, str, Any]]]:
    """Return what a function computes, and the arrays that it reads from outside."""
    arrays: list[tuple[Code, str, Any]] = []
    found = _meaning(tx, variable.realize(), arrays, {})
    if found[0] not in ("code", "function"):
        raise NotImplementedError("of something that isn't a function")
    return found[1], arrays


def _meaning(tx: Any, variable: Any, arrays: Any, known: dict[Any, Code]) -> tuple[Any, Any]:
    if isinstance(variable, UserFunctionVariable | NestedUserFunctionVariable):
        return "code", _code(tx, variable, arrays, known)
    if isinstance(variable, BuiltinVariable):
        return "function", variable.fn
    if isinstance(variable, NumpyVariable | TorchInGraphFunctionVariable):
        return "function", variable.value
    if isinstance(variable, ConstantVariable):
        return "number", variable.as_python_constant()
    if isinstance(variable, NumpyNdarrayVariable | SymNodeVariable):
        return "operand", variable
    raise NotImplementedError(f"the function uses a {type(variable).__name__}")


def _code(tx: Any, variable: Any, arrays: Any, known: dict[Any, Code]) -> Code:
    nested = isinstance(variable, NestedUserFunctionVariable)
    if type(variable) not in (UserFunctionVariable, NestedUserFunctionVariable):
        raise NotImplementedError("the function is a method")
    function = _bare(variable) if nested else variable.fn
    if function.__code__ in known:
        raise NotImplementedError("the function calls itself")
    if len(known) >= _MAX_NESTED:
        raise NotImplementedError("the function calls too many others")
    code = code_of(function)
    known[function.__code__] = code
    helper = names_code(code, function)
    if nested:
        reads = variable.clone(code=ConstantVariable.create(helper), defaults=None, kwdefaults=None)
    else:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in helper.co_freevars)
        made_function = types.FunctionType(helper, function.__globals__, "_names", None, closure)
        reads = UserFunctionVariable(made_function, source=variable.source)
    values = reads.call_function(tx, [], {}).items
    defaults = _defaults(tx, variable)
    own = [f"{name}=" for name in code.parameters[len(code.parameters) - len(defaults) :]]
    for name, value in [*zip(code.names, values, strict=False), *zip(own, defaults, strict=True)]:
        what, meaning = _meaning(tx, value.realize(), arrays, known)
        if what == "operand":
            arrays.append((code, name, meaning))
        else:
            code.meanings[name] = (what, meaning)
    del known[function.__code__]
    return code


def _defaults(tx: Any, variable: Any) -> list[Any]:
    """Return the defaults of a function's parameters, with guards on them."""
    if isinstance(variable, NestedUserFunctionVariable):
        return [] if variable.defaults is None else list(variable.defaults.items)
    values = variable.fn.__defaults__ or ()
    if values and variable.source is None:
        raise NotImplementedError("the defaults of the function may change")
    return [
        VariableBuilder(tx, DefaultsSource(variable.source, i))(value)
        for i, value in enumerate(values)
    ]


def _bare(variable: Any) -> types.FunctionType:
    """Return a function that was made while tracing, with nothing in its closure."""
    code = variable.get_code()
    cells = tuple(types.CellType() for _ in code.co_freevars)
    defaults = variable.defaults
    values = None if defaults is None else (None,) * len(defaults.items)  # Only how many.
    return types.FunctionType(code, variable.f_globals, code.co_name, values, cells)


__all__ = ["VectorizeVariable", "made", "variable_for"]
