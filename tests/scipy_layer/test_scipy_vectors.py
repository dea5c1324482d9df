"""Eigenvectors, singular vectors and bases, which may differ from SciPy's by signs."""

import numpy as np
import pytest
import scipy.linalg
import torch
from scipy_arrays import arrays
from scipy_running import off_a_cpu

import npaccel.scipy
from npaccel._scipy.dispatch import table
from npaccel.scipy import linalg


@pytest.fixture(params=["float64", "float32"])
def known(request):
    return {name: torch.from_numpy(value) for name, value in arrays(request.param).items()}


def close(a, b, times=500):
    eps = torch.finfo(a.dtype).eps
    scale = max(float(b.abs().max()), 1.0)
    assert a.shape == b.shape
    assert float((a - b).abs().max()) <= times * eps * scale


def orthonormal(q):
    close(q.mH @ q, torch.eye(q.shape[-1], dtype=q.dtype).expand(q.mH.shape[:-1] + q.shape[-1:]))


@pytest.mark.parametrize("name", ["square", "spd", "stack", "complex_square"])
def test_eig(known, name):
    a = known[name]
    values, vectors = linalg.eig(a)
    expected = scipy.linalg.eig(a.numpy())
    assert str(vectors.dtype).endswith(str(expected[1].dtype))
    assert str(values.dtype).endswith(str(expected[0].dtype))
    whole = vectors.to(values.dtype)
    close(a.to(values.dtype) @ whole, whole * values.unsqueeze(-2))
    close(vectors.norm(dim=-2), torch.ones(vectors.shape[:-1], dtype=a.real.dtype))


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("name", ["symmetric", "complex_square"])
def test_eigh_of_two_matrices(known, name, kind):
    a = known[name]
    a = a + a.mH
    b = known["spd"].to(a.dtype)[: a.shape[0], : a.shape[0]]
    values, vectors = off_a_cpu("linalg.eigh")(a, b, type=kind)
    left = {1: a @ vectors, 2: a @ b @ vectors, 3: b @ a @ vectors}[kind]
    close(left, (b @ vectors if kind == 1 else vectors) * values, 5000)
    inner = torch.linalg.inv(b) if kind == 3 else b
    close(vectors.mH @ inner @ vectors, torch.eye(len(a), dtype=a.dtype), 2000)


def test_parts_of_eigh(known):
    a = known["symmetric"]
    eigh = off_a_cpu("linalg.eigh")
    values, vectors = eigh(a)
    some, few = eigh(a, subset_by_index=[1, 2])
    assert torch.equal(some, values[1:3])
    assert torch.equal(few, vectors[:, 1:3])
    some, few = eigh(a, subset_by_value=[-1.0, 1.0])
    inside = (values > -1) & (values <= 1)
    assert torch.equal(some, values[inside])
    assert torch.equal(few, vectors[:, inside])


def test_eigh_of_a_stack(known):
    a = known["stack"] + known["stack"].mT
    values, vectors = off_a_cpu("linalg.eigh")(a)
    close(a @ vectors, vectors * values.unsqueeze(-2))
    orthonormal(vectors)


@pytest.mark.parametrize("lower", [True, False])
def test_bands(known, lower):
    bands = known["wide"][:3]
    n = bands.shape[1]
    whole = np.zeros((n, n), str(bands.dtype).removeprefix("torch."))
    for k in range(3):
        row = bands[k if lower else 2 - k].numpy()
        row = row[: n - k] if lower else row[k:]
        whole += np.diag(row, -k) + (np.diag(row, k) if k else 0)
    implementation = table.row("scipy.linalg.eig_banded").implementation
    values, vectors = implementation(bands, lower)
    close(torch.from_numpy(whole) @ vectors, vectors * values)
    close(linalg.eigvals_banded(bands, lower), values)
    some = implementation(bands, lower, True, select="i", select_range=(1, 2))
    close(some, values[1:3])


def test_three_diagonals(known):
    d, e = known["x"], known["y"][:49]
    implementation = table.row("scipy.linalg.eigh_tridiagonal").implementation
    values, vectors = implementation(d, e)
    whole = torch.diag(d) + torch.diag(e, 1) + torch.diag(e, -1)
    close(whole @ vectors, vectors * values)
    close(linalg.eigvalsh_tridiagonal(d, e), values)
    some = implementation(d, e, True, "v", (0.0, 1.0))
    close(some, values[(values > 0) & (values <= 1)])


def test_null_spaces_and_ranges(known):
    a = known["wide"][:, :3] @ known["wide"][:, :3].T
    near = 1e-3
    basis = linalg.null_space(a, rcond=near)
    assert basis.shape == (8, 5)
    orthonormal(basis)
    close(a @ basis, torch.zeros(8, 5, dtype=a.dtype))
    rows = linalg.orth(a, rcond=near)
    assert rows.shape == (8, 3)
    orthonormal(rows)
    close(rows @ (rows.mH @ a), a)


def test_complex_singular_vectors(known):
    a = known["complex_square"]
    left, values, right = linalg.svd(a)
    close((left * values) @ right, a)
    orthonormal(left)
    orthonormal(right)
    r, scale = linalg.orthogonal_procrustes(a, a @ left)
    close(r, left)
    close(scale, (values**2).sum())


def test_solving_with_diagonals_on_other_devices(known):
    c, b = known["spd"][0], known["wide"][:6]
    implementation = table.row("scipy.linalg.solve_toeplitz").implementation
    expected = scipy.linalg.solve_toeplitz(c.numpy(), b.numpy()).astype(b.numpy().dtype)
    close(implementation(c, b), torch.from_numpy(expected), 5000)
    expected = scipy.linalg.solve_toeplitz((c.numpy(), 2 * c.numpy()), b[:, 0].numpy())
    found = implementation((c, 2 * c), b[:, 0])
    close(found, torch.from_numpy(expected.astype(b.numpy().dtype)), 5000)
    spd, vector = known["spd"], known["vector"]
    solve = table.row("scipy.linalg.solve").implementation
    for kind in ("tridiagonal", "banded"):
        expected = scipy.linalg.solve(spd.numpy(), vector.numpy(), assume_a=kind)
        close(solve(spd, vector, assume_a=kind), torch.from_numpy(expected))


def test_hausdorff_on_other_devices(known):
    u, v = known["points"], known["points2"]
    implementation = table.row("scipy.spatial.distance.directed_hausdorff").implementation
    distance, first, second = implementation(u.numpy(), v.numpy())
    expected = npaccel.scipy.spatial.distance.directed_hausdorff(u, v)
    assert abs(distance - float(expected[0])) < 1e-6
    assert (first, second) == expected[1:]


def test_trees_are_drawn():
    tree = torch.tensor([[0.0, 1, 0.5, 2], [2, 3, 0.7, 2], [4, 5, 1.5, 4]], dtype=torch.float64)
    found = npaccel.scipy.cluster.hierarchy.dendrogram(tree, no_plot=True)
    expected = scipy.cluster.hierarchy.dendrogram(tree.numpy(), no_plot=True)
    assert found["leaves"] == expected["leaves"]
    assert found["ivl"] == expected["ivl"]
