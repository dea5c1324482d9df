"""Where generators come from, and that their states are always NumPy's."""

import copy
import threading
import types
import warnings

import children
import numpy as np
import pytest
import torch

import npaccel
from npaccel import errors

OPTIONS = {"backend": "eager", "default_float": "float64"}
X = np.linspace(0.0, 1.0, 6)
GENERATOR = np.random.default_rng(0)


def state(generator):
    return str(generator.bit_generator.state)


def same(got, wanted):
    np.testing.assert_array_equal(got, wanted)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype


def is_one_graph(jitted, graphs=1):
    report = jitted.report()
    return not report.fallbacks and len(report.graphs) == graphs


@pytest.fixture
def global_state():
    """Give NumPy's global state back as it was."""
    before = np.random.get_state()  # noqa: NPY002 (the legacy functions are what is tested)
    yield
    np.random.set_state(before)  # noqa: NPY002


# -- where a generator comes from


def test_an_argument_may_be_another_generator_at_every_call():
    jitted = npaccel.jit(lambda a, rng: a + rng.normal(size=6), **OPTIONS)
    for seed in (1, 2, 3):
        mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        for _ in range(2):
            same(jitted(X, mine), X + theirs.normal(size=6))
        assert state(mine) == state(theirs)
    same(jitted(X, np.random.Generator(np.random.SFC64(1))),
         X + np.random.Generator(np.random.SFC64(1)).normal(size=6))  # fmt: skip
    assert is_one_graph(jitted)


def test_another_kind_of_generator_is_another_graph():
    jitted = npaccel.jit(lambda a, rng: a + rng.normal(size=6), **OPTIONS)
    for make in (np.random.default_rng, np.random.RandomState, np.random.default_rng):
        same(jitted(X, make(1)), X + make(1).normal(size=6))
    assert is_one_graph(jitted, 2)


def test_a_global_may_be_rebound(monkeypatch):
    jitted = npaccel.jit(lambda a: a + GENERATOR.random(6), **OPTIONS)
    for seed in (1, 2):
        monkeypatch.setitem(globals(), "GENERATOR", np.random.default_rng(seed))
        theirs = np.random.default_rng(seed)
        for _ in range(2):
            same(jitted(X), X + theirs.random(6))
    assert is_one_graph(jitted)


def test_a_closure_and_an_attribute_and_an_item():
    inner, holder = np.random.default_rng(1), types.SimpleNamespace(rng=np.random.default_rng(2))

    def function(a, many):
        return a + inner.random(6), holder.rng.integers(9, size=2), many[1]["r"].normal()

    copies = copy.deepcopy((inner, holder.rng))
    jitted = npaccel.jit(function, **OPTIONS)
    for _ in range(3):
        many = [1, {"r": np.random.default_rng(3)}]
        got = jitted(X, many)
        same(got[0], X + copies[0].random(6))
        same(got[1], copies[1].integers(9, size=2))
        assert got[2] == np.random.default_rng(3).normal()
    assert is_one_graph(jitted)


MADE = [
    lambda s: np.random.default_rng(s).random(3),
    lambda s: np.random.default_rng([s, 2]).random(3),
    lambda s: np.random.RandomState(s).rand(3),
    lambda s: np.random.Generator(np.random.PCG64(s)).normal(size=3),
    lambda s: np.random.default_rng(np.random.SeedSequence(s, spawn_key=(1,))).random(3),
    lambda s: np.random.default_rng(np.random.default_rng(s)).random(3),
]


@pytest.mark.parametrize("function", MADE)
def test_a_generator_that_the_function_makes(function):
    jitted = npaccel.jit(function, **OPTIONS)
    for seed in (4, 4, 5, 6):
        same(jitted(seed), function(seed))
    assert not jitted.report().fallbacks


def test_a_generator_without_a_seed_differs_from_call_to_call():
    jitted = npaccel.jit(lambda: np.random.default_rng().random(3), **OPTIONS)
    assert not np.array_equal(jitted(), jitted())


@pytest.mark.usefixtures("global_state")
def test_the_global_seed_is_set_inside():
    def function(a, seed):
        np.random.seed(seed)  # noqa: NPY002
        return a + np.random.rand(6)  # noqa: NPY002

    jitted = npaccel.jit(function, **OPTIONS)
    for seed in (1, 1, 2, 3):
        got, mine = jitted(X, seed), np.random.rand()  # noqa: NPY002
        same(got, function(X, seed))
        assert mine == np.random.rand()  # noqa: NPY002
    assert not jitted.report().fallbacks


@pytest.mark.usefixtures("global_state")
def test_a_seed_alone_and_draws_that_nobody_uses():
    def function(rng):
        np.random.seed(3)  # noqa: NPY002
        rng.random(4)

    rng = np.random.default_rng(1)
    jitted = npaccel.jit(function, **OPTIONS)
    for _ in range(2):
        assert jitted(rng) is None
        assert np.random.rand() == np.random.RandomState(3).rand()  # noqa: NPY002
    theirs = np.random.default_rng(1)
    theirs.random(8)
    assert state(rng) == state(theirs)


def test_python_code_around_the_draws_is_traced():
    def function(a, rng):
        draw = rng.normal
        total = 0.0
        for i in range(3):
            total = total + draw(i, size=a.shape)
        return a + total if isinstance(rng, np.random.Generator) else a

    jitted = npaccel.jit(function, **OPTIONS)
    same(jitted(X, np.random.default_rng(1)), function(X, np.random.default_rng(1)))
    assert is_one_graph(jitted)


# -- sizes


def test_sizes_of_arguments_are_symbolic_from_the_second_shape_on():
    def function(a, n, rng):
        return a + rng.normal(size=a.shape), rng.integers(len(a), size=(2 * a.shape[0] + n, n))

    jitted = npaccel.jit(function, **OPTIONS)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for rows, n in ((4, 3), (5, 4), (6, 5), (9, 7), (6, 4)):
        a = np.ones((rows, 3))
        got, wanted = jitted(a, n, mine), function(a, n, theirs)
        same(got[0], wanted[0])
        same(got[1], wanted[1])
    assert is_one_graph(jitted, 2)


def test_numbers_and_arrays_of_the_caller_are_parameters():
    def function(a, scale, rng):
        return rng.normal(a, scale), rng.poisson(a.shape[0] * scale, 3), rng.choice(6, 2, p=a)

    jitted = npaccel.jit(function, **OPTIONS)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    p = np.full(6, 1 / 6)
    for scale in (0.5, 1.5, 2.5, 0.125):
        for got, wanted in zip(jitted(p, scale, mine), function(p, scale, theirs), strict=True):
            same(got, wanted)
    assert state(mine) == state(theirs)
    assert is_one_graph(jitted, 2)


# -- what can't be drawn before


COMPUTED = [
    lambda a, rng: rng.normal(a * 2, 1.0),
    lambda a, rng: rng.poisson(a.sum(), 3),
    lambda a, rng: rng.random(np.count_nonzero(a > 0.3)),
    lambda a, rng: a + 1 if rng.random() < 0.5 else a - 1,
]


@pytest.mark.parametrize("function", COMPUTED)
def test_parameters_that_are_computed_break_the_graph_and_give_numpys_numbers(function):
    jitted = npaccel.jit(function, **OPTIONS)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    with pytest.warns(errors.PerformanceWarning):
        same(jitted(X, mine), function(X, theirs))
    for _ in range(3):
        same(jitted(X, mine), function(X, theirs))
    assert state(mine) == state(theirs)
    assert jitted.report().fallbacks[0].line


def test_an_array_that_was_written_to_is_no_parameter():
    def function(a, rng):
        a[0] = 3.0
        return rng.normal(a) + 1

    jitted = npaccel.jit(function, **OPTIONS)
    with pytest.warns(errors.PerformanceWarning, match="computed in the function"):
        same(jitted(X.copy(), np.random.default_rng(1)),
             function(X.copy(), np.random.default_rng(1)))  # fmt: skip


def test_strict_names_the_line():
    jitted = npaccel.jit(COMPUTED[0], strict=True, **OPTIONS)
    with pytest.raises(errors.NotCompiledError, match="draw standard numbers and scale them"):
        jitted(X, np.random.default_rng(0))


def test_a_function_in_pieces_draws_between_them():
    def function(a, rng):
        b = a + rng.normal(size=6)
        c = np.real_if_close(b)
        return c * 2 + rng.normal(size=6)

    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    jitted = npaccel.jit(function, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        same(jitted(X, mine), function(X, theirs))
    assert state(mine) == state(theirs)
    causes = [fallback.reason for fallback in jitted.report().fallbacks]
    assert any("compiled in subgraphs" in cause for cause in causes)


# -- states after errors


def test_a_graph_that_raises_leaves_the_state_that_numpy_leaves(backend):
    def function(a, rng):
        first = rng.random(2)
        found = np.linalg.inv(a)
        return found, first, rng.random(3)

    jitted = npaccel.jit(function, **{**OPTIONS, "backend": backend})
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for a in (np.zeros((2, 2)), np.eye(2), np.zeros((2, 2)), np.eye(2)):
        for call, rng in ((jitted, mine), (function, theirs)):
            if a.any():
                call(a, rng)
            else:
                with pytest.raises(np.linalg.LinAlgError):
                    call(a, rng)
        assert state(mine) == state(theirs)


def test_a_draw_that_raises_leaves_what_numpy_leaves():
    def function(a, lam, rng):
        a += rng.random(6)
        return rng.poisson(lam, size=3) + rng.random(3)

    jitted = npaccel.jit(function, **OPTIONS)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for lam in (1.0, 2.0, 3.0, -1.0, 2.5):
        got, wanted = X.copy(), X.copy()
        for call, a, rng in ((jitted, got, mine), (function, wanted, theirs)):
            if lam > 0:
                call(a, lam, rng)
            else:
                with pytest.raises(ValueError, match="lam"):
                    call(a, lam, rng)
        same(got, wanted)
        assert state(mine) == state(theirs)


def test_overlapping_arguments_draw_once():
    def function(a, b, rng):
        a[:] = b + rng.random(5)

    jitted = npaccel.jit(function, **OPTIONS)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for overlap in (False, True, False):
        got, wanted = np.arange(6.0), np.arange(6.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            jitted(got[:5], got[1:] if overlap else np.arange(5.0), mine)
        function(wanted[:5], wanted[1:] if overlap else np.arange(5.0), theirs)
        same(got, wanted)
        assert state(mine) == state(theirs)


# -- ways of running


def test_drawn_arrays_are_the_callers_own(backend):
    def function(rng, n):
        x = rng.random(n)
        x[0] = 5.0
        y = rng.random(n)
        return x, y, y[1:]

    jitted = npaccel.jit(function, **{**OPTIONS, "backend": backend})
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        got, wanted = jitted(mine, 4), function(theirs, 4)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        got[1][1] = 9.0
        assert got[2][0] == 9.0


@pytest.mark.usefixtures("global_state")
def test_compiled_code_gives_the_same_numbers(backend):
    def function(a, rng):
        b = np.sort(rng.choice(a, 4)) + rng.random() * np.random.normal(size=4)  # noqa: NPY002
        rng.shuffle(a)
        return b, rng.permutation(a)[:3], np.full(2, rng.random()), rng.integers(9)

    jitted = npaccel.jit(function, **{**OPTIONS, "backend": backend})
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for n in (6, 6, 7, 8):
        results = []
        for call, rng in ((jitted, mine), (function, theirs)):
            np.random.seed(n)  # noqa: NPY002
            a = np.arange(float(n))
            results.append((*call(a, rng), a))
        for one, other in zip(*results, strict=True):
            same(one, other)
        assert state(mine) == state(theirs)


def test_tensors_get_draws_and_gradients():
    def function(x, rng):
        return (x * rng.normal(size=3)).sum()

    jitted = npaccel.jit(function, backend="aot_eager")
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    for seed in (1, 2):
        x.grad = None
        jitted(x, np.random.default_rng(seed)).backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.random.default_rng(seed).normal(size=3))


def test_threads_share_a_generator():
    jitted = npaccel.jit(lambda rng: rng.random(50) + 0, **OPTIONS)
    rng = np.random.default_rng(1)
    jitted(rng)
    found = []

    def work():
        found.extend(jitted(rng) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    theirs = np.random.default_rng(1)
    theirs.random(50)
    wanted = {theirs.random(50).tobytes() for _ in range(200)}
    assert {array.tobytes() for array in found} == wanted


CHILD = """
import npaccel
@npaccel.jit
def function(a, rng):
    rng.shuffle(a)
    a *= OFFSET / OFFSET
    return a + rng.normal(size=a.shape) + np.random.rand(4) + np.random.default_rng(3).random(4)
a, rng = np.arange(4.0), np.random.default_rng(int(sys.argv[1]))
np.random.seed(5)
first = function(a, rng)
if sys.argv[2] == "fork":
    child = os.fork()
    second = function(a, rng)
    if not child:
        answer(second=second.tolist(), loaded=0, inductor=False)
        os._exit(0)
    os.waitpid(child, 0)
report = function.report()
answer(a=a.tolist(), first=first.tolist(), loaded=[g.loaded for g in report.graphs],
       inductor="torch._inductor" in sys.modules, fallbacks=[str(f) for f in report.fallbacks],
       second=second.tolist() if sys.argv[2] == "fork" else None)
"""


@pytest.mark.inductor
def test_another_process_loads_it_and_draws_numpys_numbers():
    source = CHILD.replace("OFFSET", repr(np.random.default_rng().random()))
    for seed, loaded, run in ((1, False, children.run_prepared), (2, True, children.run)):
        found = run(source, seed, "", OMP_NUM_THREADS="2")
        rng, legacy, a = np.random.default_rng(seed), np.random.RandomState(5), np.arange(4.0)
        rng.shuffle(a)
        wanted = a + rng.normal(size=4) + legacy.rand(4) + np.random.default_rng(3).random(4)
        assert found["fallbacks"] == []
        assert found["a"] == a.tolist()
        np.testing.assert_allclose(found["first"], wanted, rtol=1e-15)
        assert found["loaded"] == [loaded]
        assert found["inductor"] is not loaded
    both = children.answers_of_prepared(source, 2, "fork")
    assert both[0]["second"] == both[1]["second"] != both[1]["first"]
