"""Linear algebra that several estimators share, on tensors."""

from __future__ import annotations

from typing import Any

import torch

from npaccel._sklearn.dispatch import transfers

#: Number of elements of a tile of rows: what is made of it is small beside X.
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


def affine(X: torch.Tensor, coefficients: torch.Tensor, intercept: Any) -> torch.Tensor:
    """Return rows times coefficients, of which there is a row per result, plus an intercept."""
    dtype = torch.promote_types(X.dtype, coefficients.dtype)
    coefficients = coefficients.to(dtype)
    return X.to(dtype) @ (coefficients.T if coefficients.ndim > 1 else coefficients) + intercept


def centred_products(
    X: torch.Tensor, y: torch.Tensor, weights: Any, intercept: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return what normal equations need, in 64 bits.

    Parameters
    ----------
    X : torch.Tensor
    y : torch.Tensor
        A column per target.
    weights : torch.Tensor or None
    intercept : bool
        Whether means are taken away.

    Returns
    -------
    tuple of torch.Tensor
        The products of X with itself and with y, and the means of X and of y.
    """
    at, of = (m.to(torch.float64) for m in means(X, y, weights, intercept))
    width = X.shape[1]
    gram = torch.zeros((width, width), dtype=torch.float64, device=X.device)
    right = torch.zeros((width, y.shape[1]), dtype=torch.float64, device=X.device)
    size = len(tiles(X)[0])
    scale: Any = [None] * len(tiles(X)) if weights is None else torch.split(weights, size)
    for part, target, some in zip(tiles(X), torch.split(y, size), scale, strict=True):
        rows = part.to(torch.float64) - at
        weighted = rows if some is None else rows * some.to(torch.float64)[:, None]
        gram.addmm_(weighted.T, rows)
        right.addmm_(weighted.T, target.to(torch.float64) - of)
    return gram, right, at, of


def means(
    X: torch.Tensor, y: torch.Tensor, weights: Any, intercept: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means of the columns of X and of y, zeros if there is no intercept."""
    if not intercept:
        return X.new_zeros(X.shape[1]), y.new_zeros(y.shape[1:])
    return mean(X, weights), mean(y, weights)


def rescaled(
    X: torch.Tensor, y: torch.Tensor, weights: Any, at: torch.Tensor, of: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return centred copies of X and y, times the square roots of the weights."""
    X, y = X - at, y - of
    if weights is None:
        return X, y
    roots = torch.sqrt(weights)[:, None]
    return X * roots, y * roots


def solved_positive(matrix: torch.Tensor, right: torch.Tensor) -> torch.Tensor | None:
    """Solve equations with a positive definite matrix; None if it isn't one."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if transfers.number(failed):
        return None
    return torch.cholesky_solve(right, factor)
