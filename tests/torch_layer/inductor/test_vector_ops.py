"""What kernels compute by vectors instead of element by element: NumPy's values, lane by lane."""

import re
import warnings

import numpy as np
import pytest
from torch._inductor.cpu_vec_isa import InvalidVecISA, VecAVX512, pick_vec_isa

import npaccel
from npaccel._torch.inductor.cpp.vector_ops import fast_vector_operations
from npaccel._torch.inductor.kernels import reduceat as slice_folds

pytestmark = pytest.mark.sampled

SPECIAL = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, -1e-40, 3e38]


def floats(dtype, size):
    with np.errstate(all="ignore"):
        return np.resize(np.array(SPECIAL).astype(dtype), size)


def told_apart(x, y):
    both = (x > y) & (x < 2) | np.isnan(y)
    return (
        *(f(x) for f in (np.isnan, np.isinf, np.isfinite, np.signbit, np.isneginf, np.isposinf)),
        np.where(both, x, y),
        np.where(both, 1, 2),
        np.fmax(x, y),
        *np.frexp(x),
        np.any(x > 2),
        np.nanmax(x),
        np.nanmin(x),
        np.count_nonzero(both),
    )


def mixed_widths(x, y, narrow, wide, flags):
    """Masks of lanes of one width choose among lanes of another."""
    return (
        np.where(x > y, narrow, narrow + 1),
        np.where((narrow > 1) & (x > y) & flags, x, y),
        np.where(flags | (narrow > wide), wide, -wide),
        narrow * y,
        wide * y,
        wide / 3,
        np.sqrt(wide & 1023),
        np.bitwise_count(wide),
        np.abs(wide),
        np.abs(narrow - 2) + np.abs(np.where(flags, np.int32(-(2**31)), narrow)),
        wide.astype(np.uint8),
        (wide + narrow).astype(np.uint8) + 1,
    )


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floats_are_told_apart_as_numpy_does(dtype):
    fn = npaccel.jit(told_apart, default_float="float64", strict=True)
    for size in (3, 16, 45):
        x, y = floats(dtype, size), floats(dtype, size)[::-1].copy()
        for found, expected in zip(fn(x, y), told_apart(x, y), strict=True):
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_masks_fit_lanes_of_every_width(dtype):
    fn = npaccel.jit(mixed_widths, default_float="float64", strict=True)
    for size in (5, 32, 77):
        rng = np.random.default_rng(size)
        x, y = rng.normal(size=(2, size)).astype(dtype)
        narrow, wide = rng.integers(-3, 4, size, dtype="i4"), rng.integers(-(2**60), 2**60, size)
        wide[:3] = 2**53 + 1, -(2**63), 2**63 - 1
        args = x, y, narrow, wide, rng.random(size) > 0.5
        for found, expected in zip(fn(*args), mixed_widths(*args), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def of_bytes(small, narrow, x, flags):
    """Masks of bytes with masks of other widths, and masks that become bytes."""
    odd, high = (small & 1) == 1, small > 2
    return (
        (odd | (high & (small == 3))).astype(small.dtype),
        np.where(odd, x, -x),
        np.where(high & flags, narrow, 7),
        np.where(x > narrow, small, small + 1),
        (x > narrow).astype(np.uint8) + high.astype(np.int8),
        odd & (x > 0),
        odd.astype(np.int64) + high,
    )


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("width", ["float64", "float32"])
def test_masks_of_bytes(dtype, width):
    fn = npaccel.jit(of_bytes, default_float="float64", strict=True)
    for size in (1, 5, 16, 32, 77, 300):
        rng = np.random.default_rng(size)
        small = rng.integers(0, 5, size).astype(dtype)
        narrow = rng.integers(-3, 4, size, dtype="i4")
        args = small, narrow, rng.normal(size=size).astype(width), rng.random(size) > 0.5
        for found, expected in zip(fn(*args), of_bytes(*args), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


#: Of which squares overflow, vanish, or are no numbers.
UNUSUAL = (0.0, -0.0, 5e-324, 1e-310, 3e-160, 3e-138, 1e154, -7e153, 1e200, 1.7e308)


@pytest.mark.inductor
def test_hypotenuses_are_the_librarys():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5001)) * 10 ** rng.uniform(-9, 9, (2, 5001))
    numbers = [*UNUSUAL, 3.0, -4.0, np.inf, -np.inf, np.nan]
    rare = [np.ravel(part) for part in np.meshgrid(numbers, numbers)]
    rows = [np.repeat(part, 16) for part in rare]  # whole vectors of them
    x, y = (np.concatenate(parts) for parts in zip((x, y), rare, rows, strict=True))
    compiled = npaccel.jit(lambda x, y: np.hypot(x, y), backend="inductor", cache=False)
    with np.errstate(all="ignore"):
        np.testing.assert_array_max_ulp(compiled(x, y), np.hypot(x, y), 1)


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_the_greatest_and_least_of_all_find_nan_and_infinity_anywhere(dtype):
    def extremes(x, m):
        return np.max(x), np.min(x), np.max(m, axis=1), np.min(m, axis=0)

    fn = npaccel.jit(extremes, default_float="float64", strict=True)
    drawn = np.random.default_rng(0).integers(-99, 99, 40_003).astype(dtype)
    specials = (np.nan, np.inf, -np.inf) if dtype != "int64" else (2**63 - 1, -(2**63))
    for special in specials:
        for place in (0, 1, 17, 20_001, 39_999, 40_002):
            x = drawn.copy()
            x[place] = special
            m = x[:40_000].reshape(200, 200)
            for found, expected in zip(fn(x, m), extremes(x, m), strict=True):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_without_nan_are_one_fold(dtype):
    def extremes(x):
        along = np.nanmax(x, axis=1), np.nanmin(x, axis=0, keepdims=True), np.fmax.reduce(x, axis=0)
        return (np.nanmax(x), np.fmin.reduce(x, axis=None), np.nanmin(x + 1), *along)

    fn = npaccel.jit(extremes, default_float="float64", strict=True)
    for shape in ((1, 1), (2, 5), (300, 77)):
        x = np.random.default_rng(0).normal(size=shape).astype(dtype)
        for special in (0.0, np.nan, np.inf, -np.inf):
            for part in (np.s_[:1, :1], np.s_[::2], np.s_[:, ::2], np.s_[:]):
                some = x.copy()
                some[-1, -1] = np.nan
                some[part] = special
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = extremes(some)
                for found, value in zip(fn(some), expected, strict=True):
                    assert np.asarray(found).dtype == np.asarray(value).dtype
                    np.testing.assert_array_equal(found, value)
    # Places of NaN aren't folded beside the numbers.
    assert not re.search(r"VecMask<[^<>]*> tmp_acc", fn.source())


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_bits_are_folded_by_kernels(dtype):
    def folded(x):
        every = [ufunc.reduce(x, axis=None) for ufunc in (np.bitwise_and, np.bitwise_or)]
        return (*every, np.bitwise_xor.reduce(x, axis=0), np.bitwise_and.reduce(x, axis=1))

    fn = npaccel.jit(folded, strict=True)
    for shape in ((2, 5), (300, 77)):
        x = np.random.default_rng(0).integers(0, 2**62, shape).astype(dtype)
        for given in (x, x | ~np.ones((), dtype)):
            for found, expected in zip(fn(given), folded(given), strict=True):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
    assert ("host_kernels." in fn.source()) == (dtype == "uint8")  # narrow ones are NumPy's


def slices_folded(x, starts):
    return (
        *(np.add.reduceat(x, starts), np.subtract.reduceat(x, starts)),
        *(np.bitwise_and.reduceat(x, starts), np.bitwise_or.reduceat(x, starts)),
        *(np.bitwise_xor.reduceat(x, starts), np.fmax.reduceat(x, starts)),
        *(np.maximum.reduceat(x, starts), np.minimum.reduceat(x, starts)),
    )


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_slices_of_integers_are_folded_by_kernels(dtype):
    fn = npaccel.jit(slices_folded, strict=True)
    for size, count in ((7, 3), (40_003, 99)):
        rng = np.random.default_rng(size)
        x = rng.integers(-(2**62), 2**62, size).astype(dtype)
        starts = rng.integers(0, size, count)  # some slices have one element
        for given in (starts, np.sort(starts)):
            expected = slices_folded(x, given)
            for found, value in zip(fn(x, given), expected, strict=True):
                assert found.dtype == value.dtype
                np.testing.assert_array_equal(found, value)
    assert "_outside.item()" in fn.source()
    for wrong in (size, -1):
        starts[1] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} out-of-bounds in add.reduceat"):
            fn(x, starts)


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_slices_of_floats_are_folded_by_kernels(dtype):
    def slices_folded(x, starts):
        extremes = np.maximum.reduceat(x, starts), np.minimum.reduceat(x, starts)
        return np.add.reduceat(x, starts), *extremes

    fn = npaccel.jit(slices_folded, strict=True)
    for size, count in ((7, 3), (40_003, 99), (1_000_003, 2)):
        rng = np.random.default_rng(size)
        x = rng.random(size).astype(dtype)
        starts = rng.integers(0, size, count)
        for given in (starts, np.sort(starts)):
            sums, *extremes = slices_folded(x, given)
            found, *others = fn(x, given)
            np.testing.assert_allclose(found, sums, rtol=8 * np.finfo(dtype).eps, strict=True)
            np.testing.assert_array_equal(others, extremes, strict=True)
        x[[size // 3, size // 2, -1]] = np.nan, -np.inf, np.nan
        for one, other in zip(fn(x, starts), slices_folded(x, starts), strict=True):
            np.testing.assert_allclose(one, other, rtol=8 * np.finfo(dtype).eps)
    zeros = fn(np.full(33, -0.0, dtype), np.array([0, 30]))
    assert all(np.signbit(found).all() for found in zeros)
    assert "_outside.item()" in fn.source()


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_extremes_of_rows_are_found_by_kernels(dtype):
    def found(x):
        return np.argmax(x, 1), np.argmin(x, axis=-1), np.argmax(x + 1, axis=1, keepdims=True)

    fn = npaccel.jit(found, default_float="float64", strict=True)
    for shape in ((3, 300), (200, 401)):
        x = np.random.default_rng(0).integers(-500, 500, shape).astype(dtype)  # Some are the same.
        x[1], x[2, ::7] = 7, -501
        if x.dtype.kind == "f":
            x[0, [130, 260]], x[-1, [5, 9]] = np.nan, (-np.inf, np.inf)
        for one, other in zip(fn(x), found(x), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
    zeros = np.array([[0.0, -0.0] * 150, [-0.0, 0.0] * 150]).astype(dtype)
    for one, other in zip(fn(zeros), found(zeros), strict=True):
        np.testing.assert_array_equal(one, other)
    assert "extreme_position(" not in fn.source()


@pytest.mark.inductor
def test_numpys_kernels_are_called_where_there_are_no_vectors(monkeypatch):
    """The header of kernels doesn't have them then."""

    def folded(x, starts):
        return np.argmax(x, 1), np.maximum.reduceat(x[0], starts)

    monkeypatch.setattr(slice_folds, "pick_vec_isa", InvalidVecISA)
    fn = npaccel.jit(folded, default_float="float64", strict=True, cache=False)
    x, starts = np.random.default_rng(0).random((3, 300)), np.array([0, 7])
    for one, other in zip(fn(x, starts), folded(x, starts), strict=True):
        np.testing.assert_array_equal(one, other)
    source = fn.source()
    assert "host_kernels.extreme_position(" in source
    assert "host_kernels.ufunc_reduceat(" in source


@pytest.mark.inductor
def test_positions_are_counted_by_vectors():
    def counted(x):
        return np.eye(33, k=2) + x, np.tri(21, dtype=np.int32), np.arange(5, 905, 9), x[::-1] * 2

    fn, x = npaccel.jit(counted, default_float="float64", strict=True), np.arange(33.0)
    for found, expected in zip(fn(x), counted(x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert "::arange(static_cast<int64_t>(0), 1)" in fn.source()


@pytest.mark.inductor
@pytest.mark.skipif(not isinstance(pick_vec_isa(), VecAVX512), reason="casts masks with AVX512")
def test_masks_of_one_width_are_combined_as_they_are():
    def chosen(x, y, narrow):
        mask = (x > 0) & (y > 0) | (x < -1) & (narrow > 1)
        return np.where(mask ^ (y == x), x, y), mask, np.any(mask), np.count_nonzero(mask)

    fn = npaccel.jit(chosen, default_float="float64", strict=True)
    x, y = np.random.default_rng(0).normal(size=(2, 77))
    args = x, y, np.arange(77, dtype="i4") % 4
    for found, expected in zip(fn(*args), chosen(*args), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "std::is_same_v<decltype(x), decltype(other)>" in fn.source()


def test_inductor_is_left_as_it_was():
    from torch._inductor.codegen.cpp import CppVecKernel, CppVecOverrides

    names = ("abs", "isnan", "isinf", "signbit", "to_dtype_bitcast")
    kernel_names = (
        "get_to_dtype_expr",
        "_get_mask_cast",
        "_get_vec_load_line",
        "reduction_combine_vec",
    )

    def state():
        return [vars(CppVecOverrides)[name] for name in names] + [
            vars(CppVecKernel)[name] for name in kernel_names
        ]

    before = state()
    with fast_vector_operations():
        assert state()[0] is not before[0]
    assert state() == before
