"""Functions with `with` and `try`, in loops and beside them, compute what NumPy does."""

import contextlib
import copy
import threading
import warnings

import numpy as np
import pytest
from assertions import assertion, assertion_after_a_break, assertion_that_is_caught
from comparing import assert_same

import npaccel
from npaccel._compiler.dispatcher import Dispatcher
from npaccel._syntax import context_managers
from npaccel.errors import PerformanceWarning

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
SINGULAR, REGULAR = np.ones((2, 2)), np.eye(2) * 3


def check(function, *arguments, breaks=False, **options):
    """Compare two calls with NumPy's: result and arguments; return the compiled function."""
    options = {"backend": "eager", "default_float": "float64", "loops": "compile", **options}
    jitted = npaccel.jit(**options)(function)
    for _ in range(2):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        wanted = function(*theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if breaks else "error", PerformanceWarning)
            assert_same(jitted(*ours), wanted)
        assert_same(ours, theirs)
    return jitted


@contextlib.contextmanager
def lets_pass():
    try:
        yield 3.0
    finally:
        pass


@contextlib.contextmanager
def raises_again():
    try:
        yield 3.0
    except np.linalg.LinAlgError as error:
        raise ValueError from error


@contextlib.contextmanager
def ends_errors():
    try:
        yield 3.0
    except np.linalg.LinAlgError:
        print("ended")


class LetsPass:
    def __enter__(self):
        return 3.0

    def __exit__(self, *error):
        return None


class EndsErrors(LetsPass):
    def __exit__(self, kind, *error):
        return kind is np.linalg.LinAlgError


class MayEndErrors(LetsPass):
    def __exit__(self, kind, *error):
        return self.anything or None

    anything = ""


lock, ending = threading.Lock(), EndsErrors()
#: What a block is entered with, and whether it may end an error.
MANAGERS = {
    "np.errstate(all='ignore')": False,
    "np.printoptions(precision=2)": False,
    "warnings.catch_warnings()": False,
    "lock": False,
    "threading.Lock()": False,
    "lets_pass() as number": False,
    "raises_again()": False,
    "LetsPass()": False,
    "np.errstate(all='ignore'), LetsPass()": False,
    "contextlib.suppress(np.linalg.LinAlgError)": True,
    "ends_errors()": True,
    "EndsErrors()": True,
    "MayEndErrors()": True,
    "ending": True,
    "np.errstate(all='ignore'), ending": True,
}


@pytest.fixture
def made(tmp_path):
    """Make a function of its text, which a file has."""

    def make(text):
        file = tmp_path / "made.py"
        file.write_text(text, encoding="utf-8")
        namespace = {**globals(), "__name__": "made"}
        exec(compile(text, str(file), "exec"), namespace)
        return namespace["function"]

    return make


@pytest.mark.parametrize("manager", MANAGERS)
def test_names_are_bound_in_a_block(manager, made):
    function = made(
        "def function(a):\n"
        "    for _ in range(20):\n"
        "        a = a * 0.5 + 1\n"
        f"    with {manager}:\n"
        "        b = a * 2\n"
        "        c = np.sin(b)\n"
        "    return b + c + a\n"
    )
    check(function, X, breaks=True)


@pytest.mark.parametrize("manager", MANAGERS)
def test_which_blocks_may_end_errors(manager, made, monkeypatch):
    found = []
    mark = context_managers.mark

    def marks(definition, value_of):
        mark(definition, value_of)
        found.append(context_managers.may_swallow(definition.body[1]))

    monkeypatch.setattr(context_managers, "mark", marks)
    function = made(
        "def function(a):\n"
        "    for _ in range(20):\n"
        "        a = a + 1\n"
        f"    with {manager}:\n"
        "        a = a * 2\n"
        "    return a\n"
    )
    check(function, X, breaks=True)
    assert found == [MANAGERS[manager]]


@pytest.mark.parametrize("matrix", [REGULAR, SINGULAR], ids=["regular", "singular"])
@pytest.mark.parametrize("loops", ["compile", "unroll"])
def test_a_block_that_ends_errors_leaves_what_was_done(loops, matrix):
    def function(a, m):
        b = a + 1
        for _ in range(3):
            with contextlib.suppress(np.linalg.LinAlgError):
                b = a * 2
                m = np.linalg.inv(m)
                b = b + m[0, 0]
            a = a + b
        return a, b, m.copy()

    check(function, X, matrix, breaks=True, loops=loops)


@pytest.mark.parametrize("matrix", [REGULAR, SINGULAR], ids=["regular", "singular"])
@pytest.mark.parametrize("loops", ["compile", "unroll"])
def test_a_handler_sees_what_was_done(loops, matrix):
    def function(a, m):
        b = a + 1
        for _ in range(3):
            try:
                b = a * 2
                m = np.linalg.inv(m)
            except np.linalg.LinAlgError:
                b = -b
            a = a + b
        return a, b, m.copy()

    check(function, X, matrix, breaks=True, loops=loops)


def test_a_name_that_a_block_leaves_unbound():
    def function(m):
        for _ in range(3):
            m = m * 2
        with contextlib.suppress(np.linalg.LinAlgError):
            b = np.linalg.inv(m)
        return b

    jitted = npaccel.jit(function, backend="eager", loops="compile", default_float="float64")
    assert_same(jitted(REGULAR), function(REGULAR))
    with pytest.raises(UnboundLocalError):
        jitted(SINGULAR)


# -- Errors that a function without loops catches


def test_an_error_that_is_caught():
    def function(a):
        try:
            b = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            b = a
        return b

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    assert_same(jitted(REGULAR), function(REGULAR))
    with pytest.warns(PerformanceWarning, match="an error that the function catches"):
        got = jitted(SINGULAR)
    assert got is SINGULAR


def test_an_error_that_is_caught_after_a_draw():
    def function(a, generator):
        try:
            b = np.linalg.inv(a + 0 * generator.random())
        except np.linalg.LinAlgError:
            b = a * 2
        return b, generator.random()

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    for matrix in (REGULAR, SINGULAR, SINGULAR):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            assert_same(jitted(matrix, ours), function(matrix, theirs))
        assert ours.bit_generator.state == theirs.bit_generator.state


def solved(a, b, index):
    b += 1
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError as error:
        return str(error)
    finally:
        b[0] += 1


def taken(a, b, index):
    b += 1
    try:
        return b[index] * 2
    except IndexError as error:
        return str(error)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize(
    "function", [solved, taken, assertion, assertion_after_a_break, assertion_that_is_caught]
)
def test_errors_after_writes(function, backend):
    """They are NumPy's, and so is what was written before them."""
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    for matrix, index in ((REGULAR + 1, 1), (SINGULAR * 0, 5), (REGULAR + 9, 1), (SINGULAR, -1)):
        b = np.arange(2.0) + matrix[0, 1]
        ours, theirs = (matrix, b.copy(), np.array([0, index])), (matrix, b, np.array([0, index]))
        try:
            wanted = function(*theirs)
        except AssertionError as error:
            with pytest.raises(AssertionError) as raised:
                jitted(*ours)
            assert str(raised.value) == str(error)  # noqa: PT017
        else:
            assert_same(jitted(*ours), wanted)
        assert_same(ours, theirs)


# -- What isn't a loop


def with_block(a):
    with np.errstate(all="ignore"):
        b = 1 / a
    return b + a


def with_handler(a):
    try:
        b = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        b = a
    return b


def with_comprehensions(a):
    rows = [row * 2 for row in a]
    return np.stack(rows) + sum(len(r) for r in rows) + len({k: r + k for k, r in enumerate(rows)})


@pytest.mark.parametrize("function", [with_block, with_handler, with_comprehensions])
def test_functions_without_loops_are_compiled_whole(function):
    jitted = check(function, REGULAR + 1)
    assert all(
        isinstance(dispatcher, Dispatcher) for dispatcher in jitted._npaccel_dispatchers.values()
    )
