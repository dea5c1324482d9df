"""Modules of a package that declare rows of its table."""

from __future__ import annotations

import importlib
import pkgutil

from npaccel._process.imports import uncut

_loaded: set[str] = set()


def load_chapters(package: str) -> None:
    """Import the modules ``_chapter_*`` of a package, once, in the order of their names.

    Parameters
    ----------
    package : str
    """
    uncut(lambda: _load(package))


def _load(package: str) -> None:
    if package in _loaded:
        return
    folder = importlib.import_module(package).__path__
    for module in sorted(pkgutil.iter_modules(folder), key=lambda m: m.name):
        if module.name.startswith("_chapter_"):
            importlib.import_module(f"{package}.{module.name}")
    _loaded.add(package)
