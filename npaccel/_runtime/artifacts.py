"""Compiled signatures on disk: what is kept, under which key, how it's loaded.

A group of the cache is one function in one environment; its entries are the
signatures it was compiled for. The key holds whatever can change the answer:
source, options, the versions of Python, torch, NumPy and npaccel, compiler,
processor. What the function captures is kept as guards (`guards`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import platform
import shutil
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._cache.entry import bound
from npaccel._cache.store import DiskCache, Entry, cache_key
from npaccel._process import logs
from npaccel._process.imports import load
from npaccel._runtime import guard_serialization, guards, outputs
from npaccel._runtime.arguments import FunctionKey
from npaccel._runtime.error_translation import UncompiledForMemoryError, before_a_call
from npaccel._runtime.foreign_table import Form
from npaccel._runtime.guard_serialization import UncacheableError
from npaccel._runtime.guards import Guard, Scope
from npaccel._runtime.host_rng import Draws, Line
from npaccel._runtime.options import Options
from npaccel._runtime.plan import InputPlan, Plan
from npaccel._runtime.runner import Compiled
from npaccel._runtime.torch.loader import Code, NotPortableError, load_module
from npaccel._version import __version__
from npaccel.errors import CacheError

if TYPE_CHECKING:
    from npaccel._report.details import Collective, Details, LineCode, Narrowed

_CODE = "code.py"
#: Errors of reading metadata that another program, or another version, wrote.
_MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def group_key(scope: Scope, options: Options) -> str:
    """Return the cache's key of a function under options, in this environment."""
    return cache_key(*function_texts(scope, options), *environment())


def function_texts(scope: Scope, options: Options) -> tuple[str, ...]:
    """Return what names a function under options, in the cache."""
    function = scope.function
    relevant = dataclasses.replace(options, strict=False, cache=True, verify=False, compile="now")
    return (
        function.__module__ or "",
        function.__qualname__,
        guard_serialization.code_digest(function.__code__),
        repr(dataclasses.astuple(relevant)),
    )


@functools.cache
def environment() -> tuple[str, ...]:
    """Properties of the machine and its software that compiled graphs depend on."""
    return (
        *common_environment(),
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),
        str(torch.get_num_threads()),
        _compiler(),
    )


@functools.cache
def common_environment() -> tuple[str, ...]:
    """Properties that all compiled code depends on, whoever compiles it."""
    return (
        __version__,
        _own_sources(),
        sys.implementation.cache_tag or platform.python_version(),
        np.__version__,
        platform.machine(),
        _processor(),
    )


def _own_sources() -> str:
    """Hash the sizes and times of npaccel's files: a version may change while it's worked on."""
    root = os.fspath(Path(__file__).parents[1])
    found, folders = [], [root]
    while folders:  # Each process does it that finds its code on disk: a sixth of `Path.rglob`.
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".h")):
                    stat = entry.stat()
                    found.append((entry.path[len(root) :], stat.st_size, stat.st_mtime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return cache_key(*map(repr, sorted(found)))


def _processor() -> str:
    """Hash the processor's model and flags, which the compiler optimises for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    kept = sorted({line for line in lines if line.startswith(wanted)})
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


def _compiler() -> str:
    """Name the compiler's program, its size and its time, without running it."""
    program = shutil.which(os.environ.get("CXX") or "g++") or shutil.which("clang++")
    if program is None:
        return ""
    real = Path(program).resolve()
    state = real.stat()
    return f"{real}:{state.st_size}:{state.st_mtime_ns}"


def key_text(key: Any) -> str:
    """Return a signature key as text that is the same in every process.

    Raises
    ------
    UncacheableError
        If the key holds something that only this process knows.
    """
    if isinstance(key, tuple):
        return "(" + ",".join(map(key_text, key)) + ")"
    if isinstance(key, np.dtype):
        return f"dtype {key.str}"
    if isinstance(key, torch.Size):
        return key_text(tuple(key))
    if isinstance(key, torch.dtype | torch.device):
        return str(key)
    if isinstance(key, type):
        return f"type {key.__module__}.{key.__qualname__}"
    if key is None or isinstance(key, bool | int | float | complex | str | bytes):
        return repr(key)
    kind = "function" if isinstance(key, FunctionKey) else type(key).__qualname__
    raise UncacheableError(f"an argument of type {kind}")


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A signature found on disk and valid here.

    Parameters
    ----------
    plan : Plan
    guards : list of Guard
    code : Code
    entry : Entry
    source : str
        The generated code.
    details : Details
    more : object
        What else was stored with it.
    """

    plan: Plan
    guards: list[Guard]
    code: Code
    entry: Entry
    source: str
    details: Details
    more: Any


def store(
    cache: DiskCache,
    group: str,
    key: str,
    compiled: Compiled,
    source: str,
    details: Any,
    more: Any = None,
) -> Entry | None:
    """Keep a compiled signature.

    Parameters
    ----------
    cache : DiskCache
    group : str
        As `group_key` returns it.
    key : str
        The signature key, or that of dtypes and ranks, as text.
    compiled : Compiled
    source : str
        Its code, for processes without the compiler.
    details : list
        As `encode_details` returns them.
    more : object
        What else goes with it, as JSON.

    Raises
    ------
    UncacheableError
        If another process couldn't use it.
    """
    encoded = [guard_serialization.encode(guard) for guard in compiled.guards]
    metadata = {
        "key": key,
        "plan": _encode_plan(compiled.plan),
        "guards": encoded,
        "files": compiled.files,
        "kernels": len(compiled.kernels),
        "details": details,
        "more": more,
    }
    code = source.encode()
    payload: dict[str, bytes | os.PathLike[str]] = {_CODE: code}
    payload |= {f"kernel{i}.so": path for i, path in enumerate(compiled.kernels)}
    variant = cache_key(key, repr(encoded), compiled.plan.shape_guard or "", repr(compiled.files))
    for entry in cache.load_group(group) if compiled.files else ():
        if _is_outdated(entry.metadata, metadata):
            cache.remove(entry.key, group=group)
    return cache.store(variant, payload, bound(metadata, code), group=group)


def _is_outdated(kept: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether an entry is of the same signature, for what the same files held before."""
    same = all(kept.get(name) == metadata[name] for name in ("key", "guards"))
    if not same or kept.get("files") == metadata["files"]:
        return False
    paths = [[path for path, *_ in of["files"]] for of in (kept, metadata)]
    return paths[0] == paths[1]


def find(
    entries: Sequence[Entry], key: str, scope: Scope, arguments: Mapping[str, Any]
) -> Iterator[Artifact]:
    """Load the kept signatures whose guards hold for a call, one after the other.

    Parameters
    ----------
    entries : sequence of Entry
        A group of the cache.
    key : str
        The call's key as text.
    scope : Scope
    arguments : mapping
    """
    for entry in entries:
        if not entry.binds(_CODE):
            entry.drop("its metadata isn't what was written for its code")
            continue
        try:
            decoded = _decode(entry.metadata, key, scope, arguments)
            details = decode_details(entry.metadata["details"], scope.function.__code__)
        except _MALFORMED as error:
            entry.drop(f"npaccel can't read its metadata ({type(error).__name__}: {error})")
            continue
        if decoded is None or guards.failed(decoded[1], scope, arguments) is not None:
            continue
        loaded = _load(entry)
        if loaded is not None:
            logs.cache.debug("%s: hit: %s", scope.function.__qualname__, entry.folder)
            more = entry.metadata["more"]
            yield Artifact(*decoded, loaded[0], entry, loaded[1], details=details, more=more)
    logs.cache.debug("%s: no entry for %s", scope.function.__qualname__, key)


def _decode(
    metadata: Mapping[str, Any], key: str, scope: Scope, arguments: Mapping[str, Any]
) -> tuple[Plan, list[Guard]] | None:
    """Read an entry's metadata; None if it's of another call."""
    if metadata["key"] != key:
        return None
    if not guard_serialization.files_unchanged(metadata["files"]):
        logs.cache.debug("%s: files of an entry have changed", scope.function.__qualname__)
        return None
    plan = _decode_plan(metadata["plan"])
    guards = _decode_guards(metadata["guards"], scope, arguments)
    return None if guards is None else (plan, guards)


def _load(entry: Entry) -> tuple[Code, str] | None:
    """Load an entry's code; one that can't be loaded is dropped with a warning."""
    try:
        with before_a_call():
            if not entry.verify():
                return None
            source = entry.read(_CODE).decode()
            paths = [entry.path(f"kernel{i}.so") for i in range(entry.metadata["kernels"])]
            return load_module(source, paths), source
    except CacheError:  # Another process has removed it.
        return None
    except (OSError, UncompiledForMemoryError):  # Too many open files, a failing disk.
        raise  # That isn't the entry's fault.
    except Exception as error:  # noqa: BLE001 -- code that isn't ours may raise anything
        entry.drop(f"it can't be loaded ({type(error).__name__}: {error})")
        return None


def _decode_guards(
    items: Sequence[Any], scope: Scope, arguments: Mapping[str, Any]
) -> list[Guard] | None:
    guards = []
    for item in items:
        guard = guard_serialization.decode(item, scope, arguments)
        if guard is None:
            logs.guards.debug("%s: fails: %s", scope.function.__qualname__, item)
            return None
        guards.append(guard)
    return guards


def encode_details(details: Details, code: types.CodeType) -> list[Any]:
    """Return details as JSON; lines of the function itself are counted from its first."""

    def place(item: LineCode | Narrowed | Collective) -> tuple[str, int]:
        is_own = item.file == code.co_filename
        return ("", item.line - code.co_firstlineno) if is_own else (item.file, item.line)

    return [
        [[*place(one), *one.code] for one in details.lines],
        [[*place(one), one.wide, one.narrow] for one in details.narrowed],
        [details.to_device, details.to_host],
        [
            [*place(one), one.kind, one.nbytes, one.operation, one.text, one.is_gather]
            for one in details.collectives
        ],
    ]


def decode_details(item: Any, code: types.CodeType) -> Details:
    """Read details that `encode_details` made."""
    load("npaccel._report.details")
    from npaccel._report.details import Collective, Details, LineCode, Narrowed

    def place(file: str, line: int) -> tuple[str, int]:
        return (file, line) if file else (code.co_filename, code.co_firstlineno + line)

    def collective(one: Any) -> Collective:
        kind, nbytes, operation, text, is_gather = one[2:]
        return Collective(kind, nbytes, operation, *place(*one[:2]), text, is_gather)

    lines, narrowed, copied, collectives = item
    return Details(
        tuple(LineCode(*place(*one[:2]), tuple(one[2:])) for one in lines),
        tuple(Narrowed(*place(*one[:2]), *one[2:]) for one in narrowed),
        to_device=copied[0],
        to_host=copied[1],
        collectives=tuple(map(collective, collectives)),
    )


def _encode_plan(plan: Plan) -> dict[str, Any]:
    return {
        "inputs": [list(dataclasses.astuple(item)) for item in plan.inputs],
        "result": _encode_template(plan.result),
        "written": list(plan.written),
        "read_only": sorted(plan.read_only),
        "tensors": plan.tensors,
        "device": plan.device,
        "shape_guard": plan.shape_guard,
        "is_dynamic": plan.is_dynamic,
        "boxed": plan.boxed,
        "shared": list(plan.shared),
        "draws": dataclasses.asdict(plan.draws),
        "returned": [list(pair) for pair in plan.returned],
        "has_wide_data": plan.has_wide_data,
        "undoes": plan.undoes,
        "leaves": plan.leaves,
        "mapped": [list(pair) for pair in plan.mapped],
        "object_writes": [list(write) for write in plan.object_writes],
    }


def _decode_plan(item: Mapping[str, Any]) -> Plan:
    return Plan(
        inputs=tuple(InputPlan(*part) for part in item["inputs"]),
        result=_decode_template(item["result"]),
        written=tuple(item["written"]),
        read_only=frozenset(item["read_only"]),
        tensors=item["tensors"],
        device=item["device"],
        shape_guard=item["shape_guard"],
        is_dynamic=bool(item["is_dynamic"]),
        boxed=item["boxed"],
        shared=tuple(item["shared"]),
        draws=_decode_draws(item["draws"]),
        returned=tuple((i, j) for i, j in item["returned"]),
        has_wide_data=bool(item["has_wide_data"]),
        undoes=item["undoes"],
        leaves=bool(item["leaves"]),
        mapped=tuple((i, j) for i, j in item["mapped"]),
        object_writes=tuple((owner, kind, key) for owner, kind, key in item["object_writes"]),
    )


def _decode_draws(item: Mapping[str, Any]) -> Draws:
    lines = tuple(Line(**line) for line in item["lines"])
    return Draws(lines, tuple(item["owners"]), item["may_fail"])


def _encode_template(part: outputs.Template) -> list[Any]:
    if isinstance(part, outputs.Output):
        return ["output", part.index, part.is_scalar, part.kind]
    if isinstance(part, outputs.View):
        return ["view", _encode_template(part.base), part.source]
    if isinstance(part, outputs.Argument):
        return ["argument", part.expression]
    if isinstance(part, outputs.Constant):
        return ["constant", guard_serialization.encode_value(part.value)]
    if isinstance(part, outputs.Built):
        items = [_encode_template(item) for item in part.items]
        return ["built", *dataclasses.astuple(part.form), items]
    kinds = {tuple: "tuple", list: "list", dict: "dict"}
    if part.kind not in kinds:
        raise UncacheableError(f"a result of type {part.kind.__qualname__}")
    names = [guard_serialization.encode_value(name) for name in part.names]
    return [kinds[part.kind], names, [_encode_template(item) for item in part.items]]


def _decode_template(item: Sequence[Any]) -> outputs.Template:
    if item[0] == "output":
        return outputs.Output(*item[1:])
    if item[0] == "view":
        return outputs.View(_decode_template(item[1]), item[2])  # type: ignore[arg-type]
    if item[0] == "argument":
        return outputs.Argument(item[1])
    if item[0] == "constant":
        return outputs.Constant(guard_serialization.decode_value(item[1]))
    if item[0] == "built":
        kind, count, keywords, added, items = item[1:]
        form = Form(kind, count, tuple(keywords), tuple(added))
        form.find()
        return outputs.Built(form, tuple(map(_decode_template, items)))
    kind = {"tuple": tuple, "list": list, "dict": dict}[item[0]]
    names = tuple(guard_serialization.decode_value(name) for name in item[1])
    return outputs.Container(kind, names, tuple(_decode_template(part) for part in item[2]))


__all__ = ["Artifact", "NotPortableError", "UncacheableError", "find", "group_key", "store"]
