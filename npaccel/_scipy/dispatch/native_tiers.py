"""Calls of npaccel's own functions on a CPU: SciPy makes them until compiling pays.

As with functions under ``compile="auto"``. Calls with the same values of what is compiled in
(modes, axes, orders) and arrays of the same dtypes and ranks and of similar sizes are one kind.
SciPy makes those of a kind until they have taken as long as compiling is likely to take.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from npaccel._compiler import call_kinds
from npaccel._compiler.tier_buckets import Bucket, price
from npaccel._compiler.tiers import Tiered, has_tiers
from npaccel._loops.make_dispatcher import make_dispatcher
from npaccel._runtime import options as runtime_options
from npaccel._runtime.options import Options
from npaccel._scipy.dispatch.checks import OwnError
from npaccel._scipy.dispatch.conversion import tensors
from npaccel.errors import NotCompiledError

if TYPE_CHECKING:
    from npaccel._jit import Jitted

#: Reason why such calls go through the host.
REASON = "SciPy makes such calls until compiling pays, and where it is faster"

_made: dict[tuple[str, Options], NativeTiers] = {}


def tiers_of(name: str, jitted: Jitted[..., Any], values: Any) -> NativeTiers | None:
    """Return what decides who makes a call; None where it has to be npaccel's own function.

    Parameters
    ----------
    name : str
        SciPy's, of the function.
    jitted : Jitted
        npaccel's own.
    values : iterable
        Of the call.
    """
    scope = runtime_options.current()
    if not has_tiers(runtime_options.of_scope(scope)) or torch.is_inference_mode_enabled():
        return None
    if not all(_is_plain(tensor) for tensor in tensors(list(values))):
        return None
    options = runtime_options.resolve(jitted._npaccel_explicit, scope)
    key = name, options
    if key not in _made:
        _made.setdefault(key, NativeTiers(name, jitted, options))
    return _made[key]


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor can be NumPy's array without a copy, and nothing asks for gradients."""
    return (
        type(tensor) is torch.Tensor
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.requires_grad and torch.is_grad_enabled())
    )


class NativeTiers(Tiered):
    """The calls of one function of SciPy's with tensors.

    Parameters
    ----------
    name : str
    jitted : Jitted
        npaccel's own function.
    options : Options
    """

    def __init__(self, name: str, jitted: Jitted[..., Any], options: Options) -> None:
        super().__init__(
            jitted._npaccel_target,
            options,
            jitted._npaccel_log,
            runtime_options.current(),
            make_dispatcher,
            lambda *_: None,
        )
        self.name = name
        self.python = self._in_scipy
        self._current = threading.local()

    def call(self, args: Any, kwargs: Any, in_scipy: Callable[[], Any]) -> Any:
        """Make a call.

        Parameters
        ----------
        args, kwargs
            Of npaccel's own function.
        in_scipy : callable
            Makes the call in SciPy, and gives tensors.
        """
        values = self.spec.binding.bind(args, kwargs)
        static = self.spec.static
        key = (
            self.name,
            call_kinds.kind(value for i, value in enumerate(values) if i not in static),
            tuple(values[i] for i in sorted(static)),
        )
        bucket = self.buckets.get(key) or self._new(key, values)
        before = getattr(self._current, "call", None)
        self._current.call = in_scipy
        try:
            return bucket.call(args, kwargs)
        except NotCompiledError:
            bucket.leave("SciPy's, as it can't be compiled")
            raise
        finally:
            if bucket.is_numpys and bucket.spent >= bucket.limit:
                bucket.pay()
            self._current.call = before

    def _in_scipy(self, *_: Any, **__: Any) -> Any:
        try:
            return self._current.call()
        except Exception as error:
            raise OwnError(error) from error  # It needn't be asked again.

    def has_to_compile(self, values: Any) -> bool:  # noqa: ARG002
        """Return False: SciPy can make all calls that come here."""
        return False

    def price(self) -> float:
        """Return how many seconds SciPy may take for calls of a kind before it's compiled."""
        return price()  # Other values are compiled again.

    def note_brief(self, bucket: Bucket) -> bool:  # noqa: ARG002
        """Return False: all calls come here."""
        return False

    def make_bucket(self, key: Any, values: Any, *, is_warm: bool) -> Bucket:
        """Return a bucket for another kind of calls."""
        return _NativeBucket(self, key, values, is_warm=is_warm)


class _NativeBucket(Bucket):
    """Calls of one kind, which pay for their own compilation alone."""

    def _paid(self) -> float:
        return self._seconds


__all__ = ["REASON", "NativeTiers", "tiers_of"]
