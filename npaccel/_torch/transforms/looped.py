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
    columns, structure, count = unrolled.columns_of(xs, length)
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
    columns, structure, count = unrolled.columns_of(xs, length)
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


def _count(steps: Any) -> int:
    """Return the number of iterations; -1 where they can't be a scan."""
    if isinstance(steps, range | np.ndarray):
        return len(steps) if isinstance(steps, range) or steps.ndim > 0 else -1
    # The tuple may be the user's, of arrays, which aren't compared with the builtins.
    if not isinstance(steps, tuple) or not steps or not isinstance(steps[0], type):
        return -1
    counts = [_count(one) for one in steps[2:]]
    if steps[0] is zip:
        return -1 if steps[1] and max(counts) != min(counts) else min(counts)
    if steps[0] is enumerate:
        return counts[0]
    return counts[0] if steps[0] is reversed and not isinstance(steps[2], tuple) else -1


def _columns(steps: Any, count: int) -> list[Any]:
    """Return the arrays whose rows an iteration takes."""
    if isinstance(steps, range | np.ndarray):
        return [] if isinstance(steps, range) else [steps[:count]]
    if steps[0] is reversed and isinstance(steps[2], np.ndarray):
        return [steps[2][::-1][:count]]
    return [column for one in steps[2:] for column in _columns(one, count)]


def _item(steps: Any, i: Any, rows: list[Any]) -> Any:
    """Return what an iteration takes, and take the rows of arrays off a list."""
    if isinstance(steps, range):
        return steps.start + steps.step * i
    if isinstance(steps, np.ndarray):
        return rows.pop(0)
    if steps[0] is reversed:
        return _item(steps[2][::-1] if isinstance(steps[2], range) else steps[2], i, rows)
    items = [_item(one, i, rows) for one in steps[2:]]
    return tuple(items) if steps[0] is zip else (steps[1] + i, items[0])


def may_loop(steps: Any, first: bool) -> bool:
    """Trace whether a ``for`` loop may be a scan."""
    count = _count(steps)
    return count >= FEWEST + first


def first_of(steps: Any) -> Any:
    """Trace the first step."""
    return _item(steps, 0, [column[0] for column in _columns(steps, _count(steps))])


def last_of(steps: Any) -> Any:
    """Trace the last step."""
    count = _count(steps)
    return _item(steps, count - 1, [column[count - 1] for column in _columns(steps, count)])


def rest_of(steps: Any) -> Any:
    """Trace all steps but the first."""
    if isinstance(steps, range | np.ndarray):
        return steps[1:]
    if steps[0] is reversed:
        return reversed, None, steps[2][:-1]
    option = steps[1] + 1 if steps[0] is enumerate else steps[1]
    return steps[0], option, *[rest_of(one) for one in steps[2:]]


def over(steps: Any, body: Function, carry: tuple[Any, ...]) -> Any:
    """Trace one iteration of a ``for`` loop over a range, an array, or several of them."""
    count = _count(steps)
    columns = _columns(steps, count)
    if count < FEWEST:
        for i in range(count):
            carry = body(_item(steps, i, [one[i] for one in columns]), carry)
        return carry

    def step(carry: Any, i: Any, row: Any) -> Any:
        return body(_item(steps, i, list(row)), carry), None

    return _scanned(step, carry, columns, count, False)[0]


def peeled_over(steps: Any, body: Function, carry: tuple[Any, ...]) -> Any:
    """Trace the first iteration by itself, and another one."""
    return over(rest_of(steps), body, body(first_of(steps), carry))


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
    found, stacked, holders = end(tuple(outputs), tuple([np.array(one) for one in results]))
    last = []
    for one, holder in zip(found, holders, strict=True):
        if holder is None:
            last.append(one)
        else:
            leaves[holder[0]][...] = one
            last.append(leaves[holder[0]])
    return build(structure, last), build(of_result, list(stacked))


#: Stand-ins by the names of what they stand for: what traces a loop whose carry stays, and
#: one whose first iteration changes it.
LOOPED: dict[str, tuple[Function, Function]] = {
    "fori_loop": (fori_loop, peeled_fori_loop),
    "over": (over, peeled_over),
    "scan": (scan, peeled_scan),
}
