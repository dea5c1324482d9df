"""Arguments and results of every kind, compared with plain NumPy."""

import contextlib
import dataclasses
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import torch
from comparing import assert_same, check

import npaccel
from npaccel import errors


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@dataclasses.dataclass
class State:
    x: np.ndarray
    v: np.ndarray
    k: float = 2.0


RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 4))


def add_one(x):
    return x + 1


def scaled(x, factor):
    return x * factor


class TestKinds:
    @pytest.mark.parametrize(
        "dtype",
        ["bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"],
    )
    def test_dtypes(self, dtype, backend):
        x = np.array([0, 1, 2, 3]).astype(dtype)
        check(add_one, x, backend=backend)

    @pytest.mark.parametrize(
        "x",
        [
            np.zeros((0,)),
            np.zeros((0, 3)),
            np.array(2.5),
            np.ones(1),
            X.T,
            X[:, 1:3],
            X[::2, ::3],
            X[::-1],
            X[:, ::-1],
            np.broadcast_to(np.arange(3.0), (4, 3)),
            np.asfortranarray(X),
            X.astype(">f8"),
            np.arange(4, dtype=">i4"),
        ],
        ids=lambda x: f"{x.dtype.str}{x.shape}{x.strides}",
    )
    def test_layouts(self, x, backend):
        check(add_one, x, backend=backend)

    def test_unaligned(self):
        raw = np.zeros(8 * 4 + 1, np.uint8)[1:].view(np.float64)
        raw[...] = [1, 2, 3, 4]
        assert not raw.flags.aligned
        got = npaccel.jit(add_one, backend="eager", default_float="float64")(raw)
        assert_same(got, raw + 1)

    def test_memmap(self, tmp_path, backend):
        x = np.memmap(tmp_path / "data", dtype=np.float64, mode="w+", shape=(4, 3))
        x[...] = 3

        @npaccel.jit(backend=backend)
        def double(x):
            x *= 2
            return x.sum(axis=0)

        assert_same(double(x), np.full(3, 24.0))
        assert_same(np.asarray(x), np.full((4, 3), 6.0))

    @pytest.mark.parametrize(
        "factor", [2, 2.5, True, 1j, np.float32(2.5), np.float64(2), np.int8(3)]
    )
    @pytest.mark.parametrize("dtype", ["i1", "i8", "f4", "f8"])
    def test_scalars(self, dtype, factor):
        check(scaled, np.arange(3).astype(dtype), factor)

    def test_python_scalars_are_weak(self):
        check(scaled, np.ones(3, np.float32), 0.1)

    def test_strings_and_none(self):
        def f(x, mode, weights=None):
            if weights is None:
                weights = np.ones_like(x)
            return (x * weights).sum() if mode == "sum" else (x * weights).mean()

        check(f, X, "sum")
        check(f, X, "mean")
        check(f, X, "mean", X)

    def test_containers(self, backend):
        def f(t, items, named, pair):
            out = {"sum": t[0] + t[1][0], "list": [items[0] * 2, items[1]]}
            return out, (named["a"] - pair.left, pair.right.sum()), pair

        check(
            f,
            (np.ones(3), (np.arange(3.0),)),
            [np.ones(2), 7],
            {"a": np.full(2, 3.0)},
            Pair(np.ones(2), np.arange(4)),
            backend=backend,
        )

    def test_dataclass(self, backend):
        def energy(state):
            return state.k * np.sum(state.v**2) + np.sum(state.x)

        check(energy, State(X, X + 1), backend=backend)

    def test_dataclass_is_changed_for_the_caller(self):
        def step(state, dt):
            state.x = state.x + dt * state.v
            state.v *= 0.5

        check(step, State(X.copy(), X + 1), 0.1)

    def test_list_and_dict_are_changed_for_the_caller(self):
        def f(items, named, x):
            items.append(x * 2)
            named["y"] = x + 1
            return len(items)

        check(f, [np.ones(2)], {"x": np.ones(3)}, np.arange(3.0))

    def test_none_result(self):
        def f(x):
            x += 1

        check(f, X.copy())

    def test_kwargs_defaults_varargs(self):
        def f(a, b=2.0, *rest, c=3.0, **named):
            total = a * b + c
            for r in rest:
                total = total + r
            return total + named.get("d", 0.0)

        g = npaccel.jit(f, backend="eager", default_float="float64")
        x = np.arange(3.0)
        for args, kwargs in [
            ((x,), {}),
            ((x, 5.0), {}),
            ((x,), {"b": 5.0}),
            ((), {"a": x, "c": 1.0}),
            ((x, 1.0, x, x), {"c": x}),
            ((x,), {"d": x}),
        ]:
            for _ in range(2):
                assert_same(g(*args, **kwargs), f(*args, **kwargs))

    def test_wrong_arguments(self):
        g = npaccel.jit(add_one, backend="eager")
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            g()
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            g(X, X)
        with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
            g(X, y=1)


class TestResults:
    def test_scalars_are_scalars(self, backend):
        def f(x):
            return x.sum(), np.max(x), x[0, 0], np.sqrt(x[1, 1]), x.mean(axis=0), x[0, 0] * 2

        check(f, X, backend=backend)

    def test_zero_d_arrays_stay_arrays(self, backend):
        def f(x):
            return x[..., 0], np.asarray(x), np.where(x[0] > 0, x[0], 0.0)

        check(f, np.arange(3.0), backend=backend)

    def test_argument_itself(self, backend):
        @npaccel.jit(backend=backend)
        def f(x, y):
            y += 1
            return x, y

        x, y = np.ones(3), np.ones(3)
        for _ in range(3):
            a, b = f(x, y)
            assert a is x
            assert b is y
        assert_same(y, np.full(3, 4.0))

    def test_asarray_of_an_argument_is_it(self, backend):
        f = npaccel.jit(lambda x: np.asarray(x), backend=backend)
        x = np.ones(3)
        for _ in range(3):
            assert f(x) is x

    def test_whether_arrays_are_one(self, backend):
        def f(xs, x, out=None):
            same = [one is x for one in xs], xs[0] is not xs[1]
            y = x
            y *= 2
            return same, y is x, np.add(x, 1, out=out) is out, out is None

        jitted = npaccel.jit(f, backend=backend)
        x, y = np.ones(3), np.ones(3)
        for given in (([x, y], x), ([x, x], x), ([y, y], x), ([y, x], x, y), ([x, y], y)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.PerformanceWarning)
                assert jitted(*given) == f(*given)
        assert "one object" in jitted.report().fallbacks[0].reason

    def test_arrays_that_are_written_stay_the_same_ones(self, backend):
        def f(x, y):
            z, u, s = x, x * 2, x.sum()
            v, r = u, s
            z += 1
            v *= 3
            r += 1
            new = x[...] is x, u is x, v is not u, r is s
            new += (np.add(u, 1, y) is y, np.multiply(u, 1, y) is u)
            new += tuple(np.broadcast_arrays(u, x)[i] is (u, x)[i] for i in range(2))
            new += (np.broadcast_arrays(u, x[:, None])[0] is u, np.broadcast_arrays(u)[0] is u)
            return z is x, np.add(x, 1, out=y) is y, u is v, np.asarray(x) is x, new

        check(f, np.ones(3), np.ones(3), backend=backend)

    def test_views_alias(self, backend):
        f = npaccel.jit(lambda x: (x[1:], x.T, x.reshape(-1), x + 1), backend=backend)
        x = np.arange(12.0).reshape(3, 4)
        for _ in range(3):
            part, turned, flat, new = f(x)
            for view in (part, turned, flat):
                assert np.shares_memory(view, x)
            assert not np.shares_memory(new, x)
            assert_same(part, x[1:])
            assert_same(turned, x.T)

    def test_view_of_a_written_argument(self, backend):
        @npaccel.jit(backend=backend)
        def f(x):
            x[0] = 7
            return x[:2]

        x = np.zeros(4)
        for _ in range(3):
            x[0] = 0
            view = f(x)
            assert_same(view, np.array([7.0, 0.0]))
            view[1] = 5
            assert x[1] == 5
            x[1] = 0

    def test_views_of_one_new_array(self, backend):
        @npaccel.jit(backend=backend)
        def f(x):
            y = x * 2
            return y, y[1:]

        for _ in range(3):
            y, part = f(np.ones(3))
            part[0] = 9
            assert y[1] == 9

    def test_results_are_new(self, backend):
        f = npaccel.jit(add_one, backend=backend)
        x = np.ones(3)
        first = f(x)
        second = f(x)
        assert not np.shares_memory(first, second)
        first[0] = 100
        assert_same(second, np.full(3, 2.0))

    def test_results_can_be_written(self, backend):
        f = npaccel.jit(add_one, backend=backend)
        y = f(np.ones(3))
        y += 1
        assert_same(y, np.full(3, 3.0))


class TestMutation:
    def test_in_place(self, backend):
        def stencil(a, b):
            b[1:-1, 1:-1] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
            a[1:-1, 1:-1] = 0.25 * (b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])

        check(stencil, RNG.normal(size=(8, 9)), np.zeros((8, 9)), backend=backend)

    def test_an_array_that_is_written_and_returned(self, backend):
        @npaccel.jit(backend=backend, default_float="float64")
        def f(x, y, kind):
            x += 1
            y[1:] *= 2
            if kind == "pair":
                return {"x": x, "new": x * 2, "row": (y, 3)}
            return np.asarray(x)

        for kind in ("pair", "same"):
            for start in (0, 1, 2, 3):
                x, y = np.full(3, float(start)), np.full(3, start, np.int16)
                found = f(x, y, kind)
                assert_same(x, np.full(3, start + 1.0))
                assert_same(y, np.array([start, 2 * start, 2 * start], np.int16))
                if kind == "pair":
                    assert found["x"] is x
                    assert found["row"][0] is y
                    assert_same(found["new"], x * 2)
                else:
                    assert found is x
        if backend == "inductor":
            assert all(graph.artifact for graph in f.report().graphs)

    @pytest.mark.parametrize("layout", ["reversed", "swapped", "strided", "tensor"])
    def test_layouts_that_are_written_and_returned(self, layout, backend):
        def f(x):
            x *= 2
            x -= 1
            return x

        jitted = npaccel.jit(f, backend=backend)
        for start in (0, 1, 2, 3):
            values = np.arange(start, start + 6.0)
            x = {
                "reversed": lambda v: v[::-1],
                "swapped": lambda v: v.astype(">f8"),
                "strided": lambda v: np.repeat(v, 2)[::2],
                "tensor": torch.from_numpy,
            }[layout](values)
            wanted = np.arange(start, start + 6.0)[:: -1 if layout == "reversed" else 1] * 2 - 1
            assert jitted(x) is x
            assert_same(np.asarray(x).astype("f8"), wanted)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: np.arange(6.0)[::-1],
            lambda: np.arange(12.0)[::2],
            lambda: np.arange(6.0).astype(">f8"),
            lambda: np.arange(6, dtype=np.int32),
        ],
    )
    def test_layouts_are_written_through(self, make, backend):
        def f(x):
            x[1:3] = 40
            x += 1

        wanted = make()
        f(wanted)
        jitted = npaccel.jit(f, backend=backend)
        for _ in range(3):
            x = make()
            jitted(x)
            assert_same(x, wanted)

    def test_read_only_raises_as_numpy(self, backend):
        def f(x):
            x[0] = 1

        x = np.zeros(3)
        x.flags.writeable = False
        jitted = npaccel.jit(f, backend=backend)
        for _ in range(3):
            with pytest.raises(ValueError, match="read-only"):
                jitted(x)
        assert_same(x, np.zeros(3))

    def test_read_only_arrays_are_read_without_a_warning(self, backend):
        x = np.arange(3.0)
        x.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(add_one, x, backend=backend)
        assert not x.flags.writeable

    def test_view_of_a_read_only_array_is_read_only(self):
        x = np.arange(3.0)
        x.flags.writeable = False
        f = npaccel.jit(lambda x: x[1:])
        for _ in range(3):
            assert not f(x).flags.writeable

    @pytest.mark.parametrize("first", ["same", "overlap", "apart"])
    def test_overlapping_arguments(self, first, backend):
        def f(a, b):
            a[1:] = b[:-1] * 2
            b += a

        def arguments(kind):
            base = np.arange(8.0)
            if kind == "same":
                return base, base, base
            if kind == "overlap":
                return base, base[:5], base[3:]
            return base, base[:4].copy(), base[4:].copy()

        jitted = npaccel.jit(f, backend=backend)
        for kind in [first, "apart", "same", "overlap", "apart"]:
            _, a, b = arguments(kind)
            if len(a) != len(b):
                b = b[: len(a)]
            _, wanted_a, wanted_b = arguments(kind)
            wanted_b = wanted_b[: len(wanted_a)]
            f(wanted_a, wanted_b)
            if kind == "apart":
                jitted(a, b)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
                    jitted(a, b)
            assert_same((a, b), (wanted_a, wanted_b), kind)
        assert len(jitted.report().fallbacks) <= 1  # One cause, noted once.

    def test_captured_array_is_written(self, backend):
        state = np.zeros(3)

        @npaccel.jit(backend=backend)
        def f(x):
            state[...] += x
            return state.sum()

        for i in range(1, 4):
            assert f(np.ones(3)) == 3.0 * i
        assert_same(state, np.full(3, 3.0))


class TestRefused:
    def test_static_argument_unhashable(self):
        f = npaccel.jit(lambda x, n: x + len(n), static_argnames="n", backend="eager")
        with pytest.raises(errors.StaticArgumentError, match="'n' is static"):
            f(X, [1])

    def test_static_argument(self):
        f = npaccel.jit(lambda x, n: x + n, static_argnames=("n",), backend="eager")
        for n in (1, 2, 3, 2.5):
            assert_same(f(X, n), X + n)
        assert len(f.report().graphs) == 4

    def test_mixed_devices(self):
        f = npaccel.jit(lambda x, y: x + y, backend="eager")
        with pytest.raises(errors.MixedDevicesError, match="cpu and meta"):
            f(torch.ones(2), torch.ones(2, device="meta"))

    def test_missing_device(self):
        f = npaccel.jit(add_one, device="cuda:99")
        with pytest.raises(errors.DeviceNotFoundError, match="cuda:99"):
            f(X)

    def test_sparse_tensor(self):
        with pytest.raises(errors.UnsupportedArrayError, match="to_dense"):
            npaccel.jit(add_one)(torch.eye(2).to_sparse())


@pytest.mark.parametrize("kind", ["plain", "side effects", "dynamic"])
def test_arrays_are_let_go(kind, backend):
    import gc
    import weakref

    seen = []

    def f(x):
        if kind == "side effects":
            seen.append(1)
        return x * 2

    jitted = npaccel.jit(f, backend=backend, dynamic=True if kind == "dynamic" else None)
    x = np.ones(5)
    results = [jitted(x), jitted(x)]
    watched = [weakref.ref(x), *map(weakref.ref, results)]
    del x, results
    gc.collect()
    assert [ref() for ref in watched] == [None] * 3


def looped(x):
    for _ in range(40):
        x = x * 0.5 + 1
    return x


def until_small(x):
    while np.abs(x).max() > 0.1:
        x = x * 0.5
    return x


def by_elements(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


def in_a_callee(x):
    return looped(x) + until_small(x)


def by_masks(x):
    x = x.copy()
    x[x > 0] = np.sqrt(x[x > 0])
    return np.unique(x)


def failing(x):
    y = x * 2
    if y.shape[0] == 5:
        raise ValueError("five")
    return y


def in_lists(x):
    found = []
    for part in [x, x * 2]:
        found.append(part + 1)  # noqa: PERF401  a loop is what is tried
    return {"all": found}


HELD = {
    one.__name__: one
    for one in (looped, until_small, by_elements, in_a_callee, by_masks, failing, in_lists)
}


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("options", [{"compile": "now"}, {"compile": "behind"}, {"verify": True}])
@pytest.mark.parametrize("name", HELD)
def test_no_call_keeps_its_arrays(name, options):
    """Functions that are split or fail hold none of a call's arrays, nor its results."""
    import gc
    import weakref

    jitted = npaccel.jit(HELD[name], backend="eager", **options)
    watched = []
    for _ in range(3):
        x = np.linspace(-1, 1, 5)
        watched.append(weakref.ref(x))
        with contextlib.suppress(ValueError):
            result = jitted(x)
            watched += [weakref.ref(result)] if isinstance(result, np.ndarray) else []
            del result
        npaccel.wait()
    del x
    gc.collect()
    assert not [i for i, ref in enumerate(watched) if ref() is not None]


def test_a_stretched_argument_has_the_order_of_its_flags():
    def in_any_order(x):
        return np.reshape(x, -1, order="A")

    fn = npaccel.jit(in_any_order, backend="eager")
    x = np.arange(12).reshape(3, 4)
    for each in (np.broadcast_to(x[0], (3, 4)), np.broadcast_to(x[:, :1], (3, 4)), x, x.T):
        np.testing.assert_array_equal(fn(each), in_any_order(each))
