"""Decompositions on the device against scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import NMF, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.random_projection import GaussianRandomProjection
from sklearn_checking import errors_agree
from sklearn_comparing import accelerated, assert_same, compare
from sklearn_data import data
from sklearn_data import scaled as centred

from npaccel._sklearn.dispatch import transfers


def scaled(name, dtype="float64"):
    """Return data whose means aren't 0, so that they can be compared."""
    X, y = centred(name, dtype)
    return X + X.dtype.type(1), y


FLOATS = [("float64", 1e-5), ("float32", 2e-2)]


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), FLOATS)
@pytest.mark.parametrize("transposed", [False, True])
def test_truncated_svd(transposed, dtype, tolerance, container):
    X, _ = data("digits", dtype)
    X = np.ascontiguousarray(X[:50].T) if transposed else X
    estimator = TruncatedSVD(5, random_state=0, n_iter=8)
    theirs, mine = compare(
        estimator, X, methods=["transform"], tolerance=tolerance, container=container
    )
    with transfers.cpu_as_device():
        back = mine.inverse_transform(theirs.transform(X))
    assert_same(back, theirs.inverse_transform(theirs.transform(X)), tolerance, "inverse_transform")


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-2)])
@pytest.mark.parametrize("whiten", [False, True])
def test_incremental_pca(whiten, dtype, tolerance, container):
    X, _ = data("wine", dtype)
    estimator = IncrementalPCA(4, whiten=whiten, batch_size=50)
    theirs, mine = compare(
        estimator, X, methods=["transform"], tolerance=tolerance, container=container
    )
    if dtype == "float64":
        for method in ("get_covariance", "get_precision"):
            found = np.asarray(getattr(mine, method)())
            assert_same(found, getattr(theirs, method)(), 1e-6, method)
        with transfers.cpu_as_device():
            back = mine.inverse_transform(theirs.transform(X))
        assert_same(back, theirs.inverse_transform(theirs.transform(X)), 1e-8, "inverse_transform")


def test_incremental_pca_in_parts():
    X, _ = data("wine")
    theirs, mine = IncrementalPCA(), accelerated(IncrementalPCA())
    with transfers.cpu_as_device():
        for part in np.array_split(X, 4):
            theirs.partial_fit(part)
            mine.partial_fit(part)
    for name in ("components_", "mean_", "var_", "singular_values_", "explained_variance_ratio_"):
        assert_same(getattr(mine, name), getattr(theirs, name), 1e-8, name)


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"algorithm": "deflation", "fun": "exp"},
        {"whiten": "arbitrary-variance", "fun": "cube", "whiten_solver": "eigh"},
        {"whiten": False, "n_components": None},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fast_ica(params, container):
    X, _ = scaled("wine")
    X = X[:, :4] if params.get("whiten") is False else X
    estimator = FastICA(**{"n_components": 3, "random_state": 1, "max_iter": 60, **params})
    theirs, mine = compare(estimator, X, methods=["transform"], tolerance=1e-5, container=container)
    with transfers.cpu_as_device():
        back = mine.inverse_transform(theirs.transform(X))
        found = accelerated(estimator).fit_transform(X)
    assert_same(back, theirs.inverse_transform(theirs.transform(X)), 1e-5, "inverse_transform")
    assert_same(found, estimator.fit_transform(X), 1e-5, "fit_transform")


def test_fast_ica_of_float32():
    X, _ = scaled("wine", "float32")
    estimator = FastICA(3, random_state=1, tol=1e-3)
    compare(
        estimator, X, methods=["transform"], tolerance=5e-2, skip=["n_iter_"], container="device"
    )


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("rotation", [None, "varimax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_factor_analysis(dtype, rotation, container):
    X, _ = scaled("wine", dtype)
    estimator = FactorAnalysis(3, rotation=rotation)
    methods = ["transform", "score_samples"]
    theirs, mine = compare(estimator, X, methods=methods, tolerance=1e-4, container=container)
    for method in ("get_covariance", "get_precision"):
        assert_same(np.asarray(getattr(mine, method)()), getattr(theirs, method)(), 1e-4, method)
    with transfers.cpu_as_device():
        assert float(mine.score(X)) == pytest.approx(theirs.score(X), rel=1e-5)


def test_factor_analysis_by_lapack():
    X, _ = scaled("wine")
    estimator = FactorAnalysis(3, svd_method="lapack", noise_variance_init=np.full(13, 0.5))
    theirs, mine = compare(estimator, X, skip=["components_"], tolerance=1e-6, container="device")
    assert_same(np.abs(mine.components_), np.abs(theirs.components_), 1e-6, "components_")


@pytest.mark.parametrize("container", ["tensor", "device"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"init": "random", "shuffle": True, "alpha_W": 0.01, "l1_ratio": 0.5},
        {"init": "nndsvdar"},
        {"solver": "mu"},
        {"solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 0.01},
        {"solver": "mu", "beta_loss": "itakura-saito", "init": "random"},
        {"solver": "mu", "beta_loss": 2.5},
        {"solver": "mu", "beta_loss": 0.5},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nmf(params, container):
    X, _ = data("wine")
    X = X + 0.1
    estimator = NMF(3, random_state=0, max_iter=40, **params)
    theirs, mine = compare(estimator, X, methods=["transform"], tolerance=1e-5, container=container)
    with transfers.cpu_as_device():
        found = accelerated(estimator).fit_transform(X)
        back = mine.inverse_transform(theirs.transform(X))
    assert_same(found, estimator.fit_transform(X), 1e-5, "fit_transform")
    assert_same(back, theirs.inverse_transform(theirs.transform(X)), 1e-5, "inverse_transform")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nmf_of_float32():
    X, _ = data("digits", "float32")
    estimator = NMF(4, random_state=0, max_iter=30)
    compare(
        estimator, X, methods=["transform"], tolerance=2e-2, skip=["n_iter_"], container="device"
    )


def test_ica_where_the_first_column_is_constant():
    X = np.random.default_rng(0).uniform(size=(60, 4))
    X[:, 0] = 1.0
    with transfers.cpu_as_device():
        found = accelerated(FastICA(3, random_state=0)).fit_transform(X)
    np.testing.assert_allclose(np.cov(found.T, ddof=0), np.eye(3), atol=1e-6)


@pytest.mark.parametrize("container", ["array", "tensor", "device"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gaussian_projection(dtype, container):
    X, _ = data("digits", dtype)
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    for inverse in (False, True):
        estimator = GaussianRandomProjection(6, random_state=2, compute_inverse_components=inverse)
        theirs, mine = compare(
            estimator, X, methods=["transform"], tolerance=tolerance, container=container
        )
        with transfers.cpu_as_device():
            back = mine.inverse_transform(theirs.transform(X))
        assert_same(back, theirs.inverse_transform(theirs.transform(X)), tolerance, "inverse")


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (TruncatedSVD(5), np.ones((4, 3))),
        (TruncatedSVD(1), np.ones((4, 1))),
        (IncrementalPCA(4), np.ones((10, 3))),
        (FastICA(2, fun_args={"alpha": 3.0}), np.eye(3)),
        (FastICA(2, w_init=np.ones((3, 3))), np.eye(3)),
        (FastICA(fun="no"), np.eye(3)),
        (FactorAnalysis(noise_variance_init=[1.0]), np.eye(3)),
        (NMF(2), -np.ones((3, 3))),
        (NMF(5, init="nndsvd"), np.ones((3, 3))),
        (NMF(2, solver="mu", beta_loss=0), np.eye(3)),
        (NMF(2, beta_loss=1), np.eye(3)),
        (GaussianRandomProjection(), np.ones((100, 3))),
        (GaussianRandomProjection(), [[np.nan, 1.0]]),
    ],
)
def test_errors_are_scikit_learns(estimator, X):
    errors_agree(estimator, X)


def test_errors_of_transforms():
    errors_agree(NMF(1), -np.eye(3), method="transform", given=[np.eye(3)])
    errors_agree(FastICA(2), np.ones((2, 5)), method="transform", given=[np.eye(3)])
