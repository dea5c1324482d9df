"""Forms of distance matrices in `scipy.spatial.distance`, checks, and Hausdorff's distance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import checks as dispatch_checks
from npaccel._scipy.dispatch.arguments import free_for_scipy, on_a_cpu
from npaccel._scipy.dispatch.table import in_numpy, on_tensors
from npaccel._scipy.spatial._distance import Table, as_floats, squared, total


def _observations(pairs: int) -> int:
    """Return how many rows have that number of pairs.

    Raises
    ------
    ValueError
        If no number of rows has.
    """
    rows = math.isqrt(2 * pairs)
    rows += rows * (rows + 1) // 2 == pairs or rows * (rows - 1) // 2 < pairs
    if rows * (rows - 1) // 2 != pairs:
        raise ValueError("the size isn't that of a triangle")
    return rows


def _matrix(x: torch.Tensor) -> Any:
    """Return the symmetric matrix that has a vector above its diagonal."""
    rows = _observations(x.shape[0]) if x.shape[0] else 1
    place = torch.arange(rows, device=x.device)
    first = torch.minimum(place.unsqueeze(1), place)
    second = torch.maximum(place.unsqueeze(1), place)
    index = first * (2 * rows - first - 1) // 2 + second - first - 1
    same = first == second
    if not x.shape[0]:
        return torch.zeros(1, 1, dtype=x.dtype, device=x.device)
    return torch.where(same, torch.zeros_like(x[0]), x[torch.where(same, 0, index)])


@on_tensors("spatial.distance.squareform", arrays=("X",))
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the matrix of a vector of distances, or the vector of a matrix."""
    if X.ndim not in (1, 2) or force.lower() == ("tovector", "tomatrix")[X.ndim - 1]:
        raise ValueError("neither a vector nor a matrix, or not the one that was asked for")
    if X.ndim == 1:
        return _matrix(X)
    if X.shape[0] != X.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks:
        dispatch_checks.holds(
            _is_matrix(X, 0.0), "the matrix isn't symmetric, or its diagonal not zero"
        )
    if X.shape[0] <= 1:
        return X.new_zeros(0)
    rows, columns = torch.triu_indices(X.shape[0], X.shape[1], 1, device=X.device)
    return X[rows, columns]


def _is_matrix(d: torch.Tensor, tol: float) -> Any:
    """Tell whether a matrix is symmetric with zeros on the diagonal, up to a tolerance."""
    if d.ndim != 2 or d.shape[0] != d.shape[1]:
        return torch.zeros((), dtype=torch.bool, device=d.device)
    if tol == 0:
        return (d == d.T).all() & (torch.diagonal(d) == 0).all()
    return (d - d.T <= tol).all() & (torch.diagonal(d) <= tol).all()


@on_tensors("spatial.distance.is_valid_dm", arrays=("D",))
def is_valid_dm(
    D: Any, tol: float = 0.0, throw: bool = False, name: str | None = "D", warning: bool = False
) -> Any:
    """Tell whether a matrix holds distances; SciPy says what is wrong with one."""
    if D.ndim == 2 and D.shape[0] != D.shape[1]:
        raise ValueError("not square")
    valid = _is_matrix(D, tol)
    if throw or warning:
        dispatch_checks.holds(valid, "no distance matrix")
    return valid


@on_tensors(
    "spatial.distance.num_obs_dm", arrays=("d",), host_reason=on_a_cpu("NumPy compares as fast")
)
def num_obs_dm(d: Any) -> int:
    """Return how many rows a distance matrix is about."""
    dispatch_checks.holds(_is_matrix(d, math.inf), "no distance matrix")
    return int(d.shape[0])


@on_tensors("spatial.distance.is_valid_y", arrays=("y",))
def is_valid_y(y: Any, warning: bool = False, throw: bool = False, name: Any = None) -> bool:
    """Tell whether a vector may hold the distances of all pairs; SciPy says what is wrong."""
    try:
        valid = y.ndim == 1 and (y.shape[0] == 0 or _observations(y.shape[0]) > 1)
    except ValueError:
        valid = False
    if not valid and (throw or warning):
        raise ValueError("no condensed distance matrix")
    return valid


@on_tensors("spatial.distance.num_obs_y", arrays=("Y",))
def num_obs_y(Y: Any) -> int:
    """Return how many rows have these distances."""
    if Y.ndim != 1 or Y.shape[0] == 0:
        raise ValueError("no condensed distance matrix")
    return _observations(Y.shape[0])


def _stops_early(bound: dict[str, Any]) -> str:
    return "SciPy's search stops early, which a CPU does best" if free_for_scipy(bound) else ""


@in_numpy("spatial.distance.directed_hausdorff", arrays=("u", "v"), host_reason=_stops_early)
def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> Any:
    """Return how far a row is from the other set at most, and the numbers of both rows."""
    if u.ndim != 2 or v.ndim != 2 or u.shape[1] != v.shape[1]:
        raise ValueError("u and v need to have the same number of columns")
    A, B = as_floats(u, v)
    table = total(Table(A.shape[1]), A, B, squared)
    nearest = np.min(table, axis=1)
    first = np.argmax(nearest)
    second = np.argmin(table, axis=1)[first]
    return np.sqrt(nearest[first]), first, second
