"""The steps of `_smo` on a GPU: one program for each problem takes many of them.

The same steps in the same order as `_smo._pass`. A program goes over its variables by tiles: once
for the first of the pair, once for the other, and once to bring the gradient up to date. Numbers
come as tensors, for Triton takes those of Python as 32 bits. No product is fused with a sum, which
would round otherwise than libsvm.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

#: Maximum number of variables of a tile.
_TILE = 2048
#: Number of steps between two questions of the host.
_STEPS = 2048


@triton.jit  # type: ignore[untyped-decorator]
def _first_largest(values, places, size):  # type: ignore[no-untyped-def]
    """Return the largest value, and the first of the places where it is."""
    largest = tl.max(values, axis=0)
    return largest, tl.min(tl.where(values == largest, places, size), axis=0)


@triton.jit  # type: ignore[untyped-decorator]
def _extremes(  # type: ignore[no-untyped-def]
    gradient,
    alpha,
    lower,
    upper,
    active,
    positive,
    size,
    wanted,
    one_sign: tl.constexpr,
    tile: tl.constexpr,
):
    """Return who gains most, how much, and the least that any gains that may fall; of one sign."""
    lanes = tl.arange(0, tile)
    best = tl.full([tile], float("-inf"), tl.float64)
    least = tl.full([tile], float("inf"), tl.float64)
    places = lanes * 0
    for start in range(0, size, tile):
        at = start + lanes
        there = at < size
        grad = tl.load(gradient + at, mask=there, other=0.0)
        value = tl.load(alpha + at, mask=there, other=0.0)
        own = there & (tl.load(active + at, mask=there, other=0) != 0)
        if one_sign:
            own = own & (tl.load(positive + at, mask=there, other=0) == wanted)
        rises = own & (value < tl.load(upper + at, mask=there, other=0.0))
        falls = own & (value > tl.load(lower + at, mask=there, other=0.0))
        better = rises & (grad > best)
        best = tl.where(better, grad, best)
        places = tl.where(better, at, places)
        least = tl.where(falls & (grad < least), grad, least)
    top, first = _first_largest(best, places, size)
    return top, first, tl.min(least, axis=0)


@triton.jit  # type: ignore[untyped-decorator]
def _steps(  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915 (one kernel)
    table,
    rows,
    lower,
    upper,
    diagonal,
    positive,
    gradient,
    alpha,
    active,
    counters,
    limits,
    numbers,
    size,
    stride,
    steps,
    split: tl.constexpr,
    tile: tl.constexpr,
):
    """Take steps until a problem is solved, or is to be shrunk, or has made its share."""
    problem = tl.program_id(0).to(tl.int64)
    offset = problem * size
    rows += offset
    lower += offset
    upper += offset
    diagonal += offset
    positive += offset
    gradient += offset
    alpha += offset
    active += offset
    counters += problem * 4
    counter = tl.load(counters)
    iterations = tl.load(counters + 1)
    solved = tl.load(counters + 2)
    shrunk = tl.load(counters + 3)
    limit = tl.load(limits)
    tol = tl.load(numbers)
    tiny = tl.load(numbers + 1)
    lanes = tl.arange(0, tile)
    step = 0
    while (step < steps) & (solved == 0) & (iterations < limit) & (counter > 0):
        step += 1
        top, first, bottom = _extremes(
            gradient, alpha, lower, upper, active, positive, size, 1, split, tile
        )
        gap = top - bottom
        row = table + tl.load(rows + first) * stride
        own = tl.load(diagonal + first)
        # Of the other sign, if the problem is split; else the same again.
        other_top, other_first, other_row, other_own = top, first, row, own
        if split:
            other_top, other_first, other_bottom = _extremes(
                gradient, alpha, lower, upper, active, positive, size, 0, split, tile
            )
            gap = tl.maximum(gap, other_top - other_bottom)
            other_row = table + tl.load(rows + other_first) * stride
            other_own = tl.load(diagonal + other_first)
        best = tl.full([tile], -1.0, tl.float64)
        places = lanes * 0
        for start in range(0, size, tile):
            at = start + lanes
            there = at < size
            value = tl.load(alpha + at, mask=there, other=0.0)
            falls = there & (value > tl.load(lower + at, mask=there, other=0.0))
            falls = falls & (tl.load(active + at, mask=there, other=0) != 0)
            column = tl.load(rows + at, mask=there, other=0)
            product = tl.load(row + column, mask=there, other=0.0)
            grad = tl.load(gradient + at, mask=there, other=0.0)
            lengths = tl.load(diagonal + at, mask=there, other=0.0)
            if split:
                mine = tl.load(positive + at, mask=there, other=0) != 0
                away = tl.load(other_row + column, mask=there, other=0.0)
                product = tl.where(mine, product, away)
                rise = tl.where(mine, top, other_top) - grad
                lengths += tl.where(mine, own, other_own)
            else:
                rise = top - grad
                lengths += own
            curvature = lengths - 2.0 * product.to(tl.float64)
            curvature = tl.where(curvature > 0.0, curvature, tiny)
            gain = tl.where(falls & (rise > 0.0), rise * rise / curvature, -1.0)
            better = gain > best
            best = tl.where(better, gain, best)
            places = tl.where(better, at, places)
        most, second = _first_largest(best, places, size)
        if (gap < tol) | (most < 0.0):
            if shrunk != 0:
                for start in range(0, size, tile):
                    at = start + lanes
                    tl.store(active + at, (at < size).to(tl.int8), mask=at < size)
                shrunk = shrunk * 0
                counter = counter * 0 + 1
            else:
                solved = solved * 0 + 1
        else:
            if split:
                mine = tl.load(positive + second) != 0
                first = tl.where(mine, first, other_first)
                own = tl.where(mine, own, other_own)
                top = tl.where(mine, top, other_top)
                row = table + tl.load(rows + first) * stride
            number = tl.load(rows + second)
            other_row = table + number * stride
            between = tl.load(row + number).to(tl.float64)
            curvature = own + tl.load(diagonal + second) - 2.0 * between
            curvature = tl.where(curvature > 0.0, curvature, tiny)
            length = (top - tl.load(gradient + second)) / curvature
            old = tl.load(alpha + first)
            old_other = tl.load(alpha + second)
            highest = tl.load(upper + first)
            lowest = tl.load(lower + second)
            total = old + old_other
            new = old + length
            new_other = old_other - length
            if total > highest + lowest:
                beyond = new > highest
                new = tl.where(beyond, highest, new)
                new_other = tl.where(beyond, total - highest, new_other)
            else:
                beyond = new_other < lowest
                new = tl.where(beyond, total - lowest, new)
                new_other = tl.where(beyond, lowest, new_other)
            # All threads have read before one writes.
            tl.debug_barrier()
            tl.store(alpha + first, new)
            tl.store(alpha + second, new_other)
            change = new - old
            change_other = new_other - old_other
            for start in range(0, size, tile):
                at = start + lanes
                there = at < size
                column = tl.load(rows + at, mask=there, other=0)
                part = change * tl.load(row + column, mask=there, other=0.0).to(tl.float64)
                more = tl.load(other_row + column, mask=there, other=0.0).to(tl.float64)
                grad = tl.load(gradient + at, mask=there, other=0.0)
                tl.store(gradient + at, grad - (part + change_other * more), mask=there)
            iterations += 1
            counter -= 1
        # What was written is read by other threads.
        tl.debug_barrier()
    tl.store(counters, counter)
    tl.store(counters + 1, iterations)
    tl.store(counters + 2, solved)
    tl.store(counters + 3, shrunk)


def passes(
    table: torch.Tensor, problem: Any, tol: float, limit: int, state: Any, split: bool
) -> Any:
    """Return the fields of the state after many steps.

    Parameters
    ----------
    table : torch.Tensor
        The kernel of all rows, in 32 bits.
    problem : SMOProblem
    state : SMOState
    tol, limit, split
        When a problem is solved, how many steps it may take, whether it's split by sign.
    """
    gradient, alpha, active, *counts = state
    gradient, alpha = gradient.clone(), alpha.clone()
    active = active.to(torch.int8, copy=True)
    counters = torch.stack([one.long() for one in counts], dim=1)
    rows, lower, upper, diagonal, positive = (one.contiguous() for one in problem)
    device = gradient.device
    size = gradient.shape[1]
    tile = min(_TILE, triton.next_power_of_2(size))
    _steps[(len(gradient),)](
        table,
        rows,
        lower,
        upper,
        diagonal,
        positive.to(torch.int8),
        gradient,
        alpha,
        active,
        counters,
        torch.tensor([limit], device=device),
        torch.tensor([tol, 1e-12], dtype=torch.float64, device=device),
        size,
        table.stride(0),
        _STEPS,
        split=split,
        tile=max(tile, 128),
        num_warps=8 if tile >= 1024 else 4,
        enable_fp_fusion=False,
    )
    counter, iterations, solved, shrunk = counters.unbind(1)
    return gradient, alpha, active.bool(), counter, iterations, solved.bool(), shrunk.bool()
