"""Conditions on values, in functions that are called with tensors and traced as well."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from npaccel._runtime.torch.symbolic_sizes import is_traced, refuse_where


class OwnError(Exception):
    """Error of a call that SciPy doesn't know: it's raised, and SciPy isn't asked."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def finite(*arrays: torch.Tensor, check_finite: bool = True) -> None:
    """Raise ValueError, as SciPy does, where an array has a NaN or an infinity.

    Parameters
    ----------
    *arrays : torch.Tensor
    check_finite : bool
        SciPy's parameter: False leaves the check out.

    Raises
    ------
    ValueError
    """
    if not check_finite:
        return
    for array in arrays:
        if not (readable(array) and is_finite(array)):
            holds(torch.isfinite(array).all(), "array must not contain infs or NaNs")


def is_finite(array: torch.Tensor) -> bool:
    """Whether an array has no NaN and no infinity.

    Of most arrays one pass tells: what isn't finite makes the sum so, too.
    """
    if not (array.is_floating_point() or array.is_complex()):
        return True
    return bool(torch.isfinite(array.sum())) or bool(torch.isfinite(array).all())


def holds(condition: torch.Tensor, otherwise: str) -> None:
    """Raise ValueError where a condition on values doesn't hold.

    On a GPU one truth value is read. Traced code asserts it on a CPU, so that SciPy then says what
    is wrong; on a GPU, where a failed assertion ends all work of the process, it doesn't look.

    Parameters
    ----------
    condition : torch.Tensor
        Of dtype bool, without dimensions.
    otherwise : str
        The error's text.

    Raises
    ------
    ValueError
    """
    if readable(condition) and condition.device.type != "cpu":
        if not condition:
            raise ValueError(otherwise)
    else:
        refuse_where(~condition, ValueError(otherwise))


def left_to_scipy(case: torch.Tensor, what: str) -> None:
    """Have a graph leave values to SciPy, which warns of them or gives another dtype.

    Code that is compiled warns of nothing, and has its dtypes beforehand. With tensors a function
    goes on.

    Parameters
    ----------
    case : torch.Tensor
        Of dtype bool: whether it's such values.
    what : str
        What they are.
    """
    if _graph.is_entered:
        refuse_where(case, ValueError(what))


class _Graph(threading.local):
    is_entered = False


_graph = _Graph()


@contextlib.contextmanager
def in_a_graph() -> Iterator[None]:
    """Say that a function computes as a part of a graph, while that is traced and when it runs."""
    before, _graph.is_entered = _graph.is_entered, True
    try:
        yield
    finally:
        _graph.is_entered = before


def is_in_a_graph() -> bool:
    """Whether a function computes as a part of a graph."""
    return _graph.is_entered


def readable(x: torch.Tensor) -> bool:
    """Whether a tensor's values can be read now."""
    return not is_traced(x) and x.device.type != "meta"


def is_near(x: torch.Tensor) -> bool:
    """Whether values can be read without waiting for a device."""
    return readable(x) and x.device.type == "cpu"
