"""Verdicts of timing both ways of a function's calls, on disk for later processes.

A verdict is a hint. It says whether it pays to look for compiled code before NumPy's calls have
taken long; that code is kept, and found, as any other is. So a wrong one costs time, and nothing
else: where it was made on another machine or by another version it isn't heeded.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from npaccel._cache.store import cache_key, default_cache
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._runtime import artifacts
from npaccel._runtime.guard_serialization import UncacheableError


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Seconds that a call took in each way.

    Parameters
    ----------
    compiled, numpy : float
    """

    compiled: float
    numpy: float

    @property
    def is_compiled(self) -> bool:
        """Whether compiled code is the faster."""
        return self.compiled <= self.numpy


class Verdicts:
    """Find and store verdicts of a function, by kinds of calls.

    Parameters
    ----------
    spec : FunctionSpec
    """

    def __init__(self, spec: FunctionSpec) -> None:
        # No environment here, which takes milliseconds to find out: most functions have no verdict.
        self._group = cache_key("verdicts", *artifacts.function_texts(spec.scope, spec.options))

    def find(self, kind: Any) -> Verdict | None:
        """Return the verdict on calls of a kind; None where there is none for this machine."""
        key = _key(kind)
        entry = None if key is None else default_cache().load(key, group=self._group)
        if entry is None or entry.metadata.get("environment") != _environment():
            return None
        compiled, numpy = (entry.metadata.get(name) for name in ("compiled", "numpy"))
        if isinstance(compiled, float) and isinstance(numpy, float) and min(compiled, numpy) > 0:
            return Verdict(compiled, numpy)
        return None

    def store(self, kind: Any, compiled: float, numpy: float) -> Verdict:
        """Store how long calls of a kind have taken, in the place of what was stored before."""
        verdict, key = Verdict(compiled, numpy), _key(kind)
        if key is not None:
            cache = default_cache()
            cache.remove(key, group=self._group)
            metadata = {**dataclasses.asdict(verdict), "environment": _environment()}
            cache.store(key, {}, metadata, group=self._group)
        return verdict


def _key(kind: Any) -> str | None:
    """Return the cache's key of a kind of calls; None of one that only this process knows."""
    try:
        return cache_key(artifacts.key_text(kind))
    except UncacheableError:
        return None


def _environment() -> str:
    return cache_key(*artifacts.environment())


__all__ = ["Verdict", "Verdicts"]
