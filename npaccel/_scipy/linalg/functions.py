"""Functions of matrices in `scipy.linalg`."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.host.scipy_linalg import matrix_function
from npaccel._numpy.linalg.decompositions import prepared
from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.dispatch.table import in_numpy, on_tensors
from npaccel._scipy.linalg._common import (
    broadcast_shapes,
    check_square,
    check_stack,
    has_none,
    norm1,
    refuse_traced,
    results,
    square,
)
from npaccel._scipy.linalg._matrix_functions import logarithm, sign, square_root

#: Products of matrices round differently in each order.
_ROUNDING = "computed by products of whole matrices, where SciPy goes by a Schur form"
_DEPRECATED = "a parameter that SciPy 1.18 no longer has"


def _square(A: Any) -> Any:
    """Return a matrix, or a stack of them, with elements."""
    a = square(A, check_finite=False)
    if has_none(a):
        raise ValueError("no elements")
    return a


def _exponential(a: torch.Tensor) -> Any:
    return torch.linalg.matrix_exp(a)


@on_tensors("linalg.expm", arrays=("A",), tolerance=4096, note=_ROUNDING)
def expm(A: Any) -> Any:
    """Return the exponentials."""
    (a,) = prepared(A)
    check_square(a)
    return torch.zeros_like(a) if has_none(a) else _exponential(a)


def _cosine_and_sine(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine: the parts of exp(iA) where A is real."""
    forward = _exponential(1j * a)
    if not a.is_complex():
        return forward.real, forward.imag
    backward = _exponential(-1j * a)
    return (forward + backward) / 2, (forward - backward) / 2j


@on_tensors("linalg.cosm", arrays=("A",), tolerance=4096, note=_ROUNDING)
def cosm(A: Any) -> Any:
    """Return the cosines."""
    return _cosine_and_sine(_square(A))[0]


@on_tensors("linalg.sinm", arrays=("A",), tolerance=4096, note=_ROUNDING)
def sinm(A: Any) -> Any:
    """Return the sines."""
    return _cosine_and_sine(_square(A))[1]


@on_tensors("linalg.tanm", arrays=("A",), tolerance=2**16, note=_ROUNDING)
def tanm(A: Any) -> Any:
    """Return the tangents."""
    cosine, sine = _cosine_and_sine(_square(A))
    return torch.linalg.solve(cosine, sine)


@on_tensors("linalg.coshm", arrays=("A",), tolerance=4096, note=_ROUNDING)
def coshm(A: Any) -> Any:
    """Return the hyperbolic cosines."""
    a = _square(A)
    return (_exponential(a) + _exponential(-a)) / 2


@on_tensors("linalg.sinhm", arrays=("A",), tolerance=4096, note=_ROUNDING)
def sinhm(A: Any) -> Any:
    """Return the hyperbolic sines."""
    a = _square(A)
    return (_exponential(a) - _exponential(-a)) / 2


@on_tensors("linalg.tanhm", arrays=("A",), tolerance=2**16, note=_ROUNDING)
def tanhm(A: Any) -> Any:
    """Return the hyperbolic tangents."""
    a = _square(A)
    up, down = _exponential(a), _exponential(-a)
    return torch.linalg.solve(up + down, up - down)


def _by_scipy(a: torch.Tensor) -> bool:
    """Whether SciPy computes on the host within a graph: the steps depend on the values."""
    return checks.is_in_a_graph() and a.device.type == "cpu"


def _no_disp(bound: dict[str, Any]) -> str:
    given = [bound.get(name) for name in ("disp", "blocksize")]
    return "" if all(value is None for value in given) else _DEPRECATED


def _accurate(a: torch.Tensor, again: torch.Tensor) -> None:
    """Leave to SciPy, and its warnings, what doesn't lead back to the matrix."""
    if readable(a):
        error = norm1(again - a) / norm1(a)
        if not bool((error <= 1000 * a.shape[-1] * torch.finfo(a.dtype).eps).all()):
            raise ArithmeticError("the result may be inaccurate")


@on_tensors("linalg.sqrtm", arrays=("A",), tolerance=2**14, host_reason=_no_disp, note=_ROUNDING)
def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    """Return the principal square roots; those of negative eigenvalues are SciPy's."""
    a = _square(A)
    if _by_scipy(a):
        return matrix_function(a, "sqrtm")
    found = square_root(a)
    _accurate(a, found @ found)
    return found


@on_tensors("linalg.logm", arrays=("A",), tolerance=2**14, host_reason=_no_disp, note=_ROUNDING)
def logm(A: Any, disp: Any = None) -> Any:
    """Return the principal logarithms; those of negative eigenvalues are SciPy's."""
    a = _square(A)
    if _by_scipy(a):
        return matrix_function(a, "logm")
    found = logarithm(a)
    _accurate(a, _exponential(found))
    return found


@on_tensors("linalg.signm", arrays=("A",), tolerance=2**14, host_reason=_no_disp, note=_ROUNDING)
def signm(A: Any, disp: Any = None) -> Any:
    """Return the matrix signs."""
    a = _square(A)
    if _by_scipy(a):
        return matrix_function(a, "signm")
    found = sign(a)
    _accurate(found, found @ found @ found)
    return found


@on_tensors("linalg.fractional_matrix_power", arrays=("A",), tolerance=2**14, note=_ROUNDING)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Return powers: whole ones by products, the fraction by the logarithm."""
    if isinstance(t, torch.Tensor):
        raise ValueError("the power is a number")
    if t == int(t):
        return _whole_power(A, int(t))
    a = _square(A)
    if _by_scipy(a):
        return matrix_function(a, "fractional_matrix_power", float(t))
    refuse_traced(a, "the logarithm goes on until the values have settled")
    whole = int(t // 1)
    if t < 0:  # The smaller of both neighbours, so that no power is inverted twice.
        whole += 1
    log = logarithm(a)
    _accurate(a, _exponential(log))
    found = torch.linalg.matrix_power(a, whole) @ _exponential((t - whole) * log)
    # SciPy's result is complex where there are complex eigenvalues, though all of it be real.
    turns = readable(a) and not a.is_complex() and bool(torch.linalg.eigvals(a).imag.any())
    return found + 0j if turns else found


def _whole_power(A: Any, power: int) -> Any:
    check_square(A)
    check_stack(A)
    if power < 0 or A.is_floating_point() or A.is_complex():
        (A,) = prepared(A)
        found: torch.Tensor = torch.linalg.matrix_power(A, power)
        return found
    from npaccel._numpy.linalg.linalg import matrix_power

    return matrix_power(A, power)


def _derivative(a: torch.Tensor, e: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return exp(a) and its derivative towards e: two blocks of one exponential."""
    n = a.shape[-1]
    top = torch.cat([a, e], -1)
    bottom = torch.cat([torch.zeros_like(a), a], -1)
    both = _exponential(torch.cat([top, bottom], -2))
    return both[..., :n, :n], both[..., :n, n:]


@on_tensors("linalg.expm_frechet", arrays=("A", "E"), tolerance=4096, note=_ROUNDING)
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Return the exponential and its derivative in a direction."""
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    a, e = prepared(A, E)
    check_square(a, e)
    check_stack(a, e)
    checks.finite(a, e, check_finite=check_finite)
    if a.shape[-1] != e.shape[-1] or has_none(a, e):
        raise ValueError("expected A and E to be the same shape")
    batch = broadcast_shapes(a.shape, e.shape)
    found, derivative = _derivative(a.expand(batch), e.expand(batch))
    return results(len(batch) > 2, found, derivative) if compute_expm else derivative


#: Maximum number of elements of the matrices whose exponentials are computed at once.
_AT_ONCE = 2**24


@on_tensors("linalg.expm_cond", arrays=("A",), tolerance=2**14, note=_ROUNDING)
def expm_cond(A: Any, check_finite: bool = True) -> Any:
    """Return the condition of the exponential: the norm of its derivative as one matrix."""
    a = square(A, check_finite=check_finite)
    if has_none(a):
        raise ValueError("no elements")
    n = a.shape[-1]
    units = torch.eye(n * n, dtype=a.dtype, device=a.device).reshape(n * n, n, n)
    each = max(1, _AT_ONCE // (4 * n * n * max(1, a.numel() // (n * n))))
    rows = []
    for some in torch.split(units, each):
        whole = a.unsqueeze(-3).expand(*a.shape[:-2], some.shape[0], n, n)
        rows.append(_derivative(whole, some.expand(whole.shape))[1].flatten(-2))
    kronecker = torch.linalg.svdvals(torch.cat(rows, -2))[..., 0]
    sizes = (torch.linalg.matrix_norm(x) for x in (a, _exponential(a)))
    return kronecker * next(sizes) / next(sizes)


@in_numpy("linalg.khatri_rao", arrays=("a", "b"))
def khatri_rao(a: Any, b: Any) -> Any:
    """Return the products of all pairs of rows, column by column."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    product = a[..., :, None, :] * b[..., None, :, :]
    return product.reshape(*product.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1])
