"""Run a NumPy function on tensors through the host, where it isn't compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel import _arguments
from npaccel._report import Log
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
    arrays: dict[int, tuple[torch.Tensor, np.ndarray[Any, Any]]] = {}
    device = _arguments.device_of(values) or torch.device("cpu")
    host = [_arguments.map_arrays(value, lambda a: _array(a, arrays)) for value in values]
    result = function(host)
    nbytes = 0
    for tensor, array in arrays.values():
        if tensor.device.type != "cpu":
            tensor.copy_(torch.from_numpy(array))
            nbytes += 2 * array.nbytes
    if nbytes:
        log.add_note(f"an uncompiled call copies {nbytes} bytes between {device} and the host")
    return _arguments.map_arrays(result, lambda a: _tensor(a, arrays, device))


def _array(value: Any, arrays: dict[int, tuple[torch.Tensor, np.ndarray[Any, Any]]]) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.requires_grad and torch.is_grad_enabled():
        raise NotCompiledError(
            "jit: a tensor requires gradients, but part of the function can't be compiled, and "
            "NumPy computes no gradients; print(fn.report()) names the line to change"
        )
    array = _arguments.to_array(value)
    arrays[id(array)] = (value, array)
    return array


def _tensor(
    value: Any, arrays: dict[int, tuple[torch.Tensor, np.ndarray[Any, Any]]], device: torch.device
) -> Any:
    if id(value) in arrays:
        return arrays[id(value)][0]
    return value if isinstance(value, torch.Tensor) else _arguments.to_tensor(value).to(device)
