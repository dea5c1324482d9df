"""Formulas of torch's for forward mode, which are imported when they're first needed."""

from __future__ import annotations

import functools
import importlib

from npaccel._process import thread_warnings


@functools.cache
def load_forward_formulas() -> None:
    """Import torch's formulas for forward mode, which warns of how they're made."""
    with thread_warnings.ignored():
        importlib.import_module("torch._decomp.decompositions_for_jvp")
