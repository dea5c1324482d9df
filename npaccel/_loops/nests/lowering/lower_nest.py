"""A loop nest as a whole: its parameters, the user's functions that it calls, its results."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from npaccel._loops.nests import list_memory, unroll_and_jam
from npaccel._loops.nests.dependence import IndependentLoop, independent_loop
from npaccel._loops.nests.lowering.calls import Helpers, function_body, written
from npaccel._loops.nests.lowering.code_builder import Env, Program, Site
from npaccel._loops.nests.lowering.expressions import FirstFound, Scope
from npaccel._loops.nests.lowering.rng import is_generator
from npaccel._loops.nests.lowering.statements import Statements
from npaccel._loops.nests.lowering.types import (
    DTYPES,
    MAX,
    TOO_LONG,
    Array,
    Draws,
    Items,
    List,
    NotSupportedError,
    Np,
    One,
    Other,
    Py,
    Text,
    Type,
    Types,
    Value,
    integer,
    storage_name,
)
from npaccel._loops.nests.scalarize import interchange, scalarize
from npaccel._loops.nests.scalarize.result import ScalarizedNest
from npaccel._syntax import dataflow

#: Bounds of a call's ints and array sizes: a nest is compiled for the least that fits.
LIMITS = (2**20, 2**31, MAX)

#: Longer code takes longer to compile than kernels for its operations do.
_MOST_LINES = 2000


@dataclasses.dataclass(frozen=True)
class Lowered:
    """The code of a nest, and what is needed to call it.

    Parameters
    ----------
    source : str
        Functions for Numba; the last is the nest.
    functions : tuple of str
        Their names.
    inputs : tuple of (str, int or str or None)
        The parameter that each argument comes from, and the item of a tuple, or "items" or
        "length" of a list's memory.
    outputs : tuple of str
    stored : frozenset of str
        Names that are assigned to; others come out as they went in.
    returned : tuple of tuple of types
        What each output may be.
    tags : mapping
        The type (`key_of`) of each number in the code.
    sites : tuple of Site
        By number, from 1.
    bails : bool
        Whether Python may have to start over.
    written : frozenset of str
        Parameters that are written to.
    grown, changed, items
        Of lists, see `Program`.
    guards : tuple
        See `Scope`; None stands for the nest's own namespace.
    holds : callable, optional
        Says whether the code may be called with a call's values.
    arrays : ScalarizedNest, optional
        What array code became loops over: the memory that they need, what their results are.
    independent : IndependentLoop, optional
        The loop whose iterations may run at once.
    narrowed : frozenset of (int, str, str)
        See `Program`.
    """

    source: str
    functions: tuple[str, ...]
    inputs: tuple[tuple[str, int | str | None], ...]
    outputs: tuple[str, ...]
    stored: frozenset[str]
    returned: tuple[Types, ...]
    tags: Mapping[int, tuple[Any, ...]]
    sites: tuple[Site, ...]
    bails: bool
    written: frozenset[str]
    guards: tuple[tuple[Mapping[str, Any] | None, str, Any], ...]
    holds: Callable[[Mapping[str, Any]], bool] | None = None
    arrays: ScalarizedNest | None = None
    independent: IndependentLoop | None = None
    narrowed: frozenset[tuple[int, str, str]] = frozenset()
    grown: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    items: Mapping[str, Py | Np | None] = dataclasses.field(default_factory=dict)

    @property
    def is_array_code(self) -> bool:
        """Whether it does what the user wrote for whole arrays."""
        return self.holds is not None or self.arrays is not None


def limit_of(values: Sequence[Any]) -> int:
    """Return the least of `LIMITS` that no int and no size exceeds."""
    largest = 0
    for value in values:
        if isinstance(value, np.ndarray):
            largest = max(largest, *value.shape, 0)
        elif type(value) is int:
            largest = max(largest, abs(value))
        elif type(value) is str:
            largest = max(largest, len(value))
        elif type(value) is tuple:
            largest = max([largest, *(abs(item) for item in value if type(item) is int)])
    return next((limit for limit in LIMITS if largest <= limit), MAX + 1)


def type_of(name: str, value: Any, limit: int) -> Type:
    """Return the type of a parameter.

    Raises
    ------
    NotSupportedError
        For an array or number that isn't compiled.
    """
    if type(value) is int:
        if limit > MAX:
            raise NotSupportedError(f"`{name}` is {TOO_LONG}", 0)
        return integer(-limit, limit)
    if type(value) in (bool, float, complex):
        return Py(type(value))
    if type(value) is np.ndarray:
        return _array_type(name, value, limit)
    if isinstance(value, np.generic) and value.dtype in DTYPES:
        return Np(value.dtype)
    if is_generator(value):
        return Draws(name)
    if type(value) is str:
        return Text(name, limit)
    if type(value) is list and list_memory.item_type(value) != list_memory.MIXED:
        return List(name)
    return Other(name, is_none=value is None)


def _array_type(name: str, value: np.ndarray[Any, Any], limit: int) -> Type:
    if value.dtype not in DTYPES or not value.dtype.isnative or not value.flags.aligned:
        return Other(name)
    flags = value.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return Array(value.dtype, value.ndim, layout, flags.writeable, name, limit=limit)


def lower(
    nest: ast.FunctionDef,
    values: Mapping[str, Any],
    namespace: Mapping[str, Any],
    narrow: bool,
) -> Lowered:
    """Type a nest and write its code.

    Raises
    ------
    NotSupportedError
        If it isn't scalar code, or if its types don't follow from those of
        its parameters.
    """
    namespace = FirstFound(namespace)
    draws = any(map(is_generator, values.values()))
    by_columns = None if draws else interchange.columns(nest, values, namespace)
    if by_columns is not None:
        nest = by_columns.nest
    elif sum(isinstance(n, ast.For | ast.While) for n in nest.body) > 1:
        raise NotSupportedError("several loops", nest.lineno, is_array_code=True)
    made = None
    if by_columns is None and not draws and scalarize.is_array_code(nest, values):
        made = scalarize.without_slices(nest, values, namespace)
        with_memory = {**values, **(made.memory(values) or {})}
        made = unroll_and_jam.unrolled(made, with_memory, namespace)
        nest = made.nest
        values = {**values, **(made.memory(values) or {})}
    # Draws have an order, and so have the items of a list.
    has_order = draws or any(type(value) is list for value in values.values())
    found = None if has_order else independent_loop(nest, values, namespace)
    try:
        lowered = _lowered(nest, values, namespace, narrow, found.loop if found else None)
    except NotSupportedError as error:
        if error.line:
            raise
        again = NotSupportedError(error.reason, nest.body[0].lineno)
        again.is_array_code = error.is_array_code
        raise again from None
    except RecursionError:
        raise NotSupportedError("expressions nested too deeply", nest.lineno) from None
    if made is not None and lowered.source.count("\n") > _MOST_LINES:
        raise NotSupportedError("much array code", nest.body[0].lineno, is_array_code=True)
    if found and lowered.written <= found.axes.keys():
        lowered = dataclasses.replace(lowered, independent=found)
    if made is not None:
        own = lowered.written - made.buffers.keys()
        lowered = dataclasses.replace(lowered, arrays=made, written=own)
    if by_columns is None:
        return lowered
    if lowered.sites:  # In Python all columns would have come as far.
        raise NotSupportedError("it may raise", nest.lineno, is_array_code=True)
    return dataclasses.replace(lowered, holds=by_columns.holds)


def _lowered(
    nest: ast.FunctionDef,
    values: Mapping[str, Any],
    namespace: Mapping[str, Any],
    narrow: bool,
    divided: ast.For | None,
) -> Lowered:
    """Write the code, again where it turns out what is put into lists that are empty yet."""
    items: dict[str, Py | Np] = {}
    for name, value in values.items():
        kind = list_memory.item_type(value) if type(value) is list else None
        if isinstance(kind, Py | Np):
            items[name] = kind
    while True:
        lowering = _Lowering(nest, values, namespace, narrow, divided, dict(items))
        lowered = lowering.run()
        if lowering.program.items == items:
            return lowered
        items = lowering.program.items


class _Lowering:
    def __init__(
        self,
        nest: ast.FunctionDef,
        values: Mapping[str, Any],
        namespace: Mapping[str, Any],
        narrow: bool,
        divided: ast.For | None,
        items: dict[str, Py | Np],
    ) -> None:
        self.nest = nest
        self.divided = divided
        self.values = values
        self.limit = limit_of(list(values.values()))
        self.program = Program(narrow, items=items)
        self.scope = Scope(namespace)
        self.helpers = Helpers(self.program)
        self.stored = set(dataflow.stores(nest.body))
        self.inputs: list[tuple[str, int | str | None]] = []
        self.parameters: list[str] = []

    def run(self) -> Lowered:
        tuples = {n for n, v in self.values.items() if type(v) is tuple and n not in self.stored}
        start: Env = {
            n: (type_of(n, v, self.limit),) for n, v in self.values.items() if n not in tuples
        }
        for name, kinds in start.items():
            self._add(name, None, kinds[0])
        items = {n: self._tuple(n) for n in self.values if n in tuples}
        local_names = self.stored | (self.values.keys() - tuples)
        code = written(
            lambda: Statements(self.program, self.scope, local_names, self.helpers),
            start,
            items,
            self.stored,
            self._write,
        )
        self._check(code)
        return self._lowered(code, start)

    def _add(self, name: str, place: int | None, kind: Type) -> str:
        """Note a number or array that the code is given; return the name that it has there."""
        if isinstance(kind, Other):
            return ""
        if isinstance(kind, List):
            return self._add_list(name, place, kind)
        if isinstance(kind, Text) and place is not None:
            raise NotSupportedError("a tuple of strings", 0)
        self.inputs.append((name, place))
        part = f"v_{name}" if place is None else f"p_{name}_{place}"
        self.parameters.append(storage_name(part, kind))
        return self.parameters[-1]

    def _add_list(self, name: str, place: int | None, kind: List) -> str:
        """Note a list: its memory, and its length."""
        if place is not None:
            raise NotSupportedError("a tuple of lists", 0)
        own = storage_name(f"v_{name}", kind)
        for part in ("items", "length"):
            self.inputs.append((name, part))
            self.parameters.append(f"{own}_{part}")
        return own

    def _tuple(self, name: str) -> Items:
        """Take a tuple apart; it is never assigned to."""
        kinds = [type_of(name, item, self.limit) for item in self.values[name]]
        ones = [One(kind, self._add(name, i, kind)) for i, kind in enumerate(kinds)]
        return Items(tuple(Value((one,)) for one in ones))

    def _write(self, code: Statements) -> None:
        code.is_nest, code.divided = True, self.divided
        *body, last = self.nest.body
        code.statements(body)
        if code.env is None:
            return
        assert isinstance(last, ast.Return)
        names = [name for name in output_names(self.nest) if name in self.stored]
        code.give_back([code.read(name, last.lineno) for name in names], last.lineno)

    def _check(self, code: Statements) -> None:
        for line, reason in sorted(self.program.opaque):
            raise NotSupportedError(reason, line)
        for kinds in code.returned or ():
            if any(isinstance(kind, Array) and not kind.is_whole for kind in kinds):
                raise NotSupportedError("a row of an array leaves the loop", 0)

    def _lowered(self, code: Statements, start: Env) -> Lowered:
        head = f"def nest({', '.join(['_e', '_f', *self.parameters])}):"
        lines = [head, *function_body(code, start, self.parameters)]
        # Scopes that have found different values of a name make code that never holds.
        found = (*self.scope.guards, *self.helpers.guards())
        guards = {(id(g[0]), g[1], id(g[2])): g for g in found}
        own = self.scope.namespaces[0]
        return Lowered(
            source="\n".join([*self.helpers.lines(), *lines, ""]),
            functions=(*self.helpers.names(), "nest"),
            inputs=tuple(self.inputs),
            outputs=tuple(output_names(self.nest)),
            stored=frozenset(self.stored),
            returned=tuple(code.returned or ()),
            tags={number: key for key, number in self.program.tags.items()},
            sites=tuple(self.program.sites),
            bails=self.program.bails,
            written=self.program.written,
            narrowed=frozenset(self.program.narrowed),
            grown=self.program.grown,
            changed=self.program.changed,
            items={n: self.program.items.get(n) for n, i in self.inputs if i == "items"},
            guards=tuple((None if g[0] is own else g[0], *g[1:]) for g in guards.values()),
        )


def output_names(nest: ast.FunctionDef) -> list[str]:
    """Return the names that a nest returns.

    Raises
    ------
    NotSupportedError
        If it returns anything else.
    """
    last = nest.body[-1]
    parts = last.value if isinstance(last, ast.Return) else None
    names = parts.elts if isinstance(parts, ast.Tuple) else [parts]
    found = [node.id for node in names if isinstance(node, ast.Name)]
    if len(found) != len(names):
        raise NotSupportedError("a nest ends in a return of names", nest.lineno)
    return found
