"""Linear algebra that several estimators share, on tensors."""

from __future__ import annotations

from typing import Any

import torch

#: How many numbers a tile of rows has, so that what is made of it doesn't count beside X.
TILE = 1 << 22


def tiles(X: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return X in pieces of rows."""
    return torch.split(X, max(1, TILE // max(1, X.shape[1])))


def mean(X: torch.Tensor, weights: Any = None) -> torch.Tensor:
    """Return the mean of the columns, summed in 64 bits, in the dtype of X."""
    if weights is None:
        return (X.sum(dim=0, dtype=torch.float64) / len(X)).to(X.dtype)
    total = torch.zeros(X.shape[1:], dtype=torch.float64, device=X.device)
    for part, some in zip(tiles(X), torch.split(weights, len(tiles(X)[0])), strict=True):
        total += some.to(torch.float64) @ part.to(torch.float64)
    return (total / weights.sum(dtype=torch.float64)).to(X.dtype)


def scatter(X: torch.Tensor, center: torch.Tensor) -> torch.Tensor:
    """Return the products of the centred columns with each other, in 64 bits."""
    wide = center.to(torch.float64)
    found = torch.zeros((X.shape[1], X.shape[1]), dtype=torch.float64, device=X.device)
    for part in tiles(X):
        centred = part.to(torch.float64) - wide
        found.addmm_(centred.T, centred)
    return found


def signs_of_rows(v: torch.Tensor) -> torch.Tensor:
    """Return the signs of the largest number of each row."""
    return torch.sign(torch.gather(v, 1, torch.argmax(v.abs(), dim=1)[:, None]))[:, 0]


def randomized_svd(
    A: torch.Tensor, start: torch.Tensor, count: int, iterations: int, normalizer: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the first singular vectors and values, by a subspace of random vectors.

    N. Halko, P.-G. Martinsson and J. A. Tropp (2011), as scikit-learn does it. Where that
    normalises by LU, this does by QR: the subspace is the same.

    Parameters
    ----------
    A : torch.Tensor
    start : torch.Tensor
        Random vectors: a row for each column of A, or for each row if A is wide.
    count : int
        How many are wanted.
    iterations : int
        How often A and its transpose are applied.
    normalizer : {"auto", "QR", "LU", "none"}
    """
    wide = A.shape[0] < A.shape[1]
    matrix = A.T if wide else A
    plain = normalizer == "none" or (normalizer == "auto" and iterations <= 2)
    Q = start
    for _ in range(iterations):
        for factor in (matrix, matrix.T):
            Q = factor @ Q
            Q = Q if plain else torch.linalg.qr(Q).Q
    Q = torch.linalg.qr(matrix @ Q).Q
    inner, values, right = torch.linalg.svd(Q.T @ matrix, full_matrices=False)
    left = Q @ inner
    if wide:
        return right[:count].T, values[:count], left[:, :count].T
    return left[:, :count], values[:count], right[:count]
