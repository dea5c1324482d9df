"""Indexing, and the functions that take and store elements, against NumPy."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from row_checks import ALL, check, data, implementation, same, tensors, traced

import npaccel
from npaccel._numpy.core import storing
from npaccel._numpy.indexing import indexing, taking
from npaccel._numpy.indexing.indexing import getitem, setitem
from npaccel._numpy.manipulation import manipulation
from npaccel._numpy.ufuncs import ufuncs

MODULES = (manipulation, storing, taking, ufuncs)  # imported for their rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
I = np.array([0, 1])  # noqa: E741 - an index
M = np.array([True, False, True])


def outcome(function):
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - its class is what is compared
        return error


def check_read(x, key):
    mine, theirs = outcome(lambda: getitem(tensors(x), tensors(key))), outcome(lambda: x[key])
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), f"{key!r}: {mine!r}, NumPy's is {theirs!r}"
    else:
        same(mine, theirs)


def check_write(x, key, value):
    expected, found = x.copy(), tensors(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN to int, complex to float
        theirs = outcome(lambda: expected.__setitem__(key, value))
        mine = outcome(lambda: setitem(found, tensors(key), tensors(value)))
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), f"{key!r}: {mine!r}, NumPy's is {theirs!r}"
    else:
        assert mine is None, f"{key!r}: {mine!r}"
        same(found, expected)


KEYS = [
    *(0, -1, 2, 9, -9, np.int8(1), True, False, None, Ellipsis, 1.0, "a", (), ((0, 1),)),
    *(slice(1, None), slice(None, None, -1), slice(5, 0, -2), slice(-9, 9), slice(3, 1)),
    *(slice(0, 0, -1), slice(None, None, 0), slice(-1, -9, -3), slice(0, 2, 1.5)),
    *([0, 2], [], [True, False, True], [[0, 1], [1, 0]], [0, 9], [1.5], [True, False]),
    *((0, 1), (0, 1, 1), (Ellipsis, 0), (0, Ellipsis, 1), (Ellipsis, Ellipsis), (None, 0, None)),
    *(
        I,
        I.astype("B"),
        I.astype("H"),
        I - 2,
        I[:, None],
        I.astype("f"),
        np.array(1),
        np.array(True),
    ),
    *(M, M[:2], np.array(False), np.zeros(0, bool), np.array(1.0)),
    *((I, I), (I, slice(None), I), (slice(None), I, I), (0, slice(None), I), (slice(None), 0, I)),
    *((I, None, I), (I, 0), (0, I), (I[:, None], I), (I, np.array([0, 1, 1])), (I, slice(None), 0)),
    *((M,), (M, 0), (0, slice(None), M[:2]), (slice(None), I, None), (True, I), (M, None)),
    *((slice(None, None, -1), I), (I, slice(None, None, -1)), (slice(None, None, -1),) * 2),
    *((Ellipsis, I), (I, Ellipsis), (I, Ellipsis, I), (np.array(0), slice(None), np.array(1))),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (3, 4, 5), (0, 3)], ids=str)
def test_reads_and_writes(shape, key):
    x = np.array(data(shape, "f"))
    check_read(x, key)
    selected = outcome(lambda: x[key])
    check_write(x, key, 7)
    if not isinstance(selected, Exception) and selected.ndim:
        check_write(x, key, data(selected.shape, "h", seed=3))
        check_write(x, key, data(selected.shape[1:], "f", seed=3))
        if "True" not in str(key) and "False" not in str(key):  # their size isn't known
            check_write(x, key, data((1, *selected.shape), "f", seed=3))
            check_write(x, key, data((*selected.shape[:-1], selected.shape[-1] + 2), "f"))


@pytest.mark.parametrize("dtype", ALL)
def test_of_every_dtype(dtype):
    x = data((3, 4), dtype)
    mask = data((3, 4), "?")
    for key in (
        0,
        (1, 2),
        slice(None, None, -2),
        I,
        (I, I),
        mask,
        M,
        (slice(None), [0, 3]),
        Ellipsis,
    ):
        check_read(x, key)
        check_write(x, key, 1)
        check_write(x, key, x[key])
        check_write(
            x, key, np.asarray(x[key]).real[..., :1].astype("h") if x[key].ndim else np.int8(3)
        )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "value",
    [1000, -1, 2**63, 2.7, -2.7, float("nan"), 1 + 2j, True, None, [1, 2, 3, 4], [1000] * 4, "x"],
    ids=str,
)
def test_stored_values(dtype, value):
    if dtype in "BHIL" and isinstance(value, float) and value != 2.7:
        pytest.skip("what C makes of a negative float is undefined")
    check_write(data((3, 4), dtype), 1, value)


@pytest.mark.parametrize("target", ["b", "l", "f", "d", "?"])
def test_stored_arrays_are_cast(target):
    for dtype in ALL:
        check_write(data((3, 4), target), slice(1, 3), np.abs(data((2, 4), dtype)))
        check_write(data((3, 4), target), I, np.abs(data((2, 4), dtype)))


def test_overlap():
    for key, source in [(slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))]:
        x = np.arange(6.0)
        t = tensors(x)
        setitem(t, key, getitem(t, source))
        x[key] = x[source]
        same(t, x)
    x = np.arange(6.0)
    t = tensors(x)
    setitem(t, slice(None), getitem(t, slice(None, None, -1)))
    same(t, x[::-1])


def test_overlap_of_a_single_element():
    for key in (tensors([[], Ellipsis]), [0]):
        t = torch.ones(1)
        setitem(t, tuple(key), t.squeeze(0))
        same(t, np.ones(1, "f"))


def test_reads_are_views_where_numpy_has_them():
    x = torch.zeros(4, 5)
    for key in (1, slice(1, 3), (slice(None), 2), None, Ellipsis, (0, Ellipsis), (1, 1, Ellipsis)):
        getitem(x, key)[...] = 1
    same(x[0], np.ones(5, "f"))
    for key in (I, M[[0, 1, 0, 2]], [0, 1], (0, [1, 2])):
        before = x.clone()
        getitem(x, tensors(key))[...] = 9
        assert torch.equal(x, before)


def test_masked_write_has_no_size_that_depends_on_data():
    x = torch.zeros(4, 5, device="meta")
    mask = torch.zeros(4, 5, dtype=torch.bool, device="meta")
    setitem(x, mask, 1.0)  # on meta tensors a nonzero would raise
    setitem(x, mask[:, 0], torch.ones(5, device="meta"))


def test_slice_bound_from_an_array_is_refused():
    with pytest.raises(NotImplementedError, match="slice bound"):
        getitem(torch.zeros(3), slice(None, torch.tensor(2)))


@st.composite
def _key(draw):
    n = 3
    bound = st.none() | st.integers(-5, 5)
    entry = st.one_of(
        st.integers(-n, n - 1),
        st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2])),
        st.none(),
        st.sampled_from([I, I[:, None], np.array(1), [0, 2], M, np.array([2, 0, -1], "b")]),
        st.booleans(),
    )
    entries = draw(st.lists(entry, max_size=4))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
    return tuple(entries)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(_key(), st.integers(1, 4))
def test_any_key(key, rank):
    x = np.arange(3.0**rank).reshape((3,) * rank)
    check_read(x, key)
    selected = outcome(lambda: x[key])
    if not isinstance(selected, Exception):
        check_write(x, key, -1)
        unique = np.unique(selected).size == np.size(selected)  # the order of repeats is open
        if unique and np.ndim(selected):
            check_write(x, key, -np.arange(1.0, selected.size + 1).reshape(selected.shape))


# -- functions


@pytest.mark.parametrize("dtype", ALL)
def test_taking(dtype):
    x = data((3, 4), dtype)
    for index in (0, -1, 7, [0, 2], I, np.array([[5, -5]]), I.astype("L"), [], [1.5], True, M):
        for axis in (None, 0, -1, 2):
            for mode in ("wrap", "clip", "nonsense"):
                check(np.take, x, index, axis, mode=mode)
            if np.size(index) and np.abs(index).max() < 3:
                check(np.take, x, index, axis)
    order = np.argsort(x, axis=1)
    check(np.take_along_axis, x, order, 1)
    check(np.take_along_axis, x, order[:1], 1)
    check(np.take_along_axis, x, order[0], None)
    check(np.take_along_axis, x, order[0], 1)
    check(np.take_along_axis, x, order * 1.0, 1)
    check(np.choose, data((4,), "?") * 1, [x, 2, x[0]])
    check(np.choose, np.array([5, 1, 0, 7]), x, mode="clip")
    check(np.choose, np.array([5, 1, 0, 7]), x, mode="wrap")


@pytest.mark.parametrize("dtype", ALL)
def test_conditions(dtype):
    x, mask = data((3, 4), dtype), data((3, 4), "?")
    for function in (np.nonzero, np.flatnonzero, np.argwhere):
        for a in (x, x[0], x[:0], np.array(x[0, 0])):
            check(function, a)
    for other in (1, 2.5, 1j, True, x[0], data((3, 4), "h"), np.float32(2)):
        check(np.where, mask, x, other)
        check(np.where, mask[:, :1], other, x)
        check(np.select, [mask, ~mask], [x, other], 3)
    check(np.where, mask, 1, 2.0)
    check(np.where, x)
    check(np.where, x, x, data(3, "f"))
    check(np.where, mask, x, data(3, "f"))
    with pytest.raises(TypeError, match="NoneType"):
        implementation(np.where)(tensors(mask), tensors(x), None)
    check(np.compress, [True, False], x, 0)
    check(np.compress, M, x, 0)
    check(np.compress, M, x)
    check(np.compress, mask, x)
    check(np.extract, mask, x)
    check(np.select, [mask], [x, x])
    check(np.select, [], [])
    check(np.select, [mask * 1], [x])


def check_stored(function, x, *args, **kwargs):
    """Compare what a function leaves in the array it is given."""
    expected, found = x.copy(), tensors(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex to float
        theirs = outcome(lambda: function(expected, *args, **kwargs))
        mine = outcome(lambda: implementation(function)(found, *tensors(args), **tensors(kwargs)))
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), f"{args!r}: {mine!r}, NumPy's is {theirs!r}"
    else:
        assert mine is None, f"{args!r}: {mine!r}"
        same(found, expected)


@pytest.mark.parametrize("dtype", ALL)
def test_storing(dtype):
    x, mask = data((3, 4), dtype), data((3, 4), "?")
    for value in (1, data((3, 4), dtype), data(4, dtype), [1], [0, 1, 1], data((3, 4), "F")):
        check_stored(np.copyto, x, value)
        check_stored(np.copyto, x, value, where=mask)
        check_stored(np.putmask, x, mask, value)
        if np.asarray(value).dtype.kind != "c" or dtype in "FD":
            check_stored(np.place, x, mask, value)
        check_stored(np.put, x, [0, -1, 5], value)
        check_stored(np.put, x, [1, 15, -20], value, mode="wrap")
        check_stored(np.put, x, [1, 15, -20], value, mode="clip")
        check_stored(np.fill_diagonal, x, np.asarray(value).real.astype(dtype))
    check_stored(np.fill_diagonal, data((7, 3), dtype), 1, wrap=True)
    check_stored(np.fill_diagonal, data((7, 3), dtype), [1, 0])
    check_stored(np.fill_diagonal, data((3, 3, 3), dtype), 1)
    check_stored(np.fill_diagonal, data((3, 3, 2), dtype), 1)
    check_stored(np.fill_diagonal, data(3, dtype), 1)
    index = np.array([[1], [3], [0]])
    check_stored(np.put_along_axis, x, index, 1, 1)
    check_stored(np.put_along_axis, x, index, data((3, 1), dtype), 1)
    check_stored(np.put_along_axis, x, index[0], 1, 1)
    check_stored(np.put_along_axis, x, index[:, 0], 1, None)


def test_storing_edge_cases():
    x = data((3, 4), "f")
    check_stored(np.copyto, x, 1.5, casting="nonsense")
    check_stored(np.copyto, data(3, "l"), 1.5)
    check_stored(np.copyto, data(3, "l"), 1.5, casting="unsafe")
    check_stored(np.copyto, data(3, "b"), 1000)
    check_stored(np.copyto, x, data(3, "f"))
    check_stored(np.copyto, x, 1, where=[True, False, True, False])
    check_stored(np.copyto, x, 1, where=np.ones(4))
    check_stored(np.place, x, x > 0, [])
    check_stored(np.put, x, [], 1)
    check_stored(np.putmask, x, M, 1)
    out = torch.zeros(2)
    assert implementation(np.take)(torch.arange(3.0), torch.tensor([1, 2]), out=out) is out
    same(out, np.array([1, 2], "f"))


def test_put_into_a_strided_array():
    x, t = data((3, 4), "f"), tensors(data((3, 4), "f"))
    np.put(x.T, [1, -2], [7, 8])
    implementation(np.put)(t.T, [1, -2], [7, 8])
    same(t, x)


Y = data((4, 5), "d")
K = Y > 0


def _reading(key):
    def read(x):
        return x[key] if isinstance(x, np.ndarray) else getitem(x, tensors(key))

    return read


def _writing(key, value):
    def write(x):
        if isinstance(x, np.ndarray):
            y = x.copy()
            y[key] = value
            return y
        y = x.clone()
        setitem(y, tensors(key), tensors(value))
        return y

    return write


SOME = [0, (1, 2), slice(1, -1), slice(None, None, -2), (slice(None), [0, 2]), (0, slice(None, -1))]


@pytest.mark.parametrize("key", [*SOME, (None, Ellipsis, 0)], ids=str)
def test_keys_trace_with_symbolic_sizes(key):
    from torch.fx.experimental.proxy_tensor import make_fx

    for function in (_reading(key), _writing(key, 2.5)):
        graph = make_fx(function, tracing_mode="symbolic")(tensors(Y))
        larger = data((6, 7), "d")
        same(graph(tensors(larger)), function(larger))


def _masked(x, y):
    setitem(x, x > 0, 1.0)
    setitem(x, x < 0, y)
    return x


def test_masks_trace_with_symbolic_sizes():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(_masked, tracing_mode="symbolic")(
        tensors(Y), torch.zeros(int((Y < 0).sum()), dtype=torch.double)
    )
    assert "nonzero" not in graph.code
    expected = data((6, 7), "d")
    values = np.arange(float((expected < 0).sum()))
    found = graph(tensors(data((6, 7), "d")), tensors(values))
    expected[expected > 0] = 1
    expected[expected < 0] = values
    same(found, expected)
    read = make_fx(getitem, tracing_mode="symbolic")(tensors(Y), tensors(K))
    same(read(tensors(Y), tensors(K)), Y[K])


TRACED = [
    (np.take, (Y, I), {"axis": 1}),
    (np.take_along_axis, (Y, np.argsort(Y, 1), 1), {}),
    (np.choose, (np.array([0, 1, 0, 1, 1]), (Y[0], Y[1])), {}),
    (np.where, (K, Y, 0), {}),
    (np.nonzero, (Y,), {}),
    (np.flatnonzero, (Y,), {}),
    (np.compress, (K[:, 0], Y), {"axis": 0}),
    (np.extract, (K, Y), {}),
    (np.select, ([K, ~K], [Y, 2]), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.copyto, (2.5,)),
        (np.putmask, (K, [1.0, 2.0])),
        (np.place, (K, [1.0, 2.0])),
        (np.put, (I, 3.0)),
        (np.put_along_axis, (np.argsort(Y, 1), 3.0, 1)),
        (np.fill_diagonal, (7.0,)),
        (np.fill_diagonal, ([7.0, 8.0],)),
    ],
    ids=name,
)
def test_stores_trace_with_symbolic_sizes(function, args):
    from torch.fx.experimental.proxy_tensor import make_fx

    def run(x):
        implementation(function)(x, *tensors(args))
        return x

    expected = Y.copy()
    function(expected, *args)
    same(
        make_fx(run, tracing_mode="symbolic", _allow_non_fake_inputs=True)(tensors(Y))(tensors(Y)),
        expected,
    )


#: Stores of the values v at i, j or k, which have repeated numbers: the last one stays.
REPEATED = """
a[i] = v
a[i, j] = v[:, 0]
a[:, i] = v.T
a[i[:, None], j] = np.outer(v[:, 0], v[:, 1])
a[::-1, i] = v.T
a[1, i] = v[:, 0]
a[i] = a[j]
a.T[i] = v
a[k] = v.reshape(-1, 5, a.shape[1])
a[k.T] = v.reshape(5, -1, a.shape[1])
a[k.T, 3] = v[:, 0].reshape(5, 9)
a[k % 7, (k.T % 3).T] = v[:, 0].reshape(5, 9).T
a[a[:, 0].astype(int)] = a[:, ::-1]
a[a[:, 0].astype(int), 1] += 1
a.flat[i] = v[:, 0]
np.put(a, i, v[:7, 0])
np.put_along_axis(a, i[:, None] % 40 + np.zeros(40, int), v, 0)
""".strip().splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("backend", "statements"),
    [
        *(pytest.param("eager", [statement], id=statement) for statement in REPEATED),
        pytest.param("inductor", REPEATED, id="compiled", marks=pytest.mark.inductor),
    ],
)
def test_of_repeated_indices_the_last_value_stays(backend, statements):
    space = {"np": np}
    lines = [f"a = arrays[{n}]; {statement}" for n, statement in enumerate(statements)]
    body = "\n    ".join(lines)
    exec(f"def store(arrays, i, j, k, v):\n    {body}\n    return arrays", space)
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, (40, 40)).astype(float)
    i, j = rng.integers(-40, 40, (2, 45))
    v = rng.normal(size=(45, 40))
    k = i.reshape(-1, 5)
    jitted = npaccel.jit(space["store"], backend=backend, default_float="float64", cache=False)
    mine, theirs = ([a.copy() for _ in statements] for _ in range(2))
    found, wanted = jitted(mine, i, j, k, v), space["store"](theirs, i, j, k, v)
    for statement, *arrays in zip(statements, found, mine, wanted, strict=True):
        for array in arrays[:2]:
            np.testing.assert_array_equal(array, arrays[2], err_msg=statement)


@pytest.mark.parametrize(
    "key", ["i", "(i, j)", "(slice(None), i)", "k", "(1, i)", "(i[:, None], j)"]
)
def test_repeated_indices_off_the_cpu(key, monkeypatch):
    """What a GPU does, on the CPU."""
    monkeypatch.setattr(indexing.host, "usable", lambda *tensors: False)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 40))
    i, j = rng.integers(-40, 40, (2, 45))
    key = eval(key, {"i": i, "j": j, "k": i.reshape(-1, 5)})
    values = rng.normal(size=a[key].shape)
    mine = torch.from_numpy(a.copy())
    setitem(mine, tensors(key), torch.from_numpy(values))
    a[key] = values
    np.testing.assert_array_equal(mine.numpy(), a)


def _laid_out(rng, x):
    """Return an array's elements in a layout of any kind, as it is and as a tensor."""
    order = rng.permutation(x.ndim).astype(int)
    step = rng.integers(1, 3)
    wide = np.zeros([n * step for n in x.transpose(order).shape], x.dtype)
    lying = wide[(slice(None, None, step),) * x.ndim].transpose(np.argsort(order))
    lying[...] = x
    if x.ndim and rng.integers(4) == 0:  # stretched along one axis
        lying = np.broadcast_to(lying[:1], x.shape)
    strides = [step // x.itemsize for step in lying.strides]
    return lying, torch.as_strided(torch.from_numpy(wide), x.shape, strides)


@pytest.mark.parametrize("on_cpu", [True, False])
def test_of_repeated_indices_the_last_value_in_memory_stays(on_cpu, monkeypatch):
    """NumPy goes through index arrays and values as they lie in memory, where it can."""
    if not on_cpu:
        monkeypatch.setattr(indexing.host, "usable", lambda *tensors: False)
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = rng.integers(1, 4, rng.integers(1, 4))
        pairs = [
            _laid_out(rng, rng.integers(0, 2, np.where(rng.random(shape.size) < 0.3, 1, shape)))
            for _ in range(rng.integers(1, 3))
        ]
        others = [slice(0, rng.integers(1, 3)) for _ in range(rng.integers(0, 3))]
        places = rng.permutation(len(pairs) + len(others))
        theirs, mine = (
            tuple(([pair[kind] for pair in pairs] + others)[place] for place in places)
            for kind in (0, 1)
        )
        wanted = np.full((2,) * len(places), -1.0, order=rng.choice(["C", "F"]))
        found = torch.from_numpy(wanted.copy())
        full = wanted[theirs].shape
        values, tensor = _laid_out(rng, np.arange(np.prod(full), dtype="d").reshape(full))
        if rng.integers(4) == 0:
            values = tensor = values.tolist()
        wanted[theirs] = values
        setitem(found, mine, tensor)
        np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (4,), ()])
def test_one_mask_takes_no_matrix(shape):
    """NumPy looks at its dimensions also where nothing is stored; an empty mask may be shorter."""
    a = np.zeros(shape)
    for mask in (np.zeros(shape, bool), np.zeros(0, bool), np.ones(shape, bool)):
        for value in (np.ones((1, 1)), np.ones(1)):
            check_write(a, mask, value)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("place", [7, -9, 4, 0])
def test_bounds_where_there_are_no_elements(shape, place):
    def store(a):
        a[:, at] = 1

    at, x = np.array([place]), np.zeros(shape)
    functions = (
        lambda a: a[at],
        lambda a: a[:, at],
        lambda a: a[at, at],
        lambda a: np.take(a, at, 1),
        lambda a: np.take(a, place, 1),
        lambda a: a.take([place], 0),
        lambda a: np.add.at(a, at, 1),
        store,
    )
    for function in functions:
        jitted = npaccel.jit(function, backend="eager")
        mine, theirs = outcome(lambda: jitted(x)), outcome(lambda: function(x))  # noqa: B023
        assert type(mine) is type(theirs), f"{mine!r}, NumPy's is {theirs!r}"
        if not isinstance(theirs, Exception):
            assert np.shape(mine) == np.shape(theirs)


def _wrote(a):
    flat = a.ravel()  # A view or a copy, as the array lies.
    flat[...] = 1
    return a, flat


X4 = np.arange(120.0).reshape(2, 3, 4, 5)
J = np.array([0, 2])
GATHERED = [
    lambda x: x[:, J],
    lambda x: x[..., [1, 0]],
    lambda x: x[0, :, J],
    lambda x: x[:, J, J],
    lambda x: x[:, J, :, J],
    lambda x: x[:, 1:][:, J - 1],
    lambda x: x[:, [[0, 1], [2, 0]]].T,
    lambda x: np.where(x[0, 0] > 7)[1],
    lambda x: np.nonzero(x[0] > 7)[0],
]


@pytest.mark.parametrize("number", range(len(GATHERED)))
def test_items_at_arrays_lie_as_numpys(number):
    def function(x):
        found = GATHERED[number](x)
        for _ in range(1):  # What goes into the loop's body is an argument there.
            found = _wrote(found)[0]
        return found

    for wanted in (GATHERED[number], function):
        jitted = npaccel.jit(wanted, backend="eager", default_float="float64")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
            found, expected = jitted(X4), wanted(X4)
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides


WITH_SCALARS = [
    lambda x: x[[0, -1], x[1, 1] % 4].sum(),
    lambda x: x[[0, -1], x[1, 1] % 4][:, None] + 1,
    lambda x: x[J[:, None], np.array(3)] * 2,
    lambda x: x[x[1, 1] % 4, [0, -1]] + 1,
    lambda x: x.reshape(2, 2, 5)[:, [0, 1], np.array(3)] + x[0, 0],
]


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_arrays_and_scalars_are_indices_together(backend):
    def function(x):
        return [f(x) for f in WITH_SCALARS]

    x = np.arange(20).reshape(4, 5)
    jitted = npaccel.jit(function, backend=backend, default_float="float64", strict=True)
    for found, expected in zip(jitted(x), function(x), strict=True):
        np.testing.assert_array_equal(found, expected)
