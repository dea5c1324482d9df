"""`npaccel.transfers`, over tensors of the meta device, which is none of the host's."""

import logging
import threading

import numpy as np
import pytest
import torch

import npaccel

T = torch.ones(1000, device="meta")


@pytest.mark.parametrize(
    ("copy", "nbytes"),
    [
        (lambda: T.to("cpu"), 4000),
        (lambda: T.cpu(), 4000),
        (lambda: T[0].item(), 4),
        (lambda: float(T.sum()), 4),
        (lambda: bool(T.sum() > 1), 1),
        (lambda: T.tolist(), 4000),
        (lambda: T.numpy(force=True), 4000),
        (lambda: torch.ones(3, 5, dtype=torch.float64).to("meta"), 120),
        (lambda: T.copy_(torch.ones(1000)), 4000),
        (lambda: T.to("cpu", torch.float16), 2000),
        (lambda: torch.as_tensor(np.ones(7), device="meta"), 56),
    ],
)
def test_copies_are_forbidden_before_they_are_made(copy, nbytes):
    line = copy.__code__.co_firstlineno
    with npaccel.transfers("forbid") as seen, pytest.raises(npaccel.TransferError) as caught:
        copy()
    assert f"{nbytes} bytes" in str(caught.value)
    assert f"test_transfers.py:{line}" in str(caught.value)
    assert not seen.copies


def test_what_copies_nothing():
    host = torch.ones(4)
    with npaccel.transfers("forbid"):
        (T * 2).sum()
        T.to("meta")
        host.numpy()
        host.sum().item()
        host.to(torch.float64).cpu()


def test_counting():
    with npaccel.transfers("allow") as seen:
        torch.ones(10).to("meta")
        torch.ones(5).to("meta")
    assert [copy.bytes for copy in seen.copies] == [40, 20]
    assert seen.bytes == 60
    assert {(copy.source, copy.target) for copy in seen.copies} == {("cpu", "meta")}
    assert "torch.ones(10)" in str(seen)
    torch.ones(5).to("meta")
    assert seen.bytes == 60, "the block is over"


@pytest.mark.parametrize("mode", ["forbid", "log", "allow"])
def test_limit(mode):
    with npaccel.transfers(mode, max_bytes=40) as seen:
        torch.ones(10).to("meta")
        with pytest.raises(npaccel.TransferError, match="at most 40"):
            torch.ones(11).to("meta")
    assert seen.bytes == 40


def test_logging():
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("npaccel.transfers")
    logger.addHandler(handler)
    try:
        with npaccel.transfers("log"):
            torch.ones(10).to("meta")
    finally:
        logger.removeHandler(handler)
    assert "40 bytes from cpu to meta" in records[0].getMessage()


def test_nesting_and_threads():
    with npaccel.transfers("forbid"):
        other = threading.Thread(target=lambda: torch.ones(3).to("meta"))
        other.start()
        other.join()
    with npaccel.transfers("allow") as outer, npaccel.transfers("allow") as inner:
        torch.ones(3).to("meta")
    assert outer.bytes == inner.bytes == 12


def test_wrong_options():
    with pytest.raises(npaccel.errors.OptionError, match="'forbid', 'log' or 'allow'"):
        npaccel.transfers("deny")
    with pytest.raises(npaccel.errors.OptionError, match="negative"):
        npaccel.transfers(max_bytes=-1)


def test_compiling_in_a_block_copies_nothing():
    jitted = npaccel.jit(lambda x: np.sin(x) + x.sum(), backend="aot_eager", cache=False)
    x = np.arange(4.0)
    with npaccel.transfers("forbid"):
        first, second = jitted(x), jitted(x)
    assert np.allclose(first, np.sin(x) + 6)
    assert np.allclose(first, second)


def test_tensors_stay_on_their_device():
    jitted = npaccel.jit(lambda x: np.sqrt(x) + 1, backend="eager", cache=False)
    with npaccel.transfers("forbid"):
        found = jitted(T)
    assert found.device.type == "meta"
    assert found.shape == T.shape


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_npaccels_own_copies():
    """What isn't compiled goes through the host: that shows, with the caller's line."""

    def uncompiled(x):
        return np.array(x.tolist())

    jitted = npaccel.jit(uncompiled, backend="eager", cache=False)
    with npaccel.transfers("forbid"), pytest.raises(npaccel.TransferError, match="4000 bytes"):
        jitted(T)


@pytest.mark.cuda
def test_arrays_to_cuda_and_back():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    jitted = npaccel.jit(lambda x: x * 2, device="cuda", cache=False)
    x = np.ones(1000)
    with npaccel.transfers("allow") as seen:
        jitted(x)
        before = seen.bytes
        jitted(x)
    assert seen.bytes - before == 16000
