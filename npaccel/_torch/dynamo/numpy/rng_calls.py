"""One call of NumPy's random numbers, while it is traced.

Read from torch/_dynamo/variables/{base,builder,tensor}.py of 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable, TensorVariable

from npaccel._numpy.core.context import settings
from npaccel._numpy.random import functions
from npaccel._numpy.random.results import Drawn, bound, result_of
from npaccel._syntax.wide_data import is_wide
from npaccel._torch.dynamo.numpy.calls import emit, refuse
from npaccel._torch.dynamo.numpy.operations import IN_PLACE, SCALAR, Operation
from npaccel._torch.dynamo.numpy.rng_hoisting import HostCall, writes
from npaccel._torch.dynamo.releases import get_attribute
from npaccel._torch.dynamo.state import active

_COMPUTED = (
    "its parameters are computed in the function, and NumPy draws before the compiled code runs; "
    'draw standard numbers and scale them, or use rng="device"'
)


def statement(tx: Any, call: HostCall, args: Any, kwargs: Any) -> torch.fx.Node:
    """Add a node that has no result for the graph."""
    made = tx.output.create_proxy(
        "call_function",
        call,
        tuple(_proxy(tx, arg) for arg in args),
        {name: _proxy(tx, arg) for name, arg in kwargs.items()},
    )
    made.node.meta["example_value"] = None
    node: torch.fx.Node = made.node
    return node


def _proxy(tx: Any, variable: Any) -> Any:
    """Return what stands for an argument; a generator that the function makes is a node."""
    found = variable.as_proxy()
    if isinstance(found, torch.fx.Node):
        return torch.fx.Proxy(found, tx.output.current_tracer)
    return found


def check_host(name: str, variables: Sequence[Any]) -> None:
    """Refuse a call whose arguments aren't known before the graph runs."""
    for variable in variables:
        if isinstance(variable, TensorVariable) and not _is_input(variable):
            refuse(f"this call of {name}", "", _COMPUTED)


def _is_input(variable: Any) -> bool:
    """Whether a tensor is an input of the graph that nothing has written to so far."""
    node = variable.as_proxy().node
    if node.op != "placeholder":
        return False
    return not any(writes(other) for other in node.graph.nodes)


class Draw:
    """One call of a method that draws, while it is traced."""

    def __init__(self, tx: Any, owner: Any, legacy: bool, name: str, full: str) -> None:
        self.tx = tx
        self.owner = owner
        self.legacy = legacy
        self.name = name
        self.full = full

    def seed(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        check_host(self.full, [*args, *kwargs.values()])
        statement(self.tx, HostCall(self.full, self.owner, "seed", None), args, kwargs)
        return VariableTracker.build(self.tx, None)

    def plain(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A draw whose arguments NumPy takes as they are."""
        variable, call = self.drawn(args, kwargs)
        if call.drawn is not None and call.drawn.kind == "python":
            return self.number(variable)
        return variable

    def drawn(
        self, args: list[Any], kwargs: dict[str, Any], function: str = "", result: Any = None
    ) -> tuple[Any, HostCall]:
        check_host(self.full, [*args, *kwargs.values()])
        call = HostCall(self.full, self.owner, function or self.name, result or self._result)
        variable = emit(self.tx, call, args, kwargs)
        if call.drawn is not None and call.drawn.kind == "scalar":
            variable.as_proxy().node.meta[SCALAR] = True
        if call.drawn is not None and call.drawn.kind != "python":  # Those are weak.
            value = variable.as_proxy().node.meta["example_value"]
            active.has_wide_data |= is_wide(value)
        return variable, call

    def _result(self, *args: Any, **kwargs: Any) -> Drawn:
        return result_of(self.name, args, kwargs, legacy=self.legacy)

    def number(self, variable: Any) -> Any:
        """A number of Python's: a weak scalar, which the graph reads from its input."""
        if settings().device.type != "cpu":  # Kernels there take such numbers in 32 bit.
            refuse(f"a single number of {self.full} on a GPU", "", "draw with size=()")
        proxy = self.tx.output.create_proxy("call_method", "item", (variable.as_proxy(),), {})
        return dynamo_builder.wrap_fx_proxy(self.tx, proxy)

    def emit(
        self, function: Callable[..., Any], args: list[Any], scalar: bool = False, suffix: str = ""
    ) -> Any:
        operation = Operation(self.full + suffix, function, lambda node, flags: scalar)
        return emit(self.tx, operation, args, {})

    def build(self, value: Any) -> Any:
        return VariableTracker.build(self.tx, value)

    def given(self, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            return bound(self.name, args, kwargs)
        except TypeError as error:
            refuse(f"this call of {self.full}", "", str(error))

    def axis(self, given: Mapping[str, Any]) -> int | None:
        axis = given.get("axis")
        if axis is None:
            return 0
        if not axis.is_python_constant():
            refuse(f"this call of {self.full}", "", "`axis` isn't a constant")
        value: int | None = axis.as_python_constant()
        return value

    def choice(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Sample an array: positions are drawn, and taken from it in the graph."""
        given = self.given(args, kwargs)
        a = given.get("a")
        if not is_array(a):
            return self.plain(args, kwargs)
        shape = shape_of(a)
        axis = self.axis(given)
        assert axis is not None
        if not shape or (self.legacy and len(shape) != 1):
            return refuse(f"this call of {self.full}", "", "`a` must have one dimension")
        given = {**given, "a": self.shape_variable(a).items[axis]}
        given.pop("axis", None)
        positions, call = self.drawn([], given)
        one = call.drawn is not None and call.drawn.kind != "array"
        take = functions.taken(axis)
        return self.emit(take, [a, positions], scalar=one and len(shape) == 1)

    def permutation(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self.given(args, kwargs)
        x = given.get("x")
        if not is_array(x):
            return self._permutation_of_size(x, given, args, kwargs)
        axis = self.axis(given)
        assert axis is not None
        return self.emit(functions.taken(axis), [x, self._order(x, axis, "permutation")])

    def _permutation_of_size(self, x: Any, given: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(x, SymNodeVariable) and not (
            x is not None and x.is_python_constant() and isinstance(x.as_python_constant(), int)
        ):
            return refuse(f"this call of {self.full}", "", "pass an array or a size")
        return self.drawn([x], {}, result=functions.order_of_size)[0]

    def shuffle(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self.given(args, kwargs)
        x, axis = given.get("x"), self.axis(given)
        if not is_array(x) or not shape_of(x):
            return refuse(f"this call of {self.full}", "", "pass an array")
        assert axis is not None
        order = self._order(x, axis, "shuffle")
        self.emit(functions.reordered_in_place(axis), [x, order], suffix=f".{IN_PLACE}")
        return self.build(None)

    def permuted(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = self.given(args, kwargs)
        x = given.get("x")
        if not is_array(x) or not shape_of(x) or "out" in given:
            return refuse(f"this call of {self.full}", "", "pass an array, and no `out`")
        axis = self.axis(given) if "axis" in given else None
        shape = self.shape_variable(x)
        order, _ = self.drawn(
            [shape, self.build(axis)], {}, "permuted", functions.order_of_permuted
        )
        return self.emit(functions.permuted(axis), [x, order])

    def _order(self, x: Any, axis: int, method: str) -> Any:
        """The order of an array's parts along an axis."""
        arguments = [self.shape_variable(x), self.build(axis), self.build(method)]
        return self.drawn(arguments, {}, "shuffled", functions.order_of_parts)[0]

    def shape_variable(self, x: Any) -> Any:
        return get_attribute(x, self.tx, "shape")


def is_array(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable)


def shape_of(variable: Any) -> tuple[Any, ...]:
    return tuple(variable.as_proxy().node.meta["example_value"].shape)
