"""Short vectors in loops go to Numba, and compute what NumPy does."""

import copy
import types
import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel._loops.nests import parallel

pytest.importorskip("numba")

pytestmark = pytest.mark.sampled
A = np.random.default_rng(0).normal(size=(7, 5))
V = np.random.default_rng(1).normal(size=9)


def check(function, *arguments, engine="Numba"):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for _ in range(2):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = function(*theirs)
            except Exception as error:  # noqa: BLE001 (whatever it is, it must be the same)
                with pytest.raises(type(error)) as raised:
                    jitted(*ours)
                assert str(raised.value) == str(error)  # noqa: PT017
            else:
                found = jitted(*ours)
                if wanted is not None:
                    assert np.asarray(found).dtype == np.asarray(wanted).dtype
                    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert engine is None or jitted.report().loops[0].engine == engine, jitted.report()
    return jitted


def sparse(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for row, (start, stop) in enumerate(zip(indptr[:-1], indptr[1:])):  # noqa: B905, RUF007
        y[row] = data[start:stop] @ x[indices[start:stop]]
    return y


@pytest.mark.parametrize("counts", [[0], [1, 0, 3], [5, 2, 0, 0, 9, 1]])
def test_sparse_rows(counts):
    indptr = np.concatenate([[0], np.cumsum(counts)])
    random = np.random.default_rng(2)
    indices = random.integers(-9, 9, indptr[-1])
    check(sparse, indptr, indices, random.normal(size=indptr[-1]), V)


def test_many_sparse_rows():
    """However many rows there are, each of them is short."""
    counts = np.arange(40_000) % 3
    indptr = np.concatenate([[0], np.cumsum(counts)])
    check(sparse, indptr, np.zeros(indptr[-1], int), np.ones(indptr[-1]), V)


def test_an_index_out_of_bounds_raises():
    check(sparse, np.array([0, 2]), np.array([0, 30]), np.ones(2), V)


def gram_schmidt(a):
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (4, 4), (9, 5), (0, 0)])
def test_columns(shape):
    check(gram_schmidt, np.random.default_rng(3).normal(size=shape))


def sums_of_slices(a, bounds):
    found = np.zeros(len(bounds))
    for i in range(len(bounds)):
        low, high = bounds[i, 0], bounds[i, 1]
        found[i] = a[low:high] @ a[low:high] + a[-3:] @ a[:3]
    return found


def test_bounds_are_cut_and_counted_from_the_end():
    values = [-20, -9, -8, -1, 0, 1, 4, 8, 9, 10, 30]
    check(sums_of_slices, V, np.array([(low, high) for low in values for high in values]))


def of_other_lengths(a, n):
    total = 0.0
    for i in range(n):
        a[i] = a[i] + 1
        total += a[i:] @ a[: n - i]
    return total


def test_vectors_of_different_lengths():
    check(of_other_lengths, V, 9)
    check(of_other_lengths, V, 4, engine=None)  # NumPy raises; what was written before stays.


def broadcast(a, b):
    for i in range(3):
        a[i, :] = b[i : i + 1] * 2 + (a[i, :] @ a[i, :])
    return a


def test_vectors_of_one_element_are_broadcast():
    jitted = npaccel.jit(broadcast, default_float="float64", backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(jitted(A.copy(), V), broadcast(A.copy(), V))


def shifted(a, n):
    for i in range(n):
        a[1:] = a[:-1] * (a[i:] @ a[i:])
    return a


def test_a_write_that_overlaps_what_is_read():
    check(shifted, V, 4)


def scaled(a, b, n):
    for i in range(n):
        a[i:] -= b[i:] * (b[:i] @ b[:i])


def test_arrays_that_share_memory():
    memory, other = V.copy(), V.copy()
    jitted = npaccel.jit(scaled, default_float="float64", backend="eager")
    scaled(memory[:8], memory[1:], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jitted(V.copy(), V.copy(), 5)
        jitted(other[:8], other[1:], 5)
    np.testing.assert_allclose(memory, other, rtol=1e-12)


def complex_scale(a, n):
    for i in range(n):
        a[i:] *= (a[:2] @ a[:2]) * 1j
    return a


def by_float(a, n):
    total = 0.0
    for i in range(n):
        total += a[i / 2 :] @ a[i / 2 :]
    return total


def by_none(a, n):
    total = 0.0
    for i in range(n):
        total += a[i:None] @ a[None:None][i:]
    return total


@pytest.mark.parametrize("function", [complex_scale, by_float, by_none])
def test_what_numpy_refuses_or_numba_does_not_know(function):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = function(V.copy(), 3)
        except Exception as error:  # noqa: BLE001
            with pytest.raises(type(error)):
                jitted(V.copy(), 3)
        else:
            np.testing.assert_allclose(jitted(V.copy(), 3), wanted)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128", "bool"])
def test_other_dtypes(dtype):
    jitted = npaccel.jit(sums_of_slices, default_float="float64", backend="eager")
    arguments = (10 * V).astype(dtype), np.array([(0, 4), (2, 9)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(jitted(*arguments), sums_of_slices(*arguments), rtol=1e-6)


lib = types.SimpleNamespace(dot=lambda a, b: 7.0 + a[0] - b[0])


def of_another_dot(a, n):
    total = 0.0
    for i in range(n):
        total += lib.dot(a[i:], a[i:]) + a[i]
    return total


def test_another_dot():
    jitted = npaccel.jit(of_another_dot, default_float="float64", backend="eager")
    assert jitted(V, 4) == pytest.approx(of_another_dot(V, 4))


def test_long_vectors_are_left_to_array_code():
    check(of_other_lengths, np.random.default_rng(5).normal(size=2000), 2, engine="compiled body")


# -- Rows of a table


def standardised(table):
    constant = 0
    for row in table:
        row -= row.mean()
        spread = row.std()
        if spread == 0:
            constant += 1
            continue
        row /= spread
    return constant


def extremes(table, out):
    for i, row in enumerate(table):
        out[i] = row.max() - row.min() + row[0] * len(row) + row.shape[0]


def signed_extremes(table, most, least, largest, turned):
    for i, row in enumerate(table):
        most[i], least[i] = row.max(), row.min()
        largest[i], turned[i] = np.abs(row).max(), np.min(-row)


#: Zeros have one sign each: of -0.0 and 0.0 NumPy takes either for the greater.
EXTREMES = (-np.nan, -np.inf, -1.7e308, -2.5, -5e-324, 0.0, 5e-324, 1.5, 1.7e308, np.inf, np.nan)


@pytest.mark.parametrize("numbers", [EXTREMES[1:-1], EXTREMES], ids=["numbers", "nans too"])
def test_extremes_of_extremes(numbers):
    table = np.random.default_rng(0).choice(numbers, size=(60, 7))
    table[::5] = table[::5, :1]
    check(signed_extremes, table, *np.zeros((4, 60)))


def weighted(table, weights):
    total = 0.0
    for row, w in zip(table, weights):  # noqa: B905
        row *= np.exp(w)
        total += np.sum(np.sqrt(np.abs(row)) - w) + row.var()
    return total


def of_pieces(table, x, out):
    for i in range(len(out)):
        out[i] = np.sum(table[i, i + 1 :] * x[i + 1 :]) + np.dot(table[i, :], x)


TABLES = [
    A,
    np.full((3, 4), 2.5),
    np.array([[1.0, np.nan, 3.0], [np.inf, 1.0, -np.inf], [0.0, -0.0, 0.0]]),
    A[::-1, ::2],
    np.asfortranarray(A),
    np.ones((1, 1)),
    np.ones((0, 3)),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.shape))
def test_rows_in_place(table):
    check(standardised, table.copy(order="K"))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.shape))
def test_extremes_of_rows(table):
    check(extremes, table, np.zeros(len(table)))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.shape))
def test_rows_and_numbers(table):
    check(weighted, table.copy(), np.linspace(-1, 1, len(table)))
    check(weighted, table.copy(), np.linspace(-1, 1, len(table) + 2))


def test_reductions_of_pieces():
    check(of_pieces, A[:5], V[:5], np.zeros(5))


def test_rows_without_elements():
    check(extremes, np.ones((2, 0)), np.zeros(2), engine=None)
    check(standardised, np.ones((2, 0)))


def test_rows_that_are_more_than_rows():
    """What isn't the row's name alone is array code."""

    def kept(table):
        for row in table:
            row = row - row.mean()
        return row

    def renamed(table, len):  # noqa: A002
        total = 0.0
        for row in table:
            total += row.mean() + len(row)
        return total

    for function, arguments in ((kept, (A.copy(),)), (renamed, (A.copy(), lambda row: row[0]))):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = npaccel.jit(function, default_float="float64", backend="eager")(*ours)
        np.testing.assert_allclose(found, function(*theirs), rtol=1e-12)
        np.testing.assert_allclose(ours[0], theirs[0])


# -- Loops along the last axis


def thomas(lower, diagonal, upper, rhs):
    n = rhs.shape[-1]
    c, x = np.empty_like(upper), np.empty_like(rhs)
    c[..., 0] = upper[..., 0] / diagonal[..., 0]
    x[..., 0] = rhs[..., 0] / diagonal[..., 0]
    for k in range(1, n):
        pivot = diagonal[..., k] - lower[..., k] * c[..., k - 1]
        c[..., k] = upper[..., k] / pivot
        x[..., k] = (rhs[..., k] - lower[..., k] * x[..., k - 1]) / pivot
    for k in range(n - 2, -1, -1):
        x[..., k] -= c[..., k] * x[..., k + 1]
    return x


def summed(a, n, weight, shift):
    for k in range(1, n, 2):
        a[:, k] = np.maximum(a[:, k - 1], -a[:, k]) * weight + k - shift
        a[:, k - 1] += np.exp(-(a[:, k] ** 2))


def to_the_end(a, b):
    for k in range(1, a.shape[-1] - 1):
        b[..., k] = a[..., k - 1] + a[..., k + 1]


def all_dimensions(a, b, n):
    for k in range(n):
        t = b[..., n - k - 1] * 0.5
        a[..., k] = t + a[..., k]


@pytest.mark.parametrize(
    "shape", [(3, 4, 6), (5, 7), (1, 1), (0, 4), (2, 0, 3), (2, 3, 1), (70, 80, 9)]
)
def test_along_the_last_axis(shape):
    random = np.random.default_rng(0)
    lower, upper, rhs = random.random((3, *shape))
    check(thomas, lower, 2.5 + lower, upper, rhs, engine=None)
    check(all_dimensions, random.random(shape), random.random(shape), shape[-1], engine=None)
    if len(shape) == 2:
        check(summed, random.random(shape), shape[-1], 0.5, 2, engine=None)


def test_loops_along_the_last_axis_go_to_numba():
    random = np.random.default_rng(0)
    check(all_dimensions, random.random((3, 4, 5)), random.random((3, 4, 5)), 5)
    check(summed, random.random((4, 6)), 6, 0.5, 2)
    check(to_the_end, random.random((4, 6)), random.random((4, 6)))
    check(to_the_end, random.random((4, 6, 5)), random.random((4, 6, 5)))
    check(summed, np.array([[np.nan, 1, np.inf, -np.inf]]), 4, -1.0, 0)


def test_what_loops_along_the_last_axis_are_not():
    """Other lengths, indices out of bounds, shared memory and other layouts are Python's."""
    random = np.random.default_rng(0)
    jitted = check(all_dimensions, random.random((3, 4)), random.random((3, 4)), 4)
    for a, b, n in (
        (random.random((3, 4)), random.random((1, 4)), 4),
        (random.random((3, 4)), random.random((3, 4)), 5),
        (random.random((3, 4)), random.random((2, 4)), 4),
        (random.random((3, 2)), random.random((3, 4)), 4),
        (random.random((3, 4)), random.random((3, 4)), 3),
        (random.random((6, 8))[::2, ::2], random.random((3, 4)), 4),
        (random.random((3, 4)), np.asfortranarray(random.random((3, 4))), 4),
        (random.random((3, 4)).astype(np.float32), random.random((3, 4)), 4),
    ):
        ours, theirs = a.copy(order="K"), a.copy(order="K")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                all_dimensions(theirs, b, n)
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)) as raised:
                    jitted(ours, b, n)
                assert str(raised.value) == str(error)  # noqa: PT017
            else:
                jitted(ours, b, n)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    ours, theirs = (np.arange(12.0).reshape(3, 4) for _ in range(2))
    all_dimensions(theirs, theirs, 4)
    with pytest.warns(npaccel.errors.PerformanceWarning, match="share memory"):
        jitted(ours, ours, 4)
    np.testing.assert_allclose(ours, theirs)


def carried(a, n):
    t = a[..., 0] * 0
    for k in range(n):
        t = t + a[..., k]
        a[..., k] = t
    return t


def read_afterwards(a, n):
    t = 0.0
    for k in range(n):
        t = a[..., k] * 2
        a[..., k] = t
    return t * k


def divided(a, n):
    for k in range(n):
        t = 1 / (3 - k)
        a[..., k] *= t


def of_its_own_name(a, n):
    k = 1
    for k in range(k, n):  # noqa: B020
        a[..., k] += a[..., k - 1]


def without_a_step(a, n):
    for k in range(0, n, n - 4):
        a[..., k] *= 2


def without_an_axis(a, n):
    for k in range(n - a.shape[3]):
        a[..., k] *= 2


def viewed(a, n):
    for k in range(1, n):
        t = a[..., k]
        a[..., k] = a[..., k - 1] + t
        a[..., k - 1] = t


def viewed_in_place(a, n):
    for k in range(n):
        t = a[..., k]
        t += 1
        a[..., k] *= t


def shared_names(a, n):
    for k in range(n):
        t = a[..., k] * 2
        u = t
        t += 1
        a[..., k] = u


@pytest.mark.parametrize(
    "function",
    [
        carried,
        read_afterwards,
        divided,
        viewed,
        viewed_in_place,
        shared_names,
        of_its_own_name,
        without_a_step,
        without_an_axis,
    ],
)
def test_iterations_that_need_more_than_elements(function):
    check(function, np.random.default_rng(0).random((3, 4)), 4, engine=None)
    check(function, np.random.default_rng(0).random((3, 4)), 3, engine=None)


# -- Loops along the last axis that follow each other


@pytest.fixture
def runs(monkeypatch):
    """Note each call of compiled code."""
    found = []
    call = parallel.Runner.__call__

    def noted(self, values, inputs):
        found.append(self)
        return call(self, values, inputs)

    monkeypatch.setattr(parallel.Runner, "__call__", noted)
    return found


def three(a, b, n):
    for k in range(1, n):
        t = a[..., k - 1] * 0.5
        b[..., k] = a[..., k] - t
    for j in range(n - 1, 0, -1):
        t = b[..., j] + j
        a[..., j - 1] += t
    for k in range(0, n, 2):
        b[..., k] *= a[..., k]


def in_iterations(a, b, n):
    for _ in range(3):
        for k in range(1, n):
            a[..., k] += b[..., k - 1]
        for k in range(n):
            b[..., k] *= 0.5


def test_loops_that_follow_each_other_are_one_pass(runs):
    random = np.random.default_rng(0)
    lower, upper, rhs = random.random((3, 4, 5, 6))
    check(thomas, lower, 2.5 + lower, upper, rhs, engine=None)
    assert len(runs) == 2
    runs.clear()
    check(three, *random.random((2, 4, 5, 6)), 6)
    assert len(runs) == 2
    runs.clear()
    check(in_iterations, *random.random((2, 4, 5)), 5, engine=None)
    assert len(runs) == 6


def out_of_bounds(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    for k in range(n):
        a[..., k] += a[..., k + 1]


def of_other_shapes(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    for k in range(b.shape[-1]):
        b[..., k] += k


def of_the_last_iteration(a, b, n):
    for k in range(n):
        t = a[..., k] * 2
        a[..., k] = t
    for j in range(n):
        a[..., j] -= t


def of_the_last_index(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    for j in range(k):
        a[..., j] += a[..., k]


def read_later(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    for j in range(n):
        a[..., j] += 1
    return j + k


def with_more_between(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    n -= 1
    for k in range(n):
        a[..., k] += a[..., k + 1]


def divided_later(a, b, n):
    for k in range(n):
        a[..., k] *= 2
    for k in range(n):
        a[..., k] *= 1 / (2 - k)


@pytest.mark.parametrize(
    "function",
    [
        *(out_of_bounds, of_other_shapes, of_the_last_iteration, of_the_last_index),
        *(read_later, with_more_between, divided_later),
    ],
)
def test_loops_that_follow_each_other_and_are_not_one_pass(function):
    random = np.random.default_rng(0)
    check(function, random.random((3, 4)), random.random((2, 5)), 4, engine=None)
    check(function, random.random((3, 4)), random.random((2, 5)).astype("f4"), 4, engine=None)
    check(function, random.random((3, 5))[:, :4], random.random((2, 3, 5)), 4, engine=None)


def test_loops_on_arrays_that_share_memory():
    jitted = npaccel.jit(three, default_float="float64", backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in ((slice(0, 3), slice(3, 6)), (slice(0, 3), slice(1, 4))):
            ours, theirs = (np.random.default_rng(0).random((6, 4)) for _ in range(2))
            jitted(ours[a], ours[b], 4)
            three(theirs[a], theirs[b], 4)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
