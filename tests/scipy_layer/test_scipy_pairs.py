"""Distances of pairs of rows as on a GPU, where they aren't SciPy's as on a CPU."""

import numpy as np
import pytest
import scipy.spatial.distance
import torch
from calls_distance_tables import CALLS
from scipy_arrays import arrays
from scipy_running import differences, outcome

import npaccel
from npaccel._scipy.spatial import tables


@pytest.mark.sampled
@pytest.mark.parametrize("arguments", CALLS["spatial.distance.pdist"])
def test_pairs(arguments):
    known = {name: torch.from_numpy(value) for name, value in arrays().items()}
    expected = outcome(scipy, "spatial.distance.pdist", arguments, arrays())
    with npaccel.options(backend="eager"):
        compiled = npaccel.jit(tables.pdist, default_float="float64")
        rows, parameters = _parts(arguments, known)
        found = compiled(*rows, **parameters)
    assert not differences(expected.value, found, False, 1024)


def _parts(arguments, known):
    names = {"np": np, "xp": torch, **known}
    return eval(f"(lambda *a, **k: (a, k))({arguments})", names)
