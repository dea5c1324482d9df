"""Ordinary programs as a scientist writes them, each with functions that a user would decorate.

A module is loaded as often as it's needed (`load`), each time with another decorator for what its
source calls ``@jit``: none, npaccel's, Numba's. Nothing but NumPy and SciPy is imported here.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

from .record import Decorator, Program, decorating, outcome, plain, same_answers

#: Modules by the kind of their programs.
MODULES = (
    "arithmetic",
    "callbacks",
    "containers",
    "fitting",
    "graphs",
    "networks",
    "objects",
    "recursions",
    "simulations",
    "solvers",
)
_count = itertools.count()


def load(module: str, decorator: Decorator = plain) -> dict[str, Program]:
    """Execute a module's source again, under a name of its own, and return its programs.

    Parameters
    ----------
    module : str
        One of `MODULES`.
    decorator : callable
        What ``@jit`` does in it.

    Returns
    -------
    dict of str to Program
    """
    name = f"{__name__}.{module}_{next(_count)}"
    path = Path(__file__).with_name(f"{module}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} can't be loaded")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded  # where classes are looked up by name
    with decorating(decorator):
        spec.loader.exec_module(loaded)
    return {program.name: program for program in loaded.PROGRAMS}


#: The programs, undecorated, by module.
PLAIN: dict[str, dict[str, Program]] = {module: load(module) for module in MODULES}
#: The module of each program.
MODULE_OF = {name: module for module, programs in PLAIN.items() for name in programs}

__all__ = ["MODULES", "MODULE_OF", "PLAIN", "Program", "load", "outcome", "plain", "same_answers"]
