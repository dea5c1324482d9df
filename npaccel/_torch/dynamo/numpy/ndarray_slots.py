"""Python's slots on arrays that Dynamo fills with tensors' meaning: `abs`, `+=`, iteration.

Read from torch/_dynamo/variables/{tensor,builtin}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.exc import unimplemented
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._numpy.core import operators
from npaccel._runtime.torch.symbolic_sizes import depends_on_data
from npaccel._torch.dynamo.numpy.negative_strides import note_view
from npaccel._torch.dynamo.numpy.operations import FLAT_OF

#: Slots of 2.13; 2.11 calls the methods of the same operators instead.
_UNARY_SLOTS: dict[str, Callable[..., Any]] = {
    "nb_absolute_impl": operator.abs,
    "nb_negative_impl": operator.neg,
    "nb_positive_impl": operator.pos,
}

#: Dynamo's name of why a function isn't captured: pieces of it make arrays anew.
IDENTITY = "identity of arrays"

Emit = Callable[[Any, Callable[..., Any], list[Any]], Any]


def patch_slots(
    active: Any,
    emit: Emit,
    check_stores: Callable[[str, list[Any], dict[str, Any]], None],
    is_scalar: Callable[[torch.fx.Node], bool],
) -> None:
    """Patch Dynamo's slots of arrays.

    Parameters
    ----------
    active : object
        Its `depth` is zero in threads that don't capture for npaccel.
    emit : callable
        Adds an operator of Python on arrays to the graph.
    check_stores : callable
        Breaks the graph where a call of that name stores to what NumPy lets nobody write to.
    is_scalar : callable
        Whether NumPy has a scalar where a graph has a node.
    """
    for slot, op in _UNARY_SLOTS.items():
        if hasattr(NumpyNdarrayVariable, slot):
            setattr(NumpyNdarrayVariable, slot, _unary(active, emit, slot, op))
    _patch_divmod(active, emit)
    _patch_truth(active)
    _patch_identity(active, is_scalar)
    _patch_iteration(active, emit)
    _patch_operators(active, emit, check_stores, is_scalar)


def _unary(active: Any, emit: Emit, slot: str, op: Callable[..., Any]) -> Any:
    original = getattr(NumpyNdarrayVariable, slot)

    @functools.wraps(original)
    def impl(self: Any, tx: Any) -> Any:
        return emit(tx, op, [self]) if active.depth else original(self, tx)

    return impl


def _patch_divmod(active: Any, emit: Emit) -> None:
    """`divmod(a, b)`: from 2.13 on a slot that arrays don't have, nothing at all before."""
    original = getattr(NumpyNdarrayVariable, "nb_divmod_impl", None)
    if original is None:

        def call_divmod(self: Any, tx: Any, a: Any, b: Any) -> Any:
            arrays = any(isinstance(x.realize(), NumpyNdarrayVariable) for x in (a, b))
            return emit(tx, divmod, [a, b]) if active.depth and arrays else None

        BuiltinVariable.call_divmod = call_divmod
        return

    @functools.wraps(original)
    def impl(self: Any, tx: Any, other: Any, reverse: bool = False) -> Any:
        if not active.depth:
            return original(self, tx, other, reverse)
        return emit(tx, divmod, [other, self] if reverse else [self, other])

    NumpyNdarrayVariable.nb_divmod_impl = impl


def _patch_truth(active: Any) -> None:
    """`bool(a)`, `not a`: Dynamo would leave a tensor there."""
    original = getattr(NumpyNdarrayVariable, "bool_impl", None)
    if original is None:
        return

    @functools.wraps(original)
    def bool_impl(self: Any, tx: Any) -> Any:
        if active.depth:
            unimplemented(
                gb_type="data-dependent truth value",
                context="",
                explanation="The truth value of an array is data-dependent.",
                hints=[],
            )
        return original(self, tx)

    NumpyNdarrayVariable.bool_impl = bool_impl


def _patch_identity(active: Any, is_scalar: Callable[[torch.fx.Node], bool]) -> None:
    """`a is b`: whether two inputs are one array isn't known of what stands for them."""
    original = BuiltinVariable._comparison_with_tensor

    @functools.wraps(original)
    def compare(self: Any, tx: Any, left: Any, right: Any) -> Any:
        both = [x.realize() for x in (left, right)]
        arrays = all(isinstance(x, NumpyNdarrayVariable) for x in both)
        if not (active.depth and arrays and self.fn in (operator.is_, operator.is_not)):
            return original(self, tx, left, right)
        # What a call wrote to and gave back has one value in all its nodes.
        one, other = (x.as_proxy().node.meta["example_value"] for x in both)
        inputs = [n.meta["example_value"] for n in tx.output.graph.find_nodes(op="placeholder")]
        known = [any(x is given for given in inputs) for x in (one, other)]
        of_bools = all(is_scalar(x.as_proxy().node) for x in both) and one.dtype == torch.bool
        if one is not other and (all(known) or of_bools):  # NumPy's bools are two objects.
            unimplemented(
                gb_type=IDENTITY,
                context="",
                explanation="Whether these two are one object isn't known in compiled code.",
                hints=[],
            )
        return ConstantVariable.create((one is other) == (self.fn is operator.is_))

    BuiltinVariable._comparison_with_tensor = compare


def _patch_iteration(active: Any, emit: Emit) -> None:
    """`for row in a`: TensorVariable.unpack_var_sequence."""
    original = NumpyNdarrayVariable.unpack_var_sequence

    @functools.wraps(original)
    def unpack(self: Any, tx: Any, idxes: Sequence[int] | None = None) -> list[Any]:
        if not active.depth:
            return original(self, tx, idxes)
        shape = self.as_proxy().node.meta["example_value"].shape
        if not shape:
            unimplemented(
                gb_type="iteration over an array without dimensions",
                context="",
                explanation="NumPy can't iterate over an array without dimensions.",
                hints=[],
            )
        if idxes is None and depends_on_data(shape[0]):
            unimplemented(
                gb_type="iteration over an array whose length depends on the data",
                context="",
                explanation="how many turns there are is known only while the code runs.",
                hints=[],
            )
        # The number of iterations becomes a part of the signature.
        places = range(int(shape[0])) if idxes is None else idxes
        return [emit(tx, operator.getitem, [self, ConstantVariable.create(i)]) for i in places]

    NumpyNdarrayVariable.unpack_var_sequence = unpack


def _patch_operators(
    active: Any,
    emit: Emit,
    check_stores: Callable[[str, list[Any], dict[str, Any]], None],
    is_scalar: Callable[[torch.fx.Node], bool],
) -> None:
    """`a += b` rebinds a NumPy scalar, `a[None]` copies it, `a ** 2` of an array is its square.

    `a.flat[1:]` copies as well.

    BuiltinVariable._handle_insert_op_in_graph.
    """
    original = BuiltinVariable._handle_insert_op_in_graph

    @functools.wraps(original)
    def insert(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        first = args[0] if args else None
        if not active.depth or not isinstance(first, NumpyNdarrayVariable):
            return original(self, tx, args, kwargs)
        meta, of_scalar = first.as_proxy().node.meta, is_scalar(first.as_proxy().node)
        copies = of_scalar or FLAT_OF in meta
        if self.fn is operator.pow or (self.fn is operator.getitem and copies):
            return emit(tx, self.fn, list(args))
        plain = operators.INPLACE.get(self.fn)
        if plain and of_scalar:
            return BuiltinVariable(plain).call_function(tx, list(args), kwargs)
        name = f"operator.{self.fn.__name__}"
        check_stores(name, list(args), kwargs)
        found = original(self, tx, args, kwargs)
        note_view(found, name, list(args), kwargs)
        return found

    BuiltinVariable._handle_insert_op_in_graph = insert
