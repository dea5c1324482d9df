"""Complex arrays that compiled functions make and write to: in as many loops as real ones, straight
where they belong, and with NumPy's results where views of them overlap."""

import re

import numpy as np
import pytest
from test_complex_pairs import DTYPES, compare, grid, numbers
from test_overlaps import together

import npaccel
from npaccel._torch.inductor.complex import stores as pair_stores

pytestmark = pytest.mark.inductor


def run(function, *args, **options):
    """Compare results, and arguments afterwards, with NumPy's; return the compiled function."""
    own, other = ([np.array(a, copy=True, order="K") for a in args] for _ in range(2))
    jitted = npaccel.jit(function, default_float="float64", cache=False, strict=True, **options)
    with np.errstate(all="ignore"):
        found, wanted = jitted(*own), function(*other)
    found, wanted = (
        r if isinstance(r, tuple) else () if r is None else (r,) for r in (found, wanted)
    )
    for one, two in zip((*found, *own), (*wanted, *other), strict=True):
        compare(one, two)
    return jitted


def loops_of(jitted):
    """Count the loops that aren't in another one, and those by which vectors are stored."""
    (graph,) = jitted.report().graphs
    return len(re.findall(r"for\(int64_t x0=", graph.source)), graph.source


def product_and_sum(z, w):
    z *= w
    z += 1j


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_loop_into_an_argument(dtype):
    w = numbers(dtype, (3, 41))
    jitted = run(product_and_sum, numbers(dtype, (3, 41), seed=1), w)
    count, source = loops_of(jitted)
    assert count == 1
    assert source.count("interleave2(") > source.count("deinterleave2(") > 0
    assert "empty_strided_cpu(" not in source  # nothing in between
    assert not re.search(r"= torch\.ops\.aten\.", source)


def written_by_parts(z, w):
    y = np.empty((z.shape[0], 2, z.shape[1]), z.dtype)
    y[:, 0, :] = z * w
    y[:, 1, :] = (z - w) * 1j
    return y.reshape(-1)


def test_empty_arrays_are_written_by_parts():
    jitted = run(written_by_parts, numbers(complex), numbers(complex, seed=1))
    count, source = loops_of(jitted)
    assert count == 2
    assert source.count("= empty_strided_cpu(") == 1


def moves_alone(z, w):
    k = np.array([2, 0, 1])
    y = np.empty((2, *z.shape), z.dtype)
    y[0], y[1] = z, w
    z[1:] = z[:-1]
    z[k] = w[:3]
    w[:, 0] = z[:, 1]
    w[w.real > 1] = 0
    v = w.copy()
    v.real[:, 2] = 2
    return y, v, z.T.copy(), np.roll(w, 2), w[k], w.conj(), np.zeros_like(w), z.imag.copy()


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dynamic", [True, False])
def test_elements_that_are_only_moved(dtype, dynamic):
    arrays = numbers(dtype, (37, 29)), numbers(dtype, (37, 29), seed=1)
    jitted = run(moves_alone, *arrays, dynamic=dynamic)
    calls = set(re.findall(r"torch\.ops\.(\w+\.\w+)\.\w+\(", jitted.report().graphs[0].source))
    assert calls <= {"aten.view_as_complex", "aten.cat"}


def test_several_results_in_one_loop():
    jitted = run(lambda z, w: (z * w, abs(z), z / w), numbers(complex), numbers(complex, seed=1))
    assert loops_of(jitted)[0] == 1


def test_views_as_complex_numbers_part_no_kernels():
    """They are made when all results are computed, but for one that is needed before."""

    def function(z, w, v):
        x = z * 2
        x[1:] = x[:-1] * 3
        sums = np.cumsum(w * 2)  # torch's own
        y = v * 1j
        y[1:] += y[:-1]
        return x, y, x * y, sums

    jitted = run(function, *(numbers(complex, 41, seed) for seed in range(3)))
    source = loops_of(jitted)[1]
    assert source.count("view_as_complex.default(") >= 3
    assert source.count('extern "C"') <= 2


def special(z, w):
    z[1:] = z[:-1] * w[1:]
    w += z.conj()
    return -z, z.real, w.imag.copy()


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_numbers(dtype):
    x = grid(dtype).reshape(-1)
    run(special, np.repeat(x[:, None], 81, 1), np.repeat(x[None], 81, 0))


def test_signs_of_zeros():
    def zeros(z):
        z[:] = -z
        return z.conj() * 1, np.where(z == 0, z, 1j)

    z = np.array([complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)] * 5)
    own, other = z.copy(), z.copy()
    found = npaccel.jit(zeros, default_float="float64", cache=False)(own)
    for one, two in zip((*found, own), (*zeros(other), other), strict=True):
        np.testing.assert_array_equal(np.signbit(one.real), np.signbit(two.real))
        np.testing.assert_array_equal(np.signbit(one.imag), np.signbit(two.imag))


#: Each is done to an array z of its own; k are indices and c is another array.
STATEMENTS = """
z[1:] = z[:-1] * 2
z[:-1] = z[1:] * 2; z *= 1j
z[:, 1:] *= z[:, :-1]
z[1::2] = z[:-1:2][::-1].conj() * 2
z[...] = z.T * 1j
z[0], z[1] = z[1] * 1j, z[0] * 2
z[k] = z[:3] * 2; z[:, k] += 1
z[k, k] *= 1j; z[abs(z) < 1] *= 2
z.real[...] = z.imag * 2; z.imag[1:] = z.real[:-1]; z *= 1j
z.real[0] = 3; z *= z; z.imag[:, 1] = 0
y = z * 1; y[1:-1] = z[2:] * 2; y[0] = 1j; z[:] = y
y = np.zeros_like(z); y[1:] = z[:-1] * 2; y[:, 0] = z[0]; z[:] = y + z
y = np.empty_like(z); y[...] = z * 1j; z[1:] = y[:-1]
y = np.empty((2, *z.shape), complex); y[0] = z * c; y[1] = y[0].T; z[:] = y.sum(0)
y = np.full(z.shape, 1 - 2j); y[3:7] = z[:4] * 2; z *= y
y = z[3]; z *= 2; y *= 1j; z[4] = y
y = z.reshape(-1); y[1:] *= y[:-1]; z += 1
y = z.T; y *= c; y[::2] = c[::2]; z[1] = y[0] * 2
y = z[:20]; y += y[::-1] * 1j; y[0, 0] = 5; z[1, 1] = y[0, 0] * 2
z[:] = np.concatenate([z[10:], z[:10] * 2]); z[:] = np.concatenate([z[10:], z[:10]])
z[:] = np.fft.fft(z * 1j) * c; z[1:] = np.fft.fft(z)[:-1]
z[:] = np.diagonal(z * 2)[:, None] + np.swapaxes(z, 0, 1)
z[:] = np.roll(z, 3, 0) * np.flip(z, 1); z[:, :] = np.broadcast_to(z[0] * 2, z.shape)
z[:] = np.where(c.real > 0, z, c.conj()); z[5] = np.sum(z * c, axis=0); z[6] = np.cumsum(z[5])
np.copyto(z[1:], z[:-1] * 2); np.multiply(z, c, out=z); np.add(z[1:], c[1:], out=z[:-1])
np.add.at(z, k, z[:3] * 2); z[:, 3] = np.trace(z * 2)
""".strip().splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "local", "dynamic"),
    [("D", True, None), ("F", False, True)],
)
def test_statements(dtype, local, dynamic):
    run = together(STATEMENTS, local, ("k", "c"))
    arrays = [numbers(dtype, (37, 37), seed) for seed in range(len(STATEMENTS))]
    c = numbers(dtype, (37, 37), 99)
    own, other = ([a.copy() for a in arrays] for _ in range(2))
    jitted = npaccel.jit(run, default_float="float64", cache=False, dynamic=dynamic)
    k = np.array([2, 0, 1])
    found, wanted = jitted(k, c, *own), run(k, c, *other)
    tolerance = 1e-3 if dtype == "F" else 1e-12
    for text, *pair in zip(STATEMENTS * 2, (*found, *own), (*wanted, *other), strict=True):
        np.testing.assert_allclose(*pair, tolerance, tolerance, err_msg=text)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[:0],
        lambda x: x[:1, :1],
        lambda x: x[2, 3, ...],
        lambda x: x[::2, 1::3],
        lambda x: x[::-1],
        lambda x: x.T,
        lambda x: np.asfortranarray(x),
        lambda x: x[None, :, None, :],
        lambda x: x.transpose()[3:, ::2],
    ],
    ids=["empty", "one", "0-d", "strided", "reversed", "T", "F", "4-d", "T strided"],
)
@pytest.mark.parametrize("dynamic", [True, False])
def test_layouts_of_what_is_written(view, dynamic):
    def function(z):
        y = z * 2
        z *= 1j
        z += y
        return y

    jitted = npaccel.jit(function, default_float="float64", cache=False, dynamic=dynamic)
    for size in (20, 37):
        whole, other = numbers(complex, (size, 41)), numbers(complex, (size, 41))
        compare(jitted(view(whole)), function(view(other)))
        compare(whole, other)


def test_results_that_are_views():
    def function(z, w):
        z *= w
        y = z * 2
        return z[1:], y, y.T, y[::2], y.real, w.T

    z, w = numbers(complex), numbers(complex, seed=1)
    other = z.copy()
    found = npaccel.jit(function, default_float="float64", cache=False)(z, w)
    for one, two in zip(found, function(other, w), strict=True):
        compare(one, two)
    part, y, turned, some, real, seen = found
    assert np.shares_memory(part, z)
    assert np.shares_memory(seen, w)
    assert not np.shares_memory(y, z)
    assert all(np.shares_memory(y, one) for one in (turned, some, real))


def test_values_from_before_a_write():
    def function(z, w):
        r = z.conj()
        s = z.imag
        t = s + 0.0
        z[:] = z * w
        w[:] = z.conj()
        return r, t, z * 1

    run(function, numbers(complex), numbers(complex, seed=1))


def test_arguments_change_places():
    def function(z, w):
        kept = z.copy()
        z[:] = w
        w[:] = kept
        w *= 1j

    run(function, numbers(complex), numbers(complex, seed=1))


@pytest.mark.filterwarnings("ignore:.*share memory:npaccel.errors.PerformanceWarning")
def test_one_array_as_two_arguments():
    z = numbers(complex, 40)
    jitted = npaccel.jit(product_and_sum, default_float="float64", cache=False)
    jitted(z.copy(), z.copy())
    for left, right in ((slice(None), slice(None)), (slice(1, None), slice(None, -1))):
        own, other = z.copy(), z.copy()
        jitted(own[left], own[right])
        product_and_sum(other[left], other[right])
        compare(own, other)


def test_which_part_lies_at_an_index():
    import sympy

    x, y, n = sympy.symbols("x y n", integer=True)
    assert pair_stores.part_of(sympy.Integer(0)) == 0
    assert pair_stores.part_of(sympy.Integer(7)) == 1
    assert pair_stores.part_of(2 * x + 4) == 0
    assert pair_stores.part_of(2 * n * (y + x) + 3) == 1
    with pytest.raises(NotImplementedError, match="told apart"):
        pair_stores.part_of(x + 1)
