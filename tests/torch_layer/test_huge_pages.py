"""Large buffers of torch and compiled code ask for huge pages; others are allocated as ever."""

import mmap
import os
import platform
import sys
import types

import pytest
import torch
from children import run

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


#: How many KB of 64 MB of a tensor lie in huge pages.
IN_HUGE_PAGES = """
{before}
import npaccel, torch
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
    ("before", "huge", "left"),
    [
        ("", True, None),
        ("import torch", True, None),
        ("import torch; torch.ones(2)", False, None),
        ("os.environ['THP_MEM_ALLOC_ENABLE'] = '0'", False, "0"),
    ],
)
def test_torch_asks_itself_unless_it_is_too_late(before, huge, left):
    if not huge_pages._granted():
        pytest.skip("this system has no huge pages to ask for")
    if "[always]" in huge_pages._POLICY.read_text():
        pytest.skip("this system gives huge pages to all")
    found = run(IN_HUGE_PAGES.format(before=before))
    assert found["variable"] == left
    assert (found["found"] > 0) == huge


def test_the_variable_of_the_process_stays(monkeypatch):
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    huge_pages.switch_on()
    assert "THP_MEM_ALLOC_ENABLE" not in os.environ
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    huge_pages.switch_on()
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == "0"


#: How many pages three blocks of 24 MB take from the system where they were freed before. What is
#: small may lie in the holes that they leave; so some turns are looked at.
FREED = """
{before}
import resource
import npaccel, torch

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kept = [torch.ones(24 << 20, dtype=torch.uint8) for _ in range(3)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

answer(faults=min(faults() for _ in range(8)))
"""


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="another C library")
def test_memory_that_is_freed_is_kept():
    blocks = 3 * (24 << 20) // mmap.PAGESIZE
    own = "os.environ['THP_MEM_ALLOC_ENABLE'] = '0'"
    assert run(FREED.format(before=own))["faults"] < blocks / 20


def test_what_the_user_has_set_is_left(monkeypatch):
    set_to = []
    library = types.SimpleNamespace(mallopt=lambda name, value: set_to.append(value))
    monkeypatch.setattr(malloc.ctypes, "CDLL", lambda name: library)
    for name in ("GLIBC_TUNABLES", *malloc._VARIABLES):
        monkeypatch.delenv(name, raising=False)
    malloc.prepare()
    assert set_to == ([32 << 20, 128 << 20] if sys.platform == "linux" else [])
    for name, value in (
        ("MALLOC_TRIM_THRESHOLD_", "1"),
        ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=1"),
    ):
        with monkeypatch.context() as own:
            own.setenv(name, value)
            malloc.prepare()
    assert len(set_to) <= 2
