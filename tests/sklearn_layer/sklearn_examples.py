"""Each device estimator with parameters and data that suit it.

For what is said of all of them: the page on precision, and the measurements of speed.
"""

import inspect
import warnings

import numpy as np
from sklearn.base import is_classifier, is_regressor

#: Parameters by public name, where scikit-learn's defaults don't suit small data.
_PARAMETERS = {
    "cluster.DBSCAN": {"eps": 3.0},
    "cluster.KMeans": {"n_clusters": 5, "n_init": 2},
    "cluster.MiniBatchKMeans": {"n_clusters": 5, "n_init": 2},
    "decomposition.FactorAnalysis": {"n_components": 5},
    "decomposition.FastICA": {"n_components": 5, "max_iter": 1000},
    "decomposition.IncrementalPCA": {"n_components": 5},
    "decomposition.KernelPCA": {"n_components": 5, "kernel": "rbf"},
    "decomposition.NMF": {"n_components": 5, "init": "nndsvda"},
    "decomposition.PCA": {"n_components": 5},
    "decomposition.TruncatedSVD": {"n_components": 5},
    "discriminant_analysis.QuadraticDiscriminantAnalysis": {"reg_param": 0.1},
    "feature_selection.GenericUnivariateSelect": {"mode": "k_best", "param": 5},
    "feature_selection.SelectKBest": {"k": 5},
    "linear_model.ElasticNet": {"alpha": 0.01},
    "linear_model.Lasso": {"alpha": 0.01},
    "linear_model.LogisticRegression": {"max_iter": 1000},
    "manifold.TSNE": {"method": "exact", "max_iter": 300},
    "mixture.GaussianMixture": {"n_components": 3, "reg_covar": 1e-2},
    "neighbors.RadiusNeighborsClassifier": {"radius": 10.0},
    "neighbors.RadiusNeighborsRegressor": {"radius": 20.0, "weights": "distance"},
    "neural_network.MLPClassifier": {"max_iter": 20},
    "neural_network.MLPRegressor": {"max_iter": 20},
    "preprocessing.KBinsDiscretizer": {"encode": "ordinal"},
    "preprocessing.OneHotEncoder": {"sparse_output": False},
    "preprocessing.QuantileTransformer": {"n_quantiles": 50},
    "random_projection.GaussianRandomProjection": {"n_components": 5},
    "random_projection.SparseRandomProjection": {"n_components": 5},
    "svm.LinearSVC": {"tol": 1e-8, "dual": False, "max_iter": 10_000},
    "svm.LinearSVR": {
        "loss": "squared_epsilon_insensitive",
        "dual": False,
        "tol": 1e-8,
        "max_iter": 10_000,
    },
}
#: Whose columns can't be negative, hold categories, and have gaps.
_COUNTS = ("naive_bayes.ComplementNB", "naive_bayes.MultinomialNB", "decomposition.NMF")
_CATEGORIES = ("preprocessing.OneHotEncoder", "preprocessing.OrdinalEncoder")
_GAPS = ("impute.",)
#: Methods whose results are looked at.
METHODS = (
    "transform",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "kneighbors",
)


def estimator(row):
    """Return scikit-learn's estimator of a row, unfitted."""
    known = inspect.signature(row.sklearn).parameters
    random = {"random_state": 0} if "random_state" in known else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of those that are deprecated
        return row.sklearn(**{**random, **_PARAMETERS.get(row.name, {})})


def kind(row):
    """Return "classifier", "regressor" or "other"."""
    one = estimator(row)
    if is_classifier(one):
        return "classifier"
    return "regressor" if is_regressor(one) else "other"


def suited(row, X, y):
    """Return float64 data as a row's estimator takes it: X, and y or None."""
    X = X[:, X.std(axis=0) > 0]
    if row.name in _COUNTS:
        X = X - X.min(axis=0)
    if row.name in _CATEGORIES:
        X = np.round(X)
    if row.name.startswith(_GAPS):
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    if kind(row) == "regressor":
        y = (y - y.min()) / (y.max() - y.min()) + 0.1  # some take positive numbers only
    return X, y


def cast(array, dtype):
    """Return floats in a dtype, and labels as they are."""
    return array.astype(dtype) if array.dtype.kind == "f" else array
