"""Move the elements of complex arrays without taking them for complex numbers.

What lies in memory is viewed, copied and written to with its pairs as a last axis; what is
computed as two parts is moved part by part. Both may be asked for at any time: parts of what lies
in memory are views of it, and parts are written to memory by the loop that computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

from npaccel._torch.inductor.complex.splitting import InMemory, Splitting, is_complex, value_of

__all__ = ["LEFT_ALONE", "MOVES"]

_aten, _prims = torch.ops.aten, torch.ops.prims


def _axis(at: Splitting, x: Node, axis: int, more: int = 0) -> int:
    """Return an axis counted from the first, as the last is another one among pairs."""
    dimensions: int = value_of(x).dim() + more
    return axis % max(dimensions, 1)


# -- Views and copies ---------------------------------------------------------------

#: Functions that make the arguments for pairs from those for complex numbers.
_Change = Callable[..., "Sequence[Any] | None"]


def _as_given(at: Splitting, x: Node, *args: Any) -> Sequence[Any]:
    return args


def _along(at: Splitting, x: Node, axis: int = 0, *args: Any) -> Sequence[Any]:
    return _axis(at, x, axis), *args


def _along_new(at: Splitting, x: Node, axis: int) -> Sequence[Any]:
    return (_axis(at, x, axis, 1),)


def _along_some(at: Splitting, x: Node, axes: Sequence[int]) -> Sequence[Any]:
    return ([_axis(at, x, axis) for axis in axes],)


def _in_order(at: Splitting, x: Node, axes: Sequence[int]) -> Sequence[Any]:
    return ([*(_axis(at, x, axis) for axis in axes), len(axes)],)


def _of_size(at: Splitting, x: Any, size: Sequence[Any]) -> Sequence[Any]:
    return ([*size, 2],)


def _laid_out(
    at: Splitting, x: Node, size: Sequence[Any], strides: Sequence[Any], offset: Any = None
) -> Sequence[Any] | None:
    if any(isinstance(one, Node) for one in (*strides, offset)):
        return None
    doubled = None if offset is None else 2 * offset
    return [*size, 2], [*(2 * stride for stride in strides), 1], doubled


#: Views of what lies in memory.
_VIEWS: dict[Any, _Change] = {
    _aten._unsafe_view.default: _of_size,
    _aten.alias.default: _as_given,
    _aten.as_strided.default: _laid_out,
    _aten.expand.default: _of_size,
    _aten.permute.default: _in_order,
    _aten.reshape.default: _of_size,
    _aten.slice.Tensor: _along,
    _aten.squeeze.default: _as_given,
    _aten.squeeze.dim: _along,
    _aten.squeeze.dims: _along_some,
    _aten.t.default: lambda at, x: None,
    _aten.unsqueeze.default: _along_new,
    _aten.view.default: _of_size,
}

_VIEWED_AS_THEY_LIE = (_aten.view.default, _aten._unsafe_view.default)


def _viewed(op: Any, change: _Change) -> Callable[..., Any]:
    of_parts = _moved(op, (0,))
    # Pairs may lie in memory in another order than torch's complex numbers would.
    in_memory = _aten.reshape.default if op in _VIEWED_AS_THEY_LIE else op

    def apply(at: Splitting, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_complex(at.node) or not is_complex(x):
            return NotImplemented
        changed = None if x in at.made else change(at, x, *args)
        if changed is None or kwargs.get("memory_format") not in _FORMATS:
            return of_parts(at, x, *args, **kwargs)
        return InMemory(at.emit(in_memory, at.memory(x), *changed, **kwargs))

    return apply


#: Orders of the axes in memory that are the same with one axis more.
_FORMATS = (None, torch.contiguous_format, torch.preserve_format)


def _selected(at: Splitting, x: Node, axis: int, index: Any) -> Any:
    if not is_complex(x):
        is_part = x in at.stacked and axis in (-1, value_of(x).dim() - 1) and index in (0, 1)
        return at.stacked[x][index] if is_part else NotImplemented
    return _viewed(_aten.select.int, _along)(at, x, axis, index)


def _kept(at: Splitting, x: Node) -> Any:
    """Copy what may be changed while the copy is needed, or the other way round."""
    if not is_complex(x):
        return NotImplemented
    if x in at.made:
        return InMemory(at.stack(at.arrays(x), value_of(x)))
    return InMemory(at.copy(_prims.clone.default, at.memory(x), value_of(at.node)))


def _cloned(at: Splitting, x: Node, **kwargs: Any) -> Any:
    if not is_complex(x) or x in at.made:
        return _moved(_aten.clone.default, (0,))(at, x, **kwargs)
    return InMemory(at.copy(_aten.clone.default, at.memory(x), value_of(at.node)))


def _as_pairs(at: Splitting, x: Node) -> Any:
    """Move pairs: what sees the parts along a last axis may read or replace one of them."""
    if not is_complex(x):
        return NotImplemented
    array = at.memory(x)
    if x in at.made:
        at.stacked[array] = at.arrays(x)
    return array


def _as_numbers(at: Splitting, x: Node) -> Any:
    return at.stacked[x] if x in at.stacked else InMemory(x)


# -- Writes -----------------------------------------------------------------------------


def _written_part(op: Any) -> Callable[..., Any]:
    """Return what writes to a part of an array, which lies in memory then."""

    def apply(at: Splitting, x: Node, source: Node, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return NotImplemented
        if not is_complex(at.node):
            return _replaced_part(at, op, x, source, *args)
        array = at.memory_for(source, value_of(x).dtype.to_real())
        return InMemory(at.emit(op, at.memory(x), array, *_along(at, x, *args)))

    return apply


def _replaced_part(at: Splitting, op: Any, x: Node, source: Node, *args: Any) -> Any:
    """Replace the real or the imaginary part as a whole."""
    if op is not _aten.select_scatter.default or x not in at.stacked:
        return NotImplemented
    axis, which = args
    if axis not in (-1, value_of(x).dim() - 1) or which not in (0, 1):
        return NotImplemented
    parts = list(at.stacked[x])
    parts[which] = source
    made = at.stack((parts[0], parts[1]), value_of(parts[1 - which]))
    at.stacked[made] = parts[0], parts[1]
    return made


def _put(at: Splitting, x: Node, indices: Any, values: Node, accumulate: bool = False) -> Any:
    if any(value_of(one).dtype == torch.bool for one in indices if one is not None):
        return _moved(_aten.index_put.default, (0, 2))(at, x, indices, values, accumulate)
    array = at.memory_for(values, value_of(x).dtype.to_real())
    return InMemory(at.emit(_aten.index_put.default, at.memory(x), indices, array, accumulate))


def _copied(at: Splitting, x: Node, source: Node, *args: Any) -> Any:
    """Replace all elements of an array."""
    if is_complex(x) and is_complex(source) and source not in at.made:
        array = at.memory_for(source, value_of(x).dtype.to_real())
        return InMemory(at.emit(_aten.copy.default, at.memory(x), array, *args))
    return _moved(_aten.copy.default, (0, 1))(at, x, source, *args)


def _stored(at: Splitting, x: Node, source: Node, *args: Any) -> Any:
    return at.written(x, source) if is_complex(x) else NotImplemented


# -- New arrays -----------------------------------------------------------------------------


def _filled(at: Splitting, sizes: Any, number: Any, **kwargs: Any) -> Any:
    if isinstance(number, Node):
        return NotImplemented
    number = complex(number)
    kwargs["dtype"] = value_of(at.node).dtype.to_real()
    return at.emit(_aten.full.default, sizes, number.real, **kwargs), number.imag


def _left_empty(at: Splitting, sizes: Any, **kwargs: Any) -> Any:
    if kwargs.get("memory_format") not in _FORMATS:
        return NotImplemented
    kwargs["dtype"] = value_of(at.node).dtype.to_real()
    return InMemory(at.emit(_aten.empty.memory_format, [*sizes, 2], **kwargs))


def _left_empty_in_order(at: Splitting, sizes: Any, order: Any, **kwargs: Any) -> Any:
    kwargs["dtype"] = value_of(at.node).dtype.to_real()
    order = [*order, len(order)]
    return InMemory(at.emit(_aten.empty_permuted.default, [*sizes, 2], order, **kwargs))


def _cast(at: Splitting, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Cast to a complex dtype, from any; what follows of the arguments is where the result lies."""
    dtype = value_of(at.node).dtype
    if not dtype.is_complex or kwargs.get("device") not in (None, value_of(x).device):
        return NotImplemented
    return at.cast(at.parts(x), dtype.to_real())


def _of_real_parts(at: Splitting, real: Node, imaginary: Node) -> Any:
    return at.cast((real, imaginary), value_of(at.node).dtype.to_real())


# -- Both parts alike ---------------------------------------------------------------------


def _moved(op: Any, places: Sequence[int]) -> Callable[..., Any]:
    """Return what does the same to both parts: moves elements, or adds them up.

    Parameters
    ----------
    op : OpOverload
    places : sequence of int
        Which arguments are complex, or become so.
    """

    def apply(at: Splitting, *args: Any, **kwargs: Any) -> Any:
        dtype = value_of(at.node).dtype
        if not dtype.is_complex:
            return NotImplemented
        if "dtype" in kwargs:
            kwargs["dtype"] = dtype.to_real()

        def part(which: int) -> Node:
            def of(node: Node) -> Node:
                real, imaginary = at.cast(at.arrays(node), dtype.to_real())
                found = (real, imaginary)[which]
                assert isinstance(found, Node)
                return found

            mapped = [
                torch.fx.node.map_arg(argument, of) if place in places else argument
                for place, argument in enumerate(args)
            ]
            return at.emit(op, *mapped, **kwargs)

        return part(0), part(1)

    return apply


def _if_made(op: Any) -> Callable[..., Any]:
    """Return what does the same to both parts of what is computed, and leaves the rest to torch."""
    of_parts = _moved(op, (0,))

    def apply(at: Splitting, *args: Any, **kwargs: Any) -> Any:
        if at.made.isdisjoint(at.node.all_input_nodes):
            return NotImplemented
        return of_parts(at, *args, **kwargs)

    return apply


#: Operators that do the same to both parts, and the arguments that are complex.
_OF_PARTS: dict[Any, tuple[int, ...]] = {
    _aten.diagonal.default: (0,),
    _aten.flip.default: (0,),
    _aten.gather.default: (0,),
    _aten.index.Tensor: (0,),
    _aten.index_select.default: (0,),
    _aten.repeat.default: (0,),
    _aten.scatter.src: (0, 3),
    _prims.rev.default: (0,),
}
#: Operators that torch does sooner to complex numbers in memory than a loop to their parts.
_FASTER_WHOLE = (
    _aten.cat.default,
    _aten.cumsum.default,
    _aten.mean.default,
    _aten.mean.dim,
    _aten.sum.default,
    _aten.sum.dim_IntList,
)
MOVES: dict[Any, Callable[..., Any]] = {
    **{op: _if_made(op) for op in _FASTER_WHOLE},
    **{op: _moved(op, places) for op, places in _OF_PARTS.items()},
    **{op: _viewed(op, change) for op, change in _VIEWS.items()},
    _aten.select.int: _selected,
    _prims.clone.default: _kept,
    _aten.view_as_real.default: _as_pairs,
    _aten.view_as_complex.default: _as_numbers,
    _aten.complex.default: _of_real_parts,
    _aten.clone.default: _cloned,
    _aten.slice_scatter.default: _written_part(_aten.slice_scatter.default),
    _aten.select_scatter.default: _written_part(_aten.select_scatter.default),
    _aten.index_put.default: _put,
    _aten.copy.default: _copied,
    _aten.copy_.default: _stored,
    _aten.full.default: _filled,
    _aten.empty.memory_format: _left_empty,
    _aten.empty_permuted.default: _left_empty_in_order,
    _aten._to_copy.default: _cast,
    _prims.convert_element_type.default: _cast,
}
#: Operators that aren't worth taking a graph apart for: views, and what torch does as well.
LEFT_ALONE = frozenset(
    {
        *_VIEWS,
        *_FASTER_WHOLE,
        _aten.copy_.default,
        _aten.diagonal.default,
        _aten.select.int,
        _aten.view_as_complex.default,
        _aten.view_as_real.default,
        _prims.clone.default,
    }
)
