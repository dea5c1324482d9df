"""What SciPy's own code makes of tensors, without a dtype, has 64 bits."""

import threading

import numpy as np
import scipy.stats
import torch

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch.float64_default import wide_floats


def test_without_a_dtype():
    with wide_floats():
        made = [torch.ones(2), torch.asarray(0.1), torch.full((2,), 0.5), torch.arange(3) / 2]
        kept = [torch.asarray(np.float32(1)), torch.ones(2, dtype=torch.float32)]
        whole = [torch.asarray([1, 2]), torch.arange(3)]
        assert torch.result_type(torch.arange(3), 1.0) is torch.float64
        assert torch.asarray(1j).dtype is torch.complex128
    assert [t.dtype for t in made] == [torch.float64] * 4
    assert [t.dtype for t in kept] == [torch.float32] * 2
    assert [t.dtype for t in whole] == [torch.int64] * 2
    assert torch.ones(2).dtype is torch.float32


def test_only_in_this_thread():
    found = []
    with wide_floats():
        thread = threading.Thread(target=lambda: found.append(torch.ones(2).dtype))
        thread.start()
        thread.join()
    assert found == [torch.float32]


def test_integers_are_as_exact_as_scipys():
    counts = torch.arange(1, 9)
    with npaccel.options(default_float="float64"):
        found = nsp.stats.chisquare(counts)
    wanted = scipy.stats.chisquare(counts.numpy())
    assert abs(found.pvalue.item() - wanted.pvalue) < 1e-14


def test_small_p_values():
    x = torch.linspace(0, 1, 40) ** 3
    found = nsp.stats.mood(x, 9 * x, alternative="less")
    wanted = scipy.stats.mood(x.numpy(), 9 * x.numpy(), alternative="less")
    assert abs(found.pvalue.item() / wanted.pvalue - 1) < 1e-4
