"""Guards: what has to hold for a captured function to be called again.

Dynamo says what a capture depends on: globals, closure cells, attributes,
defaults, helper functions. Each of its guards becomes one of npaccel's, which is checked in plain
Python, without Dynamo, and can be stored on disk.
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

from npaccel._process import logs
from npaccel._runtime.arguments import tensor_state
from npaccel._runtime.callables import shared_class


class UnknownGuardError(Exception):
    """A guard of Dynamo's that has no equivalent here; Dynamo has to check it itself."""


@dataclasses.dataclass(frozen=True)
class Guard:
    """A check of one object.

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
    """The function whose guards are made or checked.

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
        """Names that the expressions refer to, besides the parameters."""
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
    "sizes": "of_sizes({x}, {c})",
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
    """Kind of a captured array: type, dtype, shape, strides."""
    if isinstance(value, torch.Tensor):
        layout = (tuple(value.shape), tuple(value.stride()), str(value.device))
        return ("tensor", str(value.dtype), *layout, *tensor_state(value))
    if isinstance(value, np.generic):
        return ("scalar", value.dtype.str, (), ())
    layout = (value.shape, value.strides, value.flags.writeable)
    return (type(value).__name__, value.dtype.str, *layout)


def array_like(value: Any, expected: tuple[Any, ...]) -> bool:
    """Whether a captured array is of the expected kind."""
    if type(value) is np.ndarray:  # In half of the time: dicts and objects hold many.
        layout = value.shape, value.strides, value.flags.writeable
        return ("ndarray", value.dtype.str, *layout) == expected
    try:
        return array_token(value) == expected
    except AttributeError:
        return False


def layout_of(value: Any, sizes: tuple[int | None, ...]) -> tuple[Any, ...]:
    """Return what `of_sizes` takes for an array some of whose sizes are fixed."""
    return sizes, None if None in sizes else _strides(value)


def of_sizes(value: Any, expected: tuple[Any, ...]) -> bool:
    """Whether an array has sizes, None for any, and strides, None for any."""
    sizes, strides = expected
    if len(value.shape) != len(sizes) or (strides is not None and _strides(value) != strides):
        return False
    return all(size in (None, own) for size, own in zip(sizes, value.shape, strict=True))


def _strides(value: Any) -> tuple[int, ...]:
    return tuple(value.stride() if isinstance(value, torch.Tensor) else value.strides)


#: Modules that a cache entry's key names, by versions or by files' times, and nothing rebinds.
_OWN_MODULE = re.compile(r"M\['(npaccel\.[\w.]+|torch\._dynamo\.polyfills[\w.]*)'\]")


def _beyond_own_modules(expression: str) -> str:
    """Begin an expression at the module that has the object, not at one of npaccel's own.

    NumPy as `numpy` is what users may change; by which of npaccel's modules it was found is not.
    """
    found = _OWN_MODULE.match(expression)
    while found is not None:
        attribute = re.compile(r"\.(\w+)").match(expression, found.end())
        if attribute is None:
            return expression
        value = getattr(sys.modules[found[1]], attribute[1], None)
        if not isinstance(value, types.ModuleType):
            return expression
        if sys.modules.get(value.__name__) is not value:  # Dynamo's own copy of a module.
            return expression
        expression = f"M['{value.__name__}']{expression[attribute.end() :]}"
        found = _OWN_MODULE.match(expression)
    return expression


def make_guards(
    records: Iterable[Any],
    scope: Scope,
    arguments: Mapping[str, Any],
    *,
    imports: Mapping[str, str],
    in_key: Callable[[str, str], bool],
) -> list[Guard]:
    """Turn Dynamo's guards of a capture into npaccel's.

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
        If a guard has no equivalent here.
    """
    guards: dict[tuple[str, str], Guard] = {}
    for record in records:
        expression = scope.expression(record.expression, imports)
        try:
            value = scope.evaluate(expression, arguments)
        except Exception as error:
            raise UnknownGuardError(f"{record.kind} on {record.expression}: {error}") from error
        if in_key(expression, record.kind):
            continue
        expression = _beyond_own_modules(expression)
        if _OWN_MODULE.match(expression):
            continue
        guard = _guard(record, expression, value, scope, imports)
        if guard.kind == "alias" and guard.expected == expression:
            continue
        guards.setdefault((expression, guard.kind + repr(record.arguments)), guard)
    return list(guards.values())


def method_guards(
    records: Iterable[Any],
    traced: Sequence[types.CodeType],
    scope: Scope,
    arguments: Mapping[str, Any],
    imports: Mapping[str, str],
) -> list[Guard]:
    """Make guards on the methods that were inlined; Dynamo makes none.

    Parameters
    ----------
    records : iterable of GuardRecord
        Those on objects and classes tell where methods may have come from.
    traced : sequence of types.CodeType
        The inlined code.
    scope, arguments, imports
        As of `make_guards`.
    """
    inlined = set(traced)
    found: dict[str, Guard] = {}
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
            for guard in _methods_of(kind, owner, inlined):
                found[guard.expression + guard.kind] = guard
    return list(found.values())


#: Py_TPFLAGS_HEAPTYPE: a class made by Python code.
HEAP_TYPE = 1 << 9
#: Attributes in which members of a class that wrap a function have it.
FUNCTION_OF = {
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
    functools.cached_property: "func",
}


def _methods_of(kind: type, owner: str, inlined: set[types.CodeType]) -> Iterator[Guard]:
    """Yield guards on a class's methods of which the code was inlined."""
    kind = shared_class(kind)  # One object's own has the same names.
    for i, base in enumerate(kind.__mro__):
        for name, member in list(vars(base).items()):
            attribute = FUNCTION_OF.get(type(member))
            function = getattr(member, attribute) if attribute else member
            code = getattr(function, "__code__", None)
            if not isinstance(code, types.CodeType) or code not in inlined:
                continue
            place = f"{owner}.__mro__[{i}].__dict__[{name!r}]"
            yield Guard(place + (f".{attribute}" if attribute else ""), "code", code)
            for j, earlier in enumerate(kind.__mro__[:i]):
                if name not in vars(earlier):  # `super()` looks beyond one that has it.
                    yield Guard(f"{owner}.__mro__[{j}]", "not_in_dict", name)


def _guard(
    record: Any, expression: str, value: Any, scope: Scope, imports: Mapping[str, str]
) -> Guard:
    kind, arguments = record.kind, record.arguments
    if kind in _IDENTITY:
        return Guard(expression, "is", value)
    if kind == "CLOSURE_MATCH":
        if isinstance(value, types.FunctionType):
            return Guard(expression, "code", value.__code__)
        return Guard(expression, "is", value)
    if kind in _SIMPLE:
        name, expected = _SIMPLE[kind]
        if name == "equals" and isinstance(value, np.ndarray | torch.Tensor):
            raise UnknownGuardError(f"{kind} on an array at {record.expression}")
        return Guard(expression, name, expected(value))
    if kind == "TENSOR_MATCH" and isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return Guard(expression, "array", array_token(value))
    if kind == "DICT_CONTAINS" and len(arguments) == 2:  # In torch 2.11.
        return Guard(expression, "contains", (arguments[0], not arguments[1]))
    if kind in ("DICT_CONTAINS", "DICT_NOT_CONTAINS") and len(arguments) == 1:
        return Guard(expression, "contains", (arguments[0], kind == "DICT_CONTAINS"))
    if kind == "HASATTR" and len(arguments) == 1:
        return Guard(expression, "hasattr", (arguments[0], hasattr(value, arguments[0])))
    if kind == "NOT_PRESENT_IN_GENERIC_DICT" and len(arguments) == 1:
        return Guard(expression, "not_in_dict", arguments[0])
    if kind in ("DUPLICATE_INPUT", "OBJECT_ALIASING") and arguments:
        return Guard(
            expression, "alias", _beyond_own_modules(scope.expression(arguments[0], imports))
        )
    raise UnknownGuardError(f"{kind} on {record.expression}")


def check_code(guards: Sequence[Guard], prefix: str = "_c") -> tuple[str, dict[str, Any]]:
    """Return the guards as one Python expression and the names it needs.

    Attributes of modules are looked up in the module's dict, which is twice as
    fast and sees a rebinding as well.
    """
    names: dict[str, Any] = {"same": same, "array_like": array_like, "of_sizes": of_sizes}
    modules = {
        c.expression: c.expected
        for c in guards
        if c.kind == "is" and isinstance(c.expected, types.ModuleType)
    }
    parts = []
    for i, guard in enumerate(_roots_first(guards)):
        constant = f"{prefix}{i}"
        expression = guard.expression
        owner, _, attribute = expression.rpartition(".")
        if owner in modules and attribute.isidentifier():
            owned = f"{prefix}m{i}"
            names[owned] = modules[owner].__dict__
            expression = f"{owned}[{attribute!r}]"
        names[constant] = guard.expected
        template = CHECKS[guard.kind]
        parts.append(template.format(x=expression, c=constant, other=guard.expected))
    return " and ".join(parts) or "True", names


def _roots_first(guards: Sequence[Guard]) -> list[Guard]:
    return sorted(guards, key=lambda c: len(c.expression))


def failed(guards: Sequence[Guard], scope: Scope, arguments: Mapping[str, Any]) -> Guard | None:
    """Return the first guard that doesn't hold, for reports."""
    for guard in _roots_first(guards):
        code, names = check_code([guard])
        local = {f"a_{name}": value for name, value in arguments.items()}
        try:
            holds = eval(code, {**scope.names(), **names, **local})
        except (AttributeError, KeyError, IndexError, TypeError):
            holds = False
        if not holds:
            what = readable(guard.expression), guard.kind, guard.expected
            logs.guards.debug("%s: fails: %s %s %.200r", scope.function.__qualname__, *what)
            return guard
    return None


def begins_with(expression: str, others: Sequence[str]) -> bool:
    """Whether an expression is one of others, or of a part of what they stand for."""
    return any(re.match(rf"{re.escape(other)}(?!\w)", expression) for other in others)


def readable(expression: str) -> str:
    """An expression as the user would write it, for reports."""
    text = re.sub(r"a_(\w+)", r"\1", expression)
    text = re.sub(r"[GB]\['(\w+)'\]", r"\1", text)
    return re.sub(r"C\['(\w+)'\]\.cell_contents", r"\1", text)
