"""Torch operators of functions of ndarrays, which compiled code calls directly.

Compiled code on disk needs this module, so that it imports nothing of the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import settings, wants_gradients
from npaccel._runtime.torch.transform_levels import is_differentiated, is_transformed

Array = np.ndarray[Any, Any]
#: A result's shape and dtype.
Form = tuple[Sequence[Any], torch.dtype]
#: Takes fake tensors and returns the form of the result.
Shape = Callable[..., Form]
Operator = Callable[..., torch.Tensor]

#: Kernels that code calls in an operator's place: the dispatcher would only find the one kernel
#: that there is, in 3 microseconds, and more where arrays have driven it out of the caches.
direct = SimpleNamespace()
#: The same kernels on arrays instead of tensors.
direct.on_arrays = SimpleNamespace()
#: The names there, by operator.
KERNELS: dict[Any, str] = {}

_library = torch.library.Library("npaccel", "DEF")  # type: ignore[no-untyped-call]
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)


def usable(*tensors: torch.Tensor) -> bool:
    """Whether NumPy's kernels may be called on tensors: whole, on a CPU, without gradients."""
    if settings().is_sharded:
        return False
    return all(tensor.device.type == "cpu" for tensor in tensors) and not wants_gradients(*tensors)


def as_array(value: Any) -> Any:
    """Return a tensor as an array of its memory, a list with one in it likewise, else the value."""
    if isinstance(value, torch.Tensor):
        value = value.detach() if value.requires_grad else value
        value = value.resolve_conj() if value.is_conj() else value
        return (value.resolve_neg() if value.is_neg() else value).numpy()
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        return [as_array(item) for item in value]
    return value


def operator(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    tags: Sequence[torch.Tag] = _TAGS,
    *,
    device: str = "CPU",
) -> Any:
    """Make an operator ``torch.ops.npaccel.<name>``.

    Parameters
    ----------
    schema : str
        As `torch.library.Library.define` takes it.
    kernel, fake : callable
        Compute with tensors, and with fake ones.
    tags : sequence of torch.Tag
    device : str
        The dispatch key that the kernel is for.
    """
    name = schema.partition("(")[0]
    _library.define(schema, tags=tags)  # type: ignore[no-untyped-call]
    _library.impl(name, kernel, device)  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"npaccel::{name}", fake, lib=_library)
    return getattr(torch.ops.npaccel, name).default


def called_directly(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    on_arrays: Callable[..., Any],
) -> Any:
    """Make an operator that compiled code calls without torch's dispatcher.

    Parameters
    ----------
    schema, kernel, fake
        As for `operator`.
    on_arrays : callable
        Computes with arrays.
    """
    found = operator(schema, kernel, fake)
    KERNELS[found] = schema.partition("(")[0]
    setattr(direct, KERNELS[found], kernel)
    setattr(direct.on_arrays, KERNELS[found], on_arrays)
    return found


def kernel(schema: str, shape: Shape) -> Callable[[Callable[..., Array]], Operator]:
    """Make an operator of a function of ndarrays.

    Parameters
    ----------
    schema : str
        As `torch.library.Library.define` takes it; the result is one tensor.
    shape : callable
        Takes the operator's arguments and returns the result's shape and dtype.
    """

    def declare(function: Callable[..., Array]) -> Operator:
        def on_arrays(*args: Any) -> Array:
            # A new array in C order is what the fake result below promises.
            return np.asarray(function(*args), order="C")

        def run(*args: Any) -> torch.Tensor:
            return torch.from_numpy(on_arrays(*map(as_array, args)))

        def fake(*args: Any) -> torch.Tensor:
            size, dtype = shape(*args)
            return torch.empty(size, dtype=dtype)

        computes = functools.update_wrapper(run, function)
        found: Operator = called_directly(schema, computes, fake, on_arrays)
        return found

    return declare


def several(schema: str, shapes: Callable[..., list[Form]]) -> Callable[[Any], Any]:
    """Make an operator of a function that returns several ndarrays.

    Parameters
    ----------
    schema : str
        As `torch.library.Library.define` takes it; the result is ``Tensor[]``.
    shapes : callable
        Takes the operator's arguments and returns the results' shapes and dtypes.
    """

    def declare(function: Callable[..., Sequence[Array]]) -> Callable[..., list[torch.Tensor]]:
        def on_arrays(*args: Any) -> list[Array]:
            return [np.asarray(one, order="C") for one in function(*args)]

        def run(*args: Any) -> list[torch.Tensor]:
            return [torch.from_numpy(one) for one in on_arrays(*map(as_array, args))]

        def fake(*args: Any) -> list[torch.Tensor]:
            return [torch.empty(size, dtype=dtype) for size, dtype in shapes(*args)]

        computes = functools.update_wrapper(run, function)
        found: Any = called_directly(schema, computes, fake, on_arrays)
        return found  # type: ignore[no-any-return]

    return declare


def writing(schema: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make an operator of a function that writes to its first array and returns nothing.

    Parameters
    ----------
    schema : str
        As `torch.library.Library.define` takes it.
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            function(*map(as_array, args))
            torch.autograd.graph.increment_version(args[0])  # torch sees no writes to the memory

        computes = functools.update_wrapper(run, function)
        found: Callable[..., None] = called_directly(schema, computes, lambda *args: None, function)
        return found

    return declare


#: Functions of torch's autograd that compute an operator, by operator.
DIFFERENTIABLE: dict[Any, Any] = {}


def with_derivative(
    found: Operator,
    tensors: int,
    backward: Callable[..., Any],
    batched: Callable[..., Any] | None = None,
) -> Operator:
    """Give an operator of one result its derivative.

    Parameters
    ----------
    found : callable
        The operator.
    tensors : int
        How many arguments are tensors: the first ones.
    backward : callable
        Takes a context and the result's cotangent. The context has the tensors among the
        arguments, and the result, in `saved_tensors`, and the other arguments in `rest`.
    batched : callable, optional
        The rule for batches, as `torch.autograd.Function.vmap`.

    Returns
    -------
    callable
        Calls the operator, or computes it so that transforms have its derivative.
    """

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(*args: Any) -> torch.Tensor:
            return found(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[:tensors], output)
            ctx.rest = inputs[tensors:]

        @staticmethod
        def backward(ctx: Any, cotangent: torch.Tensor) -> Any:
            return backward(ctx, cotangent)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            if batched is None:
                raise NotImplementedError("it takes no batches")
            return batched(info, in_dims, *args)

    def call(*args: Any) -> torch.Tensor:
        given = args[:tensors]
        if any(is_differentiated(one) or is_transformed(one) for one in given):
            made: torch.Tensor = Function.apply(*args)  # type: ignore[no-untyped-call]
            return made
        return found(*args)

    DIFFERENTIABLE[found] = call
    return call
