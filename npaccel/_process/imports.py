"""Modules that are imported late: the compiler's, and npaccel's own that need it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from npaccel._process import fork, signals

T = TypeVar("T")

#: Bytes that are kept free for undoing an import for which memory has run out.
RESERVE = 16 << 20
#: Modules that were there when an import had ended: one that it was a part of may fail yet.
_whole: set[str] = set()
#: Packages of which `load_all` has imported all that was asked for.
_complete: set[str] = set()


def load(name: str) -> Any:
    """Import a module, all of it or nothing.

    Forks and handlers of signals wait for it. Where it raises an error, of memory for one, a later
    call tries again.

    Parameters
    ----------
    name : str
        With its packages.
    """
    return loaded(name) or uncut(lambda: _imported(name))


def loaded(name: str) -> Any:
    """Return a module that is imported already, or None."""
    module = sys.modules.get(name)
    return None if module is None or getattr(module.__spec__, "_initializing", False) else module


def loaded_class(module: str, name: str) -> Any:
    """Return a class of a module that somebody has imported, or None."""
    return getattr(sys.modules.get(module), name, None)


def load_all(package: str, modules: Iterable[str]) -> None:
    """Import modules of a package, once.

    Parameters
    ----------
    package : str
    modules : iterable of str
        Their names within it.
    """
    if package not in _complete:
        uncut(lambda: _load_all(package, modules))


def _load_all(package: str, modules: Iterable[str]) -> None:
    for module in modules:
        importlib.import_module(f"{package}.{module}")
    _complete.add(package)


def uncut(work: Callable[[], T]) -> T:
    """Call something that is short; forks and handlers of signals wait for it."""
    return signals.held(_alone, work)


def _alone(work: Callable[[], T]) -> T:
    with fork.importing:
        result = work()
    fork.let_pass()
    return result


def _imported(name: str) -> Any:
    before, reserve = set(sys.modules), bytearray(RESERVE)
    try:
        with fork.registrations_noted():
            module = importlib.import_module(name)
    except BaseException:
        del reserve
        _forget(sys.modules.keys() - before - _whole)
        raise
    _whole.update(sys.modules)
    return module


def _forget(names: Iterable[str]) -> None:
    """Forget modules that were imported for one that couldn't be.

    Python itself forgets those alone that it was in the middle of. What was imported for them may
    have parts of them, as modules of torch have of each other, and the parts of a package don't
    become its attributes once more.
    """
    for name in sorted(names):  # A package comes before its parts.
        package = name.rpartition(".")[0]
        if name.startswith(("torch.", "npaccel.")) or (package and package not in sys.modules):
            sys.modules.pop(name, None)
