"""Inner loops over columns, several of them at a time, compute what each would alone."""

import copy
import random

import numpy as np
import pytest
from nest_checking import check, compiled
from small_programs import run

from npaccel._loops.nests import unroll_and_jam

pytest.importorskip("numba")


pytestmark = pytest.mark.sampled


@pytest.fixture
def jams(monkeypatch):
    """Return what says how many loops were taken statement by statement."""
    found = []
    own = unroll_and_jam._Jam.written

    def written(self, body):
        found.append(self)
        return own(self, body)

    monkeypatch.setattr(unroll_and_jam._Jam, "written", written)
    return found


def gram_schmidt(a, q, r, n):
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return (a,)


def matrices(m, n, seed=0):
    return np.random.default_rng(seed).normal(size=(m, n)), np.zeros((m, n)), np.zeros((n, n)), n


def test_sizes(jams):
    nest = compiled(gram_schmidt, *matrices(12, 12))
    assert jams
    for n in (0, 1, 8, 9, 10, 11, 12, 23):
        for more in (0, 3, 6):
            check(gram_schmidt, *matrices(n + more, n), nest=nest, ulps=1e6)
    check(gram_schmidt, *matrices(0, 12), nest=nest)


def shares(a, q, r):
    for k in range(3):
        for j in range(a.shape[1]):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return (r,)


def test_more_columns_than_are_taken_at_a_time(jams):
    numbers = np.random.default_rng(1)
    n = 2 * unroll_and_jam._MOST + 7
    check(
        shares, numbers.normal(size=(6, n)), numbers.normal(size=(6, 3)), np.zeros((3, n)), ulps=64
    )
    assert jams


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0])
def test_what_is_no_number_or_infinite(special):
    numbers = np.random.default_rng(2)
    a = numbers.normal(size=(5, 20))
    a[2, 4], a[4, 19] = special, special
    check(shares, a, numbers.normal(size=(5, 3)), np.zeros((3, 20)), ulps=64)


def test_an_index_out_of_bounds_leaves_what_python_does():
    a, q, r, _ = matrices(20, 15)
    nest = check(gram_schmidt, a, q, r, 15, ulps=1e6)
    check(gram_schmidt, a, q, r, 16, nest=nest, ulps=1e6)
    check(gram_schmidt, a, q, r[:, :12].copy(), 15, nest=nest, ulps=1e6)
    check(gram_schmidt, a, q, r[:2].copy(), 15, nest=nest, ulps=1e6)
    check(gram_schmidt, a, q[:, :3].copy(), r, 15, nest=nest, ulps=1e6)
    check(gram_schmidt, a, q[:19].copy(), r, 15, splits=False)


def from_the_end(a, q, r, start, k):
    for _ in range(2):
        for j in range(start, 12):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return (r,)


def test_negative_indices():
    a, q, r, _ = matrices(4, 12, 3)
    q += 1
    nest = check(from_the_end, a, q, r, 0, 0, ulps=64)
    for start, k in ((-12, 0), (-3, 1), (0, -1), (2, -12), (0, -13), (-13, 0), (12, 0), (30, 0)):
        check(from_the_end, a, q, r, start, k, nest=nest, ulps=64)


def names_afterwards(a, v, total, j):
    for _ in range(3):
        for j in range(a.shape[1]):  # noqa: PLR1704
            total = v @ a[:, j]
            a[:, j] *= total
    return total, j, a


def test_names_have_the_values_of_the_last_iteration(jams):
    numbers = np.random.default_rng(4)
    nest = compiled(names_afterwards, numbers.random((4, 11)), numbers.random(4), 7, 8)
    assert jams
    for n in (0, 1, 9, 30):
        check(names_afterwards, numbers.random((4, n)), numbers.random(4), 7, 8, nest=nest, ulps=64)


def neighbours(a, v):
    for _ in range(2):
        for j in range(1, a.shape[1]):
            a[:, j] -= v * a[:, j - 1]
    return (a,)


def carried(a, v, total):
    for _ in range(2):
        for j in range(a.shape[1]):
            total = total + v @ a[:, j]
            a[:, j] *= total
    return total, a


def one_row_for_all(a, v):
    for _ in range(2):
        for j in range(a.shape[1]):
            a[:, j] *= v
            v[0] = v @ a[:, j]
    return (a,)


def divided(a, v, h):
    for _ in range(2):
        for j in range(a.shape[1]):
            a[:, j] -= v
            a[:, j] *= 1 / h
    return (a,)


@pytest.mark.parametrize("function", [neighbours, carried, one_row_for_all, divided])
def test_iterations_that_need_each_other_or_may_raise(function, jams):
    numbers = np.random.default_rng(5)
    more = {carried: (1.0,), divided: (0.0,)}.get(function, ())
    check(function, numbers.random((4, 20)), numbers.random(4), *more, ulps=1e4)
    assert not jams


def test_arrays_that_share_memory():
    a, q, r, n = matrices(12, 12, 6)
    nest = compiled(gram_schmidt, a, q, r, n, splits=True)
    assert nest(a, a, r, n) is None
    whole = np.zeros((13, 12))
    assert nest(whole[:-1], whole[1:], r, n) is None


@pytest.mark.parametrize("view", [np.asfortranarray, lambda a: a.repeat(2, 1)[:, ::2]])
def test_other_layouts(view, jams):
    a, q, r, n = matrices(13, 12, 7)
    check(gram_schmidt, view(a), view(q), r, n, ulps=1e6)
    assert not jams


def test_the_order_of_additions_stays(monkeypatch):
    """Each iteration computes what it would alone, to the last bit."""
    numbers = np.random.default_rng(8)
    given = numbers.normal(size=(37, 21)), numbers.normal(size=(37, 3)), np.zeros((3, 21))
    ours, alone = copy.deepcopy(given), copy.deepcopy(given)
    compiled(shares, *given)(*ours)
    monkeypatch.setattr(unroll_and_jam, "unrolled", lambda made, *_: made)
    monkeypatch.setattr("npaccel._loops.nests.numba_backend._compiled", {})
    compiled(shares, *given)(*alone)
    for one, other in zip(ours, alone, strict=True):
        np.testing.assert_array_equal(one, other)


STATEMENTS = [
    *("r[k, j] = {}", "t = {}", "a[:, j] -= {} * v", "a[:, j] = b[:, j] * {}", "w[j] = {}"),
    *("a[1:, j] += q[1:, k] * {}", "b[:, j] /= {}", "r[k, j] += {}", "w[j] *= {}"),
    *("u = q[:, k] * {}", "a[:, j] *= a[:, j] - {}", "a[:, j] = {}", "r[j % 3, j] = {}"),
    *("v[:] = {}", "a[:, j + 1] = {}", "t += {}", "a[k, j] = {}", "a[:-1, j] = b[1:, j] - {}"),
]
NUMBERS = [
    *("v @ a[:, j]", "np.dot(q[:, k], b[:, j])", "0.5", "t", "h", "r[k, j]", "w[j]", "w[c]"),
    *("a[:, j].sum()", "v @ v", "1 / h", "j", "h * t", "a[k, j]", "np.sqrt(b[:, j] @ b[:, j])"),
    *("c", "a[-1, j]", "b[k, j] / a[0, j]", "q[:, k] @ a[:, j] - t"),
]


def program(seed):
    """Return a random loop over columns."""
    own = random.Random(seed)
    iterations = own.choice(
        ["range(n)", "range(k, n)", "range(k + 1, n)", "range(c, n)", "range(1, n)"]
    )
    lines = [own.choice(STATEMENTS) for _ in range(own.randint(1, 4))]
    lines = [line.format(own.choice(NUMBERS)) for line in lines]
    body = "".join(f"            {line}\n" for line in lines)
    return (
        "def nest(a, b, r, q, v, w, h, c, n, t):\n    for k in range(3):\n"
        f"        for j in {iterations}:\n{body}    return (a,)\n"
    )


def values(seed):
    own = np.random.default_rng(seed)
    m, n = int(own.integers(3, 7)), int(own.integers(0, 30))
    short = int(own.integers(0, 8)) == 0
    arrays = {
        "a": own.normal(size=(m, n)),
        "b": own.normal(size=(m, n)),
        "r": own.normal(size=(3, n - 1 if short and n else n)),
        "q": own.normal(size=(m, 2 if own.integers(0, 8) == 0 else 3)),
        "v": own.normal(size=m),
        "w": own.normal(size=n),
    }
    return {
        **arrays,
        "h": float(own.integers(-1, 3)),
        "c": int(own.integers(-2, 3)),
        "n": n + int(own.integers(0, 9) == 0),
        "t": np.float64(0.25),
    }


def test_random_loops_over_columns(jams):
    """Their code is run by Python, which takes no time to compile it."""
    same = 0
    for seed in range(60):
        before = len(jams)
        outcome = run(program(seed), *(values(1000 * seed + i) for i in range(4)))
        same += outcome == "the same" and len(jams) > before
    assert same > 8
