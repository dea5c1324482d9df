"""`npaccel.fori_loop` and `npaccel.scan` under a transform, as Dynamo traces them: a scan.

The functions have the parameters of those in `npaccel._loops.control_flow.primitives`. They trace
the body once, between two marks, as the region of a transform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._runtime.transform_leaves import build, flatten
from npaccel._torch.transforms import unrolled
from npaccel._torch.transforms.loop_calls import begin, end, iterate

Function = Callable[..., Any]
#: Minimum number of iterations of a scan: fewer are unrolled, which allows more of fusion.
FEWEST = 6


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """Trace one iteration."""
    count = len(range(lower, upper))
    if count < FEWEST:
        return unrolled.fori_loop(lower, upper, body_fun, init_val)

    def step(carry: Any, i: Any, row: Any) -> Any:
        return body_fun(lower + i, carry), None

    return _scanned(step, init_val, [], count, False)[0]


def peeled_fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """Trace the first iteration by itself, which may change what the carry is, and another one."""
    if len(range(lower, upper)) < FEWEST:
        return unrolled.fori_loop(lower, upper, body_fun, init_val)
    return fori_loop(lower + 1, upper, body_fun, body_fun(lower, init_val))


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Trace one iteration."""
    columns: list[Any] = []
    structure = flatten(xs, columns)
    count = len(columns[0]) if columns else length
    lengths = [len(column) for column in columns]
    if count is None or count < FEWEST or lengths != [count] * len(columns):
        return unrolled.scan(f, init, xs, length, reverse)

    def step(carry: Any, i: Any, row: Any) -> Any:
        return f(carry, build(structure, list(row)))

    return _scanned(step, init, columns, count, bool(reverse))


def peeled_scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Trace the first iteration by itself, and another one."""
    columns: list[Any] = []
    structure = flatten(xs, columns)
    count = len(columns[0]) if columns else length
    if count is None or count < FEWEST:
        return unrolled.scan(f, init, xs, length, reverse)
    first = [column[-1] if reverse else column[0] for column in columns]
    carry, y = f(init, build(structure, first))
    rest = build(structure, [column[:-1] if reverse else column[1:] for column in columns])
    carry, ys = scan(f, carry, rest, count - 1, reverse)
    one: list[Any] = []
    of_result = flatten(y, one)
    many: list[Any] = []
    flatten(ys, many)
    whole = []
    for row, rows in zip(one, many, strict=True):
        row = np.array(row)[None]
        whole.append(np.concatenate([rows, row] if reverse else [row, rows]))
    return carry, build(of_result, whole)


def _scanned(
    step: Function, init: Any, columns: Sequence[Any], count: int, reverse: bool
) -> tuple[Any, Any]:
    """Trace a step, which takes carry, number of the iteration and items."""
    leaves: list[Any] = []
    structure = flatten(init, leaves)
    index, carry, row = begin(count, reverse, tuple(leaves), tuple(columns))
    new, y = iterate(step, build(structure, list(carry)), index, row)
    outputs: list[Any] = []
    if flatten(new, outputs) != structure:
        raise TypeError("the carry of a loop keeps its structure")
    results: list[Any] = []
    of_result = flatten(y, results)
    found, stacked, written = end(tuple(outputs), tuple([np.array(one) for one in results]))
    last = []
    for leaf, one, is_written in zip(leaves, found, written, strict=True):
        if is_written:
            leaf[...] = one
            last.append(leaf)
        else:
            last.append(one)
    return build(structure, last), build(of_result, list(stacked))


#: By the names of those that they stand for: what traces a loop whose carry stays as it is, and
#: one whose first iteration changes it.
LOOPED: dict[str, tuple[Function, Function]] = {
    "fori_loop": (fori_loop, peeled_fori_loop),
    "scan": (scan, peeled_scan),
}
