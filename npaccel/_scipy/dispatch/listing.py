"""SciPy's own names, and what SciPy says of them.

SciPy keeps a table of what each function can do with which library's arrays
(``scipy/_lib/_array_api.py``, read in 1.17). Releases before it have none: nothing is delegated.
"""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any

import numpy as np

#: The submodules that are mirrored.
SUBMODULES = (
    "cluster.hierarchy",
    "cluster.vq",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "signal.windows",
    "sparse",
    "spatial",
    "spatial.distance",
    "special",
    "stats",
)


#: The attribute of a replaced name that has SciPy's own object.
ORIGINAL = "_npaccel_original"


@functools.cache
def scipy_since(*release: int) -> bool:
    """Whether the installed SciPy is a release or a later one."""
    import scipy

    return tuple(map(int, scipy.__version__.split(".")[:2])) >= release


def find(name: str) -> Any:
    """Return what SciPy has under a dotted name, None where it has nothing.

    Parameters
    ----------
    name : str
        Without ``scipy.``, as in ``"stats.norm.pdf"``.
    """
    parts = name.split(".")
    for n in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:n])
        if module in SUBMODULES:
            found: Any = importlib.import_module(f"scipy.{module}")
            for part in parts[n:]:
                found = own(getattr(found, part, None))
            return found
    return None


def own(value: Any) -> Any:
    """Return SciPy's own object, also while another stands under its name."""
    return getattr(value, ORIGINAL) if hasattr(type(value), ORIGINAL) else value


#: Types of functions that `types` doesn't name: of backends, of several ufuncs, of Cython, NumPy's.
_OTHER_FUNCTIONS = {
    *("_Function", "MultiUFunc", "cython_function_or_method", "_ArrayFunctionDispatcher"),
}


def is_function(value: Any) -> bool:
    """Whether a public object is a function, not a class, a constant or a distribution."""
    kinds = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, types.MethodType)
    return isinstance(value, kinds) or (
        callable(value) and type(value).__name__ in _OTHER_FUNCTIONS
    )


@functools.cache
def names() -> tuple[str, ...]:
    """Return the public names of all functions of the submodules, without ``scipy.``."""
    found = []
    for module in SUBMODULES:
        public = importlib.import_module(f"scipy.{module}")
        functions = (n for n in sorted(public.__all__) if is_function(own(getattr(public, n))))
        found += [f"{module}.{name}" for name in functions]
    return tuple(found)


def is_public(function: Any) -> bool:
    """Whether a function is one of SciPy's public ones."""
    return any(found is function for found in _by_short_name().get(function.__name__, ()))


@functools.cache
def _by_short_name() -> dict[str, list[Any]]:
    known: dict[str, list[Any]] = {}
    for name in names():
        known.setdefault(name.rpartition(".")[2], []).append(find(name))
    return known


@functools.cache
def _capabilities() -> dict[Any, Any]:
    try:
        module = importlib.import_module("scipy._lib._array_api")
    except ImportError:
        return {}
    return getattr(module, "xp_capabilities_table", {})


def computes_on_gpu(function: Any) -> bool:
    """Whether SciPy itself computes a function on a GPU's tensors, by its own table."""
    if not names():  # the submodules fill the table when they are imported
        return False
    try:
        known = _capabilities().get(function)
    except TypeError:  # an object that can't be hashed is in no table
        return False
    if known is None or known["out_of_scope"]:
        return False
    if any(name == "torch" for name, _ in [*known["skip_backends"], *known["xfail_backends"]]):
        return False
    return "torch" in known["exceptions"] or not (known["cpu_only"] or known["np_only"])


def by_public_name(submodule: str, name: str) -> Any:
    """Return a public name of `npaccel.scipy`, as pickles hold it."""
    return getattr(importlib.import_module(f"npaccel.scipy.{submodule}"), name)
