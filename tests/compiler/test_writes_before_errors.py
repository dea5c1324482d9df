"""What a function has written before an error stays, as in NumPy, and nothing is done twice."""

import copy
import math
import types
import warnings

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel
from npaccel import errors

INSIDE, OUTSIDE = np.array([0, 1]), np.array([0, 9])
TABLE = np.arange(5.0)


def numbers():
    return np.arange(1.0, 7.0)


def thing():
    return types.SimpleNamespace(n=0, log=[], weights=np.arange(4.0), table={})


PROGRAMS = {}


def program(good, bad):
    """A program, and what makes its arguments for a call that ends well and one that doesn't."""

    def note(function):
        PROGRAMS[function.__name__] = function, good, bad
        return function

    return note


def indices(*others):
    """Arguments of a program whose last one is an index."""
    return lambda: (*(make() for make in others), INSIDE), lambda: (
        *(make() for make in others),
        OUTSIDE,
    )


@program(*indices(numbers))
def element(a, i):
    a *= 2
    return a[i]


@program(lambda: (numbers(), 2), lambda: (numbers(), 9))
def number(a, i):
    a *= 2
    return a[i]


@program(*indices(numbers))
def stored_at_once(a, i):
    a[i] = 7


@program(*indices(numbers))
def added_at_once(a, i):
    a[i] += 7
    a *= 2


@program(*indices(numbers, numbers))
def one_array_then_another(a, b, i):
    a += 1
    b[i] = 5


@program(*indices(numbers))
def in_order(a, i):
    a -= 1
    np.add.at(a, i, 2)
    a -= 1


@program(lambda: (np.eye(3), np.ones(3)), lambda: (np.zeros((3, 3)), np.ones(3)))
def singular(m, b):
    b += 1
    x = np.linalg.inv(m)
    b += 1
    return x


@program(*indices(thing, numbers))
def attributes(self, a, i):
    self.n += 1
    self.log.append(a.sum())
    self.weights *= 3
    self.table["x"] = self.weights[0] * 2
    a[1:] += 1
    r = a[i]
    self.n += 10
    return r


@program(*indices(list, numbers))
def a_list(out, a, i):
    out.append(a * 2)
    a += 1
    out.append(a[i])
    out.append(1)


@program(*indices(lambda: [numbers(), numbers()]))
def list_of_arrays(xs, i):
    xs[0] *= 2
    xs.append(xs[1] + 1)
    xs[1] += xs[0][i].sum()
    return len(xs)


@program(*indices())
def captured(i):
    TABLE[1] += 1
    return TABLE[i]


@program(*indices(lambda: numbers()[::-1]))
def reversed_view(a, i):
    a *= 2
    return a[i]


@program(*indices(lambda: np.arange(12.0).reshape(3, 4)))
def views(a, i):
    r = a[1]
    r += 5
    t = a.T
    t *= 2
    return r[i]


@program(*indices(lambda: np.random.default_rng(3), numbers))
def draws(rng, a, i):
    a += rng.random(6)
    return a[i]


@program(*indices(numbers))
def caught(a, i):
    n = 0
    try:
        a *= 2
        n += 1
        r = a[i].sum()
        n += 10
    except IndexError:
        a += 100
        r = -1.0
    return r, n


@program(lambda: (numbers(), 2.0), lambda: (numbers(), -2.0))
def python_number(a, x):
    a += 1
    return a * math.sqrt(x)


@program(lambda: (numbers(), numbers()), lambda: (numbers(), np.ones(3)))
def shapes(a, b):
    a *= 2
    return a + b


@program(*indices(thing, numbers))
def subgraphs(self, a, i):
    a += 1
    self.log.append(1)
    print("once")
    self.n += 1
    self.log.append(2)
    a *= 2
    return a[i]


@program(*indices(numbers))
def first_piece(a, i):
    a += 1
    r = a[i]
    print("never")
    a *= 2
    return r


@program(*indices(numbers))
def inner_pieces(a, i):
    def inner(x):
        x += 1
        print("once")
        x *= 3
        return x[i]

    a -= 1
    r = inner(a)
    a -= 1
    return r


@program(lambda: (numbers(), numbers() > 2, INSIDE), lambda: (numbers(), numbers() > 2, OUTSIDE))
def pieces_of_any_size(a, m, i):
    a += 1
    print("once")
    b = a[m]
    a *= 2
    c = b + a[:4]
    return c[i]


@program(lambda: (numbers(), INSIDE, 1), lambda: (numbers(), OUTSIDE, 1))
def pieces_with_cells(a, i, s, *rest, **named):
    def inner():
        return a[i] * s

    a += 1
    print("once")
    a += s
    b = inner()
    s = 5
    return inner() + b, rest, named


@program(lambda: (numbers(), 3), lambda: (numbers(), 0))
def unbound(a, n):
    a += 1
    for k in range(n):
        x = a * k
    return x


@program(lambda: (numbers(), [INSIDE, INSIDE]), lambda: (numbers(), [INSIDE, OUTSIDE]))
def iterations(a, js):
    s = 0.0
    for j in js:
        a *= 2
        s = s + a[j].sum()
    return s


@program(lambda: (numbers(), INSIDE, 12), lambda: (numbers(), OUTSIDE, 12))
def many_iterations(a, i, n):
    c = np.zeros(3)
    for k in range(n):
        c[:] += a[:3]
        a += 1
        a[i * (k // (n - 1))] *= 2
    return c


@program(*indices(thing, numbers))
def caught_in_iterations(self, a, i):
    n = 0
    r = 0.0
    for _ in range(3):
        try:
            a *= 2
            n += 1
            self.n += 1
            r = a[i].sum()
            n += 10
        except IndexError:
            a += 100
    return r, n


@program(lambda: (numbers(), 3), lambda: (numbers(), 12))
def single_elements(a, n):
    for k in range(n):
        a[k] = a[k] + 1.0
    return a


def outcome(function, make, capsys):
    """What a call gives, raises and prints, and all that it leaves."""
    TABLE[:] = np.arange(5.0)
    values = make()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            result = function(*values)
    except Exception as error:  # noqa: BLE001 (whatever it is, NumPy's is compared with it)
        result = type(error).__name__, str(error)
    left = [copy.deepcopy(vars(v)) if hasattr(v, "log") else v for v in values]
    left = [v.random() if isinstance(v, np.random.Generator) else v for v in left]
    return result, left, TABLE.copy(), capsys.readouterr().out


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_left_as_numpy_leaves_it(name, backend, capsys):
    function, good, bad = PROGRAMS[name]
    jitted = npaccel.jit(function, backend=backend, default_float="float64", cache=False)
    for make in (good, bad, good, bad):
        wanted = outcome(function, make, capsys)
        assert_same(outcome(jitted, make, capsys), wanted, name)


@pytest.mark.parametrize("name", ["element", "singular", "subgraphs"])
def test_so_is_it_where_the_first_call_raises(name, backend, capsys):
    function, good, bad = PROGRAMS[name]
    jitted = npaccel.jit(function, backend=backend, default_float="float64", cache=False)
    for make in (bad, bad, good):
        wanted = outcome(function, make, capsys)
        assert_same(outcome(jitted, make, capsys), wanted, name)
    assert isinstance(outcome(jitted, bad, capsys)[0][0], str)


@pytest.mark.inductor
@pytest.mark.parametrize(
    "name",
    ["one_array_then_another", "added_at_once", "reversed_view", "many_iterations", "subgraphs"],
)
def test_so_is_it_in_compiled_code(name, capsys):
    function, good, bad = PROGRAMS[name]
    jitted = npaccel.jit(function, default_float="float64", cache=False)
    for make in (good, bad, good, bad):
        wanted = outcome(function, make, capsys)
        assert_same(outcome(jitted, make, capsys), wanted, name)


def test_tensors_are_left_so_too(backend, device):
    def f(a, b, out):
        a *= 2
        out.append(1)
        b[...] = np.linalg.inv(a[:4].reshape(2, 2) * b)
        a *= 2

    jitted = npaccel.jit(f, backend=backend, cache=False)
    for b in (np.eye(2) + 1, np.zeros((2, 2))):
        wanted = numbers(), b.copy(), []
        got = [torch.as_tensor(v.copy(), device=device) for v in wanted[:2]]
        out = []
        raised = []
        for function, values in ((f, wanted), (jitted, (*got, out))):
            try:
                function(*values)
            except np.linalg.LinAlgError as error:
                raised.append(str(error))
        assert len(raised) == 2 * (not b.any())
        for tensor, array in zip(got, wanted, strict=False):
            assert_same(tensor.cpu().numpy(), array)
        assert out == wanted[2]


@pytest.mark.inductor
def test_code_that_raises_and_writes_is_kept_on_disk():
    def f(a, i):
        a *= 2
        return a[i]

    jitted = npaccel.jit(f, default_float="float64")
    jitted(numbers(), INSIDE)
    assert jitted.report().graphs[0].artifact
    again = npaccel.jit(f, default_float="float64")
    a = numbers()
    with pytest.raises(IndexError):
        again(a, OUTSIDE)
    assert_same(a, 2 * numbers())


class Absent:
    def __init__(self, owner):
        self.owner, self.log, self.n = owner, [], 0

    def called(self, x):
        self.log.append(2)
        return self.owner.nothing() + x

    def read(self, x):
        self.n += 1
        return self.owner.nothing + x

    def caught(self, x):
        self.log.append(x * 2)
        try:
            y = self.owner.nothing(x)
        except AttributeError as error:
            return x, str(error)
        return y

    def after_a_branch(self, x):
        if x.sum() > 1:
            self.n += 1
        self.owner.nothing(x)


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("name", ["called", "read", "caught", "after_a_branch"])
@pytest.mark.parametrize(
    "owner", [(0, 1), [0], {"b": 1}, {1}, range(3), len, None, 2, "s", np.ones(2), np], ids=repr
)
def test_attributes_that_are_not_there(name, owner):
    jitted = npaccel.jit(getattr(Absent, name), backend="eager", compile="now", cache=False)
    objects, found = (Absent(owner), Absent(owner)), ([], [])
    for _ in range(2):
        for one, results, function in zip(
            objects, found, (jitted, getattr(Absent, name)), strict=True
        ):
            try:
                results.append(function(one, np.ones(3)))
            except AttributeError as error:
                results.append(str(error))
    assert_same(*found)
    assert_same(objects[0].log, objects[1].log)
    assert objects[0].n == objects[1].n
