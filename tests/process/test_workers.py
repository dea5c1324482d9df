"""Work in several threads: OpenMP's where the caller helps, npaccel's own elsewhere."""

import contextvars
import threading
import time

import pytest
import torch

from npaccel._process import thread_pool

pytestmark = pytest.mark.usefixtures("two_threads")
asked = contextvars.ContextVar("asked", default=0)


@pytest.mark.parametrize("helps", [False, True])
def test_both_threads_take_parts(helps):
    both = threading.Barrier(2, timeout=60)

    def work(part):
        if part < 2:
            both.wait()  # Alone it would wait in vain.
        return part * 10, asked.get(), threading.get_ident()

    asked.set(7)
    found = thread_pool.in_threads(work, range(9), helps=helps)
    assert [(value, seen) for value, seen, _ in found] == [(part * 10, 7) for part in range(9)]
    assert len({thread for *_, thread in found}) == 2


@pytest.mark.parametrize("helps", [False, True])
def test_errors_are_raised_when_all_have_ended(helps):
    begun, ended = [], []

    def work(part):
        begun.append(part)
        if part == 3:
            raise KeyError("three")
        ended.append(part)

    with pytest.raises(KeyError, match="three"):
        thread_pool.in_threads(work, range(6), helps=helps)
    assert sorted(begun) == sorted([*ended, 3])


@pytest.mark.skipif(thread_pool._openmp() is None, reason="torch's threads aren't GNU OpenMP's")
def test_threads_that_wait_for_compiled_code_take_parts():
    both = threading.Barrier(2, timeout=60)

    def work(_):
        both.wait()
        return threading.current_thread().name

    found = thread_pool.in_threads(work, range(2), helps=True)
    assert not any(name.startswith("npaccel") for name in found), found


@pytest.mark.skipif(thread_pool._openmp() is None, reason="torch's threads aren't GNU OpenMP's")
def test_late_threads_are_left_out_for_a_while(monkeypatch):
    monkeypatch.setattr(thread_pool, "_LATE", 30e-6)
    monkeypatch.setattr(thread_pool, "alone", [0.0, 0.0])
    thread_pool.in_threads(lambda _: time.sleep(0.01), range(4), helps=True)  # Nobody computes.
    until, length = thread_pool.alone
    assert 0.2 < length < 20
    assert until > time.perf_counter()
    own = threading.get_ident()
    found = thread_pool.in_threads(lambda _: threading.get_ident(), range(4), helps=True)
    assert found == [own] * 4
    thread_pool.alone[0] = now = time.perf_counter()
    thread_pool._be_alone_from(now + length, length / 20)  # Late again, soon after.
    assert thread_pool.alone[1] == 2 * length


def test_one_thread_needs_no_other():
    torch.set_num_threads(1)
    own = threading.get_ident()
    found = thread_pool.in_threads(lambda _: threading.get_ident(), range(3), helps=True)
    assert found == [own] * 3


def test_a_team_of_one_does_all(monkeypatch):
    monkeypatch.setattr(
        thread_pool, "_openmp", lambda: lambda take, data, threads, flags: take(data)
    )
    assert thread_pool.in_threads(str, range(3), helps=True) == ["0", "1", "2"]
