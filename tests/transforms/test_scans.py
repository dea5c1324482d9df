"""Loops under a transform whose body is traced and compiled once."""

import numpy as np
import pytest
import torch
from derivatives import central_gradient

import npaccel
from npaccel._torch.transforms import unrolled
from npaccel._torch.transforms.scans import operator

X = np.array([0.4, 1.2, -0.7])
N = 9


@pytest.fixture
def only_scans(monkeypatch, failures):
    """Fail where a loop is unrolled."""

    def refused(*args):
        raise AssertionError(failures)

    monkeypatch.setattr(unrolled, "UNROLLED", dict.fromkeys(unrolled.UNROLLED, refused))
    yield
    assert failures == []


def counted(x):
    return np.sum(npaccel.fori_loop(2, N, lambda i, v: np.sin(v) * (i + 1.0) * 0.3, x))


def scanned(x):
    def step(carry, row):
        carry = 0.5 * carry + row["a"] ** 2
        return carry, {"sum": np.sum(carry), "carry": carry}

    table = np.outer(np.arange(1.0, 9.0), x)
    last, rows = npaccel.scan(step, x, {"a": table}, reverse=True)
    return np.sum(last) + np.sum(rows["sum"] * np.arange(8.0)) + np.sum(rows["carry"][1] ** 2)


def written(x):
    u, ys = x.copy(), np.zeros((N, 3))
    same = u

    def step(i, u):
        u[1:] += 0.1 * np.sin(u[:-1])
        ys[i] = u
        return u

    v = npaccel.fori_loop(0, N, step, u)
    return np.sum(u * v * same) + np.sum(ys**2)


def numbers(x):
    def step(i, carry):
        t, k, v = carry
        return t + 0.1, k + 1, v * np.cos(t) + k * 0.01

    t, k, v = npaccel.fori_loop(0, N, step, (0.0, 0, x))
    return np.sum(v) * t * k


def indexed(x):
    table = np.outer(np.arange(12.0), x)
    return npaccel.fori_loop(0, N, lambda i, s: s + np.sin(table[i + 1, 0] * table[i - 1, 2]), x[0])


def nested(x):
    def inner(j, v):
        return v + 0.01 * np.sin(v * (j + 1))

    def outer(i, v):
        return npaccel.fori_loop(0, N, inner, v) * 0.9

    return np.sum(npaccel.fori_loop(0, N, outer, x) ** 2)


def matrices(x):
    a = np.outer(x, x) + np.eye(3) * 3

    def step(p, row):
        s = a @ p @ a.T / 20 + np.eye(3)
        return np.linalg.inv(s), np.linalg.slogdet(s)[1] + row @ p @ row

    _, rows = npaccel.scan(step, np.eye(3), np.outer(np.linspace(1, 2, N), x))
    return np.sum(rows)


FUNCTIONS = [counted, scanned, written, numbers, indexed, nested, matrices]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_that_gradients_are_those_of_differences(function, only_scans, backend):
    with npaccel.options(backend=backend):
        found = npaccel.grad(function)(X)
    np.testing.assert_allclose(found, central_gradient(function, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("function", [scanned, nested])
def test_that_transforms_compose(function, only_scans):
    rows = np.stack([X, 0.5 * X])
    with npaccel.options(backend="eager"):
        gradient = npaccel.grad(function)
        both = npaccel.vmap(gradient)(rows)
        _, tangent = npaccel.jvp(function, (X,), (rows[1],))
        second = npaccel.hessian(function)(X)
        np.testing.assert_allclose(both, [gradient(row) for row in rows])
        np.testing.assert_allclose(tangent, gradient(X) @ rows[1])
        h = 1e-6
        differences = [(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(second, differences, rtol=1e-5, atol=1e-6)


def test_that_a_first_iteration_may_change_the_carry(failures):
    def function(x):
        return npaccel.fori_loop(0, N, lambda i, s: s * 0.5 + x, 0.0)[1]

    def stacked(x):
        def step(s, i):
            return s * 0.5 + x, s * np.ones(3)

        return np.sum(npaccel.scan(step, 0, np.arange(N), reverse=True)[1] * np.arange(N)[:, None])

    with npaccel.options(backend="eager"):
        first, second = npaccel.grad(function)(X), npaccel.grad(stacked)(X)
    sums = [sum(0.5**j for j in range(k)) for k in range(N)]
    np.testing.assert_allclose(first, [0, sums[-1] + 0.5 ** (N - 1), 0])
    np.testing.assert_allclose(second, 3 * np.dot(sums[::-1], np.arange(N)) / 3)
    assert failures == ["an iteration changes the shape or dtype of what the next one gets"] * 2


def appended(x):
    rows = []

    def step(i, v):
        rows.append(v)
        return np.sin(v)

    npaccel.fori_loop(0, N, step, x)
    return np.sum(rows[3])


def branched(x):
    return np.sum(npaccel.fori_loop(0, N, lambda i, v: np.sin(v) if i % 2 else v * 2.0, x))


def exchanged(x):
    u = x.copy()

    def step(i, v):
        v[0] = i
        return v * x

    return np.sum(npaccel.fori_loop(0, N, step, u)) * u[0] + u[1]


def narrow(x):
    small = x.astype(np.float32)
    step = npaccel.fori_loop(0, N, lambda i, c: (c[0] + 0.1, c[1] * c[0]), (0.5, small))
    return np.sum(step[1])


@pytest.mark.parametrize("function", [appended, branched, exchanged, narrow])
def test_that_other_loops_are_unrolled(function, failures):
    with npaccel.options(backend="eager"):
        found = npaccel.grad(function)(X)
    expected = central_gradient(function, X, 1e-3 if function is narrow else 1e-6)
    tolerance = 1e-2 if function is narrow else 1e-6
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 10)
    assert len(failures) > 1


def test_that_a_long_loop_that_is_unrolled_says_why():
    def function(x):
        return np.sum(npaccel.fori_loop(0, 5000, lambda i, v: np.sin(v) if i % 2 else v, x))

    with (
        npaccel.options(backend="eager"),
        pytest.raises(npaccel.NotCompiledError, match=r"the loop in line \d+ is unrolled, because"),
    ):
        npaccel.grad(function)(X)


def test_that_numpys_errors_of_an_index_come():
    def function(x):
        return npaccel.fori_loop(0, N, lambda i, s: s + x[i], 0.0)

    with npaccel.options(backend="eager"), pytest.raises(IndexError):
        npaccel.grad(function)(X)


@pytest.mark.inductor
def test_that_the_code_is_as_long_for_more_iterations():
    def code_for(count):
        def function(x):
            return np.sum(npaccel.fori_loop(0, count, lambda i, v: np.sin(v), x))

        gradient = npaccel.grad(function)
        np.testing.assert_allclose(gradient(X), central_gradient(function, X), rtol=1e-6)
        return gradient.source()

    few, many = code_for(10), code_for(200)
    assert few.count("cpp_pybinding") == many.count("cpp_pybinding")
    assert few.replace("(10 +", "(200 +").count("(200 +") == many.count("(200 +") > 0
    assert abs(len(few) - len(many)) < 100


def test_that_torchs_gradients_go_through():
    def function(x):
        return npaccel.grad(counted)(x)

    x = torch.tensor(X, requires_grad=True)
    with npaccel.options(backend="aot_eager"):
        npaccel.grad(counted)(x).sum().backward()
        expected = npaccel.hessian(counted)(X).sum(axis=0)
    np.testing.assert_allclose(x.grad, expected)
    assert operator.SCAN is torch.ops.npaccel.scan.default


def diffused(x):
    def step(u, row):
        u = u + 0.1 * np.sin(u) * row
        return u, u**2

    _, rows = npaccel.scan(step, x, np.linspace(0, 1, 11), reverse=True)
    return np.sum(rows[:, 1] * np.arange(11.0)) + np.sum(rows[3])


@pytest.mark.parametrize(
    ("function", "checkpoint"), [(indexed, True), (diffused, 4), (diffused, 1), (nested, True)]
)
def test_that_checkpoints_change_no_gradient(function, checkpoint, only_scans):
    with npaccel.options(backend="eager"):
        found = npaccel.grad(function, checkpoint=checkpoint)(X)
        np.testing.assert_allclose(found, npaccel.grad(function)(X), rtol=1e-13)
        _, back = npaccel.vjp(function, X, checkpoint=checkpoint)
        np.testing.assert_allclose(back(np.float64(2.0))[0], 2 * found)


def test_that_checkpoints_keep_few_states(monkeypatch):
    lengths = []
    results = operator._results

    def noted(one, carry, length):
        lengths.append(length * (len(one.outputs) - one.carried))
        return results(one, carry, length)

    def function(x):
        for _ in range(100):
            x = x + 0.01 * np.sin(x)
        return np.sum(x)

    with npaccel.options(backend="eager"):
        plain, few = npaccel.grad(function), npaccel.grad(function, checkpoint=True)
        expected = plain(X), few(X)
        monkeypatch.setattr(operator, "_results", noted)
        np.testing.assert_array_equal(plain(X), expected[0])
        assert max(lengths) == sum(lengths) == 100
        lengths.clear()
        np.testing.assert_allclose(few(X), expected[0], rtol=1e-14)
        assert max(lengths) == 10
        assert sum(lengths) == 110


def test_that_checkpoints_are_numbers_of_iterations():
    with pytest.raises(ValueError, match="checkpoint is 0; pass True, False, or a positive number"):
        npaccel.grad(np.sum, checkpoint=0)
    with pytest.raises(ValueError, match="checkpoint is 'all'"):
        npaccel.value_and_grad(np.sum, checkpoint="all")


def test_that_nothing_is_kept_of_a_linear_loop(monkeypatch):
    def function(x):
        for _ in range(50):
            x = 0.5 * x + x[::-1] * 0.1
        return np.sum(x**2)

    kept = []
    results = operator._results

    def noted(one, carry, length):
        kept.append(len(one.outputs) - one.carried)
        return results(one, carry, length)

    monkeypatch.setattr(operator, "_results", noted)
    with npaccel.options(backend="eager"):
        found = npaccel.grad(function)(X)
    np.testing.assert_allclose(found, central_gradient(function, X), atol=1e-9)
    assert kept
    assert not any(kept)
