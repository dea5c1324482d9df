"""Conditions under which a captured function may be called again.

Dynamo says what a capture depends on: globals, closure cells, attributes,
defaults, helper functions. Here each of its guards becomes a condition that is
checked in plain Python, without Dynamo, and that can be kept on disk.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import tensor_state


class UnknownGuardError(Exception):
    """A guard that has no form here; Dynamo has to check it itself."""


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition on one object.

    Parameters
    ----------
    expression : str
        Python for the object. Parameters are ``a_NAME``, closure cells
        ``C['NAME']``, globals ``G['NAME']``, builtins ``B['NAME']``, modules
        ``M['NAME']``.
    kind : str
        One of the keys of `CHECKS`.
    expected : object
        What the check compares with.
    """

    expression: str
    kind: str
    expected: Any


@dataclasses.dataclass(frozen=True)
class Scope:
    """The function whose conditions are made or checked.

    Parameters
    ----------
    function : types.FunctionType
    parameters : tuple of str
        In the order of the signature.
    """

    function: types.FunctionType
    parameters: tuple[str, ...]

    def expression(self, text: str, imports: Mapping[str, str]) -> str:
        """Rewrite an expression of Dynamo over ``L`` and ``G`` for `names`."""
        cells = self.function.__code__.co_freevars

        def local(match: re.Match[str]) -> str:
            name = match[1]
            return f"C['{name}'].cell_contents" if name in cells else f"a_{name}"

        def global_(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("__builtins_dict__"):
                return "B"
            if name in imports:
                return f"M['{imports[name]}']"
            return match[0]

        text = re.sub(r"L\['(\w+)'\]", local, text)
        return re.sub(r"G\['(\w+)'\]", global_, text)

    def names(self) -> dict[str, Any]:
        """What the expressions refer to, besides the parameters."""
        cells = zip(
            self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True
        )
        return {
            "G": self.function.__globals__,
            "C": dict(cells),
            "B": builtins.__dict__,
            "M": sys.modules,
            "__builtins__": builtins.__dict__,
        }

    def evaluate(self, expression: str, arguments: Mapping[str, Any]) -> Any:
        """Return the object of an expression."""
        local = {f"a_{name}": value for name, value in arguments.items()}
        return eval(expression, {**self.names(), **local})


# What each check compares, as a Python expression: {x} is the object's
# expression, {c} the name of the expected value.
CHECKS = {
    "is": "{x} is {c}",
    "code": "getattr({x}, '__code__', None) is {c}",
    "equals": "same({x}, {c})",
    "type": "type({x}) is {c}",
    "length": "len({x}) == {c}",
    "keys": "list(dict.keys({x})) == {c}",
    "contains": "({c}[0] in {x}) is {c}[1]",
    "hasattr": "hasattr({x}, {c}[0]) is {c}[1]",
    "not_in_dict": "{c} not in {x}.__dict__",
    "not_none": "{x} is not None",
    "array": "array_like({x}, {c})",
    "alias": "{x} is {other}",
}

_IDENTITY = frozenset(
    {
        *("ID_MATCH", "MODULE_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "CLASS_MATCH"),
        *("NONE_MATCH", "BOOL_MATCH", "TRUE_MATCH", "FALSE_MATCH", "NAME_MATCH"),
    }
)
_SIMPLE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "CONSTANT_MATCH": ("equals", copy.deepcopy),  # A set may change in place.
    "EQUALS_MATCH": ("equals", copy.deepcopy),
    "TYPE_MATCH": ("type", type),
    "SEQUENCE_LENGTH": ("length", len),
    "LIST_LENGTH": ("length", len),
    "TUPLE_LENGTH": ("length", len),
    "DICT_KEYS": ("keys", lambda x: list(dict.keys(x))),
    "DICT_KEYS_MATCH": ("keys", lambda x: list(dict.keys(x))),
    "DICT_CONST_KEYS": ("keys", lambda x: list(dict.keys(x))),
    "NOT_NONE_MATCH": ("not_none", lambda x: None),
}


def same(value: Any, expected: Any) -> bool:
    """Whether two constants are the same: type, value, sign of zero, NaN."""
    if value is expected:
        return True
    if type(value) is not type(expected):
        return False
    if type(value) is float:
        if math.isnan(value) or math.isnan(expected):
            return math.isnan(value) and math.isnan(expected)
        return value == expected and math.copysign(1.0, value) == math.copysign(1.0, expected)
    if type(value) is complex:
        return same(value.real, expected.real) and same(value.imag, expected.imag)
    return bool(value == expected)


def array_token(value: Any) -> tuple[Any, ...]:
    """What a captured array's kind is made of: type, dtype, shape, strides."""
    if isinstance(value, torch.Tensor):
        layout = (tuple(value.shape), tuple(value.stride()), str(value.device))
        return ("tensor", str(value.dtype), *layout, *tensor_state(value))
    if isinstance(value, np.generic):
        return ("scalar", value.dtype.str, (), ())
    layout = (value.shape, value.strides, value.flags.writeable)
    return (type(value).__name__, value.dtype.str, *layout)


def array_like(value: Any, expected: tuple[Any, ...]) -> bool:
    """Whether a captured array is of the expected kind."""
    try:
        return array_token(value) == expected
    except AttributeError:
        return False


def make_conditions(
    records: Iterable[Any],
    scope: Scope,
    arguments: Mapping[str, Any],
    *,
    imports: Mapping[str, str],
    in_key: Callable[[str, str], bool],
) -> list[Condition]:
    """Turn a capture's guards into conditions.

    Parameters
    ----------
    records : iterable of GuardRecord
    scope : Scope
    arguments : mapping
        The values that the capture was made with.
    imports : mapping
        Module names by the aliases that Dynamo gave them.
    in_key : callable
        Says of an expression and a guard's kind whether the signature key
        holds it already.

    Raises
    ------
    UnknownGuardError
        If a guard has no form here.
    """
    conditions: dict[tuple[str, str], Condition] = {}
    for record in records:
        expression = scope.expression(record.expression, imports)
        try:
            value = scope.evaluate(expression, arguments)
        except Exception as error:
            raise UnknownGuardError(f"{record.kind} on {record.expression}: {error}") from error
        if in_key(expression, record.kind):
            continue
        condition = _condition(record, expression, value, scope, imports)
        conditions.setdefault((expression, condition.kind + repr(record.arguments)), condition)
    return list(conditions.values())


def method_conditions(
    records: Iterable[Any],
    traced: Sequence[types.CodeType],
    scope: Scope,
    arguments: Mapping[str, Any],
    imports: Mapping[str, str],
) -> list[Condition]:
    """Make conditions on the methods that were inlined; Dynamo has no guards on those.

    Parameters
    ----------
    records : iterable of GuardRecord
        Those on objects and classes tell where methods may have come from.
    traced : sequence of types.CodeType
        The inlined code.
    scope, arguments, imports
        As of `make_conditions`.
    """
    inlined = set(traced)
    found: dict[str, Condition] = {}
    for record in records:
        if record.kind not in ("TYPE_MATCH", "ID_MATCH", "CLASS_MATCH"):
            continue
        expression = scope.expression(record.expression, imports)
        value = scope.evaluate(expression, arguments)
        if isinstance(value, type):
            kind, owner = value, expression
        else:
            kind, owner = type(value), f"type({expression})"
        if kind.__flags__ & HEAP_TYPE:
            for condition in _methods_of(kind, owner, inlined):
                found[condition.expression + condition.kind] = condition
    return list(found.values())


#: Py_TPFLAGS_HEAPTYPE: a class made by Python code.
HEAP_TYPE = 1 << 9
#: Where members of a class that wrap a function have it.
FUNCTION_OF = {
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
    functools.cached_property: "func",
}


def _methods_of(kind: type, owner: str, inlined: set[types.CodeType]) -> Iterator[Condition]:
    """Yield conditions on a class's methods of which the code was inlined."""
    for i, base in enumerate(kind.__mro__):
        for name, member in list(vars(base).items()):
            attribute = FUNCTION_OF.get(type(member))
            function = getattr(member, attribute) if attribute else member
            code = getattr(function, "__code__", None)
            if not isinstance(code, types.CodeType) or code not in inlined:
                continue
            place = f"{owner}.__mro__[{i}].__dict__[{name!r}]"
            yield Condition(place + (f".{attribute}" if attribute else ""), "code", code)
            for j in range(i):
                yield Condition(f"{owner}.__mro__[{j}]", "not_in_dict", name)


def _condition(
    record: Any, expression: str, value: Any, scope: Scope, imports: Mapping[str, str]
) -> Condition:
    kind, arguments = record.kind, record.arguments
    if kind in _IDENTITY:
        return Condition(expression, "is", value)
    if kind == "CLOSURE_MATCH":
        if isinstance(value, types.FunctionType):
            return Condition(expression, "code", value.__code__)
        return Condition(expression, "is", value)
    if kind in _SIMPLE:
        name, expected = _SIMPLE[kind]
        if name == "equals" and isinstance(value, np.ndarray | torch.Tensor):
            raise UnknownGuardError(f"{kind} on an array at {record.expression}")
        return Condition(expression, name, expected(value))
    if kind == "TENSOR_MATCH" and isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return Condition(expression, "array", array_token(value))
    if kind == "DICT_CONTAINS" and len(arguments) == 2:  # In torch 2.11.
        return Condition(expression, "contains", (arguments[0], not arguments[1]))
    if kind in ("DICT_CONTAINS", "DICT_NOT_CONTAINS") and len(arguments) == 1:
        return Condition(expression, "contains", (arguments[0], kind == "DICT_CONTAINS"))
    if kind == "HASATTR" and len(arguments) == 1:
        return Condition(expression, "hasattr", (arguments[0], hasattr(value, arguments[0])))
    if kind == "NOT_PRESENT_IN_GENERIC_DICT" and len(arguments) == 1:
        return Condition(expression, "not_in_dict", arguments[0])
    if kind in ("DUPLICATE_INPUT", "OBJECT_ALIASING") and arguments:
        return Condition(expression, "alias", scope.expression(arguments[0], imports))
    raise UnknownGuardError(f"{kind} on {record.expression}")


def check_code(conditions: Sequence[Condition], prefix: str = "_c") -> tuple[str, dict[str, Any]]:
    """Return the conditions as one Python expression and the names it needs.

    Attributes of modules are looked up in the module's dict, which is twice as
    fast and sees a rebinding as well.
    """
    names: dict[str, Any] = {"same": same, "array_like": array_like}
    modules = {
        c.expression: c.expected
        for c in conditions
        if c.kind == "is" and isinstance(c.expected, types.ModuleType)
    }
    parts = []
    for i, condition in enumerate(_roots_first(conditions)):
        constant = f"{prefix}{i}"
        expression = condition.expression
        owner, _, attribute = expression.rpartition(".")
        if owner in modules and attribute.isidentifier():
            owned = f"{prefix}m{i}"
            names[owned] = modules[owner].__dict__
            expression = f"{owned}[{attribute!r}]"
        names[constant] = condition.expected
        template = CHECKS[condition.kind]
        parts.append(template.format(x=expression, c=constant, other=condition.expected))
    return " and ".join(parts) or "True", names


def _roots_first(conditions: Sequence[Condition]) -> list[Condition]:
    return sorted(conditions, key=lambda c: len(c.expression))


def failed(
    conditions: Sequence[Condition], scope: Scope, arguments: Mapping[str, Any]
) -> Condition | None:
    """Return the first condition that doesn't hold, for reports."""
    for condition in _roots_first(conditions):
        code, names = check_code([condition])
        local = {f"a_{name}": value for name, value in arguments.items()}
        try:
            holds = eval(code, {**scope.names(), **names, **local})
        except (AttributeError, KeyError, IndexError, TypeError):
            holds = False
        if not holds:
            return condition
    return None


def readable(expression: str) -> str:
    """An expression as the user would write it, for reports."""
    text = re.sub(r"a_(\w+)", r"\1", expression)
    text = re.sub(r"[GB]\['(\w+)'\]", r"\1", text)
    return re.sub(r"C\['(\w+)'\]\.cell_contents", r"\1", text)
