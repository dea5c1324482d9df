"""Routes of metrics on tensors: npaccel's own code, scikit-learn's on tensors, or the host."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from npaccel._runtime import options
from npaccel._scipy.dispatch import conversion
from npaccel._scipy.dispatch.float64_default import wide_floats
from npaccel._sklearn.dispatch import call_stack, functions, listing
from npaccel._sklearn.dispatch.table import on_device


class NotHere(Exception):  # noqa: N818 (it is no error that anyone sees)
    """Signal that a call is scikit-learn's own business, on the host: errors of arguments, too."""


def metric(name: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function that is called with scikit-learn's arguments if there are tensors.

    Parameters
    ----------
    name : str
        scikit-learn's public name. The function has the same parameters, and raises `NotHere` for
        what it doesn't do.
    **more
        Fields of the row.
    """

    def declare(native: Callable[..., Any]) -> Callable[..., Any]:
        original = listing.find(name)
        if original is None:
            return native
        on_device(name, **more)(_with_tensors(original, native))
        return native

    return declare


def dispatched(names: str) -> None:
    """Declare functions that scikit-learn's own code computes on tensors."""
    for name in names.split():
        original = listing.find(name)
        if original is not None:
            native = in_array_api(original)
            row = on_device(name, note="scikit-learn's own code on tensors")
            row(_with_tensors(original, native, binds=False))


def in_array_api(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return scikit-learn's own function as it computes on tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with call_stack.dispatching(True), wide_floats():
                return original(*args, **kwargs)
        except (TypeError, NotImplementedError, AttributeError, RuntimeError) as error:
            # Some arguments aren't done there; if it's the caller's fault, the host says so.
            raise NotHere from error

    return call


def _with_tensors(
    original: Callable[..., Any], native: Callable[..., Any], binds: bool = True
) -> Callable[..., Any]:
    on_host = functions.routed(original)
    signature = inspect.signature(original)

    @functools.wraps(original, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*conversion.tensors(args), *conversion.tensors(kwargs)]
        if not given or options.current().disabled:
            return on_host(*args, **kwargs)
        try:
            if binds:
                signature.bind(*args, **kwargs)
            return native(*args, **kwargs)
        except (NotHere, TypeError) as error:
            if isinstance(error, TypeError) and binds and _binds(signature, args, kwargs):
                raise
            return on_host(*args, **kwargs)

    return call


def _binds(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def tensors(*values: Any) -> list[torch.Tensor]:
    """Return arguments as tensors on the device of those that are tensors; real numbers only.

    Raises
    ------
    NotHere
        For what isn't numbers, or has NaNs or infinities.
    """
    device = next(v.device for v in values if isinstance(v, torch.Tensor))
    found = []
    for value in values:
        try:
            one = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise NotHere from error
        if one.is_complex() or one.layout != torch.strided:
            raise NotHere
        if one.is_floating_point() and not bool(torch.isfinite(one).all()):
            raise NotHere
        found.append(one.to(device))
    return found


def vectors(*values: Any) -> list[torch.Tensor]:
    """Return arguments as tensors of one dimension and the same length, not empty.

    Raises
    ------
    NotHere
    """
    found = tensors(*values)
    if any(one.ndim != 1 or len(one) != len(found[0]) for one in found) or not len(found[0]):
        raise NotHere
    return found
