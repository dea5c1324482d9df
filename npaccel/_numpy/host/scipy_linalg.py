"""SciPy's functions of matrices and its solvers for bands as torch operators; see `kernels`.

Their steps depend on the values, so that a graph can't have them. SciPy is imported by the first
call.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import to_numpy, to_torch
from npaccel._numpy.host.registration import (
    Array,
    Form,
    kernel,
    with_derivative,
)
from npaccel._runtime.error_translation import refusing

#: Tensors.
Tensor = Any

# -- Functions of matrices --------------------------------------------------------------------


def _function(name: str, power: float) -> Any:
    found = getattr(importlib.import_module("scipy.linalg"), name)
    return (lambda a: found(a, power)) if name == "fractional_matrix_power" else found


@functools.cache
def _dtype_of_function(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype where all eigenvalues are positive."""
    return np.asarray(_function(name, 0.5)(np.eye(2, dtype=dtype))).dtype


def _form_of_function(a: Tensor, name: str, power: float) -> Form:
    return a.shape, to_torch(_dtype_of_function(name, to_numpy(a.dtype)))


@kernel("scipy_matrix_function(Tensor a, str name, float power) -> Tensor", _form_of_function)
def _matrix_function(a: Array, name: str, power: float) -> Array:
    function, dtype = _function(name, power), _dtype_of_function(name, a.dtype)
    found = np.empty(a.shape, dtype)
    with refusing(ValueError):
        for place in np.ndindex(a.shape[:-2]):
            one = np.asarray(function(a[place]))
            if one.dtype != dtype:
                raise ValueError(f"{name} of a matrix is complex")
            found[place] = one
    return found


def _derivative_of_function(ctx: Any, cotangent: Tensor) -> Any:
    """Return the derivative: it's a part of the function of a matrix of blocks."""
    a = ctx.saved_tensors[0].mH
    n = a.shape[-1]
    top = torch.cat([a, cotangent.to(a.dtype)], -1)
    whole = torch.cat([top, torch.cat([torch.zeros_like(a), a], -1)], -2)
    return _of_matrices(whole, *ctx.rest)[..., :n, n:], None, None


def _function_of_batch(info: Any, in_dims: Any, a: Tensor, name: str, power: float) -> Any:
    return _of_matrices(a.movedim(in_dims[0], 0), name, power), 0


_of_matrices = with_derivative(_matrix_function, 1, _derivative_of_function, _function_of_batch)


def matrix_function(a: Tensor, name: str, power: float = 0.0) -> Tensor:
    """Return a function of matrices as SciPy computes it.

    Parameters
    ----------
    a : Tensor, shape (..., n, n)
    name : str
        In `scipy.linalg`.
    power : float
        Of `fractional_matrix_power`.
    """
    return _of_matrices(a, name, power)


# -- Bands ------------------------------------------------------------------------------------


def _form_of_solution(ab: Tensor, b: Tensor, *_: Any) -> Form:
    return b.shape, torch.promote_types(ab.dtype, b.dtype)


@kernel(
    "scipy_solve_banded(Tensor ab, Tensor b, int lower, int upper) -> Tensor", _form_of_solution
)
def _solve_banded(ab: Array, b: Array, lower: int, upper: int) -> Array:
    with refusing(ValueError):
        found: Array = importlib.import_module("scipy.linalg").solve_banded((lower, upper), ab, b)
    return found


@kernel("scipy_solveh_banded(Tensor ab, Tensor b, bool lower) -> Tensor", _form_of_solution)
def _solveh_banded(ab: Array, b: Array, lower: bool) -> Array:
    with refusing(ValueError):
        found: Array = importlib.import_module("scipy.linalg").solveh_banded(ab, b, lower=lower)
    return found


def _rows_from(x: Tensor, by: int) -> Tensor:
    """Return the rows that are so many further on, zeros where there are none."""
    n = x.shape[0]
    place = torch.arange(n, device=x.device) + by
    known = ((place >= 0) & (place < n)).reshape((-1,) + (1,) * (x.ndim - 1))
    return x[torch.clamp(place, 0, max(n - 1, 0))] * known


def _band_of_product(x: Tensor, y: Tensor, by: int) -> Tensor:
    """Return the diagonal of ``x @ y.mH`` that is so many below the main one."""
    found = _rows_from(x, by) * y.conj()
    return found.sum(1) if found.ndim > 1 else found


def _like(found: Tensor, given: Tensor) -> Tensor:
    """Return a derivative in the dtype of what it is by."""
    found = found if given.is_complex() or not found.is_complex() else found.real
    return found.to(given.dtype)


def _derivative_of_banded(ctx: Any, cotangent: Tensor) -> Any:
    (ab, b, x), (lower, upper) = ctx.saved_tensors, ctx.rest
    rows = [_rows_from(ab[upper - by], by).conj() for by in range(-lower, upper + 1)]
    found = _banded(torch.stack(rows), cotangent, upper, lower)
    bands = [-_band_of_product(found, x, by) for by in range(-upper, lower + 1)]
    return _like(torch.stack(bands), ab), _like(found, b), None, None


_banded = with_derivative(_solve_banded, 2, _derivative_of_banded)


def solve_banded(ab: Tensor, b: Tensor, lower: int, upper: int) -> Tensor:
    """Solve equations with so many bands below and above the diagonal."""
    return _banded(ab, b, lower, upper)


def _derivative_of_hermitian(ctx: Any, cotangent: Tensor) -> Any:
    (ab, b, x), (lower,) = ctx.saved_tensors, ctx.rest
    found = _hermitian(ab, cotangent, lower)
    count = ab.shape[0]
    bands = []
    for by in range(count) if lower else range(1 - count, 1):
        band = _band_of_product(found, x, by)
        bands.append(-(band + _band_of_product(x, found, by) if by else band))
    return _like(torch.stack(bands), ab), _like(found, b), None


_hermitian = with_derivative(_solveh_banded, 2, _derivative_of_hermitian)


def solveh_banded(ab: Tensor, b: Tensor, lower: bool) -> Tensor:
    """Solve Hermitian positive definite equations, of which bands on one side are given."""
    return _hermitian(ab, b, lower)


__all__ = ["matrix_function", "solve_banded", "solveh_banded"]
