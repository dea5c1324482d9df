"""What every test may ask for: a device, a backend, a cache folder of the run's own."""

import collections
import compileall
import gc
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

#: Of so many tests that carry the marker `sampled` one is taken, without NPACCEL_TEST_SWEEP: of
#: those of one function, or of a module's where a function has fewer. Every other one of what is
#: taken runs.
SAMPLED = 5
# Set before anything imports npaccel, which reads it once. The workers of
# pytest-xdist inherit the controller's folder: the cache is made to be shared.
IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
if not IS_WORKER:
    os.environ["NPACCEL_CACHE_DIR"] = tempfile.mkdtemp(prefix="npaccel-tests-")
os.environ.pop("NPACCEL_DISABLE", None)
# What is tested is compiled code. With the default NumPy would make most of the calls.
os.environ["NPACCEL_COMPILE"] = "now"
CACHE_DIR = Path(os.environ["NPACCEL_CACHE_DIR"])
# Threads that spin until there is work keep the other worker's from theirs.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def pytest_configure():
    """Write the package's bytecode, if it isn't there: children don't, and would all compile it."""
    if not IS_WORKER:
        package = Path(__file__).resolve().parents[1] / "npaccel"
        compileall.compile_dir(package, quiet=2)


def pytest_unconfigure():
    """Remove the run's cache folder, once all workers are done."""
    if not IS_WORKER:
        shutil.rmtree(CACHE_DIR, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without looking for garbage, nor ever again among what has been collected.

    Each look would go through a million objects: it took a quarter of the collection. Later ones
    are rarer than Python has them: captures make many objects that stay for a while.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)


def pytest_collection_modifyitems(config, items):
    """Refuse names that differ between the workers: they stop with all tests undone.

    And leave most of the tests that carry `sampled` out.
    """
    named = [item.nodeid for item in items if re.search(r" at 0x[0-9a-fA-F]+", item.nodeid)]
    if named:
        raise pytest.UsageError(f"addresses in names of tests, which need `ids=`: {named[:3]}")
    if os.environ.get("NPACCEL_TEST_SWEEP"):
        for item in items:  # Some try hundreds of processes.
            item.add_marker(pytest.mark.timeout(7200))
        return
    sampled = [item for item in items if item.get_closest_marker("sampled")]
    of_function = collections.Counter(function_of(item) for item in sampled)
    seen, taken = collections.Counter(), collections.Counter()
    left_out = []
    for item in sampled:
        function = function_of(item)
        group = item.path if of_function[function] < SAMPLED else function
        # The place in each group of so many moves on: parameters come again at regular intervals.
        if (seen[group] + seen[group] // SAMPLED) % SAMPLED:
            left_out.append(item)
        else:
            taken[group] += 1
            if taken[group] % 2 == 0:
                left_out.append(item)
        seen[group] += 1
    if len(items) > SAMPLED:  # What is asked for by its name runs.
        config.hook.pytest_deselected(items=left_out)
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """End a worker that can't use its GPU any more: an assertion failed there. Another starts."""
    report = yield
    if report.failed and item.get_closest_marker("cuda") and IS_WORKER:
        import torch

        try:
            torch.cuda.synchronize()
        except RuntimeError:
            print(f"{item.nodeid}: {call.excinfo.value}", file=sys.__stderr__, flush=True)
            os._exit(1)
    return report


def function_of(item):
    """Return the name of a test without its parameters."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(scope="session")
def cache_dir():
    """Return the folder that this run's artifacts are kept in (mode 0700)."""
    return CACHE_DIR


@pytest.fixture(scope="session")
def header_folder():
    """Return the folder of torch's header, which a process makes in eight seconds for float16."""
    import children  # It imports npaccel.

    script = "import npaccel\nnpaccel.jit(lambda x: x + 1)(np.ones(3, 'e'))\nanswer()"
    made = CACHE_DIR / "scratch" / "inductor" / "precompiled_headers"
    if not list(made.glob("*.gch")):
        children.run_prepared(script)
    return made


@pytest.fixture
def own_cache(tmp_path, header_folder):
    """Return a folder for a cache that holds no artifact, but torch's header."""
    made = header_folder
    folder = tmp_path / "cache"
    for part in (folder, folder / "scratch", folder / "scratch" / "inductor"):
        part.mkdir(mode=0o700)
    kept = folder / "scratch" / "inductor" / made.name
    kept.mkdir()
    for file in made.glob("*.h*"):  # With their sums.
        os.link(file, kept / file.name)
    return folder


@pytest.fixture
def two_threads(monkeypatch):
    """Let torch have two threads, however many cores there are and however busy they are."""
    import torch

    from npaccel._process import thread_pool

    monkeypatch.setattr(thread_pool, "_LATE", float("inf"))
    thread_pool.alone[0] = 0.0
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request):
    """Run the test on the CPU and, where there is one, on a CUDA device."""
    if request.param == "cuda":
        import torch

        if not torch.cuda.is_available():
            pytest.skip("torch sees no CUDA device")
    return request.param


@pytest.fixture(
    params=["eager", pytest.param("inductor", marks=[pytest.mark.inductor, pytest.mark.sampled])]
)
def backend(request):
    """Run the test with captured graphs interpreted and, as a sample, with them compiled."""
    return request.param
