"""Whether an array lies in memory in a graph as it does in NumPy."""

from __future__ import annotations

import torch

from npaccel._numpy import _table

_VIEWS = frozenset(
    f"numpy.{prefix}{name}"
    for prefix in ("", "ndarray.")
    for name in (
        *("T", "mT", "broadcast_to", "matrix_transpose", "moveaxis", "reshape", "swapaxes"),
        *("transpose", "ravel"),
    )
)
#: Functions that give arrays in C order.
_NEW = frozenset(
    f"numpy.{name}"
    for name in (
        *("arange", "ascontiguousarray", "empty", "eye", "full", "linspace", "ndarray.copy"),
        *("ndarray.flatten", "ones", "zeros"),
    )
)


def is_kept(node: torch.fx.Node) -> bool:
    """Whether the strides of a node are surely those that NumPy's array has.

    Parameters
    ----------
    node : torch.fx.Node
        With its fake tensor.
    """
    if node.op == "placeholder":
        return True
    name = str(getattr(node.target, "name", ""))
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or any(size == 1 for size in value.shape):
        return False  # NumPy's strides of such axes are of many kinds.
    if name == "operator.getitem":
        return _is_plain(node.args[1]) and _first_is_kept(node)
    if name in _VIEWS:
        return _first_is_kept(node)
    if name in _NEW:
        return not node.kwargs.get("order") and value.is_contiguous()
    row = _table.row_named(name)
    is_ufunc = name.startswith("operator.") or (row is not None and row.elementwise)
    return is_ufunc and all(_in_order(arg) and is_kept(arg) for arg in node.all_input_nodes)


def _first_is_kept(node: torch.fx.Node) -> bool:
    first = node.args[0]
    return isinstance(first, torch.fx.Node) and is_kept(first)


def _in_order(node: torch.fx.Node) -> bool:
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and value.is_contiguous()


def _is_plain(key: object) -> bool:
    """Whether an index is made of numbers and of slices that go upwards."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, slice):
            if part.step is not None and not (isinstance(part.step, int) and part.step > 0):
                return False
        elif part is not Ellipsis and (isinstance(part, bool) or not isinstance(part, int)):
            return False
    return True


__all__ = ["is_kept"]
