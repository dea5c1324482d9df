"""Continue where Inductor raises for nothing.

* `False != (r < 0)`, which is in the floor division of a constant: SymPy's truth values have no
  order.
* `where(isnan(x) & (y == 0), ...)` of constants: what isn't known to be a truth value counts as an
  integer.
* The least of 0 and a size that depends on the data, or what is left of such a size, in a part of a
  part of an array: it can't be proved not to be negative, though no size is.
* `max(0, i - 1)` of a loop's variable in an index, as in the edges of a padded array: only
  symbols that are sizes have a range there.
* The least and the largest of truth values, or of an index that SymPy isn't to simplify: it can't
  compare them.
* A write to a part of unsigned integers that were computed as signed ones: which element of the one
  is which of the other isn't said.

Read from torch/utils/_sympy/value_ranges.py (SymPyValueRangeAnalysis.eq, where, min_or_max),
torch/_inductor/ir.py (View.handle_negative_index, DtypeView), torch/_inductor/index_propagation.py
(SymPyOps.minimum, maximum), torch/_inductor/sizevars.py (_simplify_with_ranges) and
torch/fx/experimental/symbolic_shapes.py (ShapeEnv.simplify) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch._inductor.index_propagation import SymPyOps
from torch._inductor.ir import BaseView, DtypeView, View
from torch._inductor.sizevars import SizeVarAllocator
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import Max, Min
from torch.utils._sympy.value_ranges import SymPyValueRangeAnalysis, ValueRanges

from npaccel._torch.patching import Patch, patched

_EITHER: Any = ValueRanges(sympy.false, sympy.true)
#: SymPy's and torch's; 2.12 has some of SymPy's.
_LEAST, _GREATEST = (Min, sympy.Min), (Max, sympy.Max)


@contextlib.contextmanager
def no_needless_errors() -> Iterator[None]:
    """Leave what can't be decided as it is, in graphs that are lowered meanwhile."""
    with patched(PATCHES):
        yield


def _equal(original: Any) -> Any:
    def eq(*args: Any) -> Any:  # A class method from 2.14 on.
        a, b = map(ValueRanges.wrap, args[-2:])
        if not (a.is_bool and b.is_bool):
            return original(*args)
        if not (a.is_singleton() and b.is_singleton()):
            return _EITHER
        return ValueRanges.wrap(sympy.true if a.lower == b.lower else sympy.false)

    return eq


def _chosen(original: Any) -> Any:
    def where(condition: Any, one: Any, other: Any) -> Any:
        condition = ValueRanges.wrap(condition)
        known = condition if condition.is_bool else _EITHER
        return original(known, one, other)

    return where


def _extreme(original: Any) -> Any:
    def min_or_max(a: Any, b: Any, function: Any) -> Any:
        is_bool = ValueRanges.wrap(a).is_bool or ValueRanges.wrap(b).is_bool
        return _EITHER if is_bool else original(a, b, function)

    return min_or_max


def _from_the_front(original: Any) -> Any:
    def handle_negative_index(index: Any, size: Any) -> Any:
        if _is_natural(index, size):
            return sympy.expand(index)
        return original(index, size)

    return handle_negative_index


def _is_natural(index: Any, size: Any) -> bool:
    """Whether an index can't be negative, whatever the size of the array is."""
    index = sympy.sympify(index)
    if isinstance(index, (*_LEAST, *_GREATEST)):
        quantified = all if isinstance(index, _LEAST) else any
        return quantified(_is_natural(part, size) for part in index.args)
    if index == size or index.is_nonnegative:
        return True
    if isinstance(index, sympy.Add):  # u - min(4, u)
        least = [-term for term in index.args if isinstance(-term, _LEAST)]
        return len(least) == 1 and index + least[0] in least[0].args
    if free_unbacked_symbols(index):
        return False
    # A number of the caller's: later calls are guarded to agree.
    return not V.graph.sizevars.shape_env.evaluate_expr(sympy.Lt(index, 0))


def _simplified(original: Any) -> Any:
    def simplify(self: Any, index: Any, ranges: Mapping[Any, Any]) -> Any:
        if any(
            not atom.free_symbols.isdisjoint(ranges)
            for atom in sympy.sympify(index).atoms(*_GREATEST)
        ):
            return index
        return original(self, index, ranges)

    return simplify


def _compared(original: Any) -> Any:
    def extreme(one: Any, other: Any) -> Any:
        try:
            return original(one, other)
        except ValueError:  # "is not comparable"; the code then compares what is computed.
            return NotImplemented

    return extreme


def _reindexed(original: Any) -> Any:
    def make_reindexer(self: Any) -> Any:
        return _same if isinstance(self, DtypeView) else original(self)

    return make_reindexer


def _same(index: Sequence[Any]) -> Sequence[Any]:
    return index


_UNDECIDED = "SymPy can't compare truth values, nor what isn't known to be one"
_NEGATIVE = "a size that the data give can't be proved not to be negative"
_UNSAID = "Inductor doesn't say which element is which where it reads as another dtype"
_TEST = "tests/torch_layer/inductor/test_needless_errors.py"

PATCHES = (
    Patch(SymPyValueRangeAnalysis, "eq", _equal, _UNDECIDED, _TEST),
    Patch(SymPyValueRangeAnalysis, "where", _chosen, _UNDECIDED, _TEST),
    Patch(SymPyValueRangeAnalysis, "min_or_max", _extreme, _UNDECIDED, _TEST),
    Patch(View, "handle_negative_index", _from_the_front, _NEGATIVE, _TEST),
    Patch(SizeVarAllocator, "_simplify_with_ranges", _simplified, _NEGATIVE, _TEST),
    Patch(BaseView, "make_reindexer", _reindexed, _UNSAID, _TEST),
    Patch(SymPyOps, "minimum", _compared, _UNDECIDED, _TEST),
    Patch(SymPyOps, "maximum", _compared, _UNDECIDED, _TEST),
)

__all__ = ["no_needless_errors"]
