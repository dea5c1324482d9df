"""Run a NumPy function on tensors through the host, where it isn't compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._report import Log
from npaccel._runtime import arguments
from npaccel._runtime.containers import is_container, items_of
from npaccel.errors import NotCompiledError


def through_host(function: Callable[[Sequence[Any]], Any], values: Sequence[Any], log: Log) -> Any:
    """Call a function with ndarrays in place of tensors; give tensors back.

    Parameters
    ----------
    function : callable
        Takes the values of all parameters.
    values : sequence
    log : Log
        Where the copies are noted.

    Raises
    ------
    NotCompiledError
        If gradients are asked for, which NumPy can't give.
    """
    host = _Host(arguments.device_of(values) or torch.device("cpu"))
    nbytes = 0
    given = [host.array(value) for value in values]
    try:
        result = function(given)
    finally:  # What was written before an error stays.
        nbytes = host.give_back()
    if nbytes:
        log.add_note(f"an uncompiled call copies {nbytes} bytes between {host.device} and the host")
    return host.tensor(result)


class _Host:
    """Arrays in the place of tensors, also in lists and dicts, during a call."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.arrays: dict[int, tuple[torch.Tensor, np.ndarray[Any, Any]]] = {}
        self.containers: dict[int, tuple[Any, Any]] = {}
        self.known: dict[int, Any] = {}

    def array(self, value: Any) -> Any:
        """Return what NumPy is given for a value."""
        if id(value) not in self.known:
            self.known[id(value)] = self._made(value)
        return self.known[id(value)]

    def _made(self, value: Any) -> Any:
        if not is_container(value):
            return _array(value, self.arrays)
        own = iter(items_of(value))
        made = arguments.map_parts(value, self.array)
        if all(part is next(own) for part in items_of(made)):
            return value
        self.containers[id(made)] = value, made
        return made

    def tensor(self, value: Any) -> Any:
        """Return what the caller gets for a value of NumPy's."""
        if id(value) in self.arrays:
            return self.arrays[id(value)][0]
        if id(value) in self.containers:
            return self.containers[id(value)][0]
        if is_container(value):
            return arguments.map_parts(value, self.tensor)
        is_array = arguments.is_array(value) and not isinstance(value, torch.Tensor)
        return arguments.to_tensor(value).to(self.device) if is_array else value

    def give_back(self) -> int:
        """Give tensors, lists and dicts what was written; return how many bytes were copied."""
        nbytes = 0
        for tensor, array in self.arrays.values():
            if tensor.device.type != "cpu":
                tensor.copy_(torch.from_numpy(array))
                nbytes += 2 * array.nbytes
        for own, made in self.containers.values():
            if type(own) is list:
                own[:] = map(self.tensor, made)
            elif type(own) is dict:
                new = {name: self.tensor(part) for name, part in made.items()}
                own.clear()
                own.update(new)
        return nbytes


def _array(value: Any, arrays: dict[int, tuple[torch.Tensor, np.ndarray[Any, Any]]]) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.requires_grad and torch.is_grad_enabled():
        raise NotCompiledError(
            "jit: a tensor requires gradients, but part of the function can't be compiled, and "
            "NumPy computes no gradients; print(fn.report()) names the line to change"
        )
    array = arguments.to_array(value)
    arrays[id(array)] = (value, array)
    return array
