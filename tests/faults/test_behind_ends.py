"""Processes that exit, fork, are interrupted or killed while something is compiled beside them."""

import os
import signal
import time

import children
import interrupting
import pytest
from sweep import tries

pytestmark = [
    pytest.mark.inductor,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.timeout(interrupting.SECONDS),
]

BEHIND = """
npaccel.config.compile = "behind"
def begun(i):
    functions = new_functions(i, SEED)
    for jitted, plain in functions:
        if not np.array_equal(jitted(X), plain(X)):
            raise AssertionError("NumPy hasn't answered")
    return functions
"""

FORKED = f"""{BEHIND}
def attempt(i, delay):
    functions = begun(i)
    time.sleep(delay)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            found = wrong(functions)
            # What is compiled in vain, since what it reads changes, is started over by later calls.
            for _ in range(4):
                npaccel.wait()
                found += wrong(functions)
            found += ["no graph" for jitted, _ in functions if not jitted.report().graphs]
            os.write(writer, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    npaccel.wait()
    return {{"parent": wrong(functions), "child": json.loads(said or b'"hangs"')}}
"""


@pytest.mark.parametrize("imports_compiler", [True, False])
def test_forks(tmp_path, imports_compiler):
    seed = 501 + imports_compiler
    count = tries(2, 20) if imports_compiler else tries(1, 10)
    given = interrupting.instants(count, 1.5 if imports_compiler else 5.0, seed)
    found = interrupting.answers(
        FORKED, given, tmp_path, seed=seed, imports_compiler=imports_compiler
    )
    assert not [one for one in found if one["child"] or one["parent"]]


FORKED_BY_STORE = """
from npaccel._compiler.stored_signatures import StoredSignatures
store = StoredSignatures.store
def forks(self, *args):
    global reader, pid
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        graphs = square.report().graphs
        said = [len(graphs), bool(graphs and graphs[0].uncacheable), square(X).tolist()]
        said.append(len(square.report().graphs))
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    return store(self, *args)
StoredSignatures.store = forks

square, X = npaccel.jit(module.square), np.arange(3.0)
square(X)
os.waitpid(pid, 0)
graph, = square.report().graphs
with open(reader) as pipe:
    answer(child=json.loads(pipe.read()), artifact=bool(graph.artifact), why=graph.uncacheable)
"""


def test_a_child_that_is_forked_while_code_is_stored_has_its_graph(tmp_path, own_cache):
    (tmp_path / "squares.py").write_text("def square(x): return x * x\n")
    script = "import importlib, npaccel\nsys.path.insert(0, sys.argv[1])\n"
    script += "module = importlib.import_module('squares')\n" + FORKED_BY_STORE
    (said,) = children.finish(children.start(script, tmp_path), timeout=120)
    assert said == {"child": [1, True, [0.0, 1.0, 4.0], 1], "artifact": True, "why": ""}


INTERRUPTED = f"""{BEHIND}
signal.signal(signal.SIGINT, signal.default_int_handler)

def attempt(i, delay):
    pid = os.getpid()
    timer = threading.Thread(target=lambda: (time.sleep(delay), os.kill(pid, signal.SIGINT)))
    functions, calls = [], 0
    try:
        timer.start()
        functions = begun(i)
        while True:
            functions[calls % 2][0](X)
            calls += 1
    except KeyboardInterrupt:
        timer.join()
    functions = functions or new_functions(i, SEED)
    found = wrong(functions)
    npaccel.wait()
    found += wrong(functions)
    found += ["no graph" for jitted, _ in functions if not jitted.report().graphs]
    return {{"later": found}}
"""


def test_interrupts(tmp_path):
    given = interrupting.instants(tries(2, 30), 5.0, seed=503)
    found = interrupting.answers(INTERRUPTED, given, tmp_path, seed=503)
    assert not [one for one in found if one["later"]]


#: Functions of a file, of which the cache knows nothing; ends at the given time.
ENDING = """
import importlib, npaccel
folder, name, delay, ending = sys.argv[1:]
with open(os.path.join(folder, name + ".py"), "w") as file:
    for i in range(3):
        file.write(f"def f{i}(x): return x * {i}.5 + abs(x)\\n")
sys.path.insert(0, folder)
module = importlib.import_module(name)
functions = [npaccel.jit(getattr(module, f"f{i}"), compile="behind") for i in range(3)]
x = np.linspace(0, 1, 50)
for function in functions:
    function(x)
begin = time.monotonic()
while time.monotonic() < begin + float(delay):
    functions[0](x)
answer(end=time.monotonic())
if ending == "SIGKILL":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def runs(group):
    """Whether compilers that a child began are left: they lead groups of its session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            if os.getsid(int(pid)) == group:
                found.append(int(pid))
        except ProcessLookupError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="there is no /proc here")  # noqa: PTH112
@pytest.mark.parametrize("ending", ["exit", "SIGKILL"])
def test_ends(tmp_path, own_cache, ending):
    """The exit is clean and soon, no compiler stays, and what is in the cache can be used."""
    for i, (delay,) in enumerate(interrupting.instants(tries(2, 20), 6.0, seed=505)):
        child = children.start(
            "os.setsid()\n" + ENDING,
            tmp_path,
            f"ended_{i}",
            delay,
            ending,
            NPACCEL_CACHE_DIR=str(own_cache),
        )
        out, errors = child.communicate(timeout=100)
        assert errors == ""
        assert child.returncode == (-signal.SIGKILL if ending == "SIGKILL" else 0)
        assert "ANSWER" in out
        end = time.monotonic() + 10
        while runs(child.pid) and time.monotonic() < end:
            time.sleep(0.05)
        assert not runs(child.pid)
    found = children.run(
        """
import importlib, npaccel
sys.path.insert(0, sys.argv[1])
wrong = []
for i in range(int(sys.argv[2])):
    module = importlib.import_module(f"ended_{i}")
    x = np.linspace(0, 1, 50)
    wrong += [not np.allclose(npaccel.jit(f)(x), f(x)) for f in (module.f0, module.f1, module.f2)]
answer(wrong=any(wrong))
""",
        tmp_path,
        i + 1,
        NPACCEL_CACHE_DIR=str(own_cache),
    )
    assert found == {"wrong": False}
