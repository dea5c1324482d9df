"""Compile in a helper thread, without a trace in the program that goes on meanwhile.

Dynamo and Inductor put torch's random numbers back to where they were before a compilation. What
the program has drawn since then would be drawn again.

Read from torch/_dynamo/convert_frame.py (preserve_global_state), torch/_dynamo/utils.py
(preserve_rng_state) and torch/_functorch/aot_autograd.py of 2.13.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import torch

from npaccel._process import thread_warnings
from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def beside_the_program() -> Iterator[None]:
    """Compile in this thread until the block ends; it has Dynamo's lock."""
    thread = threading.get_ident()
    with thread_warnings.ignored(), patched([patch.given(thread) for patch in PATCHES]):
        yield


def _of_others(thread: int, original: Any) -> Any:
    """Take no states from a thread."""

    @functools.wraps(original)
    def set_rng_state(*args: Any, **kwargs: Any) -> None:
        if threading.get_ident() != thread:
            original(*args, **kwargs)

    return set_rng_state


_WHY = "what a program draws while something is compiled beside it would be drawn again"
_TEST = "tests/compiler/test_behind.py"
PATCHES = (
    Patch(torch.random, "set_rng_state", _of_others, _WHY, _TEST, read="2.13"),
    Patch(torch.cuda, "set_rng_state", _of_others, _WHY, _TEST, read="2.13"),
)

__all__ = ["PATCHES", "beside_the_program"]
