"""Random states that an attempt may change, and the way back when it fails.

A call that fails on one route is made again on another. What the first attempt drew, by itself or
in a function of the user's, must not be missing then.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from npaccel._runtime import host_rng
from npaccel._runtime.callables import read_by
from npaccel._syntax.loop_detection import LIBRARIES, is_users

#: SciPy's parameters without which it draws from NumPy's global state.
_OF_DRAWS = {"rng", "random_state", "seed", "qrng"}
_WITHOUT = (torch.Tensor, np.ndarray, np.generic, bool, int, float, complex, str, type(None))


class RandomStates:
    """The random states that a call can reach: given ones, and those of given functions.

    Parameters
    ----------
    values : list
        Arguments.
    is_drawing : bool
        Whether NumPy's global state counts also if nothing given can draw.
    """

    def __init__(self, values: list[Any], *, is_drawing: bool = False) -> None:
        given = [value for value in values if not isinstance(value, _WITHOUT)]
        self._back = [_way_back(found) for found in _stateful(given)]
        if is_drawing or any(map(callable, given)):
            self._back.append(_of_legacy(np.random))

    def restore(self) -> None:
        """Give all of them what they had at the start."""
        for back in self._back:
            back()


@functools.cache
def draws(function: Any) -> bool:
    """Whether a function of SciPy has a parameter for random numbers."""
    try:
        return not _OF_DRAWS.isdisjoint(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # Some ufuncs have no signature.
        return False


# -- Finding them ---------------------------------------------------------------------------


def _stateful(values: list[Any]) -> Iterator[Any]:
    """Yield what holds random states in values, and in what functions among them read."""
    seen: dict[int, Any] = {}
    todo = list(values)
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, (*_WITHOUT, types.ModuleType, type)):
            continue
        seen[id(value)] = value
        if isinstance(value, tuple(_WAYS)) or _is_engine(value):
            yield value
        elif isinstance(value, types.MethodType):
            todo += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            todo += [value.func, value.args, value.keywords]
        elif isinstance(value, types.FunctionType):
            todo += read_by(value).values() if is_users(value) else ()
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, tuple | list | set | frozenset):
            todo += value
        else:
            todo += _held(value)


def _held(value: Any) -> Iterable[Any]:
    """Return what an object of the user's or of SciPy's holds; of others, what they wrap."""
    package = type(value).__module__.partition(".")[0]
    if package in LIBRARIES - {"scipy", "__main__"}:
        return [getattr(value, "__wrapped__", None)]
    return getattr(value, "__dict__", {}).values()


def _is_engine(value: Any) -> bool:
    """Whether a value is one of SciPy's quasi-random sequences, also of a user's class."""
    return any(kind.__name__ == "QMCEngine" for kind in type(value).__mro__)


# -- The ways back --------------------------------------------------------------------------


def _way_back(value: Any) -> Callable[[], None]:
    way = next((way for kind, way in _WAYS.items() if isinstance(value, kind)), _of_engine)
    return way(value)


def _of_bits(bits: np.random.BitGenerator) -> Callable[[], None]:
    """Keep the state, and how often it was asked for children."""
    kept = copy.deepcopy(bits.__reduce__()[2])
    put: Any = bits.__setstate__  # type: ignore[attr-defined]
    return lambda: put(kept)


def _of_legacy(owner: Any) -> Callable[[], None]:
    kept = host_rng.state_of(owner)
    return lambda: host_rng.restore([(owner, kept)])


def _of_torch(generator: torch.Generator) -> Callable[[], None]:
    kept = generator.get_state()

    def back() -> None:
        generator.set_state(kept)

    return back


def _of_engine(engine: Any) -> Callable[[], None]:
    """Keep an engine's own numbers; generators in it stay the same objects."""
    generators = {id(part): part for part in _stateful(list(vars(engine).values()))}
    kept = copy.deepcopy(vars(engine), dict(generators))
    inner = [_way_back(one) for one in generators.values()]

    def back() -> None:
        vars(engine).update(kept)
        for one in inner:
            one()

    return back


_WAYS: dict[type, Callable[[Any], Callable[[], None]]] = {
    np.random.Generator: lambda generator: _of_bits(generator.bit_generator),
    np.random.RandomState: _of_legacy,
    np.random.BitGenerator: _of_bits,
    torch.Generator: _of_torch,
}
