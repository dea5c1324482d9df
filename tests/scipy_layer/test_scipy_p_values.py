"""p-values of statistics: npaccel's own where gradients are wanted, else SciPy's loops on a CPU."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from npaccel._scipy.dispatch import element_loops
from npaccel._scipy.stats._samples import chi_square, fisher, student

VALUES = np.array([-math.inf, -30.0, -2.5, -1e-3, 0.0, 1e-3, 0.7, 4.0, 60.0, math.inf, math.nan])
FREE = (1.0, 2.5, 30.0, 999.0)


@pytest.fixture(params=[False, True], ids=["scipy", "npaccel"])
def statistic(request, monkeypatch):
    """A function that makes a statistic of which gradients are wanted, or not."""
    asked = []
    original = element_loops.in_scipy
    monkeypatch.setattr(
        element_loops, "in_scipy", lambda *args: asked.append(args) or original(*args)
    )
    yield lambda values: torch.from_numpy(values).requires_grad_(request.param)
    assert bool(asked) is not request.param


def same(found, wanted):
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("df", FREE)
def test_student(statistic, df):
    t = scipy.stats.t(df)
    for alternative, wanted in {
        "two-sided": 2 * t.sf(np.abs(VALUES)),
        "greater": t.sf(VALUES),
        "less": t.cdf(VALUES),
    }.items():
        same(student(statistic(VALUES), df, alternative), wanted)


@pytest.mark.parametrize("df", FREE)
def test_chi_square(statistic, df):
    same(chi_square(statistic(VALUES), df), scipy.stats.chi2.sf(VALUES, df))
    same(chi_square(statistic(VALUES), df, right=False), scipy.stats.chi2.cdf(VALUES, df))


@pytest.mark.parametrize("df", FREE)
def test_fisher(statistic, df):
    same(fisher(statistic(VALUES), 3.0, df), scipy.stats.f.sf(VALUES, 3.0, df))
