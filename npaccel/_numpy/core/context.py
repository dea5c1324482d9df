"""Settings of an operation besides its operands, while a function is traced.

The settings live in a context variable, so two functions with different
settings can be captured in two threads at once.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from npaccel._runtime.torch.symbolic_sizes import is_traced


@dataclasses.dataclass(frozen=True)
class TraceSettings:
    """Settings of the function being traced.

    Parameters
    ----------
    default_float : {"float32", "float64"}
        What NumPy would invent as float64 (and complex128) becomes this width.
    device : torch.device
        Where creation functions (``np.zeros``, ``np.arange``) put their result.
    rng : {"numpy", "device"}
        Whether NumPy draws random numbers on the host, or the graph computes them.
    is_transformed : bool
        Whether the trace is going to be differentiated or batched, so that each call needs
        a derivative and a form for batches.
    is_sharded : bool
        Whether ranks are going to have parts of the arrays, so that NumPy's own kernels, which
        take whole ones, don't suit.
    """

    default_float: str = "float64"
    device: torch.device = dataclasses.field(default_factory=lambda: torch.device("cpu"))
    rng: str = "numpy"
    is_transformed: bool = False
    is_sharded: bool = False

    @property
    def narrow(self) -> bool:
        """Whether invented 64-bit floats become 32 bit."""
        return self.default_float == "float32"


#: Callback, called with a dtype that ``default_float`` narrows and the narrower one, in a capture.
on_narrow: Callable[[Any, Any], None] | None = None

_settings: contextvars.ContextVar[TraceSettings] = contextvars.ContextVar(
    "npaccel_trace_settings", default=TraceSettings()
)


def settings() -> TraceSettings:
    """Return the settings of the function being traced in this context."""
    return _settings.get()


def wants_gradients(*tensors: torch.Tensor) -> bool:
    """Whether calls on tensors need a derivative: one of torch's, or of a transform's."""
    if settings().is_transformed:
        return True
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def has_values(tensor: torch.Tensor) -> bool:
    """Whether a tensor's values are at hand, and neither traced nor differentiated."""
    is_meta = tensor.device.type == "meta"
    return not (is_meta or is_traced(tensor) or wants_gradients(tensor))


@contextlib.contextmanager
def tracing(new: TraceSettings) -> Iterator[None]:
    """Trace with these settings until the block ends."""
    token = _settings.set(new)
    try:
        yield
    finally:
        _settings.reset(token)
