"""Rolls of one array by small shifts share one wrapped copy, and stay what NumPy gives."""

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel._numpy.manipulation.rolls import known_shifts, rolled, window, wrapped

BOOLS_AND_NUMBERS = ["bool", "uint8", "int8", "uint16", "int32", "uint64", "int64", "float32"]
DTYPES = [*BOOLS_AND_NUMBERS, "float16", "float64", "complex64", "complex128"]


def array(shape=(9, 8), dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 2 if dtype == "bool" else 100, shape)).astype(dtype)


def copies(jitted):
    return jitted.source().count("numpy_roll_wrapped(")


def check(function, *args, backend="eager", **options):
    """Compare results and arguments after the call; return how many copies the graph makes."""
    jitted = npaccel.jit(function, backend=backend, default_float="float64", **options)
    theirs, ours = [[a.copy(order="K") for a in args] for _ in range(2)]
    assert_same(jitted(*ours), function(*theirs))
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(our, their)
    return copies(jitted) if backend == "eager" else None


def neighbours(x):
    count = np.zeros_like(x)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down or right:
                count += np.roll(x, (down, right), axis=(0, 1))
    return count


def laplacian(x):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, axis=-1) - 4 * x


def by_several_steps(x):
    return np.roll(x, 2, 0), np.roll(x, -1, (0, 1)), np.roll(x, (1, 1), (0, 0)), np.roll(x, 0, 0)


def flattened(x):
    return np.roll(x, 1) - np.roll(x, -2)


def of_two_arrays(x):
    y = x + x
    return np.roll(x, 1, 0) + np.roll(y, 1, 0), np.roll(x, -1, 0) + np.roll(y, -1, 0)


def of_a_view(x):
    v = x[1:, ::2]
    return np.roll(v, 1, 0) + np.roll(v, (-1, 1), (0, 1))


def of_a_transpose(x):
    return np.roll(x.T, 1, 0) + np.roll(x.T, -1, 0)


def results_are_written(x):
    up, down = np.roll(x, 1, 0), np.roll(x, -1, 0)
    up[0] = 1
    down += up
    x[...] = 0
    return up, down


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (neighbours, 1),
        (laplacian, 1),
        (by_several_steps, 1),
        (flattened, 1),
        (of_two_arrays, 2),
        (of_a_view, 1),
        (results_are_written, 1),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_one_copy_for_each_array(function, wanted, backend):
    found = check(function, array(), backend=backend)
    assert found in (wanted, None)


def test_a_transpose_and_a_fortran_array():
    check(of_a_transpose, array())
    assert check(laplacian, np.asfortranarray(array())) == 1


def written_between(x):
    up = np.roll(x, 1, 0)
    x[2] = 7
    return up + np.roll(x, -1, 0)


def written_through_a_view(x):
    v = x[:, 1:3]
    up = np.roll(x, 1, 0)
    v += 1
    return up, np.roll(x, -1, 0)


def written_before_and_after(x):
    x += 1
    found = np.roll(x, 1, 0) + np.roll(x, -1, 0)
    x *= 2
    return found + np.roll(x, 1, 0) - np.roll(x, -1, 0)


def out_is_given(x):
    up = np.roll(x, 1, 1)
    np.add(x, 1, out=x)
    return up - np.roll(x, -1, 1)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (written_between, 0),
        (written_through_a_view, 0),
        (written_before_and_after, 2),
        (out_is_given, 0),
    ],
)
def test_rolls_with_a_write_between_share_nothing(function, wanted):
    assert check(function, array()) == wanted
    check(function, array(), backend="aot_eager")


def large_shifts(x):
    return np.roll(x, 4, 0) + np.roll(x, -13, 0) + np.roll(x, 3, 0)


def one_roll(x):
    return np.roll(x, (1, -1), (0, 1)) + np.roll(x, 0)


def same_roll_twice(x):
    return np.roll(x, 1, 0), np.roll(x, 10, 0)  # of 9 rows


def shift_of_the_caller(x, n):
    return np.roll(x, n, 0) + np.roll(x, -n, 0)


def test_what_is_rolled_by_itself():
    for function in (large_shifts, one_roll, same_roll_twice):
        assert check(function, array()) == 0
    found = npaccel.jit(shift_of_the_caller, backend="eager")
    for n in (1, 2, 3, 0, -20):
        assert_same(found(array(), n), shift_of_the_caller(array(), n))
        assert_same(found(array(), np.int64(n)), shift_of_the_caller(array(), np.int64(n)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    def f(x):
        return np.roll(x, (1, -1), (0, 1)), np.roll(x, -2), np.roll(x, 1), np.roll(x, 2, -1)

    assert check(f, array(dtype=dtype)) == (0 if "complex" in dtype else 2)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shape", [(), (1,), (0,), (3,), (4,), (0, 5), (5, 0), (1, 6), (4, 1), (5, 6)]
)
def test_shapes(shape):
    def f(x):
        found = [np.roll(x, 1), np.roll(x, -1), np.roll(x, 5)]
        for axis in range(x.ndim):
            found += [np.roll(x, 1, axis), np.roll(x, -1, axis), np.roll(x, (1, 1), (axis, axis))]
        return found

    check(f, array(shape))
    check(f, array(shape), backend="aot_eager")


def test_symbolic_sizes():
    jitted = npaccel.jit(laplacian, backend="aot_eager", dynamic=True, default_float="float64")
    for n in (9, 12, 5, 2, 1):
        assert_same(jitted(array((n, n + 2))), laplacian(array((n, n + 2))))


def test_gradients_flow_through_rolls():
    x = torch.arange(16.0, dtype=torch.float64).reshape(4, 4).requires_grad_()
    weights = torch.arange(16.0, dtype=torch.float64).reshape(4, 4)

    def f(x, w):
        return np.sum(w * (np.roll(x, 1, 0) + np.roll(x, (-1, 1), (0, 1))))

    npaccel.jit(f, backend="aot_eager")(x, weights).backward()
    wanted = torch.roll(weights, -1, 0) + torch.roll(weights, (1, -1), (0, 1))
    assert torch.equal(x.grad, wanted)


def random_rolls(rng):
    """Return a shape, and shifts and axes of some rolls."""
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
    rolls = []
    for _ in range(int(rng.integers(2, 6))):
        count = int(rng.integers(1, 4))
        axes = tuple(int(i) for i in rng.integers(-len(shape), len(shape), count))
        shifts = tuple(int(i) for i in rng.integers(-3, 4, count))
        kind = int(rng.integers(0, 4))
        rolls.append(
            [(shifts, axes), (shifts[0], axes), (shifts[0], None), (shifts[0], axes[0])][kind]
        )
    return shape, rolls


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(30))
def test_random_rolls(seed):
    rng = np.random.default_rng(seed)
    shape, rolls = random_rolls(rng)
    write = int(rng.integers(0, len(rolls)))

    def f(x):
        found = []
        for i, (shift, axis) in enumerate(rolls):
            if i == write:
                x[0] += 1
            found.append(np.roll(x, shift, axis))
            found[-1][-1] = 3
        return found

    x = array(shape, str(rng.choice(["uint8", "float64", "int32"])), seed)
    x = np.asfortranarray(x) if rng.random() < 0.3 else x
    check(f, x, backend="eager" if seed % 2 else "aot_eager")


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_wrapped_copies(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4)))
    x = array(shape, str(rng.choice(BOOLS_AND_NUMBERS)), seed)
    before, after = ([int(rng.integers(0, n + 1)) for n in shape] for _ in range(2))
    wide = wrapped(torch.from_numpy(x), before, after)
    for _ in range(5):
        starts = [int(rng.integers(0, a + b + 1)) for a, b in zip(before, after, strict=True)]
        shifts = tuple(a - start for a, start in zip(before, starts, strict=True))
        wanted = np.roll(x, shifts, tuple(range(x.ndim)))
        assert_same(window(torch.from_numpy(x), wide, starts).numpy(), wanted)
        known = known_shifts(shape, list(zip(shifts, range(x.ndim), strict=True)))
        found = rolled(torch.from_numpy(x.view(x.dtype.str.replace("u", "i"))), known)
        assert_same(found.numpy().view(x.dtype), wanted)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize(
    "function", [neighbours, laplacian, flattened, results_are_written, written_between]
)
def test_in_compiled_code(function):
    for dtype in ("uint8", "int64", "float64"):
        check(function, array((37, 41), dtype), backend="inductor")


@pytest.mark.slow
@pytest.mark.inductor
def test_a_stencil_is_one_loop_over_whole_vectors():
    jitted = npaccel.jit(laplacian, default_float="float64")
    x = np.random.default_rng(0).random((64, 72))
    assert_same(jitted(x), laplacian(x))
    body = max(jitted.source().split("#pragma"), key=lambda loop: loop.count("loadu("))
    assert body.count("loadu(") >= 5
    assert "%" not in body
