"""Reasons why a signature is compiled again: which guard failed, in words for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime.guards import Guard, Scope, readable

_MAX_CHARS = 60


def differing(names: Sequence[str], one: Sequence[Any], other: Sequence[Any]) -> tuple[str, str]:
    """Tell in which arguments two signature keys differ.

    Returns
    -------
    names, guard : str
        ``"x, y"``, and ``"x: float64[3] before, float64[4] now; ..."``.
    """
    found = [
        (name, a, b) for name, a, b in zip(names, one, other, strict=True) if a is not b and a != b
    ]
    guard = "; ".join(
        f"{name}: {_described(a)} before, {_described(b)} now" for name, a, b in found
    )
    return ", ".join(name for name, _, _ in found) or "an argument", guard


def _described(token: Any) -> str:
    """Describe the part of a signature key for one argument."""
    if not isinstance(token, tuple) or not token:
        return _shortened(repr(token))
    if isinstance(token[0], np.dtype):
        dtype, shape, strides, _ = token
        layout = "" if _is_plain(dtype, shape, strides) else f" with strides {strides}"
        return f"{dtype}[{', '.join(map(str, shape))}]{layout}"
    if token[0] is torch.Tensor:
        dtype = str(token[1]).removeprefix("torch.")
        return f"{token[4].type} {dtype}[{', '.join(map(str, token[2]))}]"
    if len(token) == 2 and token[0] not in (list, tuple, dict):  # A kind, a value or a type.
        value = token[1]
        return _shortened(value.__qualname__ if isinstance(value, type) else str(value))
    return token[0].__name__ if isinstance(token[0], type) else _shortened(str(token[0]))


def _is_plain(dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether an array's elements lie in the order of C."""
    step = dtype.itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def failed_guard(guard: Guard, scope: Scope, arguments: Mapping[str, Any]) -> str:
    """Write a guard that doesn't hold as Python, with the value that there is now."""
    name, expected = readable(guard.expression), guard.expected
    wanted = {
        "is": f"{name} is {_named(expected)}",
        "code": f"{name} is the same code",
        "equals": f"{name} == {expected!r}",
        "type": f"type({name}) is {_named(expected)}",
        "length": f"len({name}) == {expected!r}",
        "keys": f"list({name}) == {expected!r}",
        "contains": f"({_first(expected)!r} in {name}) is {_second(expected)}",
        "hasattr": f"hasattr({name}, {_first(expected)!r}) is {_second(expected)}",
        "not_in_dict": f"{expected!r} not in vars({name})",
        "not_none": f"{name} is not None",
        "array": f"{name} is {_described(expected)}",
        "sizes": f"{name}.shape == {_first(expected)}",
        "alias": f"{name} is {readable(str(expected))}",
    }[guard.kind]
    try:
        now = scope.evaluate(guard.expression, arguments)
    except (AttributeError, KeyError, IndexError, TypeError, NameError):
        return f"{_shortened(wanted)}; it isn't there now"
    if isinstance(now, np.ndarray):
        told = f"{now.dtype}[{', '.join(map(str, now.shape))}]"
    else:
        told = _named(now)
    return f"{_shortened(wanted)}; now {_shortened(told)}"


def _named(value: Any) -> str:
    return str(getattr(value, "__qualname__", None) or repr(value))


def _first(pair: Any) -> Any:
    return pair[0] if isinstance(pair, tuple) else pair


def _second(pair: Any) -> Any:
    return pair[1] if isinstance(pair, tuple) and len(pair) > 1 else True


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 3] + "..."
