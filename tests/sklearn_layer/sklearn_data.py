"""Data sets that scikit-learn ships, as the tests use them."""

import functools

import numpy as np
from sklearn import datasets

#: By name: the loader, and how many rows are taken.
_LOADERS = {
    "digits": (datasets.load_digits, 600),
    "wine": (datasets.load_wine, 178),
    "breast_cancer": (datasets.load_breast_cancer, 300),
    "diabetes": (datasets.load_diabetes, 442),
}


@functools.cache
def _loaded(name):
    loader, count = _LOADERS[name]
    X, y = loader(return_X_y=True)
    return X[:count], y[:count]


def data(name, dtype="float64"):
    """Return X and y of a data set in a dtype; y of a regression too."""
    X, y = _loaded(name)
    wide = y if y.dtype.kind == "i" else y.astype(dtype)
    return X.astype(dtype), wide.copy()


def scaled(name, dtype="float64"):
    """Return X with columns of mean 0 and deviation 1, and y."""
    X, y = data(name, "float64")
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return X.astype(dtype), y if y.dtype.kind == "i" else y.astype(dtype)
