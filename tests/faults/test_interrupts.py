"""Ctrl-C in the first call of a process: nothing is cut in half, and later calls are compiled."""

import os

import children
import interrupting
import pytest
from sweep import tries

pytestmark = [
    pytest.mark.inductor,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
]

INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)

def attempt(i, delay):
    functions = new_functions(i, SEED)
    (jitted, plain), _ = functions
    pid = os.getpid()
    timer = threading.Thread(target=lambda: (time.sleep(delay), os.kill(pid, signal.SIGINT)))
    try:
        timer.start()
        how = "answer" if np.allclose(jitted(X), plain(X), rtol=1e-12) else "wrong"
        timer.join()
        time.sleep(0.1)
    except KeyboardInterrupt:
        how = "interrupt"
    timer.join()
    return {"how": how, "later": wrong(functions)}
"""


@pytest.mark.timeout(interrupting.SECONDS)
def test_interrupts_of_a_first_call(tmp_path):
    given = interrupting.instants(tries(3, 60), 5.0, seed=301)
    found = interrupting.answers(INTERRUPTED, given, tmp_path, seed=301)
    assert not [one for one in found if one["how"] not in ("answer", "interrupt") or one["later"]]
    assert any(one["how"] == "interrupt" for one in found)


def test_an_interrupt_ends_the_cpp_compiler():
    """The handler is called while g++ hangs, in the calling thread or another one."""
    found = children.run_prepared("""
import subprocess, npaccel
from npaccel._torch.inductor import cpp_compilers as compilers

def hanging():
    return subprocess.run(["pgrep", "-f", MARK], capture_output=True).returncode == 0

def run(command, *args, **options):
    if any(part.endswith(".cpp") for part in command):
        command = ["/bin/sh", "-c", f"{MARK} & wait"]
    return original(command, *args, **options)

def interrupt():
    while not hanging():
        time.sleep(0.02)
    begin.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

MARK = f"sleep 1{os.getpid()}.5"
begin = []
signal.signal(signal.SIGINT, signal.default_int_handler)
original, compilers.run = compilers.run, run
function = npaccel.jit(lambda x: np.sin(x) * 4.625 + 1)
threading.Thread(target=interrupt).start()
try:
    function(np.ones(3))
except KeyboardInterrupt:
    seconds = time.perf_counter() - begin[0]
left = hanging()
compilers.run = original
value = function(np.ones(3))
answer(seconds=seconds, left=left, right=bool(np.allclose(value, np.sin(1.0) * 4.625 + 1)),
       uncompiled=[one.reason for one in function.report().fallbacks])
""")
    assert found.pop("seconds") < 10
    assert found == {"left": False, "right": True, "uncompiled": []}


@pytest.mark.parametrize("ending", ["SIGKILL", "SIGTERM"])
def test_a_compiler_ends_with_the_process(tmp_path, ending):
    compilers = tmp_path / "running"
    child = children.start(
        """
from npaccel._torch.inductor import cpp_compilers as compilers
ending, file = sys.argv[1:]
program = f"echo $$ > {file}.part; mv {file}.part {file}; sleep 1000 & wait"
thread = threading.Thread(target=compilers.run, args=(["/bin/sh", "-c", program],))
thread.start()
while not os.path.exists(file):
    time.sleep(0.02)
os.kill(os.getpid(), getattr(signal, ending))
""",
        ending,
        compilers,
    )
    child.communicate(timeout=100)
    group = int(compilers.read_text())
    assert interrupting.ends(os.getpgid, group)
