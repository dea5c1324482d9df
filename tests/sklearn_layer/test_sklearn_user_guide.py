"""Programs such as scikit-learn's user guide has: the same scores, accelerated."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn_data import data

import npaccel.sklearn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def digits():
    X, y = data("digits")
    return X[:400], y[:400]


def passengers():
    """A table of mixed columns with gaps, and who survived."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    rows = 300
    age = random.normal(40, 12, rows)
    fare = random.gamma(2.0, 20.0, rows)
    sex = random.choice(["female", "male"], rows)
    port = random.choice(["C", "Q", "S"], rows)
    survived = (0.02 * fare - 0.03 * age + (sex == "female") + random.normal(size=rows)) > 0.2
    age[::9] = np.nan
    table = pandas.DataFrame({"age": age, "fare": fare, "sex": sex, "port": port})
    return table.astype({"sex": object, "port": object}), survived.astype(int)


def mixed_columns():
    numbers = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
    return Pipeline(
        [
            (
                "columns",
                ColumnTransformer(
                    [
                        ("numbers", numbers, ["age", "fare"]),
                        ("words", OneHotEncoder(handle_unknown="ignore"), ["sex", "port"]),
                    ]
                ),
            ),
            ("model", LogisticRegression()),
        ]
    )


def chained_components():
    return GridSearchCV(
        Pipeline(
            [
                ("scale", StandardScaler()),
                ("pca", PCA(random_state=0)),
                ("model", LogisticRegression(max_iter=500, tol=0.01)),
            ]
        ),
        {"pca__n_components": [5, 15], "model__C": np.logspace(-2, 1, 2)},
        cv=StratifiedKFold(3),
    )


def united_features():
    features = FeatureUnion([("pca", PCA(2, svd_solver="full")), ("best", SelectKBest(k=3))])
    return make_pipeline(StandardScaler(), features, LogisticRegression())


def transformed_target():
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge(10.0))
    quantiles = QuantileTransformer(n_quantiles=50, output_distribution="normal")
    return TransformedTargetRegressor(regressor=model, transformer=quantiles)


def stacked():
    first = [
        ("ridge", make_pipeline(StandardScaler(), Ridge())),
        ("forest", RandomForestRegressor(10, random_state=0)),
    ]
    both = [("stack", StackingRegressor(first, Ridge(), cv=2)), ("ridge", Ridge(3.0))]
    return VotingRegressor(both)


def approximated_kernel():
    kernel = Nystroem(gamma=0.02, n_components=60, random_state=1)
    return make_pipeline(StandardScaler(), kernel, LogisticRegression(C=10))


PROGRAMS = {
    "mixed columns": (mixed_columns, passengers, ["accuracy", "roc_auc", "neg_log_loss"]),
    "chained components": (chained_components, digits, ["accuracy"]),
    "united features": (united_features, lambda: data("wine"), ["accuracy", "f1_macro"]),
    "transformed target": (
        transformed_target,
        lambda: data("diabetes"),
        ["r2", "neg_mean_absolute_error"],
    ),
    "stacked": (stacked, lambda: data("diabetes"), ["r2"]),
    "approximated kernel": (approximated_kernel, digits, ["accuracy", "neg_log_loss"]),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_scores_are_the_same(as_device, program):
    make, load, scoring = PROGRAMS[program]
    X, y = load()
    wanted = cross_validate(make(), X, y, cv=2, scoring=scoring)
    found = cross_validate(npaccel.sklearn.accelerate(make()), X, y, cv=2, scoring=scoring)
    for name in scoring:
        # The accuracy may differ by less than one row's.
        np.testing.assert_allclose(found[f"test_{name}"], wanted[f"test_{name}"], rtol=1e-5)


def test_a_search_on_digits(as_device):
    X, y = data("digits")
    theirs, mine = chained_components(), npaccel.sklearn.accelerate(chained_components())
    theirs.fit(X, y)
    mine.fit(X, y)
    for key in ("mean_test_score", "rank_test_score", "std_test_score"):
        np.testing.assert_allclose(mine.cv_results_[key], theirs.cv_results_[key], atol=1e-5)
    assert mine.best_params_ == theirs.best_params_
    assert mine.score(X, y) == theirs.score(X, y)
    np.testing.assert_allclose(
        mine.best_estimator_[2].coef_, theirs.best_estimator_[2].coef_, atol=1e-5
    )


def test_clusters_after_a_scaler(as_device):
    X, _ = data("wine")
    make = lambda: make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0))  # noqa: E731
    theirs, mine = make().fit(X), npaccel.sklearn.accelerate(make()).fit(X)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    np.testing.assert_allclose(mine.transform(X), theirs.transform(X), rtol=1e-6)


def test_columns_by_selector(as_device):
    X, y = passengers()
    make = lambda: make_pipeline(  # noqa: E731 (made twice)
        ColumnTransformer(
            [("words", OneHotEncoder(), make_column_selector(dtype_include=object))],
            remainder=SimpleImputer(),
            sparse_threshold=0,
        ),
        StandardScaler(),
        LogisticRegression(),
    )
    theirs, mine = make().fit(X, y), npaccel.sklearn.accelerate(make()).fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(
        mine[:-1].get_feature_names_out(), theirs[:-1].get_feature_names_out()
    )
