"""A child that is forked in the middle of another thread's first call computes."""

import os
import re
from pathlib import Path

import children
import interrupting
import pytest
from sweep import tries

import npaccel

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

FORKED = """
sys.setswitchinterval(1e-4)

def attempt(i, delay):
    functions = new_functions(i, SEED)
    (jitted, plain), _ = functions
    results = []
    calling = threading.Thread(target=lambda: results.append(np.allclose(jitted(X), plain(X))))
    calling.start()
    time.sleep(delay)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            os.write(writer, json.dumps(wrong(functions)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    calling.join()
    return {"thread": bool(results and results[0]), "child": json.loads(said or b'"hangs"')}
"""


@pytest.mark.inductor
@pytest.mark.parametrize("imports_compiler", [True, False])
@pytest.mark.timeout(interrupting.SECONDS)
def test_forks_in_a_first_call_of_another_thread(tmp_path, imports_compiler):
    seed = 304 + imports_compiler
    count = tries(3, 40) if imports_compiler else tries(1, 20)
    given = interrupting.instants(count, 1.0 if imports_compiler else 4.0, seed)
    found = interrupting.answers(
        FORKED, given, tmp_path, seed=seed, imports_compiler=imports_compiler
    )
    assert not [one for one in found if one["child"] != [] or not one["thread"]]


def test_no_lock_is_unknown_to_forks():
    """Those of `functools.cached_property` are; those of modules are held, of objects renewed."""
    sources = {path: path.read_text() for path in Path(npaccel.__file__).parent.rglob("*.py")}
    assert not [path for path, text in sources.items() if "@functools.cached_property" in text]
    unknown = []
    for path, text in sources.items():
        made = re.findall(r"^(\w+) = threading\.R?Lock\(\)", text, re.MULTILINE)
        known = re.findall(r"\bfork\.hold\((\w+)[,)]", text)
        renewed = re.findall(r"^    (\w+) = threading\.R?Lock\(\)", text, re.MULTILINE)
        unknown += [(path.name, name) for name in made if name not in [*known, *renewed]]
    assert unknown == [("fork.py", "importing")]  # which is the first that it holds


def test_a_fork_waits_for_locks_in_any_order():
    """Two threads take two locks in different orders, one after the other."""
    found = children.run_prepared("""
from npaccel._process import fork as _fork
first, second = threading.RLock(), threading.RLock()
_fork.hold(first)
_fork.hold(second)
taken = threading.Event()

def nested():
    with second:
        taken.set()
        time.sleep(0.3)  # The fork has begun by then.
        with first:
            time.sleep(0.1)

thread = threading.Thread(target=nested)
thread.start()
taken.wait()
begin = time.perf_counter()
pid = os.fork()
if pid == 0:
    os._exit(0 if first.acquire(blocking=False) and second.acquire(blocking=False) else 1)
seconds = time.perf_counter() - begin
_, status = os.waitpid(pid, 0)
thread.join()
answer(status=status, soon=seconds < 20)
""")
    assert found == {"status": 0, "soon": True}
