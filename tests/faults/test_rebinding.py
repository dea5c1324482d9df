"""What a function reads is rebound by another thread, while the function is compiled."""

import importlib
import random
import sys
import threading
import time

import numpy as np
import pytest
from children import run_prepared
from rebinding_programs import PROGRAMS, source
from sweep import tries

import npaccel

SEED = 11
#: Seconds that all tries may take.
SECONDS = 3600
SETTINGS = "backend={!r}, default_float='float64', cache={}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of modules, which can be imported as long as the test runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("rebound_"):
            del sys.modules[name]


def _module(folder, kind, place, settings):
    name = f"rebound_{place}"
    (folder / f"{name}.py").write_text(source(kind, settings), encoding="utf-8")
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _rebound_at(module, seconds):
    """Rebind what a function reads, at an instant of its first call in another thread."""
    errors = []

    def call():
        try:
            module.f(np.ones(3))
        except Exception as error:  # noqa: BLE001 (told below)
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(seconds)
    is_within = thread.is_alive()
    module.rebind(True)
    thread.join()
    assert not errors, errors
    return is_within


def _differences(module):
    """The calls that aren't answered as NumPy does: as it is, with the old value, with the new."""
    found = []
    for new in (None, False, True):
        if new is not None:
            module.rebind(new)
        got, wanted = module.f(np.ones(3)), module.plain(np.ones(3))
        if not np.array_equal(got, wanted) or np.asarray(got).dtype != np.asarray(wanted).dtype:
            found.append((new, got, wanted))
    return found


def _attack(folder, settings, count):
    """Make calls of a share of the programs; return what is stale, and how often it was within."""
    generator = random.Random(SEED)
    kinds = generator.sample([*PROGRAMS], len(PROGRAMS))
    stale, within = {}, 0
    start = time.perf_counter()
    _module(folder, "branch", "timed", settings).f(np.ones(3))
    seconds = time.perf_counter() - start
    for place in range(count):
        kind = kinds[place % len(kinds)]
        module = _module(folder, kind, place, settings)
        within += _rebound_at(module, instant := generator.random() * seconds)
        if found := _differences(module):
            stale[kind, place] = instant, found
    return stale, within


@pytest.mark.timeout(SECONDS)
@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_no_value_is_stale(folder):
    npaccel.jit(lambda a: a + 1, backend="eager")(np.ones(2))  # The compiler is imported.
    stale, within = _attack(folder, SETTINGS.format("eager", False), tries(40, 200))
    assert not stale
    assert within


@pytest.mark.timeout(SECONDS)
@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_no_value_is_stale_on_disk(folder, monkeypatch):
    cache = folder / "cache"
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(cache))
    stale, within = _attack(folder, SETTINGS.format("inductor", True), count := tries(5, 60))
    assert not stale
    assert within
    found = run_prepared(
        """
        import importlib
        stale = []
        for place in range(int(sys.argv[1])):
            module = importlib.import_module(f"rebound_{place}")
            for new in (False, True):
                module.rebind(new)
                got, wanted = module.f(np.ones(3)), module.plain(np.ones(3))
                if not np.array_equal(got, wanted):
                    stale.append([place, new, repr(got), repr(wanted)])
        answer(stale=stale)
        """,
        count,
        path=folder,
        NPACCEL_CACHE_DIR=str(cache),
    )
    assert found["stale"] == []


def test_an_array_is_rebound_behind_the_check(folder):
    module = _module(folder, "array", "between", SETTINGS.format("inductor", True))
    for new in (True, False):
        module.rebind(new)
        module.f(np.ones(3))
    stop = threading.Event()

    def rebind():
        while not stop.is_set():
            module.rebind(True)
            module.rebind(False)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=rebind)
    thread.start()
    try:
        for _ in range(tries(3_000, 100_000)):
            got = module.f(np.ones(3))
            assert np.array_equal(got, [1.0, 2.0, 3.0] if got.ndim == 1 else np.full((2, 3), 10.0))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
