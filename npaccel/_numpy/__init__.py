"""NumPy's functions on tensors, by NumPy's chapters.

`_table` is the one list of them. The chapters declare their rows when they are
imported, which `load` does at the first capture.
"""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every chapter, so that the table is complete."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
