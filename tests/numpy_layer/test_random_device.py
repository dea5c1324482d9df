"""``rng="device"``: Philox against its known answers, distributions, seeds, devices."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import npaccel
from npaccel import errors
from npaccel._numpy.random import device_rng
from npaccel._numpy.random.philox import Stream, philox

OPTIONS = {"backend": "eager", "rng": "device", "strict": True}
WORDS = torch.tensor([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0])
COUNT = 200_000
#: A test of a right stream fails once in a million runs; the stream is fixed, so never.
LEVEL = 1e-6


def draw(name, *args, words=WORDS, legacy=False, **kwargs):
    return device_rng.drawn(words, name, legacy, args, kwargs)[0]


# -- Philox

#: The test vectors of Random123 1.14: counter, key, result.
KNOWN = [
    (
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


def words_of(text):
    return tuple(torch.tensor(int(word, 16)) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
def test_philox_gives_its_published_answers(counter, key, wanted):
    assert philox(*words_of(counter), *words_of(key)) == words_of(wanted)


def test_every_bit_is_fair():
    found = torch.stack(Stream(WORDS, (COUNT,)).words)
    assert int(found.min()) >= 0
    assert int(found.max()) < 1 << 32
    for word in found:
        for bit in (0, 1, 15, 30, 31):
            ones = int(((word >> bit) & 1).sum())
            assert scipy.stats.binomtest(ones, COUNT).pvalue > LEVEL


def test_the_logarithm_and_the_circle_are_accurate():
    stream = Stream(WORDS, (COUNT,))
    edges = [1.0, 2.0**-53, 1 - 2.0**-53, 0.5, math.sqrt(0.5), math.sqrt(2), 36.7, 1e-16]
    x = torch.cat([stream.positive(), torch.tensor(edges, dtype=torch.float64)])
    np.testing.assert_allclose(stream.log(x), np.log(x.numpy()), rtol=6e-16, atol=0)
    angle = stream.float64(1).numpy() * 2 * np.pi
    cosine, sine = stream.circle()
    np.testing.assert_allclose(cosine, np.cos(angle), rtol=0, atol=1e-15)
    np.testing.assert_allclose(sine, np.sin(angle), rtol=0, atol=1e-15)


# -- distributions

CONTINUOUS = [
    ("random", (), scipy.stats.uniform()),
    ("uniform", (-2.0, 5.0), scipy.stats.uniform(-2, 7)),
    ("standard_normal", (), scipy.stats.norm()),
    ("normal", (3.0, 0.5), scipy.stats.norm(3, 0.5)),
    ("standard_exponential", (), scipy.stats.expon()),
    ("exponential", (2.5,), scipy.stats.expon(scale=2.5)),
    ("laplace", (1.0, 2.0), scipy.stats.laplace(1, 2)),
    ("logistic", (1.0, 2.0), scipy.stats.logistic(1, 2)),
    ("gumbel", (1.0, 2.0), scipy.stats.gumbel_r(1, 2)),
    ("rayleigh", (2.0,), scipy.stats.rayleigh(scale=2)),
]


@pytest.mark.parametrize(("name", "args", "wanted"), CONTINUOUS)
def test_continuous_distributions(name, args, wanted):
    values = draw(name, *args, size=COUNT)
    assert values.dtype == torch.float64
    assert bool(torch.isfinite(values).all())
    assert scipy.stats.kstest(values.numpy(), wanted.cdf).pvalue > LEVEL


DISCRETE = [
    ("integers", (10,), {}, scipy.stats.randint(0, 10)),
    ("integers", (-3, 4), {"endpoint": True}, scipy.stats.randint(-3, 5)),
    ("integers", (0, 2), {"dtype": np.uint8}, scipy.stats.randint(0, 2)),
    ("poisson", (3.5,), {}, scipy.stats.poisson(3.5)),
    ("poisson", (100.0,), {}, scipy.stats.poisson(100)),
    ("binomial", (10, 0.3), {}, scipy.stats.binom(10, 0.3)),
    ("binomial", (500, 0.9), {}, scipy.stats.binom(500, 0.9)),
]


def chi_square(values, wanted):
    """The p-value of counts; classes with few expected numbers are put together."""
    found, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    expected = wanted.pmf(found) * len(values)
    many = expected > 20
    observed = [*counts[many], len(values) - counts[many].sum()]
    theory = [*expected[many], len(values) - expected[many].sum()]
    if theory[-1] < 20:
        observed, theory = observed[:-1], np.array(theory[:-1])
        theory = theory * sum(observed) / theory.sum()
    return scipy.stats.chisquare(observed, theory).pvalue


@pytest.mark.parametrize(("name", "args", "kwargs", "wanted"), DISCRETE)
def test_discrete_distributions(name, args, kwargs, wanted):
    values = draw(name, *args, size=COUNT, **kwargs)
    low, high = wanted.support()
    assert low <= int(values.min())
    assert int(values.max()) <= high
    assert chi_square(values, wanted) > LEVEL


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_binomials_without_chance(p):
    assert (draw("binomial", 5, p, size=100) == 5 * p).all()
    assert (draw("poisson", 0.0, size=100) == 0).all()


RANGES = [
    (0, 1 << 31, "int64"),
    (-5, (1 << 31) - 5, "int64"),
    (0, 1 << 32, "uint32"),
    (-(1 << 31), 1 << 31, "int32"),
    (0, 1 << 62, "int64"),
    (-(1 << 63), 1 << 63, "int64"),
    (0, 1 << 64, "uint64"),
]


@pytest.mark.parametrize(("low", "high", "dtype"), RANGES)
def test_wide_ranges_of_integers(low, high, dtype):
    values = draw("integers", low, high, size=20_000, dtype=dtype).numpy()
    assert values.dtype == dtype
    scaled = (values.astype(float) - low) / (high - low)
    assert scipy.stats.kstest(scaled, scipy.stats.uniform().cdf).pvalue > LEVEL
    assert len(np.unique(values % np.array(64, dtype))) == 64


def test_orders_are_uniform():
    first = torch.stack([
        device_rng.order(WORDS + torch.tensor([i, 0, 0, 0, 0]), (4,), 0) for i in range(600)
    ])  # fmt: skip
    codes = (first * torch.tensor([64, 16, 4, 1])).sum(1).numpy()
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 24
    assert scipy.stats.chisquare(counts).pvalue > LEVEL
    assert (first.sort(1).values == torch.arange(4)).all()


def test_choices_follow_their_probabilities():
    p = [0.1, 0.2, 0.3, 0.4]
    values = device_rng.choice(WORDS, 4, COUNT, p=p).numpy()
    assert scipy.stats.chisquare(np.bincount(values), np.array(p) * COUNT).pvalue > LEVEL
    few = device_rng.choice(WORDS, 1000, (10, 50), replace=False)
    assert len(few.unique()) == 500


# -- independence


@pytest.mark.parametrize("change", range(4))
def test_streams_of_other_keys_are_independent(change):
    other = WORDS.clone()
    other[change] += 1
    one, two = draw("random", size=COUNT), draw("random", size=COUNT, words=other)
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / math.sqrt(COUNT)


def test_neighbours_in_a_stream_are_independent():
    values = draw("standard_normal", size=COUNT).numpy()
    for lag in (1, 2, 3, 4, 1000):
        assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 5 / math.sqrt(COUNT)
    pairs = draw("random", size=COUNT).numpy().reshape(-1, 2)
    counts = np.histogram2d(*pairs.T, bins=16)[0].ravel()
    assert scipy.stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize("name", ["random", "standard_normal", "gumbel"])
def test_an_element_depends_on_its_place_only(name):
    """So that numbers don't depend on how the work is split."""
    whole = draw(name, size=1000)
    assert torch.equal(draw(name, size=(8, 125)).reshape(-1), whole)
    assert torch.equal(draw(name, size=37), whole[:37])
    assert torch.equal(draw(name, size=()), whole[0])


# -- inside of jit


def everything(a, rng):
    first = rng.random(5), rng.integers(0, 10, size=5), rng.integers(7)
    moved = rng.normal(a), rng.random(3, dtype=np.float64), rng.random() * a
    orders = rng.permutation(5), rng.permutation(a), rng.choice(7, 3, replace=False)
    rng.shuffle(a)
    return first, moved, orders, rng.choice(a), a


def test_draws_are_reproducible_and_the_generator_advances():
    jitted = npaccel.jit(everything, **OPTIONS)
    runs = []
    for seed in (1, 1, 2):
        rng = np.random.default_rng(seed)
        runs.append([jitted(np.arange(4.0), rng) for _ in range(2)])
    np.testing.assert_equal(runs[0], runs[1])
    one = np.concatenate([result[0][0] for calls in runs[1:] for result in calls])
    assert len(set(one.tolist())) == 20
    (random, integers, integer), moved, orders, chosen, shuffled = runs[0][0]
    assert (random.dtype, integers.dtype, type(integer)) == (np.float64, np.int64, np.int64)
    assert [array.dtype for array in moved] == [np.float64] * 3
    assert type(chosen) is np.float64
    assert len(set(orders[2].tolist())) == 3
    for order, n in ((orders[0], 5), (orders[1], 4), (shuffled, 4)):
        assert sorted(order) == list(range(n))


@pytest.mark.parametrize("default_float", ["float32", "float64"])
def test_the_default_float_is_kept(default_float):
    function = npaccel.jit(
        lambda rng: (rng.random(9), rng.normal(size=9), rng.exponential(size=9)),
        default_float=default_float,
        **OPTIONS,
    )
    for values in function(np.random.default_rng(1)):
        assert values.dtype == default_float


def test_seeds_inside_and_the_legacy_functions():
    def function(seed):
        np.random.seed(seed)  # noqa: NPY002
        made = np.random.default_rng(seed).normal(size=3)
        return np.random.rand(4), np.random.randn(2), np.random.randint(5), made  # noqa: NPY002

    before = np.random.get_state()  # noqa: NPY002
    try:
        jitted = npaccel.jit(function, **OPTIONS)
        one, again, other = jitted(1), jitted(1), jitted(2)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    np.testing.assert_equal(one, again)
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[3], other[3])
    assert type(one[2]) is int


def test_every_shape_draws_the_same_stream():
    jitted = npaccel.jit(lambda a, rng: rng.normal(size=a.shape), **OPTIONS)
    found = [jitted(np.ones(n), np.random.default_rng(1)) for n in (5, 6, 9)]
    np.testing.assert_array_equal(found[0], found[2][:5])
    np.testing.assert_array_equal(found[1], found[2][:6])
    assert len(jitted.report().graphs) == 2


NOT_OFFERED = [
    (lambda a, rng: rng.gamma(2.0, size=3), "Generator.gamma isn't offered"),
    (lambda a, rng: rng.multivariate_normal([0.0], [[1.0]]), "multivariate_normal"),
    (lambda a, rng: rng.poisson(a), "constant numbers"),
    (lambda a, rng: rng.integers(0, 3 << 40, size=3), "range of more than"),
    (lambda a, rng: rng.choice(a, 2, replace=False, p=a), "without `replace`"),
]


@pytest.mark.parametrize(("function", "text"), NOT_OFFERED)
def test_what_is_not_offered_raises_and_names_the_other_way(function, text):
    with pytest.raises(errors.NotOnDeviceError, match=text) as caught:
        npaccel.jit(function, **{**OPTIONS, "strict": False})(np.ones(3), np.random.default_rng(1))
    assert 'rng="numpy"' in str(caught.value)
    assert isinstance(caught.value, NotImplementedError)


def test_a_function_in_pieces_says_that_numpy_draws():
    def function(a, rng):
        b = np.real_if_close(a)
        return b + rng.random(3)

    jitted = npaccel.jit(function, **{**OPTIONS, "strict": False})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = jitted(np.ones(3), np.random.default_rng(1))
    assert any("in spite of" in str(warning.message) for warning in caught)
    np.testing.assert_array_equal(got, 1 + np.random.default_rng(1).random(3))


# -- devices

NAMES = [
    ("normal", (3.0, 0.7)),
    ("uniform", (-1.0, 3.0)),
    ("random", ()),
    ("integers", (17,)),
    ("exponential", (0.3,)),
    ("gumbel", (0.1, 0.7)),
    ("logistic", (0.1, 0.7)),
    ("rayleigh", (0.3,)),
]


@pytest.mark.parametrize(("name", "args"), NAMES)
def test_nothing_is_read_from_a_device(name, args):
    words = torch.empty(5, dtype=torch.int64, device="meta")
    values = draw(name, *args, words=words, size=(4, 5))
    assert (values.device.type, values.shape) == ("meta", (4, 5))
    assert device_rng.order(words, (7,), 0).device.type == "meta"


def test_it_traces_with_symbolic_sizes():
    def function(words, a):
        return draw("random", words=words, size=a.shape), device_rng.permuted(words, a, 0)

    graph = make_fx(function, tracing_mode="symbolic")(WORDS, torch.arange(6.0).reshape(3, 2))
    for a in (torch.zeros(3, 2), torch.arange(35.0).reshape(5, 7)):
        for got, wanted in zip(graph(WORDS, a), function(WORDS, a), strict=True):
            assert torch.equal(got, wanted)


def several(n, rng):
    return (
        *(rng.normal(2.0, 3.1, size=n), rng.random(n), rng.random(n, dtype=np.float64)),
        *(rng.integers(0, 10, size=n), rng.gumbel(0.3, 0.7, n), rng.permutation(n)),
    )


@pytest.mark.inductor
def test_compiled_code_gives_the_same_bits():
    runs = [
        npaccel.jit(several, default_float=width, **{**OPTIONS, "backend": backend})(
            1000, np.random.default_rng(1)
        )
        for backend in ("eager", "inductor")
        for width in ("float64",)
    ]
    for one, other in zip(*runs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))


@pytest.mark.cuda
@pytest.mark.inductor
@pytest.mark.parametrize("width", ["float32", "float64"])
def test_a_gpu_gives_the_same_bits(width):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    runs = [
        npaccel.jit(several, rng="device", default_float=width, device=device, strict=True)(
            1_000_000, np.random.default_rng(1)
        )
        for device in ("cpu", "cuda")
    ]
    for one, other in zip(*runs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.view(f"i{one.itemsize}"), other.view(f"i{one.itemsize}"))
