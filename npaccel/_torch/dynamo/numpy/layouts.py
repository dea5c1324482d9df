"""Whether an array lies in memory in a graph as it does in NumPy."""

from __future__ import annotations

import fnmatch
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from npaccel._numpy.core import table
from npaccel._runtime.torch.symbolic_sizes import share_memory
from npaccel._torch.dynamo.numpy.operations import INPLACE, RESTRIDED
from npaccel._torch.fx_passes.nodes import name_of

#: Calls that give a view of any array; others look at its strides.
ALWAYS_VIEWS = frozenset(
    f"numpy.{prefix}{name}"
    for prefix in ("", "ndarray.")
    for name in (
        *("T", "mT", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"),
        *("broadcast_to", "diagonal", "dsplit", "expand_dims", "hsplit", "imag", "moveaxis"),
        *("matrix_transpose", "permute_dims", "real", "rollaxis", "split", "squeeze", "swapaxes"),
        *("transpose", "unstack", "vsplit"),
    )
) | {"operator.getitem"}
#: Calls that give a view or a copy, as the array lies in memory.
_VIEWS_OR_COPIES = frozenset(
    f"numpy.{name}" for name in ("ravel", "reshape", "ndarray.ravel", "ndarray.reshape")
)
#: Calls that give a copy of an array that isn't in order.
_COPIES = frozenset(
    f"numpy.{name}" for name in ("ascontiguousarray", "asfortranarray", "ndarray.ravel", "ravel")
)
#: Calls that give the array itself or a copy, as it lies in memory, where an order is asked for.
_ORDERED = frozenset(
    f"numpy.{name}"
    for name in ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "require")
)
#: Calls whose arguments decide on the order of a new array in C order.
_OF_ORDER = frozenset(f"numpy.{name}" for name in ("ndarray.copy", "ndarray.flatten"))
#: Rows that give new arrays with other strides than NumPy's for arrays in C order.
UNLIKE = tuple(
    f"numpy.{name}"
    for name in (
        *("*.accumulate", "*.reduceat", "*nonzero", "*percentile", "*quantile", "*unpackbits"),
        *("einsum*", "fft.*", "flip*", "histogram2d", "histogramdd", "linalg.*", "polyfit"),
        *("polynomial.*", "rot90", "unravel_index"),
    )
)
#: Calls that give new arrays in C order for arrays of any order.
_IN_ORDER = frozenset({"numpy.matmul", "numpy.select", "operator.matmul"})
_KNOWN = "npaccel_lies_as_in_numpy"


def is_kept(node: torch.fx.Node) -> bool:
    """Whether the strides of a node are surely those that NumPy's array has.

    Parameters
    ----------
    node : torch.fx.Node
        With its fake tensor.
    """
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or any(size == 1 for size in value.shape):
        return False  # NumPy's strides of such axes are of many kinds.
    return lies_as_in_numpy(node)


def lies_as_in_numpy(node: torch.fx.Node) -> bool:
    """Whether the strides of a node are surely NumPy's, those of axes of one element apart.

    Parameters
    ----------
    node : torch.fx.Node
        With its fake tensor, or a tuple of them.
    """
    for one in node.graph.nodes:  # Nodes before it first: no deep recursion.
        if _KNOWN not in one.meta:
            one.meta[_KNOWN] = _found(one)
        if one is node:
            break
    return bool(node.meta[_KNOWN])


def is_surely_new(node: torch.fx.Node) -> bool:
    """Whether NumPy surely gives a copy where a graph has an input itself, or a view of it.

    So it is where the input has lost strides that NumPy makes flat, or puts in
    order, by a copy only.

    Parameters
    ----------
    node : torch.fx.Node
        A call, with its fake tensor.
    """
    first, value = node.args[0] if node.args else None, node.meta.get("example_value")
    if not isinstance(first, torch.fx.Node) or not isinstance(value, torch.Tensor):
        return False
    if name_of(node) not in _COPIES or first.op != "placeholder":
        return False
    own = first.meta["example_value"]
    is_lost = bool(first.meta.get(RESTRIDED)) and share_memory(own, value)
    return is_lost and all(statically_known_true(size > 1) for size in own.shape)


def depends_on_layout(node: torch.fx.Node) -> bool:
    """Whether a call gives a view or a copy, by strides that may not be NumPy's."""
    name = name_of(node)
    first = node.args[0] if node.args else None
    if not isinstance(first, torch.fx.Node):
        return False
    asks = name in _ORDERED and (
        name.endswith(("contiguousarray", "fortranarray", "require")) or "order" in node.kwargs
    )
    if name.endswith("reshape") and _have_same(_sizes(node), _sizes(first)):
        return False  # Axes of one element come and go in any view.
    return (asks or name in _VIEWS_OR_COPIES) and not lies_as_in_numpy(first)


def _have_same(sizes: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(sizes) == len(others) and all(
        statically_known_true(a == b) for a, b in zip(sizes, others, strict=True)
    )


def _sizes(node: torch.fx.Node) -> list[int | torch.SymInt]:
    """Return the sizes of an array's axes, those of one element apart."""
    value = node.meta.get("example_value")
    shape = value.shape if isinstance(value, torch.Tensor) else ()
    return [size for size in shape if not statically_known_true(size == 1)]


def _found(node: torch.fx.Node) -> bool:
    if node.op == "placeholder":
        return not node.meta.get(RESTRIDED)
    name, first = name_of(node), node.args[0] if node.args else None
    out = node.kwargs.get("out")
    if isinstance(out, torch.fx.Node):
        return _is_known(out)
    if node.target in (operator.getitem, torch.clone) or name in INPLACE:
        return _is_known(first)
    if name == "operator.getitem":
        return _is_known(first) and (_is_basic(node.args[1]) or _takes_rows(node))
    if name in ALWAYS_VIEWS | _VIEWS_OR_COPIES or name == "numpy.ndarray.view":
        return _is_known(first) and node.kwargs.get("order", "C") == "C"
    return _is_like_numpys(node, name)


def _is_like_numpys(node: torch.fx.Node, name: str) -> bool:
    """Whether a new array has NumPy's strides."""
    value = node.meta.get("example_value")
    row = table.row_named(name)
    is_operator = name.startswith("operator.")
    if not is_operator and (row is None or any(fnmatch.fnmatch(name, one) for one in UNLIKE)):
        return False
    if isinstance(value, torch.Tensor) and value.ndim < 2:
        return True
    if name in _OF_ORDER and len(node.args) == 1 and not node.kwargs:
        return True
    if node.kwargs.get("order") not in (None, "C"):
        return False
    if name in _IN_ORDER:
        return isinstance(value, torch.Tensor) and _in_order(value)
    arrays = [arg for arg in node.all_input_nodes if _ndim(arg)]
    if not all(map(_is_known, arrays)):
        return False
    if all(_in_order(arg.meta["example_value"]) for arg in arrays):
        return True
    return (is_operator or (row is not None and row.elementwise)) and _lie_alike(arrays)


def _is_known(node: object) -> bool:
    return isinstance(node, torch.fx.Node) and bool(node.meta.get(_KNOWN))


def _ndim(node: torch.fx.Node) -> int:
    value = node.meta.get("example_value")
    return value.ndim if isinstance(value, torch.Tensor) else 0


def _in_order(value: torch.Tensor) -> bool:
    """Whether an array surely lies in C order."""
    expected: int | torch.SymInt = 1
    for size, stride in zip(reversed(value.shape), reversed(value.stride()), strict=True):
        if statically_known_true(size == 1):
            continue
        if not statically_known_true(stride == expected):
            return False
        expected = size * expected
    return True


def _lie_alike(nodes: Sequence[torch.fx.Node]) -> bool:
    """Whether arrays surely have one shape and the same strides, none of which is 0."""
    values = [node.meta["example_value"] for node in nodes]
    first = values[0]
    return all(
        one.ndim == first.ndim
        and all(
            statically_known_true(mine == its)
            for mine, its in zip(
                (*one.shape, *one.stride()), (*first.shape, *first.stride()), strict=True
            )
        )
        for one in values
    ) and not any(statically_known_true(stride == 0) for stride in first.stride())


def _takes_rows(node: torch.fx.Node) -> bool:
    """Whether an index is one array or list, of numbers or of bools, and all is in C order."""
    array, key = node.args
    if not isinstance(array, torch.fx.Node) or not _in_order(array.meta["example_value"]):
        return False
    if isinstance(key, torch.fx.Node) and _is_array(key):
        return _in_order(key.meta["example_value"])
    return isinstance(key, list)


def _is_basic(key: object) -> bool:
    """Whether an index is made of numbers, of slices that go upwards and of new axes."""
    parts = key if isinstance(key, tuple) else (key,)
    return not any(isinstance(part, bool | list) or _is_array(part) for part in parts) and all(
        part.step is None or (isinstance(part.step, int) and part.step > 0)
        for part in parts
        if isinstance(part, slice)
    )


def _is_array(part: object) -> bool:
    return isinstance(part, torch.fx.Node) and isinstance(
        part.meta.get("example_value"), torch.Tensor
    )


__all__ = [
    "ALWAYS_VIEWS",
    "UNLIKE",
    "depends_on_layout",
    "is_kept",
    "is_surely_new",
    "lies_as_in_numpy",
]
