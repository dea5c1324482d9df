"""The steps of stochastic gradient descent within a block of rows, on a GPU.

The same recurrence as in `_sgd_steps`: one program for each problem takes all steps of the
block, so that nothing crosses to the host and nothing is launched for a row. Numbers come as
tensors, for Triton takes those of Python as 32 bits.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl

from npaccel._sklearn.linear_model._sgd_steps import LOSSES, STEEPEST, Block, Change, Form

_HINGE = tl.constexpr(0)
_SQUARED_HINGE = tl.constexpr(1)
_MODIFIED_HUBER = tl.constexpr(2)
_LOG_LOSS = tl.constexpr(3)
_SQUARED_ERROR = tl.constexpr(4)
_HUBER = tl.constexpr(5)
_TUBE = tl.constexpr(6)

#: Losses by scikit-learn's names; the last one is the squared tube.
_NUMBERS = {
    "hinge": 0,
    "perceptron": 0,
    "squared_hinge": 1,
    "modified_huber": 2,
    "log_loss": 3,
    "squared_error": 4,
    "huber": 5,
    "epsilon_insensitive": 6,
    "squared_epsilon_insensitive": 7,
}
assert set(_NUMBERS) == set(LOSSES)


@triton.jit  # type: ignore[untyped-decorator]
def _softplus(p):  # type: ignore[no-untyped-def]
    small = tl.exp(-tl.abs(p))
    above = 1.0 + small
    # W. Kahan's log1p.
    log = tl.where(above == 1.0, small, tl.log(above) * (small / (above - 1.0)))
    return tl.maximum(p, 0.0) + log


@triton.jit  # type: ignore[untyped-decorator]
def _loss(y, p, parameter, loss: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the loss and its slope."""
    zero = p * 0.0
    if loss == _HINGE:
        z = p * y
        found = tl.where(z <= parameter, parameter - z, zero)
        slope = tl.where(z <= parameter, -y, zero)
    elif loss == _SQUARED_HINGE:
        short = parameter - p * y
        found = tl.where(short > 0.0, short * short, zero)
        slope = tl.where(short > 0.0, -2.0 * y * short, zero)
    elif loss == _MODIFIED_HUBER:
        z = p * y
        found = tl.where(z >= -1.0, (1.0 - z) * (1.0 - z), -4.0 * z)
        slope = tl.where(z >= -1.0, -2.0 * (1.0 - z) * y, -4.0 * y)
        found = tl.where(z >= 1.0, zero, found)
        slope = tl.where(z >= 1.0, zero, slope)
    elif loss == _LOG_LOSS:
        small = tl.exp(-p)
        slope = tl.where(p > -37.0, ((1.0 - y) - y * small) / (1.0 + small), tl.exp(p) - y)
        found = _softplus(p) - y * p
    elif loss == _SQUARED_ERROR:
        slope = p - y
        found = 0.5 * slope * slope
    elif loss == _HUBER:
        slope = p - y
        size = tl.abs(slope)
        found = tl.where(size <= parameter, 0.5 * size * size, parameter * (size - 0.5 * parameter))
        edge = tl.where(slope >= 0.0, parameter, -parameter)
        slope = tl.where(size <= parameter, slope, edge)
    else:
        outside = tl.abs(y - p) - parameter
        side = tl.where(y > p, zero - 1.0, zero + 1.0)
        if loss == _TUBE:
            found = tl.where(outside > 0.0, outside, zero)
            slope = tl.where(y - p > parameter, side, tl.where(p - y > parameter, side, zero))
        else:
            found = tl.where(outside > 0.0, outside * outside, zero)
            slope = tl.where(outside > 0.0, 2.0 * outside * side, zero)
    return found, slope


@triton.jit  # type: ignore[untyped-decorator]
def _steps(  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912, PLR0915 (one kernel: its branches are decided when it's compiled)
    gram,
    raw,
    y,
    weights,
    eta,
    decay,
    squares,
    state,
    numbers,
    found,
    gram_stride,
    row_stride,
    count,
    size: tl.constexpr,
    loss_kind: tl.constexpr,
    passive: tl.constexpr,
    penalised: tl.constexpr,
    fits: tl.constexpr,
    one_class: tl.constexpr,
    averages: tl.constexpr,
    sums: tl.constexpr,
):
    """Take the steps of a block.

    `passive` is 1 and 2 for the two passive-aggressive rules; `sums` 1 for losses, 2 for the
    objective.
    """
    lane = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, size)
    gram += lane * gram_stride
    y += lane * row_stride
    weights += lane * row_stride
    eta += lane * row_stride
    decay += lane * row_stride
    state += lane * 5
    found += lane * (2 * size + 3)
    parameter = tl.load(numbers)
    alpha = tl.load(numbers + 1)
    eta0 = tl.load(numbers + 2)
    softness = tl.load(numbers + 3)
    first = tl.load(numbers + 4)
    smallest = tl.load(numbers + 5)
    steepest = tl.load(numbers + 6)
    one = tl.load(numbers + 7)
    zero = tl.load(numbers + 8)
    intercept = tl.load(state)
    time = tl.load(state + 1)
    mean = tl.load(state + 2)
    total = tl.load(state + 3)
    scale = tl.load(state + 4)
    square = tl.load(squares + lane)
    products = tl.load(raw + lane * size + places)
    steps = tl.zeros([size], dtype=tl.float64)
    mean_steps = tl.zeros([size], dtype=tl.float64)
    kept = one
    mean_kept = one
    mean_first = zero
    for i in range(count):
        here = places == i
        target = tl.load(y + i)
        rate = tl.load(eta + i)
        row = tl.load(gram + i * size + places)
        length = tl.load(gram + i * size + i)
        product = tl.sum(tl.where(here, products, 0.0), axis=0)
        p = product + intercept
        loss, slope = _loss(target, p, parameter, loss_kind)
        if sums > 0:
            total += loss
        if sums > 1 and penalised:
            total += alpha * 0.5 * square
        if sums > 1 and one_class:
            total += intercept * alpha
        if passive == 0:
            slope = tl.where(slope > steepest, steepest, slope)
            slope = tl.where(slope < -steepest, -steepest, slope)
            update = -rate * slope
        else:
            if passive == 1:
                # A row of zeros is passed over.
                share = loss / tl.where(length != 0.0, length, one)
                update = tl.where(share < eta0, share, eta0)
                update = tl.where(length != 0.0, update, zero)
            else:
                update = loss / (length + softness)
            if loss_kind == _HINGE:
                update *= target
            else:
                update = tl.where(target - p < 0.0, -update, update)
        update *= tl.load(weights + i)
        if penalised:
            by = tl.load(decay + i)
            if passive == 1:
                by = tl.where(length != 0.0, by, one)
            products *= by
            steps *= by
            kept *= by
            scale *= by
            scale = tl.where(scale < smallest, one, scale)
            if sums > 1:
                product *= by
                square *= by * by
        if sums > 1:
            square += 2.0 * update * product + update * update * length
        products += tl.where(update != 0.0, update * row, 0.0)
        steps = tl.where(here, update, steps)
        if fits:
            intercept += update
            if one_class:
                intercept -= rate * alpha
        if averages:
            number = time - first + 1.0
            counts = number >= 1.0
            if passive == 1:
                counts = counts & (length != 0.0)
            share = tl.where(counts, one / tl.where(counts, number, one), zero)
            rest = tl.where(counts & (number > 1.0), one - share, one)
            mean_steps = rest * mean_steps + share * steps
            mean_first = rest * mean_first + share * kept
            mean_kept *= rest
            mean += share * (intercept - mean)
        if passive == 1:
            time += tl.where(length != 0.0, one, zero)
        else:
            time += one
    tl.store(state, intercept)
    tl.store(state + 1, time)
    tl.store(state + 2, mean)
    tl.store(state + 3, total)
    tl.store(state + 4, scale)
    tl.store(found + places, steps)
    tl.store(found + size + places, mean_steps)
    tl.store(found + 2 * size, kept)
    tl.store(found + 2 * size + 1, mean_kept)
    tl.store(found + 2 * size + 2, mean_first)


@functools.lru_cache(maxsize=8)
def _numbers(form: Form, device: torch.device) -> torch.Tensor:
    """Return the numbers of a form on the device."""
    numbers = [form.parameter, form.alpha, form.eta0, 0.5 / form.eta0]
    numbers += [float(form.average), form.smallest, STEEPEST, 1.0, 0.0]
    return torch.tensor(numbers, dtype=torch.float64, device=device)


def static(form: Form) -> dict[str, Any]:
    """Return what the kernel is compiled for."""
    return {
        "loss_kind": _NUMBERS[form.loss],
        "passive": {"pa1": 1, "pa2": 2}.get(form.rate, 0),
        "penalised": form.penalised,
        "fits": form.fit_intercept,
        "one_class": form.one_class,
        "averages": form.average > 0,
        "sums": ("", "loss", "objective").index(form.sums),
    }


def taken(block: Block, state: torch.Tensor, form: Form) -> Change:
    """Take the steps of a block on a GPU, and write into the state what goes to the next."""
    lanes, size = block.raw.shape
    found = state.new_empty(lanes, 2 * size + 3)
    with torch.cuda.device_of(state):
        _steps[(lanes,)](
            block.gram,
            block.raw.contiguous(),
            block.y,
            block.weights,
            block.eta,
            block.decay,
            block.squares,
            state,
            _numbers(form, state.device),
            found,
            block.gram.stride(0),
            block.y.stride(0),
            block.count,
            size=size,
            num_warps=1,
            **static(form),
        )
    steps, mean_steps = found[:, :size], found[:, size : 2 * size]
    kept, mean_kept, mean_first = found[:, 2 * size :].unbind(1)
    return Change(kept, steps, mean_kept, mean_first, mean_steps)
