"""Reversed views that a function returns are views, as NumPy's are, and lie as those do."""

import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel
from npaccel import errors

X = np.arange(12.0).reshape(3, 4)


def of_written(x):
    x += 1
    return x[::-1], np.flip(x, 1)


def written_afterwards(x):
    v = x[::-1]
    x += 1
    return v


def written_between(x):
    y = x + 1
    v = y[::-1]
    s = v.sum()
    y *= 2
    return v, y, s


def itself(x):
    v = (x + 1)[2:0:-1, ..., None]
    return v, np.atleast_1d(v)


FUNCTIONS = {
    "slice": lambda x: x[::-1],
    "flip": lambda x: [np.fliplr(x), {"flat": np.flip(x)}],
    "of_new": lambda x: (np.rot90(x + 1), (x * 2)[::-2, 1:]),
    "sorted": lambda x: np.sort(x.ravel())[::-1],
    "view_of_view": lambda x: np.swapaxes(x[::-1], 0, 1)[::-1],
    "methods": lambda x: (x[::-1].T, x[::-1].transpose(1, 0), np.squeeze(x[None, ::-1], axis=0)),
    "read_only": lambda x: np.broadcast_to(x[0, ::-1], (2, 4)),
    "parts": lambda x: [*np.split(x[::-1], [1]), x[::-1][0], x[::-1, 0]],
    "scalar": lambda x: (x[::-1][0, 0], x[2::-1, 0] * 2),
    "array_too": lambda x: (x, x[::-1], x[:, ::-1]),
    "views": lambda x: (x[:1], x.T, x[1:]),
}
FUNCTIONS |= {f.__name__: f for f in (of_written, written_afterwards, written_between, itself)}


def arrays_in(part):
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        return [array for item in part for array in arrays_in(item)]
    return [part] if isinstance(part, np.ndarray) else []


def assert_alike(mine, theirs, a, b):
    """Fail unless results are equal, and lie and share their memory in the same way."""
    assert_same(mine, theirs)
    ours, wanted = [*arrays_in(mine), a], [*arrays_in(theirs), b]
    for i, (one, other) in enumerate(zip(ours, wanted, strict=True)):
        assert one.strides == other.strides
        assert (
            str(one.flags).replace(" ", "").splitlines()[:2]
            == (str(other.flags).replace(" ", "").splitlines()[:2])
        )
        assert one.flags.writeable == other.flags.writeable
        for p, q in zip(ours[:i], wanted[:i], strict=True):
            assert np.shares_memory(one, p) == np.shares_memory(other, q)


def like(x):
    """Return a copy that lies as an array does, reversed or not."""
    return x.copy() if x.strides[1] > 0 else x[:, ::-1].copy()[:, ::-1]


@pytest.mark.parametrize("x", [X, X[:, ::-1]], ids=["plain", "reversed"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_views(name, dynamic, x):
    function = FUNCTIONS[name]
    jitted = npaccel.jit(function, backend="eager", default_float="float64", dynamic=dynamic)
    for _ in range(3):
        a, b = like(x), like(x)
        assert_alike(jitted(a), function(b), a, b)
        assert_same(a, b)
    assert not jitted.report().fallbacks


@pytest.mark.inductor
def test_artifacts_know_of_views():
    def several(x):
        y = x * 2
        return x[::-1], y[::-1], np.flip(y, 1).T, y

    for loaded in (False, True):
        jitted = npaccel.jit(several, default_float="float64")
        for _ in range(2):
            a, b = X.copy(), X.copy()
            assert_alike(jitted(a), several(b), a, b)
        (graph,) = jitted.report().graphs
        assert graph.loaded == loaded


def test_tensors_stay_tensors():
    import torch

    found = npaccel.jit(lambda x: x[::-1], backend="eager")(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), X[::-1])


def test_narrowed_arguments():
    found = npaccel.jit(lambda x: x[::-1] * 1, backend="eager", narrow_inputs=True)(X)
    assert found.dtype == np.float32
    assert npaccel.jit(lambda x: x[::-1], backend="eager", narrow_inputs=True)(X).dtype == "f4"


def layout_asked(x):
    v = np.sort(x, axis=None)[::-1]
    print(end="")
    flat, flags = v.ravel(), v.flags.c_contiguous
    v *= 2
    return flat, flags, v


def of_two_axes(x):
    v = np.rot90(x + 1)
    print(end="")
    w = np.ravel(v, order="F")
    v += 1
    return v, w


def written_through(x):
    y = x + 1
    v = y[::-1]
    print(end="")
    v += y[0, 0]
    y[0] = 7
    return v, y


def goes_on(x):
    v = x[:, ::-1]
    print(end="")
    w = v * 2 + x
    v += 1
    print(end="")
    return w + v, v[1:]


def reversed_or_not(x):
    v = x[::-1] if x[0, 0] > 0 else x[::1]
    print(end="")
    w = v.T
    v -= 1
    return w, v


def whole(x):
    y = np.asarray(x)
    v = y[...]
    print(end="")
    v[None] = v[None] - 1
    return y[...], v


def flattened(x):
    row = x[0]
    print(end="")
    w = row.ravel()
    print(end="")
    w += 1
    return row, w


def beside_its_array(x):
    v, w = x[::-1], x[1:]
    print(end="")
    v += 1
    u = w * 2
    print(end="")
    return v, w, u


IN_PIECES = [
    whole,
    flattened,
    beside_its_array,
    layout_asked,
    of_two_axes,
    written_through,
    goes_on,
    reversed_or_not,
]


@pytest.mark.parametrize("x", [X, X[:, ::-1]], ids=["plain", "reversed"])
@pytest.mark.parametrize("function", IN_PIECES)
def test_views_between_pieces(function, x):
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for offset in (0, 0, 1, 0, 1):
        a, b = like(x + offset), like(x + offset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            assert_alike(jitted(a), function(b), a, b)
        assert_same(a, b)


def added_to(v):
    v += 1
    return v


def sorted_in_place(v):
    v.sort(axis=0)
    return v


def running_sums(v):
    np.cumsum(v, axis=0, out=v)
    return v


def flattened_too(v):
    v.reshape(-1).sum()
    return v


def part_of_written(v):
    v[0] = 1
    return v[1:]


WAYS = {
    "only_reversed": lambda v: v,
    "added_to": added_to,
    "sorted_in_place": sorted_in_place,
    "running_sums": running_sums,
    "part_of_written": part_of_written,
    "flattened_too": flattened_too,
    "reshaped": lambda v: v.reshape(2, -1),
    "raveled": lambda v: v.ravel(),
    "as_integers": lambda v: v.view(np.int64),
    "row_of_transposed": lambda v: v.T[np.argmax(v[:, 0])],
}


@pytest.mark.parametrize("flip", [lambda x: x[::-1], np.flip, np.rot90])
@pytest.mark.parametrize("name", WAYS)
def test_flat_copies_after_a_break_are_copies(name, flip):
    way = WAYS[name]

    def function(x):
        v = way(flip(x + 1))
        print(end="")
        w = v.reshape(-1)
        w *= 2
        return v, w

    jitted = npaccel.jit(function, backend="eager", default_float="float64", cache=False)
    for x in (np.arange(12.0).reshape(4, 3), np.arange(12.0).reshape(3, 4).T, np.ones((2, 2))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            assert_same(jitted(x.copy()), function(x.copy()))


def test_pieces_take_reversed_arrays():
    def function(x):
        v = np.sort(x, axis=None)[::-1]
        print(end="")
        return v * 2 + 1

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning, match="print"):
        assert_same(jitted(X), function(X))
    assert len(jitted.report().graphs) == 2


@pytest.mark.parametrize("x", [X, X[:, ::-1]], ids=["plain", "reversed"])
def test_views_go_through_loops(x):
    def function(x):
        y = np.asarray(x)
        v = part = y[...]
        while part.ndim > 1:
            part = part.sum(axis=0)
        v[None] = v[None] - 1
        return y[...], part

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        a, b = like(x), like(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            assert_same(jitted(a), function(b))
        assert_same(a, b)
