"""Compiled code on arrays, without tensors: calls after the first one, on the inductor backend."""

import copy
import re

import numpy as np
import pytest
import torch
from comparing import assert_same, check
from torch._inductor import lowering

import npaccel
from npaccel._runtime.torch import ndarray_runtime
from npaccel._torch.inductor import ndarray_codegen

OFFSETS = np.arange(5.0)
REVERSED = np.arange(5.0)[::-1]
FIXED = np.arange(5.0)
FIXED.flags.writeable = False


def several(a, b, s):
    c = a * b + s
    return c, c.sum(), {"max": c.max(), "all": [c > 1, a.T]}


def small_and_large(x):
    return np.sin(x), np.exp(x[:, None] * x[None, :]).ravel() * 2


def column_order(m):
    return np.asfortranarray(m * 2), (m + 1).T.copy(order="K")


def same_memory(x):
    y = x * 2
    return y, y[1:], y.reshape(-1, 2).T, y


def with_globals(x):
    return x + OFFSETS - REVERSED * FIXED


def from_numbers(x, n, k):
    return x * n + k, n * 2.5, np.float32(k) + x.sum()


def sorted_by_numpy(x):
    return np.sort(x) * 2, np.argsort(x), np.unique(x)


def of_slices(x, starts):
    return np.add.reduceat(x, starts), x[x > 0.5]


def complex_parts(z):
    return z.real * 2, np.abs(z), z * 1j


def products(m, x):
    return m @ x, x @ m, np.vdot(x, x)


def numbers_alone(x):
    return (x > 0).all(), float(x.sum()), int(x.argmax()), (x > 0).any()


M, X = np.random.default_rng(0).random((6, 6)), np.random.default_rng(1).random(6)
CALLS = {
    "several": (several, (X, X + 1, 2.5)),
    "strided": (several, (np.arange(24.0).reshape(4, 6)[::2, 1::2], np.ones((2, 3)), 1)),
    "reversed": (several, (X[::-1], X, 1)),
    "no dimensions": (several, (np.array(2.0), np.array(3.0), 1)),
    "NumPy's numbers": (several, (np.float64(2), np.array(3.0), np.float64(1))),
    "empty": (small_and_large, (np.zeros(0),)),
    "small": (small_and_large, (X,)),
    "large": (small_and_large, (np.linspace(0, 1, 700),)),
    "columns": (column_order, (np.asfortranarray(M[:4]),)),
    "rows": (column_order, (M[:4],)),
    "shared": (same_memory, (X,)),
    "globals": (with_globals, (np.ones(5),)),
    "numbers": (from_numbers, (X, 3, 2.5)),
    "sorted": (sorted_by_numpy, (np.array([3.0, 1.0, 3.0, 2.0]),)),
    "slices": (of_slices, (X, np.array([0, 2, 5]))),
    "complex": (complex_parts, (X + 1j,)),
    "complex, strided": (complex_parts, ((X + 1j)[::2],)),
    "products": (products, (M, X)),
    "numbers alone": (numbers_alone, (np.arange(6.0),)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_later_calls_are_numpys(name, dynamic):
    function, args = CALLS[name]
    check(function, *args, backend="inductor", dynamic=dynamic, compiled=name != "empty")


def test_results_own_their_memory():
    jitted = npaccel.jit(lambda x: (x * 2, np.exp(x) + 1, x.sum()))
    x = np.arange(10.0)
    for _ in range(2):
        jitted(x)
    doubled, added, _ = jitted(x)
    assert doubled.flags.owndata
    assert doubled.base is None
    assert added.flags.writeable


def smooth(x):
    return 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]


def test_code_after_a_backward_graph():
    """A backward graph is compiled later, and leaves torch's tables as they were."""

    def source():
        jitted = npaccel.jit(smooth, cache=False, compile="now")
        jitted(np.arange(1000.0))
        assert jitted(np.arange(1000.0)).flags.owndata
        return re.sub(r"AOT ID: .*", "", jitted.source())

    before = source()
    fallbacks = len(lowering.fallbacks)
    x = torch.linspace(0.0, 1.0, 5, requires_grad=True)
    npaccel.jit(lambda x: np.sum(np.sin(x) ** 2), cache=False, compile="now")(x).backward()
    torch.testing.assert_close(x.grad, torch.sin(2 * x))
    assert len(lowering.fallbacks) == fallbacks
    assert source() == before


def test_other_sizes_go_the_same_way():
    jitted = npaccel.jit(lambda x, y: (np.hypot(x, y), x[1:] * y[:-1]))
    for n in (4, 9, 9, 30, 30, 700, 9):
        x, y = np.arange(float(n)), np.ones(n)
        got = jitted(x, y)
        assert_same(got, (np.hypot(x, y), x[1:] * y[:-1]), rtol=1e-14)
    assert got[0].flags.owndata
    assert len(jitted.report().graphs) == 2


@pytest.mark.parametrize("size", [1, 2, 5])
def test_reversed_globals_of_any_size(size):
    weights = np.arange(1.0, size + 1)[::-1]
    jitted = npaccel.jit(lambda x: (x[:, None] * weights).sum(), default_float="float64")
    for n in (4, 9, 30):
        assert jitted(np.arange(float(n))) == np.arange(float(n)).sum() * weights.sum()
    assert len(jitted.report().graphs) == 2


class Weighted:
    def __init__(self, weights):
        self.weights = weights

    def times(self, x):
        return x * self.weights


def test_sizes_of_what_is_no_argument_are_looked_at_in_every_call():
    weighted = Weighted(np.ones(4))
    times = npaccel.jit(Weighted.times, default_float="float64")
    for sizes in ((4, 4), (9, 9), (9, 9), (9, 1), (9, 9), (7, 7), (7, 1), (7, 7)):
        x, weighted.weights = np.arange(float(sizes[0])), np.full(sizes[1], 2.0)
        assert_same(times(weighted, x), x * weighted.weights)
    weighted.weights = np.ones(5)
    with pytest.raises(ValueError, match="broadcast"):
        times(weighted, x)


def test_sizes_that_do_not_fit_raise_as_in_numpy():
    def pairs(x, y):
        return x.reshape(-1, 2) * y

    jitted = npaccel.jit(pairs, default_float="float64")
    for n in (4, 10, 20, 20, 10, 4):
        x, y = np.arange(float(n)), np.ones((n // 2, 2))
        assert_same(jitted(x, y), pairs(x, y))
    for x, y in ((np.ones(11), np.ones((5, 2))), (np.ones(10), np.ones((4, 2)))):
        with pytest.raises(ValueError, match="reshape|broadcast"):
            jitted(x, y)
    assert_same(jitted(np.ones(10), np.ones((1, 2))), np.ones((5, 2)))


def test_what_is_written_and_returned():
    def step(a, b):
        a[1:-1] += b[1:-1]
        b *= 2
        return a, b[::2], a.reshape(2, -1)

    jitted = npaccel.jit(step)
    for _ in range(3):
        ours, theirs = (copy.deepcopy((X, X + 1)) for _ in range(2))
        got, wanted = jitted(*ours), step(*theirs)
        assert_same(got, wanted)
        assert_same(ours, theirs)
        assert got[0] is ours[0]
        got[1][0] = got[2][1, 0] = 77
        assert ours[1][0] == ours[0][3] == 77


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_arrays_that_share_memory_are_numpys(shift):
    def add(a, b):
        a += b
        return a.sum()

    jitted = npaccel.jit(add)
    jitted(np.ones(6), np.ones(6))
    jitted(np.ones(6), np.ones(6))
    ours, theirs = np.arange(10.0), np.arange(10.0)
    first, second = slice(2, 8), slice(2 + shift, 8 + shift)
    with pytest.warns(npaccel.errors.PerformanceWarning, match="share memory"):
        got = jitted(ours[first], ours[second])
    assert got == add(theirs[first], theirs[second])
    assert_same(ours, theirs)


def test_views_of_arguments_are_views():
    def views(a):
        return a, a[2:], a.reshape(3, 2), a.T, a * 1

    jitted = npaccel.jit(views)
    for _ in range(3):
        a = np.arange(6.0)
        same, rest, table, turned, copied = jitted(a)
        assert same is a
        a[3] = -1
        assert rest[1] == table[1, 1] == turned[3] == -1
        assert copied[3] == 3


def test_a_memmap(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=(8,))
    mapped[:] = np.arange(8)

    def sort_and_write(x):
        x += 1
        return np.sort(x), x * 2

    jitted = npaccel.jit(sort_and_write)
    for _ in range(3):
        before = np.array(mapped)
        ordered, doubled = jitted(mapped)
        assert type(ordered) is type(doubled) is np.ndarray
        assert_same(np.array(mapped), before + 1)
        assert_same(doubled, (before + 1) * 2)


def test_read_only_arguments():
    jitted = npaccel.jit(lambda x: (x * 2, x[1:]))
    for _ in range(3):
        doubled, rest = jitted(FIXED)
        assert doubled.flags.writeable
        assert not rest.flags.writeable


MODULE = """
cpp_0 = async_compile.cpp_pybinding(['const double*', 'double*'], '')
class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        {}
"""


def rewritten(*lines):
    return ndarray_codegen.on_arrays(MODULE.format("\n        ".join(lines)))


def test_buffers_are_numpys_where_they_are_small_and_in_order():
    text = rewritten(
        "a = empty_strided_cpu((4, 8), (8, 1), torch.float32)",
        "b = empty_strided_cpu((4, 8), (1, 4), torch.float32)",
        "c = empty_strided_cpu((66000,), (1,), torch.float32)",
        "d = empty_strided_cpu((s0, 3, s1), (3*s1, s1, 1), torch.bool)",
        "return (a, b, c, d)",
    )
    assert "a = np_empty((4, 8), np_float32)\n" in text
    assert "b = empty_strided_cpu((4, 8), (1, 4), torch.float32).numpy()" in text
    assert "c = empty_strided_cpu((66000,), (1,), torch.float32).numpy()" in text
    assert "d = np_empty((s0, 3, s1), np_bool) if 3 * s0 * s1 <= 262144 else empty" in text


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.ops.aten.cumsum.default(arg0_1, 0)",
        "extern_kernels.mm(arg0_1, arg1_1, out=x)",
        "x = arg0_1.stride()",
        "x = empty_strided_cpu((4,), (1,), torch.bfloat16)",
        "x = torch.view_as_real(arg0_1)",
        "x = unknown(arg0_1)",
        "with torch.cuda.device(0): pass",
    ],
)
def test_what_needs_tensors_keeps_them(line):
    assert rewritten(line, "return (x,)") == ""


def test_results_are_objects_of_their_own():
    text = rewritten("x = arg0_1", "y = arg1_1.size(0)", "z = y", "return (x, y, z, x)")
    assert "return (again(x), y, again(z), again(x))" in text


@pytest.mark.parametrize("whole", [np.arange(12.0), np.arange(24.0)[::2], np.arange(12) * 1j])
def test_view_of(whole):
    step = whole.strides[0] // whole.itemsize
    view = ndarray_runtime.view_of(whole, (2, 3), (step, 2 * step), 3 * step)
    assert_same(view, whole[3:][np.array([[0, 2, 4], [1, 3, 5]])])
    assert np.shares_memory(view, whole)
    assert view.flags.writeable
    whole.flags.writeable = False
    assert not ndarray_runtime.view_of(whole, (2,), (step,), 0).flags.writeable
    assert ndarray_runtime.view_of(whole, (0, 3), (3, 1), 12).shape == (0, 3)
