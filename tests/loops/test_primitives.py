"""`fori_loop`, `while_loop`, `scan` and `cond`: as their definition in Python, jitted or not."""

import copy
import functools
import typing
import warnings

import children
import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel.errors import NotCompiledError, PerformanceWarning

X = np.linspace(-1.0, 2.0, 6)


class State(typing.NamedTuple):
    a: object
    n: object


def check(function, *arguments, compiled=True, **options):
    """Compare two jitted calls with the plain function; return the jitted one."""
    jitted = npaccel.jit(
        function, **{"backend": "eager", "default_float": "float64", "loops": "compile", **options}
    )
    for _ in range(2):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        wanted = function(*theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("error" if compiled else "ignore", PerformanceWarning)
            assert_same(jitted(*ours), wanted)
        assert_same(ours, theirs)
    return jitted


def plainly_fori(lower, upper, body_fun, value):
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def plainly_scan(f, carry, xs, reverse=False):
    ys = []
    for x in xs[::-1] if reverse else xs:
        carry, y = f(carry, x)
        ys.append(copy.deepcopy(y))
    return carry, ys[::-1] if reverse else ys


# -- Without jit: the definition in Python


@pytest.mark.parametrize("bounds", [(0, 5), (3, 3), (4, 2), (-2, 2), (np.int64(0), np.array(3))])
def test_fori_loop_is_a_for_loop(bounds):
    def body(i, value):
        return value * 0.5 + i

    assert_same(npaccel.fori_loop(*bounds, body, X), plainly_fori(*bounds, body, X))


def test_without_iterations_the_first_value_comes_back():
    assert npaccel.fori_loop(0, 0, lambda i, v: v + 1, X) is X
    assert npaccel.while_loop(lambda v: False, lambda v: v + 1, X) is X


def test_a_body_may_write_in_place():
    a = np.zeros(3)

    def body(i, v):
        v[i] += i
        return v

    assert npaccel.fori_loop(0, 3, body, a) is a
    assert_same(a, np.arange(3.0))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_scan_stacks(count, reverse):
    def f(carry, x):
        carry = carry * 0.5 + x
        return carry, carry.sum()

    xs = np.arange(count * 6.0).reshape(count, 6)
    carry, ys = npaccel.scan(f, X, xs, reverse=reverse)
    wanted, rows = plainly_scan(f, X, xs, reverse)
    assert_same((carry, ys), (wanted, np.stack(rows)))


def test_results_are_those_of_their_iterations():
    def f(carry, x):
        carry += x  # The next iteration writes into what this one returns.
        return carry, carry

    carry, ys = npaccel.scan(f, np.zeros(2), np.ones((3, 2)))
    assert_same(ys, np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    assert_same(carry, np.array([3.0, 3.0]))
    t = torch.zeros(2)
    _, rows = npaccel.scan(f, t, torch.ones(3, 2))
    assert rows.tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_scan_over_structures_and_without_arrays():
    def f(carry, x):
        return carry + x["p"], (x["q"][0], None, carry)

    carry, ys = npaccel.scan(f, 0, {"p": np.arange(3), "q": [np.eye(3)]})
    assert_same(carry, np.int64(3))
    assert ys[1] is None
    assert_same((ys[0], ys[2]), (np.eye(3), np.array([0, 0, 1])))
    assert_same(npaccel.scan(lambda c, x: (c + 1, c * 0.5), 0, length=3)[1], np.arange(3) * 0.5)
    with pytest.raises(TypeError, match=r"None at y\b|returned|y.*NoneType|it was int"):
        npaccel.scan(lambda c, x: (c + 1, c if c < 2 else None), 0, length=3)


def test_numbers_in_results_widen():
    def f(k, x):
        return k + 1, 0.5 if k < 2 else np.float64(0.25)

    assert_same(npaccel.scan(f, 0, length=4)[1], np.array([0.5, 0.5, 0.25, 0.25]))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_an_empty_scan_has_results_of_the_right_kind(dtype):
    calls = []

    def f(carry, x):
        calls.append(1)
        carry[0] = 7
        np.random.rand()  # noqa: NPY002
        return carry, (x, x[0], carry.sum())

    init = np.zeros(2)
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    carry, ys = npaccel.scan(f, init, np.zeros((0, 3), dtype))
    assert carry is init
    assert not init.any()
    assert_same(np.random.get_state()[1], before)  # noqa: NPY002
    assert_same(
        ys, (np.zeros((0, 3), dtype), np.zeros(0, dtype), np.zeros(0, np.zeros(2).sum().dtype))
    )
    assert len(calls) == 1


@pytest.mark.parametrize("pred", [True, 1, np.True_, np.array(2), torch.tensor(True), 0.5])
def test_cond_takes_a_truth_value(pred):
    assert npaccel.cond(pred, lambda a, b: a, lambda a, b: b, 1, 2) == 1
    other = pred == 0 if not isinstance(pred, torch.Tensor) else ~pred
    assert npaccel.cond(other, lambda a, b: a, lambda a, b: b, 1, 2) == 2


def test_numbers_may_become_scalars_of_their_kind():
    add = [np.float32(0.5), np.float64(0.5)]
    for one in add:
        assert_same(npaccel.fori_loop(0, 2, lambda i, v, one=one: v + one, 0.0), type(one)(1.0))
    assert_same(npaccel.fori_loop(0, 2, lambda i, v: v + np.uint8(1), 0), np.uint8(2))
    assert_same(npaccel.fori_loop(0, 2, lambda i, v: v.item() + 1, np.int8(0)), np.int8(2))
    assert_same(npaccel.fori_loop(0, 2, lambda i, v: v * 1.0, np.array(2.0)), np.float64(2.0))


# -- Errors


MISTAKES = [
    (0, lambda v: v / 2, r"the carry: it was int and became float.*start init_val as float"),
    (0, lambda v: v + X, r"it was int and became float64\[6\].*shape \(6,\) and dtype float64"),
    (0, lambda v: np.float32(v), r"it was int and became float32\[\].*np.float32\(...\)"),
    (True, lambda v: v + 1, r"it was bool and became int"),
    (X, lambda v: v.astype(int), r"it was float64\[6\] and became int64\[6\].*astype\(np.float64"),
    (X, lambda v: v[1:], r"it was float64\[6\] and became float64\[5\].*shape \(5,\)"),
    (X, lambda v: (v,), r"became \(float64\[6\],\).*structure that the function was given"),
    (X, lambda v: None, r"became None.*return it"),
    ((X, 0), lambda v: [v[0], 1], r"it was \(float64\[6\], int\) and became \[float64\[6\], int\]"),
    ((X, 0), lambda v: (*v, 1), r"became \(float64\[6\], int, int\)"),
    ({"a": (1, X)}, lambda v: {"a": (1, X[0])}, r"init_val\['a'\]\[1\]: it was float64\[6\]"),
    ({"a": 1}, lambda v: {"b": 1}, r"it was {'a': int} and became {'b': int}"),
    (State(X, 0), lambda v: State(v.a, 0.5), r"at init_val\.n: it was int and became float"),
    (State(X, 0), lambda v: tuple(v), r"it was State\(float64\[6\], int\)"),
    (np.float32(1), lambda v: np.float64(v), r"float32\[\] and became float64\[\]"),
    (np.int64(1), lambda v: 0.5, r"it was int64\[\] and became float"),
]


def mistaken(n, body, value):
    return npaccel.fori_loop(0, n, lambda i, v: body(v), value)


@pytest.mark.parametrize("place", range(len(MISTAKES)))
def test_the_carry_keeps_structure_shape_and_dtype(place):
    value, body, message = MISTAKES[place]
    with pytest.raises(
        TypeError, match=r"fori_loop: body_fun `<lambda>` \(.*test_primitives.py:\d+\)"
    ):
        npaccel.fori_loop(0, 3, lambda i, v: body(v), value)
    with pytest.raises(TypeError, match=message):
        npaccel.while_loop(lambda v: True, body, value)
    with pytest.raises(TypeError, match=message.replace("init_val", "init")):
        npaccel.scan(lambda v, _: (body(v), None), value, length=2)
    assert npaccel.fori_loop(0, 0, lambda i, v: body(v), value) is value


def halves(x, n):
    k = x.sum()
    return npaccel.fori_loop(
        0,
        n,
        lambda i, v: (v[0] + k, v[1] / 2),
        (x, 0),
    )


@pytest.mark.parametrize("options", [None, {}, {"loops": "python"}])
def test_errors_name_the_leaf_and_the_line(options):
    function = halves if options is None else npaccel.jit(halves, backend="eager", **options)
    line = halves.__code__.co_firstlineno
    with pytest.raises(TypeError, match=rf"py:{line + 5}\).*init_val\[1\]: it was int") as raised:
        function(X, 3)
    assert line + 2 in [entry.lineno + 1 for entry in raised.traceback]


def failing(x, n):
    def body(i, v):
        return v.reshape(i + 1, -1)[0] if i else v + np.ones(7)

    return npaccel.fori_loop(0, n, body, x)


def test_numpys_own_errors_come_through():
    for function in (failing, npaccel.jit(failing, backend="eager")):
        with pytest.raises(ValueError, match="broadcast"):
            function(X, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: npaccel.fori_loop(0.0, 3, lambda i, v: v, 0), TypeError, "lower .*pass int"),
        (lambda: npaccel.fori_loop(0, X, lambda i, v: v, 0), TypeError, r"upper is float64\[6\]"),
        (lambda: npaccel.fori_loop(0, 3, 0, lambda i, v: v), TypeError, "body_fun is of type int"),
        (lambda: npaccel.while_loop(lambda v: 1, lambda v: v, 0), TypeError, "not one truth"),
        (lambda: npaccel.while_loop(lambda v: v > 0, lambda v: v, X), TypeError, r"bool\[6\]"),
        (lambda: npaccel.scan(lambda c, x: c, 0, X), TypeError, "float, not a pair|int, not a"),
        (lambda: npaccel.scan(lambda c, x: (c, "a"), 0, X), TypeError, "can't be stacked"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0), ValueError, "pass length=n"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0, X, length=5), ValueError, "length is 5"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0, length=-1), ValueError, "negative"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0, [1, 2]), TypeError, r"xs\[0\] .*np.array"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0, X.sum()), ValueError, "has no items"),
        (lambda: npaccel.scan(lambda c, x: (c, x), 0, (X, X[1:])), ValueError, "5 items"),
        (lambda: npaccel.cond(X > 0, len, len, X), TypeError, r"bool\[6\].*np.where"),
        (lambda: npaccel.cond("a", len, len, X), TypeError, "of type str"),
        (lambda: npaccel.cond(True, len, None, X), TypeError, "false_fun is of type NoneType"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- Inside of jit: the same, compiled once


def tuple_carry(x, n):
    def body(i, carry):
        a, k = carry
        return np.tanh(a) + i, k + 1

    return npaccel.fori_loop(0, n, body, (x, 0))


def list_carry(x, n):
    return npaccel.fori_loop(0, n, lambda i, c: [c[1], c[0] + c[1]], [x, x * 2])


def dict_carry(x, n):
    def body(i, c):
        c["a"] = c["a"] * 2.0
        return {"a": c["a"], "b": [c["b"][0] - 1.0]}

    return npaccel.fori_loop(0, n, body, {"a": x, "b": [0.5]})


def namedtuple_carry(x, n):
    return npaccel.fori_loop(0, n, lambda i, c: State(c.a * 0.5 + i, c.n + 1), State(x, 0))


def in_place(x, n):
    def body(i, c):
        c[i % 6] += i
        return c

    return npaccel.fori_loop(0, n, body, x)


def closure(x, n):
    w = x * 3
    scale = 0.5

    def g(a):
        return np.sin(a) * scale + w

    return npaccel.fori_loop(0, n, lambda i, c: g(c) * i, x)


def with_default(x, n):
    return npaccel.fori_loop(0, n, lambda i, c, w=x + 1: c * 0.5 + w, x)


def module_body(i, c):
    return np.cos(c) + i


def of_module(x, n):
    return npaccel.fori_loop(0, n, module_body, x)


def with_partial(x, n):
    def body(w, i, c, s=2.0):
        return c * w + s

    return npaccel.fori_loop(0, n, functools.partial(body, x * 2, s=3.0), x)


jitted_module_body = npaccel.jit(module_body, backend="eager", default_float="float64")


def jitted_body(x, n):
    return npaccel.fori_loop(0, n, jitted_module_body, x)


def by_index(x, n):
    return npaccel.fori_loop(0, n, lambda i, c: c + x[i] * i, np.zeros(6))


def looping_body(x, n):
    def body(i, c):
        for k in range(i):
            c = c * 0.5 + k
        return c

    return npaccel.fori_loop(0, n, body, x)


def counting_loops(x, n):
    def body(i, c):
        k, a = c
        for _ in range(2 * k):
            a = a * 0.5 + i
        return k + 1, a

    return npaccel.fori_loop(0, n, body, (0, x))


def recursive(x, n):
    w = x + 1

    def r(k, a):
        return a if k == 0 else r(k - 1, a * 0.5 + w)

    return npaccel.fori_loop(0, n, lambda i, c: r(2, c), x)


def several_lambdas(x, n):
    one, two = (lambda i, c: c + i), (lambda i, c: c * 2)  # fmt: skip
    return npaccel.fori_loop(0, n, one, npaccel.fori_loop(0, n, two, x))


def while_sum(x, n):
    return npaccel.while_loop(
        lambda c: (c[0] ** 2).sum() < 1e3 * n, lambda c: (c[0] * 1.5, c[1] + 1), (x, 0)
    )


def scan_structures(x, n):
    def f(c, y):
        return c * 0.5 + y, {"sum": c.sum(), "both": (y, c)}

    return npaccel.scan(f, x, np.arange(1.0 * n).reshape(n, 1) + x, reverse=True)


def scan_numbers(x, n):
    return npaccel.scan(lambda k, _: (k + 1, (x[k], k, 0.5)), 0, length=n)


def scan_elements(x, n):
    return npaccel.scan(init=0.0, f=lambda c, y: (c * 0.5 + y, c), xs=x[:n])


def cond_on_array(x, n):
    y = x * 2
    z = npaccel.cond(y.max() > n, lambda a: a + y, lambda a: a - y, x)
    return z * 3


def nested(x, n):
    w = x + 1

    def inner(j, d):
        return d * 0.5 + j * w

    def outer(i, c):
        c = npaccel.fori_loop(i, n, inner, c)
        return npaccel.cond(c.max() > 3, lambda q: q / 2, lambda q: q, c)

    return npaccel.fori_loop(0, n, outer, x)


def all_nested(x, n):
    def f(c, y):
        c = npaccel.while_loop(lambda v: (v**2).sum() < 5, lambda v: v * 2 + 0.5, c + y)
        return npaccel.cond(y > 0, lambda v: (v + n, v.sum()), lambda v: (v, v.max()), c)

    return npaccel.scan(f, x, x)


def in_loops(x, n):
    for k in range(n):
        x = npaccel.fori_loop(0, k, lambda i, c: np.sin(c) + k, x)  # noqa: B023
        while x.sum() < k:
            x = npaccel.cond(x.min() < 0, np.negative, lambda a: a + 1, x)
    return x


def called(x, n):
    return npaccel.fori_loop(0, n, lambda i, c: c + i, x)


def in_helpers(x, n):
    return called(x * 2, n) + called(x, 2)


def chosen(x, n):
    return (
        npaccel.fori_loop(0, n, lambda i, c: c + 1, x)
        if n > 2
        else npaccel.cond(n == 1, lambda: x * 2, lambda: x * 3)
    )


def inner_loops(x, n):
    def step(c):
        for i in range(n):
            c = c * 0.5 + i
        return c

    y = step(x)
    return y + step(y)


def carried_twice(x, n):
    def goes_on(c):
        new, old, k = c
        return (np.abs(new - old).max() > 1e-6) & (k < 50)

    def sweep(c):  # Its first argument is `x` in the first iteration only.
        return np.cos(c[0]) + 0.1 * x, c[0], c[2] + 1

    return npaccel.while_loop(goes_on, sweep, (x, x + n, 0))


PROGRAMS = [
    *(tuple_carry, list_carry, dict_carry, namedtuple_carry, in_place, closure, with_default),
    *(of_module, with_partial, jitted_body, by_index, looping_body, counting_loops, recursive),
    *(several_lambdas, while_sum, scan_structures, scan_numbers, scan_elements, cond_on_array),
    *(carried_twice, nested, all_nested, in_loops, in_helpers, chosen, inner_loops),
]


@pytest.mark.sampled
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program, n):
    compiled = program is not in_loops  # np.negative isn't a Python function.
    check(program, X, n, compiled=compiled)


@pytest.mark.sampled
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_bodies_compile_once(program):
    jitted = npaccel.jit(program, backend="eager", loops="compile")
    long = np.linspace(-1.0, 2.0, 600)
    quadratic = program in (looping_body, counting_loops, in_loops, nested)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for n in (5, 7):  # What the functions compute with n besides is compiled for any n.
            jitted(long, n)
        graphs = len(jitted.report().graphs)
        jitted(long, 20 if quadratic else 500)
    assert graphs
    assert len(jitted.report().graphs) == graphs


def test_a_cast_of_results_reads_no_memory_that_nothing_wrote():
    jitted = npaccel.jit(scan_elements, backend="eager", loops="compile")
    x = np.linspace(0.0, 1.0, 5)
    for _ in range(3):
        left = [np.full(5, 0x7F800001, np.uint32) for _ in range(7)]  # NaNs that signal
        del left
        jitted(x, 5)  # Warnings are errors.


@pytest.mark.parametrize("program", [nested, scan_structures, while_sum])
@pytest.mark.parametrize("loops", ["auto", "compile", "python", "unroll"])
def test_every_option_of_loops(program, loops):
    jitted = check(program, X, 4, loops=loops)
    engines = {loop.engine for loop in jitted.report().loops}
    wanted = {"Python"} if loops == "python" else {"compiled body", "compiled branches"}
    assert engines
    assert engines <= wanted


def test_the_report_names_every_form():
    report = check(nested, X, 3).report()
    found = [(loop.line - nested.__code__.co_firstlineno, loop.engine) for loop in report.loops]
    assert sorted(found) == [
        (7, "compiled body"),
        (8, "compiled branches"),
        (10, "compiled body"),
    ]
    assert report.loops[0].file == nested.__code__.co_filename


def counting(x, n):
    total = 0

    def body(i, c):
        nonlocal total
        total += 1
        return c + 1

    return npaccel.fori_loop(0, n, body, x), total


def test_a_body_that_writes_to_its_closure_runs_in_numpy():
    with pytest.warns(PerformanceWarning, match="body_fun `body` .* runs in NumPy, because it wri"):
        jitted = npaccel.jit(counting, backend="eager")
        result = jitted(X, 4)
    assert_same(result, counting(X, 4))
    [loop] = jitted.report().loops
    assert loop.engine == "Python"
    assert "`total`" in loop.detail
    with pytest.raises(NotCompiledError, match="runs in NumPy"):
        npaccel.jit(counting, backend="eager", strict=True)(X, 4)


def two_meanings(x, n):
    def make(w):
        return lambda a: a * w

    double = make(2.0)

    def body(i, c):
        w = c + i  # Not the w of make.
        return double(w) + w

    return npaccel.fori_loop(0, n, body, x)


def test_names_that_mean_two_things_arent_mixed_up():
    check(two_meanings, X, 4, compiled=False)


def redefined(x, n):
    parts = []
    for k in range(2):
        w = x * (k + 1)

        def body(i, c):
            return c * 0.5 + w  # noqa: B023

        parts.append(npaccel.fori_loop(0, n, body, x))
    return parts


def test_closures_are_read_at_every_call():
    check(redefined, X, 3)


def not_split(x, n):
    y = eval("x")
    return npaccel.fori_loop(0, n, lambda i, c: c * 0.5 + i, y)


def test_where_nothing_is_split_python_calls_the_body():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = npaccel.jit(not_split, backend="eager", default_float="float64")(X, 3)
    assert_same(result, not_split(X, 3))
    assert any("then it's split here" in str(w.message) for w in caught)


class Model:
    def __init__(self):
        self.w = np.arange(6.0)

    def body(self, i, c):
        return c * 0.5 + self.w

    def run(self, x, n):
        return npaccel.fori_loop(0, n, self.body, x)


def test_methods():
    model = Model()
    jitted = npaccel.jit(Model.run, backend="eager", default_float="float64")
    assert_same(jitted(model, X, 4), model.run(X, 4))
    model.w = model.w * 2
    assert_same(jitted(model, X, 4), model.run(X, 4))


def test_default_float_holds_for_results():
    def f(k, _):
        return k + 1, (0.5, k, 1j)

    @npaccel.jit(backend="eager")
    def recorded():
        return npaccel.scan(f, 0, length=3)[1]

    assert [y.dtype for y in recorded()] == [np.float32, np.int64, np.complex64]


def test_invented_floats_may_widen():
    """What NumPy would start in 64 bit starts in 32 bit under jit, by default."""

    def f(x):
        def body(i, c):
            return c[0] + x, c[1] + x.sum()

        return npaccel.fori_loop(0, 3, body, (np.zeros(6), 0.0))

    got = npaccel.jit(f, backend="eager")(X)
    assert_same(got, f(X))
    with pytest.raises(TypeError, match="it was float32"):
        npaccel.fori_loop(0, 3, lambda i, c: c + X, np.zeros(6, np.float32))


# -- Tensors


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize(
    "program", [tuple_carry, nested, while_sum, scan_structures, scan_elements, cond_on_array]
)
def test_tensors_come_out_as_tensors(program, n, device):
    t = torch.from_numpy(X.copy()).to(device)
    jitted = npaccel.jit(program, backend="eager", default_float="float64")
    got, wanted = jitted(t, n), program(X, n)
    kinds = torch.utils._pytree.tree_leaves(got)
    for one, other in zip(kinds, torch.utils._pytree.tree_leaves(wanted), strict=True):
        assert isinstance(one, torch.Tensor) == isinstance(other, np.ndarray | np.generic)
        np.testing.assert_allclose(torch.as_tensor(one).cpu(), other, rtol=1e-12)


@pytest.mark.parametrize("program", [nested, all_nested])
def test_gradients(program):
    t = torch.from_numpy(X.copy()).requires_grad_()
    result = npaccel.jit(program, backend="eager", default_float="float64")(t, 3)
    total = sum(part.sum() for part in torch.utils._pytree.tree_leaves(result))
    total.backward()
    for i in range(2):
        step = np.zeros(6)
        step[i] = 1e-6
        both = [program(X + sign * step, 3) for sign in (1, -1)]
        up, down = (sum(np.sum(p) for p in torch.utils._pytree.tree_leaves(part)) for part in both)
        np.testing.assert_allclose(t.grad[i], (up - down) / 2e-6, rtol=1e-5, atol=1e-8)


def test_gradients_through_an_uncompiled_body_are_refused():
    t = torch.ones(3, requires_grad=True)
    with pytest.warns(PerformanceWarning), pytest.raises(NotCompiledError, match="gradients"):
        npaccel.jit(counting, backend="eager")(t, 2)


# -- Compiled code


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize("program", [tuple_carry, nested, scan_elements])
def test_compiled_bodies(program):
    jitted = npaccel.jit(program, default_float="float64")
    for n in (5, 40):
        assert_same(jitted(X, n), program(X, n), rtol=1e-12)


PROCESS = """
import npaccel, {module}
jitted = npaccel.jit({module}.{name}, default_float="float64")
jitted(np.linspace(0.0, 1.0, 6), 9)
answer(loaded=[graph.loaded for graph in jitted.report().graphs])
"""


@pytest.mark.inductor
def test_bodies_are_kept_on_disk(tmp_path, own_cache, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(own_cache))
    (tmp_path / "forms_program.py").write_text(
        "import npaccel\n"
        "def f(x, n):\n"
        "    w = x * 2\n"
        "    return npaccel.fori_loop(0, n, lambda i, c: c * 0.5 + w, x)\n"
    )
    code = PROCESS.format(module="forms_program", name="f")
    first = children.run_prepared(code, path=tmp_path)
    assert first == {"loaded": [False, False]}
    assert children.run(code, path=tmp_path, OMP_NUM_THREADS="2") == {"loaded": [True, True]}
