"""Derivatives and batches of scans: scans again, over the derivative or the batch of the body.

Read from torch/_functorch/autograd_function.py of 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npaccel._numpy.host.own_derivatives import OF_ELEMENTS, of_name
from npaccel._numpy.host.registration import DIFFERENTIABLE
from npaccel._runtime.torch.transform_levels import is_differentiated, is_transformed
from npaccel._torch.transforms.forward_formulas import load_forward_formulas
from npaccel._torch.transforms.scans.body import (
    Body,
    Flags,
    body_of,
    is_float,
    recomputing,
    traced,
    with_axis_of,
)
from npaccel._torch.transforms.scans.operator import SCAN
from npaccel._torch.transforms.scans.segments import in_segments, segment_size


class Interpreter(torch.fx.Interpreter):
    """Interpreter of a graph to be differentiated and batched, with scans and own derivatives."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is OF_ELEMENTS:
            name, tensors = args
            return of_name(name)(*tensors)
        if target in DIFFERENTIABLE:
            return DIFFERENTIABLE[target](*args, **kwargs)
        if target is not SCAN:
            return super().call_function(target, args, kwargs)
        carry, items, constants, sizes, number, length, reverse = args
        return scan(body_of(number), length, reverse, [*carry, *items, *constants], tuple(sizes))


def scan(
    body: Body, length: Any, reverse: bool, tensors: Sequence[torch.Tensor], sizes: tuple[Any, ...]
) -> list[torch.Tensor]:
    """Compute a scan that torch may differentiate and batch.

    Parameters
    ----------
    body : Body
    length : int
        The number of iterations.
    reverse : bool
        Whether the last one comes first.
    tensors : sequence of torch.Tensor
        Carry, items with an axis for the iterations in front, and constants.
    sizes : tuple of int
        What the body takes besides.

    Returns
    -------
    list of torch.Tensor
        The last carry, and the results with an axis for the iterations.
    """
    wanted = tuple(is_float(t) and is_differentiated(t) for t in tensors)
    if not any(wanted) and not any(map(is_transformed, tensors)):
        return _computed(body, length, reverse, tensors, sizes)
    count = len(body.outputs)
    if any(wanted):
        kept = _needed(body, wanted)
        size = segment_size(length) if kept else 0
        if size:
            return in_segments(_scan_keeping_all, body, length, reverse, tensors, sizes, size)
        body = body.with_history(kept)
    found = _Scan.apply(body, length, reverse, sizes, *tensors)  # type: ignore[no-untyped-call]
    return list(found[:count])


def _scan_keeping_all(*args: Any) -> list[torch.Tensor]:
    """Compute a scan whose derivative keeps all states."""
    with recomputing(False):
        return scan(*args)


def _computed(
    body: Body, length: Any, reverse: bool, tensors: Sequence[torch.Tensor], sizes: Any
) -> list[torch.Tensor]:
    carry, items, constants = body.split(tensors)
    return list(SCAN(carry, items, constants, list(sizes), body.number, length, reverse))


def _run(body: Body, inputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(Interpreter(body.module).run(*inputs))


# -- Reverse mode --------------------------------------------------------------


def _needed(body: Body, wanted: Flags) -> tuple[int, ...]:
    """Return which carry the derivative needs, as it was in each iteration."""
    _, results = body.reached(wanted)
    outputs = body.outputs[body.carried :]
    given = tuple(flag and is_float(out) for flag, out in zip(results, outputs, strict=True))
    if not any(given) and not any(_active(body, wanted)):
        return ()
    return _pulled(body, wanted, given)[1]


def _active(body: Body, wanted: Flags) -> Flags:
    """Return which carry has a cotangent."""
    carry, _ = body.reached(wanted)
    outputs = body.outputs
    return tuple(flag and is_float(outputs[i]) for i, flag in enumerate(carry))


def _pulled(body: Body, wanted: Flags, given: Flags) -> tuple[Body, tuple[int, ...]]:
    """Return the derivative of a body, and which carry it takes as items.

    Its carry are cotangents of the carry, and sums of those of constants. Its items are those of
    the carry that it needs, the body's own, and cotangents of results. Its results are cotangents
    of items.

    Parameters
    ----------
    body : Body
    wanted : tuple of bool
        Whether there is a derivative with respect to each of carry, items and constants.
    given : tuple of bool
        Whether there is a cotangent of each result.
    """
    return body.derived(("pulled", wanted, given), lambda: _make_pulled(body, wanted, given))  # type: ignore[no-any-return]


def _make_pulled(body: Body, wanted: Flags, given: Flags) -> tuple[Body, tuple[int, ...]]:
    active = _active(body, wanted)
    _, of_items, of_constants = body.split(wanted)
    index, *inputs = body.examples
    sizes = inputs[len(inputs) - body.sizes :]
    carry, items, constants = body.split(inputs[: len(inputs) - body.sizes])
    outputs = body.outputs
    cotangents = [outputs[i] for i, flag in enumerate(active) if flag]
    sums = _chosen(constants, of_constants)
    of_results = _chosen(outputs[body.carried :], given)
    differentiated = (*active, *of_items, *of_constants)
    chosen_outputs = (*active, *given)

    def pull(index: Any, *args: Any) -> Any:
        parts = _parts(
            args,
            [len(cotangents), len(sums), body.carried, body.items, len(of_results)],
        )
        above, sums_before, own_carry, own_items, above_results, rest = parts
        own = [*own_carry, *own_items, *rest[: len(constants)]]

        def function(*values: Any) -> Any:
            left = list(values)
            full = [
                left.pop(0) if flag else one for one, flag in zip(own, differentiated, strict=True)
            ]
            return tuple(
                _chosen(_run(body, (index, *full, *rest[len(constants) :])), chosen_outputs)
            )

        _, back = torch.func.vjp(function, *_chosen(own, differentiated))
        found = list(back((*above, *above_results)))
        of_carry, of_items_found, of_constants_found = _parts(
            found, [len(cotangents), sum(of_items)]
        )
        added = [a + b for a, b in zip(sums_before, of_constants_found, strict=True)]
        return (*of_carry, *added, *of_items_found)

    examples = (index, *cotangents, *sums, *carry, *items, *of_results, *constants, *sizes)
    module = traced(pull, examples)
    first = 1 + len(cotangents) + len(sums)
    nodes = list(module.graph.find_nodes(op="placeholder"))[first : first + body.carried]
    kept = tuple(i for i, node in enumerate(nodes) if node.users)
    for node in nodes:
        if not node.users:
            module.graph.erase_node(node)
    module.recompile()
    carried = len(cotangents) + len(sums)
    return Body(module, carried, len(kept) + body.items + len(of_results), body.sizes), kept


class _Scan(torch.autograd.Function):
    """A scan whose body has what its derivative needs among its results, at the end."""

    @staticmethod
    def forward(body: Body, length: Any, reverse: bool, sizes: Any, *tensors: torch.Tensor) -> Any:  # type: ignore[override]
        return tuple(_computed(body, length, reverse, tensors, sizes))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        body, ctx.length, ctx.reverse, ctx.sizes, *tensors = inputs
        ctx.body = body
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(out for out in output if not is_float(out)))
        ctx.count = len(tensors)
        ctx.save_for_backward(*tensors, *output[body.carried :])
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        body: Body = ctx.body
        tensors, outputs = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
        floats = [is_float(t) for t in tensors]
        wanted = tuple(n and f for n, f in zip(ctx.needs_input_grad[4:], floats, strict=True))
        active = _active(body, wanted)
        _, reached = body.reached(wanted)
        of_results = cotangents[body.carried :]
        given = tuple(c is not None and r for c, r in zip(of_results, reached, strict=True))
        if not any(active) and not any(given):
            return (None,) * (4 + len(tensors))
        pulled, kept = _pulled(body, wanted, given)
        carry, items, constants = body.split(tensors)
        _, of_items, of_constants = body.split(wanted)
        above = [
            torch.zeros_like(one) if cotangent is None else cotangent
            for one, cotangent, flag in zip(carry, cotangents, active, strict=False)
            if flag
        ]
        sums = [torch.zeros_like(one) for one in _chosen(constants, of_constants)]
        history = [_history(body, outputs, i) for i in kept]
        found = _scan_keeping_all(
            pulled,
            ctx.length,
            not ctx.reverse,
            [*above, *sums, *history, *items, *_chosen(of_results, given), *constants],
            ctx.sizes,
        )
        of_carry, summed, rows = _parts(found, [len(above), len(sums)])
        first = _spread(of_carry, active)
        first = [one if flag else None for one, flag in zip(first, wanted, strict=False)]
        second = _spread(rows, of_items)
        third = _spread(summed, of_constants)
        return (None, None, None, None, *first, *second, *third)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        body: Body = ctx.body
        tensors = ctx.saved_tensors
        given = tuple(
            t is not None and is_float(x) for t, x in zip(tangents[4:], tensors, strict=True)
        )
        active = _active(body, given)
        pushed = _pushed(body, given)
        carry, items, constants = body.split(tensors)
        of_carry, of_items, of_constants = body.split(tangents[4:])
        first = [
            torch.zeros_like(one) if tangent is None else tangent
            for one, tangent, flag in zip(carry, of_carry, active, strict=True)
            if flag
        ]
        _, are_items, are_constants = body.split(given)
        found = scan(
            pushed,
            ctx.length,
            ctx.reverse,
            [
                *carry,
                *first,
                *items,
                *_chosen(of_items, are_items),
                *constants,
                *_chosen(of_constants, are_constants),
            ],
            ctx.sizes,
        )
        found = found[body.carried :]
        found_carry, rows = found[: sum(active)], found[sum(active) :]
        _, reached = body.reached(given)
        outputs = body.outputs[body.carried :]
        derived = tuple(r and is_float(out) for r, out in zip(reached, outputs, strict=True))
        every = (*_spread(found_carry, active), *_spread(rows, derived))
        shapes = [
            *((out.shape, out) for out in body.outputs[: body.carried]),
            *(((ctx.length, *out.shape), out) for out in body.outputs[body.carried :]),
        ]
        # torch refuses None among tangents.
        return tuple(
            torch.zeros(shape, dtype=like.dtype, device=like.device)
            if one is None and is_float(like)
            else one
            for one, (shape, like) in zip(every, shapes, strict=True)
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, body: Body, length: Any, reverse: bool, sizes: Any, *tensors: Any
    ) -> Any:
        dims = in_dims[4:]
        size = info.batch_size
        batched = tuple(dim is not None for dim in dims)
        of_carry, of_results = body.reached(batched)
        carry, items, constants = body.split(list(zip(tensors, dims, strict=True)))
        _, of_items, of_constants = body.split(batched)
        full = (*of_carry, *of_items, *of_constants)
        given = [
            *(
                _moved(t, d, 0, size) if flag else t
                for (t, d), flag in zip(carry, of_carry, strict=True)
            ),
            *(t if d is None else t.movedim(d, 1) for t, d in items),
            *(t if d is None else t.movedim(d, 0) for t, d in constants),
        ]
        one = _batched(body, full, size)
        found = scan(one, length, reverse, given, sizes)
        out = (
            *(0 if flag else None for flag in of_carry),
            *(1 if flag else None for flag in of_results),
        )
        return tuple(found), out


def _history(body: Body, outputs: Sequence[Any], i: int) -> Any:
    """Return the carry of all iterations, which is one of the results."""
    node = list(body.module.graph.find_nodes(op="placeholder"))[1 + i]
    results = body._output_nodes()[body.carried :]
    return outputs[results.index(node)]


# -- Forward mode --------------------------------------------------------------


def _pushed(body: Body, given: Flags) -> Body:
    """Return a body that computes tangents too, of carry and items and constants that have some."""
    return body.derived(("pushed", given), lambda: _make_pushed(body, given))  # type: ignore[no-any-return]


def _make_pushed(body: Body, given: Flags) -> Body:
    load_forward_formulas()
    active = _active(body, given)
    _, of_items, of_constants = body.split(given)
    _, reached = body.reached(given)
    index, *inputs = body.examples
    sizes = inputs[len(inputs) - body.sizes :]
    carry, items, constants = body.split(inputs[: len(inputs) - body.sizes])
    differentiated = (*active, *of_items, *of_constants)
    outputs = body.outputs
    derived = tuple(
        r and is_float(o) for r, o in zip(reached, outputs[body.carried :], strict=True)
    )
    counts = [
        *(body.carried, sum(active), body.items, sum(of_items), len(constants), sum(of_constants))
    ]

    def push(index: Any, *args: Any) -> Any:
        own_carry, dc, own_items, di, own_constants, dk, own_sizes = _parts(args, counts)
        own = [*own_carry, *own_items, *own_constants]

        def function(*values: Any) -> Any:
            left = list(values)
            full = [
                left.pop(0) if flag else one for one, flag in zip(own, differentiated, strict=True)
            ]
            found = _run(body, (index, *full, *own_sizes))
            return tuple(_chosen(found, (*active, *derived))), found

        primals = tuple(_chosen(own, differentiated))
        _, tangents, found = torch.func.jvp(function, primals, (*dc, *di, *dk), has_aux=True)
        of_carry, of_results = _parts(tangents, [sum(active)])
        return (*found[: body.carried], *of_carry, *of_results)

    examples = (
        index, *carry, *_chosen(carry, active), *items, *_chosen(items, of_items), *constants,
        *_chosen(constants, of_constants), *sizes,
    )  # fmt: skip
    module = traced(push, examples)
    return Body(module, body.carried + sum(active), body.items + sum(of_items), body.sizes)


# -- Batches -------------------------------------------------------------------


def _batched(body: Body, flags: Flags, size: Any) -> Body:
    """Return a body of batches, whose axis is in front of each tensor that has one."""
    return body.derived(("batched", flags, str(size)), lambda: _make_batched(body, flags, size))  # type: ignore[no-any-return]


def _make_batched(body: Body, flags: Flags, size: Any) -> Body:
    index, *inputs = body.examples
    sizes = inputs[len(inputs) - body.sizes :]
    values = inputs[: len(inputs) - body.sizes]
    examples = [
        with_axis_of(v, 0, size) if flag else v for v, flag in zip(values, flags, strict=True)
    ]
    carry, results = body.reached(flags)
    dims = tuple(0 if flag else None for flag in flags)
    out: Any = tuple(0 if flag else None for flag in (*carry, *results))

    def batch(index: Any, *args: Any) -> Any:
        own, own_sizes = args[: len(flags)], args[len(flags) :]

        def function(*values: Any) -> Any:
            return _run(body, (index, *values, *own_sizes))

        found = torch.func.vmap(function, in_dims=dims, out_dims=out, randomness="error")(*own)
        return tuple(found)

    module = traced(batch, (index, *examples, *sizes))
    return Body(module, body.carried, body.items, body.sizes)


def _moved(tensor: Any, dim: Any, to: int, size: Any) -> Any:
    if dim is not None:
        return tensor.movedim(dim, to)
    return tensor.unsqueeze(to).expand(*tensor.shape[:to], size, *tensor.shape[to:])


# -- Lists of tensors ----------------------------------------------------------


def _chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def _spread(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return values in the places of flags, None elsewhere."""
    left = list(values)
    return [left.pop(0) if flag else None for flag in flags]


def _parts(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """Return values in groups of the given numbers, and the rest."""
    left = list(values)
    found = []
    for count in counts:
        found.append(left[:count])
        left = left[count:]
    return [*found, left]


__all__ = ["Interpreter", "scan"]
