"""Compile a loop nest over single elements with Numba, and call what was compiled."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests import captured_values, list_memory, numba_errors, parallel
from npaccel._loops.nests.lowering import lower_nest
from npaccel._loops.nests.lowering.code_builder import Site
from npaccel._loops.nests.lowering.expressions import MISSING
from npaccel._loops.nests.lowering.lower_nest import Lowered
from npaccel._loops.nests.lowering.returns import layout
from npaccel._loops.nests.lowering.rng import Drawn, drawing, is_generator
from npaccel._loops.nests.lowering.types import (
    Array,
    Character,
    Draws,
    List,
    NotSupportedError,
    Np,
    Other,
    Py,
    Text,
    Types,
    key_of,
    storage_name,
)
from npaccel._process import fork, signals
from npaccel._process.imports import load

__all__ = ["CompiledNest", "NotInstalledError", "NotSupportedError", "compile_nest"]

#: Maximum number of nests that are kept, and of versions of one for changing globals.
_KEPT, _VERSIONS = 256, 4
#: Number of calls that Python had to start over, after which it does so at once.
_PATIENCE = 2
_compiled: dict[tuple[Any, ...], list[_Version]] = {}
_lock = threading.Lock()
fork.hold(_lock)


class NotInstalledError(Exception):
    """Numba isn't installed, or doesn't fit the installed NumPy."""


def compile_nest(
    nest: ast.FunctionDef,
    values: Mapping[str, Any],
    namespace: Mapping[str, Any],
    filename: str,
    *,
    narrow: bool = False,
    lowered: Lowered | None = None,
    on_python: Callable[[str, int], None] | None = None,
    splits: bool = False,
    cache: bool = True,
    on_threads: Callable[[], None] | None = None,
    on_narrowed: Callable[[Iterable[tuple[int, str, str]]], None] | None = None,
) -> CompiledNest:
    """Compile a loop nest for the types of these values.

    Parameters
    ----------
    nest : ast.FunctionDef
        Its parameters are what the loop reads; its body is the loop and a
        return of the names that are read afterwards.
    values : mapping
        The value of each parameter.
    namespace : mapping
        The values of other names; looked up again at every call.
    filename : str
        The user's file, for tracebacks.
    narrow : bool
        Whether floats that NumPy would invent become float32.
    lowered : Lowered, optional
        What `_elementwise.examine` made of the same.
    on_python : callable, optional
        Told the reason and the line when a later call must run in Python.
    splits : bool
        Whether such a call gives None instead, because the caller has another way.
    cache : bool
        Whether what is compiled is kept on disk.
    on_threads : callable, optional
        Called when iterations of the outermost loop have run in threads.
    on_narrowed : callable, optional
        Told the lines at which floats are narrowed, and the dtypes before and after.

    Returns
    -------
    CompiledNest

    Raises
    ------
    NotInstalledError
        If there is no Numba.
    NotSupportedError
        If the nest isn't scalar code, or its types can't be told.
    """
    made = CompiledNest(
        nest,
        namespace,
        filename,
        narrow,
        on_python,
        on_threads,
        on_narrowed,
        splits=splits,
        cache=cache,
    )
    made.prepare(values, lowered)
    return made


class CompiledNest:
    """A loop nest, compiled for each combination of types that it is called with.

    It is called with the nest's arguments, by position, writes to arrays in
    place, and returns a tuple, all as Python running the nest would. NumPy's
    warnings of overflows and invalid values aren't given.

    Parameters
    ----------
    nest, namespace, filename, narrow, on_python, on_threads, on_narrowed, splits, cache
        See `compile_nest`.
    """

    def __init__(
        self,
        nest: ast.FunctionDef,
        namespace: Mapping[str, Any],
        filename: str,
        narrow: bool,
        on_python: Callable[[str, int], None] | None,
        on_threads: Callable[[], None] | None,
        on_narrowed: Callable[[Iterable[tuple[int, str, str]]], None] | None,
        *,
        splits: bool,
        cache: bool,
    ) -> None:
        self.nest = nest
        self.names = [argument.arg for argument in nest.args.args]
        self.namespace = namespace
        self.filename = filename
        self.narrow = narrow
        self.on_python = on_python
        self.on_threads = on_threads
        self.on_narrowed = on_narrowed
        self.splits = splits
        self.cache = cache
        self._source = (ast.dump(nest, include_attributes=True), filename, narrow)
        self._paths: dict[tuple[Any, ...], tuple[ast.FunctionDef, dict[str, Any]]] = {}
        self._made: dict[tuple[Any, ...], _Version | None] = {}

    def __call__(self, *args: Any) -> tuple[Any, ...] | None:
        """Run the nest."""
        given = dict(zip(self.names, args, strict=True))
        values, key = self._described(given)
        version = self._made.get(key)
        stale = version is not None and not version.holds(self.namespace)
        if stale or (version is None and key not in self._made):
            version = self._made[key] = self._prepared(values, given, key)
        if version is None:
            return self.in_python(*args)
        return version.run(self, values, args, key)

    def in_python(self, *args: Any) -> tuple[Any, ...] | None:
        """Run the nest in Python, or leave it to the caller."""
        if self.splits:
            return None
        module = ast.fix_missing_locations(ast.Module([self.nest], []))
        names = dict(self.namespace)
        exec(compile(module, self.filename, "exec"), names)
        result: tuple[Any, ...] = names[self.nest.name](*args)
        return result

    def prepare(self, values: Mapping[str, Any], lowered: Lowered | None = None) -> None:
        """Compile for the types of some values.

        Raises
        ------
        NotInstalledError, NotSupportedError
            See `compile_nest`.
        """
        every, key = self._described(values)
        if len(every) > len(values):
            lowered = None  # Another thread may have rebound what was fetched for it.
        self._made[key] = self._noted(self._version(every, values, key, lowered))

    def give_up(self, key: tuple[Any, ...], reason: str, line: int) -> None:
        """Leave calls with these types to Python from now on."""
        self._made[key] = None
        if self.on_python is not None and not self.splits:
            self.on_python(reason, line)

    def _described(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Return all values that the code takes, and what its types depend on."""
        own = tuple(map(_kind, given.values()))
        if own not in self._paths:
            self._paths[own] = captured_values.with_captured(self.nest, given, self.namespace)
        _, paths = self._paths[own]
        values = dict(given)
        for name, path in paths.items():
            values[name] = path.fetch(given, self.namespace)
        limit = lower_nest.limit_of(list(values.values()))
        return values, (limit, *own, *(_kind(values[name]) for name in paths))

    def _prepared(
        self, values: Mapping[str, Any], given: Mapping[str, Any], key: tuple[Any, ...]
    ) -> _Version | None:
        try:
            return self._noted(self._version(values, given, key))
        except NotSupportedError as error:
            self.give_up(key, error.reason, error.line)
            return None

    def _noted(self, version: _Version) -> _Version:
        if self.on_narrowed is not None and version.lowered.narrowed:
            self.on_narrowed(version.lowered.narrowed)
        return version

    def _version(
        self,
        values: Mapping[str, Any],
        given: Mapping[str, Any],
        key: tuple[Any, ...],
        lowered: Lowered | None = None,
    ) -> _Version:
        nest, _ = self._paths[tuple(map(_kind, given.values()))]
        place = (*self._source, *values, *key)
        with _lock:
            versions = _compiled.get(place, [])
            for version in versions:
                if version.holds(self.namespace):
                    return version
            if len(versions) >= _VERSIONS:
                raise NotSupportedError("globals that change from call to call", nest.lineno)
            if lowered is None:
                lowered = lower_nest.lower(nest, values, self.namespace, self.narrow)
            every = _with_memory(lowered, values)
            assert every is not None  # Or it wouldn't be fit.
            made = signals.passing(_compile, lowered, every, nest, self.cache)
            versions.append(_Version(lowered, made))
            _compiled[place] = versions
            while len(_compiled) > _KEPT:
                del _compiled[next(iter(_compiled))]
            return versions[-1]


class _Version:
    """The code for one combination of types, and one state of the globals."""

    def __init__(self, lowered: Lowered, function: Callable[..., tuple[Any, ...]]) -> None:
        self.lowered = lowered
        self.restarts = 0
        self._runner = parallel.Runner(lowered, function)
        self._results = list(_results(lowered))
        self._room = list_memory.Room()

    def holds(self, namespace: Mapping[str, Any]) -> bool:
        """Whether the names that were looked up still mean the same."""
        for mapping, name, wanted in self.lowered.guards:
            found = (namespace if mapping is None else mapping).get(name, MISSING)
            if found is not wanted and not _is_same_number(found, wanted):
                return False
        return True

    def _ran(self, values: Mapping[str, Any]) -> tuple[list[parallel.Ran], Drawn, Site | None]:
        """Run the code with room enough for its lists; return the place that failed."""
        lowered = self.lowered
        while True:
            memory = self._room.memory(values, lowered.items, lowered.grown)
            inputs = _inputs(lowered, values, memory)
            generators = [value for value in inputs if is_generator(value)]
            with drawing(generators, may_be_undone=lowered.bails) as drawn:
                ran = self._runner(values, inputs)
            last = ran[-1]
            site = lowered.sites[last.ints[0] - 1] if last.has_failed else None
            if site is None or site.kind != "grow":
                break
            parallel.undo(ran)
            drawn.undo()
            self._room.grow(site.detail)
        if site is None or site.kind not in ("unfit", "bail"):
            for name in lowered.grown | lowered.changed:
                memory[name].give_back(is_changed=name in lowered.changed)
        return ran, drawn, site

    def run(
        self,
        nest: CompiledNest,
        values: Mapping[str, Any],
        args: Sequence[Any],
        key: tuple[Any, ...],
    ) -> tuple[Any, ...] | None:
        """Call the code."""
        lowered = self.lowered
        if lowered.is_array_code and parallel.share_memory(lowered.written, values):
            return nest.in_python(*args)
        if lowered.holds is not None and not lowered.holds(values):
            return nest.in_python(*args)
        every = _with_memory(lowered, values)
        if every is None or (lowered.items and _is_twice(lowered, values)):
            return nest.in_python(*args)
        values = every
        ran, drawn, site = self._ran(values)
        last = ran[-1]
        if last.in_thread and nest.on_threads is not None:
            nest.on_threads()
        if site is None:
            found = [one.found for one in ran]
            results = tuple(result(values, found) for result in self._results)
            if lowered.arrays is None:
                return results
            by_name = dict(zip(lowered.outputs, results, strict=True))
            outputs = lowered.arrays.results(by_name, values)
            return nest.in_python(*args) if outputs is None else outputs
        if site.kind == "unfit":  # Nothing has been written yet.
            return nest.in_python(*args)
        if site.kind != "bail" or not lowered.bails:
            numba_errors.raise_at(site, last.ints, last.floats, nest.filename, nest.namespace)
        parallel.undo(ran)
        drawn.undo()
        self.restarts += 1
        if self.restarts >= _PATIENCE:
            nest.give_up(key, site.detail, site.line)
        return nest.in_python(*args)


def _inputs(
    lowered: Lowered, values: Mapping[str, Any], memory: Mapping[str, list_memory.Memory]
) -> list[Any]:
    """Return what the code is called with."""
    found: list[Any] = []
    for name, part in lowered.inputs:
        value = values[name]
        if isinstance(part, str):
            value = getattr(memory[name], part)
        elif type(value) is str:
            value = list_memory.text_array(value)
        elif part is not None:
            value = value[part]
        found.append(value)
    return found


def _is_twice(lowered: Lowered, values: Mapping[str, Any]) -> bool:
    """Whether a list that is changed has two names."""
    changed = [values[name] for name in lowered.grown | lowered.changed]
    lists = [values[name] for name in lowered.items]
    return any(sum(one is other for other in lists) > 1 for one in changed)


def _with_memory(lowered: Lowered, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a call's values with the memory that the code needs; None if it's too much."""
    if lowered.arrays is None:
        return values
    memory = lowered.arrays.memory(values)
    return None if memory is None else {**values, **memory}


def _kind(value: Any) -> Any:
    """Return what a parameter's type depends on."""
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        layout_ = 0 if flags.c_contiguous else 1 if flags.f_contiguous else 2
        return value.dtype, value.ndim, layout_, flags.writeable, flags.aligned
    if kind is tuple:
        return tuple(map(_kind, value))
    return list_memory.kind_of(value) if kind is list else kind


def _is_same_number(found: Any, wanted: Any) -> bool:
    is_number = isinstance(wanted, int | float | complex | np.generic)
    return is_number and type(found) is type(wanted) and repr(found) == repr(wanted)


def _compile(
    lowered: Lowered, values: Mapping[str, Any], nest: ast.FunctionDef, cache: bool
) -> Any:
    """Compile the code of a nest, or load what was compiled before.

    Raises
    ------
    NotInstalledError
        If there is no Numba.
    NotSupportedError
        If Numba refuses the code.
    """
    try:
        load("numba")
        import numba

        load("npaccel._loops.nests.numba_cache")
        from npaccel._loops.nests import numba_cache, numba_runtime
    except ImportError as error:
        raise NotInstalledError(
            f"Numba can't be imported ({error}); install it with: pip install 'npaccel[numba]'"
        ) from error
    names = dict(numba_runtime.NAMES)
    exec(compile(lowered.source, f"<npaccel: loop at line {nest.lineno}>", "exec"), names)
    for function in lowered.functions:
        names[function] = numba.njit(**numba_runtime.OPTIONS)(names[function])
    memory = list_memory.Room().memory(values, lowered.items, lowered.grown)
    inputs = _inputs(lowered, values, memory)
    types = [numba.types.int64[::1], numba.types.float64[::1]]
    types += [_numba_type(numba, value) for value in inputs]
    if cache:
        numba_cache.keep([names[part] for part in lowered.functions], lowered.source, types)
    function = names["nest"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.core.errors.NumbaWarning)
            function.compile(tuple(types))
    except numba.core.errors.NumbaError as error:
        reason = str(error).strip().splitlines()[0]
        raise NotSupportedError(f"Numba refuses it: {reason}", nest.body[0].lineno) from error
    function.disable_compile()
    return function


def _numba_type(numba: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.random.Generator):
        return numba.typeof(value)
    if isinstance(value, np.generic):
        return numba.from_dtype(value.dtype)
    return {
        bool: numba.types.boolean,
        int: numba.types.int64,
        float: numba.types.float64,
        complex: numba.types.complex128,
    }[type(value)]


def _results(lowered: Lowered) -> Any:
    """Yield what makes each output from the values given and the numbers that the parts give."""
    counters = lowered.independent.counters if lowered.independent else frozenset()
    place, returned = 0, iter(lowered.returned)
    for name in lowered.outputs:
        if name not in lowered.stored:
            yield lambda values, found, name=name: values[name]
            continue
        kinds = next(returned)
        storages = {storage: place + i for i, storage in enumerate(layout(kinds))}
        place += len(storages)
        result = _result(lowered, kinds, storages, place)
        if name in counters:
            yield lambda values, found, name=name, result=result: sum(
                (result(values, one) - values[name] for one in found), values[name]
            )
        else:
            yield lambda values, found, result=result: result(values, found[-1])
        place += 1


def _result(lowered: Lowered, kinds: Types, storages: Mapping[str, int], tag: int) -> Any:
    numbers = {key: number for number, key in lowered.tags.items()}
    makers = {
        numbers[key_of(kind)]: _maker(kind, storages.get(storage_name("", kind), -1))
        for kind in kinds
    }
    if len(makers) == 1:
        return next(iter(makers.values()))
    return lambda values, found: makers[found[tag]](values, found)


def _maker(kind: Any, place: int) -> Any:
    """Return what makes a Python object of a type."""
    match kind:
        case Py():
            return lambda _, found: kind.kind(found[place])
        case Np():
            return lambda _, found: kind.dtype.type(found[place])
        case Character():
            return lambda _, found: chr(found[place])
        case Other(is_none=True):
            return lambda *_: None
        case Array() | Other() | Draws() | Text() | List():
            return lambda values, _: values[kind.origin]
        case _:
            raise AssertionError(kind)
