"""Make compiled functions of the tasks that Dask has fused for a block.

A fused task is a small graph of calls. Those that call NumPy's functions are written down as one
Python function, the source of a `BlockFunction`; between others, which Dask goes on calling, there
may be several of them. This module reads Dask's tasks, as `dask._task_spec` has them since 2024.12.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from dask._task_spec import (
    Alias,
    DataNode,
    GraphNode,
    List,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
)
from dask.array import chunk as dask_chunk
from dask.array import core as dask_core
from dask.array import reductions as dask_reductions
from dask.utils import funcname

from npaccel._dask.block_function import NAME, BlockFunction
from npaccel._runtime.callables import is_jitted

#: Translations of calls: Python source, given that of the arguments.
Form = Callable[[Sequence[str], Mapping[str, str]], str]


class NotTranslatedError(Exception):
    """A call that can't be part of a compiled function."""


@dataclasses.dataclass(frozen=True)
class Translation:
    """A task with compiled functions in it.

    Parameters
    ----------
    task : Task
    functions : list of BlockFunction
    left : list of str
        What Dask goes on calling, but for what computes nothing.
    """

    task: Any
    functions: list[BlockFunction]
    left: list[str]


# -- Functions as source ----------------------------------------------------------

_OPERATORS = {
    getattr(operator, name): sign
    for name, sign in (
        *(("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//")),
        *(("mod", "%"), ("pow", "**"), ("matmul", "@"), ("lshift", "<<"), ("rshift", ">>")),
        *(("and_", "&"), ("or_", "|"), ("xor", "^"), ("eq", "=="), ("ne", "!=")),
        *(("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")),
    )
}
_SIGNS = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
_BLOCKS = {
    dask_reductions.chunk_min: "reductions.chunk_min",
    dask_reductions.chunk_max: "reductions.chunk_max",
    dask_reductions._sqrt: "reductions.sqrt",
    dask_reductions._nanmin_skip: "reductions.nanmin_chunk",
    dask_reductions._nanmax_skip: "reductions.nanmax_chunk",
    abs: "abs",
}
#: Functions with others as parameters, and by those what stands for them.
_NANS = {"sum": dask_chunk.nansum, "numel": dask_reductions.nannumel}
_WITH_SUMS = {
    dask_reductions.mean_chunk: ("reductions.mean_chunk", "reductions.nanmean_chunk"),
    dask_reductions.moment_chunk: ("reductions.moment_chunk", "reductions.nanmoment_chunk"),
}
#: Functions of NumPy's that draw, print, read files, call back, or whose results' shapes depend on
#: values, which a compiled function gains nothing from.
_LEFT_ALONE = frozenset(
    {"frompyfunc", "vectorize", "apply_along_axis", "apply_over_axes", "fromfunction", "piecewise"}
    | {"load", "loadtxt", "genfromtxt", "fromfile", "save", "savez", "savetxt", "empty"}
    | {"empty_like", "nonzero", "argwhere", "flatnonzero", "unique", "broadcast_to", "memmap"}
)
#: Functions that give views, or hand something on: nothing to compile where there is nothing else.
_VIEWS = frozenset(
    {"np.transpose", "np.reshape", "np.ravel", "np.squeeze", "np.expand_dims", "np.swapaxes"}
    | {"np.moveaxis", "np.asarray", "np.asanyarray", "np.flip", "np.real", "np.imag", "getitem"}
)
#: Functions that only fetch or hand on a block, of which nothing is said.
_SILENT = frozenset(
    {"getter", "getter_nofancy", "getter_inline", "getitem", "identity", "concatenate_axes"}
    | {"trim", "_trim", "finalize", "transpose", "broadcast_to"}
)


@functools.lru_cache(maxsize=4096)
def _name_in_numpy(function: Any) -> str:
    """Return how source calls a function of NumPy's; "" for another one."""
    name = getattr(function, "__name__", "")
    if name in _LEFT_ALONE or isinstance(function, type):
        return ""
    for space, prefix in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        if getattr(space, name, None) is function:
            return f"{prefix}.{name}"
    return ""


class _Writer:
    """The source of one compiled function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.functions: dict[str, Any] = {}
        self.calls: list[str] = []

    def call(self, function: Any, args: Sequence[str], kwargs: Mapping[str, Any]) -> str:
        """Return an expression for a call.

        Raises
        ------
        NotTranslatedError
        """
        if isinstance(function, functools.partial):
            before = [literal(value) for value in function.args]
            return self.call(function.func, [*before, *args], {**function.keywords, **kwargs})
        kwargs = {name: value for name, value in kwargs.items() if name != "computing_meta"}
        form = self._special(function, args, kwargs)
        if form:
            return form
        name = self._name(function, kwargs)
        self.calls.append(name)
        words = [f"{word}={_source(value)}" for word, value in sorted(kwargs.items())]
        return f"{name}({', '.join([*args, *words])})"

    def _special(self, function: Any, args: Sequence[str], kwargs: Mapping[str, Any]) -> str:
        """Return an expression for what isn't a call; "" for what is one."""
        if not kwargs and len(args) == 2 and function in _OPERATORS:
            self.calls.append(funcname(function))
            return f"{args[0]} {_OPERATORS[function]} {args[1]}"
        if not kwargs and len(args) == 1 and function in _SIGNS:
            self.calls.append(funcname(function))
            return f"{_SIGNS[function]}{args[0]}"
        if function is dask_chunk.astype and len(args) == 1:
            dtype = kwargs.get("astype_dtype")
            words = {k: v for k, v in kwargs.items() if k not in ("astype_dtype", "casting")}
            if words not in ({}, {"copy": False}) or kwargs.get("casting") not in (None, "unsafe"):
                raise NotTranslatedError("astype")
            self.calls.append("astype")
            return f"{args[0]}.astype({literal(np.dtype(dtype))}, copy=False)"
        return ""

    def _name(self, function: Any, kwargs: dict[str, Any]) -> str:
        if isinstance(function, BlockFunction) and function.source:
            return self._named(function, funcname(function))
        if is_jitted(function) and _is_found_by_name(function.__wrapped__):
            return self._named(function, funcname(function))
        if function in _WITH_SUMS:
            plain, without_nans = _WITH_SUMS[function]
            given = {word: kwargs.pop(word) for word in _NANS if word in kwargs}
            if not given:
                return plain
            if given == _NANS:
                return without_nans
            raise NotTranslatedError(funcname(function))
        name = _BLOCKS.get(function) or _name_in_numpy(function)
        if not name:
            raise NotTranslatedError(funcname(function))
        return name

    def _named(self, function: Any, name: str) -> str:
        known = next((n for n, value in self.functions.items() if value is function), None)
        if known is None:
            known = f"{name if name.isidentifier() else 'function'}_{len(self.functions)}"
            self.functions[known] = function
        return known


def _is_found_by_name(function: Any) -> bool:
    """Whether other processes have a function's globals: they are those of a module."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    is_programs = module is None or module.__name__ == "__main__"
    return not is_programs and getattr(function, "__globals__", None) is vars(module)


def _source(value: Any) -> str:
    return value.text if isinstance(value, _Text) else literal(value)


@dataclasses.dataclass(frozen=True)
class _Text:
    """Source of an argument that is another task's result."""

    text: str


def literal(value: Any) -> str:
    """Return the source of a constant.

    Raises
    ------
    NotTranslatedError
        If it isn't one.
    """
    if value is None or value is Ellipsis or type(value) in (bool, int, str):
        return "..." if value is Ellipsis else repr(value)
    if type(value) is float and np.isfinite(value):
        return repr(value)
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return f"np.dtype({value.str!r})"
    if isinstance(value, type) and issubclass(value, np.number | np.bool_):
        return f"np.dtype({np.dtype(value).str!r})"
    if type(value) is tuple:
        return "(" + "".join(f"{literal(part)}, " for part in value) + ")"
    if type(value) is list:
        return "[" + ", ".join(map(literal, value)) + "]"
    if type(value) is slice:
        return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
    if isinstance(value, np.integer):
        return literal(int(value))
    raise NotTranslatedError(type(value).__qualname__)


# -- Tasks ------------------------------------------------------------------------


def inner_tasks(task: Task) -> tuple[dict[Any, GraphNode], Any]:
    """Return the calls that a task consists of, by key, and the key of the last."""
    if task.func is not _execute_subgraph:
        return {task.key: task}, task.key
    graph, last, given, *values = task.args
    if len(given) != len(values):
        raise NotTranslatedError("a graph within a task")
    found: dict[Any, GraphNode] = dict(graph)
    for name, value in zip(given, values, strict=True):
        if isinstance(value, TaskRef | Alias):
            if value.key != name and getattr(value, "target", value.key) != name:
                found[name] = Alias(name, target=getattr(value, "target", value.key))
        elif isinstance(value, GraphNode):
            found[name] = value.substitute({}, key=name)
        else:
            found[name] = DataNode(name, value)
    return found, last


def translated(
    task: Task,
    constants: Mapping[Any, Any],
    options: tuple[tuple[str, Any], ...],
    threads: int,
) -> Translation | None:
    """Return a task with compiled functions in the place of NumPy's; None without any.

    Parameters
    ----------
    task : Task
    constants : mapping
        Values that are known of what the task refers to.
    options : tuple
        Of the compiled functions.
    threads : int
        Maximum number of threads of one.
    """
    try:
        tasks, last = inner_tasks(task)
    except NotTranslatedError as error:
        return Translation(task, [], [str(error)])
    parts = _Parts(tasks, last, constants)
    made: list[GraphNode] = []
    functions: list[BlockFunction] = []
    for group in parts.groups():
        new, function = parts.written(group, options, threads)
        made += new
        functions += [function] if function else []
    if not functions:
        return Translation(task, [], parts.left)
    if len(made) == 1:
        new_task = made[0].substitute({}, key=task.key)
    else:
        # What is fused is what Dask calls itself.
        new_task = Task.fuse(*made, key=task.key)
    if task.data_producer and isinstance(new_task, Task):
        new_task._data_producer = True
    return Translation(new_task, functions, parts.left)


class _Parts:
    """The calls of a task: which of them become one function."""

    def __init__(
        self, tasks: dict[Any, GraphNode], last: Any, constants: Mapping[Any, Any]
    ) -> None:
        self.tasks = tasks
        self.last = last
        self.constants = constants
        self.left: list[str] = []
        self.order = _ordered(tasks, last)
        self.users: dict[Any, set[Any]] = {key: set() for key in tasks}
        for key in self.order:
            for dependency in tasks[key].dependencies & tasks.keys():
                self.users[dependency].add(key)
        self.compiled = {key for key in self.order if self._can_be_compiled(tasks[key])}
        self._leave_views()

    def _can_be_compiled(self, node: GraphNode) -> bool:
        if not isinstance(node, Task) or node.func is _execute_subgraph:
            return False
        try:
            self._expression(_Writer(), node, lambda key: "x")
        except NotTranslatedError:
            name = funcname(node.func)
            if name not in _SILENT and not isinstance(node, List | Tuple):
                self.left.append(name)
            return False
        return True

    def _leave_views(self) -> None:
        """Leave calls to Dask that only give views, where nothing else is computed."""
        for group in self.groups():
            writer = _Writer()
            for key in group:
                if key in self.compiled:
                    self._expression(writer, self.tasks[key], lambda key: "x")
            if writer.calls and set(writer.calls) <= _VIEWS:
                self.compiled -= set(group)

    def groups(self) -> list[list[Any]]:
        """Return the calls in the order in which they can be made, those of one function together.

        A call is of a later function than what it needs of Dask's own calls, and than the
        functions which these need.
        """
        level: dict[Any, int] = {}
        for key in self.order:
            is_compiled = key in self.compiled
            found = 0
            for dependency in self.tasks[key].dependencies & self.tasks.keys():
                crosses = is_compiled and dependency not in self.compiled
                found = max(found, level[dependency] + crosses)
            level[key] = found
        for key in reversed(self.order):  # As late as those that need it, into fewer functions.
            if key in self.compiled and self.users[key]:
                level[key] = min(level[user] for user in self.users[key])
        groups: list[list[Any]] = []
        for at in sorted(set(level.values())):
            here = [key for key in self.order if level[key] == at]
            inside = [key for key in here if key in self.compiled]
            groups += [inside] if inside else []
            groups += [[key] for key in here if key not in self.compiled]
        return groups

    def written(
        self, group: list[Any], options: tuple[tuple[str, Any], ...], threads: int
    ) -> tuple[list[GraphNode], BlockFunction | None]:
        """Return the tasks of a group, and its function if it's compiled."""
        if group[0] not in self.compiled:
            return [self.tasks[group[0]]], None
        writer = _Writer()
        inside = dict(zip(group, (f"t{i}" for i in range(len(group))), strict=True))
        given: dict[Any, str] = {}

        def name_of(key: Any) -> str:
            if key in inside:
                return inside[key]
            return given.setdefault(key, f"x{len(given)}")

        for key in group:
            expression = self._expression(writer, self.tasks[key], name_of)
            writer.lines.append(f"    {inside[key]} = {expression}\n")
        results = [key for key in group if key == self.last or self.users[key] - set(group)]
        returned = inside[results[0]] if len(results) == 1 else _tuple(inside[k] for k in results)
        source = (
            f"def {NAME}({', '.join(given.values())}):\n{''.join(writer.lines)}"
            f"    return {returned}\n"
        )
        does = _described(writer.calls)
        names = tuple(writer.functions.items())
        function = BlockFunction(source, names, options, threads, does)
        arguments = [TaskRef(key) for key in given]
        if len(results) == 1:
            return [Task(results[0], function, *arguments)], function
        whole = ("npaccel", *map(str, results))
        parts: list[GraphNode] = [
            Task(key, operator.getitem, TaskRef(whole), i) for i, key in enumerate(results)
        ]
        return [Task(whole, function, *arguments), *parts], function

    def _expression(self, writer: _Writer, node: GraphNode, name_of: Callable[[Any], str]) -> str:
        assert isinstance(node, Task)
        args = [self._argument(writer, arg, name_of) for arg in node.args]
        kwargs: dict[str, Any] = {
            word: _Text(self._argument(writer, value, name_of))
            if isinstance(value, GraphNode | TaskRef)
            else value
            for word, value in node.kwargs.items()
        }
        if node.func is dask_core._enforce_dtype:
            function = kwargs.pop("enforce_dtype_function")
            dtype = literal(np.dtype(kwargs.pop("enforce_dtype")))
            inner = writer.call(function, args, kwargs)
            return f"({inner}).astype({dtype}, copy=False)"
        return writer.call(node.func, args, kwargs)

    def _argument(self, writer: _Writer, value: Any, name_of: Callable[[Any], str]) -> str:
        if isinstance(value, List | Tuple):
            inner = [self._argument(writer, part, name_of) for part in value.args]
            return f"[{', '.join(inner)}]" if isinstance(value, List) else _tuple(inner)
        if isinstance(value, TaskRef):
            return self._reference(value.key, name_of)
        if isinstance(value, Alias):
            return self._reference(value.target, name_of)
        if isinstance(value, DataNode):
            return literal(value.value)
        if isinstance(value, Task):
            return f"({self._expression(writer, value, name_of)})"
        return literal(value)

    def _reference(self, key: Any, name_of: Callable[[Any], str]) -> str:
        if key in self.constants:
            try:
                return f"({literal(self.constants[key])})"
            except NotTranslatedError:
                pass  # It becomes a parameter.
        return name_of(key)


def _tuple(parts: Iterable[str]) -> str:
    return "(" + "".join(f"{part}, " for part in parts) + ")"


def _described(calls: Sequence[str]) -> str:
    """Say in a few words what a function does."""
    names = [name.rpartition(".")[2] for name in calls]
    first = ", ".join(names[:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} more"


def _ordered(tasks: Mapping[Any, GraphNode], last: Any) -> list[Any]:
    """Return keys so that each stands behind those that it needs.

    The order depends on what the calls are, and on nothing else: it's that of the source, by which
    other processes find the function on disk.
    """
    done: dict[Any, None] = {}
    todo = [last]
    while todo:
        key = todo[-1]
        missing = [k for k in _references(tasks[key]) if k in tasks and k not in done]
        if missing and key not in done:
            todo += reversed(missing)
        else:
            todo.pop()
            done.setdefault(key)
    return list(done)


def _references(value: Any) -> Iterator[Any]:
    """Yield the keys that a task, or an argument of one, refers to, in their order."""
    if isinstance(value, TaskRef):
        yield value.key
    elif isinstance(value, Alias):
        yield value.target
    elif isinstance(value, Task):
        for part in (*value.args, *(value.kwargs[word] for word in sorted(value.kwargs))):
            yield from _references(part)


__all__ = ["NotTranslatedError", "Translation", "translated"]
