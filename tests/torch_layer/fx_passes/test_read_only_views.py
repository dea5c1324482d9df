"""Views that NumPy lets nobody write to."""

import warnings

import numpy as np
import pytest

import npaccel
from npaccel import errors

WINDOWS = np.lib.stride_tricks.sliding_window_view
STRIDED = np.lib.stride_tricks.as_strided

MAKERS = {
    "plain": lambda x: x + 1,
    "diagonal": lambda x: x.diagonal(),
    "np.diagonal": np.diagonal,
    "linalg.diagonal": np.linalg.diagonal,
    "diag of a matrix": np.diag,
    "diag of a list": lambda x: np.diag([[1.0, 2.0], [3.0, 4.0]]) + 0 * x[0, 0],
    "diag of a row": lambda x: np.diag(x[0]),
    "imag": lambda x: (x * 2).imag,
    "imag of complex": lambda x: (x * 1j).imag,
    "broadcast_to": lambda x: np.broadcast_to(x * 2, (2, 3, 3)),
    "broadcast_to the same": lambda x: np.broadcast_to(x, x.shape),
    "windows": lambda x: WINDOWS(x, 2, 0),
    "writeable windows": lambda x: WINDOWS(x, 2, 0, writeable=True),
    "as_strided": lambda x: STRIDED(x, (2, 2), writeable=False),
    "writeable as_strided": lambda x: STRIDED(x, (2, 2)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(1.0, np.diag(x))[1],
}
VIEWS = [
    *(lambda v: v, lambda v: v.T, np.transpose, lambda v: np.swapaxes(v, 0, -1)),
    *(lambda v: np.transpose(a=v), lambda v: v.reshape(*v.shape, 1), np.ravel, lambda v: v[1:]),
    *(lambda v: v.ravel("K"), lambda v: v[::2], lambda v: v[::-1], np.flipud, lambda v: v[None]),
    *(lambda v: v[...], lambda v: v[None].squeeze(0), lambda v: v.real, lambda v: v.imag),
    *(lambda v: v.view(np.int64), lambda v: np.moveaxis(v, 0, -1), lambda v: np.rollaxis(v, 0)),
    *(np.atleast_1d, np.atleast_2d, np.atleast_3d, lambda v: np.atleast_1d(0.0, v)[1]),
    *(lambda v: np.expand_dims(v, 0), np.asarray, np.ascontiguousarray, np.array, np.copy),
    *(lambda v: v[[0, 1]], lambda v: v[v > 0], lambda v: v.astype(v.dtype, copy=False)),
    *(lambda v: np.split(v, [1])[1], lambda v: np.array_split(v, 2)[0], lambda v: next(iter(v))),
    *(lambda v: np.atleast_2d(v).mT, lambda v: np.rot90(np.atleast_2d(v)), lambda v: v.flat[1:]),
    *(lambda v: np.broadcast_to(v, v.shape), lambda v: v + 1, lambda v: v.byteswap()),
    *(np.nan_to_num, np.conj, lambda v: v.sum(axis=0), lambda v: v.take([0], 0)),
]


def read_only(function, x):
    """Whether each array of a result is read-only; in one call, and in one that was compiled."""
    return [isinstance(r, np.ndarray) and not r.flags.writeable for r in function(x.copy())]


@pytest.mark.sampled
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_views_of_read_only_views(make):
    def f(x):
        v = make(x)
        return tuple(view(v) for view in VIEWS)

    x = np.arange(1.0, 10).reshape(3, 3)
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for _ in range(2):
        assert read_only(jitted, x) == read_only(f, x)
    assert not jitted.report().fallbacks


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_views_of_read_only_arguments(backend):
    def f(x):
        return x[1:], x + 1, x.T

    x = np.arange(4.0)
    x.flags.writeable = False
    jitted = npaccel.jit(f, backend=backend, cache=False)
    for given in (x, x[::-1]):
        for _ in range(2):
            assert [r.flags.writeable for r in jitted(given)] == [False, True, False]


def test_a_read_only_result_of_inductor():
    def f(x):
        return np.diagonal(x), np.broadcast_to(x * 2, (2, 3, 3)), x

    jitted = npaccel.jit(f, cache=False)
    for _ in range(2):
        assert read_only(jitted, np.ones((3, 3))) == [True, True, False]


WRITES = {
    "item": lambda v, x: v.__setitem__(0, 1),
    "slice": lambda v, x: v.__setitem__(slice(1), 1),
    "mask": lambda v, x: v.__setitem__(v > 0, 1),
    "fancy": lambda v, x: v.__setitem__([0, 1], 1),
    "view": lambda v, x: v[::-1].T.__setitem__(0, 1),
    "flat": lambda v, x: v.flat.__setitem__(0, 1),
    "flat attribute": lambda v, x: setattr(v, "flat", 1),
    "real attribute": lambda v, x: setattr(v, "real", 1),
    "out": lambda v, x: np.add(x[0], 1, out=v),
    "out in a tuple": lambda v, x: np.add(x[0], 1, out=(v,)),
    "out by place": lambda v, x: np.sum(x, 0, None, v),
    "out of a method": lambda v, x: x.cumsum(0, None, v.reshape(1, 3)),
    "one of two outs": lambda v, x: np.modf(x[0], x[1], v),
    "copyto": lambda v, x: np.copyto(v, 1),
    "copyto by name": lambda v, x: np.copyto(dst=v, src=1),
    "put": lambda v, x: np.put(v, [0], 1),
    "put method": lambda v, x: v.put([0], 1),
    "put_along_axis": lambda v, x: np.put_along_axis(v, np.array([0]), 1, 0),
    "place": lambda v, x: np.place(v, v > 0, [1]),
    "putmask": lambda v, x: np.putmask(v, v > 0, 1),
    "fill": lambda v, x: v.fill(1),
    "sort": lambda v, x: v.sort(),
    "partition": lambda v, x: v.partition(1),
    "byteswap": lambda v, x: v.byteswap(True),
    "fill_diagonal": lambda v, x: np.fill_diagonal(v.reshape(3, 1), 1),
    "nan_to_num": lambda v, x: np.nan_to_num(v, copy=False),
    "shuffle": lambda v, x: np.random.default_rng(0).shuffle(v),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_refused(write):
    def f(x):
        v = np.diag(x)
        write(v, x)
        return v

    assert_refused(f)


def augmented(x):
    v = np.diag(x)
    v += 1


def augmented_items(x):
    v = np.diag(x)[1:]
    v[0, None] *= 2


def in_a_loop(x):
    v = np.diag(x)
    for i in range(len(v)):
        v[i] = v[i] * 2 + 1


@pytest.mark.parametrize("f", [augmented, augmented_items, in_a_loop])
def test_statements_are_refused(f):
    assert_refused(f)


def assert_refused(f):
    ours, theirs = np.ones((3, 3)), np.ones((3, 3))
    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        with pytest.raises(ValueError, match="read-only") as wanted:
            f(theirs)
        with pytest.raises(ValueError, match="read-only") as got:
            jitted(ours)
    assert type(got.value) is type(wanted.value)
    np.testing.assert_array_equal(ours, theirs)


def test_slices_of_flat_are_copies():
    def f(x):
        first = x.flat[1:]
        x += 1
        first[0] = 9
        return first, x.flat[-1]

    jitted = npaccel.jit(f, backend="eager", default_float="float64", cache=False)
    for x in (np.arange(4.0), np.arange(6.0).reshape(2, 3).T):
        ours, theirs = x.copy(), x.copy()
        np.testing.assert_array_equal(jitted(ours)[0], f(theirs)[0])
        np.testing.assert_array_equal(ours, theirs)


def of_both(a, v):
    return a.reshape(-1, 1), a[1:], v - 1, v[0], v[:, ::-1], v[1:].T, a


def of_both_in_subgraphs(a, v):
    first = v.T
    print(end="")  # Breaks the graph.
    return first, a.reshape(-1, 1), a[1:], v - 1, v[0], a


@pytest.mark.parametrize("which", ["neither", "whole", "view", "both"])
@pytest.mark.parametrize("f", [of_both, of_both_in_subgraphs])
def test_views_of_one_of_two_arguments_that_share_memory(backend, f, which):
    a = np.arange(6.0)
    v = a.reshape(2, 3)[:, :2]
    for array, names in ((a, ("whole", "both")), (v, ("view", "both"))):
        if which in names:
            array.flags.writeable = False
    jitted = npaccel.jit(f, backend=backend, default_float="float64", cache=False)
    wanted = [r.flags.writeable for r in f(a, v)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        for _ in range(3):
            assert [r.flags.writeable for r in jitted(a, v)] == wanted
