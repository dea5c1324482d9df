"""Stochastic gradient descent on a device, a block of rows at a time.

A step needs the product of its row with what all steps before it made of the coefficients. Within a
block that is the product with the coefficients at the block's beginning, plus those with the rows
of the steps in between. So a block takes two products with the data, and between them
a recurrence over numbers (`_sgd_steps`). The order of the rows needs no data: the host draws
it as scikit-learn does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.linear_model import _sgd_steps
from npaccel._sklearn.linear_model._sgd_steps import (
    INTERCEPT,
    MEAN,
    SCALE,
    TIME,
    TOTAL,
    Block,
    Change,
    Form,
)

#: Number of rows of a block.
BLOCK = 128
#: Maximum number of random numbers that Python draws.
_FEW = 1 << 10


# -- The order of the rows ----------------------------------------------------------------------


def _shifted(state: Any) -> Any:
    """Return what follows numbers in scikit-learn's generator (G. Marsaglia, 2003)."""
    state = state ^ (state << np.uint32(13))
    state = state ^ (state >> np.uint32(17))
    return state ^ (state << np.uint32(5))


def _carried(images: Any, numbers: Any) -> Any:
    """Return a map of bits, which is given by the images of the single bits, of numbers."""
    found = np.zeros_like(numbers)
    for bit in range(32):
        found ^= images[bit] * ((numbers >> np.uint32(bit)) & np.uint32(1))
    return found


def draws(seed: int, count: int) -> Any:
    """Return the numbers that scikit-learn's generator gives after a seed, in [0, 2**31).

    Its steps are linear in the bits: of many, a map of bits goes as many at once as are known.
    """
    few = min(count, _FEW)
    found = np.empty(count, np.uint32)
    state = seed or 1
    for place in range(few):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        found[place] = state
    jump = _jump(few) if count > few else None
    known = few
    while known < count:
        more = min(known, count - known)
        found[known : known + more] = _carried(jump, found[:more])
        jump = _carried(jump, jump)
        known += more
    return found & np.uint32(0x7FFFFFFF)


def _jump(steps: int) -> Any:
    """Return the map of bits that goes a power of two of steps."""
    found = _shifted(np.uint32(1) << np.arange(32, dtype=np.uint32))
    for _ in range(steps.bit_length() - 1):
        found = _carried(found, found)
    return found


def shuffled(seed: int, count: int) -> Any:
    """Return how scikit-learn shuffles rows before each pass over them (R. A. Fisher, F. Yates)."""
    places = np.arange(count - 1)
    others = (places + draws(seed, count - 1) % (count - places)).tolist()
    found = list(range(count))
    for place, other in enumerate(others):
        found[place], found[other] = found[other], found[place]
    return np.array(found, dtype=np.int32)


# -- What is learnt -----------------------------------------------------------------------------


@dataclasses.dataclass
class Weights:
    """The coefficients of several problems; the first axis is of the problems.

    Parameters
    ----------
    coef, intercept : torch.Tensor
    mean, mean_intercept : torch.Tensor
        Of all steps.
    time : float
        The number of the next step.
    epochs : list of int
        How many passes over the data each problem took.
    """

    coef: torch.Tensor
    intercept: torch.Tensor
    mean: torch.Tensor
    mean_intercept: torch.Tensor
    time: float
    epochs: list[int] = dataclasses.field(default_factory=list)

    def part(self, lanes: slice) -> Weights:
        """Return those of some problems."""
        parts = (self.coef, self.intercept, self.mean, self.mean_intercept)
        wide = [part[lanes].to(torch.float64, copy=True) for part in parts]
        return Weights(wide[0], wide[1], wide[2], wide[3], self.time)


@dataclasses.dataclass(frozen=True)
class Task:
    """Problem to be learnt, and for how long.

    Parameters
    ----------
    X : torch.Tensor
    rows : callable
        Takes a tensor of problems' numbers and one of rows' numbers for each of them; returns the
        true values and the weights.
    form : Form
    seeds : list of int
        Of each problem; empty where the rows stay in order.
    epochs : int
        The most passes over the data.
    tol : float or None
    patience : int
        After how many passes without a gain it ends.
    held_out : array, optional
        Whether a row isn't learnt from.
    score : callable, optional
        Takes a problem's number and its predictions of those rows, on the host.
    """

    X: torch.Tensor
    rows: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
    form: Form
    seeds: list[int]
    epochs: int
    tol: float | None
    patience: int
    held_out: Any = None
    score: Callable[[int, Any], float] | None = None


def learned(task: Task, start: Weights) -> Weights:
    """Return the coefficients after the descent, in 64 bits.

    Raises
    ------
    ValueError
        If a number overflows.
    """
    lanes = len(start.coef)
    at_once = max(1, common.TILE // (BLOCK * max(BLOCK, task.X.shape[1])))
    found = []
    for first in range(0, lanes, at_once):
        part = slice(first, min(first + at_once, lanes))
        found.append(_Descent(task, start.part(part), part).run())
    return Weights(
        torch.cat([one.coef for one in found]),
        torch.cat([one.intercept for one in found]),
        torch.cat([one.mean for one in found]),
        torch.cat([one.mean_intercept for one in found]),
        start.time,
        [epochs for one in found for epochs in one.epochs],
    )


def _taken(block: Block, state: torch.Tensor, form: Form) -> Change:
    """Take the steps of a block where it lies, and write into the state what goes to the next."""
    if block.gram.device.type == "cuda":
        from npaccel._sklearn.linear_model import _sgd_triton

        return _sgd_triton.taken(block, state, form)
    return _sgd_steps.taken(block, state, form)


class _Descent:
    """The descents of several problems side by side, which share the data."""

    def __init__(self, task: Task, start: Weights, part: slice) -> None:
        self.task = task
        self.weights = start
        self.first = part.start
        lanes = part.stop - part.start
        like = start.coef
        self.device = like.device
        self.state = like.new_zeros(lanes, 5)
        self.state[:, INTERCEPT] = start.intercept
        self.state[:, TIME] = start.time
        self.state[:, MEAN] = start.mean_intercept
        self.state[:, SCALE] = 1.0
        self.rate = [float(task.form.eta0)] * lanes
        self.best = [-np.inf] * lanes
        self.waited = [0] * lanes
        self.weights.epochs = [0] * lanes
        self.order = torch.arange(len(task.X), device=self.device).expand(lanes, -1)
        self.shuffle = self._shuffle(task.seeds[part])
        self.held_out = None
        self.held_rows = None
        if task.held_out is not None:
            self.held_out = transfers.to_device(task.held_out, self.device)
            self.held_rows = task.X[self.held_out]

    def _shuffle(self, seeds: list[int]) -> torch.Tensor | None:
        if not seeds:
            return None
        orders = np.stack([shuffled(seed, len(self.task.X)) for seed in seeds])
        return transfers.to_device(orders, self.device).long()

    def run(self) -> Weights:
        """Take passes over the data until each problem has no more gain."""
        going = list(range(len(self.rate)))
        broken: list[int] = []
        for epoch in range(1, self.task.epochs + 1):
            self._pass(going, epoch)
            sums, finite = self._sums(going)
            for lane in going:
                self.weights.epochs[lane] = epoch
            broken += [lane for lane, fine in zip(going, finite, strict=True) if not fine]
            going = [
                lane
                for lane, value, fine in zip(going, sums, finite, strict=True)
                if fine and self._goes_on(lane, value)
            ]
            if not going:
                break
        if broken:
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch"
                f" #{self.weights.epochs[min(broken)]}. Scaling input data with StandardScaler or"
                " MinMaxScaler might help."
            )
        self.weights.intercept = self.state[:, INTERCEPT]
        self.weights.mean_intercept = self.state[:, MEAN]
        return self.weights

    # -- When it ends ----------------------------------------------------------------------------

    def _sums(self, going: list[int]) -> tuple[list[float], list[bool]]:
        """Return what is to grow of each problem, and whether its coefficients are finite."""
        state, coef = self.state[going], self.weights.coef[going]
        stored = (coef / state[:, SCALE, None]).to(self.task.X.dtype)
        finite = torch.isfinite(stored).all(dim=1) & torch.isfinite(state[:, INTERCEPT])
        both = transfers.numbers(state[:, TOTAL], finite.double())
        sums, fine = both[: len(going)], [value != 0.0 for value in both[len(going) :]]
        if self.task.score is None:
            count = len(self.task.X)
            return [-value / count for value in sums], fine
        assert self.held_rows is not None
        # scikit-learn scores the coefficients as it stores them.
        raw = (stored @ self.held_rows.T).double() + state[:, INTERCEPT, None]
        predicted = transfers.to_host(raw)
        scores = [
            self.task.score(self.first + lane, predicted[n]) if fine[n] else 0.0
            for n, lane in enumerate(going)
        ]
        return scores, fine

    def _goes_on(self, lane: int, value: float) -> bool:
        """Tell a problem what its last pass gained; return whether there is to be another."""
        tol = self.task.tol
        if tol is not None and tol > -np.inf and self._is_worse(lane, value, tol):
            self.waited[lane] += 1
        else:
            self.waited[lane] = 0
        self.best[lane] = max(self.best[lane], value)
        if self.waited[lane] < self.task.patience:
            return True
        if self.task.form.rate == "adaptive" and self.rate[lane] > 1e-6:
            self.rate[lane] /= 5
            self.waited[lane] = 0
            return True
        return False

    def _is_worse(self, lane: int, value: float, tol: float) -> bool:
        if self.task.score is not None:
            return value < self.best[lane] + tol
        return -value > -self.best[lane] - tol

    # -- A pass over the data --------------------------------------------------------------------

    def _pass(self, going: list[int], epoch: int) -> None:
        """Take a step for each row."""
        # Rows that are held out have their places in the order.
        order = self._next_order(going)
        learns = len(order[0])
        size = min(BLOCK, learns) if self.device.type == "cpu" else BLOCK
        places = -(-learns // size) * size
        order = torch.nn.functional.pad(order, (0, places - learns))
        eta = self._rates(going, self.weights.time + (epoch - 1) * learns, places)
        lanes = torch.tensor([self.first + lane for lane in going], device=self.device)
        state = self.state[going]
        state[:, TOTAL] = 0.0
        coef, mean = self.weights.coef[going], self.weights.mean[going]
        width = max(size, self.task.X.shape[1])
        step = size * max(1, common.TILE // (len(going) * size * width))
        for start in range(0, places, step):
            chunk = slice(start, start + step)
            coef, mean = self._chunk(
                lanes, order[:, chunk], eta[:, chunk], size, learns - start, state, coef, mean
            )
        self.state[going], self.weights.coef[going], self.weights.mean[going] = state, coef, mean

    def _next_order(self, going: list[int]) -> torch.Tensor:
        """Return in which order each problem takes the rows that it learns from."""
        if self.shuffle is not None:
            self.order = torch.gather(self.order, 1, self.shuffle)
        order = self.order[going]
        if self.held_out is None:
            return order
        return order[~self.held_out[order]].reshape(len(going), -1)

    def _rates(self, going: list[int], time: float, count: int) -> torch.Tensor:
        """Return the rate of each step."""
        form = self.task.form
        if form.rate not in ("optimal", "invscaling"):
            rates = torch.tensor([self.rate[lane] for lane in going], dtype=torch.float64)
            return rates.to(self.device)[:, None].expand(-1, count)
        steps = time + torch.arange(count, dtype=torch.float64, device=self.device)
        if form.rate == "optimal":
            rates = 1.0 / (form.alpha * (_sgd_steps.first_step(form) + steps - 1.0))
        else:
            rates = form.eta0 / steps**form.power_t
        return rates.expand(len(going), -1)

    def _chunk(
        self,
        lanes: torch.Tensor,
        order: torch.Tensor,
        eta: torch.Tensor,
        size: int,
        count: int,
        state: torch.Tensor,
        coef: torch.Tensor,
        mean: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the steps of several blocks."""
        form = self.task.form
        y, weights = self.task.rows(lanes, order)
        decay = (1.0 - eta * form.alpha).clamp(min=0.0) if form.penalised else eta
        shape = (len(lanes), -1, size)
        X = self.task.X[order].double().reshape(*shape, self.task.X.shape[1])
        gram = X @ X.mT
        y, weights, eta, decay = (
            part.reshape(shape).contiguous() for part in (y, weights, eta, decay)
        )
        for n in range(X.shape[1]):
            rows = X[:, n]
            raw = torch.matmul(rows, coef[:, :, None])[:, :, 0]
            needed = form.penalised and form.sums == "objective"
            squares = torch.linalg.vecdot(coef, coef) if needed else raw[:, 0].contiguous()
            left = min(size, count - n * size)
            block = Block(
                gram[:, n], raw, y[:, n], weights[:, n], eta[:, n], decay[:, n], squares, left
            )
            change = _taken(block, state, form)
            if form.average:
                added = torch.matmul(change.mean_steps[:, None], rows)[:, 0]
                mean = change.mean_kept[:, None] * mean + change.mean_first[:, None] * coef + added
            coef = change.kept[:, None] * coef + torch.matmul(change.steps[:, None], rows)[:, 0]
        return coef, mean
