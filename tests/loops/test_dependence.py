"""Independent iterations of nests run in threads, and leave behind what those of Python do."""

import numpy as np
import pytest
import torch
from nest_checking import check, compiled

from npaccel._loops.nests import parallel

pytest.importorskip("numba")
pytestmark = [pytest.mark.usefixtures("three_threads"), pytest.mark.sampled]
RNG = np.random.default_rng(11)
A, B = RNG.random((2, 37, 23))


# Independent iterations


def elements(a, b, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * b[i, j] - a[i - 1, j]
    return ()


def mandelbrot(out, limit):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = complex(-2.0 + 0.1 * j, -1.0 + 0.06 * i)
            z = 0j
            k = 0
            while k < limit and abs(z) <= 2.0:
                z = z * z + c
                k += 1
            out[i, j] = k
    return ()


def distances(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                d = a[i, k] - b[j, k]
                total += d * d
            out[i, j] = np.sqrt(total)
    return (i,)


def along_rows(cost, best):
    for i in range(cost.shape[0]):
        best[i, 0] = cost[i, 0]
        for j in range(1, cost.shape[1]):
            best[i, j] = cost[i, j] + min(best[i, j - 1], cost[i, j - 1])
    return ()


def along_columns(a, b):
    for j in range(a.shape[1]):
        for i in range(1, a.shape[0]):
            a[i, j] += a[i - 1, j] * b[i, j]
    return ()


def matvec(indptr, indices, data, x, y):
    for row in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total
    return (total,)


def enumerated(a, out):
    for i, (row, x) in enumerate(zip(a, out)):  # noqa: B905
        if row[0] < 0.2:
            continue
        here = i
        row[1] = row[0] + x
        out[here] = row[2]
    return ()


def backwards(a, out):
    for i in range(len(out) - 1, 1, -2):
        out[i] = a[i, 0]
    return (i,)


def shared_row(a, out):
    for i in range(len(a)):
        row = a[i]
        out[i] = filled(row, i)
    return ()


def filled(row, number):
    for k in range(len(row)):
        row[k] = row[k] * number
    return row[0]


def counted(a, low, high):
    for i in range(a.shape[0]):
        for x in a[i]:
            if x < 0.3:
                low += 1
            else:
                high -= 2
    return (low, high)


def assigned_before(a, out, t, i):
    for i in range(len(out)):  # noqa: PLR1704
        t = a[i, 0] * 2
        out[i] = t + a[0, i % 7]
    return (i, t)


SPARSE = RNG.integers(0, 5, 37).cumsum()
SPARSE = (
    np.concatenate([[0], SPARSE]),
    RNG.integers(-9, 9, SPARSE[-1]),
    RNG.random(SPARSE[-1]),
    RNG.random(9),
    np.zeros(37),
)
INDEPENDENT = {
    "elements": (elements, A, B, np.zeros((37, 23))),
    "elements, float32 and strides": (
        elements,
        A[::-1].astype(np.float32),
        np.asfortranarray(B),
        np.zeros((74, 46), np.float32)[::2, ::-2],
    ),
    "Mandelbrot": (mandelbrot, np.zeros((37, 23), np.int32), 30),
    "distances": (distances, A, B, np.zeros((37, 37))),
    "rows by dynamic programming": (along_rows, A, np.zeros_like(A)),
    "columns": (along_columns, A, B),
    "sparse": (matvec, *SPARSE),
    "enumerated": (enumerated, A, B[:, 0].copy()),
    "backwards": (backwards, A, np.zeros(37)),
    "by a function": (shared_row, A, np.zeros(37)),
    "counters": (counted, A, 5, -7),
    "names with values before": (assigned_before, A, np.zeros(37), 1, "x"),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_iterations(name, runs):
    function, *args = INDEPENDENT[name]
    nest = check(function, *args, namespace=globals())
    assert runs[0] == 3
    torch.set_num_threads(1)
    check(function, *args, nest=nest)
    assert runs == [runs[0], 0]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 16, 17, 33])
def test_few_iterations(length, runs):
    nest = check(elements, A, B, np.zeros((37, 23)))
    check(elements, A[:length], B, np.zeros((37, 23)), nest=nest)
    assert runs[1] == min(max(length - -(-length // 16), 0), 3)
    check(distances, A[: max(length, 1)], B, np.zeros((37, 37)))
    check(backwards, A, np.zeros(length + 3))
    check(counted, A[:length], 3, 2**40)


def test_uneven_iterations_are_cut_into_more_parts(monkeypatch, runs):
    monkeypatch.setattr(parallel, "_LONG", 0.0)
    check(elements, A, B, np.zeros((37, 23)))
    assert runs == [12]


# Iterations that aren't


def written_ahead(a, out):
    for i in range(len(out) - 1):
        out[i] += a[i, 0]
        out[i + 1] = a[i, 1]
    return ()


def read_behind(a, out):
    for i in range(1, len(out)):
        out[i] = out[i - 1] + a[i, 0]
    return ()


def summed(a, out, total):
    for i in range(len(a)):
        total += a[i, 0]
    return (total,)


def carried(a, out, last):
    for i in range(len(a)):
        out[i] = last
        last = a[i, 0]
    return ()


def carried_sometimes(a, out, best):
    for i in range(len(a)):
        if a[i, 0] > 0.5:
            best = a[i, 0]
        out[i] = best
    return ()


def left_over(a, out, found):
    for i in range(len(a)):
        if a[i, 0] > 0.5:
            found = i
    return (found,)


def left_over_after_continue(a, out, found):
    for i in range(len(a)):
        if a[i, 0] > 0.1:
            continue
        found = i
    return (found,)


def left_over_of_inner(a, out, j):
    for i in range(len(a)):
        for j in range(int(3 * a[i, 0])):  # noqa: PLR1704
            out[i] = j
    return (j,)


def broken(a, out):
    for i in range(len(a)):
        if a[i, 0] > 0.9:
            break
        out[i] = 1
    return (i,)


def counted_and_read(a, out, n):
    for i in range(len(a)):
        n += 1
        out[i] = n
    return (n,)


def counted_in_floats(a, out, n):
    for _ in range(len(a)):
        n += 1
    return (n,)


def at_two_axes(a, out):
    for i in range(a.shape[1]):
        a[i, 0] = a[0, i] + 1
    return ()


def reassigned(a, out):
    for i in range(len(a) - 3):
        i += int(a[i, 0] * 3)
        out[i] = i
    return ()


def reassigned_index(a, out):
    for i in range(len(a)):
        k = i
        if a[i, 0] < 0.5:
            k = 0
        out[k] = i
    return ()


def other_array(a, out):
    for i in range(len(out)):
        row = a[i]
        row[0] = a[0, 1]
        a[0, 1] = row[2]
    return ()


def whole_array(a, out):
    b = out
    for i in range(len(out)):
        out[i] = a[i, 0]
        b[0] = i
    return ()


def by_function(a, out):
    for i in range(len(out)):
        out[i] = a[i, 0]
        spread(out, i)
    return ()


def spread(out, i):
    out[i // 2] += 1
    return 0


def numbers_of_zip(a, out):
    for i, j in zip(range(len(out)), range(len(out) - 1, -1, -1)):  # noqa: B905
        out[j] = out[i] + a[i, 0]
    return ()


def rows_and_numbers(a, out):
    for i, row in zip(range(1, len(a)), a):  # noqa: B905
        row[0] = a[i, 1]
        a[i, 0] = row[1]
    return ()


def otherwise(a, out):
    for i in range(len(a)):
        out[i] = a[i, 0]
    else:  # noqa: PLW0120
        out[0] = 5
    return ()


DEPENDENT = {
    **dict.fromkeys([written_ahead, read_behind, broken, at_two_axes, reassigned], ()),
    **dict.fromkeys([reassigned_index, other_array, by_function, whole_array], ()),
    **dict.fromkeys([numbers_of_zip, rows_and_numbers, otherwise], ()),
    **dict.fromkeys([summed, carried, carried_sometimes], (0.0,)),
    **dict.fromkeys([left_over, left_over_after_continue, left_over_of_inner], (-1,)),
    **dict.fromkeys([counted_and_read], (0,)),
    counted_in_floats: (0.1,),
}


@pytest.mark.parametrize("function", DEPENDENT)
def test_iterations_that_need_each_other(function, runs):
    check(function, A, np.zeros(37), *DEPENDENT[function], namespace=globals())
    assert runs == [0]


def by_place(a, out, start, stop, step):
    for i in range(start, stop, step):
        out[i] = a[i, 0] + 2 * i
        a[i, 1] = out[i]
    return ()


@pytest.mark.parametrize(
    ("iterations", "parts"),
    [
        ((0, 37, 1), 3),
        ((3, 30, 4), 3),
        ((36, -1, -1), 3),
        ((30, 2, -5), 3),
        ((5, 5, 1), 0),
        ((5, 2, 1), 0),
        ((0, 2, 1), 1),
        ((-37, 37, 1), 0),
        ((-2, 20, 1), 3),  # The first iterations are those with negative numbers.
        ((20, -21, -1), 0),
        ((-1, -38, -1), 0),
        ((0, 50, 1), 3),
        ((-40, 3, 2), 0),
    ],
)
def test_ranges(iterations, parts, runs):
    """Where an element has two numbers, its iterations are in order."""
    check(by_place, A, np.zeros(37), *iterations)
    assert runs[0] == parts or iterations[0] < -37 or iterations[1] > 37


# Arrays that share memory


def test_arrays_that_share_memory(runs):
    both = RNG.random((38, 23))
    nest = check(elements, both[1:], B, both[:-1])
    check(elements, both[:37], both[1:], np.zeros((37, 23)), nest=nest)
    check(elements, both[:37], B, both[:37], nest=nest)
    check(elements, both[:37], B, both[36::-1], nest=nest)
    assert runs == [0, 3, 0, 0]


def test_an_array_that_overlaps_itself(runs):
    """A window over memory has the same elements in several rows."""
    base = RNG.random(60)
    windows = np.lib.stride_tricks.sliding_window_view(base, 23, writeable=True)[:37]
    nest = compiled(elements, A, B, windows)
    memory = np.zeros(60)
    theirs = np.lib.stride_tricks.sliding_window_view(memory.copy(), 23, writeable=True)[:37]
    ours = np.lib.stride_tricks.sliding_window_view(memory.copy(), 23, writeable=True)[:37]
    elements(A, B, theirs)
    nest(A, B, ours)
    np.testing.assert_array_equal(ours, theirs)
    assert runs == [0]


def of_a_tuple(arrays, out):
    for i in range(len(out)):
        table, other = arrays
        out[i] = table[i, 0] + other[i, 1]
    return ()


def into_a_tuple(arrays, n):
    for i in range(n):
        table, other = arrays
        table[i, 0] = other[i, 1] * 2
        n = 1
        for _ in range(int(other[i, 0])):
            n = n * 1000
        other[i, 1] = n
    return ()


def test_arrays_of_a_tuple(runs):
    table = RNG.random((37, 2))
    for out, parts in ((np.zeros(37), 3), (table[:, 0], 0)):
        arrays = table, np.roll(table, 1, 0)
        wanted = table[:, 0] + np.roll(table, 1, 0)[:, 1]
        compiled(of_a_tuple, arrays, out)(arrays, out)
        np.testing.assert_array_equal(out, wanted)
        assert runs.pop() == parts
    for large in (0.0, 9.0):
        ours, theirs = ((A.copy(), B.copy()) for _ in range(2))
        ours[1][20, 0] = theirs[1][20, 0] = large
        into_a_tuple(theirs, 37)
        compiled(into_a_tuple, ours, 37)(ours, 37)
        np.testing.assert_array_equal(ours, theirs)
    assert runs == [0, 0]
