"""What isn't compiled runs in NumPy, with its reason; what only looks so is compiled."""

import re
import warnings

import numpy as np
import pytest
import torch
from comparing import assert_same, check

import npaccel
from npaccel import errors
from npaccel._runtime import error_translation

X = np.arange(6.0)
M = np.random.default_rng(0).random((3, 3))

BREAKS = [
    (lambda a: np.real_if_close(a) + 1, X, "numpy.real_if_close", "depends on array values"),
    (lambda a: np.roots(a) * 2, X, "numpy.roots", "depends on the values"),
    (lambda a: np.poly(a) * 2, M, "numpy.poly", "depends on the values"),
    (lambda a: np.linalg.eigvals(a) * 2, M, "numpy.linalg.eigvals", "eigvalsh"),
    (lambda a: np.linalg.eig(a)[0] * 2, M, "numpy.linalg.eig", "astype"),
    (lambda a: np.histogram(a, bins="auto")[0] * 2, X, "numpy.histogram", "bins='auto'"),
    (lambda a: np.var(a, dtype=int) * 2, M, "numpy.var", "leave dtype out"),
    (lambda a: (a * 2).tolist(), X, "ndarray.tolist", "Python numbers"),
    (lambda a: a + 1 if a.flags.c_contiguous else a, X, "ndarray.flags", "memory"),
    (lambda a: np.array2string(a + 1), X, "numpy.array2string", "text"),
    (lambda a: np.vectorize(lambda v: v if v > 2 else 0)(a), X, "numpy.vectorize", "give otypes"),
    (
        lambda a: np.apply_along_axis(lambda v: v[:1], 1, a),
        np.ones((99, 2)),
        "numpy.apply_along_axis",
        "more than 64 slices",
    ),
    (lambda a: np.arctan2.reduce(a), X, "numpy.arctan2.reduce", "loop over the elements"),
    (lambda a: np.longdouble(2) + a, X, "numpy.longdouble", "extended precision"),
    (lambda a: np.poly1d([1, 2])(a), X, "numpy.poly1d", "numpy.polyval"),
    (
        lambda a: np.lib.stride_tricks.as_strided(a, (3,), (-8,)) + 1,
        X,
        "numpy.lib.stride_tricks.as_strided",
        "negative stride",
    ),
    (lambda a: np.polynomial.legendre.legroots(a) * 2, X, "legroots", "companion matrix"),
    (lambda a: a + np.min_scalar_type(a[0]).itemsize, X, "numpy.min_scalar_type", "its value"),
    (lambda a: np.matmul(a, a, axes=[0, 0, ()]), X, "numpy.matmul", "without this parameter"),
    (lambda a: np.r_["r", a].shape, X, "np.r_", "matrices"),
]


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(("function", "x", "name", "reason"), BREAKS, ids=[b[2] for b in BREAKS])
def test_numpy_runs_the_line_and_the_warning_says_why(function, x, name, reason):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning) as caught:
        got = jitted(x)
    assert_same(got, function(x))
    assert any(re.search(reason, str(warning.message)) for warning in caught)
    assert any(name in str(warning.message) for warning in caught)
    fallbacks = jitted.report().fallbacks
    assert fallbacks
    assert all(entry.file.endswith("test_uncompiled.py") for entry in fallbacks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        assert_same(jitted(x), function(x))


@pytest.mark.parametrize("number", [1, 3, 7])
def test_strict_raises_with_the_reason(number):
    function, x, _, reason = BREAKS[number]
    with pytest.raises(errors.NotCompiledError, match=reason):
        npaccel.jit(function, backend="eager", strict=True)(x)


def test_what_is_around_it_is_compiled():
    def function(a):
        b = np.sin(a) * 2
        c = np.real_if_close(b)
        return np.cos(c) + 1

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning, match="real_if_close"):
        got = jitted(X)
    assert_same(got, function(X))
    assert len(jitted.report().graphs) == 2


def test_a_turn_on_which_numpy_raises_keeps_no_other_from_being_compiled():
    def function(a, n):
        total = 0
        for i in range(min(n, 3)):
            total = total + a.reshape(a.shape[0], -1)[i]
        return total

    jitted = npaccel.jit(function, backend="eager", cache=False, dynamic=True)
    x = np.ones((2, 7, 5))
    for a in (np.ones((2, 6, 4)), x):
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            jitted(a, 3)
    assert_same(jitted(x, 2), function(x, 2))
    assert not jitted.report().fallbacks


def test_an_assumption_that_is_wrong_when_captured_is_named():
    def function(a, n):
        counts = np.bincount(a * 0)  # Compiled for arrays that aren't shorter, and for 3.
        return np.convolve(counts, a), counts + np.ones((n, 3))

    jitted = npaccel.jit(function, backend="eager", cache=False, dynamic=True)
    with pytest.warns(errors.PerformanceWarning, match="a size that depends on the data"):
        got = jitted(np.arange(4), 4)
    assert_same(got, function(np.arange(4), 4))


# -- blocks of settings


def in_numpy(function, *args):
    """Call a function jitted; let the warnings go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        return npaccel.jit(function, backend="eager", default_float="float64")(*args)


def test_errstate_is_compiled_with_what_is_in_it():
    def function(a):
        with np.errstate(divide="ignore", invalid="ignore"):
            b = 1 / a
            b[~np.isfinite(b)] = 0
        return b + 1

    check(function, X)


def test_errstate_of_all_and_nested():
    def function(a):
        with np.errstate(all="ignore"):
            b = 1 / a
            with np.errstate(divide="warn", over="ignore"):
                b = b + 1
        return b

    jitted = npaccel.jit(function, backend="eager", default_float="float64", strict=True)
    with np.errstate(all="ignore"):
        assert_same(jitted(X), function(X))


def test_a_break_in_errstate_runs_in_numpy_under_it():
    def function(a):
        b = a + 1
        with np.errstate(divide="ignore"):
            c = np.real_if_close(a)
            d = np.array([1 / v for v in c])
        return d + b

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        assert_same(jitted(X), function(X))


def test_settings_are_what_they_were_after_a_break():
    def function(a):
        with np.errstate(divide="ignore"), np.printoptions(precision=2):
            text = np.array2string(a / 3)
            inside = np.geterr()["divide"]
        return a + 1, text, inside

    before, printing = np.geterr(), np.get_printoptions()
    got = in_numpy(function, X)
    assert_same(got, function(X))
    assert got[2] == "ignore"
    assert np.geterr() == before
    assert np.get_printoptions() == printing


def test_errstate_that_raises_does_so_in_numpy():
    def function(a):
        with np.errstate(divide="raise"):
            return 1 / a

    jitted = npaccel.jit(function, backend="eager")
    with (
        pytest.warns(errors.PerformanceWarning, match="numpy.errstate"),
        pytest.raises(FloatingPointError),
    ):
        jitted(X)


def _inverse(a):
    return 1 / a


@np.errstate(divide="raise")
def _decorated(a):
    return 1 / a


def _helped(a):
    with np.errstate(divide="raise"):
        return _inverse(a)


def _helped_after_a_write(a):
    a += 1
    with np.errstate(divide="raise"):
        return _inverse(a)


def _set_for_the_process(a):
    before = np.seterr(divide="raise")
    try:
        return _inverse(a)
    finally:
        np.seterr(**before)


@pytest.mark.parametrize(
    "function", [_decorated, _helped, _helped_after_a_write, _set_for_the_process]
)
def test_settings_that_raise_hold_in_helpers_and_after_breaks(function):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for x in (X - 1, X + 1.5, X - 1, X + 1.5):
        got, wanted = x.copy(), x.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            try:
                expected = function(wanted)
            except FloatingPointError:
                with pytest.raises(FloatingPointError):
                    jitted(got)
            else:
                assert_same(jitted(got), expected)
        assert_same(got, wanted)
    assert jitted.report().fallbacks


def test_settings_around_the_call_are_heeded():
    jitted = npaccel.jit(_inverse, backend="eager", default_float="float64")
    check(_inverse, X + 1)
    assert_same(jitted(X + 1), 1 / (X + 1))
    with np.errstate(divide="raise"):
        with (
            pytest.warns(errors.PerformanceWarning, match="numpy.errstate"),
            pytest.raises(FloatingPointError),
        ):
            jitted(X)
        strict = npaccel.jit(_inverse, backend="eager", strict=True)
        with pytest.raises(errors.NotCompiledError, match="numpy.errstate"):
            strict(X)
    with np.errstate(divide="ignore"):
        assert np.isinf(jitted(X)[0])


def test_printoptions_without_a_break():
    def function(a):
        with np.printoptions(precision=3):
            return a + 1

    check(function, X)


# -- index helpers

HELPERS = [
    lambda a: np.mgrid[0:6] + a,
    lambda a: np.mgrid[0:3, 1:7:2] + a[:3],
    lambda a: np.mgrid[0:3:3j, 1:9:4j],
    lambda a: np.mgrid[:3, 0:1:0.25] * a[0],
    lambda a: np.mgrid[0:1:5j] + a[1],
    lambda a: np.mgrid[: a.shape[0], : a.shape[0]][1] + a,
    lambda a: np.ogrid[0:3, 1:7:2][1] + a[:3],
    lambda a: np.ogrid[0:6:2] + a[:3],
    lambda a: np.ogrid[-1:1:3j, 0:2][0] + a[0],
    lambda a: np.r_[a, a, 1],
    lambda a: np.r_[a[0], 0, 0:3, 1:2:4j],
    lambda a: np.r_[1, 2, 3] + a[:3],
    lambda a: np.r_[a > 2, True],
    lambda a: np.r_["0,2", a, a],
    lambda a: np.r_["0,2,0", a, a],
    lambda a: np.r_["1,3,1", a, a],
    lambda a: np.r_["-1", a.reshape(2, 3), a.reshape(2, 3)],
    lambda a: np.r_[np.float32(1), a.astype("f"), 2.5],
    lambda a: np.c_[a, a],
    lambda a: np.c_[a.reshape(2, 3), [1, 2]],
    lambda a: np.c_[a, 0:6, -a],
    lambda a: a[np.s_[1:3]],
    lambda a: a[np.s_[..., None]] + 1,
    lambda a: a[np.index_exp[1:3]] * 2,
    lambda a: a.reshape(2, 3)[np.ix_([0, 1], [0, 2])],
]


@pytest.mark.parametrize("number", range(len(HELPERS)))
def test_index_helpers(number):
    check(HELPERS[number], X)


def test_index_helpers_of_sizes_of_any_length():
    def function(a):
        return np.r_[a, 0:3, a.shape[0]] + np.c_[a, a].sum()

    jitted = npaccel.jit(function, backend="eager", default_float="float64", dynamic=True)
    for n in (4, 5, 9):
        assert_same(jitted(np.arange(float(n))), function(np.arange(float(n))))
    assert not jitted.report().fallbacks


# -- functions of the user


def test_fromfunction_and_apply_over_axes():
    check(lambda a: np.fromfunction(lambda i, j: i * 3 + j, (2, 3)) + a.reshape(2, 3), X)
    check(lambda a: np.fromfunction(lambda i, k=2: i * k, (6,), dtype=int) + a, X)
    check(lambda a: np.fromfunction(lambda i, k: i * k, (6,), k=2.0) + a, X)
    check(lambda a: np.apply_over_axes(np.sum, a.reshape(1, 2, 3), [0, -1]), X)
    check(lambda a: np.apply_over_axes(lambda v, axis: v.max(axis), a.reshape(2, 3), 1), X)


def test_constants_and_types():
    def function(a):
        if np.issubdtype(a.dtype, np.floating) and isinstance(a, np.ndarray) and np.iterable(a):
            b = a * np.pi + np.e * np.euler_gamma
        else:
            b = a
        big = np.finfo(a.dtype).max if a.dtype.char in np.typecodes["Float"] else np.inf
        return np.minimum(b, big)[np.newaxis] + np.iinfo(np.int8).max

    check(function, X)


def test_questions_about_lists_of_arrays():
    check(lambda a: a * np.ndim([a, a]) + np.shape([a, [1.0] * 6])[1] + np.iterable((a, 1)), X)
    check(lambda a: a.astype(np.result_type(a, *[np.float32(1), 2])), X)


def test_torchs_error_for_sizes_that_do_not_fit_is_numpys():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(3) + torch.ones(42)
    found = error_translation.as_numpy_error(caught.value)
    with pytest.raises(ValueError, match="could not be broadcast together") as expected:
        np.ones(3) + np.ones(42)
    assert type(found) is expected.type
    assert "could not be broadcast together" in str(found)
