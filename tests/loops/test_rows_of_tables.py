"""Programs that go over the rows of tables: points, particles, polygons."""

import copy

import numpy as np
import pytest
from test_slices import check

import npaccel

pytest.importorskip("numba")
random = np.random.default_rng(0)
PLANE, SPACE, MASSES = random.random((30, 2)), random.random((12, 3)), random.random(12)


def pairs(points):
    total = 0.0
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            d = points[i] - points[j]
            total += 1 / np.sqrt(d[0] ** 2 + d[1] ** 2)
    return total


def energy(positions, masses):
    total = 0.0
    for i in range(len(masses)):
        for j in range(i + 1, len(masses)):
            d = positions[i] - positions[j]
            total -= masses[i] * masses[j] / np.sqrt((d**2).sum() + 1e-6)
    return total


def forces(positions, masses):
    found = np.zeros_like(positions)
    for i in range(len(positions)):
        for j in range(len(positions)):
            if i != j:
                r = positions[j] - positions[i]
                found[i] += masses[j] * r / np.linalg.norm(r) ** 3
    return found


def forces_by_name(positions, masses):
    n = len(positions)
    found = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            dx, dy, dz = positions[j] - positions[i]
            r3 = (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
            found[i, 0] += masses[j] * dx / r3
            found[i, 1] += masses[j] * dy / r3
            found[i, 2] += masses[j] * dz / r3
    return found


def nearest(points, centres):
    labels = np.zeros(len(points), dtype=int)
    for i, p in enumerate(points):
        best = np.inf
        for k, c in enumerate(centres):
            distance = np.sum((p - c) ** 2)
            if distance < best:
                best = distance
                labels[i] = k
    return labels


def close(points, limit):
    count = 0
    for p in points:
        for q in points:
            if abs(p[0] - q[0]) + abs(p[1] - q[1]) < limit:
                count += 1
    return count


def inside(points, polygon):
    found = np.zeros(len(points), bool)
    for k, (x, y) in enumerate(points, 1):
        odd = False
        for i in range(len(polygon)):
            x1, y1 = polygon[i]
            x2, y2 = polygon[i - 1]
            if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
                odd = not odd
        found[k - 1] = odd
    return found


def weighted(table, weights):
    found = np.zeros(len(table))
    for i, (row, weight) in enumerate(zip(table, weights)):  # noqa: B905
        found[i] = weight * np.sqrt(np.sum(row * row)) + row[0]
    return found


def swapped(table):
    """Names that are read for the elements of the next row."""
    x, y = 1.0, 2.0
    for i in range(len(table)):
        y, x = table[i] * x - y
    return x, y


def turned(table):
    """Rows that are written while they are unpacked."""
    for i in range(len(table)):
        table[i, 0], table[i, 1] = table[i, 1], -table[i, 0]
        x, y = table[i]
        table[i] = y - x
    return table


def last(points):
    for x, y in points:
        total = x + y
    return total, x, y


PROGRAMS = [
    (pairs, PLANE), (energy, SPACE, MASSES), (forces, SPACE, MASSES),
    (forces_by_name, SPACE, MASSES), (nearest, SPACE, SPACE[:4] + 0.1), (close, PLANE, 0.4),
    (inside, PLANE, random.random((7, 2))), (weighted, SPACE, MASSES), (swapped, PLANE),
    (turned, PLANE), (last, PLANE),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), [(f, args) for f, *args in PROGRAMS])
def test_programs_over_rows_are_numbas(function, arguments):
    jitted = check(function, *copy.deepcopy(arguments))
    assert {loop.engine for loop in jitted.report().loops} == {"Numba"}


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[::-1], lambda a: np.asfortranarray(a), lambda a: a[:, ::-1],
        lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[:1], lambda a: a[:0],
        lambda a: np.where(a > 0.9, np.nan, a), lambda a: np.where(a > 0.9, np.inf, a),
        lambda a: (a * 9).astype(int),
        lambda a: np.broadcast_to(a[0], a.shape),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("function", "arguments"), [(f, args) for f, *args in PROGRAMS])
def test_rows_of_all_kinds(function, arguments, change):
    table = change(arguments[0])
    others = [one[: len(table)] if one is MASSES else one for one in arguments[1:]]
    if function is turned and not table.flags.writeable:
        pytest.skip("it writes to the table")
    check(function, table, *others, engine=None)


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("function", [inside, last, swapped, forces_by_name])
def test_rows_of_another_length_raise_as_in_numpy(function, columns):
    """Also where a call with another number of columns has been compiled."""
    jitted = npaccel.jit(function, default_float="float64", backend="eager")
    others = {inside: (np.ones((3, 2)),), forces_by_name: (MASSES,)}.get(function, ())
    for width in (3 if function is forces_by_name else 2, columns):
        table = random.random((5, width))
        wanted, error = _outcome(function, table, *others)
        found, raised = _outcome(jitted, table, *others)
        assert repr(raised) == repr(error)
        if error is None:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def _outcome(function, *arguments):
    try:
        return function(*arguments), None
    except ValueError as error:
        return None, error
