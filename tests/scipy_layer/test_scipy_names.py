"""Every public name of SciPy's modules is there, and takes tensors as SciPy's takes arrays."""

import contextlib
import functools
import importlib
import pickle
import types

import numpy as np
import pytest
import scipy
import scipy.stats
import torch
from scipy.special import expit
from scipy_running import differences

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch import conversion, listing
from npaccel._scipy.dispatch.patching import Replaced


@pytest.mark.parametrize("module", ["cluster", *listing.SUBMODULES])
def test_every_public_name_is_there(module):
    theirs = importlib.import_module(f"scipy.{module}")
    ours = importlib.import_module(f"npaccel.scipy.{module}")
    missing = [name for name in theirs.__all__ if not hasattr(ours, name)]
    assert not missing
    assert set(theirs.__all__) <= set(dir(ours))


MODULES = """
from scipy.interpolate import CubicSpline
from scipy.linalg import inv as inverse
from scipy.spatial import KDTree
from scipy.stats import multivariate_normal, norm
"""


def test_names_that_were_imported_before_the_block():
    """In the module, in a namespace that is none, and in a function, which is told."""
    names: dict = {}
    exec(MODULES, names)
    before = dict(names)
    exec(
        "import npaccel, torch\n"
        "x = torch.arange(5.0)\n"
        "with npaccel.array_api():\n"
        "    found = [inverse(torch.eye(2)), CubicSpline(x, x)(x), norm.cdf(x),\n"
        "             KDTree(x[:, None]).query(x[:, None])[0], multivariate_normal.pdf(x)]\n",
        names,
    )
    assert [type(one) for one in names["found"]] == [torch.Tensor] * 5
    assert all(names[name] is before[name] for name in before if name != "__builtins__")


def test_variables_of_a_function_are_told():
    from scipy.linalg import inv as inverse

    told = pytest.warns(UserWarning, match=r"inverse in test_variables.* stay SciPy's own")
    with told, npaccel.array_api():
        assert isinstance(inverse(torch.eye(2)), np.ndarray)
    with pytest.raises(UserWarning), npaccel.array_api():  # warnings are errors
        pass
    assert isinstance(scipy.linalg.inv(np.eye(2)), np.ndarray)
    assert not isinstance(scipy.linalg.inv, Replaced)


X, Y = np.linspace(0, 2, 9), np.cos(np.linspace(0, 2, 9))
GRID = np.arange(20.0).reshape(4, 5)
POINTS = np.random.default_rng(3).normal(size=(30, 2))

#: Classes and objects of SciPy, what they're made with, and what is asked of them.
OBJECTS = {
    "interpolate.CubicSpline": ((X, Y), lambda one, at: one(at)),
    "interpolate.interp1d": ((X, Y), lambda one, at: one(at)),
    "interpolate.BSpline": ((np.arange(9.0), Y[:5], 3), lambda one, at: one(at + 3)),
    "interpolate.UnivariateSpline": ((X, Y), lambda one, at: one.derivative()(at)),
    "interpolate.RegularGridInterpolator": (
        ((np.arange(4.0), np.arange(5.0)), GRID),
        lambda one, at: one([at, at]) if isinstance(at, float) else one((at, at)),
    ),
    "interpolate.RBFInterpolator": ((POINTS, POINTS[:, 0]), lambda one, at: one(at.reshape(-1, 2))),
    "signal.ShortTimeFFT": ((np.hanning(8), 4, 1.0), lambda one, at: one.stft(at)),
    "signal.StateSpace": (
        (np.eye(2) * -1.0, np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1))),
        lambda one, at: ((one + one).A, -one.B, one.C),
    ),
    "spatial.KDTree": ((POINTS,), lambda one, at: one.query(at.reshape(-1, 2), 3)),
    "spatial.cKDTree": ((POINTS,), lambda one, at: one.query(at.reshape(-1, 2))),
    "spatial.ConvexHull": ((POINTS,), lambda one, at: (one.vertices, one.volume, one.points)),
    "spatial.Delaunay": ((POINTS,), lambda one, at: one.find_simplex(at.reshape(-1, 2))),
    "spatial.Voronoi": ((POINTS,), lambda one, at: one.vertices),
    "stats.gaussian_kde": ((POINTS.T,), lambda one, at: (one(at.reshape(2, -1)), one.covariance)),
    "stats.multivariate_normal": (
        (np.zeros(2), np.eye(2) * 2),
        lambda one, at: one.logpdf(at.reshape(-1, 2)),
    ),
    "stats.Covariance.from_diagonal": ((Y + 1,), lambda one, at: (one.covariance, one.rank)),
}


@pytest.mark.parametrize("in_block", [False, True], ids=["npaccel.scipy", "array_api"])
@pytest.mark.parametrize("name", OBJECTS)
def test_classes_and_objects(name, in_block):
    given, ask = OBJECTS[name]
    kind = listing.find(name)
    at = np.linspace(0.1, 1.9, 8)
    expected = ask(kind(*given), at)
    tensors = conversion.mapped(given, lambda v: conversion.to_device(v, torch.device("cpu")))
    place = scipy if in_block else nsp
    with npaccel.array_api() if in_block else contextlib.nullcontext():
        for part in name.split("."):
            place = getattr(place, part)
        made = place(*tensors)
        found = ask(made, torch.from_numpy(at))
    assert not differences(expected, found, False, 1e6)
    assert isinstance(made, type(kind(*given)))
    again = pickle.loads(pickle.dumps(made))
    assert not differences(expected, ask(again, torch.from_numpy(at)), False, 1e6)


@pytest.mark.parametrize("in_block", [False, True], ids=["npaccel.scipy", "array_api"])
def test_classes_can_be_derived_from(in_block):
    with npaccel.array_api() if in_block else contextlib.nullcontext():
        interpolate = scipy.interpolate if in_block else nsp.interpolate

        class Own(interpolate.CubicSpline):
            def __init__(self, x, y):
                interpolate.CubicSpline.__init__(self, x, y)

            def __call__(self, x):
                return interpolate.CubicSpline.__call__(self, x, 1)

        assert issubclass(Own, interpolate.CubicSpline)
        assert isinstance(Own(X, Y), interpolate.CubicSpline)
        again = pickle.loads(pickle.dumps(interpolate.CubicSpline))
        assert again in (interpolate.CubicSpline, scipy.interpolate.CubicSpline)
        assert interpolate.CubicSpline.__name__ == "CubicSpline"
        union = interpolate.CubicSpline | None
        assert union == listing.find("interpolate.CubicSpline") | None
        assert isinstance(Own(X, Y), (None | interpolate.CubicSpline))
        found = Own(X, Y)(X)
    assert Own.__mro__[1] is scipy.interpolate.CubicSpline
    np.testing.assert_array_equal(found, scipy.interpolate.CubicSpline(X, Y)(X, 1))


def test_names_pass_for_scipys():
    kinds = {
        "linalg.inv": types.FunctionType,
        "special.gamma": np.ufunc,
        "stats.norm": scipy.stats.rv_continuous,
        "stats.poisson": scipy.stats.rv_discrete,
        "interpolate.CubicSpline": type,
        "stats.multivariate_normal": type(scipy.stats.multivariate_normal),
    }
    with npaccel.array_api():
        for name, kind in kinds.items():
            found = functools.reduce(getattr, name.split("."), scipy)
            assert isinstance(found, kind)
            assert listing.own(found) is listing.find(name)
            again = pickle.loads(pickle.dumps(found))
            assert again is found or type(again) is type(listing.find(name))
        assert issubclass(scipy.interpolate.CubicSpline, scipy.interpolate.PPoly)


@pytest.mark.parametrize("in_block", [False, True], ids=["npaccel.scipy", "array_api"])
@pytest.mark.parametrize("name", ["norm", "poisson", "multivariate_normal", "wishart"])
def test_what_is_set_is_set_on_scipys_object(name, in_block):
    theirs = getattr(scipy.stats, name)
    arguments = {"poisson": (3.5,), "wishart": (3, np.eye(2))}.get(name, ())
    with npaccel.array_api() if in_block else contextlib.nullcontext():
        ours = getattr(scipy.stats if in_block else nsp.stats, name)
        before = theirs.random_state
        try:
            ours.random_state = np.random.RandomState(4)
            found = ours.rvs(*arguments, size=3)
            ours.random_state = np.random.RandomState(4)
            wanted = theirs.rvs(*arguments, size=3)
        finally:
            theirs.random_state = before
    np.testing.assert_array_equal(found, wanted)


def test_frozen_distributions_are_pickled_with_their_state():
    for frozen in (nsp.stats.norm(1, 2), nsp.stats.poisson(torch.tensor(3.5))):
        frozen.random_state = np.random.RandomState(4)
        frozen.rvs(3)
        again = pickle.loads(pickle.dumps(frozen))
        np.testing.assert_array_equal(again.rvs(3), frozen.rvs(3))


def test_tables_by_function_know_both():
    before = {scipy.linalg.inv: 1}
    with npaccel.array_api():
        assert before[scipy.linalg.inv] == 1
        table = {scipy.linalg.inv: 1, scipy.interpolate.CubicSpline: 2}
    assert table[scipy.linalg.inv] == 1
    assert table[scipy.interpolate.CubicSpline] == 2


@pytest.mark.filterwarnings("ignore:`tsearch`:DeprecationWarning")  # From SciPy 1.18 on.
def test_an_object_of_tensors_counts_as_one_among_arguments():
    tree = nsp.spatial.KDTree(torch.from_numpy(POINTS))
    other = nsp.spatial.KDTree(torch.from_numpy(POINTS[:4]))
    wanted = scipy.spatial.KDTree(POINTS).query_ball_tree(scipy.spatial.KDTree(POINTS[:4]), 0.5)
    assert tree.query_ball_tree(other, 0.5) == wanted
    hull = nsp.spatial.Delaunay(torch.from_numpy(POINTS))
    found = nsp.spatial.tsearch(hull, POINTS[:3])
    assert isinstance(found, torch.Tensor)


def test_jitted_functions_find_scipys_names_in_the_block():
    @npaccel.jit(backend="eager", strict=True)
    def f(x):
        return expit(x) + scipy.special.entr(x)

    x = np.linspace(0.1, 1, 5)
    wanted = f(x)
    for _ in range(3):
        with npaccel.array_api():
            np.testing.assert_array_equal(f(x), wanted)
        np.testing.assert_array_equal(f(x), wanted)
    assert len(f.report().graphs) == 2
