"""Tensors in, tensors out: no copy, gradients, devices."""

import numpy as np
import pytest
import torch
from comparing import assert_same

import npaccel


def f(x, w):
    return np.tanh(x @ w).sum(axis=0) + np.ones(3)


RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3))


def test_tensors_in_tensors_out(device, backend):
    jitted = npaccel.jit(f, backend=backend, default_float="float64")
    x, w = torch.from_numpy(X).to(device), torch.from_numpy(W).to(device)
    for _ in range(3):
        got = jitted(x, w)
        assert isinstance(got, torch.Tensor)
        assert got.device == x.device
        np.testing.assert_allclose(got.cpu().numpy(), f(X, W), rtol=1e-12)
    assert not jitted.report().fallbacks


def test_scalars_are_tensors_without_dimensions(device):
    jitted = npaccel.jit(lambda x: (x.sum(), x[0]), backend="eager")
    for _ in range(2):
        total, first = jitted(torch.arange(3.0, device=device))
        assert total.shape == first.shape == ()
        assert total.device.type == device


def test_gradients(device, backend):
    jitted = npaccel.jit(lambda x, w: (np.tanh(x @ w) ** 2).sum(), backend=backend)
    for n in (5, 6, 7):
        x = torch.rand(n, 4, dtype=torch.float64, device=device, requires_grad=True)
        w = torch.rand(4, 3, dtype=torch.float64, device=device)
        jitted(x, w).backward()
        wanted = x.detach().clone().requires_grad_()
        ((wanted @ w).tanh() ** 2).sum().backward()
        torch.testing.assert_close(x.grad, wanted.grad)


def test_no_gradients_under_no_grad(device):
    jitted = npaccel.jit(lambda x: x * 2, backend="inductor")
    x = torch.ones(3, device=device, requires_grad=True)
    assert jitted(x).requires_grad
    with torch.no_grad():
        assert not jitted(x).requires_grad
    assert jitted(x).requires_grad


def test_writes_reach_the_tensor(device, backend):
    def fill(x, y):
        x[1:] = y[:-1] * 2
        x += 1

    jitted = npaccel.jit(fill, backend=backend)
    wanted = np.zeros(4)
    fill(wanted, np.arange(4.0))
    for _ in range(3):
        x = torch.zeros(4, dtype=torch.float64, device=device)
        jitted(x, torch.arange(4.0, dtype=torch.float64, device=device))
        assert_same(x.cpu().numpy(), wanted)


def test_views_share_memory(device):
    jitted = npaccel.jit(lambda x: (x[1:], x), backend="inductor")
    x = torch.arange(4.0, device=device)
    for _ in range(3):
        part, same = jitted(x)
        assert same is x
        assert part.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_conjugated_tensors(backend):
    jitted = npaccel.jit(lambda x: x * 2, backend=backend)
    x = torch.tensor([1 + 2j, 3 - 1j])
    for _ in range(2):
        assert_same(jitted(x.conj()).numpy(), (x.numpy().conj() * 2))
        assert_same(jitted(x).numpy(), x.numpy() * 2)


def test_tensors_and_arrays_together(backend):
    jitted = npaccel.jit(lambda x, y: x + y, backend=backend)
    for _ in range(2):
        got = jitted(torch.ones(3), np.arange(3, dtype=np.float32))
        assert isinstance(got, torch.Tensor)
        assert_same(got.numpy(), np.arange(1, 4, dtype=np.float32))


def test_nothing_is_copied_to_the_host():
    """Meta tensors have no data: any read of it raises."""
    jitted = npaccel.jit(f, backend="eager")
    for _ in range(3):
        got = jitted(torch.empty(5, 4, device="meta"), torch.empty(4, 3, device="meta"))
        assert got.device.type == "meta"
        assert got.shape == (3,)
    assert not jitted.report().fallbacks


def test_captured_array_goes_to_the_device():
    table = np.arange(3.0)
    jitted = npaccel.jit(lambda x: x + table, backend="eager")
    for _ in range(2):
        assert jitted(torch.empty(3, device="meta")).device.type == "meta"


@pytest.mark.cuda
def test_arrays_on_a_device():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    jitted = npaccel.jit(f, device="cuda", default_float="float64")
    for _ in range(3):
        got = jitted(X, W)
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, f(X, W), rtol=1e-12)
    assert any("copied from the host" in note for note in jitted.report().notes)


@pytest.mark.cuda
def test_streams_are_respected():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    jitted = npaccel.jit(lambda x: x * 2 + 1)
    x = torch.ones(1 << 22, device="cuda")
    jitted(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        x.fill_(3)
        got = jitted(x)
    stream.synchronize()
    assert bool((got == 7).all())


@pytest.mark.parametrize(
    "lazy", [torch.conj, lambda z: torch._neg_view(z), lambda z: z.conj().imag]
)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_tensors_that_are_conjugated_on_reading_are_written(backend, lazy):
    def scale(z):
        z *= 3
        z[1:] += z[0]
        return z

    jitted = npaccel.jit(scale, backend=backend, cache=False)
    for _ in range(2):
        base = torch.randn(5, dtype=torch.complex128)
        mine, wanted = base.clone(), lazy(base).clone()
        found = jitted(lazy(mine))
        scale(wanted)
        torch.testing.assert_close(lazy(mine).clone(), wanted)
        torch.testing.assert_close(found.clone(), wanted)


def test_lazy_tensors_where_code_serves_all_sizes(backend):
    jitted = npaccel.jit(lambda x: x * 2, backend=backend)
    for n in (5, 6, 7):
        z = torch.randn(n, dtype=torch.complex64)
        for x in (z.imag, z.conj().imag, z, z.conj()):
            torch.testing.assert_close(jitted(x).clone(), (x * 2).clone())


def test_views_with_larger_elements_begin_where_they_can(backend):
    def packed(x):
        return np.packbits(x), np.packbits(x, bitorder="little")

    jitted = npaccel.jit(packed, backend=backend, strict=True)
    memory = torch.rand(96) < 0.5
    for start in (0, 8, 3, 16, 1):
        x = memory[start : start + 80]
        for got, wanted in zip(jitted(x), packed(x.numpy()), strict=True):
            assert_same(got.numpy(), wanted)


class Kept:
    def __init__(self, state):
        self.state = state

    def step(self, x):
        self.state[1:] += x
        return self.state * 2


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.arange(6.0)[::-1],
        lambda: np.arange(12.0)[::-2],
        lambda: torch.randn(6, dtype=torch.complex64).conj(),
        lambda: torch.randn(6, dtype=torch.complex64).conj().imag,
    ],
    ids=["reversed", "every second", "conjugated", "negated"],
)
def test_attributes_that_are_copied_for_compiled_code_are_written(backend, made):
    mine = Kept(made())
    wanted = Kept(mine.state.clone() if isinstance(mine.state, torch.Tensor) else mine.state.copy())
    step = npaccel.jit(Kept.step, backend=backend)
    x = torch.tensor(2.0) if isinstance(mine.state, torch.Tensor) else 2.0
    for _ in range(3):
        got, expected = step(mine, x), wanted.step(x)
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)
        np.testing.assert_allclose(mine.state.tolist(), wanted.state.tolist(), rtol=1e-6)


def test_reversed_attributes_that_are_written_are_returned(backend):
    """With another number in each call, so that code for all of them is checked by Dynamo."""

    def stored(kept, k):
        kept.state[0] = k
        return kept.state

    mine = Kept(np.arange(12.0)[::-1])
    step = npaccel.jit(stored, backend=backend, default_float="float64")
    for k in (2.0, 3.0, 3.0, 5.0):
        assert step(mine, k)[0] == k
        assert mine.state.tolist() == [k, *range(10, -1, -1)]


def test_lazy_tensors_that_are_found_outside(backend):
    kept = {}
    step = npaccel.jit(lambda x: x + kept["at"], backend=backend)
    z = torch.randn(6, dtype=torch.complex64)
    for found in (z.imag, z.conj().imag, z.conj(), z):
        kept["at"] = found
        x = torch.ones(6, dtype=found.dtype)
        for _ in range(2):
            torch.testing.assert_close(step(x), x + found)
