"""What is computed in another way where arrays aren't on the host: by torch alone, as CUDA has it.

These ways are run on the host, or recorded on the device `meta`, since no GPU is needed for either.
"""

import numpy as np
import pytest
import torch
from row_checks import ALL
from torch.utils._python_dispatch import TorchDispatchMode

from npaccel._numpy.core.dtypes import cast, within
from npaccel._numpy.core.table import rows
from npaccel._numpy.host import kernels as host
from npaccel._numpy.indexing import indexing
from npaccel._numpy.linalg import einsum
from npaccel._numpy.statistics import histograms, sorting
from npaccel._numpy.ufuncs import kernels, reductions


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
    found = einsum._einsum_of_integers(terms, list(output), [*map(torch.from_numpy, arrays)])
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
    np.testing.assert_array_equal(sorting.sort(t, axis=0).numpy(), np.sort(x, axis=0))
    np.testing.assert_array_equal(
        sorting.argsort(t, kind="stable").numpy(), np.argsort(x, kind="stable")
    )
    np.testing.assert_array_equal(sorting.lexsort((t, t.flip(0))).numpy(), np.lexsort((x, x[::-1])))


def test_only_one_nan_and_one_zero_are_sorted(by_torch):
    """A GPU's radix sort puts NaN with a sign first, and -0.0 ahead of 0.0."""
    x = torch.tensor([np.nan, 1.0, -np.nan, -0.0, 0.0]).copysign(torch.tensor([1, 1, -1, -1, 1.0]))
    for plain in (sorting._alike(x), sorting._alike(-x)):
        assert torch.equal(torch.signbit(plain), plain < 0)


def test_weights_are_summed(by_torch):
    x, weights = np.array([3, 0, 3, 1]), np.array([0.5, -1.25, 2.0, np.inf])
    t, w = torch.from_numpy(x), torch.from_numpy(weights)
    for minlength in (0, 6):
        found = histograms.bincount(t, w, minlength).numpy()
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
        found = indexing.getitem(x, (slice(None), index))
    gathered = [kept for func, kept in recorded.calls if func is torch.ops.aten.index.Tensor]
    assert [kept.is_signed for kept in gathered] == [True]
    assert found.dtype == dtype


UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("unique", {}),
        ("unique", {"return_counts": True}),
        ("unique", {"return_index": True, "return_inverse": True}),
        ("unique", {"axis": 0}),
        ("median", {}),
        ("median", {"axis": 1}),
        ("percentile", {"q": 30}),
        ("intersect1d", {"ar2": [3, 4, 5]}),
        ("setdiff1d", {"ar2": [3, 4, 5]}),
        ("setxor1d", {"ar2": [3, 4, 5]}),
        ("union1d", {"ar2": [3, 4, 5]}),
        ("compress", {}),
        ("place", {}),
        ("polymul", {}),
    ],
)
@pytest.mark.parametrize("dtype", UNSIGNED)
def test_no_call_gathers_unsigned_integers(by_torch, name, more, dtype):
    """A GPU has no kernel for it."""
    array = np.array([[3, 1, 2], [7, 3, 2], [7, 3, 2]], str(dtype).removeprefix("torch."))
    row, x = rows()[f"numpy.{name}"].implementation, torch.from_numpy(array.copy())
    call = {
        "compress": lambda a, f: f([True, False, True], a),
        "place": lambda a, f: f(a, [[True, False, True]] * 3, a[0, :2]),
        "polymul": lambda a, f: f(a[0], a[1]),
    }.get(name, lambda a, f: f(a, **more))
    with Recorded() as recorded:
        found = call(x, row)
    expected = call(array, getattr(np, name))
    kept = [dtype for func, dtype in recorded.calls if func is torch.ops.aten.index.Tensor]
    if name not in ("compress", "place"):  # they ask `getitem`, which knows of the device
        assert not set(kept) & set(UNSIGNED)
    parts = zip(_parts(found, x), _parts(expected, array), strict=True)
    for a, b in parts:
        np.testing.assert_array_equal(a.numpy(), b)


def _parts(found, argument):
    found = (argument,) if found is None else found
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("target", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_floats_that_do_not_fit_become_the_least_integer(dtype, target):
    """As x86 has it, which NumPy leaves it to."""
    values = [0, -0.5, 1.9, -1.9, 3e4, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 1e300]
    with np.errstate(all="ignore"):
        x = np.array([*values, np.inf, -np.inf, np.nan, 2.0**31 - 1, -(2.0**31) - 1]).astype(dtype)
        expected = x.astype(target)
    kind = torch.int32 if target is np.int32 else torch.int64
    found = within(torch.from_numpy(x), kind)
    np.testing.assert_array_equal(found.to(kind).numpy(), expected)


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_quotients_of_complex_numbers_are_numpys(dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal((2, 999, 2)) @ [1, 1j]).astype(dtype) for _ in range(2))
    a, b = a[0], b[1]
    a[:6] = [0, 1, np.inf, complex(np.nan, 1), complex(1e30, 1e30), 1j]
    b[:6] = [1, 0, 2, 1, complex(1e30, -1e30), complex(0, np.inf)]
    with np.errstate(all="ignore"):
        expected = a / b
    found = kernels._complex_quotient(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[finite], expected[finite])
    np.testing.assert_array_equal(np.isfinite(found), finite)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.bool])
@pytest.mark.parametrize("name", ["maximum", "minimum", "logical_or", "logical_and", "bitwise_or"])
def test_running_values_of_small_integers_take_32_bits(name, dtype):
    reduction = reductions.REDUCTIONS[getattr(np, name)]
    with Recorded() as recorded:
        found = reduction.accumulate(torch.empty((3, 4), dtype=dtype, device="meta"), 0)
    scans = (torch.ops.aten.cummax.default, torch.ops.aten._cummax_helper.default)
    scans += (torch.ops.aten.cummin.default, torch.ops.aten._cummin_helper.default)
    assert found.dtype == (torch.bool if name.startswith("logical") else dtype)
    assert any(func in scans for func, _ in recorded.calls)
    assert torch.int32 in {kept for _, kept in recorded.calls}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16])
def test_repeated_additions_to_small_integers_take_32_bits(dtype):
    array = torch.empty(5, dtype=dtype, device="meta")
    places = torch.zeros(3, dtype=torch.int64, device="meta")
    with Recorded() as recorded:
        rows()["numpy.add.at"].implementation(array, places, array[:3])
    added = [kept for func, kept in recorded.calls if func is torch.ops.aten.index_put.default]
    assert added == [torch.int32]


@pytest.mark.parametrize("dtype", ["e", "f", "F"])
def test_quotients_are_folded_step_by_step(by_torch, dtype):
    """The product of all but the first may leave the range of the dtype."""
    small = np.array([[1e-2, 2.0], [1e-3, 4.0], [2e-4, 5.0], [1e2, 1e3]], dtype)
    many = np.full((100, 2), 1.5, dtype)
    for x in (small, many):
        found = rows()["numpy.divide.reduce"].implementation(torch.from_numpy(x)).numpy()
        info = np.finfo(dtype)
        near = {"rtol": len(x) * info.eps, "atol": len(x) * info.smallest_subnormal}
        np.testing.assert_allclose(found, np.divide.reduce(x), **near)


@pytest.mark.parametrize("dtype", ["?", "b", "H", "i", "L", "e", "f", "d"])
@pytest.mark.parametrize("bins", [7, [-2, 0, 1, 1, 50], [0.5, 2.5]])
def test_numbers_are_counted_between_edges_in_order(by_torch, dtype, bins):
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 60, 500).astype(dtype)
    if x.dtype.kind == "f" and bins != 7:
        x[::50] = np.nan
    expected, edges = np.histogram(x.astype("B") if dtype == "?" else x, bins)
    kind = np.result_type(x, edges)
    given = torch.from_numpy(x), torch.from_numpy(edges)
    found = histograms.counted_in_order(*given, kind).numpy()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
