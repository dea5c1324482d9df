"""What `accelerate`, `accelerated` and `to_host` give behaves as scikit-learn's estimators do."""

import copy
import pickle
import subprocess
import sys
import threading

import children
import numpy as np
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted
from sklearn_data import data

import npaccel
import npaccel.sklearn
from npaccel import errors
from npaccel._sklearn.dispatch.estimator import Accelerated


def pipeline():
    return make_pipeline(StandardScaler(), PCA(5, random_state=0), LogisticRegression())


def test_it_is_of_the_class_and_has_the_parameters():
    grid = GridSearchCV(pipeline(), {"pca__n_components": [2, 3]}, cv=2)
    mine = npaccel.sklearn.accelerate(grid)
    assert isinstance(mine, GridSearchCV)
    assert type(mine).__name__ == "GridSearchCV"
    assert isinstance(mine.estimator, Pipeline)
    assert all(isinstance(step, Accelerated) for _, step in mine.estimator.steps)
    assert set(mine.get_params()) == set(grid.get_params())
    assert mine.get_params()["estimator__pca__n_components"] == 5
    assert type(grid.estimator) is Pipeline
    assert type(grid.estimator[0]) is StandardScaler
    assert repr(mine) == repr(grid)


def test_a_fitted_one_stays_fitted():
    X, y = data("wine")
    theirs = pipeline().fit(X, y)
    before = theirs[0].mean_.copy()
    mine = npaccel.sklearn.accelerate(theirs)
    check_is_fitted(mine)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    found = mine.predict_proba(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), theirs.predict_proba(X), atol=1e-9)
    mine[0].partial_fit(X * 2)
    np.testing.assert_array_equal(theirs[0].mean_, before)


def test_clone_keeps_the_settings():
    mine = npaccel.sklearn.accelerate(pipeline(), device="cpu", on_unsupported="raise")
    twin = clone(mine)
    assert all(isinstance(step, Accelerated) for _, step in twin.steps)
    assert twin[0]._npaccel.on_unsupported == "raise"
    assert twin[0]._npaccel.device == "cpu"
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(mine.fit(*data("wine"))))


def test_set_params_and_set_output():
    pandas = pytest.importorskip("pandas")
    X, _ = data("wine")
    frame = pandas.DataFrame(X, columns=[f"c{n}" for n in range(X.shape[1])])
    theirs = make_pipeline(StandardScaler(), PCA(3)).set_output(transform="pandas")
    mine = npaccel.sklearn.accelerate(theirs)
    wanted, found = theirs.fit_transform(frame), mine.fit_transform(frame)
    pandas.testing.assert_frame_equal(found, wanted)
    np.testing.assert_array_equal(mine.feature_names_in_, theirs.feature_names_in_)
    np.testing.assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names should match"):
        mine.transform(frame.rename(columns={"c0": "other"}))
    mine.set_output(transform="default").set_params(pca__n_components=2)
    assert mine.fit_transform(frame).shape == (len(X), 2)


def test_metadata_routing():
    X, y = data("diabetes")
    weights = np.linspace(0, 2, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        theirs = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            Ridge().set_fit_request(sample_weight=True),
        )
        mine = npaccel.sklearn.accelerate(theirs)
        found = mine.fit(X, y, sample_weight=weights)[1].coef_
        np.testing.assert_allclose(found, theirs.fit(X, y, sample_weight=weights)[1].coef_)


def test_html_and_tags():
    mine = npaccel.sklearn.accelerate(pipeline())
    assert "StandardScaler" in estimator_html_repr(mine)
    tags = sklearn.utils.get_tags(mine)
    assert tags.estimator_type == "classifier"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("container", [np.asarray, torch.from_numpy])
def test_copies_and_pickles(copied, container):
    X, y = data("wine")
    mine = npaccel.sklearn.accelerate(pipeline()).fit(container(X), container(y))
    twin = copied(mine)
    assert type(twin) is type(mine)
    np.testing.assert_array_equal(twin.predict(X), mine.predict(X))
    assert isinstance(twin[1].components_, np.ndarray)
    assert not any(isinstance(v, torch.Tensor) for v in vars(twin[1]).values())


def test_a_pickle_of_another_machine(monkeypatch):
    X, _ = data("wine")
    mine = npaccel.sklearn.accelerate(StandardScaler(), device="cpu").fit(X)
    mine._npaccel.device = "cuda:3"
    twin = pickle.loads(pickle.dumps(mine))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(errors.PerformanceWarning, match="pickled with `device='cuda:3'`"):
        found = twin.transform(X)
    np.testing.assert_array_equal(found, twin.transform(X))
    with pytest.raises(errors.DeviceNotFoundError, match="sees no CUDA device"):
        mine.transform(X)


def test_plain_estimators_load_without_npaccel_and_torch(tmp_path):
    X, y = data("wine")
    mine = GridSearchCV(pipeline(), {"pca__n_components": [2, 3]}, cv=2)
    mine = npaccel.sklearn.accelerate(mine).fit(torch.from_numpy(X), torch.from_numpy(y))
    plain = npaccel.sklearn.to_host(mine)
    assert type(plain) is GridSearchCV
    assert type(plain.best_estimator_[0]) is StandardScaler
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((plain, X, mine.predict(X))))
    program = (
        "import sys, pickle\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'npaccel'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"model, X, wanted = pickle.load(open({str(path)!r}, 'rb'))\n"
        "assert (model.predict(X) == wanted).all()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_stays_on_the_host_is_said():
    X, y = data("wine")
    forest = npaccel.sklearn.accelerate(RandomForestClassifier(3, random_state=0))
    found = forest.fit(torch.from_numpy(X), y).predict(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    assert {step.route for step in forest.report_.steps} == {"host"}
    assert forest.report_.steps[0].reason
    strict = npaccel.sklearn.accelerate(AgglomerativeClustering(), on_unsupported="raise")
    with pytest.raises(errors.NotOnDeviceError, match=r"AgglomerativeClustering.fit would run on"):
        strict.fit(X)
    pca = npaccel.sklearn.accelerate(PCA(2, svd_solver="arpack"), on_unsupported="raise")
    with pytest.raises(NotImplementedError, match="arpack"):
        pca.fit(X)


def test_delegated_estimators_take_tensors():
    X, _ = data("wine")
    mine = npaccel.sklearn.accelerate(MinMaxScaler())
    found = mine.fit_transform(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), MinMaxScaler().fit_transform(X))
    assert mine.report_.steps[0].route == "delegated"
    assert not sklearn.get_config()["array_api_dispatch"]


def test_settings_that_cannot_be():
    with pytest.raises(errors.OptionError, match="`on_unsupported='no'`"):
        npaccel.sklearn.accelerate(PCA(), on_unsupported="no")
    with pytest.raises(errors.OptionError, match="tpu"):
        npaccel.sklearn.accelerate(PCA(), device="tpu")


def test_switched_off():
    X, _ = data("wine")
    mine = npaccel.sklearn.accelerate(StandardScaler())
    with npaccel.disabled():
        mine.fit(X)
    assert mine.report_.steps[0].reason == "npaccel is switched off"


def test_the_namespace_mirrors_scikit_learns():
    from npaccel._sklearn.dispatch import listing

    for module in listing.SUBMODULES:
        mine = __import__(f"npaccel.sklearn.{module}", fromlist=["x"])
        assert mine.__all__ == listing.public(module)
    assert issubclass(npaccel.sklearn.linear_model.Ridge, Ridge)
    assert npaccel.sklearn.model_selection.KFold is sklearn.model_selection.KFold
    with pytest.raises(AttributeError, match="no public name 'nothing'"):
        _ = npaccel.sklearn.cluster.nothing


def test_unchanged_code_in_a_block():
    X, y = data("wine")
    made_before = pipeline()
    fit = StandardScaler.fit
    with npaccel.sklearn.accelerated():
        made_inside = pipeline().fit(X, y)
        made_before.fit(X, y)
        other = []
        thread = threading.Thread(target=lambda: other.append(StandardScaler().fit(X)))
        thread.start()
        thread.join()
        with npaccel.sklearn.accelerated(device="cpu"):
            inner = StandardScaler().fit(X)
    assert isinstance(made_inside, Accelerated)
    assert isinstance(made_inside[1], Accelerated)
    assert isinstance(made_before[0], Accelerated)
    assert inner._npaccel.device == "cpu"
    assert type(other[0]) is StandardScaler
    assert StandardScaler.fit is fit
    assert type(StandardScaler().fit(X)) is StandardScaler
    np.testing.assert_allclose(made_before.predict_proba(X), pipeline().fit(X, y).predict_proba(X))


def test_the_block_ends_with_an_error():
    fit = LogisticRegression.fit
    with pytest.raises(ValueError, match="boom"), npaccel.sklearn.accelerated():
        raise ValueError("boom")
    assert LogisticRegression.fit is fit


def test_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from sklearn.datasets import load_iris\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "X, y = load_iris(return_X_y=True)\n"
        "print(type(StandardScaler().fit(X)).__module__)\n"
    )
    command = [sys.executable, "-m", "npaccel", "run", "--sklearn", str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "npaccel.sklearn.preprocessing"
    assert "StandardScaler.fit" in done.stderr


def test_without_scikit_learn():
    found = children.run_prepared("""
        sys.modules["sklearn"] = None
        try:
            import npaccel.sklearn
        except ImportError as error:
            answer(said=str(error))
    """)
    assert "pip install scikit-learn" in found["said"]


def test_attributes_stay_what_they_were_when_scikit_learn_reads_them():
    X, y = data("wine")
    mine = npaccel.sklearn.accelerate(pipeline()).fit(torch.from_numpy(X), torch.from_numpy(y))
    mine.predict(X)  # so little that scikit-learn's own code runs
    assert any(step.route == "host" for step in mine.report_.steps)
    assert isinstance(mine[0].mean_, torch.Tensor)
    assert isinstance(mine[2].classes_, torch.Tensor)


def test_attributes_of_a_fit_on_the_host_are_tensors_for_tensors():
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(30, 3)))
    model = npaccel.sklearn.accelerate(KMeans(2, random_state=0)).fit(X)
    assert model.report_.steps[0].route == "host"
    wanted = KMeans(2, random_state=0).fit(X.numpy())
    for name in ("cluster_centers_", "labels_"):
        found = getattr(model, name)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found, getattr(wanted, name))
    np.testing.assert_array_equal(model.predict(X), wanted.predict(X.numpy()))
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again.cluster_centers_, np.ndarray)


class MakesAnArray:
    """Data with nothing but `__array__`, which refuses NumPy's functions."""

    def __init__(self, data):
        self.data = np.asarray(data)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype)

    def __array_function__(self, function, types, args, kwargs):
        if function is np.may_share_memory:  # scikit-learn's own validation asks.
            return True
        raise TypeError(f"{function.__name__} isn't to be called")


@pytest.mark.parametrize(
    "estimator",
    [PCA(2), SVC(), KNeighborsClassifier(3), Ridge(), make_pipeline(StandardScaler(), Ridge())],
    ids=lambda one: type(one).__name__,
)
def test_data_that_make_arrays_of_themselves(estimator):
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int)
    asked = "transform" if hasattr(estimator, "transform") else "predict"
    wanted = getattr(clone(estimator).fit(X, y), asked)(X)
    with npaccel.sklearn.accelerated():
        ours = clone(estimator).fit(MakesAnArray(X), MakesAnArray(y))
        found = getattr(ours, asked)(MakesAnArray(X))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_named_tuples_among_what_is_learnt_are_pickled():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[X > 1.5] = np.nan
    with npaccel.sklearn.accelerated():
        ours = IterativeImputer(max_iter=2, random_state=0).fit(X)
        again = pickle.loads(pickle.dumps(ours))
    assert type(again.imputation_sequence_[0])._fields[-1] == "estimator"
    np.testing.assert_allclose(again.transform(X), ours.transform(X))
