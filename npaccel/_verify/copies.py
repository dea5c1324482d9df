"""Copy what a call is given and what it reads, so that it can run twice.

Arrays that share memory share it in the copy as well, and keep strides, offset
and flags: compiled code depends on all of these.
"""

from __future__ import annotations

import contextlib
import copy
import io
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler.snapshot import Snapshot, slots_of
from npaccel._runtime.arguments import distinct
from npaccel._runtime.array_copies import copy_arrays
from npaccel._runtime.callables import read_by

_ATOMS = (
    *(bool, int, float, complex, str, bytes, type(None), type, types.ModuleType, range),
    *(types.FunctionType, types.BuiltinFunctionType, np.generic, np.dtype, np.ufunc),
)
_GENERATORS = (np.random.Generator, np.random.RandomState)

#: The name of the state of `numpy.random`'s own functions among the surroundings.
GLOBAL_STATE = "np.random"


def copied(values: Any) -> Any:
    """Return a deep copy of arguments.

    Parameters
    ----------
    values : object
        Containers and objects that hold arrays.

    Returns
    -------
    object
        What can't be copied (a lock, a module) is the object itself.
    """
    memo: dict[int, Any] = {}
    arrays = [part for part in reachable(values) if isinstance(part, np.ndarray)]
    copy_arrays(arrays, memo)
    for part in reachable(values):
        if isinstance(part, torch.Tensor) and id(part) not in memo:
            memo[id(part)] = _copy_tensor(part, memo)
    return _deep(values, memo)


def _deep(value: Any, memo: dict[int, Any]) -> Any:
    if id(value) in memo or isinstance(value, _ATOMS):
        return memo.get(id(value), value)
    if type(value) in (tuple, list):
        return type(value)(_deep(part, memo) for part in value)
    if type(value) is dict:
        return {name: _deep(part, memo) for name, part in value.items()}
    try:
        return copy.deepcopy(value, memo)
    except (TypeError, ValueError, RuntimeError):
        return value


def reachable(value: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """Yield a value and what it holds: items of containers, attributes of objects."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, _ATOMS):
        return
    seen[id(value)] = value
    yield value
    if isinstance(value, np.ndarray | torch.Tensor):
        return
    if isinstance(value, dict):
        held: list[Any] = list(value.values())
    elif isinstance(value, tuple | list | set | frozenset):
        held = list(value)
    else:
        held = list(getattr(value, "__dict__", {}).values())
        held += [getattr(value, name, None) for name in slots_of(type(value))]
    for part in held:
        yield from reachable(part, seen)


# -- Tensors -------------------------------------------------------------------


def _copy_tensor(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    if tensor.device.type == "meta":
        return torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):  # A DTensor has no memory itself.
        return tensor.detach().clone()
    storage = tensor.untyped_storage()
    key = -storage.data_ptr() - 1  # No id is negative.
    if key not in memo:
        memo[key] = tensor.detach().untyped_storage().clone()  # type: ignore[no-untyped-call]
    new = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    new.set_(memo[key], tensor.storage_offset(), tensor.shape, tensor.stride())
    return new.requires_grad_(tensor.requires_grad)


# -- What a function reads besides its arguments --------------------------------


class Surroundings:
    """The arrays and random states that a function may change besides its arguments.

    Parameters
    ----------
    function : types.FunctionType
    """

    def __init__(self, function: types.FunctionType) -> None:
        named = read_by(function)
        self._parts: dict[str, Any] = {}
        for name, value in named.items():
            for i, part in enumerate(reachable(value)):
                if isinstance(part, (np.ndarray, *_GENERATORS)):
                    self._parts[name if part is value else f"{name} ({i})"] = part
        self._start = self.state()
        self._snapshot = Snapshot(function, ())

    def state(self) -> dict[str, Any]:
        """Return the contents of everything, as it is now."""
        state: dict[str, Any] = {GLOBAL_STATE: np.random.get_state(legacy=False)}  # noqa: NPY002
        for name, part in self._parts.items():
            state[name] = self._contents(name, part)
        return state

    def _contents(self, name: str, part: Any) -> Any:
        if not isinstance(part, np.ndarray):
            return random_state(part)
        part = distinct(part)
        start = getattr(self, "_start", {}).get(name)
        if start is not None and _same_bytes(part, start):
            return start  # Most arrays are only read.
        return part.copy()

    def restore(self) -> None:
        """Put all that the function can reach back to what it was at the start."""
        self._snapshot.restore()


def call_on_copies(
    function: types.FunctionType, call: Callable[[Any], Any], values: Sequence[Any]
) -> None:
    """Make a call of which nothing is left.

    Parameters
    ----------
    function : types.FunctionType
    call : callable
        Takes the values of all parameters of `function`, which it calls.
    values : sequence
        Are copied.
    """
    surroundings = Surroundings(function)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call(copied(list(values)))
    finally:
        surroundings.restore()


def _same_bytes(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype.hasobject:
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def random_state(generator: Any) -> Any:
    """Return the state of a generator of random numbers, as plain data."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return copy.deepcopy(generator.bit_generator.state)
