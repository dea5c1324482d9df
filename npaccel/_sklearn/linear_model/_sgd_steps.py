"""The steps of stochastic gradient descent within a block of rows, as a recurrence over numbers.

What a step needs of the data is in the table of the rows' products with each other and in their
products with the coefficients at the block's beginning. Each step changes the products of the rows
that come later.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

#: The columns of what goes from block to block: the intercept, the number of the step, the mean
#: intercept, the sum of the losses, and what scikit-learn multiplies its stored coefficients by.
INTERCEPT, TIME, MEAN, TOTAL, SCALE = range(5)
#: Steeper slopes of a loss are cut off.
STEEPEST = 1e12
#: Below it the factor of all coefficients is multiplied out, as in scikit-learn.
_SMALLEST = {False: 1e-9, True: 1e-6}


@dataclasses.dataclass(frozen=True)
class Form:
    """Constants of all steps of a fit.

    Parameters
    ----------
    loss : str
        A key of `LOSSES`.
    parameter : float
        The margin of a hinge, the epsilon of others.
    rate : str
        scikit-learn's ``learning_rate``.
    alpha, eta0, power_t : float
    penalised : bool
        Whether there is an l2 penalty.
    fit_intercept : bool
    one_class : bool
    average : int
        From which step on the coefficients are averaged; 0: never.
    sums : {"", "loss", "objective"}
        What is summed to tell when to stop.
    narrow : bool
        Whether scikit-learn's coefficients are in 32 bits.
    """

    loss: str
    parameter: float
    rate: str
    alpha: float
    eta0: float
    power_t: float
    penalised: bool
    fit_intercept: bool
    one_class: bool
    average: int
    sums: str
    narrow: bool

    @property
    def is_passive(self) -> bool:
        """Whether the step follows from the loss and the row's length."""
        return self.rate in ("pa1", "pa2")

    @property
    def smallest(self) -> float:
        """Below which the factor of scikit-learn's coefficients is multiplied out."""
        return _SMALLEST[self.narrow]


# -- Losses: of the true value and the predicted one, with the slope by the latter ---------------


def _hinge(y: float, p: float, margin: float) -> tuple[float, float]:
    z = p * y
    return (margin - z, -y) if z <= margin else (0.0, 0.0)


def _squared_hinge(y: float, p: float, margin: float) -> tuple[float, float]:
    z = margin - p * y
    return (z * z, -2.0 * y * z) if z > 0.0 else (0.0, 0.0)


def _modified_huber(y: float, p: float, _: float) -> tuple[float, float]:
    z = p * y
    if z >= 1.0:
        return 0.0, 0.0
    if z >= -1.0:
        return (1.0 - z) * (1.0 - z), 2.0 * (1.0 - z) * -y
    return -4.0 * z, -4.0 * y


def _logistic(y: float, p: float, _: float) -> tuple[float, float]:
    if p > -37.0:
        small = math.exp(-p)
        slope = ((1.0 - y) - y * small) / (1.0 + small)
    else:
        slope = math.exp(p) - y
    return _softplus(p) - y * p, slope


def _softplus(p: float) -> float:
    """Return log(1 + exp(p))."""
    if p <= -37.0:
        return math.exp(p)
    if p <= 18.0:
        return math.log1p(math.exp(p))
    return p + math.exp(-p) if p <= 33.3 else p


def _squared_error(y: float, p: float, _: float) -> tuple[float, float]:
    apart = p - y
    return 0.5 * apart * apart, apart


def _huber(y: float, p: float, epsilon: float) -> tuple[float, float]:
    apart = p - y
    size = abs(apart)
    if size <= epsilon:
        return 0.5 * size * size, apart
    return epsilon * (size - 0.5 * epsilon), epsilon if apart >= 0.0 else -epsilon


def _tube(y: float, p: float, epsilon: float) -> tuple[float, float]:
    outside = abs(y - p) - epsilon
    if y - p > epsilon:
        return outside, -1.0
    return (outside, 1.0) if p - y > epsilon else (max(outside, 0.0), 0.0)


def _squared_tube(y: float, p: float, epsilon: float) -> tuple[float, float]:
    outside = abs(y - p) - epsilon
    if outside > 0.0:
        return outside * outside, -2.0 * outside if y > p else 2.0 * outside
    return 0.0, 0.0


#: Losses by scikit-learn's names.
LOSSES: dict[str, Callable[[float, float, float], tuple[float, float]]] = {
    "hinge": _hinge,
    "perceptron": _hinge,
    "squared_hinge": _squared_hinge,
    "modified_huber": _modified_huber,
    "log_loss": _logistic,
    "squared_error": _squared_error,
    "huber": _huber,
    "epsilon_insensitive": _tube,
    "squared_epsilon_insensitive": _squared_tube,
}


def first_step(form: Form) -> float:
    """Return what is added to the number of the step where it decides the rate (L. Bottou)."""
    typical = math.sqrt(1.0 / math.sqrt(form.alpha))
    slope = LOSSES[form.loss](1.0, -typical, form.parameter)[1]
    return 1.0 / (typical / max(1.0, slope) * form.alpha)


# -- The recurrence -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Block:
    """The rows of a block for several problems, in 64 bits; the first axis is of the problems.

    Parameters
    ----------
    gram : torch.Tensor
        The rows' products with each other.
    raw : torch.Tensor
        Their products with the coefficients at the beginning.
    y, weights, eta, decay : torch.Tensor
        The true values, the weights, the rates, and what the penalty multiplies coefficients by.
    squares : torch.Tensor
        The coefficients' products with themselves at the beginning, if the objective is summed.
    count : int
        How many rows there are; the rest are empty places.
    """

    gram: torch.Tensor
    raw: torch.Tensor
    y: torch.Tensor
    weights: torch.Tensor
    eta: torch.Tensor
    decay: torch.Tensor
    squares: torch.Tensor
    count: int


@dataclasses.dataclass(frozen=True)
class Change:
    """Change of coefficients by a block's steps; the first axis is of the problems.

    Parameters
    ----------
    kept : torch.Tensor
        What the coefficients are multiplied by.
    steps : torch.Tensor
        What each row is multiplied by, and added.
    mean_kept, mean_first, mean_steps : torch.Tensor
        The same for the mean coefficients, and their part of the coefficients at the beginning.
    """

    kept: torch.Tensor
    steps: torch.Tensor
    mean_kept: torch.Tensor
    mean_first: torch.Tensor
    mean_steps: torch.Tensor


def taken(block: Block, state: torch.Tensor, form: Form) -> Change:
    """Take the steps of a block on the host, and write into the state what goes to the next."""
    lanes, size = block.raw.shape
    kept, mean_kept, mean_first = np.ones(lanes), np.ones(lanes), np.zeros(lanes)
    steps, mean_steps = np.zeros((lanes, size)), np.zeros((lanes, size))
    with np.errstate(all="ignore"):
        for lane in range(lanes):
            one = _Lane(block, state.numpy()[lane], lane, form)
            one.run(block.count)
            kept[lane], steps[lane] = one.kept * one.factor, one.steps * one.factor
            mean_kept[lane], mean_first[lane] = one.mean_kept, one.mean_first
            mean_steps[lane] = one.mean_steps
    return Change(*map(torch.from_numpy, (kept, steps, mean_kept, mean_first, mean_steps)))


class _Lane:
    """The steps of one problem.

    The changed products and the steps are stored without a factor that all share.
    """

    def __init__(self, block: Block, state: Any, lane: int, form: Form) -> None:
        self.form = form
        self.loss = LOSSES[form.loss]
        self.state = state
        self.gram = block.gram[lane].numpy()
        self.raw = block.raw[lane].numpy().copy()
        self.y = block.y[lane].tolist()
        self.weights = block.weights[lane].tolist()
        self.eta = block.eta[lane].tolist()
        self.decay = block.decay[lane].tolist() if form.penalised else []
        self.lengths = self.gram.diagonal().tolist()
        self.square = float(block.squares[lane])
        self.factor = self.kept = self.mean_kept = 1.0
        self.mean_first = 0.0
        self.steps = np.zeros(len(self.raw))
        self.mean_steps = np.zeros(len(self.raw))

    def run(self, count: int) -> None:
        form = self.form
        intercept, time, mean, total, scale = self.state.tolist()
        for i in range(count):
            p = self.factor * float(self.raw[i]) + intercept
            loss, slope = self.loss(self.y[i], p, form.parameter)
            if form.sums:
                total += loss + self.penalties(intercept)
            if form.rate == "pa1" and self.lengths[i] == 0.0:
                continue
            update = self.update(i, p, loss, slope)
            if form.penalised:
                scale *= self.decay[i]
                scale = 1.0 if scale < form.smallest else scale
                self.shrink(self.decay[i])
            if update != 0.0:
                self.add(i, update)
            if form.fit_intercept:
                intercept += update - self.eta[i] * form.alpha if form.one_class else update
            if 0 < form.average <= time:
                self.average(time - form.average + 1.0)
                mean += (intercept - mean) / (time - form.average + 1.0)
            time += 1.0
        self.state[:] = intercept, time, mean, total, scale

    def penalties(self, intercept: float) -> float:
        """Return what the objective has besides the loss."""
        form = self.form
        if form.sums != "objective":
            return 0.0
        found = form.alpha * 0.5 * self.square if form.penalised else 0.0
        return found + intercept * form.alpha if form.one_class else found

    def update(self, i: int, p: float, loss: float, slope: float) -> float:
        """Return what a row is to be multiplied by, and added to the coefficients."""
        form = self.form
        if not form.is_passive:
            if abs(slope) > STEEPEST:
                slope = math.copysign(STEEPEST, slope)
            return -self.eta[i] * slope * self.weights[i]
        length = self.lengths[i]
        if form.rate == "pa1":
            found = min(form.eta0, loss / length)
        else:
            found = loss / (length + 0.5 / form.eta0)
        if form.loss == "hinge":
            found *= self.y[i]
        elif self.y[i] - p < 0.0:
            found = -found
        return found * self.weights[i]

    def shrink(self, by: float) -> None:
        """Multiply the coefficients."""
        self.factor *= by
        self.square *= by * by
        if self.factor < _SMALLEST[False]:
            self.raw *= self.factor
            self.steps *= self.factor
            self.kept *= self.factor
            self.factor = 1.0

    def add(self, i: int, update: float) -> None:
        """Add a row to the coefficients."""
        before = self.factor * float(self.raw[i])
        self.square += 2.0 * update * before + update * update * self.lengths[i]
        step = update / self.factor
        self.steps[i] += step
        self.raw += step * self.gram[i]

    def average(self, number: float) -> None:
        """Take the coefficients into their mean."""
        share = 1.0 / number
        rest = 1.0 - share if number > 1.0 else 1.0
        self.mean_kept *= rest
        self.mean_first = rest * self.mean_first + share * self.factor * self.kept
        self.mean_steps *= rest
        self.mean_steps += share * self.factor * self.steps
