"""Python's own loops in functions under a transform: scans where that is right."""

import dataclasses

import numpy as np
import pytest
import torch
from derivatives import central_gradient

import npaccel
from npaccel._torch.patching import is_release
from npaccel._torch.transforms import loop_regions, regions
from npaccel._torch.transforms.scans import operator

X = np.array([0.4, 1.2, -0.7])


def stepped(x):
    y, h, t = x.copy(), 0.05, 0.0
    ys = np.zeros((25, 3))
    for i in range(25):
        k1 = -y + np.sin(t)
        k2 = -(y + h / 2 * k1) + np.sin(t + h / 2)
        y = y + h * k2
        ys[i] = y
        t += h
    return np.sum(ys**2) + y[0] * t + i


def exchanged(x):
    u = np.linspace(0, 1, 10) * x[0]
    v = u.copy()
    first = u
    for _ in range(21):
        v[1:-1] = u[1:-1] + x[1] * 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return np.sum(u**2) + np.sum(v * u) + np.sum(first**3)


def unbound(x):
    for i in range(12):
        y = x * i
        z = np.sum(y**2)
    return z + y[0]


def _weighted(a, n):
    total = 0.0
    for i in range(1, n, 2):
        total = total + a[i % 3] * a
    return total


def helped(x):
    return np.sum(_weighted(x, 24) ** 2)


def over_rows(x):
    total = 0.0
    for row in np.outer(np.arange(9.0), x):
        total = np.sin(total) + row[0] * row[1]
    return total


def nested(x):
    a = np.outer(x, x)
    for i in range(8):
        for j in range(8):
            a[i % 3, j % 3] += 0.1 * np.sin(a[j % 3, i % 3])
    for i in range(7):
        r = np.zeros(3)
        for _ in range(3):
            r = r * 0.5 + a[i % 3]
        a = a + r * 0.1
    return np.sum(a)


def accumulated(x):
    y = x.copy()
    total = np.zeros(3)
    for i in range(10):
        y *= x
        total += y / (i + 1)
        if i >= 0:
            total *= 0.9
    return np.sum(total) + np.sum(y)


@dataclasses.dataclass
class Model:
    rate: float

    def run(self, x, n=9):
        for _ in range(n):
            x = x + self.rate * np.sin(x)
        return np.sum(x)


def in_a_method(x):
    return Model(0.1).run(x)


def of_rows(x):
    table, times = np.zeros((13, 3)), np.linspace(0.0, x[0], 12)
    table[0] = x
    table[1] = x**2
    for i in range(2, 12):
        table[i] = table[i - 1] + 0.1 * np.sin(table[i - 2]) * times[i] - times[i - 1]
    return np.sum(table**2 * np.arange(13.0)[:, None])


def several(x):
    rows, factors = np.outer(np.arange(9.0), x), np.arange(12.0) * x[0]
    total = 0.0
    for k, (row, factor) in enumerate(zip(rows, factors, strict=False), start=2):
        y = row * factor
        total = total + np.sum(y) * np.cos(factor) * k
    for i, v in zip(reversed(range(10)), reversed(rows[:, 1]), strict=False):
        total = total * x[2] + i * v
    for i, v in enumerate(factors):
        total += v * x[1] ** i
    return total * k + y[0] + i


def counted_by_while(x):
    i, total, fewest = 0, 0.0, 3
    while i < 9:
        j = 20
        while j >= fewest + 1:
            total = total * 0.9 + np.sin(x[j % 3] * j)
            j -= 2
        total += j
        i += 1
    return total * i * j


def short(x):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1], strict=True)):
        total += a * b * i
    i = 7
    while i < 3:
        total *= x[0]
        i += 1
    for a, b in zip([x, x * 2], {"a": x[0], "b": x[1]}.values(), strict=True):
        total += np.sum(a * b)
    for i, a in zip((0, 2), (x, x**2), strict=True):
        total += a[i]
    for i, a in enumerate((x, x**2)):
        total *= a[i]
    t = 0.0
    while t < 1.0:
        total += x[0] * t
        t += 0.25
    return total + i


SCANS = [
    *(of_rows, stepped, exchanged, unbound, helped, over_rows, nested, in_a_method),
    *(several, counted_by_while),
]
#: Numbers of scans.
COUNTS = {nested: 3, several: 3, counted_by_while: 3}


@pytest.mark.parametrize("function", SCANS)
def test_that_loops_are_scans(function, failures, backend, monkeypatch):
    counts = []
    monkeypatch.setattr(loop_regions, "cut_loop", _counted(loop_regions.cut_loop, counts))
    monkeypatch.setattr(regions, "cut_loop", loop_regions.cut_loop)
    with npaccel.options(backend=backend):
        found = npaccel.grad(function)(X)
    np.testing.assert_allclose(found, central_gradient(function, X), rtol=1e-6, atol=1e-7)
    if function is several and is_release("2.11-2.12"):
        pytest.skip("torch's power of 2.11 and 2.12 asks whether `i` is 1, so `x**i` is unrolled")
    first = "an iteration changes the shape or dtype of what the next one gets"
    assert failures == [first] * (function is helped)
    assert len(counts) == COUNTS.get(function, 1)


def test_that_few_iterations_and_those_over_other_objects_are_unrolled(failures):
    with npaccel.options(backend="eager"):
        found = npaccel.grad(short)(X)
    np.testing.assert_allclose(found, central_gradient(short, X), rtol=1e-6, atol=1e-7)
    assert failures == []


def test_that_lengths_that_differ_raise_as_they_do():
    def function(x):
        for a, b in zip(x, x[2:], strict=True):
            x = a * b * x
        return np.sum(x)

    with pytest.raises(ValueError, match="argument 2 is shorter"):
        npaccel.grad(function)(np.arange(9.0))


def _counted(function, calls):
    def call(*args):
        calls.append(args)
        return function(*args)

    return call


def broken_off(x):
    for i in range(9):
        if i == 3:
            break
        x = np.sin(x)
    return np.sum(x)


def listed(x):
    ys = []
    for _ in range(9):
        x = np.sin(x)
        ys.append(x)
    return np.sum(np.array(ys) ** 2)


def alternating(x):
    for i in range(9):
        x = np.sin(x) if i % 2 else x * 1.5
    return np.sum(x)


def aliased(x):
    a, b = x.copy(), x.copy()
    for _ in range(8):
        a[0] += b[0]
        b = a
    return np.sum(a * b)


def read_by_a_function(x):
    y = x

    def double():
        return y * 2

    for _ in range(8):
        y = double() * 0.6
    return np.sum(y)


def growing(x):
    for _ in range(7):
        x = np.concatenate([x, x[:1] ** 2])
    return np.sum(x)


@pytest.mark.parametrize(
    "function", [broken_off, listed, alternating, aliased, read_by_a_function, growing]
)
def test_that_other_loops_are_unrolled(function, failures):
    with npaccel.options(backend="eager"):
        found = npaccel.grad(function)(X)
    np.testing.assert_allclose(found, central_gradient(function, X), rtol=1e-6, atol=1e-7)
    assert bool(failures) == (function not in (broken_off, read_by_a_function))


def test_that_a_loop_that_is_too_long_says_why_it_is_unrolled():
    def long(x):
        for i in range(3000):
            if i == 2999:
                break
            x = np.sin(x)
        return np.sum(x)

    with (
        npaccel.options(backend="eager"),
        pytest.raises(npaccel.NotCompiledError, match=r"is unrolled, because it has a `break`"),
    ):
        npaccel.grad(long)(X)


_LONG = """
def long(x):
    for i in range(3000):
        x = np.sin(x)
    {more}
    return np.sum(x)
"""


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("", "the source of its function isn't in a file"),
        ("names = dir()", r"its function calls dir\(\)"),
    ],
)
def test_that_functions_that_cannot_be_rewritten_say_why(more, why, tmp_path):
    names = {"np": np}
    text, path = _LONG.format(more=more), "<string>"
    if more:
        path = str(tmp_path / "long.py")
        (tmp_path / "long.py").write_text(text)
    exec(compile(text, path, "exec"), names)
    with npaccel.options(backend="eager"), pytest.raises(npaccel.NotCompiledError, match=why):
        npaccel.grad(names["long"])(X)


def test_that_values_and_batches_are_those_of_the_loop():
    with npaccel.options(backend="eager"):
        value, gradient = npaccel.value_and_grad(stepped)(X)
        rows = npaccel.vmap(npaccel.grad(stepped))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(value, stepped(X), rtol=1e-14)
    np.testing.assert_allclose(rows[0], gradient)


def test_that_rows_are_kept_apart():
    """An array of which rows are written isn't carry: its states would be kept."""
    sizes = []

    def noted(carry, items, constants, *rest):
        sizes.extend(one.numel() for one in carry)
        return computed(carry, items, constants, *rest)

    def function(x):
        rows, y = np.zeros((50, 3)), x
        for i in range(50):
            y = np.sin(y)
            rows[i] = y
        return np.sum(rows**2)

    computed = operator._computed
    with npaccel.options(backend="eager"):
        gradient = npaccel.grad(function)
        expected = gradient(X)
        with torch.library._scoped_library("npaccel", "IMPL") as library:
            library.impl("scan", noted, "CPU")
            np.testing.assert_array_equal(gradient(X), expected)
    assert set(sizes) == {3}


def test_that_rebound_names_are_seen():
    rate = 0.1

    def run(x):
        for _ in range(8):
            x = x * rate + 1
        return np.sum(x)

    with npaccel.options(backend="eager"):
        gradient = npaccel.grad(run)
        np.testing.assert_allclose(gradient(X), [0.1**8] * 3)
        rate = 0.5
        np.testing.assert_allclose(gradient(X), [0.5**8] * 3)


def smoothed(u):
    v = u.copy()
    for _ in range(7):
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        v[1:-1, 1:-1] = inner + 0.1 * np.sin(around - 4 * inner)
        v[0] *= 0.5
        u, v = v, u
    return np.sum(u**2) + np.sum(u[3:9] * v[3:9])


def filtered(x):
    a, p = np.array([[1.0, 0.1], [0.0, 1.0]]) * x[0], np.eye(2)
    m, loss = np.zeros(2), 0.0
    for y in np.sin(np.arange(30.0)):
        m, p = a @ m, a @ p @ a.T + np.eye(2) * np.exp(x[1])
        r, s = y - m[0], p[0, 0] + np.exp(x[2])
        gain = p[:, 0] / s
        m, p = m + gain * r, p - np.outer(gain, p[0])
        loss += np.log(s) + r * r / s
    return loss


@pytest.mark.inductor
@pytest.mark.parametrize(
    ("function", "checkpoint"),
    [(smoothed, True), (filtered, False), pytest.param(nested, 3, marks=pytest.mark.sampled)],
)
def test_that_generated_loops_compute_the_same(function, checkpoint):
    """Large arrays are written in slices, and small ones in a loop of C++'s."""
    large = np.random.default_rng(0).normal(size=(72, 70))
    x = large if function is smoothed else X
    gradient = npaccel.value_and_grad(function, checkpoint=checkpoint)
    value, found = gradient(x)
    with npaccel.options(backend="eager"):
        _, expected = npaccel.value_and_grad(function)(x)
    np.testing.assert_allclose(value, function(x.copy()), rtol=1e-13)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    if function is filtered:
        assert "for buf" not in gradient.source()
        assert "for (int64_t step = 0;" in gradient.source()


def left_in_another_way(x):
    for i in range(9):
        match i % 3:
            case 2 if i > 4:
                break
        x = np.sin(x)
    for i in range(9):
        for j in range(3):
            if j > 3:
                break
            if i * j > 8:
                return np.sum(x)
        x = x * 1.1
    return x[0]


def test_that_loops_are_left_in_a_pattern_and_behind_a_break():
    with npaccel.options(backend="eager"):
        found = npaccel.grad(left_in_another_way)(X)
    wanted = central_gradient(left_in_another_way, X)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
