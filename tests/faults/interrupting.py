"""First calls that are cut short, each in a fork of its own: what such tests share.

The parent has imported NumPy, torch and npaccel, and with `imports_compiler` the compiler too. It
forks for each try, so that all begin alike; what a fork answers is printed as `answer` does.
"""

import json
import random
import time

import children

SUBJECT = """
import contextlib, importlib, tempfile, traceback
import torch, npaccel

warnings.simplefilter("ignore")
X = np.linspace(0.0, 1.0, 50)

def new_functions(i, seed):
    '''Two functions of a file, which nobody has compiled before.'''
    name = f"made_{seed}_{i}"
    with open(os.path.join(FOLDER, name + ".py"), "w") as file:
        file.write(
            "import numpy as np\\n"
            f"def first(x): return np.sin(x) * {i}.{seed} + np.cos(x)\\n"
            f"def second(x): return np.sqrt(x) * {i}.{seed} + x\\n"
        )
    sys.path.insert(0, FOLDER)
    module = importlib.import_module(name)
    return [(npaccel.jit(f), f) for f in (module.first, module.second)]

def wrong(functions):
    '''What isn't as it should be in calls of functions: two calls each.'''
    found = []
    for jitted, plain in functions:
        for _ in range(2):
            try:
                if not np.allclose(jitted(X), plain(X), rtol=1e-12):
                    found.append("another result")
            except BaseException as error:
                found.append(f"{type(error).__name__}: {error}"[:200])
        found += [fallback.reason for fallback in jitted.report().fallbacks]
    return found

def in_forks(work, tries):
    for i, given in enumerate(tries):
        with tempfile.TemporaryFile("w+") as errors:
            pid = os.fork()
            if pid == 0:
                os.dup2(errors.fileno(), 2)
                signal.alarm(100)
                try:
                    answer(given=given, **work(i, *given))
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(0)
            _, status = os.waitpid(pid, 0)
            errors.seek(0)
            # Builds of torch for CUDA say so where there is no GPU.
            said = "".join(line for line in errors if "No CUDA runtime is found" not in line)
        if status or said:
            answer(given=given, status=status, said=said[-2000:])
"""
#: What a test of all instants may take.
SECONDS = 3600


def instants(count, longest, seed):
    """Return random seconds, a third of them in the first twentieth."""
    rng = random.Random(seed)
    return [[rng.random() * longest / (20 if i % 3 == 0 else 1)] for i in range(count)]


def answers(source, tries, folder, *, seed, imports_compiler=False):
    """Run `attempt(i, *given)`, which a script defines, in a fork for each try."""
    script = f"""
signal.alarm(0)
FOLDER, SEED = {str(folder)!r}, {seed}
{SUBJECT}
{source}
in_forks(attempt, json.loads({json.dumps(json.dumps(tries))}))
"""
    timeout = 60 + 100 * len(tries)
    if imports_compiler:
        found = children.answers_of_prepared(script, timeout=timeout, OMP_NUM_THREADS="1")
    else:
        child = children.start(script, OMP_NUM_THREADS="1")
        found = children.finish(child, timeout=timeout)
    failed = [one for one in found if one.get("status") or one.get("said")]
    assert not failed, failed
    assert len(found) == len(tries), found
    return found


def ends(look, pid, seconds=10):
    """Whether a process is gone soon."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            look(pid)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
