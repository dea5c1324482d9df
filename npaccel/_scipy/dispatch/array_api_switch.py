"""SciPy's array API, on for one call.

SciPy reads ``SCIPY_ARRAY_API`` from the environment once, when it's imported, into a global that
its functions then ask (``scipy/_lib/_array_api_override.py``, read in 1.17). npaccel puts an object
there that is true only in a thread that computes on tensors. So it doesn't matter which was
imported first, and for NumPy's arrays nothing changes: with the switch on for all, masked arrays
and matrices would raise.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from npaccel._process import fork

_NAME = "SCIPY_ARRAY_API"
_MODULES = ("scipy._lib._array_api_override", "scipy._lib._array_api")

_on: ContextVar[bool] = ContextVar("npaccel_scipy_array_api", default=False)
_lock = threading.Lock()
fork.hold(_lock)


class _Switch:
    """True in a thread that has switched it on, else what the environment said.

    Parameters
    ----------
    otherwise : object
        What SciPy had there.
    """

    def __init__(self, otherwise: Any) -> None:
        self._otherwise = otherwise

    def __bool__(self) -> bool:
        return _on.get() or bool(self._otherwise)

    def __repr__(self) -> str:
        return f"<{_NAME}: {bool(self)}>"


def _install() -> None:
    with _lock:
        for name in _MODULES:
            module: Any = sys.modules.get(name)
            value = getattr(module, _NAME, None)
            if value is not None and not isinstance(value, _Switch):
                setattr(module, _NAME, _Switch(value))


@contextlib.contextmanager
def array_api_on() -> Iterator[None]:
    """Have SciPy compute on tensors in this thread until the block ends."""
    _install()
    token = _on.set(True)
    try:
        yield
    finally:
        _on.reset(token)
