"""Fit and call estimators with arrays of array_api_strict, bare and accelerated, and compare.

In a process of its own: the dispatch wants ``SCIPY_ARRAY_API=1`` before SciPy is imported.
"""

import functools

import array_api_strict as xp
import numpy as np
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import npaccel.sklearn

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(30, 4))
Y = (X[:, 0] > 0).astype(np.int64)
MODELS = [
    lambda: PCA(2, svd_solver="full"),
    lambda: Ridge(solver="svd"),
    lambda: LogisticRegression(),
    lambda: MinMaxScaler(),
    lambda: make_pipeline(StandardScaler(), PCA(2, svd_solver="full")),
    lambda: make_pipeline(MinMaxScaler(), Ridge(solver="svd")),
    lambda: GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, cv=2),
]


def told(function):
    try:
        return function()
    except Exception as error:  # noqa: BLE001 (compared with scikit-learn's)
        return f"{type(error).__name__}: {error}"


def asked(model, dispatch):
    """Return what a model gives for arrays of the library, then for NumPy's, and after a refit."""
    found = []
    data = xp.asarray(X)
    with config_context(array_api_dispatch=dispatch):
        found.append(told(lambda: model.fit(data, xp.asarray(Y)) and None))
        names = [name for name in ("transform", "predict", "score") if hasattr(model, name)]
        for name in names:
            for given, labels in ((data, xp.asarray(Y)), (X, Y)):
                more = (labels,) if name == "score" else ()
                found.append(told(functools.partial(getattr(model, name), given, *more)))
        found += [told(lambda n=n: getattr(model, n)) for n in ("coef_", "components_", "scale_")]
    model.fit(X, Y)
    return [*found, *(getattr(model, name)(X) for name in names if name != "score")]


def same(found, wanted):
    """Assert that two results are of one library, and equal."""
    assert type(found) is type(wanted), (found, wanted)
    if isinstance(wanted, str) or wanted is None:
        assert found == wanted
        return
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6, atol=1e-9)
    assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)


for make in MODELS:
    for dispatch in (True, False):
        wanted = asked(make(), dispatch)
        found = asked(npaccel.sklearn.accelerate(make()), dispatch)
        with npaccel.sklearn.accelerated():
            inside = asked(make(), dispatch)
        for one, other, third in zip(wanted, found, inside, strict=True):
            same(other, one)
            same(third, one)

model = npaccel.sklearn.accelerate(LinearRegression()).fit(xp.asarray(X), xp.asarray(X[:, 1]))
assert "array_api_strict" in str(model.report_), model.report_
