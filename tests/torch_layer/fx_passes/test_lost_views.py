"""Writes through views that compiled code has as copies reach the array all the same."""

import warnings

import numpy as np
import pytest
from comparing import assert_same, check

import npaccel
from npaccel import errors


def writes_to_the_view(x):
    y = x[::-1]
    y[0] = 9
    return x * 1


def writes_to_the_array(x):
    y = np.flip(x)
    x[0] = 9
    return y + 0


def writes_through_a_view_of_the_view(x):
    y = x[:, ::-1]
    z = y[1:]
    z += 5
    return y


def masked(x):
    x = x[::-1]
    x[x > 1] /= 7
    return x


def after_a_break(x):
    t = float(x.sum())
    print()
    y = x[::-1]
    y += t
    return x * 2


def shuffled(x):
    y = x[::-1]
    np.random.default_rng(0).shuffle(x)
    return y * 2


def written_by_place(x):
    y = x[0, ::-1]
    np.sum(x, 0, None, x[0])
    return y * 2


def flat_of_a_transpose(x):
    y = x.T
    y.flat[1] = 9
    return x + 1


def element_by_a_numpy_scalar(x):
    row = x[np.int64(x.sum()) % 3]
    x[...] = 5
    return row * 1


@pytest.mark.parametrize(
    "function",
    [
        flat_of_a_transpose,
        element_by_a_numpy_scalar,
        writes_to_the_view,
        writes_to_the_array,
        writes_through_a_view_of_the_view,
        masked,
        after_a_break,
        *(shuffled, written_by_place),
    ],
)
def test_what_a_copy_would_lose_runs_in_numpy(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for n in (3, 3, 4, 5):
            got, wanted = (np.arange(3.0 * n).reshape(n, 3) for _ in range(2))
            assert_same(jitted(got), function(wanted))
            assert_same(got, wanted)
    fallbacks = jitted.report().fallbacks
    assert any("reversed view" in one.reason for one in fallbacks)
    assert all(one.file == __file__ for one in fallbacks)


def reverses_in_place(x):
    x[:] = x[::-1]
    return x[::-1] + x


def adds_in_place(x):
    x[::-1] += np.arange(4.0)
    return x * 2


def copies(x):
    y = x[::-1].copy()
    y[0] = 3
    x += 1
    return y


@pytest.mark.parametrize("function", [reverses_in_place, adds_in_place, copies])
def test_what_a_copy_keeps_is_compiled(function, backend):
    check(function, np.arange(4.0), backend=backend)


def test_arguments_with_negative_strides_are_written_in_every_size():
    def f(x):
        x[0] = 1
        return x.sum()

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for n in (3, 4, 5, 6):
        got, wanted = np.full(n, 2.0), np.full(n, 2.0)
        assert_same(jitted(got[::-1]), f(wanted[::-1]))
        assert_same(got, wanted)


def test_a_scalar_cast_is_a_scalar(backend):
    check(lambda x: x[1].astype(np.float32), np.arange(3.0), backend=backend)


def fills_first(a, b):
    a.fill(5)
    return b + 1


def fills_second(a, b):
    b[0] = 7
    return a * 2


@pytest.mark.parametrize("function", [fills_first, fills_second])
@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[1:]])
def test_a_view_and_its_array_as_arguments(function, view, backend):
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for _ in range(2):
            got, wanted = (np.arange(12.0).reshape(4, 3) for _ in range(2))
            assert_same(jitted(view(got), got), function(view(wanted), wanted))
            assert_same(got, wanted)
    assert any("share memory" in one.reason for one in jitted.report().fallbacks)


def test_a_view_of_narrowed_arguments():
    jitted = npaccel.jit(fills_first, narrow_inputs=True, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for _ in range(2):
            got, wanted = np.arange(8.0), np.arange(8.0)
            assert_same(jitted(got[1:], got), fills_first(wanted[1:], wanted))
            assert_same(got, wanted)


def reshapes(x):
    y = x.reshape(-1)
    y[::2] = 1
    return x * 2


def ravels(x):
    y = x.ravel()
    x /= 2
    return y


def test_reshaping_an_argument_that_is_written():
    for function in (reshapes, ravels):
        jitted = npaccel.jit(function, backend="eager", default_float="float64")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            for view in (lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x, lambda x: x[:, ::2]):
                got, wanted = (np.arange(12.0).reshape(3, 4) for _ in range(2))
                assert_same(jitted(view(got)), function(view(wanted)))
                assert_same(got, wanted)


def test_reshaping_a_reversed_array_that_is_written():
    def f(x):
        y = np.sort(x)[::-1]
        flat = y.reshape(-1)
        y[1:] -= 3
        return flat

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for shape in ((3, 2), (4,), (3, 1)):
            x = np.arange(float(np.prod(shape))).reshape(shape)
            assert_same(jitted(x), f(x))


def test_strides_of_a_reversed_array():
    jitted = npaccel.jit(lambda x: x.strides, backend="eager")
    with pytest.warns(errors.PerformanceWarning, match="strides"):
        assert jitted(np.zeros((3, 4))[::-1]) == (-32, 8)
    assert jitted(np.zeros((3, 4))) == (32, 8)


def test_the_size_of_an_array_that_only_gives_its_size(backend):
    def f(a, b):
        return b + np.size(a)

    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    for n in (4, 4, 6, 5, 6):
        assert_same(jitted(np.ones(n), np.ones(3)), np.ones(3) + n)


def test_the_shape_of_a_list_of_open_sizes():
    def f(a):
        return a.sum() + np.sum(np.shape([a, a + 1]))

    jitted = npaccel.jit(f, backend="eager", default_float="float64", dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for n in (4, 5):
            assert_same(jitted(np.ones(n)), f(np.ones(n)))


@pytest.mark.parametrize("count", [np.size, np.shape])
def test_the_size_of_an_array_of_open_sizes(count):
    def f(a):
        return a.sum() + np.sum(count(a[:, None] * a))

    for dynamic in (None, True):
        jitted = npaccel.jit(f, backend="eager", default_float="float64", dynamic=dynamic)
        for n in (4, 5, 6):
            assert_same(jitted(np.ones(n)), f(np.ones(n)))
        assert not jitted.report().fallbacks


def test_an_array_and_a_scalar_of_one_value(backend):
    """The compiler returns one tensor for both."""

    def f(a):
        v = np.array(1e-3)
        v *= a[0]
        return v, v.copy(), v.prod()

    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    for _ in range(2):
        first, second, third = jitted(np.ones(3))
        assert [type(x) for x in (first, second, third)] == [np.ndarray, np.ndarray, np.float64]
        assert not np.shares_memory(first, second)


def test_one_array_under_two_names(backend):
    def f(a):
        v = np.real(a >> 1)
        w = np.atleast_2d(v)
        for i, one in enumerate(w):
            w[i] = one + i
        w[:] = 5
        return v[-1, -1], w

    jitted = npaccel.jit(f, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for _ in range(2):
            assert_same(jitted(np.ones((3, 4), np.int32)), f(np.ones((3, 4), np.int32)))


def test_storing_to_a_numpy_scalar():
    def f(a):
        v = a.max()
        v[...] = 0
        return v

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        with pytest.raises(TypeError, match="item assignment"):
            npaccel.jit(f, backend="eager")(np.arange(3))


def test_a_scalar_leaves_a_piece_twice():
    def f(b):
        v = np.std(b)
        np.std(v, axis=None, dtype=np.int16)
        return (v,)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        (got,) = npaccel.jit(f, backend="eager", default_float="float64")(np.ones((3, 4)))
    assert type(got) is np.float64


@pytest.mark.parametrize("view", [lambda c: c.reshape(-1), lambda c: c.T, lambda c: c[1:, 0]])
@pytest.mark.parametrize("reverse", [np.s_[:, ::-1], np.s_[::-1]])
def test_views_of_reversed_arguments_that_a_loop_writes_to(view, reverse):
    def f(c, n):
        seen = view(c)
        for i in range(n):
            c[i] = c[i] * 3 + 1
        return seen - 1

    ours, theirs = (np.array([[1], [2], [-4]], "i1")[reverse] for _ in range(2))
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        np.testing.assert_array_equal(jitted(ours, 3), f(theirs, 3))
    np.testing.assert_array_equal(ours, theirs)


def test_writes_to_broadcast_arrays():
    def f(a, b):
        wide = np.broadcast_arrays(a, b)[0]
        np.put(wide, [0, -1], 5)
        return wide + 0

    ours, theirs = np.arange(3)[:, None], np.arange(3)[:, None]
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(jitted(ours, np.ones(4)), f(theirs, np.ones(4)))
    np.testing.assert_array_equal(ours, theirs)
    assert any("broadcast array" in one.reason for one in jitted.report().fallbacks)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_broadcast_views_are_read_only(shape):
    def f(a):
        wide = np.broadcast_to(a * 2, (2, *a.shape))
        wide[-1:] = 3
        return a + 1

    a = np.ones(shape)
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for one in (f, jitted):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            with pytest.raises(ValueError, match="read-only"):
                one(a)


@pytest.mark.parametrize(
    "view",
    [
        *(np.diagonal, np.linalg.diagonal, np.ndarray.diagonal, lambda x: x.diagonal()[1:]),
        *(np.imag, lambda x: x.imag[1:].T),
    ],
)
def test_diagonals_and_imaginary_parts_are_read_only(view):
    def f(a):
        part = view(a * 2)
        part[...] = part
        return part

    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for one in (f, jitted):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            with pytest.raises(ValueError, match="read-only"):
                one(np.ones((3, 3)))


def test_imaginary_parts_of_complex_numbers_are_written():
    def f(a):
        part = (a * 2).imag
        part[1:] = 3
        return part

    check(f, np.ones(3, complex))


LAYOUTS = (
    np.asfortranarray,
    lambda x: np.repeat(x, 2, 1)[:, ::2],
    lambda x: x[::-1],
    lambda x: np.broadcast_to(x[0], x.shape),
)
MADE = [
    *(lambda x: x + 1, lambda x: x + np.ones((3, 4)), lambda x: np.where(x > 3, x, 0)),
    *(lambda x: np.select([x > 3], [np.ones((3, 4))], -1.5), lambda x: np.nonzero(x)[0]),
    *(lambda x: np.choose(x > 3, [x, 2]), lambda x: np.linalg.inv(x[:3, :3] + np.eye(3))),
    *(lambda x: x[:, [0, 2]], lambda x: x[[2, 0]], lambda x: x[x > 2], lambda x: np.sort(x, 0)),
    *(lambda x: np.cumsum(x, 0), lambda x: x @ x.T, np.zeros_like, lambda x: x.astype(int)),
    *(lambda x: np.concatenate([x, x]), lambda x: np.array(x), lambda x: np.copy(x)),
    *(lambda x: x.copy(), lambda x: x.copy("K"), lambda x: np.tile(x, 2), lambda x: (x + 0).T),
    *(lambda x: np.subtract.accumulate(x), lambda x: np.add(x, 1, order="F")),
    *(lambda x: np.flip(x * 2), lambda x: np.fft.fft(x, axis=0), lambda x: np.round(x, 1)),
]


@pytest.mark.parametrize("i", range(len(MADE) + 4))
def test_a_view_or_a_copy_as_in_numpy(i):
    """Whether `ravel` and `reshape` give a view goes by how the array lies in memory."""
    make, layout = MADE[i % len(MADE)], LAYOUTS[0 if i % 3 else i // 3 % 4]

    def f(x):
        made = make(x)
        made.ravel()[1:] = -3
        other = make(x)
        tall = other.reshape(-1, 1)
        other[0] = 5
        return made, other, tall

    x = layout(np.arange(12.0).reshape(3, 4))
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        assert_same(jitted(x), f(x))


def test_writes_through_ravel_are_compiled_where_numpys_order_is_known():
    def f(x):
        sums = [np.select([x > 3], [x], -1.5), np.where(x > 3, x, 0), x @ x.T, np.zeros(3)]
        sums += [np.zeros((2, 3)), x.copy()]
        for one in sums:
            one.ravel()[1:] = -3
        return sums

    check(f, np.arange(12.0).reshape(3, 4))
    check(lambda x: f(x)[1:], np.asfortranarray(np.arange(12.0).reshape(3, 4)))


def test_a_reversed_argument_in_order_is_another_array():
    def f(x):
        return np.ascontiguousarray(x), x.ravel(), np.asfortranarray(x)

    x = np.arange(12.0).reshape(3, 4)[::-1]
    for result in npaccel.jit(f, backend="eager", default_float="float64", cache=False)(x):
        assert not np.shares_memory(result, x)
        assert result.flags.writeable


WRITES = [
    *(lambda x: np.copyto(dst=x, src=5), lambda x: np.put(a=x, ind=[0], v=5)),
    *(lambda x: np.place(arr=x, mask=x > 2, vals=[9]), lambda x: np.add(x, 1, out=(x,))),
    *(lambda x: np.put_along_axis(arr=x, indices=np.array([0]), values=5, axis=0), np.ndarray.sort),
    *(lambda x: np.fill_diagonal(a=x.reshape(2, 2), val=7), lambda x: x.cumsum(0, None, x)),
    *(lambda x: np.modf(x + 0.5, out=(x, x + 0)), lambda x: np.stack([x[0]] * 4, 0, x)),
    *(lambda x: np.outer(x[:2], x[:2], x.reshape(2, 2)), lambda x: np.nan_to_num(x=x, copy=False)),
    lambda x: np.random.default_rng(0).shuffle(x),
]


@pytest.mark.parametrize("write", WRITES, ids=range(len(WRITES)))
def test_what_a_call_writes_to(write):
    """By keyword, in a tuple, or by a position of `out`."""

    def f(x):
        y = x[::-1]
        write(x)
        return y

    got, wanted = (np.array([3.0, np.nan, 4.0, 2.0]) for _ in range(2))
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        assert_same(jitted(got), f(wanted))
    assert_same(got, wanted)


def test_a_view_of_a_reversed_view_leaves_a_piece():
    def f(x):
        made = x + 1
        seen = np.flip(made)[::-2]
        sums = []
        for one in seen:
            sums.append(one.sum())  # noqa: PERF401 (the loop is what is tested)
        made[...] = 3
        return seen, sums

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
        assert_same(jitted(np.arange(4.0)), f(np.arange(4.0)))


def test_new_axes_are_views_of_any_array():
    def f(x):
        made = x[:, [0, 2]]
        made.reshape((*made.shape, 1))[:] = 3
        return made

    check(f, np.arange(12.0).reshape(3, 4))
