"""Modules that are imported late: the compiler's, and npaccel's own that need it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from npaccel import _fork, _signals

T = TypeVar("T")


def load(name: str) -> Any:
    """Import a module, all of it or nothing.

    Forks and handlers of signals wait for it. Where it raises an error, of memory for one, a later
    call begins anew.

    Parameters
    ----------
    name : str
        With its packages.
    """
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False):
        module = uncut(lambda: _imported(name))
    return module


def uncut(work: Callable[[], T]) -> T:
    """Call something that is short; forks and handlers of signals wait for it."""
    return _signals.held(_alone, work)


def _alone(work: Callable[[], T]) -> T:
    with _fork.importing:
        return work()


def _imported(name: str) -> Any:
    before = set(sys.modules)
    try:
        with _fork.registrations_noted():
            return importlib.import_module(name)
    except BaseException:
        _forget_parts(before)
        raise


def _forget_parts(before: set[str]) -> None:
    """Forget the parts of packages that couldn't be imported.

    Python itself forgets the package alone. It would take the parts for imported the next time, and
    not make them attributes of the package.
    """
    for name in sorted(sys.modules.keys() - before):
        package = name.rpartition(".")[0]
        if package and package not in sys.modules:
            del sys.modules[name]
