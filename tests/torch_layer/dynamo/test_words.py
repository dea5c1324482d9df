"""What is said of programs that can't be compiled whole: nothing of the compiler's insides."""

import contextlib
import inspect
import io
import itertools
import pickle
import re
import threading
import time
import warnings

import numpy as np
import pytest

import npaccel
from npaccel import errors
from npaccel._torch.dynamo.break_reasons import UNKNOWN, in_our_words

X = np.arange(3.0)
SQUARE = np.arange(6.0).reshape(2, 3)
INSIDES = re.compile(
    r"Dynamo|FX node|[Ff]ake ?[Tt]ensor|as_proxy|Guard failed|Variable\b|torch/|site-packages|"
    r"pop from empty|Unsupported|torch\.compile|InternalTorch|[Gg]raph break|SymInt|_impl\b|"
    r"npaccel\._|bytecode|sourceless|Inductor"
)


def in_try(compute, error):
    def function(x):
        try:
            return compute(x)
        except error as caught:
            return x * 2, str(caught)

    return function


def yields(x):
    for i in range(3):
        yield x * i


def yields_from(x):
    yield from (x, x * 2)


def prints(x):
    print(end="")
    return x * 2


def opens(x):
    with open("/dev/null") as file:  # noqa: PTH123 (what programs have)
        return file.read(), x * 2


def pickles(x):
    return pickle.loads(pickle.dumps(x * 2)) + 1


def times(x):
    start = time.perf_counter()
    y = x * 2
    return y, time.perf_counter() >= start


def locks(x):
    lock = threading.Lock()
    with lock:
        return x * 2


def suppresses(x):
    with contextlib.suppress(ValueError):
        return x.reshape(7)
    return x * 2


def branches(x):
    if x.sum() > 1:
        return x * 2
    return x


def sorts_by_values(x):
    return sorted([2, 0, 1], key=lambda i: x[i].item()), x * 2


def reads_bytes(x):
    return np.frombuffer(b"", dtype=float), x * 2


def reads_text(x):
    return np.loadtxt(io.StringIO("1 2 3")) + x


def saves(x):
    file = io.BytesIO()
    np.save(file, x * 2)
    file.seek(0)
    return np.load(file)


def imports_what_is_not_there(x):
    try:
        import no_such_module
    except ImportError:
        return x * 2
    return no_such_module


def takes_an_attribute(x):
    try:
        return x.no_such_attribute
    except AttributeError as error:
        return x * 2, str(error)


PROGRAMS = {
    "solve": (in_try(lambda x: np.linalg.solve(x, x), np.linalg.LinAlgError), SQUARE),
    "inv": (in_try(np.linalg.inv, np.linalg.LinAlgError), SQUARE),
    "cholesky": (in_try(np.linalg.cholesky, np.linalg.LinAlgError), SQUARE),
    "broadcast": (in_try(lambda x: x + np.ones(4), ValueError), SQUARE),
    "matmul": (in_try(lambda x: x @ x, ValueError), SQUARE),
    "reshape": (in_try(lambda x: x.reshape(5), ValueError), SQUARE),
    "concatenate": (in_try(lambda x: np.concatenate([x, x.T]), ValueError), SQUARE),
    "bits": (in_try(lambda x: np.bitwise_and(x, x), TypeError), SQUARE),
    "arguments": (in_try(lambda x: np.sin(x, x, x, x), TypeError), SQUARE),
    "called": (in_try(lambda x: x(3), TypeError), X),
    "a long int": (lambda x: (np.array(2**70), x * 2), X),
    "text": (lambda x: (np.char.add(["a"], ["b"]), x * 2), X),
    "dates": (lambda x: (np.zeros(3, "M8[s]"), x * 2), X),
    "masked": (lambda x: (np.ma.masked_invalid(np.log(x + 1)).mean(), x + 1), X),
    "records": (lambda x: np.rec.fromarrays([x, x * 2], names="a,b"), X),
    "copies": (lambda x: (__import__("copy").copy(x * 2), x), X),
    "a memory view": (lambda x: x * len(memoryview(b"abc")), X),
    "an iterator": (lambda x: (x + next(itertools.count(3)), next(iter([x]))), X),
    "a loop of digits": (lambda x: (f"{x.sum():.3f}", x * 2), X),
    "a thread": (lambda x: (threading.current_thread().name, x * 2), X),
    **{
        f.__name__: (f, X)
        for f in (
            *(yields, yields_from, prints, opens, pickles, times, locks, suppresses, branches),
            *(sorts_by_values, reads_bytes, reads_text, saves, imports_what_is_not_there),
            *(takes_an_attribute,),
        )
    },
}


def alike(got, wanted):
    if inspect.isgenerator(wanted):
        got, wanted = list(got), list(wanted)
    assert type(got) is type(wanted)
    if isinstance(wanted, tuple | list):
        for one, other in zip(got, wanted, strict=True):
            alike(one, other)
    elif isinstance(wanted, np.ndarray):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    else:
        assert got == wanted or abs(got - wanted) < 1e-12


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_of_the_insides(name):
    function, x = PROGRAMS[name]
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            alike(jitted(x.copy()), function(x.copy()))
        for warning in caught:
            assert warning.category is errors.PerformanceWarning
            assert INSIDES.search(str(warning.message)) is None, str(warning.message)
    for fallback in jitted.report().fallbacks:
        assert INSIDES.search(fallback.reason + fallback.fix) is None, str(fallback)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.suppress(errors.NotCompiledError):
            npaccel.jit(function, backend="eager", strict=True)(x.copy())


def test_a_sentence_names_what_raises():
    function, x = PROGRAMS["solve"]
    with pytest.warns(errors.PerformanceWarning, match=r"numpy\.linalg\.solve raises LinAlgError"):
        npaccel.jit(function, backend="eager")(x)


def test_unknown_texts():
    assert in_our_words("FooVariable has no bar_impl; please file an issue") == UNKNOWN
    assert in_our_words("") == UNKNOWN
    assert (
        in_our_words("numpy.foo has no compiled implementation in npaccel: torch lacks it")
        != UNKNOWN
    )


# ---------------------------------------------------------------------------
# The user's own errors


def unbound(x):
    if len(x) > 5:
        y = 1
    return x + y


def deleted(x):
    y = x * 2
    del y
    return y  # noqa: F821


def imports(x):
    import no_such_module

    return no_such_module.f(x)


def unbound_after_a_branch(x):
    if x.sum() > 50:
        y = 1
    print(end="")
    return x + y


ERRORS = [
    lambda x: x.no_such_attribute,
    lambda x: x.sum().no_such_attribute,
    lambda x: (x * 2).no_such_method(3),
    lambda x: np.no_such_function(x),
    lambda x: x + no_such_name,  # noqa: F821
    lambda x: np.sin(x, x, x, x),
    lambda x: np.sum(x, no_such_parameter=3),
    lambda x: x(3),
    lambda x: len(5) + x,
    lambda x: x + None,
    lambda x: {"a": x}["b"],
    lambda x: x + [1, 2][7],  # noqa: PLE0643
    lambda x: x.reshape(7),
    lambda x: x @ np.ones(4),
    lambda x: (x * 2).itemset(0, 3),
    *(unbound, deleted, imports),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_an_error_of_the_users_own_is_enough(number):
    function = ERRORS[number]
    with pytest.raises(Exception) as wanted:  # noqa: PT011 (whatever NumPy raises)
        function(X)
    for strict in (False, True):
        jitted = npaccel.jit(function, backend="eager", strict=strict)
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if strict:
                    with pytest.raises((type(wanted.value), errors.NotCompiledError)):
                        jitted(X)
                    continue
                with pytest.raises(type(wanted.value)) as got:
                    jitted(X)
            assert type(got.value) is type(wanted.value)
            assert str(got.value) == str(wanted.value)
        assert not jitted.report().fallbacks


def test_other_breaks_are_told_before_an_error():
    jitted = npaccel.jit(unbound_after_a_branch, backend="eager")
    with pytest.warns(errors.PerformanceWarning) as caught, pytest.raises(UnboundLocalError):
        jitted(X)
    lines = {inspect.getsource(unbound_after_a_branch).splitlines()[i].strip() for i in (1, 3)}
    assert {str(w.message).splitlines()[1].strip() for w in caught} == lines


def test_a_line_that_raised_is_told_when_it_does_not():
    def function(x, fails):
        print(end="" if not fails else 1 / 0)
        return x * 2

    jitted = npaccel.jit(function, backend="eager")
    with pytest.raises(ZeroDivisionError):
        jitted(X, True)
    with pytest.warns(errors.PerformanceWarning, match="print"):
        np.testing.assert_array_equal(jitted(X, False), X * 2)


# ---------------------------------------------------------------------------
# Arrays that own their memory


OWNERS = {
    "resize": lambda x: resized(x * 2, 5),
    "resize without a check": lambda x: resized(x * 2, (2, 2), refcheck=False),
    "base": lambda x: ((x * 2).base is None, x),
    "flags": lambda x: ((x * 2).flags.owndata, x),
}


def resized(y, *args, **kwargs):
    y.resize(*args, **kwargs)
    return y + 1


@pytest.mark.parametrize("name", OWNERS)
def test_arrays_that_the_function_makes_own_their_memory(name):
    function = OWNERS[name]
    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            alike(jitted(X.copy()), function(X.copy()))


def test_a_resize_after_a_break():
    def function(x):
        print(end="")
        y = x * 2
        y.resize(5)
        return y

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    with pytest.warns(errors.PerformanceWarning, match="print"):
        alike(jitted(X), function(X))


def test_an_argument_is_resized():
    def function(x):
        x.resize((2, 2), refcheck=False)
        return x + 1

    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PerformanceWarning)
            alike(npaccel.jit(function, backend="eager")(X.copy()), function(X.copy()))
