"""What torch's own kernels do right, but its compiler to C++ did not.

Calls of all rows of the table are compared with NPACCEL_TEST_SWEEP=inductor, many at a time,
which takes hours; `sweep_inductor.py` does so for some.
"""

import os

import numpy as np
import pytest
from inductor_batches import LAYOUTS, calls_of, wrong_calls
from test_differential import COMPILED

import npaccel

pytestmark = pytest.mark.inductor

SWEEP = os.environ.get("NPACCEL_TEST_SWEEP") == "inductor"


def compiled(function, *args, dynamic=None):
    """Return what a function compiled to C++ answers."""
    options = {"default_float": "float64", "strict": True, "cache": False, "dynamic": dynamic}
    run = npaccel.jit(function, backend="inductor", **options)
    return run(*args)


def test_comparisons_of_narrow_elements_write_nothing_but_their_results():
    """Vectors of 8 bits hold more lanes than an iteration of the loop computes."""

    def compare(b, u, t, outs):
        outs[0][...] = b < 3
        outs[1][...] = u == 3
        outs[2][...] = t != b.astype(bool)

    rng = np.random.default_rng(0)
    b, u, t = (rng.integers(0, 9, 333).astype(code) for code in "bB?")
    buffers = [np.full((333 + 256,), 165, np.uint8) for _ in range(3)]
    compiled(compare, b, u, t, [buffer.view(bool)[64:397] for buffer in buffers])
    for buffer, wanted in zip(buffers, (b < 3, u == 3, t != b.astype(bool)), strict=True):
        np.testing.assert_array_equal(buffer[64:397], wanted)
        assert (buffer[:64] == 165).all()
        assert (buffer[397:] == 165).all()


def test_the_absolute_of_the_smallest_integer_is_itself_when_it_is_used_further():
    def use(b, h, i, q):
        found = [np.abs(x) for x in (b, h, i, q)]
        wider = [x + 0 * h for x in found]  # of 8 bits among 16: the loop has no vectors
        return found, [x.astype(np.int64) for x in found], [x < 0 for x in found], wider

    def smallest(code):
        return np.resize(np.array([np.iinfo(code).min, -1, 5], code), 100)

    arrays = [smallest(code) for code in "bhiq"]
    for got, wanted in zip(compiled(use, *arrays), use(*arrays), strict=True):
        for mine, theirs in zip(got, wanted, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def test_integers_that_overflow_wrap_before_they_are_used_further():
    """C++ leaves overflow open: a compiler may take a square for one that isn't negative."""

    def use(*arrays):
        found = [f(x) for x in arrays for f in (np.square, lambda x: x * x, lambda x: x + x)]
        return (
            found + [y.astype(t) for y in found for t in (np.int64, float)] + [y > 5 for y in found]
        )

    large = [3223939507, 5, 70000, 2**32 - 1, 2**31]
    arrays = [np.resize(np.array(large).astype(code), 41 + i) for i, code in enumerate("HILhil")]
    with np.errstate(all="ignore"):
        expected = use(*arrays)
    for got, wanted in zip(compiled(use, *arrays), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_halves_are_rounded_after_each_operation():
    def use(x, y, m, out):
        np.hypot(x, y, where=m, out=out)
        t = x * y
        found = [np.sqrt(x * x + y * y), t * 2 / 4, np.where(m, t, x + y), np.maximum(t, x), out]
        return found + [one.astype(kind) for one in found for kind in "fd"] + [t * t > 1e5]

    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 300, (2, 77)).astype(np.float16)
    m = rng.random(77) > 0.5
    with np.errstate(all="ignore"):
        expected = use(x, y, m, x.copy())
        found = compiled(use, x, y, m, x.copy())
    for got, wanted in zip(found, expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_casts_round_though_another_follows():
    def cast(x, i):
        return x.astype("f").astype("d"), x.astype("f").astype("e"), i.astype("f").astype("d")

    rng = np.random.default_rng(0)
    args = rng.normal(size=10_000), rng.integers(0, 2**40, 10_000)
    for got, wanted in zip(compiled(cast, *args), cast(*args), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_reductions_of_bytes_take_no_lanes_for_elements():
    """A vector of bytes has more lanes than an iteration of the loop computes."""

    functions = (
        *(lambda x: x.min(), lambda x: x.max(), lambda x: x.min(axis=-1), lambda x: x.max(axis=0)),
        *(lambda x: (x + 1).sum(dtype=x.dtype), lambda x: (x | 1).prod(dtype=x.dtype), np.ptp),
        *(lambda x: (x < 1).any(), lambda x: (x > -1).all()),
        # torch's own kernels, which part those that are compiled
        *(lambda x: x.argmin(), lambda x: x.argmax()),
        lambda x: np.bitwise_xor.reduce(x.ravel() + 1),
    )

    def reduce(*arrays):
        return [function(x) for function in functions for x in arrays]

    rng = np.random.default_rng(0)
    shapes = (64,), (5, 68), (3, 16), (13,)
    arrays = [rng.integers(3, 120, shape).astype("B") for shape in shapes]
    arrays += [-rng.integers(3, 120, shape).astype("b") for shape in shapes]
    for got, wanted in zip(compiled(reduce, *arrays), reduce(*arrays), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_signs_of_narrow_integers_are_of_their_own_type():
    def use(b, h):
        return [np.minimum(np.sign(x), x + y) for x, y in ((b, b[::-1]), (h, h[::-1]), (h, b))]

    b = np.arange(-40, 40, dtype=np.int8)
    h = np.arange(-300, 500, 10, dtype=np.int16)
    for got, wanted in zip(compiled(use, b, h), use(b, h), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


# -- calls of the table's rows: a sample, and with NPACCEL_TEST_SWEEP=inductor all of them

#: Rows that are compiled together, the layout of their arrays, and keywords. Of each row a
#: call for every narrow dtype.
SAMPLE = [
    ("ndarray.min ndarray.sum any argmax", "strided", ("axis",)),
    ("absolute negative less floor_divide left_shift", "tails", ()),
    ("square multiply hypot clip where", "whole vectors", ()),
]
NARROW = [np.dtype(code) for code in "?bBhHIe"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("names", "layout", "keywords"), SAMPLE)
def test_compiled_rows_equal_numpys(names, layout, keywords):
    rows = [COMPILED[f"numpy.{name}"] for name in names.split()]
    calls = [c for row in rows for c in calls_of(row, layout, keywords=keywords, dtypes=NARROW)]
    assert len(calls) > 3 * len(rows)
    wrong = wrong_calls(calls)
    assert not wrong, f"{len(wrong)} of {len(calls)} calls differ:\n" + "\n".join(wrong[:5])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COMPILED if SWEEP else [])
def test_all_compiled_rows_equal_numpys(name, layout, dynamic):
    calls = [c for seed in range(2) for c in calls_of(COMPILED[name], layout, seed)]
    wrong = wrong_calls(calls, dynamic=dynamic)
    assert not wrong, f"{len(wrong)} of {len(calls)} calls differ:\n" + "\n".join(wrong[:5])


# -- chains: what stays in registers between narrow operations

#: Operations on narrow numbers that keep them narrow, or give truth values.
LINKS = (
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} & {1}", "{0} ^ {1}", "~{0}", "-{0}", "abs({0})"),
    *("np.square({0})", "{0} << 1", "{0} >> 1", "{0} // 3", "{0} % 5", "np.sign({0})"),
    *("np.maximum({0}, {1})", "np.minimum({0}, {1})", "np.where({0} > {1}, {0}, {1})"),
    *("np.clip({0}, 2, 90)", "np.where({2}, {0}, 0)", "np.where({2}, {0}, -{0})", "{0} * 3"),
    *("({0} > {1}).astype({0}.dtype)", "{0}.astype(np.int8).astype({0}.dtype)", "{0} // {3}"),
    *(
        "({0} & 127).astype(np.float32).astype({0}.dtype)",
        "np.roll({0}, 1)",
        "{0}[::-1]",
        "{0} % {3}",
    ),
    *("{0}.cumsum(dtype={0}.dtype)", "{0} + {0}.max()", "{0} - {0}.min()", "{0} | {1}"),
)


def chain(code, rng, count):
    """Return Python text that works on arrays x and y of a dtype and m of bools."""
    names, lines = ["x", "y"], ["p = y | 1"]
    for i in range(count):
        first, second = rng.choice(names, 2)
        lines.append(f"v{i} = " + str(rng.choice(LINKS)).format(first, second, "m", "p"))
        names = [*names[-3:], f"v{i}"]
    wide = ", ".join(f"{name}.astype(np.int64)" for name in names)
    return "\n    ".join([*lines, f"return {', '.join(names)}, {wide}, {names[-1]} > x"])


def chains(seed, dynamic=None, codes="bBhHiIlL"):
    """Compare one chain for each dtype, all in one function, with NumPy."""
    rng = np.random.default_rng(seed)
    space, arrays, calls = {"np": np}, [], []
    for n, code in enumerate(codes):
        exec(f"def chain{code}(x, y, m):\n    {chain(code, rng, 8)}\n", space)
        shape = (int(rng.choice([64, 67, 13, 200])) + n,)
        info = np.iinfo(code)
        numbers = rng.integers(info.min, info.max, (2, *shape), dtype=code, endpoint=True)
        arrays += [*numbers, rng.random(shape) > 0.5]
        calls.append(f"chain{code}(*arrays[{3 * n}:{3 * n + 3}])")
    exec(f"def together(*arrays):\n    return {', '.join(calls)}\n", space)
    with np.errstate(all="ignore"):
        wanted = space["together"](*arrays)
        got = compiled(space["together"], *arrays, dynamic=dynamic)
    for mine, theirs, code in zip(got, wanted, codes, strict=True):
        for i, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            assert one.dtype == other.dtype, (seed, code, i)
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}, {code}, result {i}")


@pytest.mark.filterwarnings("ignore")
def test_chains_of_narrow_integers_wrap_as_numpys_do():
    chains(0, codes="bBhHI")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(200 if SWEEP else 0))
def test_many_chains_of_narrow_integers(seed):
    chains(seed, dynamic=True if seed % 2 else None)
