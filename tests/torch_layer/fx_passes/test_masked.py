"""Reads and writes under one mask compile without a size that depends on the data."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel


def arrays(seed=0, shape=(5, 7), dtype="float64"):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 9, shape).astype(dtype)


def store_elementwise(a, b, m, r):
    a[m] = np.sqrt(np.abs(a[m])) * 2 - 1


def store_of_another(a, b, m, r):
    a[m] = b[m]


def store_of_two(a, b, m, r):
    a[m] = b[m] * 2 + np.maximum(a[m], 3)


def add_to(a, b, m, r):
    a[m] += b[m]


def multiply_by(a, b, m, r):
    a[m] *= 2


def by_name(a, b, m, r):
    c = a[m]
    a[m] = c * 2 + 1


def mask_twice(a, b, m, r):
    a[a > 0] = a[a > 0] * 3


def mask_changed_between(a, b, m, r):
    c = a[m]
    m[0] = True
    c = c + 1
    m[0] = np.False_
    return c.sum()


def array_changed_between(a, b, m, r):
    c = a[m]
    a[...] = 100
    b[m] = c


def mask_is_written_before_store(a, b, m, r):
    c = a[m] + 1
    a[0] = 0
    k = m.copy()
    a[k] = c


def in_place_on_gathered(a, b, m, r):
    c = a[m]
    d = c
    c *= 2
    c += 1
    a[m] = d


def element_of_gathered_written(a, b, m, r):
    c = a[m]
    c *= 2
    a[m] = c + 1
    c[:1] = 77
    b[m] = c
    return c


def view_of_gathered_written(a, b, m, r):
    c = a[m]
    d = c[1:]
    d[...] = 5
    a[m] = c


def also_returned(a, b, m, r):
    c = a[m] * 2
    a[m] = c
    return c


def rows(a, b, m, r):
    a[r] = a[r] * 2 + b[0]


def rows_in_place(a, b, m, r):
    a[r] *= b[r]


def rows_by_columns(a, b, m, r):
    a[r, 1:5] = b[r, 2:6] - 1
    a[r, 0] = a[r, 1] + a[r, -1]
    a[r, ::-1] = a[r] * 2


def columns(a, b, m, r):
    k = b[0] > 0
    a[:, k] = a[:, k] * 2 + b[:, :1]
    a[1, k] = a[2, k] - 5
    a[..., k] -= 1


def rows_with_new_axis(a, b, m, r):
    w = b[:, 0]
    a[r] = a[r] * w[r][:, None] + a[r][:, ::-1]


def row_sums(a, b, m, r):
    w = np.zeros(5)
    w[r] = a[r].sum(axis=1) / np.sqrt((b[r] ** 2).sum(axis=1) + 1)
    return w, a[r].sum(axis=0), a[r].sum(), a[r].mean(axis=(0, 1))


def reductions(a, b, m, r):
    c = a[m]
    return (
        np.sum(c), c.mean(), np.prod(c / 8), c.std(), np.var(c, ddof=1), (c > 3).any(),
        (c > 3).all(),
        np.count_nonzero(c), np.count_nonzero(c > 2), c.max(), np.min(c), np.max(c * 2, initial=-3),
        np.sum(c, dtype=np.float32), np.sum(c * b[m]), np.sum(np.where(c > 0, c, 0)),
    )  # fmt: skip


def functions(a, b, m, r):
    a[m] = np.clip(a[m], -2, 2) + np.where(b[m] > 0, a[m], -1.0) + a[m].astype(np.float32).round(1)
    b[m] = np.nan_to_num(b[m]) + np.abs(b[m]).copy()


def column_operand(a, b, m, r):
    a[m] = a[m] * b[0, :1] + np.float64(2)


def other_values(a, b, m, r):
    a[m] = b.ravel()[:1] * a[m]


def scalars(a, b, m, r):
    a[m] = 0
    b[~m] = b.mean()


FUNCTIONS = [value for value in list(globals().values()) if callable(value) and
             getattr(value, "__module__", "") == __name__ and value is not arrays]  # fmt: skip


def calls(function, masks, dtype="float64"):
    for m in masks:
        yield arrays(0, dtype=dtype), arrays(1, dtype=dtype), m.copy(), m.any(axis=1).copy()


def masks():
    m = arrays(2) > 0
    return [m, np.ones_like(m), m & (arrays(3) > 0)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gives_what_numpy_gives(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for got_args, wanted_args in zip(
        calls(function, masks()), calls(function, masks()), strict=True
    ):
        got, wanted = jitted(*got_args), function(*wanted_args)
        assert_same(got, wanted)
        assert_same(got_args, wanted_args)
    assert not jitted.report().fallbacks
    assert not leaves_sizes(jitted) or function in NEED_SIZES


#: Functions in which something else is done with the elements under a mask.
NEED_SIZES = (
    also_returned,
    element_of_gathered_written,
    mask_changed_between,
    mask_is_written_before_store,
    view_of_gathered_written,
)


def leaves_sizes(jitted):
    return "operator_getitem" in jitted.source() and "sym_size" in jitted.source()


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int8", "uint16", "bool"])
def test_other_dtypes(dtype):
    def f(a, b, m, r):
        a[m] = a[m] * b[m] + a[m]
        b[r] = a[r] * 2.5
        return a[m].sum(), b[r].prod(axis=0), np.mean(a[m]), a[m].any()

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    rtol = 4e-3 if dtype == "float16" else None
    for got_args, wanted_args in zip(
        calls(f, masks(), dtype), calls(f, masks(), dtype), strict=True
    ):
        with np.errstate(over="ignore", invalid="ignore"):
            assert_same(jitted(*got_args), f(*wanted_args), rtol=rtol)
        assert_same(got_args, wanted_args)


def integers(a, b):
    m = b != 0
    a[m] = a[m] // b[m] + a[m] % b[m]
    a[~m] <<= 3
    c = a[a > 3]
    return a.sum(), c.mean(), c.max(), np.count_nonzero(c), c.std()


def floats(a, b):
    a[~np.isfinite(a)] = 0
    m = b > 0
    b[m] = np.log(b[m])
    a[m] /= b[m]
    k = b[:, 0] != 1
    a[k] -= b[k].mean(axis=0)
    return a[m].sum(), np.min(b[m]), a[k].sum(axis=1), b[~m].var()


def specials(shape):
    a, b = arrays(0, shape), arrays(1, shape)
    a.flat[::5], a.flat[1::7], b.flat[::6] = np.nan, -np.inf, np.nan
    return a, b


@pytest.mark.sampled
@pytest.mark.parametrize("function", [integers, floats])
def test_what_is_left_out_does_not_matter(function, backend):
    def make(shape):
        if function is floats:
            return specials(shape)
        return arrays(0, shape, "int64"), arrays(1, shape, "int64")

    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    with np.errstate(all="ignore"):
        for shape in ((5, 7), (11, 6), (8, 3)):
            got_args, wanted_args = make(shape), make(shape)
            got, wanted = jitted(*got_args), function(*wanted_args)
            assert_same(got, wanted, rtol=1e-12)
            assert_same(got_args, wanted_args, rtol=1e-12)
    assert not jitted.report().fallbacks


def test_no_element():
    def f(a, m):
        c = a[m]
        a[m] = c + 1
        return c.sum(), c.prod(), c.mean(), c.std(), c.any(), c.all(), np.max(c, initial=2.0)

    jitted = npaccel.jit(f, backend="eager")
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        for a, m in ((np.arange(4.0), np.zeros(4, bool)), (np.ones((2, 0)), np.ones((2, 0), bool))):
            assert_same(jitted(a, m), f(a, m))


def test_extremum_of_no_element_raises(backend):
    jitted = npaccel.jit(lambda a, m: a[m].max(), backend=backend)
    a = np.arange(4.0)
    assert jitted(a, a > 1) == 3
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
            jitted(a, a > 5)
    assert jitted(a, a < 1) == 0


def test_gradients_do_not_see_what_is_left_out():
    torch = pytest.importorskip("torch")

    def f(a):
        m = a > 0
        return np.sum(np.sqrt(a[m]))

    a = torch.tensor([-1.0, 4.0], requires_grad=True)
    npaccel.jit(f, backend="aot_eager")(a).backward()
    assert a.grad.tolist() == [0.0, 0.25]


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_truth_values_are_stored_where_they_belong(dtype):
    """A vector of 8-bit lanes holds more of them than are computed at a time."""

    def f(a, limit, out):
        np.greater(a, limit, out=out[: a.size])

    jitted = npaccel.jit(f, dynamic=True, default_float="float64")
    for size in (49, 16, 64, 100):
        a = np.arange(size).astype(dtype)
        got, wanted = np.ones(200, bool), np.ones(200, bool)
        jitted(a, 300, got), f(a, 300, wanted)
        np.testing.assert_array_equal(got, wanted)
