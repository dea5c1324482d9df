"""Pipelines, searches and unions: the data goes to the device once and comes back once."""

import threading

import numpy as np
import pytest
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 (makes a name)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn_data import data

import npaccel.sklearn
from npaccel._sklearn.dispatch import transfers


def logistic(**params):
    return LogisticRegression(max_iter=300, **params)


def pipeline():
    return make_pipeline(StandardScaler(), PCA(20, random_state=0), logistic())


def test_one_copy_in_and_one_copy_out(as_device):
    X, y = data("digits")
    mine = npaccel.sklearn.accelerate(pipeline()).fit(X, y)
    fitted = mine.report_
    codes = y.astype(np.int64).nbytes
    random = (64, 20 + 10)  # what randomized PCA draws on the host
    assert fitted.copies_out == 0
    moved = X.nbytes + codes + np.empty(random).nbytes
    assert (fitted.copies_in, fitted.bytes_in) == (3, moved), fitted
    found = mine.predict(X)
    assert isinstance(found, np.ndarray)
    after = mine.report_
    assert after.copies_in - fitted.copies_in == 1, after
    assert after.bytes_in - fitted.bytes_in == X.nbytes
    assert after.copies_out - fitted.copies_out == 1, after


def test_no_copy_but_of_data(as_device):
    """A search by covariances draws nothing: X goes in, and y, and the predictions come out."""
    X, y = data("digits")
    steps = (StandardScaler(), PCA(20, svd_solver="covariance_eigh"), logistic())
    mine = npaccel.sklearn.accelerate(make_pipeline(*steps)).fit(X, y)
    assert (mine.report_.copies_in, mine.report_.copies_out) == (2, 0), mine.report_
    mine.predict(X)
    assert (mine.report_.copies_in, mine.report_.copies_out) == (3, 1), mine.report_


def test_tensors_are_not_copied(as_device):
    X, y = map(torch.from_numpy, data("digits"))
    steps = (StandardScaler(), PCA(20, svd_solver="covariance_eigh"), logistic())
    mine = npaccel.sklearn.accelerate(make_pipeline(*steps)).fit(X, y)
    proba = mine.predict_proba(X)
    assert isinstance(proba, torch.Tensor)
    assert (mine.report_.bytes_in, mine.report_.bytes_out) == (0, 8 * 10)  # the classes


def test_attributes_come_as_arrays(as_device):
    X, y = data("digits")
    mine = npaccel.sklearn.accelerate(pipeline()).fit(X, y)
    assert isinstance(mine[0].mean_, np.ndarray)
    assert isinstance(mine[2].coef_, np.ndarray)
    assert isinstance(mine[0].n_samples_seen_, np.integer)
    np.testing.assert_array_equal(mine.classes_, np.arange(10))


CLASSIFIERS = {
    "scaled": lambda: pipeline(),
    "union": lambda: make_pipeline(
        make_union(PCA(5, svd_solver="full"), StandardScaler()), logistic()
    ),
    "columns": lambda: make_pipeline(
        ColumnTransformer(
            [
                ("a", PCA(3, svd_solver="full"), [1, 2, 3, 4, 5]),
                ("b", StandardScaler(), slice(5, 40)),
            ],
            remainder="passthrough",
        ),
        StandardScaler(),
        logistic(),
    ),
    "forest": lambda: make_pipeline(
        StandardScaler(), RandomForestClassifier(n_estimators=5, random_state=0)
    ),
    "function": lambda: make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), logistic()),
    "delegated": lambda: make_pipeline(MinMaxScaler(), logistic()),
    "grid": lambda: GridSearchCV(pipeline(), {"pca__n_components": [5, 10]}, cv=2),
    "halving": lambda: HalvingGridSearchCV(
        make_pipeline(StandardScaler(), logistic()), {"logisticregression__C": [0.1, 1.0]}, cv=2
    ),
    "random": lambda: RandomizedSearchCV(
        make_pipeline(StandardScaler(), logistic()),
        {"logisticregression__C": [0.1, 1.0, 3.0]},
        n_iter=2,
        cv=KFold(2),
        random_state=0,
        scoring=["f1_macro", "accuracy", "neg_log_loss", "roc_auc_ovr"],
        refit="accuracy",
    ),
    "voting": lambda: VotingClassifier([("a", logistic()), ("b", pipeline())], voting="soft"),
    "stacking": lambda: StackingClassifier([("a", logistic()), ("b", pipeline())], cv=2),
    "calibrated": lambda: CalibratedClassifierCV(pipeline(), cv=2),
    "bagging": lambda: BaggingClassifier(pipeline(), n_estimators=2, random_state=0),
    "rest": lambda: OneVsRestClassifier(pipeline()),
    "rfe": lambda: RFE(logistic(), n_features_to_select=50, step=10),
    "selected": lambda: make_pipeline(SelectFromModel(logistic()), logistic()),
}


@pytest.mark.sampled
@pytest.mark.parametrize("container", ["array", "tensor"])
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predicts_as_scikit_learn(as_device, name, container):
    X, y = data("digits")
    X, y = X[:300] / 16, y[:300]
    theirs = CLASSIFIERS[name]().fit(X, y)
    mine = npaccel.sklearn.accelerate(CLASSIFIERS[name]())
    give = torch.from_numpy if container == "tensor" else np.asarray
    mine.fit(give(X), give(y))
    found = mine.predict(give(X))
    assert isinstance(found, torch.Tensor if container == "tensor" else np.ndarray)
    found = found.numpy() if container == "tensor" else found
    np.testing.assert_array_equal(found, theirs.predict(X))
    assert float(mine.score(give(X), give(y))) == pytest.approx(theirs.score(X, y), abs=1e-12)
    if hasattr(theirs, "cv_results_"):
        for key in (k for k in theirs.cv_results_ if k.startswith("mean_test")):
            np.testing.assert_allclose(mine.cv_results_[key], theirs.cv_results_[key], atol=1e-5)
    assert str(mine.report_).count("\n") > 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_pipeline(StandardScaler(), Ridge()),
        lambda: TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
        lambda: GridSearchCV(
            make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 9.0]}
        ),
        lambda: make_pipeline(
            FeatureUnion([("a", PCA(3)), ("b", StandardScaler())]), LinearRegression()
        ),
    ],
)
def test_regressors(as_device, make):
    X, y = data("diabetes")
    theirs, mine = make().fit(X, y), npaccel.sklearn.accelerate(make()).fit(X, y)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-8)
    assert mine.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-9)


def test_one_copy_in_a_search(as_device):
    X, y = data("digits")
    steps = make_pipeline(StandardScaler(), PCA(5, svd_solver="covariance_eigh"), logistic())
    search = GridSearchCV(steps, {"pca__n_components": [3, 5]}, cv=2)
    mine = npaccel.sklearn.accelerate(search).fit(X, y)
    large = [step for step in mine.report_.steps if step.bytes_in >= X.nbytes]
    assert [(step.estimator, step.copies_in) for step in large] == [("GridSearchCV", 1)]


def test_functions_of_model_selection(as_device):
    X, y = data("wine")
    model = make_pipeline(StandardScaler(), logistic())
    wanted = cross_val_score(model, X, y, cv=3)
    found = cross_val_score(npaccel.sklearn.accelerate(model), X, y, cv=3)
    np.testing.assert_allclose(found, wanted)


def test_strings_for_labels(as_device):
    X, y = data("wine")
    names = np.array(["red", "white", "grey"])[y]
    theirs = make_pipeline(StandardScaler(), logistic()).fit(X, names)
    mine = npaccel.sklearn.accelerate(make_pipeline(StandardScaler(), logistic())).fit(X, names)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    assert mine.score(X, names) == theirs.score(X, names)


def test_a_part_that_is_not_scikit_learns(as_device):
    class Doubler:
        """No estimator of scikit-learn's, but with its methods."""

        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return np.asarray(X) * 2

        def get_params(self, deep=True):
            return {}

        def set_params(self, **params):
            return self

    X, y = data("wine")
    mine = npaccel.sklearn.accelerate(make_pipeline(Doubler(), StandardScaler(), logistic()))
    mine.fit(X, y)
    assert "Doubler isn't npaccel's" in str(mine.report_)
    assert mine.score(X, y) > 0.9


def test_the_host_when_a_device_is_not_apart():
    X, y = data("wine")
    with npaccel.options(backend="eager"):
        mine = npaccel.sklearn.accelerate(pipeline().set_params(pca__n_components=5)).fit(X, y)
    report = mine.report_
    assert (report.copies_in, report.copies_out, report.bytes_in) == (0, 0, 0)
    assert not transfers.is_apart(torch.device("cpu"))


def test_threads(as_device):
    X, y = data("wine")
    wanted = make_pipeline(StandardScaler(), logistic()).fit(X, y).predict_proba(X)
    found = {}

    def run(n):
        # The fixture's settings are of the main thread.
        with transfers.cpu_as_device(), npaccel.options(backend="eager"):
            model = npaccel.sklearn.accelerate(make_pipeline(StandardScaler(), logistic()))
            found[n] = model.fit(X, y).predict_proba(X), model.report_.copies_in

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [copies for _, copies in found.values()] == [3] * 4
    for proba, _ in found.values():
        np.testing.assert_allclose(proba, wanted, atol=1e-9)


@pytest.mark.cuda
def test_the_copies_that_a_gpu_sees():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    X, y = data("digits")
    steps = (StandardScaler(), PCA(20, svd_solver="covariance_eigh"), logistic())
    mine = npaccel.sklearn.accelerate(make_pipeline(*steps))
    theirs = make_pipeline(*steps).fit(X, y)
    with npaccel.options(backend="eager"), npaccel.transfers("allow") as seen:
        mine.fit(X, y)
    assert sorted(copy.bytes for copy in seen.copies if copy.bytes > 64) == [8 * len(y), X.nbytes]
    with npaccel.options(backend="eager"), npaccel.transfers("allow") as seen:
        found = mine.predict(X)
    # Whether all of it is finite is read as a number.
    assert [copy.bytes for copy in seen.copies if copy.bytes > 64] == [X.nbytes, 8 * len(y)]
    np.testing.assert_array_equal(found, theirs.predict(X))
