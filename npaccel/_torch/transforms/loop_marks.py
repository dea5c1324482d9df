"""Trace the loops of transformed functions: bodies once, between marks, where that is right.

Read from torch/_dynamo/variables/{base,functions}.py and torch/_dynamo/current_scope_id.py of 2.11
and 2.13.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import torch
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo.current_scope_id import enter_new_scope
from torch._dynamo.exc import TorchDynamoException, Unsupported
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.functions import SkipFunctionVariable, UserFunctionVariable
from torch._dynamo.variables.lists import TupleVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable
from torch.fx.experimental.symbolic_shapes import constrain_range

from npaccel._torch.dynamo.break_reasons import reason_in
from npaccel._torch.dynamo.numpy.calls import break_graph, is_scalar_variable
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.dynamo.python import scalars
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.patching import Patch
from npaccel._torch.transforms import loop_calls, looped, unrolled
from npaccel._torch.transforms.marks import ENTER, LEAVE, SCAN_KIND, marked

#: Dynamo's place for why a loop isn't a scan.
CATEGORY = "npaccel: a loop in a transform"
#: In the meta of a mark that ends the body of a loop: where the loop stands.
PLACE = "npaccel_loop"


@dataclasses.dataclass
class OpenLoop:
    """A loop whose body is being traced.

    Parameters
    ----------
    place : (str, int)
        File and line.
    """

    place: tuple[str, int]
    settings: Any = None
    begin: Any = None
    leaves: Sequence[Any] = ()
    entered: Sequence[Any] = ()


def _called(tx: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Trace a call of `npaccel.fori_loop` or the like as a scan, or unrolled."""
    attempts = active.loops
    place = (tx.f_code.co_filename, tx.lineno)
    failures = attempts.count(place) if attempts is not None else 2
    ways = looped.LOOPED.get(name, ())
    if failures >= len(ways):
        function = unrolled.UNROLLED[name]
        return VariableTracker.build(tx, function).call_function(tx, args, kwargs)
    outer = list(attempts.open)
    attempts.open.append(OpenLoop(place))
    try:
        found = VariableTracker.build(tx, ways[failures]).call_function(tx, args, kwargs)
    except TorchDynamoException as error:
        attempts.fail(place, _reason_of(error))
        if isinstance(error, Unsupported):
            raise
        break_graph(CATEGORY, "a loop can't be traced as a scan")
    attempts.open[:] = outer
    return found


def _reason_of(error: TorchDynamoException) -> str:
    """Return why a loop isn't a scan, in words about the user's program."""
    category = getattr(error, "gb_type", None) or type(error).__name__
    if category == CATEGORY:
        return str(error).split("Explanation: ")[-1].partition("\n")[0]
    return reason_in(str(getattr(error, "msg", None) or error), category)


def _begin(tx: Any, args: Sequence[Any]) -> Any:
    loop: OpenLoop = active.loops.open[-1]
    count, reverse, leaves, columns = args
    leaves, columns = leaves.items, columns.items
    loop.leaves = [leaf.realize() for leaf in leaves]
    settings = (count.as_python_constant(), reverse.as_python_constant(), len(leaves))
    loop.settings = VariableTracker.build(tx, settings)
    given = TupleVariable([*(_tensor(tx, leaf) for leaf in loop.leaves), *columns])
    flags = [True, *(not _is_array(leaf) for leaf in loop.leaves), *(True for _ in columns)]
    kind = ConstantVariable.create(SCAN_KIND)
    found = marked(tx, ENTER, [kind, loop.settings, given], flags)
    loop.entered = found.items
    loop.begin = found.items[0].as_proxy().node.args[0]
    index = _number(tx, found.items[0], settings[0])
    carry = [
        _number(tx, one) if _python_type(leaf) is int else one
        for leaf, one in zip(loop.leaves, found.items[1:], strict=False)
    ]
    rows = found.items[1 + len(leaves) :]
    return TupleVariable([index, TupleVariable(carry), TupleVariable(list(rows))])


def _iterate(tx: Any, args: Sequence[Any]) -> Any:
    with enter_new_scope():  # Dynamo refuses to change what is from outside.
        return args[0].call_function(tx, list(args[1:]), {})


def _end(tx: Any, args: Sequence[Any]) -> Any:
    loop: OpenLoop = active.loops.open[-1]
    outputs = [one.realize() for one in args[0].items]
    results = [one.realize() for one in args[1].items]
    entered = loop.entered[1 : 1 + len(outputs)]
    for leaf, one, output in zip(loop.leaves, entered, outputs, strict=True):
        _check_kind(leaf, one, output)
    flags = _written(loop, entered, outputs)
    tensors = [_tensor(tx, output) for output in outputs]
    kind = ConstantVariable.create(SCAN_KIND)
    left = [kind, loop.settings, TupleVariable(list(loop.entered)),
            TupleVariable([*tensors, *results]), TupleVariable([])]  # fmt: skip
    scalar = [*(not _is_array(one) for one in outputs), *(False for _ in results)]
    found = marked(tx, LEAVE, left, scalar).items
    found[0].as_proxy().node.args[0].meta[PLACE] = loop.place
    last = [
        _number(tx, one) if _python_type(leaf) is int else one
        for leaf, one in zip(loop.leaves, found, strict=False)
    ]
    stacked = found[len(outputs) :]
    told = VariableTracker.build(tx, tuple(flags))
    return TupleVariable([TupleVariable(last), TupleVariable(list(stacked)), told])


def _check_kind(leaf: Any, entered: Any, output: Any) -> None:
    """Refuse a carry that isn't what it was."""
    before, after = _python_type(leaf), _python_type(output)
    if before is int:
        same = after is int
    elif before is float:
        same = after is float or (is_scalar_variable(output) and _dtype(output) == torch.float64)
    else:
        same = (
            isinstance(output, NumpyNdarrayVariable)
            and _is_array(entered) == _is_array(output)
            and _dtype(entered) == _dtype(output)
            and _example(entered).shape == _example(output).shape
        )
    if not same:
        break_graph(CATEGORY, "an iteration changes the shape or dtype of what the next one gets")


def _written(loop: OpenLoop, entered: Sequence[Any], outputs: Sequence[Any]) -> list[bool]:
    """Return which of the carry an iteration writes to in place, and hands on."""
    inside = list(_nodes_since(loop.begin))
    changed = {memory_of(target) for node in inside for target in written(node)} - {None}
    used = {memory_of(n) for node in inside for n in node.all_input_nodes if node is not loop.begin}
    memory = [_memory(leaf) for leaf in loop.leaves]
    flags = []
    for i, (one, output) in enumerate(zip(entered, outputs, strict=True)):
        is_written = memory_of(one.as_proxy().node) in changed
        flags.append(is_written)
        if not is_written:
            continue
        if not _is_same(one, output):
            break_graph(CATEGORY, "an iteration writes to an array and goes on with another one")
        if memory[i] in used or memory.count(memory[i]) > 1:
            break_graph(CATEGORY, "an iteration writes to an array that it knows by two names")
    return flags


def _nodes_since(node: torch.fx.Node) -> Any:
    node = node.next
    while node.op != "root":
        yield node
        node = node.next


def _is_same(one: Any, other: Any) -> bool:
    first, second = _example(one), _example(other)
    return (
        memory_of(one.as_proxy().node) == memory_of(other.as_proxy().node)
        and first.stride() == second.stride()
        and first.storage_offset() == second.storage_offset()
    )


def _tensor(tx: Any, variable: Any) -> Any:
    """Return the variable for a leaf, a number of Python's too, as a tensor."""
    if isinstance(variable, NumpyNdarrayVariable):
        return variable
    kind = _python_type(variable)
    if kind not in (int, float):
        break_graph(CATEGORY, "an iteration hands on what is neither an array nor a number")
    if isinstance(variable, SymNodeVariable):
        proxy = variable.as_proxy()
    else:
        proxy = variable.as_python_constant()
    dtype = {"dtype": torch.int64 if kind is int else torch.float64}
    made = tx.output.create_proxy("call_function", torch.scalar_tensor, (proxy,), dtype)
    made.node.meta[scalars.SCALAR] = True
    return NumpyNdarrayVariable.create(tx, made)


def _index_of(x: torch.Tensor, length: int) -> Any:
    """Return the number of an iteration."""
    index: Any = x.item()
    if isinstance(index, torch.SymInt):
        constrain_range(index, min=0, max=length - 1)
    return index


_INDEX = Operation("npaccel.iteration", _index_of, lambda node, flags: False)
_NUMBER = Operation("npaccel.number", scalars.value_of, lambda node, flags: False)


def _number(tx: Any, variable: Any, length: int | None = None) -> Any:
    """Return the variable for an integer of Python's."""
    operation = _NUMBER if length is None else _INDEX
    args = (variable.as_proxy(), *(() if length is None else (length,)))
    return dynamo_builder.wrap_fx_proxy(
        tx, tx.output.create_proxy("call_function", operation, args, {})
    )


def _python_type(variable: Any) -> Any:
    if isinstance(variable, NumpyNdarrayVariable):
        return None
    if isinstance(variable, SymNodeVariable):
        return variable.python_type()
    return type(variable.as_python_constant()) if variable.is_python_constant() else None


def _example(variable: Any) -> Any:
    return variable.as_proxy().node.meta["example_value"]


def _dtype(variable: Any) -> Any:
    return _example(variable).dtype


def _memory(variable: Any) -> Any:
    is_array = isinstance(variable, NumpyNdarrayVariable)
    return memory_of(variable.as_proxy().node) if is_array else object()


def _is_array(variable: Any) -> bool:
    return isinstance(variable, NumpyNdarrayVariable) and not is_scalar_variable(variable)


_MARKS = {loop_calls.begin: _begin, loop_calls.iterate: _iterate, loop_calls.end: _end}


def _call_function(original: Any) -> Any:
    """Put the marks of loops into the graph."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth or self.fn not in _MARKS:
            return original(self, tx, args, kwargs)
        return _MARKS[self.fn](tx, [arg.realize() for arg in args])

    return call_function


def _call_skipped(original: Any) -> Any:
    """Trace `npaccel.fori_loop` and the like in a region, where nothing is split at loops."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth or getattr(self.value, "__module__", "") != unrolled.MODULE:
            return original(self, tx, args, kwargs)
        name = getattr(self.value, "__name__", "")
        if name not in unrolled.UNROLLED or not scalars.is_in_region(tx):
            return original(self, tx, args, kwargs)
        return _called(tx, name, args, kwargs)

    return call_function


_TEST = "tests/transforms/test_scans.py"

PATCHES = (
    Patch(
        SkipFunctionVariable, "call_function", _call_skipped,
        "Dynamo ends a graph at npaccel's loops, which are scans in transforms", _TEST,
    ),
    Patch(
        UserFunctionVariable, "call_function", _call_function,
        "Dynamo would trace the marks of loops as functions", _TEST,
    ),
)  # fmt: skip

__all__ = ["PATCHES", "PLACE"]
