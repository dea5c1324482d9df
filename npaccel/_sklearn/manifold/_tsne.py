"""t-SNE with all pairs: probabilities, their divergence and its gradient, on tensors.

L. van der Maaten and G. Hinton, "Visualizing Data using t-SNE" (2008). For n rows the probabilities
take 8 n² bytes, and while they are computed the squared distances 4 n² more. Of an embedding no
table of pairs is stored by compiled code: it's computed where it's summed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.kernel_decorator import SMALL, kernel

#: Number of pairs that are computed at once, where something is stored of each.
_CPU_TILE = 1 << 22
_GPU_TILE = 1 << 28
#: Tolerance of the entropy, value of a sum of zero, and maximum number of steps:
#: scikit-learn's, of which the first two are in 32 bits.
_NEAR = float(np.float32(1e-5))
_NOTHING = float(np.float32(1e-8))
_STEPS = 100
#: The smallest probability.
_LEAST = float(np.finfo(np.float64).eps)


def tiles(table: torch.Tensor) -> Iterator[slice]:
    """Yield slices of the rows of a square table."""
    size = _CPU_TILE if table.device.type == "cpu" else _GPU_TILE
    step = max(1, size // max(len(table), 1))
    for start in range(0, len(table), step):
        yield slice(start, min(start + step, len(table)))


# -- Probabilities ------------------------------------------------------------------------------


@kernel
def _weights(distances: Any, precisions: Any, numbers: Any) -> Any:
    """Return for rows of squared distances the sums of the weights, and of weighted distances."""
    wide = distances.astype(np.float64)
    own = numbers[:, None] == np.arange(distances.shape[1])[None, :]
    weights = np.where(own, 0.0, np.exp(-wide * precisions[:, None]))
    return np.sum(weights, axis=1), np.sum(weights * wide, axis=1)


@kernel
def _halved(precisions: Any, low: Any, high: Any, sums: Any, moments: Any, wanted: Any) -> Any:
    """Return precisions and their bounds after one more step, and which were near enough."""
    apart = np.log(sums) + precisions * moments / sums - wanted
    done = np.abs(apart) <= _NEAR
    flat = apart > 0.0
    low = np.where(flat & ~done, precisions, low)
    high = np.where(~flat & ~done, precisions, high)
    larger = np.where(np.isinf(high), precisions * 2.0, (precisions + high) / 2.0)
    smaller = np.where(np.isinf(low), precisions / 2.0, (precisions + low) / 2.0)
    moved = np.where(flat, larger, smaller)
    return np.where(done, precisions, moved), low, high, done


@kernel
def _both_ways(
    distances: Any, turned: Any, precisions: Any, sums: Any, all_p: Any, all_s: Any, numbers: Any
) -> Any:
    """Return for some rows the probability of each other one, and that of them given it."""
    own = numbers[:, None] == np.arange(distances.shape[1])[None, :]
    there = np.exp(-distances.astype(np.float64) * precisions[:, None]) / sums[:, None]
    back = np.exp(-turned.astype(np.float64) * all_p[None, :]) / all_s[None, :]
    return np.where(own, 0.0, there + back)


def _all_weights(
    distances: torch.Tensor, precisions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    numbers = torch.arange(len(distances), device=distances.device)
    found = [
        _weights(distances[rows], precisions[rows], numbers[rows]) for rows in tiles(distances)
    ]
    sums, moments = (torch.cat(parts) for parts in zip(*found, strict=True))
    return torch.where(sums == 0.0, _NOTHING, sums), moments


def precisions_of(distances: torch.Tensor, perplexity: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the precision of each row's neighbourhood, by bisection, and the sums of its weights.

    Parameters
    ----------
    distances : torch.Tensor
        Squared, float32; how far a row is from itself isn't read.
    perplexity : float
        The exponential of the entropy that each row's probabilities are to have.
    """
    found = torch.ones(len(distances), dtype=torch.float64, device=distances.device)
    low, high = torch.full_like(found, -torch.inf), torch.full_like(found, torch.inf)
    wanted = torch.full_like(found[:1], float(np.log(float(np.float32(perplexity)))))
    for step in range(_STEPS):
        sums, moments = _all_weights(distances, found)
        moved, low, high, done = _halved(found, low, high, sums, moments, wanted)
        if step == _STEPS - 1 or transfers.number(done.all()):
            break
        found = moved
    return found, sums


def probabilities(distances: torch.Tensor, perplexity: float) -> torch.Tensor:
    """Return the joint probabilities of all pairs, in 64 bits, zero on the diagonal.

    Parameters
    ----------
    distances : torch.Tensor
        Squared, float32.
    perplexity : float
    """
    precisions, sums = precisions_of(distances, perplexity)
    numbers = torch.arange(len(distances), device=distances.device)
    found = distances.new_empty(distances.shape, dtype=torch.float64)
    for rows in tiles(distances):
        found[rows] = _both_ways(
            distances[rows],
            distances[:, rows].T,
            precisions[rows],
            sums[rows],
            precisions,
            sums,
            numbers[rows],
        )
    found.div_(found.sum().clamp(min=_LEAST)).clamp_(min=_LEAST)
    return found.fill_diagonal_(0.0)


# -- Divergence ---------------------------------------------------------------------------------


def _nearness(part: Any, YT: Any, d: int, freedom: int) -> Any:
    """Return Student's t of the distances of some columns from all, not normalised."""
    a, b = part.astype(np.float64), YT.astype(np.float64)
    apart = (a[0][:, None] - b[0]) * (a[0][:, None] - b[0])
    for f in range(1, d):
        apart = apart + (a[f][:, None] - b[f]) * (a[f][:, None] - b[f])
    if freedom == 1:
        return 1.0 / (apart + 1.0)
    return (apart / freedom + 1.0) ** ((freedom + 1.0) / -2.0)


@kernel(static=("d", "freedom"), fused=True)
def _totals(part: Any, YT: Any, *, d: int, freedom: int) -> Any:
    """Return the sums of some rows of the table of nearness, each with itself."""
    return np.sum(_nearness(part, YT, d, freedom), axis=1)


@kernel(static=("d", "freedom"), fused=True)
def _slopes(P: Any, part: Any, YT: Any, total: Any, factor: Any, *, d: int, freedom: int) -> Any:
    """Return the gradient of some points, without its constant; coordinates come first."""
    near = _nearness(part, YT, d, freedom)
    pull = (P * factor - np.maximum(near / total, _LEAST)) * near
    return np.stack(
        [np.sum(pull * (part[f][:, None] - YT[f]).astype(np.float64), axis=1) for f in range(d)]
    )


@kernel(static=("d", "freedom"), fused=True)
def _divergences(
    P: Any, part: Any, YT: Any, total: Any, factor: Any, *, d: int, freedom: int
) -> Any:
    """Return what some rows of the probabilities contribute to the divergence."""
    q = np.maximum(_nearness(part, YT, d, freedom) / total, _LEAST)
    scaled = P * factor
    return np.sum(scaled * np.log(np.maximum(scaled, _LEAST) / q), axis=1)


class Divergence:
    """The Kullback-Leibler divergence of probabilities from those of an embedding.

    Parameters
    ----------
    P : torch.Tensor
        The probabilities of all pairs.
    components : int
    """

    def __init__(self, P: torch.Tensor, components: int) -> None:
        self.P = P
        freedom = max(components - 1, 1)
        # How much there is to do can't be told from the points: it's all pairs of them.
        large = P.numel() > SMALL

        def chosen(made: Any) -> Callable[..., Any]:
            return functools.partial(
                made.compiled if large else made, d=components, freedom=freedom
            )

        self._totals, self._slopes = chosen(_totals), chosen(_slopes)
        self._divergences = chosen(_divergences)
        self._constant = 2.0 * (freedom + 1.0) / freedom

    def __call__(
        self, YT: torch.Tensor, factor: torch.Tensor, valued: bool
    ) -> tuple[torch.Tensor | None, torch.Tensor]:
        """Return the divergence, if it's asked for, and its gradient.

        Parameters
        ----------
        YT : torch.Tensor
            A column for each point.
        factor : torch.Tensor
            What the probabilities are multiplied by.
        valued : bool
            Whether the divergence is wanted.
        """
        parts = [(self.P[rows], YT[:, rows]) for rows in tiles(self.P)]
        sums = [self._totals(part, YT) for _, part in parts]
        total = torch.cat(sums).sum() - len(self.P)
        value = None
        if valued:
            values = [self._divergences(P, part, YT, total, factor) for P, part in parts]
            value = torch.cat(values).sum()
        slopes = [self._slopes(P, part, YT, total, factor) for P, part in parts]
        return value, torch.cat(slopes, dim=1).to(YT.dtype).mul_(self._constant)


# -- Descent ------------------------------------------------------------------------------------


@kernel
def _stepped(YT: Any, update: Any, gains: Any, gradient: Any, momentum: Any, rate: Any) -> Any:
    """Return points after a step, the step, and each coordinate's gain and its gradient times it.

    R. Jacobs, "Increased rates of convergence through learning rate adaptation" (1988).
    """
    opposite = update * gradient < 0.0
    gains = np.maximum(np.where(opposite, gains + 0.2, gains * 0.8), 0.01)
    gradient = gradient * gains
    update = momentum * update - rate * gradient.astype(update.dtype)
    return (YT + update).astype(YT.dtype), update, gains, gradient


def descended(
    divergence: Callable[..., Any],
    YT: torch.Tensor,
    steps: range,
    *,
    factor: float,
    momentum: float,
    rate: Any,
    patience: int,
    smallest: float,
    every: int,
) -> tuple[torch.Tensor, float, int]:
    """Go down a gradient with momentum.

    Parameters
    ----------
    divergence : Divergence
    YT : torch.Tensor
    steps : range
        The numbers of the steps.
    factor : float
        What the probabilities are multiplied by.
    momentum : float
    rate : float
        NumPy's float64 makes the steps of that width, Python's that of the points.
    patience : int
        After how many steps without progress to stop.
    smallest : float
        At which norm of the gradient to stop.
    every : int
        After how many steps to look.

    Returns
    -------
    tuple
        The points, the divergence before the last step, and that step's number.
    """
    wide = np.result_type(np.empty(0, str(YT.dtype).rpartition(".")[2]), rate)
    update = torch.zeros_like(YT, dtype=getattr(torch, wide.name))
    gains = torch.ones_like(YT)
    numbers = [torch.full_like(update[0, 0], float(x)) for x in (momentum, rate)]
    scale = YT.new_full((), factor, dtype=torch.float64)
    error = best = float(np.finfo(float).max)
    at = number = steps.start
    for number in steps:
        looks = (number + 1) % every == 0
        value, gradient = divergence(YT, scale, looks or number == steps[-1])
        YT, update, gains, gradient = _stepped(YT, update, gains, gradient, *numbers)
        if value is None:
            continue
        norm = torch.linalg.vector_norm(gradient).double()
        error, length = transfers.numbers(value, norm)
        if not looks:
            continue
        if error < best:
            best, at = error, number
        elif number - at > patience:
            break
        if length <= smallest:
            break
    return YT, error, number
