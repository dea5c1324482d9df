"""64-bit data keep 64-bit accuracy under default options, and 32-bit data their width."""

import dataclasses
import gc
import warnings
import weakref

import numpy as np
import pytest
import scipy.special
import torch
from comparing import assert_same

import npaccel
from npaccel._syntax.wide_reach import NarrowReach, reaches_wide

X = np.linspace(0.1, 2.9, 40)
TABLE = np.linspace(0.0, 1.0, 40)
STRONG = np.float64(0.1)
WEAK = 0.1


def gauss(x):
    s = 0.7
    return np.exp(-(x**2) / (2 * s * s)) / (s * np.sqrt(2 * np.pi))


def option_price(x):
    strike, rate, sigma, years = 1.1, 0.05, 0.2, 0.5
    d1 = (np.log(x / strike) + (rate + sigma**2 / 2) * years) / (sigma * np.sqrt(years))
    d2 = d1 - sigma * np.sqrt(years)
    cdf = 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (d2 + 0.044715 * d2**3)))
    return x * d1 - strike * np.exp(-rate * years) * cdf


def polynomial(x):
    return np.polyval([1 / 3, np.e, np.sqrt(3), 0.1], x)


def grid(x):
    return x + np.linspace(0, 1, x.size) / 3


def steps(x):
    return x * np.arange(0, 4, 0.1)[: x.size]


def thirds(x):
    return x + np.arange(x.size) / 3


def zeros_with(x):
    out = np.zeros(x.size)
    out[1:] = x[1:] - x[:-1]
    return out + np.ones(x.size) / 7


def full_of(x):
    return np.full(x.size, 1 / 3) * x


def window(x):
    return x * np.hanning(x.size) + np.kaiser(x.size, 3.3)


def identity(x):
    return np.eye(4) / 3 @ x[:4]


def literal(x):
    return x[:3] * np.array([0.1, 0.2, 0.3])


def spectrum(x):
    return np.abs(np.fft.fft(x * np.exp(2j * np.pi * np.arange(x.size) / x.size)))


def frequencies(x):
    return np.fft.fftfreq(x.size, 0.1) * x


def histogram(x):
    return np.histogram(x, bins=7, range=(0, 3))[1] * x[:8]


def interpolated(x):
    return np.interp(x, [0.0, 1.0, 3.0], [0.1, 0.7, 0.2])


def chosen(x):
    return np.where(x > 1, 1 / 3, x * np.log(3))


def meaned(x):
    return x - np.mean([0.1, 0.2, 0.4]) - np.arange(7).mean() / 3


def normal(x):
    return np.linalg.norm([0.1, 0.7]) * x / np.std(np.arange(5))


def looped(x):
    total, weight = np.zeros(x.size), np.sqrt(2.0)
    for i in range(1, 5):
        total = total + x * weight / i + np.sin(i) / 3
    return total


def single_elements(x):
    total, out, weight = 0.0, np.zeros(len(x)), np.log(2) / 3
    for i in range(len(x)):
        total += x[i] * weight + np.exp(-0.1)
        out[i] = total
    return out


def in_pieces(x):
    weight = np.linspace(0, 1, x.size) / 3
    print(end="")
    return weight * x + np.sqrt(2.0)


def of_scipy(x):
    return scipy.special.erf(x / np.sqrt(2)) + scipy.special.gammaln(np.arange(1, x.size + 1))


def of_table(x):
    return np.sqrt(3.0) * np.interp(x, np.linspace(0, 3, 5), np.arange(5) / 3)


FUNCTIONS = [
    *(gauss, option_price, polynomial, grid, steps, thirds, zeros_with, full_of, window, identity),
    *(literal, spectrum, frequencies, histogram, interpolated, chosen, meaned, normal, looped),
    *(single_elements, in_pieces, of_scipy, of_table),
]


def run(function, x, **options):
    jitted = npaccel.jit(function, cache=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
        results = [jitted(value) for value in (x, x, x[:-1].copy(), x)]
    return jitted, results[-1]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_64_bit_data_keep_64_bit_accuracy(function, backend):
    _, got = run(function, X, backend=backend)
    wanted = function(X)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_32_bit_data_keep_their_width(function, backend):
    if function is histogram:
        pytest.skip("edges of float32 data are float32 in NumPy")
    x = X.astype(np.float32)
    jitted, got = run(function, x, backend=backend)
    wanted = function(x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)
    if function not in (gauss, option_price, polynomial, chosen):
        assert jitted.report().narrowed
        assert (
            "narrowed to 32 bit"
            in " ".join(str(jitted.report()).split()).partition(" compiling")[0]
        )


def test_tensors_keep_their_accuracy_too():
    jitted = npaccel.jit(gauss, backend="eager", cache=False)
    got = jitted(torch.from_numpy(X))
    np.testing.assert_allclose(got.numpy(), gauss(X), rtol=1e-13)
    assert jitted(torch.from_numpy(X).float()).dtype == torch.float32


# -- What makes a call one of 64 bits


@dataclasses.dataclass
class Holder:
    values: np.ndarray


def by_attribute(x, holder):
    return np.linspace(0, 1, 4) / 3 + x * holder.values


def by_list(x, values):
    return np.linspace(0, 1, 4) / 3 + x * values[0]


def by_global(x):
    return np.linspace(0, 1, 40) / 3 + x * TABLE


def by_global_scalar(x):
    return np.linspace(0, 1, 4) / 3 + x * STRONG


def by_closure(table):
    def f(x):
        return np.linspace(0, 1, 4) / 3 + x * table

    return f


def by_scalar(x):
    return np.linspace(0, 1, 4) / 3 + x * np.float64(0.1)


def by_dtype(x):
    return np.linspace(0, 1, 4) / 3 + x.astype(float)


def by_dtype_text(x):
    return np.linspace(0, 1, 4) / 3 + np.zeros(4, "d") + x


def by_dtype_of_a_loop(x):
    return np.linspace(0, 1, 4) / 3 + np.add(x, 1, dtype=np.float64)


def by_draws(x, rng):
    return np.linspace(0, 1, 4) / 3 + x * rng.normal(size=4)


def untouched(x, other):
    return np.linspace(0, 1, 4) / 3 + x


F4 = np.arange(4, dtype=np.float32)
F8 = np.array([0.1, 0.2, 0.3, 0.7])
I8 = np.arange(4)


@pytest.mark.parametrize("x", [F4, I8], ids=["float32", "int64"])
@pytest.mark.parametrize(
    ("function", "others"),
    [
        (by_attribute, lambda: [Holder(F8)]),
        (by_list, lambda: [[F8]]),
        (by_global, None),
        (by_global_scalar, list),
        (by_closure(F8), list),
        (by_scalar, list),
        (by_dtype, list),
        (by_dtype_text, list),
        (by_dtype_of_a_loop, list),
        (by_draws, lambda: [np.random.default_rng(0)]),
        (untouched, lambda: [F8]),
        (untouched, lambda: [np.float64(1)]),
        (untouched, lambda: [{"a": (F8,)}]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_is_narrowed_where_anything_is_64_bit(function, others, x):
    if function is by_global:
        x, others = np.arange(40, dtype=x.dtype), list
    jitted = npaccel.jit(function, backend="eager", cache=False)
    for _ in range(2):
        assert_same(jitted(x, *others()), function(x, *others()), rtol=1e-15)
    assert not jitted.report().narrowed


def test_what_is_captured_may_change_its_width():
    space = {"np": np, "TABLE": F8}
    exec("def f(x):\n    return np.linspace(0, 1, 4) / 3 + x * TABLE", space)
    jitted = npaccel.jit(space["f"], backend="eager", cache=False)
    for table in (F8, F4, F8, I8, F8.astype(complex), F4):
        space["TABLE"] = table
        got, wanted = jitted(F4), space["f"](F4)
        if table.dtype.char in "dD":
            assert_same(got, wanted, rtol=1e-15)
        else:
            assert got.dtype == np.float32
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


CHANGING = """
import numpy as np

K = 3

def whole(x):
    return x / 3 + K

def broken(x):
    s = x / 3
    print(end="")
    return s + K

def looped(x):
    s = x / 3
    for i in range(3):
        s = s + K
    return s

def caught(x):
    try:
        y = x / 3
        if len(y) > 100:
            raise ValueError
    except ValueError:
        y = x / 2
    return y + K

def listed(x):
    return np.array([v / 3 + K for v in x])

def called(x):
    return looped(x) * 2

def defaulted(x):
    return of_default(x.mean())

def of_default(x, k=[K]):
    return x * k[0]

def of_attribute(x, owner):
    return x.mean() * owner.k

def of_attribute_in_a_loop(x, owner):
    s = x.mean() * 0
    for i in range(3):
        s = s + owner.k * x[i]
    return s

def of_a_late_item(x, items):
    return x.mean() * items[5]

class Holder:
    def __init__(self):
        self.k = K

class Slotted:
    __slots__ = ("__k",)

    def __init__(self):
        self.__k = K

    @property
    def k(self):
        return self.__k

    @k.setter
    def k(self, value):
        self.__k = value

class Shared:
    k = K
"""


def change_global(space, value):
    space["K"] = value


def change_default(space, value):
    space["of_default"].__defaults__[0][0] = value


CHANGES = {
    **dict.fromkeys(("whole", "broken", "looped", "caught", "listed", "called"), change_global),
    "defaulted": change_default,
}


def assert_follows(jitted, plain, change, *others):
    """Whether results of ints are as wide as what comes to where the function reads."""
    x = np.arange(5)
    for value in (3, np.float64(1 / 3), 3, np.array([1 / 3]), np.float32(0.5), np.array(1 / 3)):
        change(value)
        for _ in range(3):
            got, wanted = np.asarray(jitted(x, *others)), np.asarray(plain(x, *others))
            if isinstance(value, np.ndarray | np.float64):
                assert_same(got, wanted, rtol=1e-15)
            else:  # Exact is right as well.
                np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHANGES)
def test_what_comes_to_globals_later_is_not_narrowed(name):
    space = {"__name__": "changing"}
    exec(CHANGING, space)
    jitted = npaccel.jit(space[name], backend="eager", cache=False)
    assert_follows(jitted, space[name], lambda value: CHANGES[name](space, value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["Holder", "Slotted", "Shared"])
@pytest.mark.parametrize("name", ["of_attribute", "of_attribute_in_a_loop"])
def test_what_comes_to_objects_later_is_not_narrowed(name, kind):
    space = {"__name__": "changing"}
    exec(CHANGING, space)
    owner = space[kind]()
    place = space[kind] if kind == "Shared" else owner
    jitted = npaccel.jit(space[name], backend="eager", cache=False)
    assert_follows(jitted, space[name], lambda value: setattr(place, "k", value), owner)


@pytest.mark.inductor
@pytest.mark.parametrize("name", ["whole", "looped", "of_attribute", "of_a_late_item"])
def test_what_comes_later_is_not_narrowed_by_tiers(name):
    space = {"__name__": "changing"}
    exec(CHANGING, space)
    others, change = [], lambda value: change_global(space, value)
    if name == "of_attribute":
        others = [space["Slotted"]()]
        change = lambda value: setattr(others[0], "k", value)  # noqa: E731
    elif name == "of_a_late_item":
        others = [[1, 2, 3, 4, 5, 6]]
        change = lambda value: others[0].__setitem__(5, value)  # noqa: E731
    assert_follows(npaccel.jit(space[name], cache=False), space[name], change, *others)


def test_both_widths_of_one_function():
    jitted = npaccel.jit(gauss, backend="eager", cache=False)
    for dtype in ("f4", "f8", "f4", "i8", "f8", "f2"):
        x = np.arange(1, 5).astype(dtype)
        got, wanted = jitted(x), gauss(x)
        expected = np.result_type(x, np.float16) if x.dtype.kind == "f" else np.float32
        assert got.dtype == expected
        rtol = {2: 5e-2, 4: 1e-6, 8: 1e-15}[got.dtype.itemsize]
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)


# -- Numbers


def hypotenuse(a, b):
    return np.sqrt(a * a + b * b), np.hypot(a, b), np.log(a) * np.pi, np.mean([a, b, 0.1])


def test_functions_of_python_numbers_are_computed_in_64_bit():
    jitted = npaccel.jit(hypotenuse, backend="eager", cache=False)
    for a in (0.1, 0.3, 0.7, 2.5, 3):
        for got, wanted in zip(jitted(a, 0.7), hypotenuse(a, 0.7), strict=True):
            assert type(got) is type(wanted)
            assert abs(got / wanted - 1) < 1e-15
    assert not jitted.report().narrowed


@pytest.mark.parametrize(
    "text",
    [
        *(
            "np.sqrt(2.0) * x",
            "x / np.log(2)",
            "np.hypot(3, 4) + x",
            "np.exp(1j * np.sqrt(2.0)) * x",
        ),
        *("np.full(4, np.sqrt(2.0))", "np.append(x, np.sqrt(2.0))", "np.array([np.sqrt(2.0), 1])"),
        *("np.where(x > 1, np.sqrt(2.0), x)", "np.outer(np.sqrt(2.0), x)", "np.mean([1, 2]) * x"),
        *("np.repeat(np.sqrt(2.0), 3)", "np.linspace(0, np.sqrt(2.0), 5)", "x ** np.sqrt(2.0)"),
        *("np.clip(x, 0.2, np.sqrt(2.0))", "np.stack([np.sqrt(2.0), 0.1])", "np.sqrt(len(x)) * x"),
        "np.sum([0.1] * 3) * x",
    ],
)
def test_numbers_are_weak(text):
    function = eval(f"lambda x: {text}", {"np": np})
    got, wanted = npaccel.jit(function, backend="eager", cache=False)(F4), function(F4)
    assert got.dtype == (np.complex64 if np.iscomplexobj(wanted) else np.float32)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


# -- Split functions and subgraphs


class Simulation:
    """A state that a loop in a method changes."""

    def __init__(self, dtype):
        self.state = np.arange(6).astype(dtype)
        self.weight = np.sqrt(2.0)

    @npaccel.jit(cache=False, backend="eager", loops="compile")
    def run(self, n):
        total = np.linspace(0, 1, 6) / 3
        for i in range(n):
            total = total + self.state * self.weight / (i + 1)
        return total


def test_objects_of_one_class_with_both_widths():
    for dtype in ("f4", "f8", "f4", "f8"):
        got = Simulation(dtype).run(3)
        wanted = Simulation.run.__wrapped__(Simulation(dtype), 3)
        if dtype == "f8":
            assert_same(got, wanted, rtol=1e-15)
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def late_in_a_loop(x, log):
    total = np.linspace(0, 1, 4) / 3
    log.append(total.sum() > 0)
    for i in range(3):
        total = total + x * getattr(np, "flo" + "at64")(0.1) * (i + 1)
    return total


def late_in_pieces(x, log):
    total = np.linspace(0, 1, 4) / 3
    log.append(bool(total.sum() > 0))
    print(end="")
    return total + x * getattr(np, "flo" + "at64")(0.1) * np.ones(4, getattr(np, "flo" + "at64"))


@pytest.mark.parametrize("function", [late_in_a_loop, late_in_pieces], ids=lambda f: f.__name__)
def test_a_call_starts_over_where_64_bit_floats_turn_up_late(function):
    """No name tells of them, so that the first parts have narrowed floats by then."""
    jitted = npaccel.jit(function, backend="eager", cache=False, loops="compile")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
        for _ in range(3):
            ours, theirs = [], []
            assert_same(jitted(F4, ours), function(F4, theirs), rtol=1e-15)
            assert ours == theirs
    assert "narrowed" not in str(jitted.report())  # As nothing is, in the end.


# -- What is told


def test_check_compares_64_bit_results_as_such():
    assert npaccel.check(gauss, X).narrowed == ()
    assert npaccel.check(gauss, I8).narrowed

    assert npaccel.check(gauss, X).ok
    npaccel.jit(gauss, verify=True, backend="eager", cache=False)(X)


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("x * 2.5", False),
        ("x.astype(float)", True),
        ("x.astype('f4')", False),
        ("x.astype('f8')", True),
        ("np.zeros(3, dtype='complex128')", True),
        ("np.float64(x)", True),
        ("isinstance(x, float)", False),
        ("float(x)", False),
        ("rng.normal()", True),
        ("np.random.randint(3)", False),
        ("np.random.random(3)", True),
        ("sorted(x, key=float)", False),
        ("TABLE[0]", True),
        ("holder.values", True),
        ("x['a']", False),
        ("x['<a8'] + x['8a'] + x['f8,a']", False),
        ("x.astype('<float64')", False),
        ("x.astype('float64')", True),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_code_asks_for(tmp_path, text, wide):
    import linecache

    source = f"def f(x):\n    return {text}\n"
    name = str(tmp_path / "source.py")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"np": np, "TABLE": F8, "holder": Holder(F8), "rng": None, "__name__": "user"}
    exec(compile(source, name, "exec"), space)
    assert reaches_wide(space["f"], [F4]) == wide


def test_what_was_looked_at_is_let_go():
    space = {"__name__": "changing"}
    exec(CHANGING, space)
    reach = NarrowReach(space["of_attribute"])
    owner = space["Holder"]()
    owner.k = np.arange(3)
    callback = lambda x, held=owner: x  # noqa: E731
    for others in ((owner,), (owner, callback), ([owner], {"a": owner.k})):
        for _ in range(2):
            assert not reach.is_left((np.arange(3), *others))
    references = [weakref.ref(owner), weakref.ref(owner.k), weakref.ref(callback)]
    del owner, callback, others
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
