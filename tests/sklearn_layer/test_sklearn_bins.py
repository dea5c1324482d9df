"""KBinsDiscretizer on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.preprocessing import KBinsDiscretizer
from sklearn_checking import errors_agree
from sklearn_comparing import assert_same, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers


def check(estimator, X, methods, container="device"):
    theirs, mine = compare(
        estimator, X, methods=methods, skip=["bin_edges_"], tolerance=0, container=container
    )
    assert mine.bin_edges_.dtype == object
    for a, b in zip(mine.bin_edges_, theirs.bin_edges_, strict=True):
        assert_same(a, b, 1e-12, "bin_edges_")
    return theirs, mine


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("encode", ["ordinal", "onehot-dense"])
@pytest.mark.parametrize(
    ("strategy", "method"),
    [
        ("uniform", "linear"),
        ("quantile", "linear"),
        ("quantile", "inverted_cdf"),
        ("quantile", "averaged_inverted_cdf"),
    ],
)
@pytest.mark.filterwarnings("ignore:Feature:UserWarning", "ignore:Bins whose:UserWarning")
def test_equals_scikit_learn(strategy, method, encode, dtype, container):
    estimator = KBinsDiscretizer(4, strategy=strategy, quantile_method=method, encode=encode)
    for X in (data("wine", dtype)[0], data("digits", dtype)[0][:300, :20]):
        check(estimator, X, ["transform"], container)


@pytest.mark.filterwarnings("ignore:Feature:UserWarning", "ignore:Bins whose:UserWarning")
def test_inverse_transform_and_draws():
    X = data("wine")[0]
    estimator = KBinsDiscretizer(4, encode="ordinal", subsample=60, random_state=1)
    theirs, mine = check(estimator, X, ["transform"])
    codes = theirs.transform(X)
    with transfers.cpu_as_device():
        np.testing.assert_array_equal(
            mine.inverse_transform(codes), theirs.inverse_transform(codes)
        )


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (KBinsDiscretizer(1, encode="ordinal"), np.ones((3, 2))),
        (KBinsDiscretizer([2, 3, 4], encode="ordinal"), np.ones((3, 2))),
        (KBinsDiscretizer(3, encode="ordinal"), np.full((3, 2), np.nan)),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)
