"""Loops that go on from checkpoints: a program that was killed finds what an unbroken one does."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from comparing import assert_same

import npaccel

X = np.arange(11.0)
SCALE = 0.5


class StopError(Exception):
    pass


class Stops:
    """Where a loop is broken off: no value that counts among those that it reads."""

    __slots__ = ("at",)


STOPS = Stops()
STOPS.at = None


def stop_at(t):
    if t == STOPS.at:
        STOPS.at = None
        raise StopError


def record(carry, t):
    stop_at(t)
    a, n = carry["a"] * 0.9 + t * SCALE, carry["n"] + 1
    return {"a": a, "n": n}, (a.sum(), {"row": a[:2], "none": None, "twice": 2 * n})


def relax(i, v):
    stop_at(i)
    v[1:-1] = (v[2:] + v[:-2]) / 2
    return v


def init():
    return {"a": np.arange(4.0), "n": 0}


def plainly(reverse=False):
    carry, ys = init(), []
    for t in X[::-1] if reverse else X:
        carry, y = record(carry, t)
        ys.append(y)
    return carry, ys[::-1] if reverse else ys


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("every", [1, 3, 20])
def test_scan_goes_on(tmp_path, reverse, every):
    seen = []

    def f(carry, t):
        seen.append(t)
        return record(carry, t)

    words = {"reverse": reverse, "checkpoint": tmp_path, "every": every}
    STOPS.at = 3.0 if reverse else 7.0
    with pytest.raises(StopError):
        npaccel.scan(f, init(), X, **words)
    first = len(seen)
    assert first == 8
    seen.clear()
    carry, ys = npaccel.scan(f, init(), X, **words)
    wanted, rows = plainly(reverse)
    assert_same(carry, wanted)
    np.testing.assert_array_equal(ys[0], [row[0] for row in rows])
    np.testing.assert_array_equal(ys[1]["row"], [row[1]["row"] for row in rows])
    np.testing.assert_array_equal(ys[1]["twice"], [row[1]["twice"] for row in rows])
    assert ys[1]["none"] is None
    assert len(seen) == len(X) - 7 // every * every
    seen.clear()
    assert_same(npaccel.scan(f, init(), X, **words)[0], wanted)  # Of one that has ended.
    assert seen == []


def test_fori_loop_goes_on_and_writes_into_its_array(tmp_path):
    wanted = np.arange(9.0) ** 2
    for i in range(3, 12):
        relax(i, wanted)
    given = np.arange(9.0) ** 2
    STOPS.at = 9
    with pytest.raises(StopError):
        npaccel.fori_loop(3, 12, relax, given, checkpoint=tmp_path, every=2)
    given = np.arange(9.0) ** 2
    assert npaccel.fori_loop(3, 12, relax, given, checkpoint=tmp_path, every=2) is given
    np.testing.assert_array_equal(given, wanted)


def test_generators_in_the_carry(tmp_path):
    def walk(i, carry):
        stop_at(i)
        place, rng = carry
        return place + rng.normal(size=3), rng

    def begun():
        return np.zeros(3), np.random.default_rng(5)

    wanted = npaccel.fori_loop(0, 6, walk, begun())[0]
    STOPS.at = 4
    with pytest.raises(StopError):
        npaccel.fori_loop(0, 6, walk, begun(), checkpoint=tmp_path, every=3)
    found = npaccel.fori_loop(0, 6, walk, begun(), checkpoint=tmp_path, every=3)[0]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_bodies(tmp_path, backend):
    def smooth(a, n):
        def f(mean, x):
            mean = 0.5 * mean + 0.5 * x
            return mean, mean

        return npaccel.scan(f, a[0], a[:n], checkpoint=tmp_path, every=2)

    a = np.linspace(0.0, 3.0, 36).reshape(9, 4)
    words = {"backend": backend, "compile": "now", "default_float": "float64"}
    jitted = npaccel.jit(smooth, **words)
    assert_same(jitted(a, 9), smooth(a, 9))
    assert len(list(tmp_path.iterdir())) == 1  # They are the same loop.
    assert [loop.engine for loop in jitted.report().loops] == ["compiled body"]


def test_other_loops_take_nothing(tmp_path):
    def f(carry, x):
        return carry + x * 2, None

    def g(carry, x):
        return carry + x * 3, None

    for function, start, xs, factor in ((f, 0.0, X, 2), (f, 1.0, X, 2), (f, 0.0, -X, 2),
                                        (g, 0.0, X, 3), (f, 0.0, X[:5], 2)):  # fmt: skip
        got = npaccel.scan(function, start, xs, checkpoint=tmp_path)[0]
        assert got == start + factor * xs.sum()
    assert len(list(tmp_path.iterdir())) == 5


def test_another_value_that_is_read_is_told(tmp_path):
    def made(step):
        return npaccel.fori_loop(0, 4, lambda i, v: v + step, 0.0, checkpoint=tmp_path)

    assert made(1.0) == 4.0
    with pytest.warns(npaccel.errors.PerformanceWarning, match="reads as 'step' was") as told:
        assert made(2.0) == 8.0
    assert told[0].filename == __file__


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="every is 0; pass after how many"):
        npaccel.scan(lambda c, x: (c, x), 0.0, X, checkpoint=tmp_path, every=0)
    with pytest.raises(TypeError, match="init holds an object that can't be saved in a checkpoint"):
        npaccel.fori_loop(0, 2, lambda i, v: v, (0.0, lambda: 1), checkpoint=tmp_path)
    path = tmp_path

    def total(w):
        return npaccel.fori_loop(0, 9, lambda i, v: v * 2, w, checkpoint=path).sum()

    with pytest.raises(npaccel.errors.NotCompiledError, match="checkpoint=path"):
        npaccel.grad(total)(np.ones(2))


KILLED = """
import sys, os, signal
import numpy as np, npaccel

@npaccel.jit(backend="eager", compile="now")
def step(u):
    return u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

def f(u, t):
    if t == 23 and sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("step", flush=True)
    u = step(u)
    return u, u[:3] * t

u, rows = npaccel.scan(f, np.arange(20.0) ** 2, np.arange(40), checkpoint=sys.argv[1], every=5)
np.savez(sys.argv[1] + "/answer.npz", u=u, rows=rows)
"""


def test_a_process_that_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(KILLED))
    steps = []
    for how in ("killed", "whole"):
        command = [sys.executable, str(program), str(tmp_path), how]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            command, check=False, env=env, stdout=subprocess.PIPE, text=True, timeout=300
        )
        assert done.returncode == (-signal.SIGKILL if how == "killed" else 0)
        steps.append(done.stdout.count("step"))
    assert steps == [23, 20]
    u, rows = np.arange(20.0) ** 2, []
    for t in range(40):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        rows.append(u[:3] * t)
    found = np.load(tmp_path / "answer.npz")
    np.testing.assert_allclose(found["u"], u, 1e-13)
    np.testing.assert_allclose(found["rows"], rows, 1e-13)
