"""Values that a nest reads besides its parameters: global arrays, attributes of objects.

They become parameters of the compiled code, fetched again for every call.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from npaccel._syntax import dataflow


@dataclasses.dataclass(frozen=True)
class Path:
    """Origin of a value: a name, and attributes of what it means."""

    root: str
    attributes: tuple[str, ...]
    is_parameter: bool

    def fetch(self, values: Mapping[str, Any], namespace: Mapping[str, Any]) -> Any:
        """Return the value as it is now."""
        found = (values if self.is_parameter else namespace)[self.root]
        for attribute in self.attributes:
            found = getattr(found, attribute)
        return found


def with_captured(
    nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
) -> tuple[ast.FunctionDef, dict[str, Path]]:
    """Return a nest that reads names only, and where the new ones come from.

    Parameters
    ----------
    nest : ast.FunctionDef
    values : mapping
        Of its parameters.
    namespace : mapping
        Of other names.

    Returns
    -------
    nest : ast.FunctionDef
        A copy, with attributes of objects as names that no user can write.
    paths : dict
    """
    visitor = _Visitor(nest, values, namespace)
    changed = visitor.visit(copy.deepcopy(nest))
    return changed, visitor.paths


class _Visitor(ast.NodeTransformer):
    def __init__(
        self, nest: ast.FunctionDef, values: Mapping[str, Any], namespace: Mapping[str, Any]
    ) -> None:
        self.values = values
        self.namespace = namespace
        self.paths: dict[str, Path] = {}
        self.stored = set(dataflow.stores([nest]))
        self.written = {
            node.attr
            for node in ast.walk(nest)
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Note a global array or random generator."""
        if node.id not in self.values and node.id not in self.stored:
            found = self.namespace.get(node.id)
            if type(found) in (np.ndarray, np.random.Generator):
                self.paths[node.id] = Path(node.id, (), is_parameter=False)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace an attribute of an object that holds a number, an array or a tuple."""
        path = self._path(node)
        if path is None or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)  # type: ignore[return-value]
        name = f"0{path.root}" + "".join(f"_{attribute}" for attribute in path.attributes)
        name += f"_{len(self.paths)}" if self.paths.get(name, path) != path else ""
        self.paths[name] = path
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _path(self, node: ast.Attribute) -> Path | None:
        attributes: list[str] = []
        owner: ast.expr = node
        while isinstance(owner, ast.Attribute):
            attributes.insert(0, owner.attr)
            owner = owner.value
        if not isinstance(owner, ast.Name) or owner.id in self.stored:
            return None
        is_parameter = owner.id in self.values
        found = (self.values if is_parameter else self.namespace).get(owner.id)
        for attribute in attributes:
            if attribute in self.written or not _is_plain(found, attribute):
                return None
            found = vars(found)[attribute]
        numbers = np.ndarray | np.generic | int | float | complex
        if not isinstance(found, numbers | tuple | np.random.Generator):
            return None
        return Path(owner.id, tuple(attributes), is_parameter)


def _is_plain(owner: Any, attribute: str) -> bool:
    """Whether reading an attribute only looks into an object's own dictionary."""
    if isinstance(owner, types.ModuleType | type | np.ndarray | np.generic):
        return False
    kind = type(owner)
    if inspect.getattr_static(kind, "__getattribute__") is not object.__getattribute__:
        return False
    inherited = getattr(kind, attribute, None)
    is_data = hasattr(type(inherited), "__set__") or hasattr(type(inherited), "__delete__")
    return attribute in getattr(owner, "__dict__", ()) and not is_data
