"""`scipy.cluster.vq`: means of clusters, step by step; the host draws SciPy's random numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import checks
from npaccel._scipy.dispatch.arguments import free_for_scipy
from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.dispatch.table import on_tensors
from npaccel._scipy.linalg._common import refuse_traced

_WHY = "its steps go on until the values have settled"
#: Maximum number of distances that are computed at once.
_AT_ONCE = 2**24
#: Number of distances, times the features, up to which SciPy is as fast on a CPU.
_FEW = 2**22


def _draws(rng: Any) -> Any:
    """Return what SciPy draws from: NumPy's own state unless told."""
    return np.random if rng is None else np.random.default_rng(rng)


def _nearest(obs: torch.Tensor, book: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the numbers of the nearest codes, and the distances, some rows at a time."""
    codes, distances = [], []
    for some in torch.split(obs, max(1, _AT_ONCE // max(1, book.shape[0]))):
        # Not by products, which cancel.
        table = torch.cdist(some, book, compute_mode="donot_use_mm_for_euclid_dist")
        found = torch.min(table, 1)
        codes.append(found.indices)
        distances.append(found.values)
    return torch.cat(codes), torch.cat(distances)


def _means(obs: torch.Tensor, codes: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means of the clusters, and which clusters have members."""
    sums = obs.new_zeros(count, obs.shape[1]).index_add_(0, codes, obs)
    sizes = obs.new_zeros(count).index_add_(0, codes, torch.ones_like(obs[:, 0]))
    return sums / torch.clamp(sizes, min=1).unsqueeze(1), sizes > 0


def _columns(*sets: torch.Tensor) -> list[torch.Tensor]:
    return [x.unsqueeze(1) if x.ndim == 1 else x for x in sets]


def _prepared(obs: Any, check_finite: bool) -> Any:
    refuse_traced(obs, _WHY)
    if obs.dtype not in (torch.float32, torch.float64) or obs.ndim not in (1, 2):
        raise ValueError("not one vector or one set of vectors of floats")
    if not obs.numel():
        raise ValueError("no elements")
    checks.finite(obs, check_finite=check_finite)
    return obs


def _improved(
    obs: torch.Tensor, book: torch.Tensor, thresh: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Move codes to the means of what is nearest until the mean distance stays."""
    book = book.to(obs.dtype)
    before = math.inf
    while True:
        codes, distances = _nearest(obs, book)
        means, used = _means(obs, codes, book.shape[0])
        distortion = distances.mean()
        if not readable(obs):
            return means, distortion
        book = means if bool(used.all()) else means[used]
        now = float(distortion)
        if not abs(before - now) > thresh:
            return book, distortion
        before = now


def _few(bound: dict[str, Any]) -> str:
    """Leave few distances to SciPy on a CPU, where calls would take all of the time."""
    data = bound["obs"] if "obs" in bound else bound["data"]
    codes = bound["k_or_guess"] if "k_or_guess" in bound else bound["k"]
    count = len(codes) if np.ndim(codes) else int(codes)
    few = isinstance(data, torch.Tensor) and data.numel() * count <= _FEW
    return "on a CPU, SciPy is as fast with few distances" if few and free_for_scipy(bound) else ""


@on_tensors("cluster.vq.kmeans", arrays=("obs",), host_reason=_few, tolerance=1024)
def kmeans(
    obs: Any,
    k_or_guess: Any,
    iter: int = 20,
    thresh: float = 1e-5,
    check_finite: bool = True,
    *,
    rng: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes and the mean distance from them, the best of several draws."""
    obs = _prepared(obs, check_finite)
    if iter < 1:
        raise ValueError(f"iter must be at least 1, got {iter}")
    flat = obs.ndim == 1
    guess = torch.as_tensor(k_or_guess, device=obs.device)
    (rows,) = _columns(obs)
    if guess.numel() != 1:
        if guess.ndim != obs.ndim or not guess.numel():
            raise ValueError("codes of another rank, or none")
        checks.finite(guess, check_finite=check_finite)
        book, distortion = _improved(rows, _columns(guess)[0], thresh)
        return (book.squeeze(1) if flat else book), distortion
    k = int(k_or_guess)
    if k != k_or_guess or k < 1:
        raise ValueError("not a number of clusters")
    draws, best = _draws(rng), None
    for _ in range(iter):
        places = torch.as_tensor(draws.choice(obs.shape[0], size=k, replace=False))
        found = _improved(rows, rows[places.to(obs.device)], thresh)
        if best is None or (readable(obs) and bool(found[1] < best[1])):
            best = found
    assert best is not None
    return (best[0].squeeze(1) if flat else best[0]), best[1]


def _at_random(rows: torch.Tensor, k: int, draws: Any, flat: bool) -> Any:
    """Draw codes from a normal distribution with the mean and covariance of the rows."""
    n, features = rows.shape
    if features > n:
        raise ValueError("fewer vectors than features, whose singular vectors have any sign")
    size = (k,) if flat else (k, features)
    drawn = torch.as_tensor(draws.standard_normal(size=size), device=rows.device)
    mean = rows.mean(0)
    centred = rows - mean
    covariance = centred.T @ centred / (n - 1)
    factor = torch.linalg.cholesky(covariance).to(torch.float64)
    return drawn.reshape(k, features) @ factor.T + mean


def _spread_out(rows: torch.Tensor, k: int, draws: Any) -> Any:
    """Draw rows one after the other, far ones rather than near ones (Arthur, Vassilvitskii)."""
    integer = draws.integers if hasattr(draws, "integers") else draws.randint
    found = rows[int(integer(0, rows.shape[0]))].unsqueeze(0)
    nearest = ((rows - found) ** 2).sum(1)
    for _ in range(k - 1):
        parts = torch.cumsum(nearest / nearest.sum(), 0)
        drawn = torch.tensor([draws.uniform()], dtype=parts.dtype, device=rows.device)
        row = rows[torch.searchsorted(parts, drawn).clamp(max=rows.shape[0] - 1)]
        nearest = torch.minimum(nearest, ((rows - row) ** 2).sum(1))
        found = torch.cat([found, row])
    return found


def _first_codes(rows: torch.Tensor, k: Any, minit: str, rng: Any, flat: bool) -> Any:
    """Return the codes to start with: given, or drawn."""
    given = torch.as_tensor(k, device=rows.device)
    if minit == "matrix" or given.numel() > 1:
        if given.ndim != (1 if flat else 2) or (not flat and given.shape[1] != rows.shape[1]):
            raise ValueError("k array doesn't match data rank or dimension")
        return _columns(given)[0]
    count = int(k)
    if count < 1 or count != k or minit not in ("random", "points", "++"):
        raise ValueError("not a number of clusters, or an unknown way to draw them")
    draws = _draws(rng)
    if minit == "points":
        places = torch.as_tensor(draws.choice(rows.shape[0], size=count, replace=False))
        return rows[places.to(rows.device)]
    if minit == "++":
        return _spread_out(rows, count, draws)
    return _at_random(rows, count, draws, flat)


@on_tensors("cluster.vq.kmeans2", arrays=("data",), host_reason=_few, tolerance=1024)
def kmeans2(
    data: Any,
    k: Any,
    iter: int = 10,
    thresh: float = 1e-5,
    minit: str = "random",
    missing: str = "warn",
    check_finite: bool = True,
    *,
    rng: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes, and the number of the nearest for each vector."""
    data = _prepared(data, check_finite)
    if int(iter) < 1 or missing not in ("warn", "raise"):
        raise ValueError("no step, or an unknown way to treat empty clusters")
    flat = data.ndim == 1
    (rows,) = _columns(data)
    book = _first_codes(rows, k, minit, rng, flat).to(rows.dtype)
    emptied = torch.zeros((), dtype=torch.bool, device=rows.device)
    codes = torch.zeros(0)
    for _ in range(iter):
        codes, _distances = _nearest(rows, book)
        means, used = _means(rows, codes, book.shape[0])
        book = torch.where(used.unsqueeze(1), means, book)
        emptied = emptied | ~used.all()
    if readable(rows) and bool(emptied):
        if missing == "raise":
            raise ValueError("One of the clusters is empty")
        warnings.warn(
            "One of the clusters is empty. Re-run kmeans with a different initialization.",
            stacklevel=5,
        )
    return (book.squeeze(1) if flat else book), codes.to(torch.int32)
