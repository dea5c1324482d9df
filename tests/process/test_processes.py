"""Forked, spawned and pooled processes."""

import os
import sys

import children
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# What every script below computes: big enough for a parallel region.
SUBJECT = """
import npaccel, torch
from npaccel._process import fork as _fork

@npaccel.jit
def wave(x):
    return np.sin(x) * 2 + 1

def plain(x):
    return np.sin(x) * 2 + 1

X = np.linspace(0.0, 6.0, 300_000)

def right(function=wave, x=X):
    return bool(np.allclose(function(x), plain(x), rtol=1e-13))

def threads():
    return len(os.listdir("/proc/self/task"))

def fork():
    while True:
        try:
            return os.fork()
        except RuntimeError as error:  # filelock refuses while another thread forks.
            if "filelock" not in str(error):
                raise
            time.sleep(0.001)

def forked(work, seconds=100):
    '''What a forked child answers; None if it hangs or fails.'''
    reader, writer = os.pipe()
    pid = fork()
    if pid == 0:
        signal.alarm(seconds)
        try:
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(data) if data else None
"""


def run(source):
    return children.run_prepared(SUBJECT + source)


def run_new(source):
    """Run it where the compiler isn't imported yet."""
    return children.run(SUBJECT + source, OMP_NUM_THREADS="2")


@pytest.mark.inductor
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_forked_child_computes_and_compiles():
    found = run("""
first = right()
@npaccel.jit
def later(x):
    return np.sin(x) * 2 + (np.cos(x) - np.cos(x) + 1)

def child():
    first = right()
    for _ in range(100):  # Where the machine is busy a call may not wait for threads.
        if threads() == 1:
            right()
    return [first, threads(), right(later), forked(right)]

answer(parent=[first, right(), right(later)], parallel=threads() > 1,
       children=[forked(child), forked(right)], after=right())
""")
    assert found["parent"] == [True] * 3
    assert found["children"][0][0] is True
    assert found["children"][0][2:] == [True, True]
    assert found["children"][1] is True
    assert found["after"]
    if found["parallel"]:
        assert found["children"][0][1] > 1  # The child computes with more than one thread too.


@pytest.mark.inductor
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_child_of_an_old_libgomp_computes_with_one_thread():
    found = run("""
_fork._dissolve = lambda library: False
answer(parent=right(), child=forked(lambda: [right(), threads()], 60), after=right())
""")
    assert found == {"parent": True, "child": [True, 1], "after": True}


@pytest.mark.inductor
def test_fork_from_and_during_a_thread():
    found = run("""
def in_thread():
    return right() and forked(right)

results = []
thread = threading.Thread(target=lambda: results.append(in_thread()))
thread.start()
thread.join()

# Another thread is in the middle of a compilation when this one forks.
@npaccel.jit
def slow(x):
    return np.sin(x) * 2 + (np.cos(x) * 0 + 1)
compiling = threading.Thread(target=lambda: results.append(right(slow)))
compiling.start()
def is_compiling():
    for dispatcher in slow._npaccel_dispatchers.values():
        if not dispatcher._lock.acquire(blocking=False):
            return True
        dispatcher._lock.release()
    return False

while not is_compiling():
    time.sleep(0.001)
child = forked(lambda: right(slow))
compiling.join()
answer(results=results, child=child)
""")
    assert found == {"results": [True, True], "child": True}


@pytest.mark.inductor
def test_forks_while_a_thread_computes():
    found = run("""
right()
stop, results = threading.Event(), []

def compute():
    while not stop.is_set():
        results.append(right())

thread = threading.Thread(target=compute)
thread.start()
children = [forked(right, 30) for _ in range(20)]
stop.set()
thread.join()
answer(results=all(results), some=bool(results), children=children)
""")
    assert found == {"results": True, "some": True, "children": [True] * 20}


def test_threads_that_compile_and_end():
    """Without a GPU, torch that is built for CUDA keeps what belongs to the first of them."""
    found = run_new("""
results = []
for _ in range(3):
    function = npaccel.jit(plain, backend="eager")
    thread = threading.Thread(target=lambda: results.append(right(function)))
    thread.start()
    thread.join()
answer(results=results, main=right(npaccel.jit(plain, backend="eager")))
""")
    assert found == {"results": [True] * 3, "main": True}


def test_fork_while_a_thread_imports_the_compiler():
    found = run_new("""
wave = npaccel.jit(plain, backend="eager")
results = []
thread = threading.Thread(target=lambda: results.append(right(wave)))
thread.start()
while "torch._dynamo" not in sys.modules:
    time.sleep(0.001)
child = forked(lambda: right(wave), 60)
thread.join()
answer(results=results, child=child)
""")
    assert found == {"results": [True], "child": True}


def test_a_child_does_not_inherit_held_locks():
    found = run("""
wave = npaccel.jit(plain, backend="eager")
right(wave)
dispatcher = next(iter(wave._npaccel_dispatchers.values()))
ready, done = threading.Event(), threading.Event()

def holding():
    with dispatcher._lock, dispatcher.spec.log.lock:
        ready.set()
        done.wait()

thread = threading.Thread(target=holding)
thread.start()
ready.wait()
child = forked(lambda: right(wave, np.ones((3, 4), np.float32)[0]), 20)
done.set()
thread.join()
answer(child=child)
""")
    assert found["child"] is True


def test_forks_in_several_threads_at_once():
    found = run("""
wave = npaccel.jit(plain, backend="eager")
right(wave)
results = []
threads_ = [threading.Thread(target=lambda: results.extend(forked(lambda: right(wave), 60)
                                                           for _ in range(3))) for _ in range(4)]
for thread in threads_:
    thread.start()
for thread in threads_:
    thread.join()
answer(results=results, left=len(_fork._forking))
""")
    assert found == {"results": [True] * 12, "left": 0}


def test_what_a_child_removes_at_its_exit(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    found = run(f"""
import shutil
_fork.at_exit(shutil.rmtree, {str(folder)!r})
pid = os.fork()
if pid == 0:
    sys.exit()
os.waitpid(pid, 0)
answer(there=os.path.exists({str(folder)!r}))
""")
    assert found["there"]
    assert not folder.exists()


def test_a_lock_that_cannot_be_had_is_new_in_the_child():
    found = run("""
lock = threading.Lock()
_fork.hold(lock)
_fork._PATIENCE = 0.01
lock.acquire()
answer(child=forked(lambda: lock.acquire(blocking=False)), parent=lock.locked())
""")
    assert found == {"child": True, "parent": True}


def test_a_fork_waits_for_locks_from_the_outside_in():
    found = run("""
outer, inner = threading.RLock(), threading.RLock()
_fork.hold(inner)
_fork.hold(outer, around_others=True)
has_outer = threading.Event()

def nested():
    with outer:
        has_outer.set()
        time.sleep(0.5)  # The fork has begun by then.
        with inner:
            time.sleep(0.1)

thread = threading.Thread(target=nested)
thread.start()
has_outer.wait()
begin = time.perf_counter()
child = forked(lambda: outer.acquire(blocking=False) and inner.acquire(blocking=False))
seconds = time.perf_counter() - begin
thread.join()
answer(child=child, waited=0.3 < seconds < 20)
""")
    assert found == {"child": True, "waited": True}


SCRIPT = """
import os, signal, sys
import multiprocessing, concurrent.futures
import numpy as np
import work

def main():
    signal.alarm(200)
    X = np.linspace(0.0, 6.0, 300_000)
    expected = work.plain(X)
    assert np.allclose(work.wave(X), expected, rtol=1e-13)
    parts = [X[:100_000].copy(), X[100_000:].copy()]
    for method in sys.argv[1:]:
        if method != "fork":  # New processes find it on disk; forked ones compile it.
            assert all(np.allclose(work.wave(part), work.plain(part)) for part in parts)
            assert np.allclose(work.Scaled(3.0).compute(X), X * 3.0)
            assert np.allclose(work.Scaled(3.0).compute(parts[0]), parts[0] * 3.0)
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            got = list(pool.map(work.wave, parts))
            own = list(pool.map(work.Scaled(3.0).compute, parts))
        assert np.allclose(np.concatenate(got), expected, rtol=1e-13), method
        assert np.allclose(np.concatenate(own), X * 3.0, rtol=1e-13), method
        with context.Pool(1) as pool:
            assert np.allclose(pool.apply(work.wave, (X,)), expected, rtol=1e-13), method
    print("ANSWER", '{"done": true}')

if __name__ == "__main__":
    main()
"""

WORK = """
import numpy as np, npaccel

@npaccel.jit
def wave(x):
    return np.sin(x) * 2 + 1

def plain(x):
    return np.sin(x) * 2 + 1

class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @npaccel.jit
    def compute(self, x):
        return x * self.factor
"""


@pytest.mark.inductor
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools(tmp_path, method):
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "main.py").write_text(SCRIPT)
    source = f"import runpy; sys.argv = ['main.py', {method!r}]; sys.path.insert(0, '.')\n"
    source += "runpy.run_path(MAIN, run_name='__main__')".replace(
        "MAIN", repr(str(tmp_path / "main.py"))
    )
    assert children.run_prepared(source, path=tmp_path) == {"done": True}


@pytest.mark.inductor
def test_joblib():
    found = run("""
import joblib

class Model:
    def __init__(self, factor):
        self.factor = factor

    @npaccel.jit(backend="eager")
    def scale(self, x):
        return x * self.factor

def closure(k):
    @npaccel.jit(backend="eager")
    def inner(x):
        return x * k
    return inner

triple = closure(3.0)
double = npaccel.jit(lambda x: x * 2.0, backend="eager")
first = right()
results = {}
for backend in ("loky", "threading"):
    with joblib.parallel_backend(backend, n_jobs=2):
        jobs = [joblib.delayed(f)(X) for f in (wave, triple, double, Model(4.0).scale) * 2]
        got = joblib.Parallel()(jobs)
    expected = [plain(X), X * 3.0, X * 2.0, X * 4.0] * 2
    results[backend] = [bool(np.allclose(g, e, rtol=1e-13)) for g, e in zip(got, expected)]
answer(first=first, **results)
""")
    assert found == {"first": True, "loky": [True] * 8, "threading": [True] * 8}
