"""The decorator: what it takes, what it keeps, and its options."""

import copy
import functools
import inspect
import pickle
import typing

import children
import numpy as np
import pytest
from comparing import assert_same
from scipy.integrate import solve_ivp

import npaccel
from npaccel import errors

X = np.arange(4.0)


def double(x, *, k=2.0):
    """Return k times x."""
    return x * k


class Model:
    w = 3.0

    @npaccel.jit(backend="eager")
    def method(self, x):
        return x * self.w

    @staticmethod
    @npaccel.jit(backend="eager")
    def static(x):
        return x + 1

    @classmethod
    @npaccel.jit(backend="eager")
    def of_class(cls, x):
        return x * cls.w

    def __call__(self, x):
        return x - self.w


@pytest.mark.parametrize(
    "make",
    [
        lambda: npaccel.jit(double, backend="eager"),
        lambda: npaccel.jit(backend="eager")(double),
        lambda: npaccel.jit(lambda x: x * 2, backend="eager"),
        lambda: npaccel.jit(functools.partial(double, k=2.0), backend="eager"),
        lambda: npaccel.jit(npaccel.jit(double), backend="eager"),
    ],
)
def test_forms(make):
    jitted = make()
    for _ in range(2):
        assert_same(jitted(X), X * 2)


def test_methods():
    model = Model()
    for _ in range(2):
        assert_same(model.method(X), X * 3)
        assert_same(Model.method(model, X), X * 3)
        assert_same(model.static(X), X + 1)
        assert_same(Model.of_class(X), X * 3)
        assert_same(npaccel.jit(model, backend="eager")(X), X - 3)


def test_ufunc_and_builtin_callables():
    for _ in range(2):
        assert_same(npaccel.jit(np.square, backend="eager")(X), X**2)


def test_metadata_is_kept():
    jitted = npaccel.jit(double)
    assert jitted.__wrapped__ is double
    assert jitted.__name__ == "double"
    assert jitted.__qualname__ == "double"
    assert jitted.__doc__ == double.__doc__
    assert jitted.__module__ == __name__
    import inspect

    assert inspect.signature(jitted) == inspect.signature(double)
    assert repr(jitted) == "<npaccel.jit of double>"


@pytest.mark.parametrize("wrong", [3, "f", None.__class__, Model])
def test_not_a_function(wrong):
    with pytest.raises(TypeError, match="not a function"):
        npaccel.jit(wrong)


class TestOptions:
    def test_unknown(self):
        with pytest.raises(TypeError, match="no option 'parallel'; the options are device"):
            npaccel.jit(double, parallel=True)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("default_float", "float16"),
            ("device", "gpu"),
            ("device", 0),
            ("backend", "llvm"),
            ("dynamic", "yes"),
            ("strict", None),
        ],
    )
    def test_wrong_value(self, name, value):
        with pytest.raises(errors.OptionError, match=name):
            npaccel.jit(double, **{name: value})

    def test_static_argnames_unknown(self):
        with pytest.raises(TypeError, match="'n', which isn't a parameter of double"):
            npaccel.jit(double, static_argnames="n")

    def test_precedence(self):
        def half(n):
            return n / 2

        n = np.arange(3)
        plain = npaccel.jit(half, backend="eager")
        own = npaccel.jit(half, backend="eager", default_float="float32")
        try:
            npaccel.config.default_float = "float64"
            assert plain(n).dtype == np.float64
            assert own(n).dtype == np.float32
            with npaccel.options(default_float="float32"):
                assert plain(n).dtype == np.float32
                assert npaccel.config.default_float == "float32"
            assert plain(n).dtype == np.float64
        finally:
            npaccel.config.reset()
        assert plain(n).dtype == np.float32
        with pytest.raises(AttributeError, match="no option 'speed'"):
            _ = npaccel.config.speed
        with pytest.raises(TypeError, match="no option 'speed'"):
            npaccel.config.speed = 1

    def test_disabled(self):
        seen = []

        def f(x):
            seen.append(type(x))
            return x / 2

        jitted = npaccel.jit(f, backend="eager")
        with npaccel.disabled():
            assert jitted(np.arange(3)).dtype == np.float64
            assert not jitted.report().graphs
        assert seen == [np.ndarray]
        assert jitted(np.arange(3)).dtype == np.float32

    def test_disabled_by_environment(self):
        code = """
            import npaccel
            answer(dtype=str(npaccel.jit(lambda n: n / 2)(np.arange(3)).dtype))
        """
        assert children.run_prepared(code, NPACCEL_DISABLE="1") == {"dtype": "float64"}


class TestReport:
    def test_report_and_source(self):
        jitted = npaccel.jit(double)
        assert "0 graphs" in str(jitted.report())
        assert jitted.source() == ""
        jitted(X)
        report = jitted.report()
        assert report.name == "double"
        assert report.graphs[0].signature.startswith("x: float64[4]")
        assert report.compile_seconds > 0 or report.graphs[0].loaded
        assert "cpp_fused" in jitted.source()
        assert "x: float64[4]" in str(report)
        jitted(X.astype(np.float32))
        report = jitted.report()
        assert len(report.graphs) == 2
        assert report.graphs[1].reason == "x has another dtype, layout or structure"
        assert report.to_dict()["graphs"][1]["reason"] == report.graphs[1].reason

    def test_recompilation_names_what_changed(self):
        k = 1.0

        def f(x):
            return x * k

        jitted = npaccel.jit(f, backend="eager")
        jitted(X)
        k = 2.0
        jitted(X)
        assert "k" in jitted.report().recompilations[0].reason


def test_no_compiler(tmp_path):
    code = """
    import numpy as np, npaccel
    try:
        npaccel.jit(lambda x: np.sin(x) + 1)(np.ones(3))
    except npaccel.errors.CompilerNotFoundError as error:
        refused = str(error)
    found = npaccel.jit(lambda x: np.sin(x) + 1, backend="aot_eager")(np.zeros(3))
    answer(refused=refused, found=found.tolist())
    """
    nowhere = {"CXX": "/nowhere/g++", "PATH": "/nowhere", "NPACCEL_CACHE_DIR": str(tmp_path / "c")}
    found = children.run_prepared(code, **nowhere)
    assert found["refused"].startswith("jit: there is no working C++ compiler")
    assert found["found"] == [1.0, 1.0, 1.0]


def test_unsupported_torch():
    from npaccel._torch import check_supported

    for version in ("2.11.0", "2.12.1+cpu", "2.15.0a0"):
        check_supported(version)
    for version in ("2.10.0", "2.16.0", "3.0", "unknown"):
        with pytest.raises(errors.UnsupportedTorchError, match=r"torch>=2\.11,<2\.16"):
            check_supported(version)


def test_a_torch_that_is_tried_untested(monkeypatch):
    from npaccel._torch import check_supported

    with pytest.raises(errors.UnsupportedTorchError, match="NPACCEL_UNTESTED_TORCH=1"):
        check_supported("2.16.0")
    monkeypatch.setenv("NPACCEL_UNTESTED_TORCH", "1")
    with pytest.warns(errors.UntestedTorchWarning, match=r"untested on torch 2\.16\.0"):
        check_supported("2.16.0")
    for version in ("2.10.0", "unknown"):  # Older ones lack what is needed.
        with pytest.raises(errors.UnsupportedTorchError, match=r"torch>=2\.11,<2\.16"):
            check_supported(version)


def test_an_argument_that_came_twice_is_told_apart_later(backend):
    jitted = npaccel.jit(lambda a, b: (a, b + a), backend=backend)
    x, y = np.zeros(2), np.ones(2)
    assert jitted(x, x)[0] is x
    for one, other in ((x, y), (y, x), (x, x)):
        first, total = jitted(one, other)
        assert first is one
        np.testing.assert_array_equal(total, one + other)


@pytest.mark.parametrize("name", ["array", "list"])
def test_what_comes_twice_in_a_result_is_one_object_in_every_call(backend, name):
    def function(x):
        y = x + 1
        parts = {"array": y, "list": [y]}
        return parts[name], [parts[name]], x.sum()

    jitted = npaccel.jit(function, backend=backend)
    for _ in range(3):
        found, (again,), total = jitted(np.arange(4.0))
        assert again is found
        np.testing.assert_array_equal(np.ravel(found), np.ravel(function(np.arange(4.0))[0]))
        assert total == 6


def marked(t, y: float):
    return y[0] - 0.5


def test_attributes_are_those_of_the_function():
    marked.terminal = True
    jitted = npaccel.jit(marked, backend="eager")
    again = npaccel.jit(jitted, backend="eager")
    jitted.direction, again.kind = -1, "event"
    marked.scale, marked._log, marked.report = 2.0, "mine", "theirs"
    try:
        for one in (jitted, again, pickle.loads(pickle.dumps(jitted)), copy.deepcopy(jitted)):
            assert vars(one) is vars(marked)
            assert (one.terminal, one.direction, one.kind, one.scale) == (True, -1, "event", 2.0)
            assert one._log == "mine"
            assert one(0.0, X + 1) == marked(0.0, X + 1)
            assert "1 graph" in str(one.report())
        with pytest.raises(AttributeError, match="'source' is a method"):
            jitted.source = "mine"
        del again.kind
        assert not hasattr(marked, "kind")
    finally:
        vars(marked).clear()


def test_attributes_that_functions_have_from_the_start():
    def plain(x: int): ...

    jitted = npaccel.jit(plain)
    kind = npaccel.Jitted
    assert jitted.__doc__ is None
    assert kind.__doc__.startswith("A compiled function")
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        own = getattr(kind, name)
        assert getattr(jitted, name) == getattr(plain, name)
        setattr(jitted, name, "new")
        assert getattr(plain, name) == "new"
        assert getattr(kind, name) == own
    assert jitted.__annotations__ is plain.__annotations__
    assert not typing.get_type_hints(kind)
    assert inspect.unwrap(jitted) is plain
    assert not vars(plain)
    assert not hasattr(jitted, "missing")


def test_attributes_of_what_is_no_function():
    class Line:
        def __init__(self):
            self.slope = 2.0

        def __call__(self, x):
            return x * self.slope

    line = Line()
    jitted = npaccel.jit(line, backend="eager")
    jitted.slope = 3.0
    assert_same(jitted(X), X * 3)
    line.slope = 4.0
    assert_same(jitted(X), X * jitted.slope)
    partial = functools.partial(double, k=3.0)
    npaccel.jit(partial).kind = "partial"
    assert partial.kind == "partial"
    assert not hasattr(npaccel.jit(np.sin), "kind")


def test_events_of_solve_ivp_that_end_it():
    def falls(t, y):
        return np.array([y[1], -9.81])

    def hits(t, y):
        return y[0]

    jitted = npaccel.jit(hits, backend="eager", default_float="float64")
    jitted.terminal = True
    right = npaccel.jit(falls, backend="eager", default_float="float64")
    found = solve_ivp(right, (0, 100), [10.0, 0.0], events=jitted)
    wanted = solve_ivp(falls, (0, 100), [10.0, 0.0], events=hits)
    assert found.status == wanted.status == 1
    assert_same(found.t_events, wanted.t_events)
