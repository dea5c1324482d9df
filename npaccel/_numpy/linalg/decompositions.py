"""Decompositions of `numpy.linalg`: eigenvalues, singular values, QR, Cholesky."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.linalg import LinAlgError

from npaccel._numpy.core.dtypes import DType, as_dtype, as_tensor, cast, narrow, to_numpy
from npaccel._numpy.core.layouts import lying_like
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import kernels as host
from npaccel._numpy.host import linalg as host_linalg
from npaccel._numpy.linalg.norms import check_float, singular_values

_EigResult: Any = type(np.linalg.eig(np.eye(1)))
_EighResult: Any = type(np.linalg.eigh(np.eye(1)))
_QRResult: Any = type(np.linalg.qr(np.eye(1)))
_SVDResult: Any = type(np.linalg.svd(np.eye(1)))

AT_RUN_TIME = "a singular matrix raises torch.linalg.LinAlgError when the code runs"
_SIGNS = "vectors may differ from NumPy's by a sign (complex: by a phase), as between BLAS builds"


def _linalg_dtype(*tensors: torch.Tensor) -> DType:
    """Return the dtype that LAPACK computes in: integers count as float64."""
    own = [to_numpy(check_float(x).dtype) for x in tensors]
    wide = [d if d.kind in "fc" else np.dtype(np.float64) for d in own]
    return narrow(as_dtype(np.result_type(*wide)), own)


def prepared(*operands: Any) -> list[torch.Tensor]:
    """Return the operands in the dtype that LAPACK computes in.

    Raises
    ------
    TypeError
        If one is float16.
    """
    tensors = [as_tensor(x) for x in operands]
    dtype = _linalg_dtype(*tensors)
    return [cast(x, dtype) for x in tensors]


def for_numpys_lapack(given: Any, cast_to: torch.Tensor) -> torch.Tensor:
    """Return what NumPy's LAPACK gets: the array itself where it's computed in float64.

    A pass over integers of their own would wake threads that are in BLAS's way.

    Parameters
    ----------
    given : array_like
    cast_to : torch.Tensor
        It, as `prepared`.
    """
    return as_tensor(given) if cast_to.dtype == torch.float64 else cast_to


def check_stacked(a: torch.Tensor) -> None:
    if a.ndim < 2:
        raise LinAlgError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )


def check_square(a: torch.Tensor) -> None:
    check_stacked(a)
    if a.shape[-2] != a.shape[-1]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def square(a: Any) -> torch.Tensor:
    """Return a stack of square matrices in LAPACK's dtype."""
    check_square(as_tensor(a))
    return prepared(a)[0]


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(-2, -1)


_REAL_OR_COMPLEX = (
    "numpy.linalg.{name} of a real matrix gives real or complex numbers depending on the values, "
    "so its dtype can't be compiled; pass a.astype(complex), or use numpy.linalg.{symmetric} "
    "for a symmetric matrix"
)


def _complex_square(a: Any, name: str, symmetric: str) -> torch.Tensor:
    x = square(a)
    if not x.is_complex():
        raise NotImplementedError(_REAL_OR_COMPLEX.format(name=name, symmetric=symmetric))
    return x


@implements(np.linalg.eig, note="real matrices are refused: NumPy's dtype depends on the values")
def eig(a: Any) -> Any:
    """`numpy.linalg.eig` of complex matrices."""
    values, vectors = torch.linalg.eig(_complex_square(a, "eig", "eigh"))
    return _EigResult(values, vectors.contiguous())


@implements(
    np.linalg.eigvals, note="real matrices are refused: NumPy's dtype depends on the values"
)
def eigvals(a: Any) -> torch.Tensor:
    """`numpy.linalg.eigvals` of complex matrices."""
    found: torch.Tensor = torch.linalg.eigvals(_complex_square(a, "eigvals", "eigvalsh"))
    return found


def _triangle(uplo: Any) -> str:
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo.upper()


@implements(np.linalg.eigh, note=f"on a GPU and with gradients {_SIGNS}")
def eigh(a: Any, UPLO: str = "L") -> Any:
    """`numpy.linalg.eigh`, ascending eigenvalues."""
    triangle = _triangle(UPLO)
    x = square(a)
    return _EighResult(*_eigenvectors(x, for_numpys_lapack(a, x), triangle))


def _eigenvectors(
    x: torch.Tensor, given: torch.Tensor, triangle: str = "L"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return eigenvalues and vectors of Hermitian matrices; on a CPU those that NumPy finds."""
    if host.usable(x):
        values, vectors = host_linalg.eigh(given, triangle)
    else:
        values, vectors = torch.linalg.eigh(x, UPLO=triangle)
    return values, vectors.contiguous()


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> torch.Tensor:
    """`numpy.linalg.eigvalsh`, ascending."""
    triangle = _triangle(UPLO)
    return _eigenvalues(square(a), triangle)


def _eigenvalues(x: torch.Tensor, triangle: str = "L") -> torch.Tensor:
    """Return the eigenvalues of Hermitian matrices; on a CPU NumPy's LAPACK is the faster one."""
    if host.usable(x):
        return host_linalg.eigvalsh(x, triangle)
    return torch.linalg.eigvalsh(x, UPLO=triangle)  # type: ignore[no-any-return]


def conjugate(x: torch.Tensor) -> torch.Tensor:
    return torch.conj_physical(x) if x.is_complex() else x


def _hermitian_values(x: torch.Tensor) -> torch.Tensor:
    """Return the singular values of Hermitian matrices, descending."""
    check_square(x)
    return torch.sort(torch.abs(_eigenvalues(x)), dim=-1, descending=True)[0]


def _hermitian_svd(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    check_square(x)
    values, vectors = _eigenvectors(x, x)
    size, order = torch.sort(torch.abs(values), dim=-1, descending=True)
    sign = torch.gather(torch.sign(values), -1, order)
    vectors = vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))
    return vectors, size, conjugate(transposed(vectors * sign.unsqueeze(-2)))


@implements(np.linalg.svd, note=f"on a GPU and with gradients {_SIGNS}")
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """`numpy.linalg.svd`."""
    check_stacked(as_tensor(a))
    (x,) = prepared(a)
    if hermitian:
        return _SVDResult(*_hermitian_svd(x)) if compute_uv else _hermitian_values(x)
    if not compute_uv:
        return singular_values(x)
    full = bool(full_matrices)
    if host.usable(x):
        return _SVDResult(*host_linalg.svd(for_numpys_lapack(a, x), full))
    return _SVDResult(*torch.linalg.svd(x, full_matrices=full))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> torch.Tensor:
    """`numpy.linalg.svdvals`, descending."""
    return svd(x, compute_uv=False)  # type: ignore[no-any-return]


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """`numpy.linalg.qr` with modes "reduced", "complete", "r" and "raw"."""
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    check_stacked(as_tensor(a))
    (x,) = prepared(a)
    if mode == "raw":
        reflectors, scales = torch.geqrf(x)
        return transposed(lying_like(reflectors, x)), scales
    q, r = torch.linalg.qr(x, mode=mode)
    r = r.contiguous()
    return r if mode == "r" else _QRResult(q.contiguous(), r)


@implements(np.linalg.cholesky, note=AT_RUN_TIME)
def cholesky(a: Any, /, *, upper: bool = False) -> torch.Tensor:
    """`numpy.linalg.cholesky`."""
    found: torch.Tensor = torch.linalg.cholesky(square(a), upper=bool(upper))
    return found.contiguous()
