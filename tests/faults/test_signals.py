"""What handlers of signals raise in compilations and calls arrives, and nothing stays in NumPy."""

import os
import random
import signal
import threading

import children
import interrupting
import pytest
from sweep import tries

from npaccel._process import signals

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

TIMED_OUT = """
class Late(Exception):
    pass

KINDS = [TimeoutError, RuntimeError, Late, IndexError]

def attempt(i, kind, delay):
    functions = new_functions(i, SEED)
    (jitted, plain), _ = functions
    called = []
    def handler(number, frame):
        called.append(number)
        raise KINDS[kind]("out of time")
    signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        end = time.perf_counter() + delay + 0.05
        how = "answer"
        while how == "answer" and (not called and time.perf_counter() < end):
            how = "answer" if np.allclose(jitted(X), plain(X), rtol=1e-12) else "wrong"
    except KINDS[kind] as error:
        how = "raised" if str(error) == "out of time" else repr(error)
    if how == "answer" and called:
        how = "swallowed"
    return {"how": how, "later": wrong(functions), "restored": signal.getsignal(14) is handler}
"""


@pytest.mark.inductor
@pytest.mark.timeout(interrupting.SECONDS)
def test_alarms_in_compilations_and_calls(tmp_path):
    rng = random.Random(302)
    given = [[i % 4, rng.random() * (1.0 if i % 4 else 3.0)] for i in range(tries(5, 80))]
    found = interrupting.answers(TIMED_OUT, given, tmp_path, seed=302, imports_compiler=True)
    expected = {"how": "raised", "later": [], "restored": True}
    assert not [one for one in found if {key: one[key] for key in expected} != expected]


@pytest.mark.timeout(interrupting.SECONDS)
def test_alarms_in_imports_of_the_compiler(tmp_path):
    rng = random.Random(303)
    given = [[i % 4, rng.random() * 2.5] for i in range(tries(1, 20))]
    found = interrupting.answers(TIMED_OUT, given, tmp_path, seed=303)
    expected = {"how": "raised", "later": [], "restored": True}
    assert not [one for one in found if {key: one[key] for key in expected} != expected]


def test_alarms_in_pieces():
    """Dynamo suppresses the errors of subgraphs: they run in NumPy."""
    found = children.run_prepared("""
import npaccel
warnings.simplefilter("ignore")

class Late(Exception):
    pass

def handler(number, frame):
    raise Late

def function(x):
    y = np.sin(x) * 1.625
    print(end="")
    return y + np.cos(x)

signal.signal(signal.SIGALRM, handler)
outcomes = []
for i in range(6):
    jitted = npaccel.jit(function)
    signal.setitimer(signal.ITIMER_REAL, 0.03 + 0.1 * i)
    try:
        value = jitted(np.ones(3))
        signal.setitimer(signal.ITIMER_REAL, 0)
        outcomes.append("answer")
    except Late:
        outcomes.append("raised")
    value = jitted(np.ones(3))
    assert np.allclose(value, function(np.ones(3)))
    causes = [one.reason for one in jitted.report().fallbacks if "print" not in one.reason]
    assert not causes and jitted.report().graphs, causes
answer(outcomes=outcomes)
""")
    assert "raised" in found["outcomes"]


class LateError(Exception):
    """What a handler raises."""


@pytest.fixture
def handlers():
    """Put the handlers of two signals back."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGALRM, signal.SIGUSR1)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def _raising(number, frame):
    raise LateError(number)


def test_what_a_handler_raises_passes_except_clauses(handlers):
    signal.signal(signal.SIGUSR1, _raising)
    reached = []

    def work():
        try:
            signal.raise_signal(signal.SIGUSR1)
            reached.append("after")
        except Exception:  # noqa: BLE001 (as torch has it)
            reached.append("swallowed")

    with pytest.raises(LateError):
        signals.passing(work)
    assert not reached
    assert signal.getsignal(signal.SIGUSR1) is _raising


def test_what_catches_everything_delays_it_only(handlers):
    signal.signal(signal.SIGUSR1, _raising)

    def work():
        try:
            signal.raise_signal(signal.SIGUSR1)
        except BaseException:  # noqa: BLE001
            return "caught"

    with pytest.raises(LateError):
        signals.passing(work)


def test_it_is_raised_again_where_something_has_caught_it(handlers):
    signal.signal(signal.SIGUSR1, _raising)
    turns, event = [], threading.Event()

    def work():
        try:
            signal.raise_signal(signal.SIGUSR1)
        except BaseException:  # noqa: BLE001
            turns.append("caught")
        event.wait(30)
        turns.append("never")

    with pytest.raises(LateError):
        signals.passing(work)
    assert turns == ["caught"]


def test_begins_and_ends_of_blocks_are_whole(handlers):
    signal.signal(signal.SIGUSR1, _raising)
    events = []

    class Block:
        def __enter__(self):
            signal.raise_signal(signal.SIGUSR1)
            events.append("begun")

        def __exit__(self, *error):
            events.append("ended")

    def work():
        with Block():
            threading.Event().wait(30)
            events.append("never")

    with pytest.raises(LateError):
        signals.passing(work)
    assert events == ["begun", "ended"]


def test_handlers_wait_for_what_is_held(handlers):
    events = []
    signal.signal(signal.SIGUSR1, lambda number, frame: events.append("called"))

    def work():
        signal.raise_signal(signal.SIGUSR1)
        events.append("worked")
        return 5

    assert signals.held(work) == 5
    assert events == ["worked", "called"]


def test_held_work_in_passing_work(handlers):
    signal.signal(signal.SIGUSR1, _raising)
    events = []

    def inner():
        signal.raise_signal(signal.SIGUSR1)
        events.append("whole")

    def work():
        try:
            signals.held(inner)
        except Exception:  # noqa: BLE001
            events.append("swallowed")

    with pytest.raises(LateError):
        signals.passing(work)
    assert events == ["whole"]


def test_a_handler_that_sets_another_one(handlers):
    def other(number, frame):
        pass

    signal.signal(signal.SIGUSR1, lambda number, frame: signal.signal(number, other))
    signals.passing(signal.raise_signal, signal.SIGUSR1)
    assert signal.getsignal(signal.SIGUSR1) is other


def test_other_exceptions_leave_as_they_are(handlers):
    signal.signal(signal.SIGUSR1, _raising)
    with pytest.raises(ZeroDivisionError):
        signals.passing(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        signals.held(lambda: 1 / 0)
    assert signal.getsignal(signal.SIGUSR1) is _raising


def test_errors_of_handlers_are_known(handlers):
    class Object:
        def method(self, number, frame):
            raise LateError

    def any_number(*args):
        raise LateError

    for handler in (_raising, Object().method, any_number):
        signal.signal(signal.SIGUSR1, handler)
        with pytest.raises(LateError) as found:
            signal.raise_signal(signal.SIGUSR1)
        assert signals.from_handler(found.value)
    with pytest.raises(ZeroDivisionError) as error:
        1 / 0  # noqa: B018
    assert not signals.from_handler(error.value)
