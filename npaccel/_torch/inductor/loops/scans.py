"""Compile scans with Inductor: a loop of Python's around the body's kernels, in the same module.

Items are views, and results are written where they stay.

Read from torch/_inductor/{ir,lowering,graph}.py (WhileLoop, while_loop, SubgraphLowering) and
torch/_inductor/codegen/wrapper.py (codegen_while_loop, codegen_subgraph_common) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, cast

import sympy  # type: ignore[import-untyped]
import torch
import torch._inductor.config as inductor_config
from torch._inductor import ir
from torch._inductor.lowering import empty_strided, lowerings, register_lowering
from torch._inductor.virtualized import V
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import constrain_range, free_unbacked_symbols

from npaccel._torch.inductor.complex.lowering import decompositions
from npaccel._torch.inductor.loops.cpp_loops import loop_in_cpp
from npaccel._torch.inductor.loops.products import SMALL_PRODUCTS
from npaccel._torch.inductor.loops.slices import with_slices_in_place
from npaccel._torch.inductor.loops.systems import SMALL_SYSTEMS
from npaccel._torch.transforms.scans.body import Body, body_of
from npaccel._torch.transforms.scans.operator import SCAN

_aten = torch.ops.aten


class ScanLoop(ir.ExternKernel):
    """A loop of Python's around a subgraph, the body of a scan.

    Parameters
    ----------
    carry, rest : sequence of ir.IRNode
        What goes from one iteration to the next, and what all of them take: items, results and
        constants.
    written : sequence of ir.IRNode
        Those of the latter that are written, the results.
    sizes : sequence of sympy.Expr
    subgraph : ir.Subgraph
    length : sympy.Expr
    reverse : bool
    """

    def __init__(
        self,
        carry: Sequence[Any],
        rest: Sequence[Any],
        written: Sequence[Any],
        sizes: Sequence[Any],
        subgraph: Any,
        length: Any,
        reverse: bool,
    ) -> None:
        self.carry, self.rest, self.sizes = list(carry), list(rest), list(sizes)
        self.subgraph, self.length, self.reverse = subgraph, length, reverse
        tensors = [*carry, *rest]
        device = next(one.get_device() for one in (*subgraph.graph.graph_outputs, *tensors))
        super().__init__(
            name=None,
            layout=ir.MultiOutputLayout(device=device),
            inputs=tensors,
            constant_args=[*sizes, length],
        )
        self.name = V.graph.register_buffer(self)
        V.graph.register_operation(self)
        self.mutation_outputs = [ir.MutationOutput(one.layout, one, self) for one in written]
        self.outputs = [
            ir.MultiOutput(
                ir.FixedLayout(
                    device=one.get_device(),
                    dtype=one.get_dtype(),
                    size=one.get_size(),
                    stride=one.get_stride(),
                ),
                self,
                [(list, i)],
            )
            for i, one in enumerate(subgraph.graph.graph_outputs)
        ]
        for given, made in zip(carry, self.outputs, strict=True):
            if given.get_name() in V.graph.graph_inputs:  # It's the result of no iteration.
                V.graph.never_reuse_buffers.add(made.get_name())

    def get_subgraphs(self) -> list[Any]:
        """Return what is generated as a function of its own."""
        return [self.subgraph]

    def codegen(self, wrapper: Any) -> None:
        """Write the loop."""
        name = self.get_name()
        graph = self.subgraph.graph
        current = [f"{name}[{i}]" for i in range(len(self.carry))]
        rest = [one.codegen_reference() for one in self.rest]
        sizes = [wrapper.codegen_python_sizevar(one) for one in self.sizes]
        start = [one.codegen_reference() for one in self.carry]
        length = wrapper.codegen_python_sizevar(self.length)
        code = self._body_code(wrapper)
        if not sizes and loop_in_cpp(wrapper, name, code, start, rest, (length, self.reverse)):
            return
        wrapper.define_subgraph_launcher_fn(graph.name, _Code(code))
        wrapper.writeline(f"{name} = [{', '.join(start)}]")
        for one in self._last_used():  # Or the first carry would live as long as the loop runs.
            wrapper.writeline(f"del {one}")
            wrapper.freed.add(one)
        steps = f"reversed(range({length}))" if self.reverse else f"range({length})"
        wrapper.writeline(f"for {name}_i in {steps}:")
        given = [f"{name}_i", *current, *rest, *sizes]
        wrapper.writeline(f"    {graph.name}_args = [{', '.join(given)}]")
        taken = f"{name}[:] = " if current else ""
        wrapper.writeline(f"    {taken}{graph.name}({graph.name}_args)")
        if current and not self._is_read():
            wrapper.writeline(f"del {name}")

    def _last_used(self) -> list[str]:
        """Return names of what begins as carry, and which nothing reads besides."""
        last = cast("Any", V.graph.scheduler.current_node).last_usage
        others = {one.get_name() for one in self.rest} | V.graph.constants.keys()
        names = dict.fromkeys(
            one.get_name() for one in self.carry if one.codegen_reference() == one.get_name()
        )
        return [
            one for one in names if one in last and one not in others | V.graph.constants.keys()
        ]

    def _is_read(self) -> bool:
        """Whether anything reads the last carry."""
        users = V.graph.scheduler.name_to_buf[self.get_name()].users
        return any(not user.is_weak for user in users)

    def _body_code(self, wrapper: Any) -> str:
        """Return Python for the body, a function."""
        graph = self.subgraph.graph
        graph.cpp_wrapper, graph.fx_wrapper = V.graph.cpp_wrapper, V.graph.fx_wrapper
        wrapper.push_codegened_graph(graph)
        try:
            with V.set_graph_handler(graph), inductor_config.patch("graph_partition", False):
                code, _ = graph.codegen()
        finally:
            wrapper.pop_codegened_graph()
        return str(code.value)


@dataclasses.dataclass
class _Code:
    """Code, as Inductor hands it on."""

    value: str


@contextlib.contextmanager
def scans_as_loops() -> Iterator[None]:
    """Have graphs that are compiled meanwhile loop where they have scans."""
    register_lowering(SCAN, type_promotion_kind=None)(_scan)
    try:
        yield
    finally:
        lowerings.pop(SCAN, None)


def _scan(
    carry: Any, items: Any, constants: Any, sizes: Any, number: int, length: Any, reverse: bool
) -> list[Any]:
    body = body_of(number)
    node = V.graph.current_node
    fakes = [[_value(one) for one in cast("Any", part)] for part in node.args[:4]]
    results = list(node.meta["val"][body.carried :])
    stacked = [_empty(value) for value in results]
    module, examples = _in_place(body, fakes, results, node.args[5])
    given = [*carry, *items, *stacked, *constants]
    exact = [
        ir.ExternKernel.require_exact_strides(
            ir.TensorBox.create(ir.ExternKernel.realize_input(one))
            if not isinstance(one, ir.TensorBox)
            else one,
            value.stride(),
        )
        for one, value in zip(
            given, [e for e in examples[1:] if isinstance(e, torch.Tensor)], strict=True
        )
    ]
    realized = [ir.ExternKernel.realize_input(one) for one in exact]
    subgraph = ir.Subgraph(name=f"scan_{number}", graph_module=module)
    subgraph.graph = V.graph.make_subgraph(
        gm=module, example_inputs=examples, subgraph_name=subgraph.name
    )
    with V.set_graph_handler(subgraph.graph):
        subgraph.graph.run(*examples)
        subgraph.graph.graph_outputs = [
            ir.ExternKernel.realize_input(
                ir.ExternKernel.require_exact_strides(_boxed(one), value.stride())
            )
            for one, value in zip(
                subgraph.graph.graph_outputs, node.meta["val"][: body.carried], strict=True
            )
        ]
    _drop_assertions(subgraph.graph, examples[0].node.expr, _most(node.args[5]))
    count = len(carry)
    first = count + len(items)
    written = realized[first : first + len(results)]
    loop = ScanLoop(realized[:count], realized[count:], written, sizes, subgraph, length, reverse)
    return [*map(_boxed, loop.outputs), *stacked]


def _drop_assertions(graph: Any, index: Any, most: int | None) -> None:
    """Drop those on the range of the number of the iteration, which the loop gives."""
    certain = (sympy.Ge(index, 0), sympy.Le(index, sympy.oo if most is None else most))
    needless = [
        one
        for one in graph.operations
        if isinstance(one, ir.AssertScalar) and one.scalar in certain
    ]
    names = {one.get_name() for one in needless}
    graph.operations = [one for one in graph.operations if one not in needless]
    graph.buffers = [one for one in graph.buffers if one.get_name() not in names]


def _value(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument


def _empty(value: torch.Tensor) -> Any:
    made = empty_strided(value.size(), value.stride(), dtype=value.dtype, device=value.device)
    made.realize()
    return made


def _boxed(one: Any) -> Any:
    if isinstance(one, ir.TensorBox):
        return one
    if isinstance(one, ir.StorageBox | ir.ReinterpretView):
        return ir.TensorBox(one)
    return ir.TensorBox.create(one)


def _in_place(
    body: Body, fakes: Sequence[Sequence[Any]], results: Sequence[torch.Tensor], length: Any
) -> tuple[torch.fx.GraphModule, list[Any]]:
    """Return a body that reads items where they are, and writes results where they stay.

    It takes the number of the iteration, an integer, carry, whole items, whole results, constants
    and sizes, and returns the carry.
    """
    carry, items, constants, sizes = fakes
    counts = [len(carry), len(items), len(results), len(constants)]

    def step(index: Any, *args: Any) -> Any:
        parts, left = [], list(args)
        for count in counts:
            parts.append(left[:count])
            left = left[count:]
        own_carry, own_items, own_results, own_constants = parts
        rows = [_aten.select.int(item, 0, index) for item in own_items]
        inputs = (index, *own_carry, *rows, *own_constants, *left)
        found = _Interpreter(body.module).run(*inputs)
        for whole, row in zip(own_results, found[body.carried :], strict=True):
            _aten.copy_.default(_aten.select.int(whole, 0, index), row)
        return tuple(found[: body.carried])

    mode = V.fake_mode
    with mode, torch.no_grad():
        with mode.shape_env.ignore_fresh_unbacked_symbols():  # No call of the graph gives it.
            index = mode.shape_env.create_unbacked_symint()
        constrain_range(index, min=0, max=_most(length))
        tensors = [
            torch.empty(one.shape, dtype=one.dtype, device=one.device)
            for one in (*carry, *items, *results, *constants)
        ]
        examples = [index, *tensors, *(_own_number(mode.shape_env, one) for one in sizes)]
        table = {**decompositions(), **SMALL_PRODUCTS, **SMALL_SYSTEMS}
        module = make_fx(step, decomposition_table=table, _allow_non_fake_inputs=True)(*examples)
        with_slices_in_place(module.graph)
        module.recompile()
    return module, examples


def _own_number(shape_env: Any, size: Any) -> Any:
    """Return what stands for a size in a body: the number of an outer loop has another name."""
    if not isinstance(size, torch.SymInt) or not free_unbacked_symbols(size):
        return size
    with shape_env.ignore_fresh_unbacked_symbols():
        own = shape_env.create_unbacked_symint()
    within = shape_env.bound_sympy(size.node.expr)
    ends = [int(end) if end.is_Integer else None for end in (within.lower, within.upper)]
    constrain_range(own, min=ends[0], max=ends[1])
    return own


def _most(length: Any) -> int | None:
    length = _value(length)
    return length - 1 if isinstance(length, int) else None


class _Interpreter(torch.fx.Interpreter):
    """Interpreter of a body with the number of the iteration as an integer."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is _aten._local_scalar_dense.default and not isinstance(args[0], torch.Tensor):
            return args[0]
        return super().call_function(target, args, kwargs)


__all__ = ["scans_as_loops"]
