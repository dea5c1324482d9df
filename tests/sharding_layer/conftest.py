"""One group of processes for all modules that ask ranks."""

import json
import zlib

import pytest
import torch.distributed
from parts_cases import CASES as ESTIMATORS
from parts_cases import SAMPLE
from ranks import Ranks
from sharding_cases import CASES
from sweep import FULL

#: Those of each run that say how ranks exchange what is at their edges.
_EDGES = ("shifted", "0"), ("diff_0", "0"), ("diff_1", "1")
#: Half of the functions on one of the axes in each run, all on both of them in a full one.
CALLS = [
    (name, axis)
    for name in CASES
    for axis in "01"
    if FULL or (name, axis) in _EDGES or zlib.crc32(name.encode()) % 4 == int(axis)
]
#: Estimators of each kind in each run, all of them in a full one.
NAMES = [name for name in ESTIMATORS if FULL or name in SAMPLE]


def pytest_generate_tests(metafunc):
    if "call" in metafunc.fixturenames:
        metafunc.parametrize("call", CALLS, ids="-".join)
    if "estimator" in metafunc.fixturenames:
        metafunc.parametrize("estimator", NAMES)


@pytest.fixture(scope="session", params=[2, 4] if FULL else [2], ids="{} ranks".format)
def ranks(request):
    """What each of some ranks answers, by part of the tests."""
    if not torch.distributed.is_gloo_available():
        pytest.skip("torch is built without gloo")
    modules = {item.module.__name__ for item in request.session.items}
    checks = {
        item.originalname.removeprefix("test_")
        for item in request.session.items
        if item.module.__name__ == "test_sharded_calls" and "told" in item.fixturenames
    }
    checks |= {"compiled"} if "test_sharded_calls" in modules else set()
    known = {"functions": CALLS, "estimators": NAMES, "calls": sorted(checks - {"waiting_in_vain"})}
    if not FULL:
        known["calls"] = [name for name in known["calls"] if name != "compiled_in_parts"]
    known["parts"] = ["metrics", "placements", "errors", "checkpoints", "loops"]
    parts = {part: names for part, names in known.items() if f"test_sharded_{part}" in modules}
    found = Ranks("run_parts.py", request.param, json.dumps(parts), timeout=900)
    assert not any(found.codes), "\n".join(found.outputs)
    return found
