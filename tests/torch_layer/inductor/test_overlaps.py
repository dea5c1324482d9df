"""Writes to an array whose elements are read in the same statement: compiled to C++, all of
them are read first, as in NumPy. The arrays are longer than a vector."""

import numpy as np
import pytest
from sweep import FULL

import npaccel

pytestmark = pytest.mark.inductor

#: Each is done to an array of its own, in one function: i and k are indices.
STATEMENTS = """
z[1:] = z[:-1]
z[:, 1:] = z[:, :-1]
z[1:] = (z + 1)[:-1]
z[1:] = z[None, :-1]
z[k] = z[:3]
z[:, k] = z[:, :3] + 1
z[z[:, 0].real.astype(int) % 37] = 5
np.copyto(z[1:], z[:-1])
np.add.at(z, k, z[:3])
np.put_along_axis(z, np.argsort(z.real, axis=1, kind="stable"), z, 1)
z.reshape(-1)[1:] = z.reshape(-1)[:-1]
z[:18] = z[18:36]; z[10:20, 3:30] = z[5:15, 3:30]
z[1::2] = z[:-1:2]; z[2::2] = z[:-2:2]; z[::-1] = z
z[1] = z[0] * 2; z[2] = z[1] * 2; z[3:5] = z[2:4]
z[0] = z[1]; z[-1] = z[-2]; z[:, 0] = z[:, 1]; z[:, -1] = z[:, -2]
z[0], z[1] = z[1], z[0]
z[[0, 1]] = z[[1, 0]]
z[...] = z.T; z[:36, :36] = np.swapaxes(z[1:, 1:], 0, 1)
y = z[3]; y[1:] = y[:-1]; z[3] = y[::-1]
z[1:-1] = (z[:-2] + z[2:]) / 2; z[1:-1] = (z[:-2] + z[2:]) / 2; z[2:, 1:] += z[:-2, :-1]
""".strip().splitlines()
#: What is done to complex arrays besides.
PARTS = """
z.real[1:] = z.real[:-1]
z.real[1:] = (z.real + z.imag)[:-1]; z.imag[1:] = (z.real - z.imag)[:-1]
y = z.real; y[1:] = y[:-1]; z += 1; y += 1
z.real[...] = z.imag; z.imag[...] = z.real.T
r = z.real + 1; z *= 2; s = z.imag - r; z[1:] = z[:-1]; z[0] = s[0] + z.real[1]
v = z[2:7].real; w = v + 1; z[3] = 5; u = v * 2; z[:5] = w + u
t = z.reshape(-1, 37).T; t[::2] += 1j; d = t.conj(); t *= d; z[0] = t[1] + z[1]
p, q = z[:18], z[18:36]; p += q; q -= p; z[36] = p[0] + q[0]
y = z[:20]; y[:] *= y[:] - 2.0; d = np.diff(y[:, 0], n=2); z[:, 1] = z[:, 0] + 1; z[0, :18] = d
""".strip().splitlines()


def together(statements, local, given=("k",)):
    """Return a function that does each statement to an array of its own, after what is given."""
    names = [f"a{i}" for i in range(len(statements))]
    lines = [f"def run({', '.join([*given, *names])}):"]
    for name, statement in zip(names, statements, strict=True):
        lines.append(f"    z = {name}{' * 2' if local else ''}")
        lines += [f"    {part.strip()}" for part in statement.split(";")]
        lines.append(f"    {name} = z")
    space = {"np": np}
    exec("\n".join([*lines, f"    return {', '.join(names)}"]), space)
    return space["run"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "local", "dynamic"),
    [("d", False, True), ("f", True, None), ("b", False, None), ("D", True, None)],
)
def test_all_is_read_before_anything_is_written(dtype, local, dynamic):
    statements = STATEMENTS + (PARTS if dtype == "D" else [])
    function = together(statements, local)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 20, (37, 37)).astype(dtype) for _ in statements]
    own = [array.copy() for array in arrays]
    k = np.array([2, 0, 1])
    wanted = function(k, *arrays)
    run = npaccel.jit(
        function, backend="inductor", default_float="float64", cache=False, dynamic=dynamic
    )
    with np.errstate(all="ignore"):
        got = run(k, *own)
    for parts in ((got, wanted), (own, arrays)):
        for one, other, statement in zip(*parts, statements, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=statement)


#: What is done to the arguments a and b; r is the result.
RESULTS = """
a[0] = 3; r = a.copy()
a[0] = 3; r = a.copy(); a[:] = b
a[0] = 3; b[:] = a; a[:] = 0; r = b[0]
a[[0, 1]] = 3; r = a.copy(); a[:] = b
np.add.at(a, [0, 0, 2], 2); r = a.copy(); a[:] = b
a[1:3] += 3; r = a + 0; a[:] = b
a[1:3] += 3; r = a[1:].copy(); a[:] = b
a[a > 2] = 0; r = a.copy(); a[:] = b
a.sort(); r = a.copy(); a[:] = b
np.put(a, [0, 3], 7); r = a.copy(); a[:] = b
r = a.copy(); a[0] = 5; a[:] = b; b[:] = r
a[0] = 5; r = a.copy(); a[:] = b; b[:] = r
a[0] = 5; t = a.copy(); a[:] = b; b[:] = t; r = 0
a[0] = 5; r = np.reshape(a, (3, -1)).copy().T; a[1:] = b[1:]
a[0] = 9; r = np.absolute(a.astype(np.uint8)); a[:] = 0
r = a + np.zeros(a.shape)
a[0] = 9; r = a - np.zeros(a.shape); a[:] = 0
a[0] = 5; t = a.copy(); a[1] = 4; r = (t, a.copy()); a[2] = 4
r = (a.copy(), a.copy())
""".strip().splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize("statements", RESULTS)
def test_results_are_apart_from_arguments(statements):
    space = {"np": np}
    lines = [f"    {part.strip()}" for part in statements.split(";")]
    exec("\n".join(["def run(a, b):", *lines, "    return r"]), space)
    rng = np.random.default_rng(0)
    wanted_of = [rng.integers(0, 7, 33).astype(float) for _ in range(2)]
    own = [array.copy() for array in wanted_of]
    wanted = space["run"](*wanted_of)
    got = npaccel.jit(space["run"], default_float="float64", cache=False)(*own)
    for one, other in zip(own, wanted_of, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_equal(got, wanted)
    results = got if isinstance(got, tuple) else (got,)
    arrays = [*own, *(one for one in results if isinstance(one, np.ndarray))]
    for i, one in enumerate(arrays):
        assert not any(np.shares_memory(one, other) for other in arrays[:i])


@pytest.mark.parametrize(
    "statements",
    [
        "c *= 1; c[0] = k; c[c % 6] = 1",
        "c -= c; c[0] = c[0] * 0 + k; c[c % 6] = 1",
        "v = c[...]; c *= 1; c[1] = k; v[v % 6] = 1",
        "c *= 1; c[0] = k; c[c[:, 0] % 6] = 1",
        "c *= 1; c[0] = k; c[c % 6, c % 5] += c",
        "c *= 1; c[0] = k; c[[3, 4]] = c[[0, 1]] + c[[1, 3]]",
        "c[...] = c + 1; c[2] = k; c[(c - 1) % 6] = c[0] * 2",
    ],
)
def test_indices_of_a_computed_array_are_read_before_it_is_written(statements):
    space = {"np": np}
    exec(f"def f(c, k):\n    {statements}\n    return c", space)
    given = np.where(np.arange(6)[:, None] < 3, 3, np.zeros((6, 5), np.int64))
    wanted, got = given.copy(), given.copy()
    space["f"](wanted, 3)
    npaccel.jit(space["f"], default_float="float64", cache=False)(got, 3)
    np.testing.assert_array_equal(got, wanted)


# -- An array that is written in several steps, and read after them --------------------------------


def neighbours_by_rolls(a):
    r = a + np.roll(a, 1, axis=0) + np.roll(a, -1, axis=0)
    return r + np.roll(r, 1, axis=1) + np.roll(r, -1, axis=1)


def neighbours_by_padding(a):
    tall = np.empty((a.shape[0] + 2, a.shape[1]), a.dtype)
    tall[1:-1], tall[0], tall[-1] = a, a[-1], a[0]
    r = tall[:-2] + tall[2:]
    wide = np.empty((a.shape[0], a.shape[1] + 2), a.dtype)
    wide[:, 1:-1], wide[:, 0], wide[:, -1] = r, r[:, -1], r[:, 0]
    return wide[:, :-2] + wide[:, 2:], r


def smoothed_in_place(a):
    b = a.copy()
    b[1:-1] = a[1:-1] * 2
    b[0] = b[1]
    b[-1] = b[-2]
    c = np.zeros((a.shape[0], a.shape[1] + 1), a.dtype)
    c[:, 1:] = b + b[::-1]
    c[:, 0] = c[:, -1]
    return c[:, :-1] + b, c


def by_blocks(a):
    flat = np.zeros(a.size + 4, a.dtype)
    flat[2:-2] = a.reshape(-1)
    flat[:2] = flat[-4:-2]
    flat[-2:] = flat[2:4]
    r = (flat[:-4] + flat[4:]).reshape(a.shape)
    tall = np.zeros((a.shape[0] + 1, a.shape[1]), a.dtype)
    tall[1:] = r
    tall[0] = tall[-1]
    return tall[:-1] - tall[1:], flat


def rolled_thrice(a):
    for axis, shift in ((0, 2), (1, -1), (0, -3)):
        a = a + np.roll(a, shift, axis=axis)
    return a


STEPS = [neighbours_by_rolls, neighbours_by_padding, smoothed_in_place, by_blocks, rolled_thrice]


@pytest.mark.parametrize(
    ("function", "dtype"),
    # Floats and integers of one size each, by turns; of all sizes in a full sweep.
    [(f, d) for i, f in enumerate(STEPS) for j, d in enumerate("dfBh") if FULL or (i + j) % 2 == 0],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_written_in_steps_is_read_after_all_of_them(function, dtype):
    jitted = npaccel.jit(function, default_float="float64", cache=False)
    for shape in ((30, 40), (5, 7), (37, 16)):
        a = (np.random.default_rng(1).random(shape) * 9).astype(dtype)
        for got, wanted in zip(as_tuple(jitted(a)), as_tuple(function(a)), strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)
