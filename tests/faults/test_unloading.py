"""What is compiled and dropped again is gone: libraries, modules, and what torch keeps."""

import gc
import threading
import types
import weakref
from pathlib import Path

import children
import numpy as np
import pytest
import sweep

import npaccel
from npaccel._runtime.torch import libraries
from npaccel._torch.patching import is_release

pytestmark = pytest.mark.inductor

HELPERS = """
signal.alarm(3000)
import gc, types
import npaccel
gc.unfreeze()  # All objects are counted, those of the prepared process too.

def mappings():
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)

def megabytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmRSS"))

def state():
    gc.collect()
    return [mappings(), megabytes()]

def of_source(source, number, **options):
    namespace = {"np": np}
    exec(source.replace("NUMBER", str(number)), namespace)
    return npaccel.jit(namespace["f"], **options)
"""

FROM_DISK = """
def f(x):
    return np.sin(x) + x[::2].sum()

x = np.arange(6.0)
wanted = f(x)
npaccel.jit(f, default_float="float64")(x)
for number in range(int(sys.argv[1])):
    # Another function object each time; the artifact is there.
    jitted = npaccel.jit(types.FunctionType(f.__code__, globals()), default_float="float64")
    assert np.allclose(jitted(x), wanted)
    if number == 40:
        before = state()
loaded = [graph.loaded for graph in jitted._npaccel_log.graphs]
answer(before=before, after=state(), loaded=loaded)
"""


def test_functions_from_disk_leave_no_library():
    count = sweep.tries(200, 20_000)
    got = children.run_prepared(HELPERS + FROM_DISK, count, OMP_NUM_THREADS="1", timeout=1500)
    assert got["loaded"] == [True]
    assert got["after"][0] <= got["before"][0] + 10, got
    assert got["after"][1] <= got["before"][1] + 30, got


COMPILED = """
SOURCE = '''
def f(x):
    return np.sin(x) * NUMBER + x[::2].sum()
'''
x = np.arange(6.0)
for number in range(int(sys.argv[1])):
    jitted = of_source(SOURCE, number + 2, default_float="float64", cache=False)
    wanted = np.sin(x) * (number + 2) + x[::2].sum()
    assert np.allclose(jitted(x), wanted)
    del jitted
    if number == int(sys.argv[1]) // 4:
        before = state()
answer(before=before, after=state())
"""


def test_functions_that_are_compiled_leave_no_library():
    count = sweep.tries(5, 200)
    got = children.run_prepared(HELPERS + COMPILED, count, timeout=1500)
    assert got["after"][0] <= got["before"][0] + 10, got
    assert got["after"][1] <= got["before"][1] + 30, got


BROKEN = """
import functools

SOURCE = '''
def f(x):
    y = np.sin(x) * NUMBER
    print(end="")
    return y + NUMBER
'''
warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)

def objects():
    "How many there are, but for those in caches, which are bounded."
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper:
            one.cache_clear()
    gc.collect()
    return len(gc.get_objects())

count, sizes = int(sys.argv[1]), range(6, 6 + int(sys.argv[3]))
for number in range(2, count + 2):
    jitted = of_source(SOURCE, number, default_float="float64", cache=False, backend=sys.argv[2])
    for size in sizes:
        x = np.arange(float(size))
        assert np.allclose(jitted(x), np.sin(x) * number + number)
    del jitted
    if number == 1 + count // 2:
        before = *state(), objects()
answer(before=before, after=(*state(), objects()))
"""


@pytest.mark.parametrize(
    ("backend", "sizes", "objects"),
    [
        ("eager", 1, 50),
        ("eager", 3, 600),  # torch keeps what was symbolic.
        ("inductor", 1, 6000),  # So much is imported late.
    ],
)
def test_functions_with_graph_breaks_leave_little(backend, sizes, objects):
    count = sweep.tries(12, 4000) if backend == "eager" else sweep.tries(2, 200)
    got = children.run_prepared(HELPERS + BROKEN, count, backend, sizes, timeout=3000)
    assert got["after"][0] <= got["before"][0] + 10, got
    assert got["after"][1] <= got["before"][1] + max(30, count // 50), got
    if is_release("2.11-2.12"):
        objects *= 4  # Guards of graphs that end at a break hold empty stacks there.
    assert got["after"][2] <= got["before"][2] + objects * max(count // 2, 1), got


CALLED = """
import contextvars

def f(x):
    y = np.sin(x) * 2
    print(end="")
    return y + 1

warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
jitted = npaccel.jit(f, default_float="float64", cache=False, backend="eager")
for number in range(40):
    jitted(np.arange(6.0))
    if number == 10:
        before = len(contextvars.copy_context())
answer(before=before, after=len(contextvars.copy_context()))
"""


def test_calls_leave_no_context_variable():
    got = children.run_prepared(HELPERS + CALLED)
    assert got["after"] == got["before"]


KINDS = {
    "one_graph": "def f(x):\n    return np.sin(x) * NUMBER",
    "side_effects": "found = []\ndef f(x):\n    found.append(NUMBER)\n    return x * NUMBER",
    "uncaptured": "def f(x):\n    yield x * NUMBER",
    "error": "def f(x):\n    return x[NUMBER + 100]",
    "written": "def f(x):\n    x += NUMBER\n    return x",
    "breaks": "def f(x):\n    y = np.sin(x) * NUMBER\n    print(end='')\n    return y + NUMBER",
}


def dispatchers_of(jitted):
    return [weakref.ref(dispatcher) for dispatcher in jitted._npaccel_dispatchers.values()]


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_function_leaves_no_dispatcher(kind, backend):
    gone = []
    for number in range(2, sweep.tries(4, 40)):
        namespace = {"np": np}
        exec(KINDS[kind].replace("NUMBER", str(number)), namespace)
        jitted = npaccel.jit(namespace["f"], backend=backend, cache=False)
        with np.errstate(all="ignore"):
            try:
                jitted(np.arange(6.0))
            except IndexError:
                assert kind == "error"
        gone += dispatchers_of(jitted)
        del jitted, namespace
    gc.collect()
    assert gone
    assert [one for one in gone if one() is not None] == []


def library_of(tmp_path, monkeypatch):
    """Return the library of a function that is on disk."""
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path))
    jitted = npaccel.jit(lambda x: np.sin(x) * 3, default_float="float64")
    jitted(np.arange(6.0))
    (path,) = tmp_path.rglob("kernel0.so")
    return path


def is_mapped(path):
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.fixture
def library(tmp_path, monkeypatch):
    path = library_of(tmp_path, monkeypatch)
    gc.collect()
    assert not is_mapped(path)
    return path


def test_a_library_stays_as_long_as_one_of_its_kernels(library):
    kernels = libraries.load_kernels(library)
    again = libraries.load_kernels(library)
    assert libraries.path_of(kernels[0]) == library
    del kernels
    assert is_mapped(library)
    x, out = np.arange(6.0), np.empty(6)
    again[0](x, out)
    np.testing.assert_allclose(out, np.sin(x) * 3)
    del again
    assert not is_mapped(library)


def test_kernels_in_a_cycle_of_garbage(library):
    """Finalizers of garbage run while all of it is still there, and may even call kernels."""
    called = []

    class Last:
        def __del__(self):
            out = np.empty(6)
            self.kernels[0](np.arange(6.0), out)
            called.append(out)

    for _ in range(20):
        last = Last()
        last.kernels = libraries.load_kernels(library)
        last.scope = {"self": last, "kernel": last.kernels[0]}
        del last
        gc.collect()
        np.testing.assert_allclose(called.pop(), np.sin(np.arange(6.0)) * 3)
    assert not is_mapped(library)


def test_arrays_hide_what_they_hold_from_the_garbage_collector(library):
    """If they don't any more, no library is unloaded, and another way must be found."""
    (kernel,) = libraries.load_kernels(library)
    assert not gc.is_tracked(kernel.__self__)
    assert libraries._never_unloaded == []


def test_threads_that_load_run_and_drop(library):
    errors = []

    def work():
        try:
            for _ in range(sweep.tries(100, 3000)):
                (kernel,) = libraries.load_kernels(library)
                out = np.empty(6)
                kernel(np.arange(6.0), out)
                np.testing.assert_allclose(out, np.sin(np.arange(6.0)) * 3)
        except Exception as error:  # noqa: BLE001 (looked at below)
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert not is_mapped(library)


PARALLEL = """
def f(x):
    return np.sin(x) * 2

x = np.ones(1 << 20)
def runtimes():
    return sum("gomp" in line or "libomp" in line for line in open("/proc/self/maps"))

for number in range(5):
    jitted = npaccel.jit(types.FunctionType(f.__code__, globals()), default_float="float64")
    assert np.allclose(jitted(x), f(x))
    del jitted
    gc.collect()
    before = before if number else runtimes()
answer(before=before, after=runtimes())
"""


def test_the_runtime_of_threads_stays():
    got = children.run_prepared(HELPERS + PARALLEL, OMP_NUM_THREADS="2")
    assert got["before"] == got["after"] > 0


def test_results_outlive_their_library(tmp_path, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path))
    jitted = npaccel.jit(lambda x: (np.sin(x), x[::2] * 2), default_float="float64")
    results = jitted(np.arange(6.0))
    del jitted
    gc.collect()
    np.testing.assert_allclose(results[0], np.sin(np.arange(6.0)))
    np.testing.assert_allclose(results[1], np.arange(6.0)[::2] * 2)


def test_keys_of_functions_that_nobody_uses_are_dropped():
    from npaccel._runtime import arguments

    start = len(arguments._function_keys)
    for number in range(3 * arguments._MANY):
        code = compile(f"lambda x: x + {number}", "<test>", "eval").co_consts[0]
        arguments.token(types.FunctionType(code, {}))
    assert len(arguments._function_keys) <= start + arguments._MANY + 1


def test_classes_that_are_made_again_and_again_are_dropped():
    from npaccel._runtime import arguments

    for number in range(3 * arguments._MANY):
        made = type(f"Made{number}", (), {})()
        assert arguments.call_token(made) == arguments.token(made)
    assert len(arguments._TOKENS) <= arguments._MANY
    assert len(arguments._CALL_TOKENS) <= arguments._MANY
    assert arguments.token(1.5) == (float, 1.5)
