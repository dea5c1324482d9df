"""Where Inductor raised for nothing, and NumPy ran the function."""

import numpy as np
import pytest

import npaccel

pytestmark = pytest.mark.inductor

VALUES = np.linspace(-1, 3, 12)


def divided_constant(a):
    v = np.empty((1, 12))
    v[:] = 1e-3
    v = np.where(v > 0, v * 100.0, v)
    v[None] //= 3
    return v + a


def part_of_a_part(a):
    found = a[a > 0]
    return found[4:][:4], found[2:][:20][1:-1], found[:3][:100], found[30:][:2]


def part_with_a_new_axis(a):
    return a[a > 0][..., None, 4:][9:, :4]


def part_from_the_size_on(a):
    found, n = a[a > 0], a.size // 4
    return found[n:][:n], found[..., None, n:][9:, :n], found[n:][1:n] * 2


def padded_twice(a):
    edges = np.pad(np.repeat(a != 0, 2), 1, mode="edge")
    return np.vstack([edges, edges]), np.hstack([np.pad(a, 2, mode="edge"), a])


def between(a):
    place = a.sum()
    return np.interp(place, a, a * 2), np.interp(place / 100, [0, 1, 3], [1, 5, -2])


def between_constants(a):
    places = np.array([-3, True, 2.5])
    late, none = np.arange(a.size) > 4, np.full(a.size, 1.0) > 3
    extremes = np.maximum(none, late) + a, np.minimum(late, ~none) * a
    return np.interp(places, [0, 1, 3], [1, 5, -2]), *extremes


def unsigned(a):
    found = []
    for dtype in (np.uint16, np.uint32, np.uint64):
        inverted = ~np.arange(a.size).astype(dtype)
        inverted[2:-2:3] = 100
        inverted[5:] += 7
        found += [np.pad(inverted, (0, 2)), inverted[::2] // 3]
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        divided_constant,
        part_of_a_part,
        part_with_a_new_axis,
        part_from_the_size_on,
        padded_twice,
        between,
        between_constants,
        unsigned,
    ],
)
def test_compiles_to_what_numpy_gives(function, dynamic):
    jitted = npaccel.jit(
        function, default_float="float64", cache=False, strict=True, dynamic=dynamic
    )
    for a in (VALUES, np.abs(VALUES), -np.abs(VALUES)):
        found, wanted = jitted(a), function(a)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_parts_of_what_is_short(size):
    jitted = npaccel.jit(part_of_a_part, cache=False, strict=True)
    a = np.arange(1.0, 1 + size)
    for one, other in zip(jitted(a), part_of_a_part(a), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_sympy_cannot_compare_is_left_to_the_code():
    import sympy
    import torch
    from torch._inductor.index_propagation import SymPyOps, TypedExpr

    from npaccel._torch.inductor.relaxed_errors import no_needless_errors

    truth, place = (TypedExpr(x, torch.int64) for x in (sympy.false, sympy.Symbol("i")))
    with no_needless_errors():
        for extreme in (SymPyOps.minimum, SymPyOps.maximum):
            assert extreme(truth, place) is NotImplemented
            assert extreme(place, TypedExpr(sympy.Integer(3), torch.int64)).expr.has(place.expr)


def test_inductor_is_left_as_it_was():
    from torch._inductor.ir import BaseView, View
    from torch._inductor.sizevars import SizeVarAllocator
    from torch.utils._sympy.value_ranges import SymPyValueRangeAnalysis

    from npaccel._torch.inductor.relaxed_errors import no_needless_errors

    def state():
        return [
            vars(SymPyValueRangeAnalysis)["eq"],
            vars(SymPyValueRangeAnalysis)["where"],
            vars(BaseView)["make_reindexer"],
            vars(View)["handle_negative_index"],
            vars(SizeVarAllocator)["_simplify_with_ranges"],
        ]

    before = state()
    with no_needless_errors():
        assert not set(state()) & set(before)
    assert state() == before
