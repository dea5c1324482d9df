"""SparseRandomProjection on the device against scikit-learn's."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.random_projection import SparseRandomProjection
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, compare
from sklearn_data import data

from npaccel._sklearn.dispatch import transfers


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
@pytest.mark.parametrize("inverse", [True, False])
def test_equals_scikit_learn(inverse, dtype, tolerance, container):
    X, _ = data("digits", dtype)
    estimator = SparseRandomProjection(
        6, random_state=2, compute_inverse_components=inverse, dense_output=inverse
    )
    options = {"methods": ["transform", "fit_transform"], "tolerance": tolerance}
    theirs, mine = compare(estimator, X, container=container, **options)
    assert type(mine.components_) is type(theirs.components_)
    assert mine.components_.dtype == theirs.components_.dtype
    assert abs(mine.components_ - theirs.components_).sum() == 0
    Z = theirs.transform(X)
    with transfers.cpu_as_device():
        found = mine.inverse_transform(Z)
    wanted = theirs.inverse_transform(Z)
    np.testing.assert_allclose(
        np.asarray(found), wanted, rtol=0, atol=10 * tolerance * np.abs(wanted).max()
    )


def test_density_and_the_number_of_components():
    X = np.random.default_rng(0).normal(size=(50, 2000))
    estimator = SparseRandomProjection(density=0.3, eps=0.9, random_state=0)
    compare(estimator, X, methods=["transform"], container="device")
    with pytest.warns(DataDimensionalityWarning):
        compare(SparseRandomProjection(9, random_state=0), X[:, :3], container="device")


def test_the_dense_copy_is_made_once_and_not_kept_in_pickles():
    X, _ = data("digits")
    with transfers.cpu_as_device():
        mine = accelerated(SparseRandomProjection(6, random_state=2)).fit(X)
        wanted = mine.transform(X)
        again = mine.transform(X)
        assert [step.copies_in for step in mine.report_.steps][-1] <= 3
    np.testing.assert_array_equal(again, wanted)
    loaded = pickle.loads(pickle.dumps(mine))
    assert sparse.issparse(loaded.components_)
    np.testing.assert_array_equal(loaded.transform(X), clone(mine).fit(X).transform(X))


def test_sparse_data_and_many_components_go_to_scikit_learn(monkeypatch):
    X, _ = data("digits")
    estimator = SparseRandomProjection(6, random_state=2)
    theirs = clone(estimator).fit(X)
    with transfers.cpu_as_device():
        mine = accelerated(estimator).fit(sparse.csr_matrix(X))
        assert mine.report_.steps[0].route == "host"
        found = mine.transform(sparse.csr_matrix(X))
        assert sparse.issparse(found)
        np.testing.assert_allclose(found.toarray(), theirs.transform(X), atol=1e-10)
        monkeypatch.setattr("npaccel._sklearn.random_projection._LARGEST", 5)
        np.testing.assert_allclose(mine.transform(X), theirs.transform(X), atol=1e-10)
        assert "dense" in mine.report_.steps[-1].reason


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (SparseRandomProjection(), np.ones((100, 3))),
        (SparseRandomProjection(3, density=2.0), np.ones((100, 3))),
        (SparseRandomProjection(2), [[np.nan, 1.0]]),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)
