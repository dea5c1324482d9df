"""Guards as JSON, tied to the objects of the process that reads them."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npaccel._runtime.guards import CHECKS, Guard, Scope

#: A guard as JSON.
Json = dict[str, Any]


class UncacheableError(Exception):
    """A guard that only this process can check."""


def code_digest(code: types.CodeType) -> str:
    """Hash what a code object does, not where it stands."""
    digest = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, types.CodeType):
            fields = (
                *(part.co_code, part.co_names, part.co_varnames, part.co_freevars),
                *(part.co_cellvars, part.co_argcount, part.co_kwonlyargcount, part.co_flags),
                *(part.co_posonlyargcount, part.co_name, getattr(part, "co_exceptiontable", b"")),
            )
            digest.update(repr(fields).encode())
            for constant in part.co_consts:
                add(constant)
        elif isinstance(part, frozenset):
            digest.update(f"frozenset{sorted(map(repr, part))};".encode())
        else:
            digest.update(f"{type(part).__name__}:{part!r};".encode())

    add(code)
    return digest.hexdigest()


def encode(guard: Guard) -> Json:
    """Return a guard as JSON.

    Raises
    ------
    UncacheableError
        If another process couldn't check it.
    """
    if guard.kind == "code":
        expected: Any = code_digest(guard.expected)
    elif guard.kind in ("is", "type"):
        expected = _encode_object(guard.expected)
    else:
        expected = encode_value(guard.expected)
    return {"x": guard.expression, "kind": guard.kind, "expected": expected}


def decode(item: Json, scope: Scope, arguments: Mapping[str, Any]) -> Guard | None:
    """Return a kept guard, tied to this process's objects.

    Returns
    -------
    Guard or None
        None where it doesn't hold here.

    Raises
    ------
    AttributeError, IndexError, KeyError, TypeError, ValueError
        If it isn't one that `encode` made.
    """
    expression, kind = item["x"], item["kind"]
    if kind not in CHECKS:
        raise ValueError(f"there is no guard of the kind {kind!r}")
    if kind == "code":
        try:
            value = scope.evaluate(expression, arguments)
        except (AttributeError, KeyError, IndexError, TypeError, NameError):
            return None
        code = getattr(value, "__code__", None)
        if code is None or code_digest(code) != item["expected"]:
            return None
        return Guard(expression, kind, code)
    if kind in ("is", "type"):
        return _decode_identity(expression, kind, item["expected"])
    return Guard(expression, kind, decode_value(item["expected"]))


def _decode_identity(expression: str, kind: str, expected: Any) -> Guard | None:
    try:
        return Guard(expression, kind, _decode_object(expected))
    except (ImportError, AttributeError, KeyError):
        return None


#: Modules whose objects (ufuncs, distributions) have no module, and one name for good.
_LIBRARIES = re.compile(r"numpy|scipy\.[a-z]+")


def _encode_object(obj: Any) -> Any:
    if obj is None or isinstance(obj, bool):
        return ["value", obj]
    if isinstance(obj, types.ModuleType):
        if sys.modules.get(obj.__name__) is not obj:
            raise UncacheableError(f"module {obj.__name__!r} isn't the imported one")
        return ["module", obj.__name__]
    if isinstance(obj, types.FunctionType):
        raise UncacheableError(f"function {obj.__qualname__!r} is held by identity")
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    reference = ["object", "builtins" if module is None else module, name]
    with contextlib.suppress(ImportError, AttributeError, KeyError, TypeError):
        if name is not None and _decode_object(reference) is obj:
            return reference
    modules: list[str] = []
    if isinstance(obj, np.ufunc) or type(obj).__module__.startswith("scipy."):
        modules = list(filter(_LIBRARIES.fullmatch, list(sys.modules)))
    elif isinstance(obj, type) and module == "builtins":
        modules = ["types"]  # `types.MethodType` says that it's `builtins.method`.
    for one in modules:
        for name, member in list(vars(sys.modules[one]).items()):
            if member is obj:
                return ["object", one, name]
    raise UncacheableError(f"{obj!r} can't be found again by a name")


def _decode_object(reference: Sequence[Any]) -> Any:
    if reference[0] == "value":
        return reference[1]
    if reference[0] == "module":
        return sys.modules[reference[1]]
    module = sys.modules.get(reference[1]) or importlib.import_module(reference[1])
    found: Any = module
    for part in reference[2].split("."):
        found = getattr(found, part)
    return found


def encode_value(value: Any) -> Any:
    """Return a constant as JSON; the inverse of `decode_value`.

    Raises
    ------
    UncacheableError
        If it isn't a plain constant.
    """
    if value is None or type(value) in (bool, int, str):
        return ["v", value]
    if type(value) is float:
        return ["f", value.hex()]
    if type(value) is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if type(value) is bytes:
        return ["b", value.hex()]
    if type(value) in (tuple, list):
        return ["t" if type(value) is tuple else "l", [encode_value(item) for item in value]]
    if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
        return ["d", value.str]
    raise UncacheableError(f"a constant of type {type(value).__qualname__}")


def decode_value(item: Sequence[Any]) -> Any:
    """Return the constant that `encode_value` encoded."""
    kind = item[0]
    if kind == "v":
        return item[1]
    if kind == "f":
        return float.fromhex(item[1])
    if kind == "c":
        return complex(float.fromhex(item[1]), float.fromhex(item[2]))
    if kind == "b":
        return bytes.fromhex(item[1])
    if kind == "d":
        return np.dtype(item[1])
    parts = [decode_value(part) for part in item[1]]
    return tuple(parts) if kind == "t" else parts


def uncovered_files(
    traced: Sequence[types.CodeType], root: types.CodeType, guards: Sequence[Guard]
) -> list[list[Any]]:
    """Return the files of inlined code that no guard covers: path, size, time.

    Raises
    ------
    UncacheableError
        If such code has no file.
    """
    outermost = [root, *(c.expected for c in guards if c.kind == "code")]
    covered = {code for outer in outermost for code in _with_inner(outer)}
    files = {}
    for code in traced:
        path = code.co_filename
        if code in covered or path in files or "/torch/" in path:
            continue
        try:
            state = Path(path).stat()
        except OSError as error:
            raise UncacheableError(f"the code of {code.co_name!r} has no file") from error
        files[path] = [path, state.st_size, state.st_mtime_ns]
    return list(files.values())


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code, and that of the functions, lambdas and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)


def files_unchanged(files: Iterable[Sequence[Any]]) -> bool:
    """Whether files are as `uncovered_files` found them."""
    for path, size, time in files:
        try:
            state = Path(path).stat()
        except OSError:
            return False
        if (state.st_size, state.st_mtime_ns) != (size, time):
            return False
    return True
