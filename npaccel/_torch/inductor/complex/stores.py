"""Store the two parts of complex numbers side by side, in one loop and by whole vectors.

Inductor's loops store one number an iteration: two parts that are computed together would go to
memory in two loops, or in one that computes each of them twice, and number by number, as they don't
follow each other. Here an iteration stores both. Vectors of first and of second parts are two
vectors of pairs. A loop that reads pairs after they were stored takes what was stored, part by
part, and an array that is written as a whole is written by the loop that computes what goes there.

Read from torch/_inductor/{ir,dependencies,scheduler}.py (Pointwise, ComputedBuffer,
MutationLayoutSHOULDREMOVE, _RecordLoadStoreInner) and torch/_inductor/codegen/{common,cpp}.py
(CSEProxy, CppKernel.store, CppVecKernel.store) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._inductor import dependencies, lowering
from torch._inductor.codegen.common import CSEProxy, DeferredLine
from torch._inductor.codegen.cpp import CppKernel, CppVecKernel, cexpr_index
from torch._inductor.ir import (
    BaseView,
    ComputedBuffer,
    MutableBox,
    MutationLayoutSHOULDREMOVE,
    Pointwise,
    StorageBox,
    TensorBox,
    ir_dataclass,
    nop_loader_fn,
)
from torch._inductor.virtualized import V, ops

from npaccel._numpy.host.registration import operator
from npaccel._torch.patching import Patch, patched, registered

_aten = torch.ops.aten

#: Lays two real arrays of one shape side by side, along a new last axis.
pairs_of = operator(
    "pairs_of(Tensor real, Tensor imaginary) -> Tensor",
    lambda real, imaginary: torch.stack([real, imaginary], -1),
    lambda real, imaginary: real.new_empty([*real.shape, 2]),
    (torch.Tag.pt2_compliant_tag,),
    device="CompositeExplicitAutograd",
)
#: Marks of the stores of first and of second parts.
_MODES: tuple[Any, Any] = ("npaccel_first", "npaccel_second")
#: Attribute of a kernel for a pair of which it has met the first part only.
_HELD = "_npaccel_first_part"

_STORE = """[&]() {{
    using Lanes = std::decay_t<decltype({first})>;
    auto* to = {var} + {index};
    {steps}
}}();""".replace("\n", " ")
_STEP = (
    "{{ const auto both = at::vec::interleave2({first}, {second}); "
    "both.first.store(to + {place} * Lanes::size()); "
    "both.second.store(to + {next} * Lanes::size()); }}"
)


def _either(index: Sequence[Any], parts: Sequence[Callable[..., Any]]) -> Any:
    """Compute that part of a pair which the last index says."""
    *place, which = index
    if which in (0, 1):
        return parts[int(which)](place)
    is_first = ops.eq(ops.index_expr(which, torch.int64), ops.constant(0, torch.int64))
    return ops.where(is_first, *(part(place) for part in parts))


@ir_dataclass
class _Pairs(Pointwise):  # type: ignore[misc]
    """A loop over pairs, of which each iteration computes and stores both parts.

    Parameters
    ----------
    inner_fn : callable
        Computes both parts, which is what counts of operations and reads are made from.
    ranges : sequence
        The shape without the axis of the parts, which comes last.
    parts : tuple of callable
        What computes each part from the indices without the last one.
    """

    parts: tuple[Callable[..., Any], Callable[..., Any]]

    def get_size(self) -> Sequence[Any]:
        return [*self.ranges, sympy.Integer(2)]

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        if self.is_zero_elements():  # type: ignore[no-untyped-call]
            return lambda index: nop_loader_fn(index, dtype=self.dtype)

        def load(index: Sequence[Any]) -> Any:
            return _either(index, self.parts)

        return load

    def store_output(self, output_name: str | None, indexer: Any, vars: Any) -> None:  # noqa: A002
        place = vars[: len(self.ranges)]  # Reads and writes are listed over all axes.
        for which, part in enumerate(self.parts):
            value = nop_loader_fn(place, dtype=self.dtype) if self._is_empty() else part(place)
            index = indexer([*place, sympy.Integer(which)])
            ops.store(output_name or "unnamed", index, value, mode=_MODES[which])

    def _is_empty(self) -> bool:
        return bool(self.is_zero_elements())  # type: ignore[no-untyped-call]

    def constant_to_device(self, device: torch.device) -> Any:
        raise NotImplementedError("pairs of constants are of one device")


def _pairs(device: Any, dtype: torch.dtype, ranges: Sequence[Any], *parts: Any) -> TensorBox:
    def both(index: Sequence[Any]) -> Any:
        parts[0](index)
        return parts[1](index)

    made = _Pairs(device=device, dtype=dtype, inner_fn=both, ranges=list(ranges), parts=parts)
    return TensorBox(StorageBox(made))


@contextlib.contextmanager
def stores_of_pairs() -> Iterator[None]:
    """Generate code meanwhile that stores pairs as such."""
    with registered(lowering.lowerings, {pairs_of: _lowered}), patched(PATCHES):
        yield


def _lowered(real: Any, imaginary: Any) -> Any:
    loaders = real.make_loader(), imaginary.make_loader()
    if real.get_device().type != "cpu":
        return Pointwise.create(
            device=real.get_device(),
            dtype=real.get_dtype(),
            inner_fn=lambda index: _either(index, loaders),
            ranges=[*real.get_size(), sympy.Integer(2)],
        )
    made = _pairs(real.get_device(), real.get_dtype(), real.get_size(), *loaders)
    if any(user.target is not _aten.copy_.default for user in V.graph.current_node.users):
        made.realize()  # Who takes all numbers in one row would compute both parts for each.
    return made


def _in_order(original: Any) -> Any:
    """Order stores so that both parts of a pair lie side by side, whatever the loops prefer."""

    def get_fill_order(self: Any) -> Any:
        return None if isinstance(self.data, _Pairs) else original(self)

    return get_fill_order


def _written_as_pairs(original: Any) -> Any:
    """Copy pairs pair by pair, as the loop does that computes them."""

    def realize_into(cls: Any, src: Any, dst: Any, unsafe_alias: bool = False) -> Any:
        box = src.data if isinstance(src, TensorBox) else src
        data = box.data if isinstance(box, MutableBox | BaseView) else None
        data = data.data if isinstance(data, ComputedBuffer) else data
        if isinstance(data, _Pairs) and not unsafe_alias:
            dst.realize()
            V.graph.mark_buffer_mutated(dst.get_name())  # What reads it before is stored now.
            load = box.make_loader()

            def part(which: int) -> Callable[[Sequence[Any]], Any]:
                return lambda place: load([*place, sympy.Integer(which)])

            size = dst.get_size()
            src = _pairs(box.get_device(), box.get_dtype(), size[:-1], part(0), part(1))
            unsafe_alias = True
        return original(cls, src, dst, unsafe_alias)

    return realize_into


def _recorded(original: Any) -> Any:
    """Record a part's store, which the scheduler takes for one like any other."""

    def store(self: Any, name: str, index: Any, value: Any, mode: Any = None) -> Any:
        return original(self, name, index, value, None if mode in _MODES else mode)

    return store


# -- What was stored is what is loaded -----------------------------------------------


def part_of(index: Any) -> int:
    """Return which part of a pair lies at an index, all other terms of which are even."""
    constant, terms = sympy.expand(index).as_coeff_Add()
    if any((term / 2).is_integer is not True for term in terms.as_ordered_terms()):
        raise NotImplementedError(f"the parts of pairs aren't told apart by {index}")
    return int(constant % 2)


def _key(name: str, which: int) -> str:
    return f"{name}.{_MODES[which]}"


def _remembering(original: Any) -> Any:
    def store(self: Any, name: str, index: Any, value: Any, mode: Any = None) -> Any:
        if mode not in _MODES:
            return original(self, name, index, value, mode)
        kernel = self.kernel
        kernel.store_buffer_names.add(name)
        names = [name]
        if kernel.current_node and name in V.graph.name_to_buffer:
            names += kernel.current_node.get_output(name).get_mutations()
        for one in names:
            kernel.cse.store_cache[_key(one, _MODES.index(mode))] = value
        if name not in V.graph.removed_buffers:
            kernel.store(name, index, value, mode=mode)
            kernel.num_store += 1
        return None

    return store


def _recalling(original: Any) -> Any:
    def load(self: Any, name: str, index: Any) -> Any:
        cse = self.kernel.cse
        if _key(name, 1) in cse.invalidated_stores:
            V.kernel.must_keep_buffers.add(name)
        if _key(name, 1) in cse.store_cache:
            return cse.store_cache[_key(name, part_of(index))]
        return original(self, name, index)

    return load


# -- Generated code --------------------------------------------------------------------


def _storing_numbers(original: Any) -> Any:
    def store(self: Any, name: str, index: Any, value: Any, mode: Any = None) -> Any:
        return original(self, name, index, value, None if mode in _MODES else mode)

    return store


def _storing_vectors(original: Any) -> Any:
    def store(self: Any, name: str, index: Any, value: Any, mode: Any = None) -> Any:
        if mode not in _MODES:
            return original(self, name, index, value, mode)
        if mode == _MODES[0]:
            setattr(self, _HELD, (name, index, value))
            return None
        held, place, first = getattr(self, _HELD)
        assert held == name, "two parts of one pair are stored one after the other"
        start = self.rename_indexing(place)
        stride = self._try_get_const_stride(start, self.itervars[self.tiling_idx])
        dtype = V.graph.get_dtype(name)
        is_vector = stride == 2 and not self.tail_size and dtype in (torch.float64, torch.float32)
        if not is_vector or self.rename_indexing(index) - start != 1:
            original(self, name, place, first)
            return original(self, name, index, value)
        first, second = (one if one.is_vec else self.broadcast(one) for one in (first, value))
        count = self._get_num_vectors(dtype)
        each = [f"[{i}]" if count > 1 else "" for i in range(count)]
        steps = (
            _STEP.format(first=f"{first}{at}", second=f"{second}{at}", place=2 * i, next=2 * i + 1)
            for i, at in enumerate(each)
        )
        line = _STORE.format(
            first=f"{first}{each[0]}",
            var=self.args.output(name),
            index=cexpr_index(start),  # type: ignore[no-untyped-call]
            steps=" ".join(steps),
        )
        self.stores.writeline(DeferredLine(name, line))
        return None

    return store


_WHY = "Inductor stores the parts of complex numbers in two loops, number by number"
_TEST = "tests/torch_layer/inductor/test_pair_stores.py"

PATCHES = (
    Patch(ComputedBuffer, "get_fill_order", _in_order, _WHY, _TEST),
    Patch(MutationLayoutSHOULDREMOVE, "realize_into", _written_as_pairs, _WHY, _TEST),
    Patch(dependencies._RecordLoadStoreInner, "store", _recorded, _WHY, _TEST),
    Patch(CSEProxy, "store", _remembering, _WHY, _TEST),
    Patch(CSEProxy, "load", _recalling, _WHY, _TEST),
    Patch(CppKernel, "store", _storing_numbers, _WHY, _TEST),
    Patch(CppVecKernel, "store", _storing_vectors, _WHY, _TEST),
)

__all__ = ["pairs_of", "part_of", "stores_of_pairs"]
