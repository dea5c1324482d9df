"""What torch's own kernels do right, but its compiler to C++ did not."""

import numpy as np
import pytest

import npaccel

pytestmark = pytest.mark.inductor


def compiled(function, *args):
    """Return what a function compiled to C++ answers."""
    run = npaccel.jit(
        function, backend="inductor", default_float="float64", strict=True, cache=False
    )
    return run(*args)


def test_comparisons_of_narrow_elements_write_nothing_but_their_results():
    """Vectors of 8 bits hold more lanes than a turn of the loop computes."""

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
