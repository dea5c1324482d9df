"""Objects of SciPy's that a traced function makes: results of its functions, interpolators.

A node of the graph gives an object's tensors. The object itself is made where it leaves the graph,
as SciPy makes it.

Read from torch/_dynamo/variables/{base,lists}.py and torch/_dynamo/codegen.py of 2.13.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch._dynamo.bytecode_transformation import create_call_function
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.lazy import LazyVariableTracker
from torch._dynamo.variables.lists import ListVariable, TupleVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from npaccel._runtime import foreign_table, outputs
from npaccel._runtime.foreign_table import Form, Place, Recipe
from npaccel._torch.dynamo.numpy.calls import copied, emit, refuse, refuse_missing
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.dynamo.releases import GETATTR
from npaccel._torch.patching import Patch

_CONSTANTS = (type(None), bool, int, float, complex, str)
_ON_ARRAYS = "SciPy computes it on NumPy's arrays"


#: Errors of implementations, which they raise for what SciPy knows better.
_LEFT_TO_SCIPY = (ValueError, TypeError, IndexError, AttributeError, GuardOnDataDependentSymNode)


def _why(error: Exception) -> str:
    """Return why SciPy has to make a call for which an implementation raises an error."""
    if isinstance(error, GuardOnDataDependentSymNode):
        return "which way it goes depends on the values"
    text = str(error)
    known = "" if text in ("", "SciPy knows") else f" ({' '.join(text.split()).rstrip('.')})"
    return f"SciPy says what is to be done with these arguments{known}"


class _Apart:
    """A function whose result is given as its tensors; what the object was is kept.

    Parameters
    ----------
    function : callable
        Gives tensors, tuples of them, a `Recipe`, or an object of the foreign table's.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        #: The recipe, with places of tensors for tensors; or the object without its tensors.
        self.found: Any = None
        self._is_traced = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            found = self.function(*args, **kwargs)
        except _LEFT_TO_SCIPY as error:
            if self._is_traced:
                raise
            raise NotImplementedError(_why(error)) from error
        self._is_traced = True
        if isinstance(found, Recipe):
            tensors = [value for value in found.values if isinstance(value, torch.Tensor)]
            self.found = found.form, _outline(found), _attributes(found)
            return tuple(tensors)
        parts = foreign_table.table().apart(found)
        if parts is None:
            return found
        tensors, self.found = parts
        return tuple(tensors)


def _outline(recipe: Recipe) -> list[Any]:
    """Return the values of a recipe, with places in place of tensors."""
    found: list[Any] = []
    count = 0
    for value in recipe.values:
        if isinstance(value, torch.Tensor):
            found.append(Place(count))
            count += 1
        elif type(value) in _CONSTANTS:
            found.append(value)
        else:
            raise NotImplementedError("its result holds what is neither an array nor a number")
    return found


def _attributes(recipe: Recipe) -> tuple[type, int, dict[str, Any]]:
    """Return an object's class, how many items it has, and its attributes that are known."""
    made = recipe.made()
    tensors = [value for value in recipe.values if isinstance(value, torch.Tensor)]
    places: dict[int, Place] = {}
    for i, tensor in enumerate(tensors):
        places.setdefault(id(tensor), Place(i))
    values = {**dict(zip(type(made)._fields, made, strict=True)), **vars(made)}
    found = {
        name: places.get(id(value), value)
        for name, value in values.items()
        if id(value) in places or type(value) in _CONSTANTS
    }
    return type(made), len(made), found


def emit_call(
    tx: Any,
    name: str,
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
    form: Any = None,
    *,
    is_scalar: bool = True,
) -> Any:
    """Put a call into the graph whose result may be an object.

    Parameters
    ----------
    tx : InstructionTranslator
    name : str
        SciPy's name of what is called.
    function : callable
        Computes on tensors.
    args, kwargs : list and dict of VariableTracker
    form : tuple of Form and list of VariableTracker, optional
        How SciPy makes the object, where it isn't known from the result.
    is_scalar : bool
        Whether a result without dimensions is a NumPy scalar, not an array.
    """
    apart = _Apart(function)
    found = emit(tx, Operation(name, apart, lambda node, flags: is_scalar), args, kwargs)
    if apart.found is None:
        return found
    tensors = list(found.items)
    if isinstance(apart.found, tuple):
        return _result(tensors, *apart.found)
    assert form is not None
    return InterpolatorVariable(name, apart.found, tensors, *form)


def _result(
    tensors: list[Any],
    form: Form,
    outline: list[Any],
    known: tuple[type, int, dict[str, Any]],
) -> Any:
    def variable(value: Any) -> Any:
        is_place = isinstance(value, Place)
        return tensors[value.index] if is_place else ConstantVariable.create(value)

    kind, count, attributes = known
    variables = {name: variable(value) for name, value in attributes.items()}
    items = [variables[name] for name in kind._fields[:count]]  # type: ignore[attr-defined]
    return ResultVariable(items, kind, variables, form, list(map(variable, outline)))


def _reconstructed(codegen: Any, form: Form, values: list[Any]) -> None:
    """Write the bytecode that makes an object."""
    codegen.add_push_null(lambda: codegen.load_import_from(outputs.__name__, "built"))
    for field in (form.kind, form.count, form.keywords, form.added):
        codegen.append_output(codegen.create_load_const(field))
    codegen.foreach(values)
    codegen.extend_output(create_call_function(4 + len(values), False))


class ResultVariable(TupleVariable):
    """The result of a SciPy function: a tuple of its own class, with attributes.

    Parameters
    ----------
    items : list of VariableTracker
    kind : type
        SciPy's class.
    attributes : dict of VariableTracker
    form, values
        How it's made.
    """

    _nonvar_fields: ClassVar[set[str]] = {"kind", "form", *TupleVariable._nonvar_fields}

    def __init__(
        self,
        items: list[Any],
        kind: type,
        attributes: dict[str, Any],
        form: Form,
        values: list[Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(items, **kwargs)
        self.kind, self.attributes, self.form, self.values = kind, attributes, form, values

    def python_type(self) -> type:  # type: ignore[override]
        return self.kind

    def is_python_constant(self) -> bool:
        return False

    def as_proxy(self) -> Any:
        return tuple(item.as_proxy() for item in self.items)

    def getitem_const(self, tx: Any, arg: Any) -> Any:
        return TupleVariable(self.items).getitem_const(tx, arg)  # A part is a plain tuple.

    def call_obj_hasattr(self, tx: Any, name: str) -> Any:
        return ConstantVariable.create(name in self.attributes or hasattr(self.kind, name))

    def call_method(self, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name in dir(tuple):
            return TupleVariable(self.items).call_method(tx, name, args, kwargs)
        return refuse(f"{self.kind.__name__}.{name}", f"args: {args}", _ON_ARRAYS)

    def reconstruct(self, codegen: Any) -> None:
        _reconstructed(codegen, self.form, self.values)


def _attribute_of_result(self: Any, tx: Any, name: str) -> Any:
    if name in self.attributes:
        return self.attributes[name]
    if name == "__class__":
        return VariableTracker.build(tx, self.kind)
    return _unknown_attribute(self.kind, name)


def _unknown_attribute(kind: type, name: str) -> Any:
    """Have methods looked up when they're called, and other attributes left to SciPy."""
    found = getattr(kind, name, None)
    if callable(found):
        raise NotImplementedError
    if found is None and not name.startswith("_"):
        refuse_missing(f"SciPy's {kind.__name__}", name)
    return refuse(f"{kind.__name__}.{name}", "", _ON_ARRAYS)


setattr(ResultVariable, GETATTR, _attribute_of_result)


class InterpolatorVariable(VariableTracker):
    """An interpolator or another object whose methods compute on tensors.

    Parameters
    ----------
    name : str
        SciPy's name of what has made it.
    skeleton : object
        The foreign table's object, without its tensors.
    tensors : list of VariableTracker
        What the skeleton is without.
    form, values
        How SciPy makes its own.
    """

    _nonvar_fields: ClassVar[set[str]] = {"name", "skeleton", "form"} | (
        VariableTracker._nonvar_fields
    )

    def __init__(
        self,
        name: str,
        skeleton: Any,
        tensors: list[Any],
        form: Form,
        values: list[Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.name, self.skeleton, self.tensors = name, skeleton, tensors
        self.form, self.values = form, values

    def python_type(self) -> type:
        found: type = self.skeleton.__class__
        return found

    def call_function(self, tx: Any, args: Any, kwargs: Any) -> Any:
        return self.call_method(tx, "__call__", args, kwargs)

    def call_method(self, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        function = foreign_table.table().method(self.skeleton, name, len(self.tensors))
        if function is None:
            return refuse(f"{self.python_type().__name__}.{name}", f"args: {args}", _ON_ARRAYS)
        given = [ConstantVariable.create(name), self, *args]
        form = Form(f"{foreign_table.__name__}:method", len(given), tuple(kwargs))
        made = form, [*given, *kwargs.values()]
        full, given = f"{self.name}.{name}", [*self.tensors, *args]
        return emit_call(tx, full, function, given, kwargs, made, is_scalar=False)

    def call_obj_hasattr(self, tx: Any, name: str) -> Any:
        return ConstantVariable.create(hasattr(self.python_type(), name) or self._has(name))

    def _has(self, name: str) -> bool:
        return name in foreign_table.table().attributes(self.skeleton)

    def reconstruct(self, codegen: Any) -> None:
        _reconstructed(codegen, self.form, self.values)


def _attribute_of_interpolator(self: Any, tx: Any, name: str) -> Any:
    found = foreign_table.table().attributes(self.skeleton)
    if name not in found:
        return _unknown_attribute(self.python_type(), name)
    value = found[name]
    if isinstance(value, Place):
        return self.tensors[value.index]
    return VariableTracker.build(tx, value)


setattr(InterpolatorVariable, GETATTR, _attribute_of_interpolator)


def made_by(tx: Any, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return how SciPy makes what a call of it gives.

    Arrays are kept as they are at the call.
    """
    kept = [_kept(tx, value) for value in (*args, *kwargs.values())]
    kind = f"{function.__module__}:{function.__qualname__}"
    return Form(kind, len(args), tuple(kwargs)), kept


def _kept(tx: Any, value: Any) -> Any:
    value = value.realize() if isinstance(value, LazyVariableTracker) else value
    if isinstance(value, NumpyNdarrayVariable):
        return copied(tx, value)
    if type(value) in (TupleVariable, ListVariable):
        return TupleVariable([_kept(tx, item) for item in value.items])
    return value


PATCHES = (
    Patch(
        outputs, "built", torch._dynamo.disable,
        "frames call it while Dynamo looks at every new frame",
        "tests/scipy_layer/test_objects_in_jit.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "emit_call", "made_by"]
