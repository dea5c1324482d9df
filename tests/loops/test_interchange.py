"""Loops along the last axis, written as loops over columns: the same in all that shows."""

import numpy as np
import pytest
from nest_checking import check, nest_of

from npaccel._loops.nests.lowering import lower_nest

pytest.importorskip("numba")


def solved(lower, diagonal, upper, rhs, c, x, nz):
    for k in range(1, nz):
        pivot = diagonal[..., k] - lower[..., k] * c[..., k - 1]
        c[..., k] = upper[..., k] / pivot
        x[..., k] = (rhs[..., k] - lower[..., k] * x[..., k - 1]) / pivot
    for k in range(nz - 2, -1, -1):
        x[..., k] -= c[..., k] * x[..., k + 1]
    return ()


@pytest.mark.sampled
@pytest.mark.parametrize("others", [(2, 1), (1, 3), (3, 4), (2, 5), (1, 2, 9), (7,), (2, 0)])
def test_columns_next_to_each_other(others):
    values = np.random.default_rng(len(others)).standard_normal((6, *others, 6))
    values[2, ..., 3] = 0.0
    values[3].ravel()[: values[3].size // 7] = np.nan
    nest = None
    for nz in (6, 1, 0, 3):
        nest = check(solved, *values.copy(), nz, nest=nest)
    source = lowered_source(solved, *values, 6)
    assert source.count(" / ") == (10 if len(others) > 1 else 2)


def lowered_source(function, *args):
    nest = nest_of(function)
    values = dict(zip((a.arg for a in nest.args.args), args, strict=True))
    return lower_nest.lower(nest, values, function.__globals__, narrow=False).source
