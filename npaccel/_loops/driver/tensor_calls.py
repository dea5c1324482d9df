"""Call a region's compiled code on tensors, in every iteration, without its key and conversions.

A call of a region looks up its signature, makes tensors of arrays and arrays of tensors, and looks
for memory that arguments share: some microseconds. In a loop of regions nothing of that changes
from one iteration to the next. A tensor-only call takes and gives tensors; it compares their layout
with that of the iteration before where a tensor is another one than before, and leaves everything
else to the region.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import torch

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._runtime import device_transfer
from npaccel._runtime.arguments import CONVERTERS, COPYING, conversion_of, token
from npaccel._runtime.emit import CallEmitter
from npaccel._runtime.guards import Guard, check_code
from npaccel._runtime.outputs import (
    Argument,
    Built,
    Container,
    Output,
    Template,
    View,
    apart,
    arguments_of,
    has_overlap,
    is_view_of,
    template_code,
)
from npaccel._runtime.plan import InputPlan, Plan
from npaccel._runtime.runner import error_classes, shape_functions, write_functions

#: Makes a call from the list that gets a reason where the loop is to be left, what calls the region
#: itself, and what does so after an error.
Factory = Callable[[list[str], Callable[..., Any], Callable[..., Any]], Callable[..., Any]]


class NotOnTensorsError(Exception):
    """A region's values can't stay tensors from one iteration to the next."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Assumptions of compiled code on a tensor."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class ObservedCall:
    """A call of a region: its runner, and what it was given. Calls of one kind are equal.

    Parameters
    ----------
    runner : callable
    values : tuple
        Arguments; a `Layout` for an array.
    kinds : tuple
        The same, with what differs from call to call left out.
    """

    runner: Any
    values: tuple[Any, ...] = dataclasses.field(compare=False)
    kinds: tuple[Any, ...]


def observe(runner: Any, args: Sequence[Any], varying: Collection[int]) -> ObservedCall:
    """Describe a call of a region.

    Parameters
    ----------
    runner : callable
    args : sequence
    varying : collection of int
        The places of numbers that differ from call to call.
    """
    values = tuple(map(_described, args))
    return ObservedCall(runner, values, tuple(_kind(v, i in varying) for i, v in enumerate(values)))


def _kind(value: Any, varies: bool) -> Any:
    """Property that `_same` compares."""
    if isinstance(value, Layout):
        return value
    return type(value) if _is_any_of_its_type(value, varies) else token(value)


def _is_any_of_its_type(value: Any, varies: bool) -> bool:
    return isinstance(value, np.generic) or (varies and type(value) in (int, float))


def _described(value: Any) -> Any:
    if type(value) is not np.ndarray or conversion_of(value) != "direct":
        return value
    tensor = torch.from_numpy(value)
    return Layout(tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))


def make_tensor_call(call: ObservedCall, spec: FunctionSpec, outputs: int) -> Factory:
    """Generate what calls the code of a region on tensors.

    Parameters
    ----------
    call : ObservedCall
        Calls like this one are made by it; others go to the region.
    spec : FunctionSpec
        The region's.
    outputs : int
        How many names it assigns to.

    Raises
    ------
    NotOnTensorsError
        If the values can't stay tensors.
    """
    made_of = getattr(call.runner, "made_of", None)
    if made_of is None:
        raise NotOnTensorsError("it isn't one compiled graph")
    plan, code, guards, scope = made_of
    tensors = {
        f"a_{name}"
        for name, value in zip(scope.parameters, call.values, strict=True)
        if isinstance(value, Layout)
    }
    _check(plan, call.values)
    names: dict[str, Any] = {"call": code, "GUARD_ERRORS": (AttributeError, IndexError, TypeError)}
    names |= scope.names() | shape_functions() | write_functions() | error_classes()
    names |= {f"as_{how}": function for how, function in CONVERTERS.items()}
    names |= {"token": token, "apart": apart, "has_overlap": has_overlap, "shares": _shares}
    names["Tensor"] = torch.Tensor
    if plan.object_writes:
        raise NotOnTensorsError("arrays are put into objects")
    inputs = tuple(_input(item, tensors) for item in plan.inputs)
    plan = dataclasses.replace(plan, inputs=inputs)
    assumed = _assumed(plan, dict(zip(scope.parameters, call.values, strict=True)))
    plan = dataclasses.replace(plan, shape_guard=assumed.pop("", None))
    kept = [f"L_{name.removeprefix('a_')}" for name in sorted(tensors)]
    given = "".join(f"a_{name}, " for name in scope.parameters)
    leave = f"return slow(({given}))"
    emitter = CallEmitter(plan, on_miss=leave, on_overlap=leave)
    lines = ["if exits:", f"    {leave}"]
    for place, name in enumerate(scope.parameters):
        varies = place in spec.varying
        own = f"a_{name}", call.values[place]
        lines += _same(*own, varies, names, assumed.get(name, ""), leave)
    lines += emitter.guard(_guards(guards, tensors, names))
    computed = [*emitter.inputs(), *emitter.shape(), *_overlap(emitter, tensors)]
    computed += [*emitter.saves("clone"), *emitter.call()]
    lines += ["try:", *(f"    {line}" for line in computed)]
    lines += ["except CompiledCodeError as failure:", f"    return failed(failure, ({given}))"]
    lines += emitter.write_back()
    lines += _fresh(plan, outputs)
    constants: dict[str, Any] = {}
    lines.append(f"return {_result(plan.result, outputs, tensors, constants)}")
    names |= constants
    text = "\n".join(f"        {line}" for line in lines)
    start = " = ".join([*kept, "checked"])
    source = (
        f"def make(exits, slow, failed):\n    {start} = None\n"
        f"    def run({given}):\n        nonlocal {', '.join([*kept, 'checked'])}\n{text}\n"
        "    return run\n"
    )
    exec(compile(source, f"<npaccel tensor call of {scope.function.__qualname__}>", "exec"), names)
    factory: Factory = names["make"]
    return factory


def _check(plan: Plan, values: Sequence[Any]) -> None:
    if plan.tensors or not device_transfer.is_host(plan.device):
        raise NotOnTensorsError("it doesn't compute on arrays of the host")
    if plan.draws.lines:
        raise NotOnTensorsError("it draws random numbers")
    if plan.read_only or plan.mapped or any(type(value) is np.ndarray for value in values):
        raise NotOnTensorsError("an array is read-only or laid out so that it is copied")
    if any(item.narrow or item.conversion in COPYING for item in plan.inputs):
        raise NotOnTensorsError("an array is copied at every call")


def _input(item: InputPlan, tensors: set[str]) -> InputPlan:
    return dataclasses.replace(item, conversion="tensor") if item.expression in tensors else item


def _assumed(plan: Plan, values: Mapping[str, Any]) -> dict[str, str]:
    """Return what is assumed of sizes: of one array, by its name, and of others, by "".

    Sizes and strides are those of the layout, so that most of it is known to hold.
    """
    if plan.shape_guard is None:
        return {}
    owners = {
        f"t{i}": item.expression.removeprefix("a_")
        for i, item in enumerate(plan.inputs[: plan.given])
        if item.conversion == "tensor"
    }
    layouts = {tensor: values[name] for tensor, name in owners.items()}
    condition = _Known(layouts).visit(ast.parse(plan.shape_guard, mode="eval").body)
    is_all = isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And)
    found: dict[str, list[str]] = {}
    for part in condition.values if is_all else [condition]:
        text = ast.unparse(part)
        about = {n.slice.value for n in ast.walk(part) if _is_input(n)}
        if not any(isinstance(n, ast.Name) for n in ast.walk(part)):
            if not eval(text):
                raise NotOnTensorsError("its layout isn't what is assumed of it")
        elif len(about) == 1 and about <= owners.keys():
            tensor = about.pop()
            if re.search(r"\ba_", text):  # A number that the code isn't given.
                found.setdefault("", []).append(text)
                continue
            name = owners[tensor]
            found.setdefault(name, []).append(text.replace(f"L['{tensor}']", f"a_{name}"))
        else:
            found.setdefault("", []).append(text)
    return {name: " and ".join(f"({part})" for part in parts) for name, parts in found.items()}


def _is_input(node: ast.AST) -> TypeGuard[Any]:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == "L"


class _Known(ast.NodeTransformer):
    """Put in the sizes and strides of tensors whose layout is known."""

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self.known = {
            f"L['{tensor}'].{method}()[{axis}]": number
            for tensor, layout in layouts.items()
            for method, numbers in (("size", layout.shape), ("stride", layout.strides))
            for axis, number in enumerate(numbers)
        }

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        number = self.known.get(ast.unparse(node))
        return self.generic_visit(node) if number is None else ast.Constant(number)


def _same(
    name: str, value: Any, varies: bool, names: dict[str, Any], assumed: str, leave: str
) -> list[str]:
    """Check that an argument is like the one before; `leave` is done where it isn't."""
    if isinstance(value, Layout):
        names |= {f"D_{name}": value.dtype, f"S_{name}": value.shape, f"T_{name}": value.strides}
        other = (
            f"type({name}) is not Tensor or {name}.shape != S_{name} or "
            f"{name}.stride() != T_{name} or {name}.dtype is not D_{name}"
        )
        other += f" or not ({assumed})" if assumed else ""
        last = f"L_{name.removeprefix('a_')}"
        return [f"if {name} is not {last}:", f"    if {other}:", f"        {leave}",
                f"    {last} = {name}"]  # fmt: skip
    names[f"X_{name}"] = value
    if _is_any_of_its_type(value, varies):
        names[f"X_{name}"] = type(value)
        return [f"if type({name}) is not X_{name}:", f"    {leave}"]
    names[f"T_{name}"] = token(value)
    return [f"if {name} is not X_{name} and token({name}) != T_{name}:", f"    {leave}"]


def _guards(guards: Sequence[Guard], tensors: set[str], names: dict[str, Any]) -> str:
    """Return a check of what is assumed of arguments; nothing else changes while the loop runs."""
    own = [c for c in guards if "a_" in c.expression or c.kind == "alias"]
    if any(c.kind != "alias" and any(name in c.expression for name in tensors) for c in own):
        raise NotOnTensorsError("more is assumed of an array than its layout")
    check, more = check_code(own)
    names |= more
    return check


def _overlap(emitter: CallEmitter, tensors: set[str]) -> list[str]:
    """Emit a look for equal tensors only: what differs has memory of its own here."""
    plan = emitter.plan
    others = ("symbol", "number", "drawn", "scalar")
    inputs = [i for i, item in enumerate(plan.inputs) if item.conversion not in others]
    if any(plan.inputs[i].expression not in tensors for i in inputs):
        return emitter.overlap()
    pairs = {(min(i, j), max(i, j)) for i in plan.written for j in inputs if i != j}
    if not pairs:
        return []
    same = " or ".join(f"t{i} is t{j}" for i, j in sorted(pairs))
    return [f"if {same}:", f"    {emitter.on_overlap}"]


def _fresh(plan: Plan, outputs: int) -> list[str]:
    """Look once whether results have memory of their own, as they always or never have."""
    parts = plan.result.items if _is_several(plan.result, outputs) else (plan.result,)  # type: ignore[union-attr]
    made = [part.index for part in parts if isinstance(part, Output) and not part.is_scalar]
    if not made:
        return []
    others = ("symbol", "number", "drawn")
    given = "".join(f"t{i}, " for i, x in enumerate(plan.inputs) if x.conversion not in others)
    found = "".join(f"o[{i}], " for i in dict.fromkeys(made))
    return ["if checked is None:", "    checked = True", f"    if shares(({found}), ({given})):",
            "        exits.append('a result is a view of another array')"]  # fmt: skip


def _shares(made: Sequence[Any], given: Sequence[Any]) -> bool:
    return any(
        is_view_of(tensor, [*given, *made[:place]]) is not None for place, tensor in enumerate(made)
    )


def _is_several(part: Template, outputs: int) -> bool:
    return outputs > 1 and isinstance(part, Container)


def _result(part: Template, outputs: int, tensors: set[str], constants: dict[str, Any]) -> str:
    if not _is_several(part, outputs):
        return _one(part, tensors, constants)
    assert isinstance(part, Container)
    if part.kind is not tuple or len(part.items) != outputs:
        raise NotOnTensorsError("its results aren't told apart")
    return f"({''.join(f'{_one(item, tensors, constants)}, ' for item in part.items)})"


def _one(part: Template, tensors: set[str], constants: dict[str, Any]) -> str:
    if isinstance(part, Output) and not part.is_scalar:
        return f"o[{part.index}]"
    if isinstance(part, Argument):
        return part.expression
    if isinstance(part, View):
        raise NotOnTensorsError("a result is a reversed view")
    if isinstance(part, Built):
        raise NotOnTensorsError("a result is an object made of arrays")
    if any(name in expression for expression in arguments_of(part) for name in tensors):
        raise NotOnTensorsError("a result is a container of arrays")
    return template_code(part, False, constants)
