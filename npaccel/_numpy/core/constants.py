"""Constants and types of NumPy that a trace reads as they are, and attributes of arrays."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core import operators
from npaccel._numpy.core.methods import attribute
from npaccel._numpy.core.table import implements
from npaccel._numpy.indexing.indexing import getitem, setitem
from npaccel._numpy.ufuncs.ufuncs import BY_UFUNC

_NUMBERS = "pi e inf nan euler_gamma newaxis True_ False_ little_endian"
_TABLES = "ScalarType sctypeDict typecodes"
_TYPES = """
    generic number integer signedinteger unsignedinteger inexact floating complexfloating
    flexible character ndarray ufunc"""
_QUESTIONS = "dtype finfo iinfo"
_ATTRIBUTES = ["dtype", "itemsize", "nbytes", "ndim", "shape", "size", "strides"]
if hasattr(np.ndarray, "device"):  # NumPy 2.1
    _ATTRIBUTES.append("device")


def _constant(value: Any) -> Any:
    return value


def _declare(names: str, note: str) -> None:
    for name in names.split():
        value = getattr(np, name)
        implements(f"numpy.{name}", note=note)(functools.partial(_constant, value))


_declare(_NUMBERS, "a constant")
_declare(_TABLES, "a constant")
_declare(_TYPES, "for isinstance and issubdtype")
_declare(_QUESTIONS, "a constant of the signature")


def _attribute(name: str, a: torch.Tensor) -> Any:
    return attribute(a, name)


for _name in _ATTRIBUTES:
    implements(f"numpy.ndarray.{_name}", note="a constant of the signature")(
        functools.partial(_attribute, _name)
    )


# -- Python's operators

_BINARY = {
    **{f"__{op.__name__.strip('_')}__": op for op in operators.BINARY},
}
_COMPARISONS = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"})


def _reflected(op: Any, a: Any, b: Any) -> Any:
    return operators.binary(op, b, a)


def _note(op: Any) -> str:
    """Return what is to be said of the ufunc that an operator calls."""
    return BY_UFUNC[operators.BINARY[op]].note


def _declare_operators() -> None:
    for name, op in _BINARY.items():
        made = functools.partial(operators.binary, op)
        note = _note(op)
        implements(f"numpy.ndarray.{name}", zero_d="scalar", note=note)(made)
        if name not in _COMPARISONS:
            swapped = f"__r{name[2:]}"
            implements(f"numpy.ndarray.{swapped}", zero_d="scalar", note=note)(
                functools.partial(_reflected, op)
            )
    for op in (operator.neg, operator.pos, operator.abs, operator.invert):
        name = f"__{op.__name__}__"
        implements(f"numpy.ndarray.{name}", zero_d="scalar")(functools.partial(operators.unary, op))
    for op, plain in operators.INPLACE.items():
        implements(f"numpy.ndarray.__{op.__name__}__", mutates=(0,), note=_note(plain))(
            functools.partial(operators.inplace, op)
        )


_declare_operators()
implements("numpy.ndarray.__getitem__", zero_d="scalar")(getitem)
implements("numpy.ndarray.__setitem__", mutates=(0,))(setitem)
