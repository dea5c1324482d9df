"""Have SciPy itself compute on tensors.

Where SciPy was imported without its array API, the names of `scipy.special` are plain ufuncs, which
SciPy's own functions call. The wrappers that choose by the library of the arrays are there all the
same (``scipy/special/_support_alternative_backends.py``, read in 1.17); for the time of a call they
stand under the public names. For NumPy's arrays they are the ufuncs.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from npaccel._scipy.dispatch.array_api_switch import array_api_on
from npaccel._scipy.dispatch.float64_default import wide_floats
from npaccel._scipy.dispatch.refcounted_patch import WhileUsed


def delegated(function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of SciPy with tensors."""
    with array_api_on(), wide_floats(), _special_functions():
        if isinstance(function, np.ufunc):
            function = _wrappers().get(function.__name__, function)
        return function(*args, **kwargs)


@functools.cache
def _wrappers() -> dict[str, Callable[..., Any]]:
    """Return SciPy's wrappers of the functions of `scipy.special`, by name."""
    try:
        module = importlib.import_module("scipy.special._support_alternative_backends")
    except ImportError:
        return {}
    special = importlib.import_module("scipy.special")
    made = {}
    for info in getattr(module, "_special_funcs", ()):
        name = info.func.__name__
        if isinstance(getattr(special, name, None), np.ufunc):
            made[name] = _wrapper(info)
    return made


def _wrapper(info: Any) -> Callable[..., Any]:
    namespace_of = importlib.import_module("scipy._lib._array_api_override").array_namespace

    @functools.wraps(info.func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return info._wrapper_for(namespace_of(*args))(*args, **kwargs)

    return call


@functools.cache
def _ufuncs() -> dict[str, np.ufunc]:
    special = importlib.import_module("scipy.special")
    return {name: getattr(special, name) for name in _wrappers()}


@contextlib.contextmanager
def _special_functions() -> Iterator[None]:
    """Put SciPy's wrappers under the public names until the last call in them ends."""
    _names.enter()
    try:
        yield
    finally:
        _names.leave()


def _put(before: Any, after: Any) -> None:
    """Put other functions under the names that still have the first."""
    special = importlib.import_module("scipy.special")
    for name, value in after.items():
        if getattr(special, name) is before[name]:
            setattr(special, name, value)


_names = WhileUsed(
    lambda: _put(_ufuncs(), _wrappers()),
    lambda: _put(_wrappers(), _ufuncs()),
)
