"""Large buffers of torch and compiled code ask for huge pages; others are allocated as ever."""

import mmap
import os
import platform
import sys
import types

import pytest
import torch
from children import run, run_prepared

from npaccel._runtime.torch import huge_pages, malloc

LINE = "buf0 = empty_strided_cpu(({sizes}), ({strides}), torch.{dtype})\n"


def allocate(size, stride, dtype):
    return torch.empty_strided(size, stride, dtype=dtype)


@pytest.fixture
def asked(monkeypatch):
    """Return the lengths for which huge pages have been asked for."""
    if huge_pages._advise() is None:
        pytest.skip("this system has no huge pages to ask for")
    lengths = []

    def advise(first, length, advice):
        assert first % mmap.PAGESIZE == 0
        assert advice == mmap.MADV_HUGEPAGE
        lengths.append(length)
        return 0

    monkeypatch.setattr(huge_pages, "_advise", lambda: advise)
    return lengths


@pytest.mark.parametrize("sizes", ["1024, 1024", "s0, ", "3*s0, 2"])
def test_large_and_unknown_buffers_are_asked_for(asked, sizes):
    source = LINE.format(sizes=sizes, strides="1", dtype="float64")
    scope = {"empty_strided_cpu": allocate}
    huge_pages.use_huge_pages(scope, source)
    empty = scope["empty_strided_cpu"]
    assert empty((1000, 1000), (1000, 1), torch.float64).shape == (1000, 1000)
    assert 8_000_000 - mmap.PAGESIZE <= asked[0] <= 8_000_000
    assert empty((10,), (1,), torch.int32).dtype == torch.int32
    assert len(asked) == 1


@pytest.mark.parametrize("sizes", ["", "10, ", "1024, 511"])
def test_code_with_small_buffers_stays_as_it_is(asked, sizes):
    scope = {"empty_strided_cpu": allocate}
    huge_pages.use_huge_pages(scope, LINE.format(sizes=sizes, strides="1", dtype="float64"))
    assert scope["empty_strided_cpu"] is allocate


def test_the_system_takes_the_advice():
    advise = huge_pages._advise()
    if advise is None:
        pytest.skip("this system has no huge pages to ask for")
    scope = {"empty_strided_cpu": allocate}
    huge_pages.use_huge_pages(scope, LINE.format(sizes="s0, ", strides="1, ", dtype="float64"))
    assert scope["empty_strided_cpu"]((1 << 20,), (1,), torch.float64).fill_(2).sum() == 2 << 20


#: A first call; what is compiled or loaded doesn't matter here.
CALL = "npaccel.jit(lambda x: x + 1, backend='eager')(np.ones(2))"
#: What it does about memory, without the compiler.
PREPARE = "from npaccel._runtime.torch import malloc; malloc.prepare()"

#: How many KB of 64 MB of a tensor lie in huge pages.
IN_HUGE_PAGES = """
{before}
import npaccel, torch
{then}
tensor = torch.ones(64 << 20, dtype=torch.uint8)
at, found = tensor.data_ptr() + (32 << 20), 0
for line in open("/proc/self/smaps"):
    words = line.split()
    if "-" in words[0] and not words[0].endswith(":"):
        first, last = (int(end, 16) for end in words[0].split("-"))
    elif words[0] == "AnonHugePages:" and first <= at < last:
        found = int(words[1])
answer(found=found, variable=os.environ.get("THP_MEM_ALLOC_ENABLE"))
"""


@pytest.mark.parametrize(
    ("before", "then", "huge", "left"),
    [
        ("", PREPARE, True, None),
        ("import torch", PREPARE, True, None),
        ("", "", False, None),
        ("import torch; torch.ones(2)", PREPARE, False, None),
        ("os.environ['THP_MEM_ALLOC_ENABLE'] = '0'", PREPARE, False, "0"),
        ("os.environ['NPACCEL_MALLOC'] = '0'", PREPARE, False, None),
    ],
)
def test_torch_asks_itself_unless_it_is_too_late(before, then, huge, left):
    if not huge_pages._granted():
        pytest.skip("this system has no huge pages to ask for")
    if "[always]" in huge_pages._POLICY.read_text():
        pytest.skip("this system gives huge pages to all")
    # A prepared process has imported torch, which hasn't allocated anything.
    ask = run_prepared if before else run
    found = ask(IN_HUGE_PAGES.format(before=before, then=then))
    assert found["variable"] == left
    assert (found["found"] > 0) == huge


def test_the_variable_of_the_process_stays(monkeypatch):
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    huge_pages.switch_on()
    assert "THP_MEM_ALLOC_ENABLE" not in os.environ
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    assert huge_pages.obstacle() == "THP_MEM_ALLOC_ENABLE is set"


#: How many pages three blocks of 24 MB take from the system where they were freed before. What is
#: small may lie in the holes that they leave; so some iterations are looked at.
FREED = """
import resource
import npaccel, torch

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kept = [torch.ones(24 << 20, dtype=torch.uint8) for _ in range(3)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

{then}
answer(faults=min(faults() for _ in range(8)))
"""


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="another C library")
def test_memory_that_is_freed_is_kept():
    blocks = 3 * (24 << 20) // mmap.PAGESIZE
    # Without huge pages, so that all that is new is counted.
    found = run(FREED.format(then=PREPARE), THP_MEM_ALLOC_ENABLE="0")["faults"]
    assert found < blocks / 20


#: What of the process's memory is set, and when.
SET = """
import npaccel
seen = []
sys.addaudithook(lambda name, args: seen.append(f"{{name}} {{args}}") if "os." in name
                 or "ctypes." in name else None)
{then}
seen = list(seen)
answer(mallopt=any("dlsym" in one and "mallopt" in one for one in seen),
       variable=any("putenv" in one and "THP_MEM_ALLOC_ENABLE" in one for one in seen))
"""


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="another C library")
@pytest.mark.parametrize(
    ("then", "variables", "is_set"),
    [
        (CALL, {}, True),
        ("npaccel.jit(lambda x: x + 1)", {}, False),
        (CALL, {"NPACCEL_MALLOC": "0"}, False),
        (CALL, {"NPACCEL_DISABLE": "1"}, False),
        ("import npaccel.scipy, torch; npaccel.scipy.special.expit(torch.ones(2))", {}, True),
    ],
)
def test_memory_is_set_by_a_first_call(then, variables, is_set):
    found = run_prepared(SET.format(then=then), **variables)
    assert found == {"mallopt": is_set, "variable": is_set and huge_pages._granted()}


@pytest.fixture
def set_to(monkeypatch):
    """Return what ``mallopt`` is called with, in a process that nothing was set in."""
    values = []
    library = types.SimpleNamespace(mallopt=lambda name, value: values.append(value))
    monkeypatch.setattr(malloc.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(malloc, "_prepared_by", {})
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("GLIBC_TUNABLES", "NPACCEL_MALLOC", *malloc._VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return values


def test_it_is_set_once(set_to):
    for _ in range(2):
        malloc.prepare()
        assert set_to == [32 << 20, 128 << 20]
    assert malloc.settings()["glibc"].startswith("blocks of up to 32 MiB")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MALLOC_TRIM_THRESHOLD_", "1", "MALLOC_TRIM_THRESHOLD_ is set"),
        ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=1", "GLIBC_TUNABLES is set"),
        ("NPACCEL_MALLOC", "off", "NPACCEL_MALLOC=off"),
    ],
)
def test_what_the_user_has_set_is_left(set_to, monkeypatch, name, value, why):
    monkeypatch.setenv(name, value)
    malloc.prepare()
    assert not set_to
    assert malloc.settings()["glibc"] == f"as they are: {why}"


def test_other_c_libraries_stay(set_to, monkeypatch):
    monkeypatch.setattr(malloc.ctypes, "CDLL", lambda name: types.SimpleNamespace())
    malloc.prepare()
    assert malloc.settings()["glibc"] == "as they are: the C library isn't glibc"


def test_compiled_code_does_not_ask_where_it_is_switched_off(asked, monkeypatch):
    source = LINE.format(sizes="s0, ", strides="1, ", dtype="float64")
    monkeypatch.setenv("NPACCEL_MALLOC", "0")
    scope = {"empty_strided_cpu": allocate}
    huge_pages.use_huge_pages(scope, source)
    assert scope["empty_strided_cpu"] is allocate
    assert malloc.settings()["huge pages"] == "as they are: NPACCEL_MALLOC=0"
