"""Look at indices before anything is written, so that there is nothing to undo after an error.

Code that may raise an error and writes to arguments copies them before it begins. For `a[i] += 1`
with few indices and a large array that takes a hundred times as long as the rest. So a graph that
writes looks at each array of indices first. Where one is out of bounds, the kernel throws, and
until then places are computed from zeros instead: reads and writes don't check anything.

Read from torch/_inductor/{lowering,graph}.py and torch/_inductor/codegen/{cpp,wrapper}.py of 2.11
and 2.13.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Sequence
from typing import Any

import torch

from npaccel._torch.inductor.cpp.bounds_checks import block_of

_aten = torch.ops.aten
_UNCHECKED = {
    _aten.index.Tensor: _aten._unsafe_index.Tensor,
    _aten.index_put.default: _aten._unsafe_index_put.default,
}
_TEXT = "Runtime assertion failed: an index is out of bounds"
_INDICES = (torch.int64, torch.int32)
#: Words of generated code that may raise an error for some values: in kernels, and around them.
RAISING = re.compile(r"TORCH_CHECK|\bthrow\b|\braise\b|assert_async|linalg|cholesky|_assert")
#: Words of what may allocate memory: in kernels, and any call around them but of a view.
_ALLOCATING = re.compile(r"\bnew\b|alloc|make_unique|make_shared|std::vector")
_CALL = re.compile(r"\b(?!reinterpret_tensor\b)\w+\(")
#: Calls that neither read nor write elements.
_HARMLESS = re.compile(
    r"args\.clear\(\)|assert_(size_stride|alignment)\(.*|del .*|return .*", re.DOTALL
)


def indices_checked_first(module: torch.fx.GraphModule) -> None:
    """Rewrite a functional graph of AOTAutograd in place.

    Parameters
    ----------
    module : torch.fx.GraphModule
        Its nodes have fake tensors; it writes to inputs at its end only.
    """
    graph = module.graph
    copies = graph.find_nodes(op="call_function", target=_aten.copy_.default)
    if not any(node.args[0].op == "placeholder" for node in copies):
        return
    order = {node: i for i, node in enumerate(graph.nodes)}
    checked: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.target in _UNCHECKED and _are_numbers(node):
            base, indices, *rest = node.args
            new = [
                index if index is None else _checked(graph, base, axis, index, order, checked)
                for axis, index in enumerate(indices)
            ]
            if None in [made for made, index in zip(new, indices, strict=True) if index]:
                continue
            node.target = _UNCHECKED[node.target]
            node.args = (base, new, *rest)
    if checked:
        module.recompile()


def _are_numbers(node: torch.fx.Node) -> bool:
    """Whether all indices are arrays of places, on a CPU."""
    base, indices, *_ = node.args
    given = [index.meta["val"] for index in indices if index is not None]  # type: ignore[union-attr]
    places = all(index.dtype in _INDICES and index.device.type == "cpu" for index in given)
    return places and base.meta["val"].device.type == "cpu"  # type: ignore[union-attr]


def _checked(
    graph: torch.fx.Graph,
    base: torch.fx.Node,
    axis: int,
    index: torch.fx.Node,
    order: dict[torch.fx.Node, int],
    checked: dict[Any, torch.fx.Node],
) -> torch.fx.Node | None:
    """Return what holds the same indices, or zeros; None where there is no element at 0."""
    size = base.meta["val"].shape[axis]
    if type(size) is int and not size:
        return None
    is_known = type(size) is int
    key = index, size if is_known else (base, axis)
    if key in checked:
        return checked[key]
    last = index if is_known or order[index] > order[base] else base
    while last.next.op == "placeholder":
        last = last.next

    def call(target: Any, *args: Any) -> torch.fx.Node:
        nonlocal last
        with graph.inserting_after(last):
            last = graph.call_function(target, args)
        given = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args]
        with index.meta["val"].fake_mode:
            last.meta["val"] = target(*given)
        return last

    end = size if is_known else call(_aten.sym_size.int, base, axis)
    begin = -size if is_known else call(operator.neg, end)
    outside = call(
        _aten.bitwise_or.Tensor,
        call(_aten.lt.Scalar, index, begin),
        call(_aten.ge.Scalar, index, end),
    )
    is_one = call(_aten.any.default, outside)
    call(_aten._assert_async.msg, call(_aten.logical_not.default, is_one), _TEXT)
    zero = call(_aten.scalar_tensor.default, 0)
    zero = call(torch.ops.prims.convert_element_type.default, zero, index.meta["val"].dtype)
    checked[key] = call(_aten.where.self, is_one, zero, index)
    return checked[key]


def raises_after_writing(source: str) -> bool:
    """Whether generated code may raise an error after it has written to an input.

    Parameters
    ----------
    source : str
        The module.
    """
    return _stops_late(source, RAISING, RAISING)


def allocates_after_writing(source: str) -> bool:
    """Whether memory may run out in generated code after it has written to an input."""
    return _stops_late(source, _ALLOCATING, _CALL)


def _stops_late(source: str, within: re.Pattern[str], around: re.Pattern[str]) -> bool:
    """Whether something comes after a write, within kernels or around them."""
    tree = ast.parse(source)
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"
    ]
    made = [n for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    kernels: dict[str, list[Any]] = {}
    for node in made:
        maker, target = ast.unparse(node.value.func), node.targets[0]  # type: ignore[attr-defined]
        if maker == "async_compile.cpp_pybinding" and isinstance(target, ast.Name):
            given = node.value.args  # type: ignore[attr-defined]
            kernels[target.id] = [ast.literal_eval(arg) for arg in given]
        elif maker.startswith("async_compile.") and within.search(ast.unparse(node)):
            return True  # Its arguments are of another form.
    return len(calls) != 1 or _is_late(calls[0].body, kernels, within, around)


def _is_late(
    body: Sequence[ast.stmt],
    kernels: dict[str, list[Any]],
    within: re.Pattern[str],
    around: re.Pattern[str],
) -> bool:
    inputs: set[str] = set()
    has_written = False
    for statement in body:
        text = ast.unparse(statement)
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if text.endswith("= args"):
            inputs = names - {"args"}
            continue
        if _HARMLESS.fullmatch(text):
            continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) in kernels:
            types, code = kernels[ast.unparse(call.func)][:2]
            given = [
                place
                for place, (kind, arg) in enumerate(zip(types, call.args, strict=False))
                if "*" in kind and "const" not in kind and _names_in(arg) & inputs
            ]
            if within.search(code) and (has_written or _throws_late(code, given, within)):
                return True
            has_written = has_written or bool(given)
            continue
        if around.search(text) and has_written:
            return True
        if isinstance(statement, ast.Assign):
            inputs |= names if names & inputs else set()  # It may be a view.
            has_written = has_written or (
                bool(names & inputs)
                and not re.search("= (reinterpret_tensor|empty_strided)", text)
                and any(isinstance(node, ast.Call) for node in ast.walk(statement))
            )
        elif names & inputs:
            has_written = True
    return False


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _throws_late(code: str, written: Sequence[int], within: re.Pattern[str]) -> bool:
    """Whether a kernel may throw after it has written by one of some pointers."""
    if not written:
        return False
    begin, end = block_of(code, code.index(" kernel("))
    parameters = code[code.index(" kernel(") : begin].split(",")
    names = "|".join(re.findall(r"\w+", parameters[place])[-1] for place in written)
    first = re.compile(rf"\b({names})\b").search(code, begin, end)
    throws = [found.start() for found in within.finditer(code, begin, end)]
    if first is None or not throws or throws[-1] > first.start():
        return first is not None and bool(throws)
    place = begin + 1
    while (place := code.find("{", place, throws[-1])) >= 0:
        last = block_of(code, place)[1]
        if throws[-1] < last:  # What is thrown has left this block: a loop, or all threads.
            return last > first.start()
        place = last
    return False


__all__ = ["RAISING", "allocates_after_writing", "indices_checked_first", "raises_after_writing"]
