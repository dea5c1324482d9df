"""Functions that kernels call where npaccel changes Inductor's code for vectors."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def vector_helpers() -> str:
    """Return their C++, for kernels that include torch's headers."""
    return Path(__file__).with_suffix(".h").read_text(encoding="utf-8")


__all__ = ["vector_helpers"]
