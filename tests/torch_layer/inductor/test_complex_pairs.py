"""Complex numbers in compiled kernels: as pairs of real ones, with NumPy's results."""

import numpy as np
import pytest

import npaccel
from npaccel._torch.inductor.complex import loads as complex_loads

pytestmark = [pytest.mark.inductor, pytest.mark.sampled]

SPECIAL = [0.0, -0.0, 1.0, -2.5, 1e-300, 1e300, np.inf, -np.inf, np.nan]
DTYPES = [np.complex64, np.complex128]


def numbers(dtype, shape=(7, 11), seed=0):
    """Return complex numbers, of which none is close to a limit."""
    random = np.random.default_rng(seed)
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


def grid(dtype):
    """Return each pair of special parts."""
    found = np.zeros((len(SPECIAL), len(SPECIAL)), dtype)
    with np.errstate(over="ignore"):
        found.real = np.array(SPECIAL).astype(found.real.dtype)[:, None]
        found.imag = np.array(SPECIAL).astype(found.real.dtype)
    return found


def compare(found, wanted, scale=1):
    """Compare results; which part of a number that isn't finite is NaN is left open."""
    assert type(found) is type(wanted) or np.ndim(wanted) == 0
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    if wanted.dtype == bool:
        np.testing.assert_array_equal(found, wanted)
        return
    # Products may be rounded once or twice before they are added up.
    size = np.maximum(np.abs(wanted[finite]), scale)
    assert (np.abs(found[finite] - wanted[finite]) <= 16 * np.finfo(wanted.dtype).eps * size).all()


def check(function, *args, scale=1):
    """Compare one compiled call with NumPy; return the compiled function."""
    jitted = npaccel.jit(function, default_float="float64", cache=False, strict=True)
    with np.errstate(all="ignore"):
        wanted = function(*(np.array(a, copy=True, order="K") for a in args))
        found = jitted(*args)
    for one, other in zip(found, wanted, strict=True):
        compare(one, other, scale)
    return jitted


def check_together(*calls):
    """Compare calls of functions, which are compiled as one: each a function and its arguments."""
    functions = [function for function, *_ in calls]

    def together(*arguments):
        pairs = zip(functions, arguments, strict=True)
        return [result for function, given in pairs for result in function(*given)]

    jitted = npaccel.jit(together, default_float="float64", cache=False, strict=True)
    given = [arguments for _, *arguments in calls]
    with np.errstate(all="ignore"):
        wanted = together(*([np.array(a, copy=True, order="K") for a in args] for args in given))
        found = jitted(*given)
    for one, other in zip(found, wanted, strict=True):
        compare(one, other)


def arithmetic(x, y, r):
    return (
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        x + r,
        r - x,
        x * r,
        r / x,
        x**2,
        x.conj() * y,
        np.where(abs(x) < 1, x, y),
        (x * y).real,
        (x * y).imag + r,
        np.abs(x * y),
        x == y,
        x * y != y,
    )


def with_numbers(x):
    return (
        x + 2,
        x * 1j,
        x * (1.5 - 2j),
        x / (3 + 4j),
        x / 2.5,
        1j / x,
        1 / x,
        2 - x,
        x * 2 + 1,
        np.reciprocal(x),
        x == 1,
        x.real * 2j,
    )


def test_arithmetic():
    calls = []
    for dtype in DTYPES:
        x, y = numbers(dtype), numbers(dtype, seed=1)
        calls += [(arithmetic, x, y, x.real.copy()), (with_numbers, x)]
    check_together(*calls)


def test_arithmetic_of_special_numbers():
    def of_two(x, y):
        return x + y, x - y, x * y, -x, x.conj() * y, abs(x * y)

    def of_one(x):
        return x + 2, x * 1j, x.conj() * 2, abs(x) + 1, x == 1, x**2

    grids = [grid(dtype).reshape(-1) for dtype in DTYPES]
    check_together(*((of_two, x[:, None], x[None]) for x in grids), *((of_one, x) for x in grids))


def test_quotients_of_special_numbers():
    def of_two(x, y):
        return x / y, x * 1 / y

    def of_one(x):
        return x / 0.0, x / (0.0 + 0j), x * 2 / 3

    calls = []
    for x in (grid(dtype).reshape(-1) for dtype in DTYPES):
        finite = x[np.isfinite(x)]
        calls += [(of_two, x[:, None], finite[finite != 0][None]), (of_one, x)]
    check_together(*calls)


def exponentials(x, r):
    return np.exp(x), np.exp(1j * r), np.exp(x) * 2, np.exp(-2j * np.pi * r) * x


def test_exponentials():
    calls = [(lambda x: (np.exp(x), np.exp(x * 1) + 1), grid(np.complex128))]
    for dtype in DTYPES:
        x = numbers(dtype, (50, 7)) * 5
        limit = np.log(np.finfo(dtype).max)
        parts = np.array([-2 * limit, -limit, 0, limit - 0.5, limit + 0.5, limit + 3, 2 * limit])
        large = (parts[:, None] + 1j * np.array([0.0, 1.0, 1.5707, 3.0, -2.0])).astype(dtype)
        calls += [(exponentials, x, x.real.copy())]
        calls += [(lambda x: (np.exp(x), np.exp(x * 1) * 0.5), large)]
    check_together(*calls)


LAYOUTS = (
    lambda x: x[:0],
    lambda x: x[:1, :1],
    lambda x: x[2, 3],
    lambda x: x[::2, 1::3],
    lambda x: x[::-1, ::-1],
    lambda x: x.T,
    lambda x: np.asfortranarray(x),
    lambda x: np.broadcast_to(x[0], (4, 11)),
    lambda x: x[None, :, None, :],
)


def test_layouts():
    def function(x):
        return x * x + 1, abs(x * 2j), (x * x).T, np.exp(x).sum(), x * x.conj()

    check_together(*((function, layout(numbers(np.complex128))) for layout in LAYOUTS))


def test_memory_order_of_results():
    x = np.asfortranarray(numbers(np.complex128))
    t = numbers(np.complex128, (3, 4, 5)).transpose(1, 2, 0)

    def function(x, t):
        return x * x, t * t + 1

    jitted = check(function, x, t)
    for found, wanted in zip(jitted(x, t), function(x, t), strict=True):
        assert found.strides == wanted.strides


def moved(x, k):
    y = x * x
    z = y.copy()
    z[1:3] = y[2:4] * 1j
    z[:, 0] = 5
    z[k] = y[:3]
    return (
        z,
        y[::2, ::-1],
        y.reshape(-1)[3:],
        np.concatenate([y, x, x.real]),
        np.stack([y, x]),
        y.sum(axis=0),
        y.mean(),
        np.cumsum(y, axis=1),
        y[k],
        np.take_along_axis(y, np.argsort(y.real, axis=1), 1),
        np.diff(y),
        np.fft.fft(y * 2) * y,
        y @ x.T,
        np.roll(y, 2, 1),
        y.astype(np.complex64) * 2,
        np.array([y[0, 0], x[0, 0] * 2]),
    )


def test_what_moves_elements_and_what_is_left_to_torch():
    check(moved, numbers(np.complex128), np.array([4, 0, 5]), scale=100)


def test_sizes_that_change():
    def function(x):
        n = x.size
        return np.exp(-2j * np.pi * np.arange(n) / n) * x, x * n, (x / n).sum()

    jitted = npaccel.jit(function, default_float="float64", cache=False, strict=True)
    for n in (8, 5, 1, 33, 0):
        x = numbers(np.complex128, (n,))
        for one, other in zip(jitted(x), function(x), strict=True):
            compare(one, other)


def broadcast(x, r, condition):
    z = r.astype(complex)  # The imaginary part is the same everywhere.
    w = r[:, None] * (1 + 0j)
    return (
        x + r,
        r[:, None] - x[0],
        z + x[0, 0],
        z[:, None] + x,
        x[0] - z[:, None],
        w * z,
        w / (z + 2),
        np.where(condition, 1 - 2j, r),
        np.where(condition[:, None], r, x),
        np.where(condition[:, None, None], x * x, x * x),
        np.where(condition, z, 3j),
        z == 2j,
        z != 2j,
        w == x,
        z[0] * z == r,
        np.where(z[0] == 0, 1j, z[0] * 2),
        r.sum().astype(complex) == 2j,
        r.sum().astype(complex) != 2j,
    )


def test_parts_that_are_the_same_everywhere():
    random = np.random.default_rng(0)
    check(broadcast, numbers(np.complex128, (5, 5)), random.normal(size=5), random.random(5) < 0.5)


def test_writes_to_arguments():
    def function(z, c):
        inside = abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        r = z * c
        z.real[0] = 3
        c *= z
        z[1:] = z[:-1] * 2
        return r, z.copy(), c * 1j

    own = [numbers(np.complex128), numbers(np.complex128, seed=1)]
    other = [array.copy() for array in own]
    jitted = npaccel.jit(function, default_float="float64", cache=False)
    for found, wanted in zip((*jitted(*own), *own), (*function(*other), *other), strict=True):
        compare(found, wanted)


def test_results_are_arrays_of_their_own():
    def function(x):
        y = x * x
        return y, y.copy(), y[:2], y.conj().conj()

    y, copy, part, again = npaccel.jit(function, default_float="float64", cache=False)(
        numbers(np.complex128)
    )
    assert np.shares_memory(y, part)
    assert not np.shares_memory(y, copy)
    assert not np.shares_memory(y, again)


def test_memory_of_a_result_is_not_used_again():
    def function(a, b):
        z = a * 2
        np.put_along_axis(z, np.argsort(z.real, axis=1), z, 1)
        y = b * 3 + 1
        np.put_along_axis(y, np.argsort(y.real, axis=1), y * 2, 1)
        return z, y

    check(function, numbers(np.complex128), numbers(np.complex128, seed=1))


def mandelbrot_step(z, c):
    return np.where(np.abs(z) < 2, z * z + c, z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_kernel_with_vectors(dtype):
    x = numbers(dtype, (64, 64))
    jitted = check(mandelbrot_step, x, x * 0.5)
    source = jitted.report().graphs[0].source
    assert "torch.ops.aten.mul" not in source
    assert source.count('extern "C"') == 1
    assert "deinterleave2" in source


def test_pairs_of_real_numbers_are_loaded_alike():
    """Points in a plane lie as the parts of complex numbers do; where rows end is looked at."""

    def function(points, odd):
        z = points[:, 0] + 1j * points[:, 1]
        w = odd[:, 0] * 1j + odd[:, 1]
        return z * z, abs(w * 2), z[1:] * odd[:-1, 2]

    random = np.random.default_rng(0)
    check(function, random.normal(size=(37, 2)), random.normal(size=(37, 3)))


def test_the_place_in_a_pair(monkeypatch):
    import sympy

    class Graph:
        def __init__(self, size, stride):
            self.size, self.stride = size, stride

        def try_get_buffer(self, name):
            return self

        def maybe_get_layout(self):
            return self

    class Virtualized:
        graph = None

    x, y, n = sympy.symbols("x y n", integer=True)
    monkeypatch.setattr(complex_loads, "V", Virtualized)

    def place(index, size=(5, 2), stride=(2, 1)):
        Virtualized.graph = Graph(size, stride)
        return complex_loads._of_pairs("buf", sympy.sympify(index))

    assert place(2 * x) == 0
    assert place(2 * x + 1) == 1
    assert place(2 * x - 1) == 1
    assert place(2 * n * y + 2 * x + 4) == 0
    assert place(n * y + 2 * x) is None
    assert place(2 * x, stride=(3, 1)) is None
    assert place(2 * x, size=(5, 3), stride=(3, 1)) is None
    assert place(2 * x, size=(), stride=()) is None


def halved(v):
    turned = v.reshape(v.shape[::-1])
    v /= 2
    return (turned,)


def set_again(v):
    turned = v.T
    np.exp(v, out=v)
    return (turned,)


def both(v, w):
    return (*halved(v), *set_again(w))


@pytest.mark.parametrize("dynamic", [True, False])
def test_views_of_what_is_written_afterwards(dynamic):
    jitted = npaccel.jit(both, dynamic=dynamic, cache=False, strict=True)
    for size in (3, 4, 5):
        given = [numbers(np.complex64, (size, 2)) for _ in range(2)]
        others = [array.copy() for array in given]
        for found, wanted, array in zip(jitted(*given), both(*others), given, strict=True):
            compare(found, wanted)
            assert np.shares_memory(found, array)
        for array, other in zip(given, others, strict=True):
            compare(array, other)


@pytest.mark.parametrize("dynamic", [True, False])
def test_tensors_that_are_views_of_another_dtype(dynamic):
    import torch

    def tripled(v, w):
        turned = v.reshape(v.shape[::-1]), w.reshape(w.shape[::-1])
        v *= 3
        w *= 3
        return turned

    jitted = npaccel.jit(tripled, dynamic=dynamic, cache=False, strict=True)
    for size in (3, 4, 5):
        base = torch.arange(size * 4.0, dtype=torch.float64).reshape(size, 2, 2)
        given = torch.view_as_complex(base.clone()), base.long().view(torch.int32)
        others = [tensor.clone().numpy() for tensor in given]
        for found, wanted in zip(jitted(*given), tripled(*others), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted)
        for tensor, other in zip(given, others, strict=True):
            np.testing.assert_array_equal(tensor.numpy(), other)


def test_masked_parts_of_what_was_written():
    def chosen(v):
        v[1:3] += 2
        large = v[np.abs(v) > 1]
        return large, large.sum(), v * 2

    for given in (numbers(np.complex128, 12), np.zeros(4, complex), np.zeros(0, complex)):
        jitted = npaccel.jit(chosen, cache=False, strict=True)
        other = given.copy()
        for one, two in zip(jitted(given), chosen(other), strict=True):
            compare(one, two)
        compare(given, other)


def test_powers_of_special_numbers():
    """By products, in NumPy's order: 1+0j times infinity has a part that is NaN."""

    def powers(z):
        return np.reciprocal(z), z**-1, z**-1.0, z**2.0, z**3, z**-2, z**-5.0

    ends = (-np.inf, np.inf, -0.0, 2.0, np.nan)
    z = np.array([complex(a, b) for a in ends for b in ends] * 3)
    with np.errstate(all="ignore"):
        wanted = powers(z)
    for found, one in zip(npaccel.jit(powers, default_float="float64")(z), wanted, strict=True):
        for part in ("real", "imag"):
            a, b = getattr(found, part), getattr(one, part)
            np.testing.assert_allclose(a, b, rtol=1e-12)
            known = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]))
