"""Draw single statements: source text on the names of a scope.

A statement need not be legal, as in `fuzz_expressions`.
"""

from __future__ import annotations

import numpy as np
from fuzz_expressions import expression, key, same_shape
from fuzz_scope import Scope


def assign(s: Scope) -> str | None:
    text = expression(s)
    if text is None:
        return None
    if s.chance(0.12):
        old = s.pick(lambda v: isinstance(v, np.ndarray | np.generic))
        if old is not None:
            return f"{old} = {text}"
    return f"{s.new()} = {text}"


def write(s: Scope) -> str | None:
    x = s.array()
    if x is None:
        return None
    where = key(s, x)
    kind = s.rng.random()
    if kind < 0.5:
        return f"{x}[{where}] = {_stored(s, x, where)}"
    if kind < 0.75:
        op = s.rng.choice(("+=", "-=", "*=", "+=", "*=", "/=", "//=", "|=", "**=", "&="))
        return f"{x}[{where}] {op} {_stored(s, x, where) if op != '**=' else 2}"
    y = s.array() or x
    mask = s.rng.choice(same_shape(s, x, "b") or [f"{x} > 0"])
    return s.rng.choice((
        f"{x}.fill({s.number()})", f"{x}.sort()", f"np.copyto({x}, {s.partner(x)})",
        f"np.copyto({x}, {s.partner(x)}, where={mask})", f"np.add({x}, {s.partner(x)}, out={x})",
        f"np.multiply({x}, {s.partner(x)}, out={x}, where={mask})", f"np.sin({y}, out={x})",
        f"np.add.at({x}, [0, 0, -1], {s.literal('i')})", f"np.put({x}, [0, -1], {s.number()})",
        f"np.fill_diagonal({x}, {s.literal('i')})", f"np.putmask({x}, {mask}, {s.number()})",
        f"np.cumsum({x}, axis=0, out={x})", f"{x}.T[0] = {s.literal('i')}",
        f"{x}.flat[0] = {s.literal('i')}", f"np.clip({x}, -1, 1, out={x})",
        f"{x}.ravel()[...] = {s.literal('i')}", f"np.place({x}, {mask}, [1, 2])",
        f"{x}[...] = {y}", f"{x}[:] = {x}[::-1]", f"{x}[1:] = {x}[:-1]", f"{x}[:-1] += {x}[1:]",
        f"{x}.reshape(-1)[::2] = {s.literal('i')}", f"{x}.real[...] = {s.literal('i')}",
    ))  # fmt: skip


def _stored(s: Scope, x: str, where: str) -> str:
    if s.chance(0.4):
        return s.number()
    if s.chance(0.3):
        return f"{x}[{where}] {s.rng.choice('+-*')} {s.literal('if')}"
    return s.partner(x) or s.number()


def augment(s: Scope) -> str | None:
    x = s.operand()
    if x is None:
        return None
    op = s.rng.choice(("+=", "-=", "*=", "/=", "+=", "*=", "//=", "%=", "&=", "**=", "@="))
    return f"{x} {op} {s.partner(x) if op != '**=' else 2}"


def condition(s: Scope) -> str:
    x = s.array() or "n"
    y = s.array() or x
    if x == "n":
        return "n > 2"
    return s.rng.choice((
        "n > 3", f"{x}.shape[0] > 2", f"{x}.ndim == 2", f"{x}.dtype == np.float64", "k > 0",
        f"{x}.size", f"{x}.dtype.kind == 'f'", f"{x}.shape == {y}.shape", "m >= n", "flag",
        f"isinstance({x}, np.ndarray)", f"{x}.dtype == {y}.dtype", f"len({x}) % 2 == 0",
        f"{x}.ndim and {x}.shape[0] == 4", f"{x} is {y}", "scale > 0 and not flag",
        f"np.issubdtype({x}.dtype, np.integer)", f"{x} is None or k", "n in (1, 3, 5)",
        *((f"{x}.sum() > 0",) if s.chance(0.1) else ()),
    ))  # fmt: skip


def branch(s: Scope) -> str | None:
    test, one, other = condition(s), expression(s), expression(s)
    if one is None or other is None:
        return None
    if s.chance(0.3):
        inner = write(s) or augment(s)
        return inner and f"if {test}:\n    {inner}"
    name = s.new()
    if s.chance(0.2):
        return f"{name} = {one} if {test} else {other}"
    return f"if {test}:\n    {name} = {one}\nelse:\n    {name} = {other}"


def loop(s: Scope) -> str | None:
    x = s.array(low=1)
    if x is None:
        return None
    y, name = s.partner(x), s.new()
    count = s.rng.choice(("2", "3", "min(n, 3)", f"min(3, {x}.shape[0])"))
    return s.rng.choice((
        f"for i in range({count}):\n    {x}[i] = {x}[i] * {s.literal('if')} + {s.number()}",
        f"for i in range({count}):\n    {x} = {x} + {y}",
        f"{name} = 0\nfor i in range({count}):\n    {name} = {name} + {x}[i]",
        f"{name} = []\nfor row in {x}:\n    {name}.append(row.sum())\n{name} = np.array({name})",
        f"for i, one in enumerate({x}):\n    {x}[i] = one + i",
        f"for i in range({count}):\n    if i == 1:\n        continue\n    {x}[i:] += i",
        f"{name} = {x}\nwhile {name}.ndim > 1:\n    {name} = {name}.sum(axis=0)",
        f"{name} = sum({x}[i] for i in range({count}))",
        # Names that the loop binds first.
        f"for i in range({x}.shape[0] and 2):\n    {name} = {x}[0] * i\n{name} = {name} + 1",
        f"for i in range(2):\n    {name} = {x} + i\n{name} = {name} * {y}",
        f"for scale_of in (1, {s.number()}):\n    {name} = {x} * scale_of",
    ))  # fmt: skip


STATEMENTS = ((assign, 20), (write, 6), (augment, 3), (branch, 2), (loop, 1))


def statement(s: Scope) -> str | None:
    draws, weights = zip(*STATEMENTS, strict=True)
    return s.rng.choices(draws, weights)[0](s)
