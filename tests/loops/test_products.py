"""Products of vectors and matrices in compiled nests: sizes, strides, what isn't a number."""

import numpy as np
import pytest
from nest_checking import check, compiled

pytest.importorskip("numba")


def rows(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] @ b
    return (out,)


def forwards(lower, x):
    for i in range(len(x)):
        x[i] = (x[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return (x,)


def squares(a, b, c, total):
    for i in range(3):
        total[i:] += (a[i:] @ b) @ c
    return (total,)


def arguments(n, m):
    random = np.random.default_rng(n + 10 * m)
    return random.normal(size=(3, n)), random.normal(size=(n, m)), np.zeros((3, m))


def test_any_number_of_rows_and_columns():
    nest = compiled(rows, *arguments(5, 3))
    for n in range(10):
        for m in (0, 1, 3, 17):
            check(rows, *arguments(n, m), nest=nest, ulps=8)


def test_strided_operands():
    a, b, out = arguments(11, 6)
    check(rows, a.repeat(2, 1)[:, ::-2], b.T.copy().T, out.repeat(3, 1)[:, ::3], ulps=8)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_or_infinite(special):
    a, b, out = arguments(7, 3)
    a[1, 5], b[6, 2] = special, 0.0
    check(rows, a, b, out, ulps=8)


def test_a_triangle_solved_with_its_own_rows():
    random = np.random.default_rng(0)
    lower = np.tril(random.random((13, 13))) + np.eye(13)
    nest = check(forwards, lower, random.random((13, 4)), ulps=64)
    check(forwards, lower[:6, :6].copy(), random.random((6, 4)), nest=nest, ulps=64)


def test_products_of_matrices():
    random = np.random.default_rng(1)
    a, b, c = random.random((3, 6)), random.random((6, 5)), random.random((5, 2))
    check(squares, a[:, :], b, c, np.zeros((3, 2)), ulps=64)
