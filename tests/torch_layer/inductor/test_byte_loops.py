"""Loops over bytes: vectors of g++'s own, with NumPy's values."""

import numpy as np
import pytest
from comparing import assert_same
from torch._inductor import cpp_builder
from torch._inductor.codegen import cpp

import npaccel
from npaccel._torch.inductor.cpp.byte_loops import vectorized_by_gcc


def elementwise(a, b, flags):
    return (
        a + b * 3 - 1,
        (a == 3) | ((a == 2) & (b == 1)),
        (a > b).astype(a.dtype),
        np.where(a > 100, b, a // 2),
        np.minimum(np.maximum(a, 3), b) ^ (a >> 1) | (b << 2),
        ~flags & (a < b),
        abs(a),
        -a,
        a.astype(bool) | flags,
    )


def reductions(a, b, flags):
    return (
        *(np.array_equal(a, b), np.array_equal(a, a), np.any(a > b), np.all(a >= 0), flags.any()),
        *(flags.all(), np.any(a > 100, axis=0), np.any(a > 100, axis=1), np.all(flags, axis=-1)),
        *(a.sum(), a.max(), b.min(), a.argmax(), np.count_nonzero(a > b)),
        (a > b).any() | (a == b).all(),
    )


def with_other_widths(a, b, flags):
    wide = a.astype(np.float64) * 0.5 + b
    return wide, np.where(a > b, wide, 0), wide > 3, (a > 3) & (b < 50), wide.sum() + a.sum()


def strided(a, b, flags):
    out = np.zeros_like(a)
    out[1:, ::2] = a[:-1, ::2] + 1
    out[0] = b[-1]
    a[:, 1:] = a[:, :-1] + b[:, 1:]
    return out, a.T + a.T, a[::-1] + b[:, ::-1]


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("function", [elementwise, reductions, with_other_widths, strided])
def test_as_in_numpy(function, dtype):
    jitted = npaccel.jit(function, default_float="float64", strict=True)
    for shape in ((3, 5), (40, 33), (700, 600)):
        rng = np.random.default_rng(shape[1])
        info = np.iinfo(dtype)
        a, b = rng.integers(info.min, info.max + 1, (2, *shape)).astype(dtype)
        theirs = a.copy()
        flags = rng.random(shape) > 0.5
        with np.errstate(all="ignore"):
            wanted = function(theirs, b, flags)
        assert_same(jitted(a, b, flags), wanted)
        np.testing.assert_array_equal(a, theirs)


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.skipif(not cpp_builder.is_gcc(), reason="other compilers vectorize by themselves")
def test_bytes_are_left_to_the_compiler():
    a = np.arange(64, dtype=np.uint8)

    def of_bytes(a):
        return a + a, (a > 3).any()

    def of_floats(a):
        return a + a, (a > 3).any()

    found = [npaccel.jit(of_bytes), npaccel.jit(of_floats, default_float="float64")]
    assert_same(found[0](a), of_bytes(a))
    assert_same(found[1](a.astype(float)), of_floats(a.astype(float)))
    assert "tree-loop-vectorize" in found[0].source()
    assert "loadu(" not in found[0].source()
    assert "tree-loop-vectorize" not in found[1].source()
    assert "loadu(" in found[1].source()


def test_inductor_is_left_as_it_was():
    def state():
        owners = (cpp.TilingSelect, cpp.CppKernelProxy, cpp.CppKernel, cpp.KernelGroup)
        methods = [dict(vars(owner)) for owner in owners]
        return methods, cpp.reduction_acc_type, cpp.reduction_combine

    before = state()
    with vectorized_by_gcc():
        assert (state() == before) is not cpp_builder.is_gcc()
    assert state() == before
