"""Random numbers in a loop nest: single draws from NumPy's generators.

Numba draws from the state of NumPy's own bit generator, by NumPy's algorithms: the same numbers,
and the same state afterwards. What NumPy refuses is left to Python, which refuses it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering.code_builder import Code
from npaccel._loops.nests.lowering.operators import as_int, number, to_float
from npaccel._loops.nests.lowering.types import (
    FLOAT64,
    INT64,
    PY_FLOAT,
    NotSupportedError,
    Np,
    One,
    Py,
    Value,
    cast,
    integer,
)

#: Arguments by position, and by name.
Given = tuple[Sequence[Value], Mapping[str, Value]]


def is_generator(value: Any) -> bool:
    """Whether an object is a generator that code can draw from."""
    return type(value) is np.random.Generator


@dataclasses.dataclass(frozen=True)
class _Draw:
    """A method of a generator.

    Parameters
    ----------
    parameters : tuple of (str, float or None)
        Their names and defaults; None: it has to be given.
    not_negative : tuple of int
        Parameters whose sign must not be set.
    """

    parameters: tuple[tuple[str, float | None], ...] = ()
    not_negative: tuple[int, ...] = ()


_LOCATED = (("loc", 0.0), ("scale", 1.0))
_DRAWS = {
    "random": _Draw(),
    "standard_normal": _Draw(),
    "standard_exponential": _Draw(),
    "normal": _Draw(_LOCATED, not_negative=(1,)),
    "laplace": _Draw(_LOCATED, not_negative=(1,)),
    "logistic": _Draw(_LOCATED, not_negative=(1,)),
    "lognormal": _Draw((("mean", 0.0), ("sigma", 1.0)), not_negative=(1,)),
    "exponential": _Draw((("scale", 1.0),), not_negative=(0,)),
    "rayleigh": _Draw((("scale", 1.0),), not_negative=(0,)),
    "standard_gamma": _Draw((("shape", None),), not_negative=(0,)),
    "gamma": _Draw((("shape", None), ("scale", 1.0)), not_negative=(0, 1)),
}


def draw(code: Code, owner: Value, method: str, given: Given, line: int) -> Value:
    """Write one draw.

    Parameters
    ----------
    code : Code
    owner : Value
        The generator.
    method : str
        Which of its methods is called.
    given : tuple
        The arguments by position, and by name.
    line : int

    Raises
    ------
    NotSupportedError
        If it isn't a single number of a distribution that is known here.
    """
    generator = owner.ones[0].code
    if method == "uniform":
        low, high = _numbers(code, line, method, (("low", 0.0), ("high", 1.0)), given)
        width = code.temporary(f"{high} - {low}")
        if not _is_known(low) or not _is_known(high) or float(high) < float(low):
            fits = f"0 <= {width} < _inf and math.copysign(1.0, {width}) > 0"
            code.bail_if(f"not ({fits})", line, "the bounds of a uniform distribution")
        return _drawn(code, PY_FLOAT, f"{low} + {width} * {generator}.random()")
    if method == "integers":
        return _integers(code, generator, line, given)
    known = _DRAWS.get(method)
    if known is None:
        raise NotSupportedError(f"the method `{method}` of a random generator", line)
    numbers = _numbers(code, line, method, known.parameters, given)
    for i in known.not_negative:
        if not _is_known(numbers[i]):
            negative = f"math.copysign(1.0, {numbers[i]}) < 0 and {numbers[i]} == {numbers[i]}"
            code.bail_if(negative, line, f"a parameter of `{method}` below 0")
    return _drawn(code, PY_FLOAT, f"{generator}.{method}({', '.join(numbers)})")


@dataclasses.dataclass
class Drawn:
    """The states of generators before code drew from them."""

    before: list[tuple[np.random.Generator, Any]]

    def undo(self) -> None:
        """Give them these states again."""
        for generator, state in self.before:
            generator.bit_generator.state = state


@contextlib.contextmanager
def drawing(generators: Sequence[np.random.Generator], *, may_be_undone: bool) -> Iterator[Drawn]:
    """Keep other threads from drawing meanwhile, as NumPy does while it draws."""
    with contextlib.ExitStack() as stack:
        for generator in sorted({id(g): g for g in generators}.values(), key=id):
            stack.enter_context(generator.bit_generator.lock)
        yield Drawn([(g, g.bit_generator.state) for g in generators if may_be_undone])


def _drawn(code: Code, kind: Py | Np, text: str) -> Value:
    """Draw here: each time that the code comes by, and before what follows."""
    return Value((One(kind, code.temporary(text)),))


def _integers(code: Code, generator: str, line: int, given: Given) -> Value:
    bounds = _arguments(line, "integers", ("low", "high"), given)
    ones = [as_int(_single(value, line)) for value in bounds if value is not None]
    if not ones or bounds[0] is None:
        raise NotSupportedError("`integers` without bounds", line)
    if any(number(one, line).storage.kind not in "iu" for one in ones):
        raise NotSupportedError("bounds of `integers` that aren't integers", line)
    if any(number(one, line).storage == np.uint64 for one in ones):
        raise NotSupportedError("bounds of `integers` in uint64", line)
    low, high = ([One(integer(0, 0), "0"), *ones])[-2:]
    first, end = (code.temporary(cast(one.code, INT64)) for one in (low, high))
    code.bail_if(f"{first} >= {end}", line, "bounds of `integers` without a number between them")
    return _drawn(code, Np(INT64), f"{generator}.integers({first}, {end})")


def _numbers(
    code: Code,
    line: int,
    method: str,
    parameters: tuple[tuple[str, float | None], ...],
    given: Given,
) -> list[str]:
    """Return the parameters of a distribution as floats."""
    values = _arguments(line, method, tuple(name for name, _ in parameters), given)
    found = []
    for value, (name, default) in zip(values, parameters, strict=True):
        if value is not None:
            text = to_float(_single(value, line), line).code
            found.append(text if _is_known(text) else code.temporary(cast(text, FLOAT64)))
        elif default is not None:
            found.append(repr(default))
        else:
            raise NotSupportedError(f"`{method}` without `{name}`", line)
    return found


def _arguments(line: int, method: str, names: Sequence[str], given: Given) -> list[Value | None]:
    """Return the arguments in the order of parameters."""
    positional, named = given
    found = dict(zip(names, positional, strict=False))
    unknown = named.keys() - (set(names) - found.keys())
    if unknown or len(positional) > len(names):
        raise NotSupportedError(f"these arguments of `{method}`", line)
    found |= named
    return [found.get(name) for name in names]


def _single(value: Value, line: int) -> One:
    if len(value.ones) > 1:
        raise NotSupportedError("a parameter of a distribution of several types", line)
    return value.ones[0]


def _is_known(text: str) -> bool:
    """Whether code is a number itself: one without a sign."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


__all__ = ["draw", "drawing", "is_generator"]
