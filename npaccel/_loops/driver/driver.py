"""A function with loops, split: Python drives, regions are compiled."""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import dataclasses
import functools
import inspect
import operator
import threading
import types
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler.dispatcher import NO_KEYWORDS, Engine
from npaccel._compiler.snapshot import Snapshot
from npaccel._loops.control_flow import primitives
from npaccel._loops.control_flow.bodies import Forms
from npaccel._loops.driver.iterations import TurnRunner, Ways
from npaccel._loops.driver.loop_variants import Clones, clones, with_turns
from npaccel._loops.driver.region import Region
from npaccel._loops.driver.whole_function import Calls
from npaccel._loops.partition import liveness
from npaccel._loops.partition import nodes as partition_nodes
from npaccel._loops.partition.host_values import Kinds, is_host_value
from npaccel._loops.partition.nodes import (
    APPENDING,
    INDEX,
    INNER,
    LOOP,
    NATIVE,
    NEST,
    REGION,
    Inline,
    Nest,
    name,
)
from npaccel._loops.partition.partition import CannotSplitError, Split, split
from npaccel._process import fork, signals
from npaccel._report import Log, Loop
from npaccel._report.details import Native
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime.binding import Binding
from npaccel._runtime.call_samples import sample
from npaccel._runtime.callables import is_jitted
from npaccel._runtime.options import Options
from npaccel._syntax import dataflow, loop_detection, source, wide_data
from npaccel._syntax.source import NoSourceError

#: So many combinations of kinds of arguments are split apart; later ones share the last.
_MAX_VARIANTS = 16

Kind = tuple[Any, ...]


class Driver:
    """Run a function whose loops are split.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log
    definition : ast.FunctionDef, optional
        Its syntax tree, where that isn't in a file.
    varying : frozenset of str
        Parameters whose numbers differ from call to call.
    on_wide : callable, optional
        Of a function that another one calls, which narrows floats: is called where this one meets
        64-bit floats.
    """

    def __init__(
        self,
        function: types.FunctionType,
        options: Options,
        log: Log,
        definition: ast.FunctionDef | None = None,
        varying: frozenset[str] = frozenset(),
        on_wide: Callable[[], None] | None = None,
    ) -> None:
        self.function = function
        self.definition = definition
        self.varying = varying
        self.options = options
        self.log = log
        self.binding = Binding(function)
        # Checks the names of static arguments, and runs what can't be split.
        self.whole = Engine(function, options, log, on_wide=on_wide)
        self._narrows = options.default_float == "float32"
        #: What the parts of this function call where they meet 64-bit floats.
        self.on_wide = (on_wide or self._begin_anew) if self._narrows else None
        self._kind_of = _kind_and_width if self._narrows else _kind
        self._is_part = on_wide is not None
        self._meets_wide = False
        self._calls = _Calls()
        self._variants: dict[Kind, Callable[..., Any]] = {}
        self._inner: dict[Any, Callable[..., Any]] = {}
        self._methods: dict[Any, Engine] = {}
        self._forms = Forms(self)
        self._made_exact: Driver | None = None
        self._lock = threading.RLock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self._lock = threading.RLock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        values = self.binding.bind(args, kwargs)
        kind = tuple(map(self._kind_of, values))
        variant = self._variants.get(kind)
        if variant is None:
            variant = self._variant(kind, values)
        return variant(values)

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the function with bound values; only regions heed ``verify``."""
        return self.variant_for(values)(values)

    def variant_for(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """Return what runs calls with arguments like these."""
        return self._variant(tuple(map(self._kind_of, values)), values)

    def _variant(self, kind: Kind, values: Sequence[Any]) -> Callable[..., Any]:
        with self._lock:
            found = self._variants.get(kind)
            if found is not None:
                return found
            if len(self._variants) >= _MAX_VARIANTS:
                made = next(reversed(self._variants.values()))
            else:
                made = self._make(values)
            self._variants[kind] = made
            return made

    def _make(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        if self._narrows and self._has_wide(values):
            return self._exact().variant_for(values)
        if self.definition is None:
            self.log.note_call(sample(values))
        arguments = dict(zip(self.binding.names, values, strict=True))
        try:
            program = signals.held(Program, self, arguments)
        except (CannotSplitError, NoSourceError) as error:
            line = getattr(error, "line", self.function.__code__.co_firstlineno)
            self.log.add_note(
                f"{self.function.__code__.co_filename}:{line}: the loops of "
                f"{self.function.__qualname__} aren't split, because {error}: they are unrolled"
            )
            return self._run_whole
        return self._restarting(program.run) if self._narrows else program.run

    # -- The width of floats --------------------------------------------------

    def _exact(self) -> Driver:
        """Return what runs calls in which there are 64-bit floats: it narrows none."""
        with self._lock:
            if self._made_exact is None:
                options = dataclasses.replace(self.options, default_float="float64")
                self._made_exact = Driver(
                    self.function, options, self.log, self.definition, self.varying
                )
            return self._made_exact

    def _has_wide(self, values: Sequence[Any]) -> bool:
        """Whether a call has 64-bit floats among its arguments, or may meet others."""
        if self._meets_wide:
            return True
        if not self.options.narrow_inputs and wide_data.has_wide(values, scalars=not self._is_part):
            if self.on_wide is not None and self._is_part:
                self.on_wide()
            return True
        if self._is_part:  # The function that calls this one has looked.
            return False
        given = () if self.options.narrow_inputs else values
        return wide_data.reaches_wide(self.function, given)

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one."""
        return self._narrows and not self._has_wide(values)

    def _begin_anew(self) -> None:
        """Have the call made again with nothing narrowed, or say that it can't be."""
        self._meets_wide = True
        if self._calls.is_saved:
            raise wide_data.WideDataError
        self.whole.fall_back(*wide_data.FOUND_LATE)
        self._variants.clear()

    def _restarting(self, run: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
        """Return what makes the first call again if that meets 64-bit floats on its way."""
        is_known = False

        def call(values: Sequence[Any]) -> Any:
            nonlocal is_known
            if is_known or self._is_part:
                return run(values)
            saved = Snapshot(self.function, values)
            self._calls.is_saved = True
            try:
                result = run(values)
            except wide_data.WideDataError:
                saved.restore()
                self._variants.clear()
                return self._exact().run_unverified(values)
            finally:
                self._calls.is_saved = False
            is_known = True
            for kind, variant in list(self._variants.items()):
                if variant is call:
                    self._variants[kind] = run
            return result

        return call

    def _run_whole(self, values: Sequence[Any]) -> Any:
        return self.binding.call(values, lambda *a, **k: self.whole(a, k))

    # -- What split functions call --------------------------------------------

    def inner(self, function: Any, line: int = 0) -> Any:
        """Return what runs a function that is called by a split one, at a line."""
        if loop_detection.is_form(function):
            return self._forms.form(function, line)
        bound = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        if not loop_detection.is_users(plain) or not loop_detection.loops(plain):
            return function
        if plain.__closure__ and bound is None:  # It may be made anew at every call.
            body = self._forms.inner(plain)
            if body is not None:
                return body
        driver = self._inner.get(plain)
        if driver is None:
            made = Driver(plain, self._inner_options, self.log, on_wide=self.on_wide)
            driver = self._inner.setdefault(plain, made)
        if bound is None:
            return lambda *args, **kwargs: driver(args, kwargs)
        return lambda *args, **kwargs: driver((bound, *args), kwargs)

    def appending(self, method: Any) -> Any:
        """Return what appends to a list, or runs the user's own method of that name."""
        plain = getattr(method, "__func__", None)
        if plain is None or not loop_detection.is_users(plain):
            return method
        if loop_detection.loops(plain):
            return self.inner(method)
        engine = self._methods.get(plain)
        if engine is None:
            made = Engine(plain, self._inner_options, self.log, on_wide=self.on_wide)
            engine = self._methods.setdefault(plain, made)
        return lambda *args: engine((method.__self__, *args), NO_KEYWORDS)

    @property
    def calls_others(self) -> bool:
        """Whether other functions with loops were called."""
        return bool(self._inner)

    @property
    def _inner_options(self) -> Options:
        return dataclasses.replace(self.options, static_argnames=())

    def native(self, function: Any) -> Any:
        """Return a NumPy function that is run on a list, under the option ``default_float``."""
        if not self._narrows:
            return function

        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            narrow = _NARROW.get(getattr(result, "dtype", None))  # type: ignore[arg-type]
            if (
                narrow is None
                or not result.ndim
                or "dtype" in kwargs
                or wide_data.has_wide(args, scalars=False)
            ):
                return result
            return result.astype(narrow)

        return call


class _Calls(threading.local):
    """The calls of a function in this thread."""

    #: Whether it's known what everything was before the one that runs.
    is_saved = False


_CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict)
_NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}


def _kind_and_width(value: Any) -> Any:
    """The same where floats are narrowed: whether it holds 64-bit floats decides too."""
    if type(value) is np.ndarray:
        return "wide" if wide_data.is_wide(value) else False
    return _kind(value), wide_data.holds_wide(value)


def _as_index(value: Any) -> Any:
    """Return the bound of a slice as a Python number."""
    return None if value is None else operator.index(value)


def _kind(value: Any) -> Any:
    """What about an argument decides how a function is split."""
    if isinstance(value, torch.Tensor):
        return value.device
    if runtime_arguments.is_array(value):
        return False
    return is_host_value(value) or type(value)


class Program:
    """One split of a function, for one combination of kinds of arguments."""

    def __init__(self, driver: Driver, arguments: Mapping[str, Any]) -> None:
        self.driver = driver
        self.function = driver.function
        self.options = driver.options
        self.arguments = arguments
        definition = copy.deepcopy(driver.definition) or source.definition(self.function)
        self.filename = self.function.__code__.co_filename
        local_names = dataflow.local_names(definition)
        host = {parameter: is_host_value(value) for parameter, value in arguments.items()}
        self.outer = ChainMap(_closure(self.function), self.function.__globals__, builtins.__dict__)
        kinds = Kinds(definition, local_names, host, self.outer)
        nests = self.options.loops in ("auto", "numba")
        lists = frozenset(n for n, v in arguments.items() if type(v) in _CONTAINERS)
        self.split = split(
            definition, kinds, self._callee_loops, self._form, nests=nests, lists=lists
        )
        self.tensors = runtime_arguments.device_of(list(arguments.values()))
        liveness.annotate(self.split.body, local_names | self.split.temporaries)
        self._regions: list[Region] = []
        self._turn_runners: list[TurnRunner] = []
        self._has_nests = False
        self._report()
        self._emit(definition)
        place = f"{self.filename}: {self.function.__qualname__}"
        self._calls = Calls(self, functools.partial(driver.log.set_choice, place))

    def _callee_loops(self, callee: ast.expr) -> bool:
        """Whether an expression that is called leads to a function of the user's that loops."""
        found = self._called(callee)
        return loop_detection.is_form(found) or (
            loop_detection.is_users(found) and loop_detection.loops(found)
        )

    def _form(self, callee: ast.expr) -> Sequence[str] | None:
        """The parameters of a form, those for functions with () after their names."""
        found = self._called(callee)
        if not loop_detection.is_form(found):
            return None
        functions = primitives.FUNCTIONS[found]
        return [f"{n}()" if n in functions else n for n in inspect.signature(found).parameters]

    def _called(self, callee: ast.expr) -> Any:
        """What an expression that is called leads to now, None if that isn't known."""
        found: Any = None
        if isinstance(callee, ast.Name):
            found = self.arguments.get(callee.id, self.outer.get(callee.id))
        elif isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            base = callee.value.id
            owner = self.arguments.get(base, self.outer.get(base))
            found = inspect.getattr_static(owner, callee.attr, None)
            if found is None and owner is not None:
                found = inspect.getattr_static(type(owner), callee.attr, None)
        if is_jitted(found):
            found = inspect.unwrap(found)
        return found

    # -- Making functions -----------------------------------------------------

    def _emit(self, definition: ast.FunctionDef) -> None:
        emitter = _Emitter(self.split, self._may_clone())
        body = emitter.block(self.split.body)
        main = copy.copy(definition)
        main.body = body
        copies = [
            made for found in emitter.loops.values() for made in (found.raw, found.plain) if made
        ]
        nodes = [main, *emitter.definitions.values(), *copies]
        cells: dict[str, types.CellType] = {
            INNER: types.CellType(self.driver.inner),
            NATIVE: types.CellType(self.driver.native),
            APPENDING: types.CellType(self.driver.appending),
            INDEX: types.CellType(_as_index),
        }
        for called in (*emitter.definitions, *emitter.loops):
            cells[called] = types.CellType(None)
        for node in nodes:
            ast.fix_missing_locations(node)
        first, *rest = source.build(nodes, self.function, cells)
        for (region, node), code in zip(emitter.definitions.items(), rest, strict=False):
            cells[region].cell_contents = self._runner(region, node, code, emitter)
        functions = {
            code.co_name: source.as_function(code, self.function, cells)
            for code in rest[len(emitter.definitions) :]
        }
        for loop, found in emitter.loops.items():
            cells[loop].cell_contents = self._turn_runner(found, emitter, cells, functions)
        made = source.as_function(first, self.function, cells)
        made.__defaults__ = self.function.__defaults__
        made.__kwdefaults__ = self.function.__kwdefaults__
        self.main = made

    def _runner(
        self, region: str, node: ast.FunctionDef, code: types.CodeType, emitter: _Emitter
    ) -> Callable[..., Any]:
        function = source.as_function(code, self.function, {})
        if region in emitter.nests:
            from npaccel._loops.nests.nest_runner import NestRunner

            self._has_nests = True
            return NestRunner(self, node, function, emitter.nests[region])
        if self.options.loops == "python":
            return function
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        static = tuple(n for n in self.options.static_argnames if n in parameters)
        options = dataclasses.replace(self.options, static_argnames=static)
        names = self.split.varying | self.driver.varying
        varying = frozenset(i for i, n in enumerate(parameters) if n in names)
        indexing = frozenset(i for i in varying if _indexes(node, parameters[i]))
        engine = Engine(
            function,
            options,
            self.driver.log,
            varying=varying,
            indexing=indexing,
            label=lines(emitter.places[region]),
            on_wide=self.driver.on_wide,
        )
        if not emitter.in_loop[region]:
            return lambda *args: engine(args, NO_KEYWORDS)
        made = Region(engine, functools.partial(self._note_choice, engine.label))
        self._regions.append(made)
        return made

    def _may_clone(self) -> bool:
        return self.options.loops in ("auto", "compile", "numba") and self.tensors is None

    def _turn_runner(
        self,
        found: Clones,
        emitter: _Emitter,
        cells: Mapping[str, types.CellType],
        functions: Mapping[str, types.FunctionType],
    ) -> TurnRunner:
        regions = {
            region: (cells[region].cell_contents, emitter.outputs[region])
            for region in found.regions
        }
        ways = Ways(
            found.loop,
            found.state,
            functions[found.raw.name] if found.raw else None,
            functions[found.plain.name] if found.plain else None,
            found.asked,
            found.lists,
            regions,
            [cells[nest].cell_contents for nest in found.nests if nest in cells],
        )
        made = TurnRunner(ways, functools.partial(self._note_loop, found.loop))
        self._turn_runners.append(made)
        return made

    def _note_loop(self, loop: ast.For | ast.While, engine: str, detail: str) -> None:
        text = source.line(self.filename, loop.lineno)
        self.driver.log.add_loop(Loop(self.filename, loop.lineno, text, engine, detail))

    def _note_choice(self, lines: str, choice: str) -> None:
        self.driver.log.set_choice(f"{self.filename}: {lines}", choice)

    def _report(self) -> None:
        log = self.driver.log
        for loop in self.split.loops:
            text = source.line(self.filename, loop.lineno)
            engine, detail = "compiled body", ""
            if self.options.loops == "python":
                engine = "Python"
            elif not any(map(partition_nodes.is_compiled, ast.walk(loop))):
                engine, detail = "Python", "nothing in it is compiled"
            log.add_loop(Loop(self.filename, loop.lineno, text, engine, detail))
        for line, reason in self.split.native:
            log.add_native(Native(self.filename, line, reason))

    def run(self, values: Sequence[Any]) -> Any:
        """Run the split function."""
        result = self._calls(values)
        return result if self.tensors is None else self._as_tensors(result, values)

    def loops_in_numpy(self) -> bool:
        """Whether NumPy was found to be faster in every region of a loop."""
        by_turns = {
            id(region): runner.chosen
            for runner in self._turn_runners
            if not runner.is_over
            for region, _ in runner.ways.regions.values()
        }
        return (
            bool(self._regions)
            and not self._has_nests
            and all(one.is_in_numpy or by_turns.get(id(one)) is False for one in self._regions)
        )

    def _as_tensors(self, result: Any, values: Sequence[Any]) -> Any:
        """Give arrays that regions without a tensor made as tensors, as the others."""
        own = {id(part) for value in values for _, part in runtime_arguments.parts(value, "")}

        def convert(value: Any) -> Any:
            if isinstance(value, torch.Tensor) or id(value) in own:
                return value
            return runtime_arguments.to_tensor(value).to(self.tensors)

        return runtime_arguments.map_arrays(result, convert)


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[free] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found


def _indexes(definition: ast.FunctionDef, parameter: str) -> bool:
    """Whether a parameter is part of an index."""
    return any(
        isinstance(inner, ast.Name) and inner.id == parameter
        for node in ast.walk(definition)
        if isinstance(node, ast.Subscript)
        for inner in ast.walk(node.slice)
    )


def lines(places: Sequence[ast.AST]) -> str:
    """Return where code stands, for the report."""
    numbers = [
        line
        for place in places
        for node in ast.walk(place)
        for line in (getattr(node, "lineno", None), getattr(node, "end_lineno", None))
        if line is not None
    ]
    first, last = min(numbers), max(numbers)
    return f"line {first}" if first == last else f"lines {first}-{last}"


class _Emitter(ast.NodeTransformer):
    """Turn a split function into plain syntax, with calls of its regions."""

    def __init__(self, parts: Split, clones: bool) -> None:
        self.parts = parts
        self.clones = clones
        self.loops: dict[str, Clones] = {}
        self.outputs: dict[str, int] = {}
        self.definitions: dict[str, ast.FunctionDef] = {}
        self.places: dict[str, list[ast.AST]] = {}
        self.nests: dict[str, Nest] = {}
        self.in_loop: dict[str, bool] = {}

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return plain statements."""
        module = ast.Module(body=list(body), type_ignores=[])
        return self.visit(module).body  # type: ignore[no-any-return]

    def visit_Region(self, node: partition_nodes.Region) -> ast.stmt:
        """A call, and assignments of what comes out."""
        statements = [*node.statements]
        if node.outputs:
            statements.append(_at_end(node, ast.Return(value=_several(node.outputs, ast.Load()))))
        region = self._define(REGION, node.inputs, statements, list(node.own))
        self.in_loop[region] = node.in_loop
        self.outputs[region] = len(node.outputs)
        call = _call(region, node.inputs)
        if not node.outputs:
            new: ast.stmt = ast.Expr(value=call)
        else:
            new = ast.Assign(targets=[_several(node.outputs, ast.Store())], value=call)
        return ast.copy_location(new, node)

    def visit_Inline(self, node: Inline) -> ast.expr:
        """A call that gives the expression's value."""
        local_names = self.parts.kinds.locals | self.parts.temporaries
        inputs = tuple(sorted(node.npaccel_flow().reads & local_names))
        value = ast.copy_location(ast.Return(value=node.value), node)
        region = self._define(REGION, inputs, [*node.definitions, value], [node.value])
        self.in_loop[region] = True
        self.outputs[region] = 1
        return ast.copy_location(_call(region, inputs), node)

    def visit_For(self, node: ast.For) -> Any:
        """A loop, which may call copies of itself."""
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        """A loop, which may call copies of itself."""
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> Any:
        found = getattr(node, "npaccel_original", None)
        node.__dict__.pop("npaccel_original", None)
        live = node.__dict__.pop("npaccel_live", frozenset())
        self.generic_visit(node)
        if found is None or not self.clones:
            return node
        original, bound = found
        place = len(self.loops)
        local_names = self.parts.kinds.locals | self.parts.temporaries
        declared = frozenset(self.parts.declared)
        made = clones(node, original, bound, local_names, live, declared, place)
        if made is None or not all(self.in_loop[region] for region in made.regions):
            return node
        self.loops[LOOP.format(place)] = made
        return with_turns(node, made, place)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """What handlers see is known only if each turn leaves its values behind."""
        return self._without_clones(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        """What is entered may end errors."""
        return self._without_clones(node)

    def _without_clones(self, node: ast.AST) -> ast.AST:
        before, self.clones = self.clones, False
        node = self.generic_visit(node)
        self.clones = before
        return node

    def visit_Nest(self, node: Nest) -> list[ast.stmt]:
        """Either the element-wise engine runs the loops, or the split loops run."""
        last = _at_end(node, ast.Return(value=_tuple(node.outputs, ast.Load())))
        body = [*copy.deepcopy(node.loops), last]
        nest = self._define(NEST, node.inputs, body, list(node.loops))
        self.nests[nest] = node
        result = nest + "_result"
        missing = ast.Compare(left=name(result), ops=[ast.Is()], comparators=[ast.Constant(None)])
        targets: list[ast.expr] = [_tuple(node.outputs, ast.Store())]
        taken: ast.stmt = ast.Assign(targets=targets, value=name(result))
        if not node.outputs:
            taken = ast.Pass()
        choice = ast.If(test=missing, body=self.block(node.split), orelse=[taken])
        made = ast.Assign(targets=[name(result, ast.Store())], value=_call(nest, node.inputs))
        return [ast.copy_location(made, node), ast.copy_location(choice, node)]

    def _declarations(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """What says that names that a region writes are global, or of a closure."""
        written = dataflow.of_statements(statements).writes & self.parts.declared.keys()
        found: dict[type[ast.Global | ast.Nonlocal], list[str]] = {}
        for written_name in sorted(written):
            found.setdefault(self.parts.declared[written_name], []).append(written_name)
        return [ast.copy_location(kind(names=n), statements[0]) for kind, n in found.items()]

    def _define(
        self,
        kind: str,
        inputs: Sequence[str],
        statements: Sequence[ast.stmt],
        places: list[ast.AST],
    ) -> str:
        region = kind.format(len(self.definitions))
        statements = [*self._declarations(statements), *statements]
        made = ast.FunctionDef(
            name=region,
            args=source.parameters(inputs),
            body=list(statements),
            decorator_list=[],
        )
        made.__dict__["type_params"] = []
        ast.copy_location(made, statements[0])
        self.definitions[region] = made
        self.places[region] = places
        return region


def _at_end(node: ast.stmt, new: ast.stmt) -> ast.stmt:
    line = getattr(node, "end_lineno", None) or node.lineno
    new.lineno = new.end_lineno = line
    new.col_offset = new.end_col_offset = node.col_offset
    return new


def _tuple(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    return ast.Tuple(elts=[name(n, context) for n in names], ctx=context)


def _several(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    return name(names[0], context) if len(names) == 1 else _tuple(names, context)


def _call(region: str, inputs: Sequence[str]) -> ast.Call:
    return ast.Call(func=name(region), args=[name(n) for n in inputs], keywords=[])
