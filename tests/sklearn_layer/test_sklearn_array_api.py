"""Accelerated estimators beside scikit-learn's own array API: other libraries and attributes."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_union
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, scale
from sklearn_data import data

import npaccel
import npaccel.sklearn


@pytest.mark.slow
def test_arrays_of_another_library():
    """scikit-learn's own code computes with them as if npaccel weren't there."""
    pytest.importorskip("array_api_strict")
    program = Path(__file__).with_name("sklearn_other_library.py")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, program], check=False, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=20),
        PoissonRegressor(max_iter=20),
        Ridge(),
        PCA(2),
        GaussianMixture(2, random_state=0, max_iter=3),
        LinearDiscriminantAnalysis(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_attributes_are_tensors_wherever_they_were_computed(request, model, apart):
    if apart:
        request.getfixturevalue("as_device")
    X, y = data("wine")
    theirs = clone(model).fit(X, y)
    mine = npaccel.sklearn.accelerate(model).fit(torch.from_numpy(X), torch.from_numpy(y))
    known = {n: v for n, v in vars(theirs).items() if isinstance(v, np.ndarray)}
    assert known
    for name, wanted in known.items():
        found = getattr(mine, name)
        assert isinstance(found, torch.Tensor), name
        assert found.shape == wanted.shape
        assert str(found.dtype) == f"torch.{wanted.dtype}"


def test_samples_are_what_it_was_fitted_with(as_device):
    """The first argument is how many, which says nothing of arrays and tensors."""
    X, _ = data("wine")
    for model in (GaussianMixture(2, random_state=0), KernelDensity()):
        mine = npaccel.sklearn.accelerate(model)
        found = mine.fit(torch.from_numpy(X)).sample(3)
        assert isinstance(found[0] if isinstance(found, tuple) else found, torch.Tensor)
        found = mine.fit(X).sample(3)
        assert isinstance(found[0] if isinstance(found, tuple) else found, np.ndarray)


def test_what_is_frozen_isnt_cloned():
    X, y = data("wine")
    frozen = FrozenEstimator(LinearDiscriminantAnalysis().fit(X, y))
    mine = npaccel.sklearn.accelerate(frozen)
    assert clone(mine) is mine
    model = CalibratedClassifierCV(frozen)
    with npaccel.sklearn.accelerated():
        found = model.fit(X, y).predict_proba(X)
    wanted = CalibratedClassifierCV(FrozenEstimator(LinearDiscriminantAnalysis().fit(X, y)))
    np.testing.assert_allclose(found, wanted.fit(X, y).predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["log_loss", "brier_score_loss", "roc_auc_score", "hinge_loss", "top_k_accuracy_score"]
)
def test_what_metrics_make_of_labels_is_their_own(name):
    """Inside of the block, too, they read tensors as arrays."""
    random = np.random.default_rng(0)
    labels = np.arange(30) % 3
    scores = random.dirichlet(np.ones(3), 30)
    more = {"multi_class": "ovr"} if name == "roc_auc_score" else {}
    metric = getattr(metrics, name)
    with npaccel.sklearn.accelerated():
        found = metric(torch.from_numpy(labels), torch.from_numpy(scores), **more)
    assert found == pytest.approx(metric(labels, scores, **more))


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.parametrize("make", [LogisticRegression, PoissonRegressor], ids=lambda k: k.__name__)
def test_minimisers_end_in_float32(make, name):
    """What moves by less than a unit of float32 seems to be nothing, as in scikit-learn."""
    X, y = data(name)
    X = scale(X).astype(np.float32)
    model = make(tol=1e-12, max_iter=2000)
    with warnings.catch_warnings(), npaccel.options(backend="eager"):
        warnings.simplefilter("error")
        model.fit(X, y)
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(len(X))
            mine = npaccel.sklearn.accelerate(model)
            mine.fit(torch.from_numpy(X[rows]), torch.from_numpy(y[rows]))
            np.testing.assert_allclose(mine.coef_.numpy(), model.coef_, rtol=5e-3, atol=2e-3)


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        SelectFromModel(Ridge()),
        SelectKBest(k=2),
        MissingIndicator(features="missing-only"),
        SimpleImputer(add_indicator=True),
        KNNImputer(add_indicator=True),
        OneHotEncoder(sparse_output=False),
        KBinsDiscretizer(2, strategy="uniform"),
        PCA(2),
        make_union(PCA(2), SelectKBest(k=2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_names_of_features_fitted_with_tensors(as_device, model, as_table):
    """scikit-learn's own code makes names of what was learnt, in NumPy."""
    X, y = data("wine")
    X = np.round(X[::4, :4])
    y = y[::4]
    if "Imputer" in type(model).__name__ or "Missing" in type(model).__name__:
        X[3, 1] = np.nan
    theirs = clone(model).fit(X, y)
    mine = npaccel.sklearn.accelerate(model)
    if as_table:
        mine.set_output(transform="pandas")
    mine.fit(torch.from_numpy(X), torch.from_numpy(y))
    np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())
    if hasattr(theirs, "get_support"):
        np.testing.assert_array_equal(mine.get_support(), theirs.get_support())


def test_types_among_parameters_are_no_arrays(as_device):
    """`dtype=np.float64` is a class of NumPy's: the encoder's route is its own."""
    X = np.arange(12.0).reshape(6, 2)
    mine = npaccel.sklearn.accelerate(OrdinalEncoder()).fit(torch.from_numpy(X))
    assert {step.route for step in mine.report_.steps} == {"device"}
