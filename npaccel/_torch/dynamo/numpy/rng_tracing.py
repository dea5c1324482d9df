"""Trace NumPy's random numbers: a call of a generator becomes a node of the graph.

The nodes' targets are `HostCall`s, which `random_graph` takes out of the graph.

Read from torch/_dynamo/variables/{user_defined,misc,builder}.py of 2.11 and
2.13.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.user_defined import (
    UserDefinedClassVariable,
    UserDefinedObjectVariable,
)

from npaccel._numpy.core import table
from npaccel._numpy.core.context import settings
from npaccel._numpy.random import functions
from npaccel._torch.dynamo.numpy.calls import refuse
from npaccel._torch.dynamo.numpy.rng_calls import Draw, check_host, statement
from npaccel._torch.dynamo.numpy.rng_device_calls import DeviceDraw
from npaccel._torch.dynamo.numpy.rng_hoisting import HostCall
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

_GENERATORS = (np.random.Generator, np.random.RandomState)
#: Classes and functions that make generators.
_MAKERS: dict[Any, tuple[str, type]] = {
    kind: (kind.__name__, kind)
    for kind in (
        *(*_GENERATORS, np.random.SeedSequence, np.random.MT19937, np.random.PCG64),
        *(np.random.PCG64DXSM, np.random.Philox, np.random.SFC64),
    )
}
_MAKERS[np.random.default_rng] = ("default_rng", np.random.Generator)


class GeneratorVariable(VariableTracker):
    """A generator, or what one is made of, that the traced function makes."""

    _nonvar_fields: ClassVar[set[str]] = {"node", "kind", *VariableTracker._nonvar_fields}

    def __init__(self, node: torch.fx.Node, kind: type, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.node = node
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def as_proxy(self) -> Any:
        return self.node

    def call_method(self, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if self.kind in _GENERATORS:
            return _method(tx, self.node, self.kind, name, list(args), kwargs)
        return super().call_method(tx, name, args, kwargs)


def _call_method(original: Any) -> Any:
    """Trace ``rng.normal(...)``."""

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        kind = type(self.value)
        if not active.depth or kind not in _GENERATORS or self.source is None:
            return original(self, tx, name, args, kwargs)
        source = self.source.name
        owner = source() if callable(source) else source  # A method up to torch 2.9.
        return _method(tx, owner, kind, name, list(args), kwargs)

    return call_method


def _call_function(original: Any) -> Any:
    """Trace ``np.random.RandomState(...)``."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if not active.depth or self.value not in _MAKERS:
            return original(self, tx, args, kwargs)
        return _make(tx, self.value, list(args), kwargs)

    return call_function


def call_function(tx: Any, function: Any, name: str, args: list[Any], kwargs: Any) -> Any:
    """Trace a function of `numpy.random`.

    Parameters
    ----------
    tx : object
        Dynamo's translator.
    function : callable
    name : str
        NumPy's name of it, without ``"numpy.random."``.
    args, kwargs : list and dict of VariableTracker
    """
    if function in _MAKERS:
        return _make(tx, function, args, kwargs)
    return _method(tx, "random", np.random.RandomState, name, args, kwargs)


def _method(
    tx: Any, owner: Any, kind: type, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Trace a method of a generator."""
    full = f"numpy.random.{kind.__name__}.{name}"
    row = table.row_named("numpy.random." + name if owner == "random" else full)
    if row is None or row.status != "compiled" or not active.draws:
        on_host = functions.ON_HOST if settings().rng == "numpy" else functions.HOST_ALL_THE_SAME
        return refuse(full, "", row.reason if row and row.reason else on_host)
    legacy = kind is np.random.RandomState
    if settings().rng == "device" and name != "seed":
        return DeviceDraw(tx, owner, legacy, functions.canonical(name), row.name).call(args, kwargs)
    draw = Draw(tx, owner, legacy, functions.canonical(name), row.name)
    special = {
        "choice": draw.choice,
        "permutation": draw.permutation,
        "permuted": draw.permuted,
        "seed": draw.seed,
        "shuffle": draw.shuffle,
    }
    return special.get(name, draw.plain)(args, kwargs)


def _make(tx: Any, maker: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Trace the making of a generator."""
    name, kind = _MAKERS[maker]
    full = f"numpy.random.{name}"
    if not active.draws:
        return refuse(full, "", functions.ON_HOST)
    if maker is np.random.default_rng and args and _python_type(args[0]) is kind:
        return args[0]
    check_host(full, [*args, *kwargs.values()])
    node = statement(tx, HostCall(full, "random", name, None), args, kwargs)
    return GeneratorVariable(node, kind)


def _python_type(variable: Any) -> Any:
    if isinstance(variable, GeneratorVariable):
        return variable.kind
    return type(variable.value) if isinstance(variable, UserDefinedObjectVariable) else None


_WHY = "Dynamo knows no generators of random numbers"
_TEST = "tests/numpy_layer/test_random.py"

PATCHES = (
    Patch(UserDefinedObjectVariable, "call_method", _call_method, _WHY, _TEST),
    Patch(UserDefinedClassVariable, "call_function", _call_function, _WHY, _TEST),
)

__all__ = ["PATCHES", "call_function"]
