"""See every copy of a tensor between host and device.

Read from torch/utils/_python_dispatch.py and torch/_guards.py of 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._guards import TracingContext
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten

#: Callback for a copy before it's made: source, target, bytes.
Watcher = Callable[[torch.device, torch.device, int], None]


class CopyWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tell of copies between host and device in this thread, before they are made.

    Parameters
    ----------
    watcher : callable
        May raise, which prevents the copy.
    """

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._watcher = watcher

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """The compiler may go on with this mode active."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if TracingContext.try_get() is None:  # While compiling nothing is computed.
            self._look(func, args, kwargs)
        return func(*args, **kwargs)

    def _look(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if func is _aten._to_copy.default:
            source: torch.Tensor = args[0]
            dtype = kwargs.get("dtype") or source.dtype
            target = kwargs.get("device") or source.device
            self._tell(source.device, torch.device(target), source.numel() * dtype.itemsize)
        elif func is _aten.copy_.default:
            self._tell(args[1].device, args[0].device, args[1].nbytes)
        elif func is _aten._local_scalar_dense.default:
            self._tell(args[0].device, torch.device("cpu"), args[0].nbytes)

    def _tell(self, source: torch.device, target: torch.device, nbytes: int) -> None:
        if (source.type == "cpu") != (target.type == "cpu"):
            self._watcher(source, target, nbytes)
