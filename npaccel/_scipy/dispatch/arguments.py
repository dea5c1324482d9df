"""Arguments that are numbers, lists or tensors, and whether SciPy can have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import to_numpy, to_torch
from npaccel._scipy.dispatch import conversion


def as_float(value: Any, dtype: torch.dtype, device: torch.device) -> Any:
    """Return a number, a list or a tensor as a tensor of that dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(device=device, dtype=dtype)
    if isinstance(value, torch.SymInt | torch.SymFloat):  # A size, which `as_tensor` would fix.
        return torch.full((), value, dtype=dtype, device=device)  # type: ignore[call-overload]
    return torch.as_tensor(value, dtype=dtype, device=device)


def common_dtype(*values: torch.Tensor) -> torch.dtype:
    """Return the dtype that NumPy computes in: of int64 and float32 it is float64."""
    return to_torch(np.result_type(*(to_numpy(value.dtype) for value in values)))


def on_a_cpu(
    why: str, besides: Callable[[dict[str, Any]], str] | None = None
) -> Callable[[dict[str, Any]], str]:
    """Return a `host_reason` of the table: SciPy computes on a CPU, and what another one says.

    Parameters
    ----------
    why : str
        Why SciPy's own is at least as fast there.
    besides : callable, optional
    """

    def host_reason(bound: dict[str, Any]) -> str:
        found = besides(bound) if besides else ""
        return found or (f"on a CPU, {why}" if free_for_scipy(bound) else "")

    return host_reason


def one_matrix(bound: dict[str, Any]) -> str:
    """Leave single matrices to SciPy's LAPACK on a CPU, and stacks of them to torch's."""
    stacks = any(tensor.ndim > 2 for tensor in conversion.tensors(bound))
    return "on a CPU, SciPy's LAPACK is as fast" if not stacks and free_for_scipy(bound) else ""


def free_for_scipy(bound: dict[str, Any]) -> bool:
    """Whether SciPy can have a call's tensors: on a CPU, and nobody wants their gradients."""
    grads = torch.is_grad_enabled()
    return all(
        tensor.device.type == "cpu" and not (grads and tensor.requires_grad)
        for tensor in conversion.tensors(bound)
    )
