"""Trace NumPy's random numbers: a call of a generator becomes a node of the graph.

The nodes' targets are `HostCall`s, which `random_graph` takes out of the graph.

Read from torch/_dynamo/variables/{user_defined,misc,builder}.py of 2.11 and
2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable, TensorVariable
from torch._dynamo.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)

from npaccel._numpy import _random, _table
from npaccel._numpy._context import settings
from npaccel._numpy._random_results import Drawn, bound, result_of
from npaccel._torch_internals.random_graph import HostCall, writes

_GENERATORS = (np.random.Generator, np.random.RandomState)
#: Classes and functions that make generators.
_MAKERS: dict[Any, tuple[str, type]] = {
    kind: (kind.__name__, kind)
    for kind in (
        *(*_GENERATORS, np.random.SeedSequence, np.random.MT19937, np.random.PCG64),
        *(np.random.PCG64DXSM, np.random.Philox, np.random.SFC64),
    )
}
_MAKERS[np.random.default_rng] = ("default_rng", np.random.Generator)
_COMPUTED = (
    "its parameters are computed in the function, and NumPy draws before the compiled code runs; "
    'draw standard numbers and scale them, or use rng="device"'
)


class GeneratorVariable(VariableTracker):
    """A generator, or what one is made of, that the traced function makes."""

    _nonvar_fields: ClassVar[set[str]] = {"node", "kind", *VariableTracker._nonvar_fields}

    def __init__(self, node: torch.fx.Node, kind: type, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.node = node
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def as_proxy(self) -> Any:
        return self.node

    def call_method(self, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if self.kind in _GENERATORS:
            return _method(tx, self.node, self.kind, name, list(args), kwargs)
        return super().call_method(tx, name, args, kwargs)


#: In a node's meta: whether NumPy has a scalar there, see `numpy_tracing`.
_SCALAR = "numpy_scalar"


class _Hooks:
    """The functions of `numpy_tracing` that are needed here."""

    active: Any
    refuse: Callable[..., Any]
    emit: Callable[..., Any]
    operation: Callable[..., Any]


def patch_generators(
    active: Any, refuse: Callable[..., Any], emit: Callable[..., Any], operation: Any
) -> None:
    """`rng.normal(...)` and `np.random.RandomState(...)`: variables/user_defined.py.

    Parameters
    ----------
    active : object
        Its `depth` is 0 where npaccel doesn't trace; `draws` says whether a draw can be an
        input of the graph.
    refuse, emit : callable
    operation : type
        Of `numpy_tracing`.
    """
    _Hooks.active, _Hooks.refuse, _Hooks.emit, _Hooks.operation = active, refuse, emit, operation
    original_method = UserDefinedObjectVariable.call_method
    original_class = UserDefinedClassVariable.call_function

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        kind = type(self.value)
        if not active.depth or kind not in _GENERATORS or self.source is None:
            return original_method(self, tx, name, args, kwargs)
        source = self.source.name
        owner = source() if callable(source) else source  # A method up to torch 2.9.
        return _method(tx, owner, kind, name, list(args), kwargs)

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth or self.value not in _MAKERS:
            return original_class(self, tx, args, kwargs)
        return _make(tx, self.value, list(args), kwargs)

    UserDefinedObjectVariable.call_method = call_method
    UserDefinedClassVariable.call_function = call_function


def call_function(tx: Any, function: Any, name: str, args: list[Any], kwargs: Any) -> Any:
    """Trace a function of `numpy.random`.

    Parameters
    ----------
    tx : object
        Dynamo's translator.
    function : callable
    name : str
        NumPy's name of it, without ``"numpy.random."``.
    args, kwargs : list and dict of VariableTracker
    """
    if function in _MAKERS:
        return _make(tx, function, args, kwargs)
    return _method(tx, "random", np.random.RandomState, name, args, kwargs)


def _method(
    tx: Any, owner: Any, kind: type, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a method of a generator."""
    full = f"numpy.random.{kind.__name__}.{name}"
    row = _table.row_named("numpy.random." + name if owner == "random" else full)
    if row is None or row.status != "compiled" or not _Hooks.active.draws:
        return _Hooks.refuse(full, "", row.reason if row and row.reason else _random.ON_HOST)
    call = _Draw(tx, owner, kind is np.random.RandomState, _random.canonical(name), row.name)
    if name == "seed":
        return call.seed(args, kwargs)
    if settings().rng == "device":
        return call.on_device(args, kwargs)
    special = {"choice": call.choice, "permutation": call.permutation, "shuffle": call.shuffle,
               "permuted": call.permuted}  # fmt: skip
    return special.get(name, call.plain)(args, kwargs)


def _make(tx: Any, maker: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Trace the making of a generator."""
    name, kind = _MAKERS[maker]
    full = f"numpy.random.{name}"
    if not _Hooks.active.draws:
        return _Hooks.refuse(full, "", _random.ON_HOST)
    if maker is np.random.default_rng and args and _python_type(args[0]) is kind:
        return args[0]
    _check_host(full, [*args, *kwargs.values()])
    node = _statement(tx, HostCall(full, "random", name, None), args, kwargs)
    return GeneratorVariable(node, kind)


def _python_type(variable: Any) -> Any:
    if isinstance(variable, GeneratorVariable):
        return variable.kind
    return type(variable.value) if isinstance(variable, UserDefinedObjectVariable) else None


def _statement(tx: Any, call: HostCall, args: Any, kwargs: Any) -> torch.fx.Node:
    """Add a node that has no result for the graph."""
    made = tx.output.create_proxy(
        "call_function",
        call,
        tuple(_argument(arg) for arg in args),
        {name: _argument(arg) for name, arg in kwargs.items()},
    )
    made.node.meta["example_value"] = None
    node: torch.fx.Node = made.node
    return node


def _argument(variable: Any) -> Any:
    if isinstance(variable, GeneratorVariable):
        return torch.fx.Proxy(variable.node)
    return variable.as_proxy()


def _check_host(name: str, variables: Sequence[Any]) -> None:
    """Refuse a call whose arguments aren't known before the graph runs."""
    for variable in variables:
        if isinstance(variable, TensorVariable) and not _is_input(variable):
            _Hooks.refuse(f"this call of {name}", "", _COMPUTED)


def _is_input(variable: Any) -> bool:
    """Whether a tensor is an input of the graph that nothing has written to so far."""
    node = variable.as_proxy().node
    if node.op != "placeholder":
        return False
    return not any(writes(other) for other in node.graph.nodes)


class _Draw:
    """One call of a method that draws, while it is traced."""

    def __init__(self, tx: Any, owner: Any, legacy: bool, name: str, full: str) -> None:
        self.tx = tx
        self.owner = owner
        self.legacy = legacy
        self.name = name
        self.full = full

    def seed(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        _check_host(self.full, [*args, *kwargs.values()])
        _statement(self.tx, HostCall(self.full, self.owner, "seed", None), args, kwargs)
        return VariableTracker.build(self.tx, None)

    def plain(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A draw whose arguments NumPy takes as they are."""
        variable, call = self._drawn(args, kwargs)
        if call.drawn is not None and call.drawn.kind == "python":
            return self._number(variable)
        return variable

    def _drawn(
        self, args: list[Any], kwargs: dict[str, Any], function: str = "", result: Any = None
    ) -> tuple[Any, HostCall]:
        _check_host(self.full, [*args, *kwargs.values()])
        call = HostCall(self.full, self.owner, function or self.name, result or self._result)
        variable = _Hooks.emit(self.tx, call, args, kwargs)
        if call.drawn is not None and call.drawn.kind == "scalar":
            variable.as_proxy().node.meta[_SCALAR] = True
        return variable, call

    def _result(self, *args: Any, **kwargs: Any) -> Drawn:
        return result_of(self.name, args, kwargs, legacy=self.legacy)

    def _number(self, variable: Any) -> Any:
        """A number of Python's: a weak scalar, which the graph reads from its input."""
        if settings().device.type != "cpu":  # Kernels there take such numbers in 32 bit.
            _Hooks.refuse(f"a single number of {self.full} on a GPU", "", "draw with size=()")
        proxy = self.tx.output.create_proxy("call_method", "item", (variable.as_proxy(),), {})
        return dynamo_builder.wrap_fx_proxy(self.tx, proxy)

    def _emit(self, function: Callable[..., Any], args: list[Any], scalar: bool = False) -> Any:
        operation = _Hooks.operation(self.full, function, lambda node, flags: scalar)
        return _Hooks.emit(self.tx, operation, args, {})

    def _build(self, value: Any) -> Any:
        return VariableTracker.build(self.tx, value)

    def _given(self, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            return bound(self.name, args, kwargs)
        except TypeError as error:
            return dict(_Hooks.refuse(f"this call of {self.full}", "", str(error)))

    def _axis(self, given: Mapping[str, Any]) -> int | None:
        axis = given.get("axis")
        if axis is None:
            return 0
        if not axis.is_python_constant():
            _Hooks.refuse(f"this call of {self.full}", "", "`axis` isn't a constant")
        value: int | None = axis.as_python_constant()
        return value

    def choice(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Of an array: positions are drawn, and taken from it in the graph."""
        given = self._given(args, kwargs)
        a = given.get("a")
        if not _is_array(a):
            return self.plain(args, kwargs)
        shape = _shape(a)
        axis = self._axis(given)
        assert axis is not None
        if not shape or (self.legacy and len(shape) != 1):
            return _Hooks.refuse(f"this call of {self.full}", "", "`a` must have one dimension")
        given = {**given, "a": self._shape_variable(a).items[axis]}
        given.pop("axis", None)
        positions, call = self._drawn([], given)
        one = call.drawn is not None and call.drawn.kind != "array"
        take = _random.taken(axis)
        return self._emit(take, [a, positions], scalar=one and len(shape) == 1)

    def permutation(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self._given(args, kwargs)
        x = given.get("x")
        if not _is_array(x):
            return self._permutation_of_size(x, given, args, kwargs)
        axis = self._axis(given)
        assert axis is not None
        return self._emit(_random.taken(axis), [x, self._order(x, axis, "permutation")])

    def _permutation_of_size(self, x: Any, given: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(x, SymNodeVariable) and not (
            x is not None and x.is_python_constant() and isinstance(x.as_python_constant(), int)
        ):
            return _Hooks.refuse(f"this call of {self.full}", "", "pass an array or a size")
        return self._drawn([x], {}, result=_random.order_of_size)[0]

    def shuffle(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self._given(args, kwargs)
        x, axis = given.get("x"), self._axis(given)
        if not _is_array(x) or not _shape(x):
            return _Hooks.refuse(f"this call of {self.full}", "", "pass an array")
        assert axis is not None
        order = self._order(x, axis, "shuffle")
        self._emit(_random.reordered_in_place(axis), [x, order])
        return self._build(None)

    def permuted(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self._given(args, kwargs)
        x = given.get("x")
        if not _is_array(x) or not _shape(x) or "out" in given:
            return _Hooks.refuse(f"this call of {self.full}", "", "pass an array, and no `out`")
        axis = self._axis(given) if "axis" in given else None
        shape = self._shape_variable(x)
        order, _ = self._drawn(
            [shape, self._build(axis)], {}, "permuted", _random.order_of_permuted
        )
        return self._emit(_random.permuted(axis), [x, order])

    def _order(self, x: Any, axis: int, method: str) -> Any:
        """The order of an array's parts along an axis."""
        arguments = [self._shape_variable(x), self._build(axis), self._build(method)]
        return self._drawn(arguments, {}, "shuffled", _random.order_of_parts)[0]

    def _shape_variable(self, x: Any) -> Any:
        return x.var_getattr(self.tx, "shape")

    def on_device(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Draw a key on the host; compute the numbers in the graph."""
        return None


def _is_array(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable)


def _shape(variable: Any) -> tuple[Any, ...]:
    return tuple(variable.as_proxy().node.meta["example_value"].shape)
