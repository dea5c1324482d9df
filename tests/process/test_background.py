"""The thread that compiles beside the program, and the interpreter that both need."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from npaccel._process import background


@pytest.fixture
def usual():
    """Return how often Python switches threads, with nothing in the helper thread's hands."""
    assert background.wait(timeout=120)
    before = sys.getswitchinterval()
    yield before
    background.wait(timeout=120)
    sys.setswitchinterval(before)


def test_work_goes_on_beside_a_loop_of_python(usual):
    """Each file that an import looks for hands the interpreter over, and waits to get it back."""
    start = time.perf_counter()
    here = Path()
    background.begin(lambda: [here.stat() for _ in range(2000)])
    while not background.is_idle():
        pass
    assert time.perf_counter() - start < 2000 * usual / 2


def test_the_interval_is_the_programs_again(usual):
    inside = []
    background.begin(lambda: inside.append(sys.getswitchinterval()))
    assert background.wait(timeout=60)
    assert inside == [pytest.approx(background._SWITCH_INTERVAL)]
    assert sys.getswitchinterval() == usual


@pytest.mark.parametrize("seconds", [1e-5, 0.1])
def test_an_interval_of_the_programs_own_stays(usual, seconds):
    sys.setswitchinterval(seconds)
    background.begin(lambda: None)
    assert background.wait(timeout=60)
    assert sys.getswitchinterval() == pytest.approx(seconds)

    begun, hold = threading.Event(), threading.Event()
    background.begin(lambda: (begun.set(), hold.wait()))
    assert begun.wait(60)
    sys.setswitchinterval(seconds)
    hold.set()
    assert background.wait(timeout=60)
    assert sys.getswitchinterval() == pytest.approx(seconds)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_switches_as_usual(usual):
    begun, hold = threading.Event(), threading.Event()
    background.begin(lambda: (begun.set(), hold.wait()))
    assert begun.wait(60)
    assert sys.getswitchinterval() < usual
    child = os.fork()
    if not child:
        os._exit(0 if sys.getswitchinterval() == usual else 1)
    hold.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
