"""Python's slots on arrays that Dynamo fills with tensors' meaning: `abs`, `+=`, iteration.

Read from torch/_dynamo/variables/{tensor,builtin}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable

from npaccel._numpy.core import operators
from npaccel._runtime.torch.symbolic_sizes import depends_on_data
from npaccel._torch.dynamo.numpy.calls import break_graph, check_stores, emit_operator
from npaccel._torch.dynamo.numpy.negative_strides import note_view
from npaccel._torch.dynamo.numpy.operations import FLAT_OF, is_scalar
from npaccel._torch.dynamo.releases import BOOL
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Slots of 2.13; 2.11 calls the methods of the same operators instead.
_UNARY_SLOTS: dict[str, Callable[..., Any]] = {
    "nb_absolute_impl": operator.abs,
    "nb_negative_impl": operator.neg,
    "nb_positive_impl": operator.pos,
}

#: The operators that write to lists.
_OF_LISTS = frozenset({operator.iadd, operator.imul})

#: Dynamo's name of why a function isn't captured: subgraphs of it make other arrays.
IDENTITY = "identity of arrays"


def _unary(op: Callable[..., Any], original: Any) -> Any:
    @functools.wraps(original)
    def impl(self: Any, tx: Any) -> Any:
        return emit_operator(tx, op, [self]) if active.depth else original(self, tx)

    return impl


def _call_divmod(original: Any) -> Any:
    """Trace ``divmod(a, b)``: Dynamo goes on by itself where it's given None."""

    def call_divmod(self: Any, tx: Any, a: Any, b: Any) -> Any:
        arrays = any(isinstance(x.realize(), NumpyNdarrayVariable) for x in (a, b))
        return emit_operator(tx, divmod, [a, b]) if active.depth and arrays else None

    return call_divmod


def _nb_divmod_impl(original: Any) -> Any:
    """Trace ``divmod(a, b)``."""

    @functools.wraps(original)
    def impl(self: Any, tx: Any, other: Any, reverse: bool = False) -> Any:
        if not active.depth:
            return original(self, tx, other, reverse)
        return emit_operator(tx, divmod, [other, self] if reverse else [self, other])

    return impl


def _bool_impl(original: Any) -> Any:
    """Break the graph at ``bool(a)`` and ``not a``."""

    @functools.wraps(original)
    def bool_impl(self: Any, tx: Any) -> Any:
        if active.depth:
            break_graph(
                "data-dependent truth value", "The truth value of an array is data-dependent."
            )
        return original(self, tx)

    return bool_impl


def _comparison(original: Any) -> Any:
    """Break the graph at ``a is b`` of inputs: what stands for them doesn't tell."""

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
            break_graph(IDENTITY, "Whether these two are one object isn't known in compiled code.")
        return ConstantVariable.create((one is other) == (self.fn is operator.is_))

    return compare


def _unpack_var_sequence(original: Any) -> Any:
    """Trace ``for row in a``."""

    @functools.wraps(original)
    def unpack(self: Any, tx: Any, idxes: Sequence[int] | None = None) -> Any:
        if not active.depth:
            return original(self, tx, idxes)
        shape = self.as_proxy().node.meta["example_value"].shape
        if not shape:
            break_graph(
                "iteration over an array without dimensions",
                "NumPy can't iterate over an array without dimensions.",
            )
        if depends_on_data(shape[0]):
            break_graph(
                "iteration over an array whose length depends on the data",
                "how many iterations there are is known only while the code runs.",
            )
        # The number of iterations becomes a part of the signature. Those that are asked for don't
        # count, in 2.12 and before: what unpacks an array looks whether it has as many.
        indices = map(ConstantVariable.create, range(int(shape[0])))
        return [emit_operator(tx, operator.getitem, [self, i]) for i in indices]

    return unpack


def _insert_operator(original: Any) -> Any:
    """Rebind a NumPy scalar for ``a += b``, copy it for ``a[None]``, square arrays for ``a ** 2``.

    ``a.flat[1:]`` copies as well.
    """

    @functools.wraps(original)
    def insert(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        first = args[0] if args else None
        if not active.depth:
            return original(self, tx, args, kwargs)
        plain = operators.INPLACE.get(self.fn)
        if not isinstance(first, NumpyNdarrayVariable):
            if plain is None or self.fn in _OF_LISTS:
                return original(self, tx, args, kwargs)
            # Nothing else has such operators in place: a result is new.
            return BuiltinVariable(plain).call_function(tx, list(args), kwargs)
        meta, of_scalar = first.as_proxy().node.meta, is_scalar(first.as_proxy().node)
        copies = of_scalar or FLAT_OF in meta
        if self.fn is operator.pow or (self.fn is operator.getitem and copies):
            return emit_operator(tx, self.fn, list(args))
        if plain and of_scalar:
            return BuiltinVariable(plain).call_function(tx, list(args), kwargs)
        name = f"operator.{self.fn.__name__}"
        check_stores(name, list(args), kwargs)
        found = original(self, tx, args, kwargs)
        note_view(found, name, list(args), kwargs)
        return found

    return insert


def _call_function(original: Any) -> Any:
    """Leave it to NumPy to say that an array can't be called."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if active.depth:
            break_graph("call of an array", "An array is called as a function.")
        return original(self, tx, args, kwargs)

    return call_function


def _of_hash(original: Any) -> Any:
    """Break the graph where a NumPy scalar is the key of a dict."""

    @functools.wraps(original)
    def of_hash(self: Any, *args: Any) -> Any:
        if active.depth and is_scalar(self.as_proxy().node):
            break_graph("hash of a NumPy scalar", "The hash of a number depends on its value.")
        return original(self, *args)

    return of_hash


_SLOTS = "Dynamo fills the slot with what tensors have"
_UFUNCS = "tests/numpy_layer/test_ufuncs.py"

PATCHES = (
    *(
        Patch(
            NumpyNdarrayVariable, slot, functools.partial(_unary, op), _SLOTS, _UFUNCS,
            only="2.13-",
        )
        for slot, op in _UNARY_SLOTS.items()
    ),
    Patch(
        BuiltinVariable, "call_divmod", _call_divmod,
        "Dynamo has no `divmod` of arrays", _UFUNCS, only="2.11-2.12", is_new=True,
    ),
    Patch(NumpyNdarrayVariable, "nb_divmod_impl", _nb_divmod_impl, _SLOTS, _UFUNCS, only="2.13-"),
    Patch(
        NumpyNdarrayVariable, BOOL, _bool_impl,
        "Dynamo leaves a tensor where a bool is wanted", "tests/torch_layer/dynamo/test_breaks.py",
        only="2.12-",
    ),
    Patch(
        NumpyNdarrayVariable, "call_function", _call_function,
        "Dynamo raises with another text", "tests/torch_layer/dynamo/test_words.py",
    ),
    *(
        Patch(
            NumpyNdarrayVariable, name, _of_hash,
            "Dynamo takes NumPy's scalars for arrays, which have no hash",
            "tests/torch_layer/dynamo/test_caught_errors.py", only="2.13-",
        )
        for name in ("hash_impl", "is_hashable")
    ),
    Patch(
        BuiltinVariable, "_comparison_with_tensor", _comparison,
        "Dynamo compares what stands for arrays, of which one array may have two",
        "tests/torch_layer/dynamo/test_uncompiled.py",
    ),
    Patch(
        NumpyNdarrayVariable, "unpack_var_sequence", _unpack_var_sequence,
        "rows of an array with one dimension are scalars", "tests/numpy_layer/test_in_functions.py",
    ),
    Patch(
        BuiltinVariable, "_handle_insert_op_in_graph", _insert_operator,
        "Dynamo writes to scalars, and to arrays that NumPy lets nobody write to",
        "tests/torch_layer/dynamo/test_scalars_in_frames.py",
    ),
)  # fmt: skip

__all__ = ["IDENTITY", "PATCHES"]
