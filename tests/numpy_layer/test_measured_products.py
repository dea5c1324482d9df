"""Products of matrices by the faster BLAS: the measurement, where it's kept, and the answers."""

import math

import numpy as np
import pytest
import torch

import npaccel
from npaccel._numpy.host import measured_products

DTYPES = ["float32", "float64", "complex64", "complex128"]
FORMS = {
    "matmul": lambda a, b: a @ b,
    "dot": lambda a, b: np.dot(a, b) + 1,
    "transposed": lambda a, b: a.T @ b,
    "columns": lambda a, b: a @ b[:, ::2],
    "reversed": lambda a, b: a[::-1] @ b,
    "out": lambda a, b: np.matmul(a, b, out=np.zeros_like(a)),
    "chain": lambda a, b: np.linalg.multi_dot([a, b, a]),
    "gram": lambda a, b: a.T @ a - b,
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and nothing measured so far."""
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))
    measured_products._is_numpys.cache_clear()
    yield tmp_path / "cache"
    measured_products._is_numpys.cache_clear()


@pytest.fixture(params=["numpy", "torch"])
def faster(request, cache, monkeypatch):
    seconds = (2.0, 1.0) if request.param == "numpy" else (1.0, 2.0)
    monkeypatch.setattr(measured_products, "_measured", lambda *_: seconds)
    return request.param


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_answers_are_numpys_whichever_is_faster(form, backend, faster):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-4, 5, (24, 24)).astype(np.float64) for _ in range(2))
    jitted = npaccel.jit(FORMS[form], backend=backend, cache=False)
    np.testing.assert_array_equal(jitted(a, b), FORMS[form](a, b), strict=True)
    if backend == "inductor":
        (graph,) = jitted.report().graphs
        assert ("npaccel.matmul" in graph.source) == (faster == "numpy")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype, faster):
    a = (np.arange(400.0) % 7).reshape(20, 20).astype(dtype)
    found = npaccel.jit(lambda a: a @ a + a, backend="eager")(a)
    np.testing.assert_array_equal(found, a @ a + a, strict=True)


@pytest.mark.parametrize("shapes", [((3, 40), (40, 40)), ((40, 40), (40, 8)), ((40, 5), (5, 40))])
def test_thin_matrices_are_torchs(shapes, cache, monkeypatch):
    monkeypatch.setattr(measured_products, "_measured", None)
    a, b = map(np.ones, shapes)
    np.testing.assert_array_equal(npaccel.jit(np.matmul, backend="eager")(a, b), a @ b)


def test_small_matrices_of_stacks_are_torchs(cache, monkeypatch):
    """Its threads share them out; NumPy's loop over them has one."""
    monkeypatch.setattr(measured_products, "_measured", None)
    stack = np.arange(4 * 20 * 20.0).reshape(4, 20, 20)
    found = npaccel.jit(np.matmul, backend="eager")(stack, stack)
    np.testing.assert_array_equal(found, stack @ stack)


def test_a_measurement_is_kept(cache, monkeypatch):
    measured = []

    def measure(dtype, *sizes):
        measured.append((dtype, sizes))
        return 2.0, 1.0

    monkeypatch.setattr(measured_products, "_measured", measure)
    for _ in range(2):  # As two processes.
        for rows in (30, 32, 34):  # Of one kind.
            assert measured_products.is_numpys(torch.float64, rows, 32, 32)
        measured_products._is_numpys.cache_clear()
    assert measured == [(torch.float64, (32, 32, 32))]
    monkeypatch.setenv("NPACCEL_CACHE", "0")
    assert measured_products.is_numpys(torch.float64, 32, 32, 32)
    assert len(measured) == 2


def test_large_matrices_are_measured_by_smaller_ones():
    found = measured_products._like((100_000, 3000, 3000))
    assert math.prod(found) <= measured_products._MOST
    assert found[0] >= found[1] == found[2] > 100
    assert math.prod(measured_products._like((60, 60, 72))) <= 64**3
    assert math.prod(measured_products._like((10**8, 16, 16))[:2]) <= 2**21
    kinds = {measured_products._like((n, n, n)) for n in range(9, 512)}
    assert len(kinds) <= 14
    for n in range(9, 2000):
        assert 0.75 < measured_products._like((n, 9, 9))[0] / n < 1.26


def test_matrices_between_small_and_large_ones_are_torchs(faster):
    """NumPy's threads would look for more work, in the way of the loops that follow."""
    found = {n: measured_products.is_numpys(torch.float64, n, n, n) for n in (64, 65, 999, 1000)}
    numpys = faster == "numpy"
    assert measured_products.is_numpys(torch.float64, 1000, 1000, 1000, is_stack=True) == numpys
    assert found == {64: numpys, 65: False, 999: False, 1000: numpys}


def test_errors_of_a_measurement_are_the_callers(cache, monkeypatch):
    def fail(*_):
        raise MemoryError("no room for matrices")

    monkeypatch.setattr(measured_products, "_timed", fail)
    with pytest.raises(MemoryError, match="no room"):
        measured_products.is_numpys(torch.float64, 16, 16, 16)


def test_both_are_timed(cache):
    torchs, numpys = measured_products._measured(torch.float32, 32, 16, 8)
    assert 0 < torchs < 1
    assert 0 < numpys < 1
    # A capture may ask, where torch computes with shapes alone.
    with torch._subclasses.FakeTensorMode():
        assert min(measured_products._measured(torch.complex128, 16, 16, 16)) > 0
