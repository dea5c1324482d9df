"""Iterations in threads: what errors leave behind, nests of `jit`, when threads are used."""

import threading
import time
import warnings

import numpy as np
import pytest
import torch
from nest_checking import check, compiled, copied, outcome
from test_dependence import SPARSE, A, B, elements
from test_slices import standardised

import npaccel
from npaccel._loops.nests import parallel
from npaccel._process import thread_pool

pytest.importorskip("numba")
pytestmark = pytest.mark.usefixtures("three_threads")
RNG = np.random.default_rng(13)


# Errors


def at_numbers(a, places, out, rest):
    for i in range(len(out)):
        rest[i] = i
        out[i] = a[places[i], 0]
        rest[i] = -i
    return ()


def divided(a, places, out, rest):
    for i in range(len(out)):
        out[i] = 100 // int(places[i])
        rest[i] = a[i, 0]
    return ()


def refused(a, places, out, rest):
    for i in range(len(out)):
        out[i] = a[i, 0]
        if places[i] == 0:
            raise ValueError("a zero")
        rest[i] = a[i, 1]
    return ()


def outgrown(a, places, out, rest):
    for i in range(len(out)):
        n = 1
        for _ in range(int(places[i])):
            n = n * 1000
        out[i] = n
        rest[i] = a[i, 0]
    return ()


@pytest.mark.parametrize("wrong", [[0], [5], [20], [36], [3, 4], [30, 12], [14, 35], [1, 15, 30]])
@pytest.mark.parametrize(("function", "value"), [(at_numbers, 90), (divided, 0), (refused, 0)])
def test_errors_in_the_middle(function, value, wrong, runs):
    """What later iterations wrote is undone, what earlier ones and the one itself wrote stays."""
    places = np.arange(1, 38) % 30 + 1
    places[wrong] = value
    nest = check(function, A, places, np.full(37, 7.0), np.full(37, 8.0))
    assert runs[0] <= 3
    check(function, A, np.abs(places) % 30 + 1, np.full(37, 7.0), np.full(37, 8.0), nest=nest)
    assert runs[1] == 3


@pytest.mark.parametrize("wrong", [[0], [20], [36], [5, 30]])
def test_errors_of_iterations_in_other_orders(wrong):
    places = A.copy()
    places[wrong, 0] = np.nan

    def backwards_ints(a, out):
        for i in range(36, -1, -1):
            out[i] = int(a[i, 0])
        return ()

    check(backwards_ints, places, np.full(37, 7.0))

    def columns_of_ints(a, out):
        for i in range(a.shape[0]):
            out[0, i] = i
            out[1, i] = int(a[i, 0])
        return ()

    check(columns_of_ints, places, np.full((2, 40), 7.0))


@pytest.mark.parametrize("wrong", [[0], [20], [36], [5, 30]])
def test_ints_that_outgrow_64_bits(wrong):
    places = np.arange(37) % 3
    places[wrong] = 9
    args = A, places, np.full(37, 7.0), np.full(37, 8.0)
    told = []
    nest = check(outgrown, *args, on_python=lambda *why: told.append(why))
    check(outgrown, *args, nest=nest)
    assert told
    places[wrong] = 1
    check(outgrown, *args, nest=nest)


def sparse(indptr, indices, data, x, y):
    for row, (start, stop) in enumerate(zip(indptr[:-1], indptr[1:])):  # noqa: B905, RUF007
        y[row] = data[start:stop] @ x[indices[start:stop]]
    return y


def along_the_last_axis(c, x):
    for k in range(1, x.shape[-1]):
        x[..., k] -= c[..., k] * x[..., k - 1]


def of_jit(function, *args):
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    for _ in range(2):
        ours, theirs = copied(args), copied(args)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, own = outcome(lambda *a: (jitted(*a),), ours)
            wanted, error = outcome(lambda *a: (function(*a),), theirs)
        assert type(own) is type(error)
        assert str(own) == str(error)
        for one, other in zip((got or [], *ours), (wanted or [], *theirs), strict=True):
            if not isinstance(one, list):
                np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    return jitted


def test_slices_and_rows(runs):
    constant = RNG.random((40, 9))
    constant[::3] = 2.5
    for function, args in (
        (sparse, SPARSE),
        (standardised, (constant,)),
        (along_the_last_axis, tuple(RNG.random((2, 20, 4, 6)))),
    ):
        jitted = of_jit(function, *args)
        assert runs == [3, 3]
        loop = jitted.report().loops[0]
        assert (loop.engine, loop.detail) == ("Numba", "iterations in threads where faster")
        runs.clear()


def test_errors_in_slices(runs):
    for place in (0, 30, -1):
        indices = SPARSE[1].copy()
        indices[place] = 77
        of_jit(sparse, SPARSE[0], indices, *SPARSE[2:])
    torch.set_num_threads(1)
    jitted = of_jit(sparse, *SPARSE)
    assert jitted.report().loops[0].detail == ""


class Holder:
    def __init__(self):
        self.out = np.zeros(37)
        self.a = A.copy()


def of_attributes(holder):
    for i in range(len(holder.out)):
        holder.out[i] = holder.a[i, 0] * 2
    return ()


def test_arrays_of_objects(runs):
    holder = Holder()
    nest = compiled(of_attributes, holder)
    nest(holder)
    np.testing.assert_array_equal(holder.out, A[:, 0] * 2)
    holder.out = holder.a[:, 0]
    nest(holder)
    np.testing.assert_array_equal(holder.out, A[:, 0] * 2)
    assert runs == [3, 0]


# Threads of the user's


def test_several_threads_at_once():
    nest = compiled(elements, A, B, np.zeros((37, 23)))
    wanted = np.zeros((37, 23))
    elements(A, B, wanted)
    outs = [np.zeros((37, 23)) for _ in range(8)]
    wrong = []

    def call(out):
        for _ in range(50):
            out[...] = 0
            nest(A, B, out)
            if not np.array_equal(out, wanted):
                wrong.append(out)

    threads = [threading.Thread(target=call, args=(out,)) for out in outs]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_little_work_stays_on_one_thread(monkeypatch, runs):
    monkeypatch.setattr(parallel, "_WORTH", 1.0)
    for short in (0.0, 0.5):
        monkeypatch.setattr(parallel, "_SHORT", short)
        nest = check(elements, A, B, np.zeros((37, 23)))
        for _ in range(3):
            check(elements, A, B, np.zeros((37, 23)), nest=nest)
            check(elements, A[:20], B, np.zeros((37, 23)), nest=nest)
    assert not any(runs)
    monkeypatch.setattr(parallel, "_WORTH", 0.0)
    larger = np.zeros((74, 23))
    check(elements, A, B, larger, nest=nest)
    monkeypatch.setattr(parallel, "_SHORT", 0.0)
    check(elements, A, B, np.zeros((37, 23)), nest=nest)  # Looked at again after this.
    check(elements, A, B, np.zeros((37, 23)), nest=nest)
    assert runs[-3:] == [3, 0, 3]


def test_errors_of_short_calls(monkeypatch):
    monkeypatch.setattr(parallel, "_SHORT", 0.5)
    monkeypatch.setattr(parallel, "_WORTH", 1.0)
    places = np.arange(37) % 30
    args = A, places, np.full(37, 7.0), np.full(37, 8.0)
    for function in (at_numbers, outgrown):
        nest = check(function, *args[:1], places % 2, *args[2:])
        check(function, *args[:1], places % 2, *args[2:], nest=nest)
        check(function, *args[:1], places + 20, *args[2:], nest=nest)


@pytest.mark.parametrize("faster", [True, False])
def test_the_faster_way_is_chosen(faster, monkeypatch):
    monkeypatch.undo()
    choice = parallel.Choice()
    ways = []
    for _ in range(300):
        ways.append(choice.in_threads())
        choice.note(ways[-1], 0.5 + (ways[-1] != faster))
    assert ways[:6] == [True, False] * 3
    assert ways[6:69] == [faster] * 63
    assert ways.count(not faster) == 3 * 3


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("wrong", [0, 3, 7])
def test_the_calling_thread_takes_parts(wrong):
    """It waits for the others, also where one has failed."""
    done, threads = [], set()

    def work(part, bad):
        threads.add(threading.get_ident())
        time.sleep(0.01)
        if part == bad:
            raise ValueError(part)
        done.append(part)
        return part * 2

    found = thread_pool.in_threads(lambda part: work(part, -1), range(8), helps=True)
    assert found == [part * 2 for part in range(8)]
    assert threading.get_ident() in threads
    assert len(threads) > 1
    done.clear()
    with pytest.raises(ValueError, match=str(wrong)):
        thread_pool.in_threads(lambda part: work(part, wrong), range(8), helps=True)
    before = list(done)
    time.sleep(0.05)
    assert done == before
