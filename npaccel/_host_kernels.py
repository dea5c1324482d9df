"""NumPy's own kernels as torch operators, for what they do faster than torch on a CPU.

Each is an operator ``torch.ops.npaccel.<name>``. It works on the tensors' memory,
copies nothing that NumPy itself doesn't copy, and releases the interpreter's lock
where NumPy does. To the compiler it is one opaque call between fused kernels.

Compiled code on disk calls the operators too, so that this module imports nothing of
the compiler. Operators have no gradients and no CUDA kernels: `usable` tells a row
whether to call one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
#: Takes fake tensors and returns the shape and dtype of the result.
Shape = Callable[..., tuple[Sequence[Any], torch.dtype]]
Operator = Callable[..., torch.Tensor]

_library = torch.library.Library("npaccel", "DEF")  # type: ignore[no-untyped-call]
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)


def usable(*tensors: torch.Tensor) -> bool:
    """Whether NumPy's kernels may be called on tensors: on a CPU, no gradients asked for."""
    return all(
        tensor.device.type == "cpu" and not (tensor.requires_grad and torch.is_grad_enabled())
        for tensor in tensors
    )


#: How many times the time of NumPy's vector kernel the compiled code of one thread takes: a million
#: float64, AVX512.
_SLOWER = {"arccosh": 3.6, "arcsinh": 5.8, "arctanh": 7.4, "cbrt": 6.7, "cosh": 2.9, "expm1": 5.2}
#: Below this many elements the call of an operator, 15 microseconds, costs more than it saves.
_FEW = 4096


def ufunc_usable(name: str, x: torch.Tensor) -> bool:
    """Whether NumPy's kernel of a ufunc is the faster one: not with few elements or many threads.

    NumPy has vector kernels of these functions on Linux with AVX512 only.
    """
    few = isinstance(x.numel(), int) and x.numel() < _FEW
    return (
        x.dtype in (torch.float32, torch.float64)
        and not few
        and usable(x)
        and sys.platform == "linux"
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and _SLOWER[name] > torch.get_num_threads()
    )


def _array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().numpy()
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return [_array(item) for item in value]
    return value


def _kernel(schema: str, shape: Shape) -> Callable[[Callable[..., Array]], Operator]:
    """Make an operator of a function of ndarrays.

    Parameters
    ----------
    schema : str
        As `torch.library.Library.define` takes it; the result is one tensor.
    shape : callable
        Takes the operator's arguments and returns the result's shape and dtype.
    """
    name = schema.partition("(")[0]

    def declare(function: Callable[..., Array]) -> Operator:
        def run(*args: Any) -> torch.Tensor:
            # A new array in C order is what the fake result below promises.
            return torch.from_numpy(np.asarray(function(*map(_array, args)), order="C"))

        def fake(*args: Any) -> torch.Tensor:
            size, dtype = shape(*args)
            return torch.empty(size, dtype=dtype)

        _library.define(schema, tags=_TAGS)  # type: ignore[no-untyped-call]
        kernel = functools.update_wrapper(run, function)
        _library.impl(name, kernel, "CPU")  # type: ignore[no-untyped-call]
        torch.library.register_fake(f"npaccel::{name}", fake, lib=_library)
        operator: Operator = getattr(torch.ops.npaccel, name).default
        return operator

    return declare


def _like(x: torch.Tensor, *_: Any) -> tuple[Sequence[Any], torch.dtype]:
    return x.shape, x.dtype


def _places(x: torch.Tensor, *_: Any) -> tuple[Sequence[Any], torch.dtype]:
    return x.shape, torch.int64


def _kind(x: Array, stable: bool, width: int) -> Any:
    """Return how to sort: integers of few bytes by NumPy's radix sort, 5 to 30 times faster."""
    return "stable" if stable or (x.itemsize <= width and x.dtype.kind in "biu") else None


@_kernel("sort(Tensor x, int axis, bool stable) -> Tensor", _like)
def sort(x: Array, axis: int, stable: bool) -> Array:
    """`numpy.sort`."""
    return np.sort(x, axis, _kind(x, stable, 1))


@_kernel("argsort(Tensor x, int axis, bool stable) -> Tensor", _places)
def argsort(x: Array, axis: int, stable: bool) -> Array:
    """`numpy.argsort`."""
    return np.argsort(x, axis, _kind(x, stable, 2))


@_kernel("partition(Tensor x, SymInt[] kth, int axis) -> Tensor", _like)
def partition(x: Array, kth: list[int], axis: int) -> Array:
    """`numpy.partition`."""
    return np.partition(x, kth, axis)


@_kernel("argpartition(Tensor x, SymInt[] kth, int axis) -> Tensor", _places)
def argpartition(x: Array, kth: list[int], axis: int) -> Array:
    """`numpy.argpartition`."""
    return np.argpartition(x, kth, axis)


def _per_index(x: torch.Tensor, index: torch.Tensor) -> tuple[Sequence[Any], torch.dtype]:
    return (*index.shape, *x.shape[1:]), x.dtype


@_kernel("sorted_at(Tensor x, Tensor index) -> Tensor", _per_index)
def sorted_at(x: Array, index: Array) -> Array:
    """Return those elements of x sorted along its first axis that are at the indices (1-D)."""
    wanted = np.unique(np.where(index < 0, index + x.shape[0], index))
    return np.partition(x, wanted, 0)[index]


@_kernel("lexsort(Tensor[] keys, int axis) -> Tensor", lambda keys, axis: _places(keys[0]))
def lexsort(keys: list[Array], axis: int) -> Array:
    """`numpy.lexsort`."""
    return np.lexsort(keys, axis)


@_kernel("ufunc(Tensor x, str name) -> Tensor", _like)
def ufunc(x: Array, name: str) -> Array:
    """Compute a ufunc of one operand whose result has the operand's dtype."""
    with np.errstate(all="ignore"):
        return getattr(np, name)(x)  # type: ignore[no-any-return]


def _without(x: torch.Tensor, axis: int, *_: Any) -> tuple[Sequence[Any], torch.dtype]:
    return (*x.shape[:axis], *x.shape[axis + 1 :]), torch.int64


@_kernel("extreme_position(Tensor x, int axis, bool largest) -> Tensor", _without)
def extreme_position(x: Array, axis: int, largest: bool) -> Array:
    """`numpy.argmax` or `numpy.argmin` along an axis."""
    return (np.argmax if largest else np.argmin)(x, axis)  # type: ignore[no-any-return]
