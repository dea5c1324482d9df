"""Containers of arrays: flatten them into their leaves, and build them again.

Traced code calls these, so they are plain: no generators, no registry.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

_LEAF = "leaf"
_NONE = "none"
_SEQUENCE = "sequence"
_DICT = "dict"
_FIELDS = "fields"


def flatten(tree: Any, leaves: list[Any]) -> Any:
    """Append a container's leaves to a list and return its structure.

    Parameters
    ----------
    tree : object
        A leaf, or a tuple, list, dict, namedtuple or dataclass of such. None has no leaves.
    leaves : list
    """
    if tree is None:
        return (_NONE,)
    if isinstance(tree, (tuple, list)):
        return (_SEQUENCE, type(tree), [flatten(part, leaves) for part in tree])
    if isinstance(tree, dict):
        return (_DICT, list(tree), [flatten(tree[key], leaves) for key in tree])
    if is_array(tree) or isinstance(tree, (bool, int, float, complex, str)):
        leaves.append(tree)  # Before dataclasses, of which Dynamo can't ask arrays.
        return (_LEAF,)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if field.init]
        parts = [flatten(getattr(tree, name), leaves) for name in names]
        return (_FIELDS, type(tree), names, parts)
    leaves.append(tree)
    return (_LEAF,)


def build(structure: Any, leaves: list[Any]) -> Any:
    """Return a container of a structure, with leaves that are taken off the front of a list."""
    kind = structure[0]
    if kind == _LEAF:
        return leaves.pop(0)
    if kind == _NONE:
        return None
    parts = [build(part, leaves) for part in structure[-1]]
    if kind == _DICT:
        return dict(zip(structure[1], parts, strict=True))
    made = structure[1]
    if kind == _FIELDS:
        return made(**dict(zip(structure[2], parts, strict=True)))
    if made is list:
        return parts
    return tuple(parts) if made is tuple else made(*parts)


def copied(tree: Any) -> Any:
    """Return a container with copies of its arrays."""
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return build(structure, [_copy(leaf) for leaf in leaves])


def _copy(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return leaf.clone()
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def count(structure: Any) -> int:
    """Return the number of leaves of a structure."""
    if structure[0] == _LEAF:
        return 1
    return 0 if structure[0] == _NONE else sum([count(part) for part in structure[-1]])


def spread(prefix: Any, structure: Any, what: str) -> list[Any]:
    """Return one value for each leaf of a structure, of values for whole parts of it.

    Parameters
    ----------
    prefix : object
        A value, or a container of the structure's form with values in it: ``(0, None)``.
    structure : object
        As `flatten` returns it.
    what : str
        Name of the prefix, for messages.

    Raises
    ------
    ValueError
        If they don't fit.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * count(structure)
    is_dict = isinstance(prefix, dict)
    has_parts = structure[0] not in (_LEAF, _NONE)
    if not has_parts or is_dict != (structure[0] == _DICT) or len(prefix) != len(structure[-1]):
        raise ValueError(
            f"{what} is {prefix!r}, which doesn't have the structure of what it's for; pass one "
            "integer or None for each argument, or a single one for all"
        )
    parts = [prefix[key] for key in structure[1]] if is_dict else prefix
    found = []
    for part, inner in zip(parts, structure[-1], strict=True):
        found += spread(part, inner, what)
    return found


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array, a NumPy scalar or a tensor."""
    return isinstance(leaf, (np.ndarray, np.generic, torch.Tensor))


def is_real_float(leaf: Any) -> bool:
    """Whether a leaf is of real floats, so that it can be differentiated."""
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype.is_floating_point
    if is_array(leaf):
        return np.issubdtype(leaf.dtype, np.floating)
    return isinstance(leaf, float)


def text(leaf: Any) -> str:
    """Return what a leaf is, for messages."""
    if is_array(leaf):
        return f"{leaf.dtype} of shape {tuple(leaf.shape)}"
    return f"of type {type(leaf).__name__}"
