"""A fit that begins on the device and ends in scikit-learn's own code has left no trace."""

import copy
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.manifold import TSNE
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

import npaccel.sklearn
from npaccel._sklearn.dispatch import common

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(24, 3))
TWICE = np.repeat(X[:6], 4, axis=0)
Y = np.arange(24) % 3
NARROW = X.astype(np.float32)
#: Where all of a kernel's matrices are singular, also after the draws of new beginnings.
SINGULAR = ConstantKernel(1.0, (0.9, 1.1)) * RBF(1.0, (0.9, 1.1))

#: An estimator, how it's called, and what it is fitted with before.
CALLS = {
    "gaussian process": (
        GaussianProcessRegressor(SINGULAR, alpha=0.0, n_restarts_optimizer=2),
        ("fit", TWICE, X[:, 0]),
        None,
    ),
    "one class of a process": (GaussianProcessClassifier(), ("fit", X, np.ones(24)), None),
    "targets of a process": (GaussianProcessRegressor(n_targets=2), ("fit", X, X[:, 0]), None),
    "descent": (SGDClassifier(max_iter=5), ("partial_fit", NARROW, Y), ("fit", X, Y)),
    "descent of numbers": (
        SGDRegressor(max_iter=5),
        ("partial_fit", NARROW, X[:, 0]),
        ("fit", X, X[:, 0]),
    ),
    "layers, many labels": (
        MLPClassifier((3,), max_iter=3),
        ("fit", X, np.eye(3, dtype=int)[Y]),
        None,
    ),
    "layers, an unknown label": (
        MLPClassifier((3,), max_iter=3),
        ("partial_fit", X, Y + 1),
        ("fit", X, Y),
    ),
    "machine without weights": (SVC(), ("fit", X, Y, np.zeros(24)), None),
    "singular classes": (QuadraticDiscriminantAnalysis(), ("fit", X[:, [0, 0]], Y), None),
    "a class of one": (QuadraticDiscriminantAnalysis(), ("fit", X, np.arange(24) == 0), None),
    "one class": (LinearDiscriminantAnalysis(), ("fit", X, np.ones(24)), None),
    "a kernel that isn't square": (KernelPCA(kernel="precomputed"), ("fit", X), None),
    "negative distances": (
        TSNE(metric="precomputed", method="exact", init="random", perplexity=3),
        ("fit_transform", X[:8] @ X[:8].T),
        None,
    ),
    "labels of outliers": (RadiusNeighborsClassifier(outlier_label="x"), ("fit", X, Y), None),
    "scores of two rows": (SelectKBest(k=1), ("fit", X[:2], Y[:2]), None),
    "too many quantiles": (
        QuantileTransformer(n_quantiles=20, subsample=10),
        ("fit", X),
        None,
    ),
}


def outcome(estimator, call, before, give):
    """Return what a call gives or raises, what it has left, and the state of the draws."""
    draws = np.random.RandomState(0)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=draws)
        draws = estimator.random_state  # an accelerated one has the same
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if before is not None:
            method, *data = copy.deepcopy(before)
            getattr(estimator, method)(*map(give, data))
        method, *data = copy.deepcopy(call)
        given = [give(value) for value in data]
        try:
            getattr(estimator, method)(*given)
            text = ""
        except Exception as error:  # noqa: BLE001 (compared with scikit-learn's)
            text = f"{type(error).__name__}: {error}"
    for value, kept in zip(given, data, strict=True):
        np.testing.assert_array_equal(np.asarray(value), kept)
    left = {name for name in vars(estimator) if name != "_npaccel"}
    return text, left, draws.get_state()


@pytest.mark.parametrize("name", CALLS)
def test_a_fit_that_scikit_learn_ends(as_device, monkeypatch, name):
    estimator, call, before = CALLS[name]
    ended = []
    by_scikit_learn = common.by_scikit_learn

    def counted(*args, **kwargs):
        ended.append(args[1])
        return by_scikit_learn(*args, **kwargs)

    monkeypatch.setattr(common, "by_scikit_learn", counted)
    text, left, state = outcome(clone(estimator), call, before, np.asarray)
    mine = npaccel.sklearn.accelerate(estimator)
    found, others, after = outcome(mine, call, before, np.asarray)
    assert ended
    assert found == text
    assert others == left
    assert after[2] == state[2]
    np.testing.assert_array_equal(after[1], state[1])


@pytest.mark.filterwarnings("ignore")
def test_the_draws_of_numpy_itself(as_device):
    """Without a seed it's the generator of all of NumPy that is put back."""
    model = GaussianProcessRegressor(SINGULAR, alpha=0.0, n_restarts_optimizer=2)
    states = []
    for one in (model, npaccel.sklearn.accelerate(model)):
        np.random.seed(0)  # noqa: NPY002 (scikit-learn's own default)
        with pytest.raises(np.linalg.LinAlgError):
            one.fit(TWICE, X[:, 0])
        states.append(np.random.get_state()[1:3])  # noqa: NPY002
    np.testing.assert_array_equal(states[0][0], states[1][0])
    assert states[0][1] == states[1][1]


def test_parameters_that_are_tensors():
    """scikit-learn's own code gets arrays, whose dtypes it knows."""
    from sklearn.mixture import GaussianMixture

    means = torch.from_numpy(X[:2].astype(np.float32))
    weights = torch.tensor([0.1, 0.9])
    model = GaussianMixture(2, means_init=means, weights_init=weights, max_iter=2, random_state=0)
    mine = npaccel.sklearn.accelerate(model)
    assert isinstance(mine.means_init, torch.Tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine.fit(torch.from_numpy(NARROW))
        plain = clone(model).set_params(means_init=means.numpy(), weights_init=weights.numpy())
        plain.fit(NARROW)
    assert isinstance(mine.means_, torch.Tensor)
    np.testing.assert_allclose(mine.means_.numpy(), plain.means_, rtol=1e-5)
