"""Random numbers on the host: NumPy's own, bit for bit, from inside of one graph."""

import numpy as np
import pytest
import torch

import npaccel
from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._numpy.random.results import PARAMETERS, result_of

_numpy.load()
OPTIONS = {"backend": "eager", "default_float": "float64"}

#: Calls of each method, as they stand in a function; `n` is a size, `a` an array.
CALLS = """
beta(2.0, 3.0, {size})
binomial(10, 0.3, {size})
chisquare(3, {size})
dirichlet([1.0, 2.0, 3.0], {size})
exponential(2.0, {size})
f(3, 4, {size})
gamma(2.0, 3.0, {size})
geometric(0.3, {size})
gumbel(1.0, 2.0, {size})
hypergeometric(5, 6, 7, {size})
laplace(1.0, 2.0, {size})
logistic(1.0, 2.0, {size})
lognormal(1.0, 2.0, {size})
logseries(0.3, {size})
multinomial(10, [0.2, 0.3, 0.5], {size})
multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], {size})
negative_binomial(3, 0.4, {size})
noncentral_chisquare(3, 2.0, {size})
noncentral_f(3, 4, 2.0, {size})
normal(1.0, 2.0, {size})
normal([1.0, 2.0, 3.0], 2.0)
pareto(3.0, {size})
poisson(3.0, {size})
power(3.0, {size})
rayleigh(2.0, {size})
standard_cauchy({size})
standard_exponential({size})
standard_gamma(2.0, {size})
standard_normal({size})
standard_t(3, {size})
triangular(1.0, 2.0, 4.0, {size})
uniform(1.0, 4.0, {size})
vonmises(1.0, 2.0, {size})
wald(1.0, 2.0, {size})
weibull(2.0, {size})
zipf(3.0, {size})
choice(7, {size})
choice(a, {size})
choice(a, 2, replace=False)
choice(a, {size}, p=[0.1, 0.2, 0.3, 0.4])
choice([1.5, 2.5], {size})
permutation(5)
permutation(n)
permutation(a)
permutation(b)
normal(a, 2.0)
poisson(a)
uniform(b, 9.0, size=(3, 4, 2))
""".strip().splitlines()
OF_GENERATORS = """
choice(b, 3, axis=1)
choice(b, 2, axis=1, shuffle=False, replace=False)
integers(5, size={size})
integers(2, 9, {size}, dtype=np.int16)
integers(2, 9, {size}, dtype="uint64", endpoint=True)
integers(0, k)
multivariate_hypergeometric([3, 4, 5], 6, {size})
permutation(b, axis=1)
permuted(b)
permuted(b, axis=0)
permuted(b, axis=1)
random({size})
random({size}, dtype=np.float32)
random({size}, "float32")
standard_exponential({size}, dtype=np.float32, method="inv")
standard_gamma(2.0, {size}, dtype="f4")
standard_normal({size}, dtype=np.float32)
""".strip().splitlines()
OF_STATES = """
rand()
rand(2, n)
randn()
randn(n)
randint(5, size={size})
randint(2, 9, {size}, dtype=np.int8)
randint(2, size={size}, dtype=bool)
random_sample({size})
random({size})
tomaxint({size})
""".strip().splitlines()
SIZES = ("None", "3", "(2, n)", "()")
HEAD = "def function(rng, a, b, k, n):\n"


def function_of(lines):
    scope = {"np": np}
    exec(HEAD + "".join(f"    {line}\n" for line in lines), scope)
    return scope["function"]


def drawing(call, owner="rng"):
    """Return a function with one call in all its sizes."""
    sizes = SIZES if "{size}" in call else ("",)
    if "replace=False" in call or "p=" in call:
        sizes = sizes[:3]
    calls = [f"{owner}.{call.replace('{size}', size)}" for size in sizes]
    return function_of([f"return {', '.join(calls)}, a + 1"])


def arguments():
    return (
        np.array([1.0, 2.0, 3.0, 4.0]),
        np.arange(8.0).reshape(4, 2),
        np.array([2, 3, 4, 5]),
        3,
    )


def assert_bitwise(got, wanted, where=""):
    assert type(got) is type(wanted), f"{where}: {type(got)} instead of {type(wanted)}"
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
            assert_bitwise(one, other, f"{where}[{i}]")
        return
    one, other = np.asarray(got), np.asarray(wanted)
    assert one.dtype == other.dtype, where
    np.testing.assert_array_equal(one, other, err_msg=where)


def compare(function, make, calls=2, **options):
    """Compare results and the generators' states, call by call."""
    jitted = npaccel.jit(function, **{**OPTIONS, **options})
    mine, theirs = make(), make()
    for _ in range(calls):
        got_args, wanted_args = arguments(), arguments()
        assert_bitwise(jitted(mine, *got_args), function(theirs, *wanted_args))
        assert_bitwise(got_args, wanted_args, "arguments")
        assert state(mine) == state(theirs)
    report = jitted.report()
    assert not report.fallbacks, str(report)
    assert len(report.graphs) == 1, str(report)
    return jitted


def state(owner):
    if isinstance(owner, np.random.Generator):
        return str(owner.bit_generator.state)
    return str(owner.get_state(legacy=False))


def generator():
    return np.random.Generator(np.random.PCG64(5))


def random_state():
    return np.random.RandomState(5)


@pytest.mark.parametrize("call", [*CALLS, *OF_GENERATORS])
def test_a_generators_draws_are_numpys(call):
    compare(drawing(call), generator)


@pytest.mark.parametrize("call", [*CALLS, *OF_STATES])
def test_a_random_states_draws_are_numpys(call):
    compare(drawing(call), random_state)


def test_every_method_is_tested():
    called = {call.split("(")[0] for call in (*CALLS, *OF_GENERATORS, *OF_STATES)}
    assert set(PARAMETERS) - called == {"shuffle", "random_integers"}


def test_the_functions_of_the_module_draw_from_the_global_state():
    calls = [call.replace("{size}", "3") for call in (*CALLS, *OF_STATES) if "tomaxint" not in call]
    calls += ["ranf(3)", "sample(3)"]
    function = function_of([f"return {', '.join(f'np.random.{call}' for call in calls)}, a + 1"])
    before = np.random.get_state()  # noqa: NPY002 (the legacy functions are what is tested)
    try:
        np.random.seed(3)  # noqa: NPY002
        jitted = npaccel.jit(function, **OPTIONS)
        got = [jitted(None, *arguments()) for _ in range(2)]
        after = str(np.random.get_state(legacy=False))  # noqa: NPY002
        np.random.seed(3)  # noqa: NPY002
        assert_bitwise(tuple(got), tuple(function(None, *arguments()) for _ in range(2)))
        assert after == str(np.random.get_state(legacy=False))  # noqa: NPY002
    finally:
        np.random.set_state(before)  # noqa: NPY002
    assert not jitted.report().fallbacks


SHUFFLED = ["a", "b", "b[:, 0]", "a[::2]", "np.zeros((4, 0))", "np.arange(6).reshape(2, 3)"]


@pytest.mark.parametrize("make", [generator, random_state])
@pytest.mark.parametrize("array", SHUFFLED)
def test_shuffle_writes_as_numpy_does(array, make):
    lines = [f"x = {array}", "rng.shuffle(x)", "return x, rng.normal(size=2)"]
    compare(function_of(lines), make)


def test_shuffle_along_an_axis():
    compare(function_of(["rng.shuffle(b, axis=1)", "return b + 1, rng.random()"]), generator)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "f2", "f8", "c16"])
@pytest.mark.parametrize("make", [generator, random_state])
def test_permutations_of_other_dtypes_use_the_same_numbers(dtype, make):
    lines = [f"x = (b > 2).astype({dtype!r})", "y = rng.permutation(x), rng.permutation(x[:, 0])"]
    compare(function_of([*lines, "return y, rng.random(3)"]), make, calls=1)


def test_numbers_of_pythons_are_weak():
    lines = ["x = a.astype(np.float32) * rng.random()", "y = np.arange(3) * rng.normal()"]
    more = [
        "return x, y, rng.random() * 2 + 1, np.full(2, rng.random()), np.minimum(a, rng.random())"
    ]
    compare(function_of(lines + more), generator)


def test_numpys_scalars_are_strong():
    compare(
        function_of(["return a.astype(np.float32) * rng.integers(5), rng.integers(5)"]), generator
    )


def test_draws_are_float64_and_keep_others_so_whatever_default_float_says():
    jitted = npaccel.jit(lambda rng: (rng.normal(size=3), np.zeros(3)), backend="eager")
    drawn, made = jitted(generator())
    assert (drawn.dtype, made.dtype) == (np.float64, np.float64)
    np.testing.assert_array_equal(drawn, generator().normal(size=3))


BAD = [
    "rng.normal(size=-1)",
    "rng.normal(scale=-1.0, size=3)",
    "rng.normal(a, size=3)",
    "rng.normal([1.0, 2.0], size=3)",
    "rng.poisson(-1.0)",
    "rng.binomial(3, 2.0, 5)",
    "rng.choice(3, 5, replace=False)",
    "rng.choice(a, p=[1.0])",
    "rng.integers(5, 2)",
    "rng.integers(300, size=3, dtype=np.uint8)",
    "rng.random(3, dtype=np.int32)",
    "rng.poisson(-a)",
    "rng.uniform(1.0, bogus=2)",
    "rng.permutation(2.5)",
]


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("call", BAD)
def test_wrong_calls_raise_what_numpy_raises(call):
    function = function_of(["x = rng.random(3)", f"return {call} + x.sum()"])
    mine, theirs = generator(), generator()
    with pytest.raises(Exception) as wanted:  # noqa: PT011 (whatever NumPy raises)
        function(theirs, *arguments())
    for _ in range(2):
        mine = generator()
        with pytest.raises(wanted.type):
            npaccel.jit(function, **OPTIONS)(mine, *arguments())
        assert state(mine) == state(theirs)


def test_a_result_is_told_without_drawing():
    for name in ("normal", "uniform", "random", "standard_normal"):
        drawn = result_of(name, (), {"size": (10**12, 10**6)}, legacy=False)
        assert drawn.shape == (10**12, 10**6)
    assert result_of("choice", (10**15,), {}, legacy=False).kind == "python"


@pytest.mark.parametrize("name", ["numpy.random.Generator.normal", "numpy.random.normal"])
def test_a_row_draws_when_it_is_called_by_itself(name):
    row = table.row_named(name)
    owners = [generator()] if "Generator" in name else []
    drawn = row.implementation(*owners, torch.zeros(3), 2.0)
    assert drawn.dtype == torch.float64
    if owners:
        np.testing.assert_array_equal(drawn, generator().normal(np.zeros(3, "f4"), 2.0))
    assert drawn.shape == (3,)


def test_constructors_make_what_they_are():
    for name in ("default_rng", "RandomState", "PCG64"):
        made = table.row_named(f"numpy.random.{name}").implementation(3)
        assert type(made) is type(getattr(np.random, name)(3))
