"""Two processes on a machine don't compile the same thing."""

import threading
import time
from pathlib import Path

import children
import pytest
import sweep

import npaccel
from npaccel._cache import claims
from npaccel._cache.store import cache_key, scratch_dir

NAME = cache_key("a signature")

HOLDER = """
from npaccel._cache import claims
claim = claims.claim(sys.argv[1])
answer(has=claim is not None)
time.sleep(100)
"""


@pytest.fixture
def holder():
    """Another process that has claimed the name."""
    child = children.start(HOLDER, NAME, path=None)
    line = child.stdout.readline()
    assert '"has": true' in line
    yield child
    child.kill()
    child.communicate()


def test_one_has_it_until_it_is_released():
    claim = claims.claim(NAME)
    assert claims.claim(NAME) is None  # This process has it already.
    claim.release()
    claim.release()
    again = claims.claim(NAME)
    assert again is not None
    again.release()
    assert not (Path(scratch_dir("claims")) / NAME).exists()


def test_another_process_has_it(holder):
    with pytest.raises(claims.TakenError):
        claims.claim(NAME)
    timer = threading.Timer(0.3, holder.kill)
    timer.start()
    start = time.monotonic()
    own, has_waited = claims.waited_for(NAME)
    assert has_waited
    assert time.monotonic() - start < 20
    own.release()
    own, has_waited = claims.waited_for(NAME)
    assert not has_waited
    own.release()


def test_patience_ends(holder, monkeypatch):
    monkeypatch.setattr(claims, "PATIENCE", 0.1)
    assert claims.waited_for(NAME) == (None, False)


def test_without_a_folder(monkeypatch):
    monkeypatch.setattr(claims, "scratch_dir", lambda name: None)
    assert claims.waited_for(NAME) == (None, False)
    assert claims.waited_for(None) == (None, False)
    with claims.claimed(NAME), claims.claimed(NAME):
        pass


COMPILES = """
import npaccel

f = npaccel.jit(lambda x: np.exp(x) * 3.0 - np.sqrt(x), compile=sys.argv[1])
for _ in range(10_000):
    result = f(np.ones(5000))
    time.sleep(0.01)
    if f.report().graphs:
        break
answer(loaded=[graph.loaded for graph in f.report().graphs], result=float(result[0]))
"""


@pytest.mark.inductor
@pytest.mark.parametrize("when", ["now", "behind"] if sweep.FULL else ["now"])
def test_one_of_two_processes_compiles(when, tmp_path):
    npaccel.wait()
    folder = {"NPACCEL_CACHE_DIR": str(tmp_path)}
    both = [children.start(COMPILES, when, **folder) for _ in range(2)]
    answers = [children.finish(child)[-1] for child in both]
    assert sorted(answer["loaded"] for answer in answers) == [[False], [True]]
    assert answers[0]["result"] == answers[1]["result"]
