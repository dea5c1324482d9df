"""Trace the loops of transformed functions: bodies once, between marks, where that is right.

Read from torch/_dynamo/variables/{base,functions}.py and torch/_dynamo/current_scope_id.py of 2.11
and 2.13.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, cast

import torch
import torch._dynamo.variables.builder as dynamo_builder
from torch._dynamo.current_scope_id import enter_new_scope
from torch._dynamo.exc import TorchDynamoException, Unsupported
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.functions import (
    BaseUserFunctionVariable,
    SkipFunctionVariable,
    UserFunctionVariable,
    UserMethodVariable,
)
from torch._dynamo.variables.lists import TupleVariable
from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable
from torch.fx.experimental.symbolic_shapes import constrain_range

from npaccel._syntax import loop_detection
from npaccel._torch.dynamo.break_reasons import reason_in
from npaccel._torch.dynamo.dynamo_errors import category_of, text_of
from npaccel._torch.dynamo.numpy.calls import break_graph, is_scalar_variable
from npaccel._torch.dynamo.numpy.operations import Operation
from npaccel._torch.dynamo.python import scalars
from npaccel._torch.dynamo.state import active
from npaccel._torch.fx_passes.alias_checks import memory_of, written
from npaccel._torch.patching import Patch
from npaccel._torch.transforms import loop_calls, looped, unrolled
from npaccel._torch.transforms.loop_forms import form_of
from npaccel._torch.transforms.marks import ENTER, LEAVE, SCAN_KIND, marked

#: Dynamo's place for why a loop isn't a scan.
CATEGORY = "npaccel: a loop in a transform"
_TWO_NAMES = "an iteration writes to an array that it knows by two names"
#: Key of the meta of a mark that ends the body of a loop: where the loop stands.
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
    place = (tx.f_code.co_filename, tx.lineno)
    ways = looped.LOOPED.get(name, ())
    if active.loops is None or active.loops.count(place) >= len(ways):
        function = unrolled.UNROLLED[name]
        return VariableTracker.build(tx, function).call_function(tx, args, kwargs)
    return _attempted(tx, place, name, args, kwargs)


def _attempted(tx: Any, place: tuple[str, int], name: str, args: Any, kwargs: Any) -> Any:
    """Trace a loop as a scan, behind its first iteration where that has failed before."""
    attempts = active.loops
    function = looped.LOOPED[name][attempts.count(place)]
    outer = list(attempts.open)
    attempts.open.append(OpenLoop(place))
    try:
        found = VariableTracker.build(tx, function).call_function(tx, args, kwargs)
    except TorchDynamoException as error:
        attempts.fail(place, _reason_of(error))
        if isinstance(error, Unsupported):
            raise
        break_graph(CATEGORY, "a loop can't be traced as a scan")
    attempts.open[:] = outer
    return found


def _may_loop(tx: Any, args: Sequence[Any]) -> Any:
    steps, line, first = args
    place = (tx.f_code.co_filename, line.as_python_constant())
    if active.loops is None or active.loops.count(place) >= len(looped.LOOPED["over"]):
        return ConstantVariable.create(False)
    return VariableTracker.build(tx, looped.may_loop).call_function(tx, [steps, first], {})


def _over(tx: Any, args: Sequence[Any]) -> Any:
    steps, line, body, carry = args
    place = (tx.f_code.co_filename, line.as_python_constant())
    return _attempted(tx, place, "over", [steps, body, carry], {})


def _counted(tx: Any, args: Sequence[Any]) -> Any:
    is_counted = active.loops is not None and all(_python_type(one) is int for one in args)
    return ConstantVariable.create(is_counted)


def _traced_as(function: Any) -> Any:
    """Trace a mark as another function of npaccel's."""

    def trace(tx: Any, args: Sequence[Any]) -> Any:
        return VariableTracker.build(tx, function).call_function(tx, list(args), {})

    return trace


def _reason_of(error: TorchDynamoException) -> str:
    """Return why a loop isn't a scan, in words about the user's program."""
    category = category_of(error) or type(error).__name__
    if category == CATEGORY:
        return str(error).split("Explanation: ")[-1].partition("\n")[0]
    return reason_in(text_of(error) or str(error), category)


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
    holders = _holders(loop, entered, outputs)
    tensors = [_tensor(tx, output) for output in outputs]
    if not outputs and not results:  # It only writes to arrays from outside.
        results = [_tensor(tx, ConstantVariable.create(0))]
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
    told = VariableTracker.build(tx, tuple(holders))
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


def _holders(
    loop: OpenLoop, entered: Sequence[Any], outputs: Sequence[Any]
) -> list[tuple[int, bool] | None]:
    """Return which of the first arrays each of the carry is behind the loop.

    Returns
    -------
    list of (int, bool) or None
        The place of the array, and whether it's written to; None where it's a new one.
    """
    inside = list(_nodes_since(loop.begin))
    changed = {memory_of(target) for node in inside for target in written(node)} - {None}
    used = {memory_of(n) for node in inside for n in node.all_input_nodes if node is not loop.begin}
    first = [_memory(leaf) for leaf in loop.leaves]
    own = [memory_of(one.as_proxy().node) for one in entered]
    rows = {memory_of(one.as_proxy().node) for one in loop.entered[1 + len(own) :]}
    last = [_memory(output) for output in outputs]
    if changed & rows:
        break_graph(CATEGORY, "an iteration writes to the item that it gets")
    if not changed & set(own):
        outer = changed - {memory_of(node) for node in inside}
        if outer & set(last):
            break_graph(CATEGORY, _TWO_NAMES)
        return [None] * len(own)
    known = {*(memory_of(node) for node in inside), *own}
    for memory in last:
        if last.count(memory) > 1 or (isinstance(memory, int) and memory not in known):
            break_graph(CATEGORY, _TWO_NAMES)
    from_place = [own.index(memory) if memory in own else None for memory in last]
    count = loop.settings.as_python_constant()[0]
    holders: list[tuple[int, bool] | None] = []
    for i, one in enumerate(own):
        place = _place(i, from_place, count)
        if place is None:
            if one in changed:
                break_graph(CATEGORY, "an iteration writes to an array and goes on with another")
            holders.append(None)
            continue
        ring = _ring(i, from_place)
        is_written = any(own[k] in changed for k in ring)
        if is_written:
            sources = cast("list[int]", [from_place[k] for k in ring])
            pairs = zip(ring, sources, strict=True)
            if not all(_is_same(entered[source], outputs[k]) for k, source in pairs):
                break_graph(CATEGORY, "an iteration writes to an array and goes on with a view")
            if any(first[k] in used or first.count(first[k]) > 1 for k in ring):
                break_graph(CATEGORY, _TWO_NAMES)
        holders.append((place, True) if is_written else None)
    return holders


def _place(i: int, from_place: Sequence[int | None], count: int) -> int | None:
    """Return which array a name has after a number of iterations; None if it gets a new one."""
    ring = _ring(i, from_place)
    return ring[count % len(ring)] if ring else None


def _ring(i: int, from_place: Sequence[int | None]) -> list[int]:
    """Return the places through which an array goes that comes back; none if it doesn't."""
    ring: list[int] = [i]
    while True:
        before = from_place[ring[-1]]
        if before is None or before in ring[1:]:
            return []
        if before == i:
            return ring
        ring.append(before)


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


_MARKS = {
    loop_calls.begin: _begin,
    loop_calls.counted: _counted,
    loop_calls.end: _end,
    loop_calls.first_of: _traced_as(looped.first_of),
    loop_calls.iterate: _iterate,
    loop_calls.last_of: _traced_as(looped.last_of),
    loop_calls.may_loop: _may_loop,
    loop_calls.over: _over,
    loop_calls.rest_of: _traced_as(looped.rest_of),
}


def _call_function(original: Any) -> Any:
    """Put the marks of loops into the graph, and trace functions with their loops as calls."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth:
            return original(self, tx, args, kwargs)
        if self.fn not in _MARKS:
            made = _with_loop_calls(tx, self)
            given = args if made is self else [*self.self_args(), *args]
            return original(made, tx, given, kwargs)
        return _MARKS[self.fn](tx, [arg.realize() for arg in args])

    return call_function


def _call_method(original: Any) -> Any:
    """Trace loops of the user's methods, which are functions of their own since 2.15."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        made = _with_loop_calls(tx, self) if active.depth else self
        if made is self:
            return original(self, tx, args, kwargs)
        inlined: Any = BaseUserFunctionVariable.call_function
        return inlined(made, tx, [*self.self_args(), *args], kwargs)

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


def _with_loop_calls(tx: Any, variable: Any) -> Any:
    """Return a variable of a function of the user's with its loops as calls, if it has some."""
    function = variable.get_function()
    if not (loop_detection.is_users(function) and loop_detection.code_loops(function.__code__)):
        return variable
    form = form_of(function) if active.loops is not None and scalars.is_in_region(tx) else None
    if form is None:
        return variable
    for line, reason in form.refused.items():
        active.loops.refused[function.__code__.co_filename, line] = reason
    return UserFunctionVariable(form.of(function), source=variable.get_source())


_TEST = "tests/transforms/test_scans.py"

PATCHES = (
    Patch(
        SkipFunctionVariable, "call_function", _call_skipped,
        "Dynamo ends a graph at npaccel's loops, which are scans in transforms", _TEST,
    ),
    Patch(
        UserFunctionVariable, "call_function", _call_function,
        "Dynamo unrolls loops, and would trace the marks of others as functions", _TEST,
    ),
    Patch(
        UserMethodVariable, "call_function", _call_method,
        "Dynamo unrolls the loops of methods", "tests/transforms/test_for_loops.py",
        read="2.15", only="2.15-",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "PLACE"]
