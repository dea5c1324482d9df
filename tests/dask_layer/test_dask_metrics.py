"""Metrics on Dask arrays against scikit-learn's on the whole."""

import numpy as np
import parts_metrics
import pytest

import npaccel
import npaccel.sklearn.metrics

da = pytest.importorskip("dask.array", reason="Dask isn't installed")
dask = pytest.importorskip("dask")


def in_blocks(array):
    return da.from_array(array, chunks=((30, 0, 1, 70), *((-1,) * (array.ndim - 1))))


def test_as_scikit_learn_on_the_whole():
    with dask.config.set(scheduler="sync"):
        parts_metrics.check(parts_metrics.answers(in_blocks))


def test_labels_that_are_names():
    names = np.array(["ox", "ape", "yak"])[np.arange(101) % 3]
    other = np.roll(names, 1)
    other[:50] = names[:50]
    with dask.config.set(scheduler="sync"):
        found = npaccel.sklearn.metrics.accuracy_score(in_blocks(names), other)
    assert found == 50 / 101


def test_numbers_of_rows_that_differ():
    labels = np.arange(101) % 3
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[101, 50\]"):
        npaccel.sklearn.metrics.accuracy_score(in_blocks(labels), labels[:50])


def test_one_that_takes_whole_arrays():
    labels = np.arange(101) % 2
    with pytest.warns(npaccel.errors.PerformanceWarning, match="the whole array") as told:
        found = npaccel.sklearn.metrics.roc_auc_score(in_blocks(labels), labels * 0.5)
    assert found == 1.0
    assert told[0].filename == __file__
