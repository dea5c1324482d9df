"""A loop over single elements: handed to Numba, or left to Python."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from npaccel._compiler import fallback
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.nests import eligibility, list_memory, numba_backend
from npaccel._loops.nests.lowering.rng import is_generator
from npaccel._loops.nests.scalarize import result as scalarize_result
from npaccel._loops.nests.scalarize import scalarize
from npaccel._loops.partition.nodes import Nest
from npaccel._process import logs
from npaccel._report import Loop
from npaccel._report.details import Narrowed
from npaccel._runtime import arguments, errstate, opaque
from npaccel._syntax import source, wide_data


class NestRunner:
    """Run a loop if it is about single elements.

    Parameters
    ----------
    spec : FunctionSpec
        Of the split function that it is part of.
    outer : mapping
        What the names in it stand for that aren't local.
    on_wide : callable or None
        Where the function narrows floats: is called where the loop meets 64-bit ones.
    definition : ast.FunctionDef
        The loop as a function of what it reads.
    function : types.FunctionType
        The same, to be run by Python.
    nest : Nest
    """

    def __init__(
        self,
        spec: FunctionSpec,
        outer: Mapping[str, Any],
        on_wide: Callable[[], None] | None,
        definition: ast.FunctionDef,
        function: types.FunctionType,
        nest: Nest,
    ) -> None:
        self.spec = spec
        self.outer = outer
        self.on_wide = on_wide
        self.filename = spec.function.__code__.co_filename
        self.definition = definition
        self.function = function
        self.nest = nest
        self._chosen: dict[tuple[Any, ...], Any] = {}
        self._noted_threads = False

    def __call__(self, *args: Any) -> Any:
        """Return what the loop leaves, or None if it is to be split."""
        if errstate.have_effect():
            return None  # The split loop looks for it too, and leaves it to NumPy.
        key = tuple(_kind(value) for value in args)
        try:
            chosen = self._chosen[key]
        except KeyError:
            chosen = self._chosen[key] = self._choose(args)
        if chosen is None:
            return None
        result = chosen(*args)
        if result is None:
            self._note("compiled body")
        return result

    def is_taken(self) -> bool:
        """Whether something else than the split loop was chosen for some call."""
        return any(chosen is not None for chosen in self._chosen.values())

    def _choose(self, args: tuple[Any, ...]) -> Any:
        options = self.spec.options
        if arguments.device_of(args) is not None:
            return None
        names = [a.arg for a in self.definition.args.args]
        values = dict(zip(names, args, strict=True))
        if options.loops != "numba" and _is_of_whole_arrays(self.definition, values):
            return None
        is_array_code = scalarize.is_array_code(self.definition, values)
        # A loop that draws single numbers, or has lists or strings, is about elements, but for
        # its text.
        others = not self.nest.of_elements and any(map(_is_of_elements, values.values()))
        fits = self.nest.of_elements or is_array_code or others
        if not fits and options.loops != "numba":
            return None
        on_wide = self.on_wide
        narrow = on_wide is not None and not wide_data.has_wide(args, scalars=False)
        if on_wide is not None and not narrow:
            on_wide()
        reason, lowered = eligibility.examine(self.definition, values, self.outer, narrow=narrow)
        if (reason or (others and lowered is None)) and options.loops != "numba":
            logs.loops.debug("%s:%d: not Numba's: %s", self.filename, self.nest.lineno, reason)
            return None
        try:
            made = numba_backend.compile_nest(
                self.definition,
                values,
                self.outer,
                self.filename,
                narrow=narrow,
                lowered=lowered,
                on_python=self._ran_in_python,
                splits=is_array_code,
                cache=options.cache,
                on_threads=self._ran_in_threads,
                on_narrowed=self._note_narrowed,
            )
        except numba_backend.NotInstalledError:
            if is_array_code:
                return None  # Array code, for which Numba would only be faster.
            self._in_python(
                "it works on single elements, which array code is slow for",
                "install Numba, which compiles such loops: pip install 'npaccel[numba]'",
            )
            return self.function
        except numba_backend.NotSupportedError as error:
            if is_array_code:
                return None
            if reason:  # Asked for by loops="numba", but it isn't about single elements.
                self._in_python(f"Numba can't compile it: {error}", "pass loops='auto'")
                return None
            name = next((n for n in values if opaque.kind_of(values[n]) is not None), None)
            if name is not None:
                said = f"`{name}` is {opaque.described(values[name])}"
                self._in_python(said, opaque.advice(values[name], name))
                return self.function
            self._in_python(
                f"it works on single elements, and Numba can't compile it: {error}",
                _advice(values),
            )
            return self.function
        self._note("Numba")
        return made

    def _note(self, engine: str, detail: str = "") -> None:
        for loop in self.nest.loops:
            for node in ast.walk(loop):
                if isinstance(node, ast.For | ast.While):
                    self._note_loop(node, engine, detail)

    def _note_loop(self, node: ast.For | ast.While, engine: str, detail: str) -> None:
        file, end = self.filename, node.end_lineno or 0
        text = source.line(file, node.lineno)
        self.spec.log.add_loop(Loop(file, node.lineno, text, engine, detail, end))

    def _note_narrowed(self, lines: Iterable[tuple[int, str, str]]) -> None:
        file = self.filename
        self.spec.log.add_narrowed(Narrowed(file, *one) for one in lines)

    def _ran_in_threads(self) -> None:
        if not self._noted_threads:
            self._noted_threads = True
            for loop in self.nest.loops:
                self._note_loop(loop, "Numba", "iterations in threads where faster")

    def _ran_in_python(self, reason: str, line: int) -> None:
        fallback.note(
            self.spec,
            f"a call of this loop ran in Python: {reason}",
            "keep Python's ints below 2**63, or use an array of one element",
            file=self.filename,
            line=line,
            text=source.line(self.filename, line),
        )

    def _in_python(self, reason: str, advice: str) -> None:
        line = self.nest.lineno
        fallback.note(
            self.spec,
            f"this loop runs in Python: {reason}",
            advice,
            file=self.filename,
            line=line,
            text=source.line(self.filename, line),
        )
        self._note("Python", reason)


def _is_of_elements(value: Any) -> bool:
    if type(value) is list:
        return list_memory.item_type(value) != list_memory.MIXED
    return type(value) is str or is_generator(value)


def _is_of_whole_arrays(definition: ast.FunctionDef, values: Mapping[str, Any]) -> bool:
    """Whether what looks like elements by its text are arrays in lists and dicts."""
    nodes = list(ast.walk(definition))
    loops = [node for node in nodes if isinstance(node, ast.For)]
    items, counters = set[str](), set[str]()  # What loops go over: arrays in lists, or numbers.
    taken = []
    for loop in loops:
        over = [_found(one, values) for one in ast.walk(loop.iter)]
        taken += over
        holds = any(map(arguments.holds_arrays, over))
        (items if holds else counters).update(_names(loop.target))
    subscripts = [node for node in nodes if isinstance(node, ast.Subscript)]
    of_items = [node for node in subscripts if _names(node.value) <= items]
    others = [node for node in subscripts if not _names(node.value) <= items]
    owners = [_found(node.value, values) for node in others]
    return (
        any(map(arguments.holds_arrays, [*owners, *taken]))
        and not any(map(arguments.is_array, taken))
        and all(map(_has_no_numbers, owners))
        and not any(_names(node.slice) & counters for node in of_items)
    )


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _has_no_numbers(value: Any) -> bool:
    """Whether an object is a list, tuple or dict, and no list of numbers of one type."""
    if type(value) is list:
        return list_memory.item_type(value) in (list_memory.MIXED, None)
    return type(value) in (tuple, dict)


def _found(node: ast.AST, values: Mapping[str, Any]) -> Any:
    """Return the value of a name, or of an attribute that an object has of its own."""
    if isinstance(node, ast.Attribute):
        own = getattr(_found(node.value, values), "__dict__", {})
        return own.get(node.attr) if type(own) is dict else None
    return values.get(node.id) if isinstance(node, ast.Name) else None


def _kind(value: Any) -> Any:
    """Kind of an argument, on which the choice of what runs the nest depends."""
    if arguments.is_array(value):
        flags = getattr(value, "flags", None)
        writeable = flags is None or flags.writeable
        return (type(value), value.dtype, value.ndim, writeable, scalarize_result.size_class(value))
    kind = list_memory.kind_of(value) if type(value) is list else type(value)
    may_hold = kind in (tuple, dict, (list, list_memory.MIXED))
    return (kind, arguments.holds_arrays(value)) if may_hold else kind


def _advice(values: Mapping[str, Any]) -> str:
    """Say what to write instead of a loop over single elements that runs in Python."""
    if any(
        isinstance(value, np.random.Generator | np.random.RandomState) for value in values.values()
    ):
        return "draw all random numbers before the loop, in one call with `size`"
    return "write it with whole arrays or slices"
