"""Large buffers of compiled code ask for huge pages; others are allocated as ever."""

import mmap

import pytest
import torch

from npaccel._torch_internals import huge_pages

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
