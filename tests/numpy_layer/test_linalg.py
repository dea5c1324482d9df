"""Products and numpy.linalg against NumPy."""

import numpy as np
import pytest
import torch
from row_checks import ALL, LAPACK, check, data, implementation, same, tensors, traced

import npaccel
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.linalg import decompositions, einsum, linalg, norms, products
from npaccel._numpy.statistics import reductions
from npaccel._numpy.ufuncs import ufuncs

MODULES = (
    decompositions,
    einsum,
    linalg,
    norms,
    products,
    reductions,
    ufuncs,
)  # imported for their rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
RANKS = [(), (3,), (2, 3), (3, 2), (3, 3), (2, 4, 3), (2, 3, 2), (0,), (3, 0)]


def definite(shape, dtype):
    """Return positive definite matrices, well conditioned."""
    a = data(shape, dtype) / 4
    return a @ np.conj(np.swapaxes(a, -1, -2)) + 3 * np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("function", [np.dot, np.inner, np.vdot, np.outer, np.kron], ids=name)
def test_products_by_rank(function, dtype):
    for i, left in enumerate(RANKS):
        for j, right in enumerate(RANKS):
            check(function, data(left, dtype, i), data(right, dtype, 20 + j))


def test_products_promote():
    check(np.dot, data((3,), "b"), data((3,), "f"))
    check(np.dot, data((3,), "f"), 2.0)
    check(np.inner, [1, 2], [3.0, 4])
    check(np.outer, data((3,), "e"), [1, 2])
    out = torch.empty(2, 2, dtype=torch.float64)
    a = data((2, 3), "d")
    assert implementation(np.dot)(torch.from_numpy(a), torch.from_numpy(a.T), out) is out
    same(out, a @ a.T)


@pytest.mark.parametrize("dtype", ["?", "B", "I", "L", "l", "e", "f", "D"])
def test_tensordot(dtype):
    a, b = data((2, 3, 4), dtype), data((3, 4, 5), dtype, 1)
    check(np.tensordot, a, b)
    check(np.tensordot, a, b, 0)
    check(np.tensordot, a, b, ([1, 2], [0, 1]))
    check(np.tensordot, a, b, ((-1,), (1,)))
    check(np.tensordot, a, b, (1, 0))
    check(np.tensordot, a, b, 1)
    check(np.tensordot, a, a, ([0, 1, 2], [0, 1, 2]))
    check(np.linalg.tensordot, a, b, axes=2)


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ba", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("i,i", (3,), (3,)),
    ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)),
    ("...ij,jk", (5, 2, 3), (3, 4)),
    ("...->...", (2, 3)),
    ("i...->...", (2, 3, 4)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("bij, bj -> bi", (2, 3, 4), (2, 4)),
    ("Ab,b", (2, 3), (3,)),
    ("ij,kj->k", (2, 3), (4, 3)),
    ("iij->j", (3, 3, 2)),
    ("ij,jk->ik", (2, 1), (3, 4)),
]


@pytest.mark.parametrize("dtype", ["?", "b", "H", "L", "l", "e", "f", "D"])
@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum(case, dtype):
    text, *shapes = case
    check(np.einsum, text, *(data(s, dtype, i) for i, s in enumerate(shapes)))


def test_einsum_by_lists_and_options():
    a, b = data((2, 3), "d"), data((3, 4), "f")
    check(np.einsum, a, [0, 1], b, [1, 2])
    check(np.einsum, a, [0, 1], b, [1, 2], [2, 0])
    check(np.einsum, a, [Ellipsis, 1], b, [1, 2], [Ellipsis, 2])
    check(np.einsum, "ij,jk", a, b, optimize=True)
    check(np.einsum, "ij->i", data((2, 3), "i"), dtype="d")
    check(np.einsum, "ij->i", a, dtype="f", casting="same_kind")
    check(np.einsum, "ij->i", a, dtype="f")
    with pytest.raises(NotImplementedError, match="einsum_path"):
        implementation(np.einsum_path)("ij,jk", a, b)


@pytest.mark.parametrize(
    "text", ["ij", "ij,jk,kl", "ijk,jk", "ij,kj->ijk", "i1,jk", "ij,jk->iz", "ij,jk->ii", "i.j,jk"]
)
def test_wrong_einsums_raise(text):
    check(np.einsum, text, data((2, 3), "d"), data((4, 5), "d"))


def test_einsum_views():
    x = torch.arange(9.0).reshape(3, 3)
    implementation(np.einsum)("ii->i", x)[...] = 0
    assert torch.all(torch.diagonal(x) == 0)


@pytest.mark.parametrize("dtype", ALL)
def test_trace_and_cross(dtype):
    x = data((3, 4, 5), dtype)
    check(np.trace, x)
    check(np.trace, x, 1, 2, 0)
    check(np.trace, x[0], -1, dtype="d")
    check(np.trace, x[0, 0])
    check(np.trace, x, axis1=0, axis2=0)
    check(np.linalg.trace, x, offset=1)
    a, b = data((4, 3), dtype), data((4, 3), dtype, 1)
    check(np.cross, a, b)
    check(np.cross, a.T, b, axisa=0)
    check(np.cross, a, b, axisc=0)
    check(np.cross, a, b[0])
    check(np.cross, a[:, :1], b)
    check(np.linalg.cross, a, b)
    check(np.linalg.cross, a[:, :2], b[:, :2])


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_cross_of_plane_vectors():
    a, b = data((4, 3), "d"), data((4, 3), "d", 1)
    check(np.cross, a[:, :2], b[:, :2])
    check(np.cross, a[:, :2], b)
    check(np.cross, a, b[:, :2])
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":
        found = npaccel.jit(np.cross, backend="eager", default_float="float64")(a[0, :2], b[0, :2])
        wanted = np.cross(a[0, :2], b[0, :2])
        assert type(found) is type(wanted)  # An array without dimensions.
        assert found == wanted


def test_functions_of_the_array_api():
    a, b = data((3, 4), "D"), data((3, 4), "D", 1)
    check(np.linalg.vecdot, a, b)
    check(np.linalg.vecdot, a, b, axis=0)
    check(np.linalg.matmul, a, b.T)
    check(np.linalg.outer, a[0], b[0])
    check(np.linalg.outer, a, b)
    check(np.linalg.diagonal, a, offset=1)
    check(np.linalg.matrix_transpose, a)
    check(np.linalg.matrix_transpose, a[0])


ORDERS = [None, "fro", "nuc", "f", np.inf, -np.inf, 0, 1, -1, 2, -2, 3, 0.5, "other"]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", ["?", "b", "l", *LAPACK])
def test_norm(order, dtype):
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        x = data(shape, dtype)
        if dtype == "?" and order == -2:
            x = x | np.eye(*shape[-2:], dtype=bool) if x.ndim > 1 else x  # Of full rank.
        for axis in (None, 0, -1, (0, 1), (1, 0), (-2, -1), (0, 0), 5, (0, 1, 2)):
            check(np.linalg.norm, x, order, axis, ulps=64)
            check(np.linalg.norm, x, order, axis, keepdims=True, ulps=64)
        check(np.linalg.vector_norm, x, ord=order, ulps=64)
        check(np.linalg.vector_norm, x, ord=order, axis=0, keepdims=True, ulps=64)
        check(np.linalg.matrix_norm, x, ord=order, ulps=64)


def test_norms_in_float16():
    x = data((3, 4), "e")
    for order in (None, 1, 2, np.inf, 0):
        check(np.linalg.norm, x, order, 1)
    check(np.linalg.norm, x)
    check(np.linalg.vector_norm, data((2, 3, 4), "d"), axis=(0, 2), ord=1, keepdims=True)


def test_a_plain_norm_stays_in_its_precision():
    graph = traced(np.linalg.norm, data((3, 5), "f"), axis=1)
    called = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    computed = [t.split(".")[1] for t in called if "sym" not in t and "detach" not in t]
    assert computed[0] in ("mul", "pow")
    assert computed[1:] == ["sum", "sqrt"]


SOLVED = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (3, 2)),
    ((3, 3), (2, 3, 1)),
    ((3, 3, 3), (3, 3)),
    ((2, 3, 3), (2, 3)),
    ((3, 3), (4,)),
    ((3, 4), (3,)),
    ((3,), (3,)),
    ((0, 0), (0,)),
]


@pytest.mark.parametrize("shapes", SOLVED, ids=str)
@pytest.mark.parametrize("dtype", ["l", *LAPACK])
def test_solve(shapes, dtype):
    a, b = data(shapes[0], dtype), data(shapes[1], dtype, 1)
    if len(shapes[0]) > 1 and shapes[0][-1] == shapes[0][-2]:
        a = a + 20 * np.eye(shapes[0][-1], dtype=dtype)
    check(np.linalg.solve, a, b, ulps=256)


SQUARE = [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 3, 3), (3, 4), (3,)]


@pytest.mark.parametrize("dtype", ["?", "l", "e", *LAPACK])
@pytest.mark.parametrize(
    "function", [np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky], ids=name
)
def test_square_matrices(function, dtype):
    for shape in SQUARE:
        a = data(shape, dtype)
        if len(shape) > 1 and shape[-1] == shape[-2] and dtype not in "?le":
            a = definite(shape, dtype)
        elif dtype == "l" and shape == (3, 3):
            a = a @ a.T + 9 * np.eye(3, dtype=dtype)
        else:
            continue
        check(function, a, ulps=1024)
    check(function, data((3, 4), dtype))
    check(function, data((3,), dtype))
    check(function, np.eye(3, dtype="e"))


def test_results_have_numpy_fields():
    a = definite((3, 3), "d")
    t = torch.from_numpy(a)
    for function in (np.linalg.slogdet, np.linalg.eigh, np.linalg.qr, np.linalg.svd):
        assert type(implementation(function)(t)) is type(function(a))


@pytest.mark.parametrize("dtype", LAPACK)
@pytest.mark.parametrize("uplo", ["L", "U", "u"])
def test_eigh(dtype, uplo):
    a = definite((2, 4, 4), dtype)
    a[:, 0, 3] = a[:, 1, 2] = 7
    check(np.linalg.eigvalsh, a, uplo, ulps=256)
    found = implementation(np.linalg.eigh)(torch.from_numpy(a), uplo)
    values, vectors = found.eigenvalues.numpy(), found.eigenvectors.numpy()
    same(found.eigenvalues, np.linalg.eigh(a, uplo)[0], ulps=256)
    assert vectors.dtype == a.dtype
    part = np.tril(a) if uplo == "L" else np.triu(a)
    other = np.conj(np.swapaxes(part, -1, -2))
    hermitian = part + other - np.eye(4) * np.diagonal(part, 0, -2, -1)[..., None].real
    np.testing.assert_allclose(hermitian @ vectors, vectors * values[:, None, :], atol=1e-4)
    check(np.linalg.eigh, a, "X")
    check(np.linalg.eigh, a.astype("e") if dtype == "f" else a[0, 0])


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_eig_of_complex_matrices(dtype):
    a = data((3, 3), dtype)
    found = implementation(np.linalg.eig)(torch.from_numpy(a))
    values, vectors = found.eigenvalues.numpy(), found.eigenvectors.numpy()
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-4)
    mine = implementation(np.linalg.eigvals)(torch.from_numpy(a)).numpy()
    theirs = np.linalg.eigvals(a)
    assert mine.dtype == theirs.dtype == values.dtype
    np.testing.assert_allclose(np.sort_complex(mine), np.sort_complex(theirs), rtol=1e-3)


@pytest.mark.parametrize("function", [np.linalg.eig, np.linalg.eigvals], ids=name)
def test_eig_of_real_matrices_is_refused(function):
    with pytest.raises(NotImplementedError, match=name(function)):
        implementation(function)(torch.eye(3))


@pytest.mark.parametrize("dtype", ["l", *LAPACK])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 3)])
def test_svd(shape, dtype):
    a = data(shape, dtype)
    check(np.linalg.svdvals, a, ulps=256)
    check(np.linalg.svd, a, compute_uv=False, ulps=256)
    for full in (True, False):
        theirs = np.linalg.svd(a, full)
        for found, wanted in zip(svd_of(torch.from_numpy(a), full), theirs, strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)  # NumPy's own, signs and all.
        if dtype == "l":
            continue
        u, s, v = svd_of(torch.from_numpy(a).requires_grad_(), full)  # With gradients torch's.
        same(tensors(s), theirs[1], ulps=256)
        assert [x.shape for x in (u, v)] == [theirs[0].shape, theirs[2].shape]
        assert u.dtype == theirs[0].dtype
        k = s.shape[-1]
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ v[..., :k, :], a, atol=1e-4)


def svd_of(*args):
    return [t.detach().numpy() for t in implementation(np.linalg.svd)(*args)]


@pytest.mark.parametrize("dtype", LAPACK)
def test_svd_of_hermitian_matrices(dtype):
    a = definite((2, 3, 3), dtype) - 6 * np.eye(3, dtype=dtype)
    check(np.linalg.svd, a, compute_uv=False, hermitian=True, ulps=256)
    u, s, v = (
        t.numpy() for t in implementation(np.linalg.svd)(torch.from_numpy(a), hermitian=True)
    )
    same(tensors(s), np.linalg.svd(a, hermitian=True)[1], ulps=256)
    np.testing.assert_allclose(u * s[..., None, :] @ v, a, atol=1e-4)
    check(np.linalg.pinv, a, hermitian=True, ulps=4096)
    check(np.linalg.matrix_rank, a, hermitian=True)


@pytest.mark.parametrize("dtype", ["l", *LAPACK])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 4, 3)])
def test_qr(shape, dtype):
    a = data(shape, dtype)
    for mode in ("reduced", "complete", "r"):
        check(np.linalg.qr, a, mode, ulps=256)
    check(np.linalg.qr, a, "raw", ulps=256)
    check(np.linalg.qr, a, "other")


@pytest.mark.parametrize("dtype", ["l", *LAPACK])
def test_pinv_rank_and_cond(dtype):
    for shape in [(3, 4), (4, 3), (2, 3, 3), (3, 0)]:
        a = data(shape, dtype)
        check(np.linalg.pinv, a, ulps=4096)
        check(np.linalg.pinv, a, 0.5, ulps=4096)
        check(np.linalg.pinv, a, rtol=None, ulps=4096)
        check(np.linalg.matrix_rank, a)
        check(np.linalg.matrix_rank, a, tol=3.0)
        check(np.linalg.matrix_rank, a, rtol=0.5)
        for p in (None, 2, -2, 1, np.inf, "fro"):
            check(np.linalg.cond, a, p, ulps=16384)
    check(np.linalg.matrix_rank, data((3,), dtype))
    check(np.linalg.matrix_rank, np.ones((3, 3), dtype))
    check(np.linalg.cond, np.ones((2, 2), dtype), 1)
    check(np.linalg.pinv, np.ones((2, 2), dtype), 1, rtol=2)


@pytest.mark.parametrize("dtype", ["l", *LAPACK])
def test_lstsq(dtype):
    for m, n in ((5, 3), (3, 5), (3, 3)):
        a = data((m, n), dtype)
        for b in (data((m,), dtype, 1), data((m, 2), dtype, 1)):
            check(np.linalg.lstsq, a, b, ulps=4096)
    deficient = np.ones((5, 2), dtype)
    check(np.linalg.lstsq, deficient, data((5,), dtype, 1), ulps=4096)
    check(np.linalg.lstsq, data((5, 3), dtype), data((5,), dtype), 0.5, ulps=4096)
    check(np.linalg.lstsq, deficient, data((4,), dtype))
    check(np.linalg.lstsq, deficient[0], data((4,), dtype))


@pytest.mark.parametrize("dtype", LAPACK)
@pytest.mark.parametrize("shape", [(8, 3), (3, 5), (3, 3)])
@pytest.mark.parametrize("rcond", [None, 0.3, -1.0])
def test_lstsq_with_gradients(dtype, shape, rcond):
    a, b = data(shape, dtype), data((shape[0], 2), dtype, 1)
    given = torch.from_numpy(a).requires_grad_(), torch.from_numpy(b)
    found = [t.detach().numpy() for t in implementation(np.linalg.lstsq)(*given, rcond)]
    for one, other in zip(found, np.linalg.lstsq(a, b, rcond), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4 if dtype in "fF" else 1e-11)


def test_multi_dot_takes_the_fewest_multiplications():
    def fewest(sizes):
        own = sizes[0] * sizes[-1]
        ways = [
            fewest(sizes[: k + 1]) + fewest(sizes[k:]) + own * sizes[k]
            for k in range(1, len(sizes) - 1)
        ]
        return min(ways, default=0)

    def taken(parting, sizes, i, j):
        if i == j:
            return 0
        k = parting[i, j]
        parts = taken(parting, sizes, i, k) + taken(parting, sizes, k + 1, j)
        return parts + sizes[i] * sizes[k + 1] * sizes[j + 1]

    rng = np.random.default_rng(0)
    for count in (2, 3, 6):
        for _ in range(20):
            sizes = rng.integers(1, 40, count + 1).tolist()
            parting = linalg._parting(sizes)
            assert taken(parting, sizes, 0, count - 1) == fewest(sizes)


@pytest.mark.parametrize("dtype", ["b", "l", *LAPACK])
def test_matrix_power(dtype):
    a = data((2, 3, 3), dtype) + 9 * np.eye(3, dtype=dtype)
    for n in (0, 1, 2, 5, -1, -3):
        check(np.linalg.matrix_power, a.astype(dtype), n, ulps=4096)
    check(np.linalg.matrix_power, a, 1.5)
    check(np.linalg.matrix_power, a[:, :2], 2)


@pytest.mark.parametrize("dtype", ["l", *LAPACK])
def test_multi_dot(dtype):
    a, b, c = data((2, 3), dtype), data((3, 4), dtype, 1), data((4, 2), dtype, 2)
    check(np.linalg.multi_dot, [a, b, c], ulps=64)
    check(np.linalg.multi_dot, [a[0], b, c[:, 0]], ulps=64)
    chain = [data(shape, dtype) for shape in ((2, 9), (9, 1), (1, 7), (7, 3), (3, 4))]
    check(np.linalg.multi_dot, chain, ulps=64)
    check(np.linalg.multi_dot, [chain[0][0], *chain[1:-1], chain[-1][:, 0]], ulps=64)
    check(np.linalg.multi_dot, [a, b])
    check(np.linalg.multi_dot, [a])
    check(np.linalg.multi_dot, [a, c])
    check(np.linalg.multi_dot, [a, b[None], c])


def test_tensor_equations():
    a = data((2, 3, 6), "d") + 5 * np.eye(6).reshape(2, 3, 6)
    check(np.linalg.tensorsolve, a, data((2, 3), "d"), ulps=4096)
    moved = np.moveaxis(a, 0, -1)
    check(np.linalg.tensorsolve, moved.transpose(2, 0, 1), data((2, 3), "d"), ulps=4096)
    check(np.linalg.tensorsolve, a, data((3,), "d"))
    check(np.linalg.tensorinv, a.reshape(6, 2, 3), ind=1, ulps=4096)
    check(np.linalg.tensorinv, a, ulps=4096)
    check(np.linalg.tensorinv, a, ind=0)


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.cholesky], ids=name)
def test_singular_matrices_raise_at_run_time(function):
    with pytest.raises(torch.linalg.LinAlgError):
        implementation(function)(torch.zeros(2, 2))


def test_narrowed_integers():
    with tracing(TraceSettings(default_float="float32")):
        eye = torch.eye(2, dtype=torch.int64)
        for function in (np.linalg.inv, np.linalg.det, np.linalg.norm):
            assert implementation(function)(eye).dtype == torch.float32
        assert implementation(np.linalg.inv)(eye.to(torch.float64)).dtype == torch.float64


A, B = definite((3, 3), "d"), data((3, 3), "d", 1)
TRACED = [
    (np.dot, (A, B), {}),
    (np.dot, (data((2, 3, 4), "d"), data((5, 4, 2), "d")), {}),
    (np.inner, (A, B), {}),
    (np.vdot, (A, B), {}),
    (np.outer, (A[0], B[0]), {}),
    (np.kron, (A, B), {}),
    (np.cross, (A, B), {}),
    (np.trace, (A,), {}),
    (np.tensordot, (data((2, 3, 4), "d"), data((3, 4, 5), "d")), {}),
    (np.einsum, ("ij,jk->ik", A, B), {}),
    (np.einsum, ("ij,kj->i", A, B), {}),
    *((np.linalg.norm, (A,), {"ord": o}) for o in ("fro", "nuc", 2, 1)),
    (np.linalg.norm, (A,), {"axis": 1}),
    (np.linalg.solve, (A, B), {}),
    (np.linalg.solve, (A, B[0]), {}),
    (np.linalg.inv, (A,), {}),
    (np.linalg.det, (A,), {}),
    (np.linalg.slogdet, (A,), {}),
    (np.linalg.cholesky, (A,), {}),
    (np.linalg.eigvalsh, (A,), {}),
    (np.linalg.svdvals, (A,), {}),
    (np.linalg.qr, (A,), {}),
    (np.linalg.pinv, (A,), {}),
    (np.linalg.matrix_rank, (A,), {}),
    (np.linalg.cond, (A,), {}),
    (np.linalg.lstsq, (data((5, 3), "d"), data((5,), "d", 1)), {}),
    (np.linalg.matrix_power, (A, 5), {}),
    (np.linalg.multi_dot, ([A, B, A],), {}),
    (np.linalg.vecdot, (A, B), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)
