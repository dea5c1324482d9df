"""Loops over small arrays go to Numba, and compute what NumPy does."""

import inspect
import textwrap

import numpy as np
import pytest
from small_programs import run, run_program

import npaccel
from npaccel._loops.nests.scalarize import result

pytest.importorskip("numba")
pytestmark = pytest.mark.small_arrays

R = np.random.default_rng(0)
A, B = R.normal(size=(6, 5)), R.normal(size=(6, 5))
U, V = R.normal(size=5), R.normal(size=5)


def heat(u, rate, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + rate * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u,)


def pressure(p, source, sweeps):
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (
            old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1] - source[1:-1, 1:-1]
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return (p,)


def burgers(u, h, end, t, steps):
    while t < end:
        dt = min(0.5 * h / np.abs(u).max(), end - t)
        flux = 0.5 * u**2
        u = u - dt / h * (flux - np.roll(flux, 1))
        t += dt
        steps += 1
    return u, t, steps


def relaxed(u, tolerance, count):
    error = 1.0
    while error > tolerance and count < 500:
        new = u.copy()
        new[1:-1] = 0.5 * (u[2:] + u[:-2])
        error = np.abs(new - u).max()
        u = new + 0.0
        count += 1
    return u, error, count


def eliminated(a, b):
    for k in range(len(b) - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= np.outer(factors, a[k, k:])
        b[k + 1 :] -= factors * b[k]
    return (factors,)


def factorised(a, lower, upper):
    for k in range(len(a)):
        upper[k, k:] = a[k, k:] - lower[k, :k] @ upper[:k, k:]
        lower[k + 1 :, k] = (a[k + 1 :, k] - lower[k + 1 :, :k] @ upper[:k, k]) / upper[k, k]
    return lower, upper


def powers(a, x, n):
    for _ in range(n):
        y = a @ x
        x = y / np.linalg.norm(y)
        back = x @ a
    return x, back


def clipped(u, v, n):
    for _ in range(n):
        u = np.where(u > v, v, np.where(u < 0, 0, u)) + 0.1
        np.testing  # noqa: B018
    return (u,)


def viewed(w, n):
    for _ in range(n):
        middle = w[1:-1]
        w[2:] += middle * 0.5
        middle *= 0.9
    return (w,)


def swapped(u, v, rate, n):
    for _ in range(n):
        v[1:-1] = u[1:-1] + rate * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u, v


def rotated(u, v, w, n):
    for k in range(n):
        u, v, w = v, w, u
        u[k] = v[0] + w.sum()
        v *= 0.5
    return u, v, w


def shrinking(u, n):
    for _ in range(n):
        u = u[1:] * 0.5 + u[:-1] * 0.5
    return u, n


def while_norm(u):
    while np.linalg.norm(u) > 1e-3:
        u *= 0.5
    return (u,)


PROGRAMS = [
    (heat, (R.random(20), 0.2, 7)),
    (heat, (R.random(2), 0.2, 7)),
    (heat, (np.zeros(0), 0.2, 7)),
    (heat, (R.random(40)[::2], 0.2, 7)),
    (heat, (R.random(20)[::-1], 0.2, 7)),
    (pressure, (A.copy(), B, 5)),
    (pressure, (np.asfortranarray(A), B, 5)),
    (pressure, (A[::2, ::-1], B[::2], 2)),
    (pressure, (np.ones((1, 1)), np.ones((1, 1)), 2)),
    (pressure, (np.ones((2, 0)), np.ones((2, 0)), 1)),
    (burgers, (1.5 + np.sin(np.arange(40) / 6), 1 / 40, 0.25, 0.0, 0)),
    (burgers, (np.ones(1), 1.0, 3.0, 0.0, 0)),
    (burgers, (U, 1.0, 0.0, 0.0, 0)),
    (burgers, (np.array([1.0, np.nan, 2.0]), 0.5, 0.1, 0.0, 0)),
    (burgers, (np.array([1.0, np.inf, 2.0]), 0.5, 0.1, 0.05, 0)),
    (relaxed, (R.random(9), 1e-3, 0)),
    (relaxed, (np.zeros(3), 1e-3, 0)),
    (eliminated, (R.random((9, 9)), R.random(9))),
    (eliminated, (np.array([[0.0, 1.0], [2.0, 1.0]]), np.ones(2))),
    (eliminated, (np.array([[np.nan, 1.0], [2.0, 1.0]]), np.ones(2))),
    (factorised, (R.random((6, 6)) + 6 * np.eye(6), np.eye(6), np.zeros((6, 6)))),
    (powers, (A[:5], U, 3)),
    (clipped, (U, V, 4)),
    (viewed, (R.random(7), 4)),
    (swapped, (R.random(9), R.random(9), 0.1, 3)),
    (swapped, (R.random(9), np.zeros(9), 0.1, 0)),
    (swapped, (R.random(9), np.zeros(8), 0.1, 1)),
    (rotated, (R.random(4), R.random(4), R.random(4), 4)),
    (rotated, (R.random(4), R.random(8)[::2], R.random(4), 2)),
    (shrinking, (R.random(9), 4)),
    (shrinking, (R.random(9), 0)),
    (while_norm, (U.copy(),)),
]


def named(function, args):
    return dict(zip(inspect.signature(function).parameters, args, strict=True))


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_programs(function, args):
    text = textwrap.dedent(inspect.getsource(function)).replace(
        f"def {function.__name__}", "def nest"
    )
    taken = function is not rotated or args[1].flags.c_contiguous
    assert (run(text, named(function, args)) != "array code") == taken


@pytest.mark.sampled
@pytest.mark.parametrize("seeds", [range(i, i + 200) for i in range(0, 600, 200)], ids=str)
def test_random_programs(seeds):
    """Their code is run by Python, which takes no time to compile it."""
    counts = {}
    for seed in seeds:
        outcome = run_program(seed)
        counts[outcome] = counts.get(outcome, 0) + 1
    assert counts["the same"] > 40, counts


STATEMENTS = """
u[:] = v
u[...] = v * 2
u += v[0]
u[1:3] *= v[1:3]
u[-2:] = u[:2]
u[1:] = u[:-1]
u[k:] = v[k:] + u[k]
u[:k] -= v[:k] @ v[:k]
a[k] = u
a[k, :] = a[0, :]
a[:, k] = b[:, 0] - a[:, k]
a[1:3] += u
a[:, :] = a[::, ::].sum()
a *= b
a[:3, 1:] = b[3:, :-1] + u[1:]
a = a + u
a = np.roll(a, k, axis=1) + b
a = np.roll(b, -1, 0)
a = np.outer(b[:, 0], u)
a = b[:, :1] * 2 + 0 * a
a = u[:, None] * v + 0
u = np.roll(u, 7)
u = np.maximum(u, v) ** 2
u = abs(u) - -v
u = np.zeros_like(u) + k
u = np.full_like(v, 3)
u = u - u.mean()
u = u / np.sqrt(np.sum(u * u))
u = (a.T @ u[:1])
u = b[0] @ a[:5] if k else u
u[0] = np.dot(u, v) + np.argmin(a[:, 1]) + a.std() + a.max() - b.min()
u[0] = np.nan
u[0] = u.max() + u.argmax()
u[k] = np.linalg.norm(a) + len(u) + u.size + u.shape[0]
u = u[::2]
u = v
u[1:] = v
a[[0, 2]] = a[[2, 1]]
u[[0, k]] = u[[k, 0]]
u[:] = 1j
u = u > 0
u[9] = 1
u[1:] = v[9]
"""


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_statements(statement):
    """One statement in a loop: taken, or left to array code, and never another answer."""
    text = f"def nest(a, b, u, v):\n    for k in range(3):\n        {statement}\n    return a, u\n"
    values = [
        {"a": a.copy(), "b": B, "u": a[0].copy(), "v": V}
        for a in (A, np.full((6, 5), np.inf), np.full((6, 5), np.nan), A[:1])
    ]
    run(text, *values)


def jitted_like(function, *args):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for _ in range(2):
        ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        found, wanted = jitted(*ours), function(*theirs)
        for a, b in zip([*found, *ours], [*wanted, *theirs], strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-12)
    return jitted


@pytest.mark.parametrize(
    "function", [heat, pressure, burgers, eliminated, swapped], ids=lambda f: f.__name__
)
def test_jit_hands_them_over(function):
    args = next(args for one, args in PROGRAMS if one is function)
    report = jitted_like(function, *args).report()
    assert {loop.engine for loop in report.loops} == {"Numba"}, report
    assert not report.graphs


def test_large_arrays_stay_with_array_code():
    size = result.SMALL
    jitted = jitted_like(heat, np.zeros(size + 1), 0.1, 3)
    assert jitted.report().loops[0].engine != "Numba"
    jitted(np.zeros(size), 0.1, 3)
    assert jitted.report().loops[0].engine == "Numba"


def test_sizes_that_change_from_call_to_call():
    jitted = npaccel.jit(burgers, default_float="float64", backend="eager")
    for n in (3, 40, 0, 1, 7):
        u = 1.5 + np.sin(np.arange(n) / 6)
        if not n:
            with pytest.raises(ValueError, match="zero-size"):
                jitted(u, 0.1, 0.2, 0.0, 0)
            continue
        found, wanted = (f(u.copy(), 0.1, 0.2, 0.0, 0) for f in (jitted, burgers))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
        assert found[1:] == pytest.approx(wanted[1:])


def test_shapes_that_are_broadcast_are_array_codes():
    def scaled(a, b, n):
        for _ in range(n):
            a[:] = a * b + 1
        return (a,)

    jitted = npaccel.jit(scaled, default_float="float64", backend="eager")
    for b in (B, B[:1], B[:, :1], B, U):
        ours, theirs = A.copy(), A.copy()
        np.testing.assert_allclose(jitted(ours, b, 3)[0], scaled(theirs, b, 3)[0], rtol=1e-12)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_what_a_name_stood_for_isnt_written_to():
    def replaced(u, n):
        for _ in range(n):
            u = u * 2
            u[0] = 1.0
        return (u,)

    def in_place_first(u, n):
        for _ in range(n):
            u += 1
            u = u * 2
        return (u,)

    jitted_like(replaced, U, 3)
    jitted_like(replaced, U, 0)
    jitted_like(in_place_first, U, 3)


def test_a_loop_without_iterations_gives_the_same_array():
    jitted = npaccel.jit(burgers, default_float="float64", backend="eager")
    u = U.copy()
    assert jitted(u, 1.0, 0.0, 0.0, 0)[0] is u


def test_results_arent_the_memory_of_the_next_call():
    jitted = npaccel.jit(relaxed, default_float="float64", backend="eager")
    first = jitted(np.arange(5.0) ** 2, 1e-3, 0)[0]
    kept = first.copy()
    jitted(np.ones(5), 1e-3, 0)
    np.testing.assert_array_equal(first, kept)


def test_arrays_that_share_memory():
    memory, other = R.random(9), None
    other = memory.copy()

    def added(u, v, n):
        for _ in range(n):
            u[1:] += v[:-1]
        return (u,)

    jitted = npaccel.jit(added, default_float="float64", backend="eager")
    jitted(np.ones(8), np.ones(8), 3)
    added(memory[:8], memory[1:], 3)
    with pytest.warns(npaccel.errors.PerformanceWarning, match="share memory"):
        jitted(other[:8], other[1:], 3)
    np.testing.assert_allclose(memory, other)


def test_read_only_arrays_raise():
    def filled(u, n):
        for _ in range(n):
            u[0:0] = 1.0
        return (u,)

    u = np.ones(3)
    u.flags.writeable = False
    jitted = npaccel.jit(filled, default_float="float64", backend="eager")
    with pytest.raises(ValueError, match="read-only"):
        jitted(u, 2)


def inverted(u, n):
    for i in range(n):
        u[i] = 1.0 / u[i]
    return (u,)


@pytest.mark.parametrize(
    ("function", "args"), [(inverted, (np.zeros(3), 3)), (heat, (np.full(5, 1e308), 10.0, 3))]
)
def test_settings_that_raise_are_numpys(function, args):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    jitted(args[0].copy(), *args[1:])
    told = pytest.warns(npaccel.errors.PerformanceWarning, match="errstate")
    with np.errstate(all="raise"), told, pytest.raises(FloatingPointError):
        jitted(args[0].copy(), *args[1:])
