"""Functions of arrays whose size depends on the data stay in the graph."""

import numpy as np
import pytest
from comparing import assert_same, check, quiet

import npaccel

X = np.array([3.0, 0, -1, 3, 0, 2])
M = np.arange(12.0).reshape(4, 3)

FUNCTIONS = [
    lambda x: x[x > 0].argmax(),
    lambda x: np.median(x[x > 0]) + np.percentile(x[x > 0], 40),
    lambda x: np.dot(x[x > 0], x[x > 0]),
    lambda x: x[x > 0] @ x[x > 0],
    lambda x: np.array_equal(x[x > 0], x[x > 0]),
    lambda x: np.linspace(0, 1, x[x > 0].size),
    lambda x: np.ediff1d(x[x > 0]),
    lambda x: np.fft.fft(x[x > 0]),
    lambda x: np.convolve(x[x > 0], [1, 2]),
    lambda x: np.histogram(x[x > 0], bins=3),
    lambda x: np.bincount(x[x > 0].astype(int)),
    lambda x: np.roll(x[x > 0], 1),
    lambda x: np.unique(x)[np.argmax(np.unique(x, return_counts=True)[1])],
    lambda x: np.unique(x[x > 0], return_counts=True)[1],
    lambda x: np.array([x[x > 0], x[x < 9][x > 0]]),
    lambda x: (np.delete(x[x > 0], [0, -1]), np.delete(x[x > 0], slice(None, None, 2))),
    lambda x: np.delete(M[:, : x.size][np.arange(4) < x.size], [1, 0], axis=0),
    lambda x: (np.einsum("...i->...", x[x > 0]), np.einsum("i->", x[x > 0])),
    lambda x: (np.maximum.accumulate(x[x > 0]), np.add.accumulate(x[x > 0] > 1, dtype=bool)),
    lambda x: (np.take(x[x > 0], [0, 7], mode="wrap"), np.take(x[x > 0], [0, 7], mode="clip")),
    lambda x: (np.squeeze(x[x > 0]) + 1j, np.squeeze(x[x > 0].reshape(1, -1)), x[x > 0].squeeze()),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_one_graph(number):
    check(FUNCTIONS[number], X)


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_other_sizes(number):
    jitted = npaccel.jit(FUNCTIONS[number], backend="eager", default_float="float64")
    for x in (X, X[:1], X + 5, X[:0], X - 9):
        with np.errstate(all="ignore"):
            try:
                wanted = FUNCTIONS[number](x)
            except (ValueError, IndexError, ZeroDivisionError) as error:
                with pytest.raises(type(error)):
                    quiet(jitted, x)
            except RuntimeWarning:
                continue
            else:
                assert_same(quiet(jitted, x), wanted)


def test_products_of_chosen_rows():
    check(lambda x: np.average(x[x > 0], weights=x[x > 0]), X)
    check(lambda x: x[x[:, 0] > 2].T @ x[x[:, 0] > 2], M)


def test_covariances_of_chosen_rows():
    jitted = npaccel.jit(lambda x: np.cov(x[x[:, 0] > 2]), backend="eager", default_float="float64")
    for x in (M, M + 3, M - 7, M[2:]):
        assert_same(quiet(jitted, x), np.cov(x[x[:, 0] > 2]), rtol=1e-12)


ITEMS = [
    lambda x, k: x[k][0] * 2,
    lambda x, k: x[k][-1] + x[k][1],
    lambda x, k: x[k][:, 1][1],
    lambda x, k: x[k].T[:, 0] * 2,
    lambda x, k: x[k][1:][0].sum(),
    lambda x, k: np.take(x[k], 1, axis=0) + 1,
    lambda x, k: x[np.count_nonzero(k) + 1] * 2,
    lambda x, k: x[:, int(k.sum())] + 1,
    lambda x, k: x[k][x[:2, 0] >= 0] * 2,
    lambda x, k: np.insert(x[k][:, 0], 2, 1.0),
    lambda x, k: np.delete(x[k][:, 0], -2),
]


def test_new_shapes_of_sizes_that_are_zero():
    jitted = npaccel.jit(lambda x: np.arange(6).reshape(len(x[x > 0]), -1), backend="eager")
    assert_same(jitted(X[:4]), np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="cannot reshape"):
        jitted(X - 9)


@pytest.mark.parametrize("number", range(len(ITEMS)))
def test_items_that_are_none_raise(number, backend):
    """Compiled code read what isn't the array's."""
    jitted = npaccel.jit(ITEMS[number], backend=backend, default_float="float64")
    raised = 0
    for count in (2, 0, 1, 3, 4):
        args = M, np.arange(4) < count
        try:
            wanted = ITEMS[number](*args)
        except IndexError:
            raised += 1
            with pytest.raises(IndexError):
                quiet(jitted, *args)
        else:
            assert_same(quiet(jitted, *args), wanted)
    assert raised


@pytest.mark.inductor
def test_compiled_by_inductor():
    def function(x):
        return [FUNCTIONS[i](x) for i in (0, 2, 5, 6, 11)]

    check(function, X, backend="inductor", calls=2)


def mean_or_zero(x):
    chosen = x[x > 0]
    if chosen.size:
        return chosen.mean()
    return 0.0


def greatest_or_none(x):
    chosen = x[x > 0]
    if not len(chosen):
        return None
    return chosen.max()


def wiped(x):
    (places,) = np.nonzero(x > 2)
    if places.size:
        x[places] = 0
    return x * 2


def taken_off(x):
    chosen, total = x[x > 0], 0.0
    while chosen.size:
        total += chosen[0]
        chosen = chosen[1:]
    return total


@pytest.mark.parametrize("function", [mean_or_zero, greatest_or_none, wiped, taken_off])
def test_branches_on_such_sizes_are_compiled_on_both_sides(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for x in (X, X[:1], X + 5, X[:0], X - 9):
        given, other = x.copy(), x.copy()
        found, wanted = quiet(jitted, given), function(other)
        assert (found is None) if wanted is None else found == pytest.approx(wanted)
        np.testing.assert_array_equal(given, other)
    report = jitted.report()
    assert len(report.graphs) > 1
    assert all("depends on a number that only the data" in one.reason for one in report.fallbacks)


@pytest.mark.parametrize("count", [np.size, np.shape])
def test_functions_that_tell_the_size(count):
    check(lambda x: count(np.nonzero(x[x > 0])[0]), X)


def test_loops_over_chosen_rows_name_the_line():
    def f(x):
        rows = np.stack([row * 3 for row in x[x > 0]])
        return rows.sum() + np.sqrt(x * x).sum()

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for x in (X, X[:4]):
        assert_same(quiet(jitted, x), f(x))
    assert [one.line for one in jitted.report().fallbacks] == [f.__code__.co_firstlineno + 1]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("number", [lambda x: x.max().item(), lambda x: int(x.max())])
def test_that_numbers_made_of_elements_meet_complex_arrays(number, dtype):
    def function(z, x):
        s = number(x)
        w = z.copy()
        w[w.real <= 0] *= s
        w += s
        return w, z * s, s - z, z / s, s / z, z**s, np.where(z.real > 0, z, s)

    z, x = (np.arange(4) - 1 + 1j).astype(dtype), np.arange(4.0)
    jitted = npaccel.jit(function, backend="eager", default_float="float64", strict=True)
    for got, wanted in zip(jitted(z, x), function(z, x), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def products_of_one(c):
    v = c[c > 0]
    return (
        np.delete(v, 0),  # asserts that there is one
        *(np.einsum("i,i", v, v), np.einsum("i,j", v, v), np.einsum("i,i->i", v, v)),
        *(np.einsum("i->", v), np.einsum("ij,j", np.ones((2, 1)), v), np.einsum("i,j->j", v, c)),
        *(v @ v, np.inner(v, v), np.vdot(v, v), np.outer(v, v), np.tensordot(v, v, 1)),
    )


@pytest.mark.inductor
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_products_of_what_must_have_one_element(backend):
    c = np.array([3.0])
    jitted = npaccel.jit(products_of_one, backend=backend, strict=True, compile="now")
    for ours, numpys in zip(jitted(c), products_of_one(c), strict=True):
        assert type(ours) is type(numpys)
        assert np.shape(ours) == np.shape(numpys)
        np.testing.assert_allclose(ours, numpys)
