"""The dual problems of support vector machines, solved pair by pair as libsvm goes.

A step changes two variables: the one that violates its condition most, and the one with which the
objective then falls most (R.-E. Fan, P.-H. Chen and C.-J. Lin, 2005). As in libsvm the kernel is
rounded to 32 bits, of equal candidates the last one is taken, and from time to time variables that
are at their bounds are left out. So the same pairs follow on each other, and the solutions agree to
far more digits than the tolerance asks for.

Many problems go step by step together, for the work of one step is small: a row for each problem,
filled up with variables that don't take part. The variables stand in reverse order, since the first
of equal ones is what `argmax` finds. A step that follows the last one changes nothing, and so the
host asks only after many steps whether there are more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.kernel_decorator import kernel
from npaccel._sklearn.kernels.tiles import squares, tiles

#: Stand-in for a curvature that isn't positive.
_TINY = 1e-12
#: Maximum number of iterations after which libsvm shrinks again.
_PERIOD = 1000
#: Number of iterations between two questions of the host.
_STEPS = 64
#: Maximum number of bytes of a table of the kernel of all rows; else rows of it are recomputed.
LARGEST_TABLE = 1 << 30
#: The largest kernel: in 32 bits there is something left above it.
_LARGEST = 1e37
#: No limit.
_ENDLESS = 1 << 62


@dataclasses.dataclass
class Kernel:
    """The kernel of the rows of X.

    Parameters
    ----------
    X : torch.Tensor
        In 64 bits; of ``"precomputed"`` the kernel itself.
    name : str
    gamma, coef0 : float
    degree : int
    """

    X: torch.Tensor
    name: str
    gamma: float
    degree: int
    coef0: float

    def __post_init__(self) -> None:
        self.table: torch.Tensor | None = None
        if self.name == "precomputed":
            self.table = self.X.float()
        elif 4 * len(self.X) ** 2 <= LARGEST_TABLE:
            self.table = self._all()

    def block(self, X: torch.Tensor) -> torch.Tensor:
        """Return the kernel of other rows with all of these, with libsvm's rounding."""
        products = X @ self.X.T
        if self.name != "rbf":
            return self._of_products(products)
        lengths = squares(X)[:, None] + squares(self.X)
        return lengths.sub_(products, alpha=2).clamp_(min=0).mul_(-self.gamma).exp_()

    def _all(self) -> torch.Tensor:
        found = torch.empty((len(self.X),) * 2, dtype=torch.float32, device=self.X.device)
        for rows in tiles(self.X, len(self.X)):
            found[rows] = self.block(self.X[rows])
        return found

    def diagonal(self) -> torch.Tensor:
        """Return the kernel of each row with itself, in 64 bits."""
        if self.name == "precomputed":
            return self.X.diagonal()
        if self.name == "rbf":
            return torch.ones_like(self.X[:, 0])
        return self._of_products(squares(self.X))

    def _of_products(self, products: torch.Tensor) -> torch.Tensor:
        if self.name == "linear":
            return products
        inner = products.mul_(self.gamma).add_(self.coef0)
        return inner.tanh_() if self.name == "sigmoid" else inner.pow_(self.degree)

    def fits(self) -> bool:
        """Whether the kernel's numbers, and those on the way, fit into 32 bits."""
        if self.name == "precomputed":
            largest = self.X.abs().max()
        else:
            largest = squares(self.X).max()
        if self.name not in ("precomputed", "linear"):
            largest = self.gamma * largest + abs(self.coef0)
        if self.name == "poly":
            largest = largest**self.degree
        return bool(transfers.number(largest) <= _LARGEST)

    def rows(self, numbers: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Return columns of some rows of the kernel, rounded to 32 bits; each row has its own."""
        if self.table is not None:
            return self.table[numbers[:, None], columns].double()
        return torch.gather(self.block(self.X[numbers]).float(), 1, columns).double()


@dataclasses.dataclass
class Problems:
    """Problems of the form min ½ aᵀQa + pᵀa, yᵀa constant, 0 <= a <= C, where Q = y yᵀ K.

    Parameters
    ----------
    rows : torch.Tensor
        For each problem and each of its variables the row of the data that it stands for (int64).
    y : torch.Tensor
        1 or -1; 0 where there is no variable.
    cost : torch.Tensor
        The upper bounds C.
    linear : torch.Tensor
        p.
    start : torch.Tensor
        What the variables are at first; it meets the constraints.
    split : bool
        Whether the sums of the variables of either sign are constant too, as those of nu are.
    """

    rows: torch.Tensor
    y: torch.Tensor
    cost: torch.Tensor
    linear: torch.Tensor
    start: torch.Tensor
    split: bool = False

    def arrays(self) -> tuple[torch.Tensor, ...]:
        """Return the arrays."""
        return self.rows, self.y, self.cost, self.linear, self.start


@dataclasses.dataclass
class Solution:
    """Solved problems.

    Parameters
    ----------
    values : torch.Tensor
        The variables, each times its sign.
    rho : torch.Tensor
        What the decision functions subtract.
    scale : torch.Tensor
        libsvm's r: of problems that are split by sign, what the functions are to be divided by.
    steps : list of int
    stopped : bool
        Whether a problem took all of the steps that it might take.
    """

    values: torch.Tensor
    rho: torch.Tensor
    scale: torch.Tensor
    steps: list[int]
    stopped: bool


class SMOProblem(NamedTuple):
    """Constants of all steps; the arrays have a row for each problem.

    Parameters
    ----------
    rows : array
        Of the data, which the variables stand for.
    lower, upper : array
        The bounds of ``y * alpha``.
    diagonal : array
        The kernel of each row with itself, libsvm's QD.
    positive : array of bool
        Whether y is 1.
    """

    rows: Any
    lower: Any
    upper: Any
    diagonal: Any
    positive: Any


class SMOState(NamedTuple):
    """State that a step changes; the arrays have a row, or a number, for each problem.

    Parameters
    ----------
    gradient : array
        ``-y * G``, where G is libsvm's gradient: what a step would gain.
    alpha : array
        ``y * alpha``.
    active : array of bool
        Which variables take part.
    counter : array
        Steps until it's shrunk again.
    iterations : array
        Steps that were made.
    solved : array of bool
    shrunk : array of bool
        Whether variables are left out.
    """

    gradient: Any
    alpha: Any
    active: Any
    counter: Any
    iterations: Any
    solved: Any
    shrunk: Any


class _Order(NamedTuple):
    """Order of the variables, which shrinking changes.

    Parameters
    ----------
    places : torch.Tensor
        Where each variable stood at first.
    y : torch.Tensor
    there : torch.Tensor
        Whether there is a variable.
    unshrunk : torch.Tensor
        libsvm's unshrink: whether all of a problem's were taken in again near its end.
    """

    places: Any
    y: Any
    there: Any
    unshrunk: Any


class _Rows(NamedTuple):
    """Source of rows of the kernel: a table of it, or X."""

    table: Any
    X: Any
    gamma: Any
    degree: Any
    coef0: Any


def solved(
    problems: Problems, source: Kernel, tol: float, max_iter: int, shrinking: bool
) -> Solution:
    """Solve problems.

    Parameters
    ----------
    problems : Problems
    source : Kernel
    tol, max_iter, shrinking
        scikit-learn's parameters.
    """
    # The last of equal candidates is taken: from here on they stand in reverse order.
    rows, y, cost, linear, start = (one.flip(1) for one in problems.arrays())
    there = y != 0
    sizes = there.sum(dim=1)
    period = sizes.clamp(max=_PERIOD) if shrinking else torch.full_like(sizes, _ENDLESS)
    limit = max_iter if max_iter >= 0 else _ENDLESS
    never = torch.zeros_like(there[:, 0])
    lower, upper = torch.where(y < 0, -cost, 0.0), torch.where(y > 0, cost, 0.0)
    alpha = y * start
    gradient = _gradient(rows, alpha, -y * linear, source)
    problem = SMOProblem(rows, lower, upper, source.diagonal()[rows], y > 0)
    places = torch.arange(y.shape[1], device=y.device).flip(0).expand_as(rows)
    order = _Order(places, y, there, never)
    state = SMOState(gradient, alpha, there, period, torch.zeros_like(sizes), never, never)
    passes = _passes_of(source, float(tol), limit, problems.split, y.device)
    while True:
        state = SMOState(*passes(problem, state))
        runs = ~state.solved & (state.iterations < limit)
        due = runs & (state.counter <= 0)
        goes_on, some_due = transfers.numbers(runs.any(), due.any())
        if not goes_on:
            break
        if some_due:
            problem, order, state = _shrink(problem, order, state, due, period, tol, problems.split)
    counts = transfers.numbers(state.iterations, state.solved.long())
    offsets = _split_offsets if problems.split else _offsets
    y, cost = order.y, problem.upper - problem.lower
    rho, scale = offsets(state.gradient, y * state.alpha, state.active, y, cost)
    found = torch.zeros_like(state.alpha).scatter_(1, order.places, state.alpha)
    return Solution(found, rho, scale, counts[: len(y)], not all(counts[len(y) :]))


def _passes_of(
    source: Kernel, tol: float, limit: int, split: bool, device: torch.device
) -> Callable[[Any, Any], Any]:
    """Return what makes steps: Triton on a GPU, else NumPy; compiled where there is no table."""
    if device.type == "cuda" and source.table is not None:
        from npaccel._sklearn.svm import _smo_triton

        table = source.table
        return lambda problem, state: _smo_triton.passes(table, problem, tol, limit, state, split)
    numbers = float(source.gamma), float(source.degree), float(source.coef0)
    of = _Rows(source.table, source.X if source.table is None else None, *numbers)
    static = {"steps": _STEPS, "name": source.name, "split": split}
    call = _on_cpu if device.type == "cpu" else _passes.compiled
    return lambda problem, state: call(of, problem, state, tol, limit, **static)


def _gradient(
    rows: torch.Tensor, alpha: torch.Tensor, linear: torch.Tensor, source: Kernel
) -> torch.Tensor:
    """Return the gradient as `SMOState` has it.

    Summed in libsvm's order: which of two nearly equal parts is larger decides what follows.
    """
    found = linear.clone()
    used = np.flatnonzero(transfers.to_host((alpha != 0).any(dim=0)))
    for column in used[::-1].tolist():
        found -= alpha[:, column, None] * source.rows(rows[:, column], rows)
    return found


def _shrink(
    problem: SMOProblem,
    place: _Order,
    state: SMOState,
    due: Any,
    period: Any,
    tol: float,
    split: bool,
) -> tuple[SMOProblem, _Order, SMOState]:
    """Leave out variables at their bounds that gain nothing, of the problems where it's due.

    They change places with those that stay, as libsvm lets them: the order decides between equal
    ones, and after a step the two that it changed are equal.
    """
    places, y, there, unshrunk = place
    out, gap = _shrinkable(*state[:3], problem.lower, problem.upper, problem.positive, split=split)
    # Near the end all are looked at again, once.
    unshrinks = due & ~unshrunk & (gap <= 10 * tol)
    looked_at = (state.active | unshrinks[:, None]) & there
    out = out & looked_at & due[:, None]
    stays = looked_at & ~out
    count = stays.sum(dim=1, keepdim=True)
    size = y.shape[1]
    number = torch.arange(size, device=y.device)
    inside = size - 1 - number < count
    # From the front those that go, from the back those that stay; `size` is nowhere.
    going = torch.where(out & inside, number, -1).sort(dim=1, descending=True).values
    going = torch.where(going < 0, size, going)
    coming = torch.where(stays & ~inside, number, size).sort(dim=1).values
    order = torch.arange(size + 1, device=y.device).repeat(len(y), 1)
    order = order.scatter(1, going, coming).scatter(1, coming, going)[:, :size]
    arrays = *problem, places, y, state.gradient, state.alpha
    *fixed, places, y, gradient, alpha = (torch.gather(one, 1, order) for one in arrays)
    state = state._replace(
        gradient=gradient,
        alpha=alpha,
        active=inside,
        counter=torch.where(due, period, state.counter),
        shrunk=torch.where(due, count[:, 0] < there.sum(dim=1), state.shrunk),
    )
    return SMOProblem(*fixed), _Order(places, y, there, unshrunk | unshrinks), state


def _on_cpu(
    source: _Rows, problem: SMOProblem, state: SMOState, tol: float, limit: int, **static: Any
) -> SMOState:
    """Make the steps in NumPy, on arrays that share the tensors' memory.

    A step is some dozen operations on short vectors: compiling them takes longer than it saves.
    """
    arrays = [
        type(part)(*(one.numpy() if isinstance(one, torch.Tensor) else one for one in part))
        for part in (source, problem, state)
    ]
    with np.errstate(all="ignore"):
        found = _passes.__wrapped__(*arrays, tol, limit, **static)
    return SMOState(*map(torch.from_numpy, found))


@kernel(static=("steps", "name", "split"))
def _passes(
    source: _Rows,
    problem: SMOProblem,
    state: SMOState,
    tol: Any,
    limit: Any,
    *,
    steps: int,
    name: str,
    split: bool,
) -> SMOState:
    """Return the state after some steps; a step that follows a problem's last changes nothing."""
    gradient, alpha, active, counter, iterations, solved, shrunk = state
    for _ in range(steps):
        gradient, alpha, active, counter, iterations, solved, shrunk = _pass(
            source,
            problem,
            SMOState(gradient, alpha, active, counter, iterations, solved, shrunk),
            tol,
            limit,
            name,
            split,
        )
    return SMOState(gradient, alpha, active, counter, iterations, solved, shrunk)


def _pass(
    source: _Rows,
    problem: SMOProblem,
    state: SMOState,
    tol: Any,
    limit: Any,
    name: str,
    split: bool,
) -> tuple[Any, ...]:
    """Change two variables of each problem, or unshrink it; return the fields of the state."""
    rows, lower, upper, diagonal, positive = problem
    gradient, alpha, active, counter, iterations, solved, shrunk = state
    each = np.arange(len(lower))
    can_rise, can_fall = (alpha < upper) & active, (alpha > lower) & active
    # The working set.
    firsts, tops, bottoms = _violators(gradient, can_rise, can_fall, positive, split)
    found = [_kernel_rows(source, rows, each, one, name) for one in firsts]
    row = _by_sign(positive, found)
    rise = _by_sign(positive, [one[:, None] for one in tops]) - gradient
    own = _by_sign(positive, [diagonal[each, one][:, None] for one in firsts])
    curvature = own + diagonal - 2.0 * row
    curvature = np.where(curvature > 0.0, curvature, _TINY)
    gain = np.where(can_fall & (rise > 0.0), rise * rise / curvature, -1.0)
    second = np.argmax(gain, axis=1)
    optimal = (_gap(tops, bottoms) < tol) | (gain[each, second] < 0.0)
    # What is to be done.
    goes_on = ~solved & (iterations < limit) & (counter > 0)
    unshrinks = goes_on & optimal & shrunk
    moves = goes_on & ~optimal
    solved = solved | (goes_on & optimal & ~shrunk)
    # The step.
    sign = positive[each, second]
    first, row = _by_sign(sign, firsts), _by_sign(sign[:, None], found)
    length = rise[each, second] / curvature[each, second]
    old = alpha[each, first], alpha[each, second]
    new = _clipped(old, upper[each, first], lower[each, second], length)
    number = np.arange(lower.shape[1])
    is_first = moves[:, None] & (number == first[:, None])
    is_second = moves[:, None] & (number == second[:, None])
    alpha = np.where(is_first, new[0][:, None], np.where(is_second, new[1][:, None], alpha))
    other = _kernel_rows(source, rows, each, second, name)
    # A product that goes through a choice isn't fused with the sum, which would round otherwise.
    a = np.where(moves[:, None], (new[0] - old[0])[:, None] * row, 0.0)
    b = np.where(moves[:, None], (new[1] - old[1])[:, None] * other, 0.0)
    gradient = gradient - (a + b)
    counter = np.where(unshrinks, 1, counter - moves)
    active = active | unshrinks[:, None]
    return gradient, alpha, active, counter, iterations + moves, solved, shrunk & ~unshrinks


def _violators(gradient: Any, rises: Any, falls: Any, positive: Any, split: bool) -> Any:
    """Return who gains most, how much, and the least that any that may fall gains.

    Where the problem is split, of either sign.
    """
    firsts, tops, bottoms = [], [], []
    for sign in (True, False)[: 1 + split]:
        up = rises & (positive == sign) if split else rises
        down = falls & (positive == sign) if split else falls
        heights = np.where(up, gradient, -np.inf)
        firsts.append(np.argmax(heights, axis=1))
        tops.append(heights[np.arange(len(gradient)), firsts[-1]])
        bottoms.append(np.min(np.where(down, gradient, np.inf), axis=1))
    return firsts, tops, bottoms


@kernel(static=("split",))
def _shrinkable(
    gradient: Any, alpha: Any, active: Any, lower: Any, upper: Any, positive: Any, *, split: bool
) -> Any:
    """Return which variables can't be of a pair for now, and how far from solved problems are."""
    can_rise, can_fall = alpha < upper, alpha > lower
    ends = _violators(gradient, can_rise & active, can_fall & active, positive, split)[1:]
    top, bottom = (_by_sign(positive, [one[:, None] for one in part]) for part in ends)
    out = (~can_rise & (gradient > top)) | (~can_fall & (gradient < bottom))
    return out, _gap(*ends)


def _gap(tops: Any, bottoms: Any) -> Any:
    """Return how much the conditions are violated."""
    gap = tops[0] - bottoms[0]
    return np.maximum(gap, tops[1] - bottoms[1]) if len(tops) > 1 else gap


def _by_sign(positive: Any, parts: Any) -> Any:
    """Return of one part for each sign that of a variable; if there is but one, that."""
    return parts[0] if len(parts) == 1 else np.where(positive, parts[0], parts[1])


def _kernel_rows(source: _Rows, rows: Any, each: Any, which: Any, name: str) -> Any:
    """Return the kernel of a variable of each problem with all variables, rounded to 32 bits."""
    table, X, gamma, degree, coef0 = source
    numbers = rows[each, which]
    if table is not None:
        return table[numbers[:, None], rows].astype(np.float64)
    found = X[numbers] @ X.T
    if name == "rbf":
        lengths = np.sum(X * X, axis=1)
        found = lengths[numbers][:, None] + lengths - 2.0 * found
        found = np.exp(-gamma * np.maximum(found, 0.0))
    elif name == "poly":
        found = (gamma * found + coef0) ** degree
    elif name == "sigmoid":
        found = np.tanh(gamma * found + coef0)
    return found[each[:, None], rows].astype(np.float32).astype(np.float64)


def _clipped(old: Any, high: Any, low: Any, length: Any) -> Any:
    """Return two variables after a step, with libsvm's rounding where it ends at a bound.

    The first one rises, the other falls, and their sum stays.
    """
    total = old[0] + old[1]
    a, b = old[0] + length, old[1] - length
    a_first = total > high + low
    beyond = np.where(a_first, a > high, b < low)
    a = np.where(beyond, np.where(a_first, high, total - low), a)
    return a, np.where(beyond, np.where(a_first, total - high, low), b)


# -- Offsets ------------------------------------------------------------------------------------


def _middle(values: torch.Tensor, free: Any, above: Any, below: Any) -> torch.Tensor:
    """Return the mean of what is free; where nothing is, the middle of what may be."""
    count = free.sum(dim=1)
    mean = torch.where(free, values, 0.0).sum(dim=1) / count
    upper = torch.where(above, values, torch.inf).amin(dim=1)
    lower = torch.where(below, values, -torch.inf).amax(dim=1)
    return torch.where(count > 0, mean, (upper + lower) / 2)


def _offsets(
    gradient: torch.Tensor, alpha: Any, active: Any, y: Any, cost: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the decision functions subtract, and 1."""
    at_top = alpha >= cost
    at_bottom = ~at_top & (alpha <= 0)
    bounds_above = (at_top & (y < 0)) | (at_bottom & (y > 0))
    bounds_below = (at_top & (y > 0)) | (at_bottom & (y < 0))
    found = _middle(
        -gradient, active & ~at_top & ~at_bottom, active & bounds_above, active & bounds_below
    )
    return found, torch.ones_like(found)


def _split_offsets(
    gradient: torch.Tensor, alpha: Any, active: Any, y: Any, cost: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the decision functions subtract, and what they are divided by, before that."""
    at_top = alpha >= cost
    at_bottom = ~at_top & (alpha <= 0)
    gradient = -y * gradient
    found = []
    for sign in (1, -1):
        own = active & (y == sign)
        found.append(_middle(gradient, own & ~at_top & ~at_bottom, own & at_bottom, own & at_top))
    return (found[0] - found[1]) / 2, (found[0] + found[1]) / 2
