"""Writes to part of an array in nests that read rows of the same array."""

import numpy as np
import pytest
from small_programs import run

from npaccel._loops.nests.scalarize import expressions

STATEMENTS = [
    "a[k + 1:, k:] -= np.outer(v[k + 1:], a[k, k:])",
    "a[k:] -= a[k]",
    "a[:] = a[k] * 2 + a[-1]",
    "a[1:, 1:] *= a[0, 1:] - a[1:, :-1]",
    "a[:, :] += v * a[:, k]",
    "a[:k] = a[k] / a[:k]",
    "c[1:] += c[0] - c[1]",
    "c[:, k] = c[:, k] - c[0, 1]",
    "c[k, :, 1:] -= c[k, 0, 1:] * c[k, :, :-1]",
]


def nest(statement):
    head = "def nest(a, c, v, n):\n    for k in range(n - 1):\n        "
    return f"{head}{statement}\n    return (a,)\n"


def values(n, seed):
    numbers = np.random.default_rng(seed)
    square, box = numbers.normal(size=(n, n)), numbers.normal(size=(n, n, n))
    return {"a": square, "c": box, "v": numbers.normal(size=n), "n": max(n, 2)}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_of_what_is_written(statement):
    assert run(nest(statement), *(values(n, n) for n in (4, 3, 2, 1, 7))) == "the same"


def test_only_the_row_is_copied(monkeypatch):
    copied = []
    own = expressions.materialised

    def materialised(rewriting, made):
        copied.append(len(made.lengths))
        return own(rewriting, made)

    monkeypatch.setattr(expressions, "materialised", materialised)
    assert run(nest(STATEMENTS[0]), values(5, 0)) == "the same"
    assert copied == [1]


def test_values_that_are_no_numbers():
    given = values(5, 1)
    given["a"][2, 3], given["a"][0, 1] = np.nan, np.inf
    assert run(nest(STATEMENTS[0]), given) == "the same"
