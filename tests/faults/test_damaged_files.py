"""Every file below the cache folder, damaged: the next process is right, and mends it or tells."""

import os
import random
import shutil

import children
import pytest
from sweep import FULL, tries

pytestmark = pytest.mark.inductor

MODULE = """
import numpy as np

def wave(x):
    return np.sin(x) * 2.5 + np.cos(x)

def walk(x):
    total = 0.0
    out = np.empty(x.size)
    for i in range(x.size):
        total = total * 0.5 + x[i]
        out[i] = total
    return out
"""

SCRIPT = """
import damaged_functions as functions
import npaccel

x = np.linspace(0.0, 6.0, 1000)
found = {}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for name in sys.argv[1:]:
        plain = getattr(functions, name)
        jitted = npaccel.jit(plain)
        equal = bool(np.allclose(jitted(x), plain(x), rtol=1e-12, atol=0))
        report = jitted.report()
        found[name] = [equal, len(report.graphs), [graph.loaded for graph in report.graphs]]
from npaccel._cache.store import default_cache
problems = [str(problem) for problem in default_cache().verify()]
answer(found=found, said=[str(w.message) for w in said], problems=problems)
"""


def bit(data, rng):
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


DAMAGES = {
    "bit": bit,
    "half": lambda data, rng: data[: len(data) // 2],
    "empty": lambda data, rng: b"",
    "garbage": lambda data, rng: rng.randbytes(min(len(data), 10_000) or 100),
}


@pytest.mark.timeout(3600 if FULL else 300)
def test_any_damaged_file_is_made_again_or_told_of(own_cache, tmp_path):
    (tmp_path / "damaged_functions.py").write_text(MODULE)
    answered(own_cache, tmp_path, "wave", "walk")
    files = [path.relative_to(own_cache) for path in own_cache.rglob("*") if path.is_file()]
    cases = [
        (path, damage, state)
        for path in sorted(files)
        for damage in DAMAGES
        for state in ("cold", "warm")
        if state == "warm" or path.parts[0] == "scratch"  # Cold is without the checked store.
        if damage != "bit" or (own_cache / path).stat().st_size
    ]
    seed = random.SystemRandom().randrange(1 << 32)
    chosen = random.Random(seed).sample(cases, min(len(cases), tries(4, len(cases))))
    faults = []
    for path, damage, state in chosen:
        folder = tmp_path / "damaged"
        damaged_copy(own_cache, folder, path, DAMAGES[damage], random.Random(seed), state)
        names = ["wave", "walk"] if state == "warm" else ["wave"]
        found = answered(folder, tmp_path, *names)
        fault = wrong_with(found, state, in_store=path.parts[0] != "scratch")
        if fault or list((folder / "scratch" / "inductor" / "tmp").iterdir()):
            faults.append((str(path), damage, state, fault, found))
        shutil.rmtree(folder)
    print(f"{len(chosen)} of {len(cases)} damages, {len(faults)} faults, seed {seed}")
    assert not faults, f"seed {seed}: {faults}"


def answered(cache, path, *names):
    return children.run_prepared(
        SCRIPT, *names, path=path, NPACCEL_CACHE_DIR=str(cache), OMP_NUM_THREADS="1"
    )


def damaged_copy(source, folder, path, damage, rng, state):
    """Copy a cache by links, but for one file: nobody writes into a file that has its name."""
    ignored = shutil.ignore_patterns("v1") if state == "cold" else None
    shutil.copytree(source, folder, copy_function=os.link, ignore=ignored)
    data = (source / path).read_bytes()
    mode = (source / path).stat().st_mode
    (folder / path).unlink()
    (folder / path).write_bytes(damage(data, rng))
    (folder / path).chmod(mode)


def wrong_with(found, state, *, in_store):
    """Say what didn't go as it must after one file was damaged; the empty string if nothing."""
    if not all(equal for equal, _, _ in found["found"].values()):
        return "a wrong answer"
    if any(count == 0 for _, count, _ in found["found"].values()):
        return "not compiled"
    told = [text for text in found["said"] if "built again" in text]
    if told != found["said"] or len(told) != (1 if in_store else 0):
        return "other warnings"
    if state == "warm" and not in_store and found["found"]["wave"][2] != [True]:
        return "compiled, though it's in the store"
    # A file that wasn't needed is found by looking for it.
    allowed = 0 if in_store else 1
    return "" if len(found["problems"]) <= allowed else "not mended"
