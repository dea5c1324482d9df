"""Random generators in loops over single elements: NumPy's draws, and its state afterwards."""

import contextlib
import copy
import re
import threading
import warnings

import numpy as np
import pytest
from comparing import assert_same
from nest_checking import function_of

import npaccel

pytest.importorskip("numba")
pytestmark = pytest.mark.sampled
BITS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM]


def jit(function, **options):
    return npaccel.jit(function, default_float="float64", strict=True, **options)


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def agree(function, *args, calls=2, **options):
    """Fail unless calls give NumPy's result and leave the arguments' state as NumPy does."""
    jitted = jit(function, **options)
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    for _ in range(calls):
        assert_same(jitted(*ours), function(*theirs))
        for mine, other in zip(ours, theirs, strict=True):
            if isinstance(mine, np.random.Generator):
                assert_same(mine.bit_generator.state, other.bit_generator.state)
            else:
                assert_same(mine, other)
    return jitted


def walk(rng, n):
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = x[i - 1] + rng.normal()
    return x


def metropolis(rng, chain, width):
    accepted = 0
    now = 0.0
    for i in range(len(chain)):
        new = now + rng.uniform(-width, width)
        if np.log(rng.random()) < 0.5 * (now * now - new * new):
            now = new
            accepted += 1
        chain[i] = now
    return accepted / len(chain)


def ising(rng, spins, beta):
    n = spins.shape[0]
    for _ in range(500):
        i, j = rng.integers(n), rng.integers(0, n)
        field = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
        change = 2 * spins[i, j] * field
        if change <= 0 or rng.random() < np.exp(-beta * change):
            spins[i, j] = -spins[i, j]
    return spins.sum()


@pytest.mark.parametrize("bits", BITS)
def test_walks(bits):
    jitted = agree(walk, np.random.Generator(bits(5)), 300)
    assert "Numba" in str(jitted.report())


def test_chains():
    agree(metropolis, np.random.default_rng(1), np.zeros(2000), 1.5)
    agree(ising, np.random.default_rng(2), np.ones((12, 12), np.int64), 0.4)


METHODS = {
    "random": "rng.random()",
    "standard_normal": "rng.standard_normal()",
    "standard_exponential": "rng.standard_exponential()",
    "normal": "rng.normal(b, a)",
    "normal, by name": "rng.normal(scale=a, loc=2)",
    "laplace": "rng.laplace(b, a)",
    "logistic": "rng.logistic(b, a)",
    "lognormal": "rng.lognormal(b, a)",
    "exponential": "rng.exponential(a)",
    "rayleigh": "rng.rayleigh(a)",
    "standard_gamma": "rng.standard_gamma(a)",
    "standard_gamma, small": "rng.standard_gamma(0.25)",
    "gamma": "rng.gamma(a, 2)",
    "uniform": "rng.uniform(b, b + a)",
    "uniform, by default": "rng.uniform()",
    "integers": "rng.integers(1, 10 + i)",
    "integers, few": "rng.integers(6)",
    "integers, many": "rng.integers(-(2**62), 2**62)",
    "integers, of 32 bits": "rng.integers(0, 2**32)",
    "integers, of 33 bits": "rng.integers(0, 2**32 + 1)",
    "integers, one": "rng.integers(3, 4)",
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    draw = function_of(
        "def draw(rng, x, a, b):\n"
        f"    for i in range(len(x)):\n        x[i] = {METHODS[name]}\n    return x\n"
    )
    kind = np.int64 if "integers" in name else np.float64
    agree(draw, np.random.default_rng(3), np.zeros(20000, kind), 1.75, -0.5)


def kinds(rng, x):
    for i in range(len(x)):
        one, two = rng.normal(), rng.integers(5)
        x[i] = one * x[i] + two
    return one, two


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_draws_have_numpys_types(dtype):
    agree(kinds, np.random.default_rng(4), np.ones(9, dtype))


REFUSED = {
    "normal": ("rng.normal(0, a)", (1.0, -1.0, -0.0, np.nan)),
    "gamma": ("rng.gamma(a, 1)", (1.0, 0.0, -2.0)),
    "uniform": ("rng.uniform(a, 1)", (0.0, 1.0, 2.0, -np.inf, np.nan)),
    "uniform, known": ("rng.uniform(2, 1) + a", (0.0,)),
    "integers": ("rng.integers(a)", (3, 0, -1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_raises_after_the_same_draws(name):
    call, numbers = REFUSED[name]
    draw = function_of(
        "def draw(rng, x, a):\n"
        f"    for i in range(len(x)):\n        x[i] = rng.random()\n"
        f"        if i > 4:\n            x[i] = {call}\n    return x\n"
    )
    jitted = npaccel.jit(draw, default_float="float64")
    for number in numbers:
        ours, theirs = np.random.default_rng(6), np.random.default_rng(6)
        mine, other = np.zeros(9), np.zeros(9)
        try:
            wanted, error = draw(theirs, other, number), None
        except (ValueError, OverflowError) as raised:
            wanted, error = None, raised
        if error is None:
            assert_same(jitted(ours, mine, number), wanted)
        else:
            with pytest.raises(type(error), match=re.escape(str(error))), quiet():
                jitted(ours, mine, number)
        assert_same(mine, other)
        assert_same(ours.bit_generator.state, theirs.bit_generator.state)


GLOBAL = np.random.default_rng(8)


def from_a_global(x):
    for i in range(len(x)):
        x[i] = GLOBAL.standard_normal()
    return x


class Sampler:
    def __init__(self):
        self.rng = np.random.default_rng(9)

    def fill(self, x):
        for i in range(len(x)):
            x[i] = self.rng.exponential(2.0)
        return x


def test_generators_from_elsewhere():
    jitted = jit(from_a_global)
    for _ in range(2):
        before = copy.deepcopy(GLOBAL)
        got = jitted(np.zeros(50))
        assert_same(got, [before.standard_normal() for _ in range(50)] * np.ones(50))
    ours, theirs = Sampler(), Sampler()
    fill = jit(Sampler.fill)
    for _ in range(2):
        assert_same(fill(ours, np.zeros(50)), theirs.fill(np.zeros(50)))


def shaken(rng, value):
    return value + rng.normal(0, 0.5)


def with_a_helper(rng, x):
    for i in range(1, len(x)):
        x[i] = shaken(rng, x[i - 1])
    return x


def test_helpers_draw_too():
    agree(with_a_helper, np.random.default_rng(10), np.zeros(40))


def of_two(rng, other, x):
    for i in range(len(x)):
        x[i] = rng.random() - other.random()
    return x


def quarter(rng, n):
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


@pytest.mark.small_arrays
def test_loops_without_arrays():
    jitted = agree(quarter, np.random.default_rng(10), 4000)
    assert "Numba" in str(jitted.report())


def rows(rng, x):
    for _ in range(3):
        x = x + rng.normal(size=4)
    return x


def test_draws_of_arrays_are_no_single_ones():
    agree(rows, np.random.default_rng(10), np.zeros(4))


def test_two_generators_and_one_twice():
    agree(of_two, np.random.default_rng(1), np.random.default_rng(2), np.zeros(30))
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    assert_same(jit(of_two)(rng, rng, np.zeros(30)), of_two(same, same, np.zeros(30)))


def test_iterations_stay_in_order():
    def columns(rng, x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = rng.random()
        return x

    agree(columns, np.random.default_rng(11), np.zeros((600, 500)))


def test_threads_take_iterations():
    def fill(rng, x):
        for i in range(len(x)):
            x[i] = rng.random()
        return x

    jitted = jit(fill)
    jitted(np.random.default_rng(0), np.zeros(5))
    rng = np.random.default_rng(12)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(jitted(rng, np.zeros(100_000))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = np.random.default_rng(12).random(400_000)
    assert_same(np.sort(np.concatenate(found)), np.sort(wanted))


@pytest.mark.parametrize(
    "call", ["rng.choice(5)", "rng.normal(size=1)[0]", "rng.random(dtype=np.float32)"]
)
def test_other_draws_run_in_python(call):
    draw = function_of(
        "def draw(rng, x):\n"
        f"    for i in range(len(x)):\n        x[i] = x[i - 1] + {call}\n    return x\n"
    )
    jitted = npaccel.jit(draw, default_float="float64")
    with quiet():
        got = jitted(np.random.default_rng(13), np.zeros(8))
    assert_same(got, draw(np.random.default_rng(13), np.zeros(8)))
    assert "Python" in str(jitted.report())
