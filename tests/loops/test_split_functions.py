"""Functions that loop: those that they call, errors, options, and what isn't split."""

import math
import pickle
import threading
import warnings

import numpy as np
import pytest
from comparing import assert_same
from split_checking import X, check, continuing, loops_of, over_range, over_rows

import npaccel
from npaccel.errors import NotCompiledError, PerformanceWarning

pytestmark = pytest.mark.sampled


# -- Functions that are called


def relaxed(p, b, iterations):
    for _ in range(iterations):
        old = p.copy()
        p[1:-1] = (old[2:] + old[:-2] - b[1:-1]) / 2
    return p


def nested(u, p, n):
    for _ in range(n):
        b = u * u
        p = relaxed(p, b, 3)
        u = u - 0.1 * p + relaxed(p * 1.0, b + 1, 2)
    return u, p


def test_a_loop_in_a_helper_is_split_too():
    jitted = check(nested, np.arange(6.0), np.ones(6), 3)
    assert loops_of(jitted) == ["for _ in range(iterations):", "for _ in range(n):"]


def test_a_helper_that_is_rebound(monkeypatch):
    jitted = npaccel.jit(nested, backend="eager", loops="compile", default_float="float64")
    jitted(np.arange(6.0), np.ones(6), 2)

    def other(p, b, iterations):
        for _ in range(iterations):
            p = p - b
        return p

    monkeypatch.setitem(globals(), "relaxed", other)
    assert_same(jitted(np.arange(6.0), np.ones(6), 2), nested(np.arange(6.0), np.ones(6), 2))


class Model:
    def __init__(self):
        self.rate = 0.5
        self.steps = 0

    def advance(self, a, n):
        for _ in range(n):
            a = self.iteration(a)
            self.steps += 1
        return a

    def iteration(self, a):
        for _ in range(20):
            a = a - self.rate * a / 20
        return a

    fast = npaccel.jit(advance, backend="eager", loops="compile", default_float="float64")


def test_methods():
    one, other = Model(), Model()
    assert_same(one.fast(X, 3), other.advance(X, 3))
    one.rate = other.rate = 0.25
    assert_same(one.fast(X, 2), other.advance(X, 2))
    assert one.steps == other.steps == 5


# -- Errors


def failing(a, n):
    done = 0
    for i in range(n):
        a[i] = 1.0
        done = i + 1
        if i == 2:
            raise KeyError(done)
    return a


def out_of_bounds(a, n):
    for i in range(n):
        a[i] = np.sum(a)
    return a


def handled(a, n):
    state = "none"
    for i in range(n):
        try:
            state = f"iteration {i}"
            a = a + 1
            if i == 1:
                a = np.linalg.cholesky(-np.eye(3)) + a
        except np.linalg.LinAlgError:
            return state, a
        finally:
            a = a * 2
    return state, a


def test_errors():
    ours, theirs = np.zeros(5), np.zeros(5)
    with pytest.raises(KeyError, match="3"):
        npaccel.jit(failing, backend="eager", loops="compile")(ours, 5)
    with pytest.raises(KeyError, match="3"):
        failing(theirs, 5)
    assert_same(ours, theirs)
    with pytest.raises(IndexError) as caught:
        npaccel.jit(out_of_bounds, backend="eager", loops="compile")(np.ones(3), 5)
    lines = [entry for entry in caught.traceback if str(entry.path) == __file__]
    assert "a[i] = np.sum(a)" in str(lines[-1].statement)
    check(handled, X, 1)
    check(handled, X, 4)


# -- What stays as it is


def small_and_constant(a):
    for axis in range(2):
        a = a - a.mean(axis=axis, keepdims=True)
    for power in (1, 2, 3):
        a = a + a**power
    return a


def about_numbers(a, n):
    factor = 1
    for i in range(1, n):
        factor *= i
    return a * factor, math.sqrt(factor)


def test_small_loops_are_unrolled():
    jitted = check(small_and_constant, X)
    assert not jitted.report().loops
    assert len(jitted.report().graphs) == 1


def test_loops_about_numbers_are_pythons():
    check(about_numbers, X, 6)


def generating(a):
    yield from (row * 2 for row in a)


def hidden(a, n):
    for _ in range(n):
        a = a + len(locals())
    return a


def test_what_cannot_be_split_says_so():
    jitted = npaccel.jit(hidden, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(jitted(X, 3), hidden(X, 3))
    assert any("locals()" in note for note in jitted.report().notes)


def made_by_exec():
    names = {"np": np}
    exec("def f(a, n):\n    for i in range(n):\n        a = np.sin(a) + i\n    return a", names)
    return names["f"]


def test_without_source():
    function = made_by_exec()
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    assert_same(jitted(X, 3), function(X, 3))
    assert any("source" in note for note in jitted.report().notes)


# -- Loops over single elements


def recurrence(a, b):
    total = 0.0
    for i in range(1, len(a)):
        a[i] = 0.5 * a[i - 1] + b[i]
        if a[i] > 1:
            continue
        total += a[i]
    return total, i


def two_nests(a, b):
    c = np.cos(a)
    for i in range(len(a)):
        for j in range(i):
            c[i] += b[j]
    s = c.sum()
    for x in b:
        s += x * 2
    return c, s


@pytest.mark.parametrize("function", [recurrence, two_nests])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_single_elements_go_to_numba(function, dtype):
    pytest.importorskip("numba")
    arrays = np.arange(9, dtype=dtype), np.linspace(-3, 3, 9).astype(dtype)
    jitted = check(function, *arrays, loops="auto")
    assert {loop.engine for loop in jitted.report().loops} == {"Numba"}
    check(function, *arrays, loops="compile")


def test_single_elements_without_numba(monkeypatch):
    from npaccel._loops.nests import numba_backend

    def missing(*args, **options):
        raise numba_backend.NotInstalledError("no Numba")

    monkeypatch.setattr(numba_backend, "compile_nest", missing)
    jitted = npaccel.jit(recurrence, backend="eager", default_float="float64")
    ours, theirs = np.arange(5.0), np.arange(5.0)
    with pytest.warns(PerformanceWarning, match="install Numba"):
        result = jitted(ours, np.ones(5))
    assert_same(result, recurrence(theirs, np.ones(5)))
    assert_same(ours, theirs)
    strict = npaccel.jit(recurrence, backend="eager", strict=True)
    with pytest.raises(NotCompiledError, match="Numba"):
        strict(np.arange(5.0), np.ones(5))


# -- Options


@pytest.mark.parametrize("loops", ["auto", "compile", "unroll", "python"])
def test_the_option(loops):
    jitted = check(over_range, X, 0, 4, 1, loops=loops)
    engines = {loop.engine for loop in jitted.report().loops}
    expected = {"unroll": set(), "python": {"Python"}}.get(loops, {"compiled body"})
    assert engines == expected


def test_static_arguments_and_defaults():
    def power(a, n, order=2, *, shift=0.0):
        for _ in range(n):
            a = np.abs(a) ** (1 / order) + shift
        return a

    jitted = npaccel.jit(power, backend="eager", static_argnames="order", default_float="float64")
    assert_same(jitted(X, 3), power(X, 3))
    assert_same(jitted(X, 3, 4, shift=1.0), power(X, 3, 4, shift=1.0))
    with pytest.raises(TypeError, match="unexpected|got an"):
        jitted(X, 3, shifted=1)


def test_strict_refuses_what_is_uncompiled_in_a_loop():
    def opaque(a, n):
        for _ in range(n):
            a = np.frombuffer(a.tobytes())
        return a

    with pytest.raises(NotCompiledError):
        npaccel.jit(opaque, backend="eager", strict=True)(X.ravel(), 2)


def test_default_float_in_loops():
    def invented(n):
        total = np.zeros(3)
        for i in range(n):
            total = total + np.ones(3) * i
        return total

    narrow = npaccel.jit(invented, backend="eager")
    assert narrow(3).dtype == np.float32
    check(invented, 3)


def test_threads():
    jitted = npaccel.jit(continuing, backend="eager", default_float="float64")
    results = [None] * 4

    def work(i):
        results[i] = jitted(X + i, 6)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(results):
        assert_same(result, continuing(X + i, 6))


jitted_rows = npaccel.jit(over_rows, backend="eager", default_float="float64")


def test_pickled():
    jitted_rows(X)
    again = pickle.loads(pickle.dumps(jitted_rows))
    assert_same(again(X), over_rows(X))


def test_tensors():
    import torch

    jitted = npaccel.jit(over_range, backend="eager", default_float="float64")
    result = jitted(torch.from_numpy(X), 0, 4, 1)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_allclose(result.numpy(), over_range(X, 0, 4, 1))


def settling(x, n):
    for _ in range(n):
        x = np.tanh(x) * 0.5 + np.sum(x)
    return x


@pytest.mark.inductor
def test_loops_over_tensors_stay_compiled():
    import torch

    jitted = npaccel.jit(settling, cache=False)
    x = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64, requires_grad=True)
    result = jitted(x, 12)  # Long enough to time bodies, were they arrays.
    np.testing.assert_allclose(result.detach(), settling(x.detach().numpy(), 12))
    result.sum().backward()
    step = 1e-7 * np.array([1.0, 0.0, 0.0])
    rise = settling(x.detach().numpy() + step, 12) - settling(x.detach().numpy() - step, 12)
    np.testing.assert_allclose(x.grad[0], rise.sum() / 2e-7, rtol=1e-5)


def test_an_array_of_indices_that_a_loop_fills(backend):
    def f(a):
        places = []
        for row in a:
            places.append((row > 0).sum())  # noqa: PERF401 (the loop is what is tested)
        places = np.array(places)
        return a[places], a.sum()

    jitted = npaccel.jit(f, backend=backend, dynamic=True)
    for n in (3, 4):
        a = np.arange(n * 2.0).reshape(n, 2) - 3
        assert_same(jitted(a), f(a))


@pytest.mark.parametrize("lines", [4, 10, 13, 16, 40, 80])
def test_loops_with_long_bodies_are_split(tmp_path, lines):
    """How long a jump is depends on how calls are made: that is no difference of the source."""
    line = "        x = 0.5 * np.sin(x) + 0.25 * np.cos(np.abs(x) + {})"
    body = "\n".join(map(line.format, range(lines)))
    text = f"import numpy as np\n\ndef f(x, n):\n    for _ in range(n):\n{body}\n    return x\n"
    file = tmp_path / "long_body.py"
    file.write_text(text, encoding="utf-8")
    namespace = {"__name__": "long_body"}
    exec(compile(text, str(file), "exec"), namespace)
    jitted = check(namespace["f"], np.linspace(0, 1, 5), 6)
    assert jitted.report().loops, str(jitted.report())


def test_methods_stay_with_their_arrays():
    """`sums.astype` isn't taken out of the compiled line alone: it's a tensor's there."""

    def converts(rows, other):
        sums = []
        for row in rows:
            sums.append(row.sum())  # noqa: PERF401 (as users write it)
        sums = np.array(sums)
        rows **= 2
        return sums.astype(np.result_type(sums, other)) + other

    jitted = check(converts, X.astype("f"), np.ones(3, "i1"))
    rng = np.random.default_rng(0)
    for shape in ((4, 9), (5, 6), (4, 9)):
        rows, other = rng.normal(size=shape).astype("f"), np.ones(shape[0], "i1")
        assert_same((jitted(rows.copy(), other),), (converts(rows.copy(), other),))
