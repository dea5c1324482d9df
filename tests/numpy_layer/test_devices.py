"""What is computed in another way where arrays aren't on the host: by torch alone, as CUDA has it.

These ways are run on the host, or recorded on the device `meta`, since no GPU is needed for either.
"""

import numpy as np
import pytest
import torch
from chapter import ALL
from torch.utils._python_dispatch import TorchDispatchMode

from npaccel import _host_kernels as host
from npaccel._numpy import _einsum, _histograms, _indexing, _sorting
from npaccel._numpy._dtypes import cast


class Recorded(TorchDispatchMode):
    """Collect the operators that run, with the dtypes of what they give."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        self.calls.append((func, getattr(found, "dtype", None)))
        return found


@pytest.fixture
def by_torch(monkeypatch):
    """Leave NumPy's kernels out, as for arrays on a device."""
    monkeypatch.setattr(host, "usable", lambda *tensors: False)
    monkeypatch.setattr(host, "worth", lambda *tensors: False)


@pytest.mark.parametrize("dtype", ["?", "b", "B", "H", "i", "I", "l", "L"])
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ki", [(3, 4), (4, 2)]),
        ("ii,ij->j", [(3, 3), (3, 4)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("ij,jk,kl->il", [(3, 4), (4, 2), (2, 5)]),
        ("iij,jkk,k->ik", [(2, 2, 3), (3, 4, 4), (4,)]),
        ("ijij,ji->ij", [(2, 3, 2, 3), (3, 2)]),
        ("ij,j->i", [(3, 1), (4,)]),
        ("ij,jk->ik", [(3, 0), (0, 2)]),
        ("i,j->ij", [(3,), (4,)]),
    ],
)
def test_sums_of_products_of_integers(text, shapes, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-100, 100, shape).astype(dtype) for shape in shapes]
    expected = np.einsum(text, *arrays)
    inputs, output = text.split("->")
    terms = [list(term) for term in inputs.split(",")]
    found = _einsum._einsum_of_integers(terms, list(output), [*map(torch.from_numpy, arrays)])
    assert found.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ALL)
def test_sorts(by_torch, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (4, 9)).astype(dtype)
    if x.dtype.kind in "iu":
        x[0, :2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    if x.dtype.kind in "fc":
        x[1, ::2] = [np.nan, -np.nan, -0.0, 0.0, -np.nan]
        x[2, :3] = [-np.inf, np.inf, -np.nan]
    t = torch.from_numpy(x)
    np.testing.assert_array_equal(_sorting.sort(t, axis=0).numpy(), np.sort(x, axis=0))
    np.testing.assert_array_equal(
        _sorting.argsort(t, kind="stable").numpy(), np.argsort(x, kind="stable")
    )
    np.testing.assert_array_equal(
        _sorting.lexsort((t, t.flip(0))).numpy(), np.lexsort((x, x[::-1]))
    )


def test_only_one_nan_and_one_zero_are_sorted(by_torch):
    """A GPU's radix sort puts NaN with a sign first, and -0.0 ahead of 0.0."""
    x = torch.tensor([np.nan, 1.0, -np.nan, -0.0, 0.0]).copysign(torch.tensor([1, 1, -1, -1, 1.0]))
    for plain in (_sorting._alike(x), _sorting._alike(-x)):
        assert torch.equal(torch.signbit(plain), plain < 0)


def test_weights_are_summed(by_torch):
    x, weights = np.array([3, 0, 3, 1]), np.array([0.5, -1.25, 2.0, np.inf])
    t, w = torch.from_numpy(x), torch.from_numpy(weights)
    for minlength in (0, 6):
        found = _histograms.bincount(t, w, minlength).numpy()
        np.testing.assert_array_equal(found, np.bincount(x, weights, minlength))


@pytest.mark.parametrize("target", [np.int8, np.int16, np.uint8, np.uint16])
def test_floats_become_small_integers_by_way_of_32_bits(target):
    with Recorded() as recorded:
        cast(torch.empty(3, device="meta"), np.dtype(target))
    assert [dtype for _, dtype in recorded.calls[-2:]] == [
        torch.int32,
        torch.from_numpy(np.zeros(0, target)).dtype,
    ]


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_unsigned_integers_are_gathered_by_their_bits(dtype):
    x = torch.empty((4, 5), dtype=dtype, device="meta")
    index = torch.zeros(3, dtype=torch.int64, device="meta")
    with Recorded() as recorded:
        found = _indexing.getitem(x, (slice(None), index))
    gathered = [kept for func, kept in recorded.calls if func is torch.ops.aten.index.Tensor]
    assert [kept.is_signed for kept in gathered] == [True]
    assert found.dtype == dtype
