"""`npaccel.fori_loop` and the like under a transform: unrolled, and traced as the user's own.

The functions have the parameters of those in `npaccel._loops.control_flow.primitives`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npaccel._runtime.transform_leaves import build, flatten, is_array

Function = Callable[..., Any]


def fori_loop(lower: int, upper: int, body_fun: Function, init_val: Any) -> Any:
    """Trace every iteration."""
    value = init_val
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Trace every iteration; whether there is another mustn't depend on values of arrays."""
    value = init_val
    while cond_fun(value):
        value = body_fun(value)
    return value


def columns_of(xs: Any, length: int | None) -> tuple[list[Any], Any, int | None]:
    """Return the arrays that a scan goes over, their structure, and how many iterations it has."""
    columns: list[Any] = []
    structure = flatten(xs, columns)
    return columns, structure, len(columns[0]) if columns else length


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Trace every iteration, and stack what they return."""
    columns, structure, count = columns_of(xs, length)
    if count is None:
        raise ValueError("scan: xs has no arrays; pass length=n, the number of iterations")
    carry: Any = init
    results: list[list[Any]] = []
    of_result: Any = None
    places = range(count)
    for i in reversed(places) if reverse else places:
        carry, y = f(carry, build(structure, [column[i] for column in columns]))
        leaves: list[Any] = []
        of_result = flatten(y, leaves)
        results.append([np.array(leaf) for leaf in leaves])
    if reverse:
        results.reverse()
    if of_result is None:
        raise ValueError("scan: under a transform there has to be an iteration")
    stacked = [np.stack([row[k] for row in results]) for k in range(len(results[0]))]
    return carry, build(of_result, stacked)


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Trace the function that is called; both of them if values of arrays decide."""
    if not is_array(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    first: list[Any] = []
    second: list[Any] = []
    structure = flatten(true_fun(*operands), first)
    flatten(false_fun(*operands), second)
    chosen = [np.where(pred, a, b) for a, b in zip(first, second, strict=True)]
    return build(structure, chosen)


#: Stand-ins by the names of what they stand for.
UNROLLED: dict[str, Function] = {one.__name__: one for one in (fori_loop, while_loop, scan, cond)}
MODULE = "npaccel._loops.control_flow.primitives"
