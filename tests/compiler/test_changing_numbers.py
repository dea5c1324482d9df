"""Python numbers that change from call to call are inputs of compiled code, not constants of it."""

import warnings

import numpy as np
import pytest
from comparing import assert_same

import npaccel

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning"),
]

#: Exponents with ufuncs of their own, signed zeros and extremes are among them.
FLOATS = [1.25, 0.5, 2.0, -1.0, 0.0, -0.0, 3.0, 1e300, 1e-300, 0.1, -2.5, 1.0]
EDGES = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-5, 3.0, 7.5, 0.5, 2.0])


def stored(x, v):
    x = x.copy()
    x[1:3] = v
    return x


def rotated(x, v):
    return np.array([[np.cos(v), -np.sin(v)], [np.sin(v), np.cos(v)]]) @ x[6:10].reshape(2, 2)


#: Functions of an array and a float that are compiled at most four times.
OF_FLOATS = {
    "multiply": lambda x, v: x * v,
    "subtract": lambda x, v: v - x,
    "divide": lambda x, v: x / v,
    "rdivide": lambda x, v: v / x,
    "power": lambda x, v: x**v,
    "base": lambda x, v: v**x,
    "remainder": lambda x, v: x % v,
    "rremainder": lambda x, v: v % x,
    "compare": lambda x, v: v <= x,
    "negative": lambda x, v: -v * x + v * v,
    "where": lambda x, v: np.where(x > v, v, x),
    "clip": lambda x, v: np.clip(x, -abs(v), v + 3),
    "maximum": lambda x, v: np.maximum(x, v),
    "arctan2": lambda x, v: np.arctan2(v, x),
    "copysign": lambda x, v: np.copysign(x, v),
    "hypot": lambda x, v: np.hypot(x, v),
    "full": lambda x, v: np.full(3, v) * x[:3],
    "linspace": lambda x, v: np.linspace(0, v, 7),
    "exp": lambda x, v: np.exp(-v) * x + np.sqrt(abs(v)),
    "scalar": lambda x, v: np.sin(v),
    "quotient": lambda x, v: np.exp(-abs(v) / 50) * x + np.cos(+v),
    "float32": lambda x, v: np.float32(v) * x,
    "array": lambda x, v: np.array([v, 2 * v, 1.0]) * x[:3],
    "rotation": rotated,
    "round": lambda x, v: np.round(v, 1),
    "interp": lambda x, v: np.interp(v, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]),
    "polyval": lambda x, v: np.polyval([v, 1, 2], x),
    "searchsorted": lambda x, v: np.searchsorted(np.sort(x), v),
    "unused": lambda x, v: x + 1,
    "branch": lambda x, v: x if v > 0 else -x,
}
#: Those of which each value is compiled, or the call is NumPy's: the values are right all the same.
OTHERS = {
    "dot": lambda x, v: np.dot(x[:4], v),
    "append": lambda x, v: np.append(x, v),
    "asarray": lambda x, v: np.asarray(v),
    "stored": stored,
    "initial": lambda x, v: np.sum(x[7:], initial=v),
    "insert": lambda x, v: np.insert(x, 1, v),
    "complex": lambda x, v: np.exp(1j * min(v, 9.0)) * x,
    "arange": lambda x, v: np.arange(0.0, min(abs(v), 5.0), 0.5),
}


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 (it's compared)
        return type(error)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("name", [*OF_FLOATS, *OTHERS])
def test_floats_are_inputs(name, dtype):
    function = {**OF_FLOATS, **OTHERS}[name]
    if dtype == "i4":
        x = np.nan_to_num(EDGES, nan=3, posinf=9, neginf=-9).astype(dtype)
    else:
        x = EDGES.astype(dtype) if dtype != "c16" else EDGES[7:].astype(dtype)
    if dtype == "c16" and name in ("array", "rotation", "dot", "stored"):
        x = np.concatenate([x, x])
    options = {"default_float": "float64", "backend": "eager", "cache": False, "compile": "now"}
    jitted = npaccel.jit(function, **options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for v in FLOATS:
            ours, theirs = outcome(jitted, x.copy(), v), outcome(function, x.copy(), v)
            if isinstance(theirs, type):
                assert ours is theirs, v
            elif not (name in ("base", "power") and dtype == "c16" and abs(v) in (1e300, 0.0)):
                assert_same(ours, theirs, rtol=1e-6 if dtype == "f4" else 1e-12)
    report = jitted.report()
    if name in OF_FLOATS and dtype in ("f8", "f4") and not report.fallbacks:
        assert len(report.graphs) <= 4  # -0.0 has code of its own.


@pytest.mark.inductor
@pytest.mark.parametrize("default_float", ["float32", "float64"])
def test_a_step_whose_time_goes_on_is_compiled_twice(default_float):
    def step(x, t, dt):
        force = np.sin(3 * t) * np.exp(-t) - np.where(x > t, t, x) * 0.1
        return np.clip(x + dt * force, -t, 1 + t) ** (1 + dt), t + dt

    for dtype in (np.float64, np.float32):
        jitted = npaccel.jit(step, compile="now", default_float=default_float)
        x, t = np.linspace(0.1, 1, 1000).astype(dtype), 0.5
        for _ in range(20):
            (ours, then), (theirs, t) = jitted(x, t, 0.01), step(x, t, 0.01)
            # The sine of a number is a 64-bit float that NumPy invents.
            narrowed = theirs.astype(dtype if default_float == "float32" else theirs.dtype)
            assert_same(ours, narrowed, rtol=1e-5 if dtype is np.float32 else 1e-13)
            assert type(then) is float
            assert t == then
            x = theirs.astype(dtype)
        assert len(jitted.report().graphs) == 2


@pytest.mark.parametrize("values", [range(2, 22), np.linspace(1.5, 9, 20).tolist()])
def test_numbers_that_only_decide_are_compiled_for_each_way(values):
    def function(x, v):
        if v > 5:
            return x * 2
        return x + 1

    jitted = npaccel.jit(function, backend="eager", compile="now")
    x = np.arange(5.0)
    for v in values:
        assert_same(jitted(x, v), function(x, v))
    assert len(jitted.report().graphs) <= 3


def by_length(x, y, v):
    return x * v if len(y) > 3 else x - v


def by_size(x, y, v):
    return x * v + y.size


def by_strides(x, y, v):
    return x * v + y.strides[0]


def by_item_of_list(x, y, v):
    return x * v + [y][0].shape[0]


@pytest.mark.parametrize("function", [by_length, by_size, by_strides, by_item_of_list])
@pytest.mark.parametrize("holds", [lambda y: y, lambda y: y[::2]], ids=["whole", "strided"])
def test_sizes_of_arrays_that_the_graph_does_not_take_are_guarded(function, holds):
    """What serves other numbers was taken for other sizes, too."""
    jitted = npaccel.jit(function, backend="eager", compile="now")
    x = np.arange(5.0)
    for size, v in zip([8, 8, 8, 4, 14, 8, 6, 6, 2], np.arange(9) + 0.5, strict=True):
        args = x, holds(np.ones(size)), v.item()
        assert_same(jitted(*args), function(*args))


@pytest.mark.parametrize("is_kept", [True, False])
def test_sizes_in_lists_are_guarded(is_kept):
    def function(x, arrays, v):
        return x * v + len(arrays[0])

    x = np.arange(5.0)
    for _ in range(2):  # From disk, the second time.
        jitted = npaccel.jit(function, compile="now", cache=is_kept)
        for size, v in [(5, 2.5), (5, 3.5), (5, 4.5), (2, 5.5), (7, 6.5)]:
            assert_same(jitted(x, [np.ones(size)], v), function(x, [np.ones(size)], v))


def decides_by_all(x, y, n):
    return x + y.shape[0] if y.ndim > 1 or y.size > n else x * n


def stacks(x, y, n):
    return [x * n] * len(y)


@pytest.mark.parametrize("function", [decides_by_all, stacks, by_size, by_length])
def test_any_layout_with_any_number(function):
    """Among them arrays of one or no element with negative strides."""
    rng = np.random.default_rng(0)

    def array():
        m, n = rng.integers(0, 6), rng.integers(1, 4)
        layouts = [np.ones(m), np.ones(2 * m)[::2], np.ones((m, n)), np.ones((n, m)).T]
        return [*layouts, np.ones(m)[::-1]][rng.integers(5)]

    jitted = npaccel.jit(function, backend="eager", compile="now", cache=False)
    for _ in range(150):
        whole = int(rng.integers(0, 6))
        args = array(), array(), [whole, float(whole), whole + 0.5, whole > 2][rng.integers(4)]
        ours, theirs = outcome(jitted, *args), outcome(function, *args)
        assert (ours is theirs) if isinstance(theirs, type) else (assert_same(ours, theirs) is None)


#: Functions whose result needs no computation on arrays, or none that the numbers take part in.
OF_NO_GRAPH = [
    lambda x, v: x,
    lambda x, v: v,
    lambda x, v: (x, v),
    lambda x, v: x.shape,
    lambda x, v: len(x) if v > 2 else 7,
    lambda x, v: v * 2 + len(x),
    lambda x, v: x.T if v > 2 else x,
    lambda x, v: None,
    lambda x, v: [v, x, v + 1],
    lambda x, v: max(v, 2),
    lambda x, v: f"{v}",
    lambda x, v: v if v > len(x) else x.ndim,
    lambda x, v: isinstance(v, int),
    lambda x, v: {v: x},
    lambda x, v: v == 3,
    lambda x, v: [x * 2] * len(x),
]


@pytest.mark.parametrize("function", OF_NO_GRAPH)
def test_results_of_numbers_alone(function):
    rng = np.random.default_rng(0)
    jitted = npaccel.jit(function, backend="eager", compile="now")
    for _ in range(25):
        x = [np.ones(rng.integers(0, 5)), np.ones((rng.integers(1, 4), 2))][rng.integers(2)]
        whole = int(rng.integers(0, 6))
        v = [whole, whole + 0.5][rng.integers(2)]
        assert_same(jitted(x, v), function(x, v))
        if function is OF_NO_GRAPH[0]:
            assert jitted(x, v) is x


@pytest.mark.parametrize(
    "function",
    [lambda x, v, w: x * (1j * v) * w, lambda x, v, w: x * w if v == 0 else x + v],
    ids=["complex", "branch"],
)
def test_zeros_keep_their_signs(function):
    """A symbol that becomes a constant has lost that of zero."""
    x = np.array([1.0, -2.0])
    jitted = npaccel.jit(function, backend="eager", compile="now", cache=False)
    for w, v in enumerate([1.5, 2.5, 0.0, -0.0, 3.5, 0.0, -0.0]):
        ours, theirs = jitted(x, v, w + 0.5), function(x, v, w + 0.5)
        assert_same(ours, theirs)
        for part in (np.real, np.imag):
            assert_same(np.signbit(part(ours)), np.signbit(part(theirs)))


OF_NUMBERS_ALONE = [
    lambda x, k, n: (x + 1, min(k, 7)),
    lambda x, k, n: (x[-1], max(n, k), k),
    lambda x, k, n: (x + 1, k + 1, -k),
    lambda x, k, n: (x * 2, (k * n, [k % 5, k < 3])),
    lambda x, k, n: (x[-1], min(k, 7), max(n, k), k + 1, -k, k // 2 + n),
]


@pytest.mark.parametrize("function", OF_NUMBERS_ALONE)
@pytest.mark.parametrize("dynamic", [False, None, True])
@pytest.mark.parametrize("first", [-1, 3, 9])
def test_what_is_computed_of_numbers_alone(function, dynamic, first):
    """It's a constant with a guard, or an input, but nothing that another call has left."""
    jitted = npaccel.jit(function, backend="eager", compile="now", cache=False, dynamic=dynamic)
    x = np.arange(4.0)
    for k, n in [(first, 4), (first, 4), (5, 4), (first, 4), (-3, 6), (5, 4), (8, -2), (-3, 6)]:
        assert_same(jitted(x, k, n), function(x, k, n))
