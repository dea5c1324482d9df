"""Estimators that scikit-learn's own code computes on tensors, against its results on arrays."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import (
    Binarizer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
)
from sklearn_comparing import accelerated, as_array_all, assert_same
from sklearn_data import data

import npaccel
from npaccel._sklearn.dispatch import transfers

TRANSFORMERS = [
    Binarizer(threshold=3.0),
    KernelCenterer(),
    MaxAbsScaler(),
    MinMaxScaler((-1, 2), clip=True),
    Normalizer("l1"),
    Normalizer("l2"),
    Normalizer("max"),
    PolynomialFeatures(2),
    PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    Nystroem(n_components=5, random_state=0),
]


@pytest.mark.parametrize("give", [np.asarray, torch.from_numpy], ids=["array", "tensor"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=str)
def test_equals_itself_on_arrays(estimator, dtype, give):
    X = data("wine", dtype)[0][:, :5]
    X = X[:5] if isinstance(estimator, KernelCenterer) else X
    theirs = clone(estimator).fit(X)
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        mine = accelerated(estimator).fit(give(X))
        found = mine.transform(give(X))
    assert {step.route for step in mine.report_.steps} == {"delegated"}
    assert {step.device for step in mine.report_.steps} == {"cpu"}
    assert type(found) is type(give(X))
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    assert_same(as_array_all(found), theirs.transform(X), tolerance, "transform")
