"""Systems of few equations that are written out as elimination."""

import numpy as np
import pytest
import torch

import npaccel
from npaccel._torch.inductor.loops.systems import SMALL_SYSTEMS

ATEN = torch.ops.aten
SOLVE, LU_SOLVE = ATEN._linalg_solve_ex.default, ATEN.linalg_lu_solve.default


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sides", [(), (1,), (3,)])
@pytest.mark.parametrize("batch", [(), (5,), (2, 0), (2, 3)])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_that_elimination_gives_what_lapack_does(size, batch, sides, dtype):
    drawn = torch.Generator().manual_seed(size)
    a = torch.randn(*batch, size, size, dtype=dtype, generator=drawn)
    if size > 1:
        a[..., 0, 0] = 0  # Rows have to be exchanged.
    b = torch.randn(*batch, size, *sides, dtype=dtype, generator=drawn)
    wanted = SOLVE(a, b)
    for got, want in zip(SMALL_SYSTEMS[SOLVE](a, b), wanted, strict=True):
        torch.testing.assert_close(got, want)
    if sides:
        for adjoint in (False, True):
            want = LU_SOLVE(wanted[1], wanted[2], b, adjoint=adjoint)
            got = SMALL_SYSTEMS[LU_SOLVE](wanted[1], wanted[2], b, adjoint=adjoint)
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_that_the_first_zero_pivot_is_told(rank):
    a = torch.diag_embed((torch.arange(3) < rank).double()).expand(4, 3, 3)
    info = SMALL_SYSTEMS[SOLVE](a, torch.ones(4, 3, dtype=torch.float64))[3]
    assert info.tolist() == SOLVE(a, torch.ones(4, 3, dtype=torch.float64))[3].tolist()


def newton(v, p):
    for _ in range(8):
        x, y = v
        f = np.array([x * x + y * y - p[0], x * y - p[1]])
        v = v - np.linalg.solve(np.array([[2 * x, 2 * y], [y, x]]), f)
    return v


def test_that_newtons_method_is_batched_and_has_a_derivative():
    rng = np.random.default_rng(0)
    starts = np.tile([2.0, 1.0], (5000, 1))
    p = np.stack([5 + rng.random(5000), 1 + 0.3 * rng.random(5000)], 1)
    found = npaccel.vmap(newton)(starts, p)
    np.testing.assert_allclose(
        found[:9], [newton(*one) for one in zip(starts[:9], p[:9], strict=True)], rtol=1e-12
    )
    slopes = npaccel.vmap(npaccel.jacobian(newton, argnums=1))(starts, p)
    x, y = found[0]
    inverse = np.linalg.inv([[2 * x, 2 * y], [y, x]])
    np.testing.assert_allclose(slopes[0], inverse, rtol=1e-9)


def test_that_singular_systems_raise():
    def solved(a, b):
        return np.linalg.solve(a, b)

    a = np.tile(np.eye(3), (6, 1, 1))
    a[4, 2, 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        npaccel.jit(solved)(a, np.ones((6, 3, 1)))
    a[4, 2, 2] = 2
    found = npaccel.jit(solved)(a, np.ones((6, 3, 1)))
    np.testing.assert_array_equal(found, np.linalg.solve(a, np.ones((6, 3, 1))))
