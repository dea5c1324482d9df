"""Records of programs, the decorator in their source, and how answers are compared."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.common import same_results

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[..., Any]
Decorator = Callable[[Call], Call]

_NARROW = (np.float32, np.complex64)
_WIDE = (np.float64, np.complex128)


def plain(function: Call) -> Call:
    """Leave a function as it is."""
    return function


_decorator: contextvars.ContextVar[Decorator] = contextvars.ContextVar("jit", default=plain)


def jit(function: Call) -> Call:
    """Decorate a function in the way that its module is loaded."""
    return _decorator.get()(function)


@contextlib.contextmanager
def decorating(decorator: Decorator) -> Iterator[None]:
    """Have `jit` decorate this way."""
    token = _decorator.set(decorator)
    try:
        yield
    finally:
        _decorator.reset(token)


def recording(decorator: Decorator, decorated: list[Any]) -> Decorator:
    """Return a decorator that also adds what it makes to a list."""

    def decorate(function: Call) -> Call:
        decorated.append(decorator(function))
        return decorated[-1]

    return decorate


@dataclasses.dataclass(frozen=True)
class Program:
    """An ordinary program: what is called, and with what.

    Parameters
    ----------
    call : callable
        Decorated, or a plain function that calls or passes on decorated ones.
    make : callable
        Takes nothing and returns new arguments, the same ones each time.
    narrow_tolerance : float, optional
        Relative tolerance where NumPy invents float64 and npaccel computes in float32 by default.
        None: nothing is invented, so that both compute alike.
    numba : bool
        Whether Numba compiles the same source, decorated in the same places.
    """

    call: Call
    make: Callable[[], tuple[Any, ...]]
    narrow_tolerance: float | None = None
    numba: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.call.__name__


def same_answers(expected: Any, actual: Any, narrow_tolerance: float | None = None) -> bool:
    """Say whether two answers agree: types, dtypes, shapes, keys, numbers within rounding.

    Parameters
    ----------
    expected, actual
        Arrays, numbers, texts, generators of random numbers, objects with attributes, and
        containers of them.
    narrow_tolerance : float, optional
        Where actual floats may be 32 bit instead of 64.
    """
    if isinstance(expected, np.ndarray | np.generic | int | float | complex):
        return _same_numbers(expected, actual, narrow_tolerance)
    # Instances of classes in a module that is loaded twice have two types of one name.
    if type(expected).__qualname__ != type(actual).__qualname__:
        return False
    if isinstance(expected, dict):
        return list(expected) == list(actual) and all(
            same_answers(value, actual[key], narrow_tolerance) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple | collections.deque):
        return len(expected) == len(actual) and all(
            same_answers(*both, narrow_tolerance) for both in zip(expected, actual, strict=True)
        )
    if isinstance(expected, np.random.Generator):
        return bool(expected.bit_generator.state == actual.bit_generator.state)
    if hasattr(expected, "__dict__") and not callable(expected):
        return same_answers(vars(expected), vars(actual), narrow_tolerance)
    return callable(expected) or bool(expected == actual)


def _same_numbers(expected: Any, actual: Any, narrow_tolerance: float | None) -> bool:
    tolerance = None
    if getattr(actual, "dtype", None) in _NARROW:
        tolerance = 1e-5
        if narrow_tolerance is not None and getattr(expected, "dtype", None) in _WIDE:
            actual, tolerance = actual.astype(expected.dtype), narrow_tolerance
    if type(expected) is not type(actual):
        return False
    if tolerance is None or not np.size(expected):
        return same_results(expected, actual)
    # Sums that cancel out are exact to a share of the largest of what they're among.
    scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
    return (
        expected.dtype == actual.dtype
        and expected.shape == actual.shape
        and np.allclose(expected, actual, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    )


def outcome(program: Program) -> tuple[Any, tuple[Any, ...]]:
    """Return what a call returns, and its arguments after it."""
    arguments = program.make()
    return program.call(*arguments), arguments
