"""One split of a function: its regions as functions of their own, and Python that calls them."""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import dataclasses
import functools
import inspect
import operator
import types
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from npaccel._compiler.dispatcher import NO_KEYWORDS, Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.control_flow import primitives
from npaccel._loops.driver.callees import Callees
from npaccel._loops.driver.emitter import SplitEmitter
from npaccel._loops.driver.iterations import LoopScheduler, LoopVariants
from npaccel._loops.driver.loop_variants import VariantDefinitions
from npaccel._loops.driver.region import Region
from npaccel._loops.driver.whole_function import Calls
from npaccel._loops.partition import index_loops, liveness
from npaccel._loops.partition import nodes as partition_nodes
from npaccel._loops.partition.host_values import HostValues
from npaccel._loops.partition.nodes import APPENDING, INDEX, INNER, NATIVE
from npaccel._loops.partition.objects import Scope
from npaccel._loops.partition.partition import split
from npaccel._report import Loop
from npaccel._report.details import Native
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime.callables import is_jitted
from npaccel._syntax import loop_detection, source

_CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict)


class Program:
    """One split of a function, for one combination of kinds of arguments.

    Parameters
    ----------
    spec : FunctionSpec
    callees : Callees
    arguments : mapping
        The first call's, by name: their kinds decide how the function is split.
    definition : ast.FunctionDef, optional
        The function's syntax tree, where that isn't in a file.
    varying : frozenset of str
        Parameters whose numbers differ from call to call.
    on_wide : callable, optional
        Where the function narrows floats: is called where a region meets 64-bit ones.
    """

    def __init__(
        self,
        spec: FunctionSpec,
        callees: Callees,
        arguments: Mapping[str, Any],
        definition: ast.FunctionDef | None = None,
        *,
        varying: frozenset[str] = frozenset(),
        on_wide: Callable[[], None] | None = None,
    ) -> None:
        self.spec = spec
        self.function = spec.function
        self.options = spec.options
        self.arguments = arguments = dict(arguments)
        self._callees = callees
        self._varying = varying
        self._on_wide = on_wide
        definition = copy.deepcopy(definition) or source.definition(self.function)
        self.filename = self.function.__code__.co_filename
        self.outer = ChainMap(_closure(self.function), self.function.__globals__, builtins.__dict__)
        definition = index_loops.expanded(Scope(definition, arguments, self.outer))
        scope = Scope(definition, arguments, self.outer)  # With the names of new loops.
        nests = self.options.loops in ("auto", "numba")
        lists = frozenset(n for n, v in arguments.items() if type(v) in _CONTAINERS)
        self.split = split(
            definition,
            HostValues(scope),
            self._callee_loops,
            self._primitive,
            nests=nests,
            lists=lists,
            of_items=frozenset(n for n, v in arguments.items() if runtime_arguments.holds_items(v)),
        )
        self.tensors = runtime_arguments.device_of(list(arguments.values()))
        liveness.annotate(self.split.body, scope.local_names | self.split.temporaries)
        self._regions: list[Region] = []
        self._schedulers: list[LoopScheduler] = []
        self._has_nests = False
        self._report()
        self._emit(definition)
        arguments.clear()  # The first call's arrays are the caller's.
        place = f"{self.filename}: {self.function.__qualname__}"
        self._calls = Calls(self, functools.partial(spec.log.set_choice, place))

    def _callee_loops(self, callee: ast.expr) -> bool:
        """Whether an expression that is called leads to a function of the user's that loops."""
        found = self._called(callee)
        return loop_detection.is_primitive(found) or (
            loop_detection.is_users(found) and loop_detection.loops(found)
        )

    def _primitive(self, callee: ast.expr) -> Sequence[str] | None:
        """Return a control-flow primitive's parameters, those for functions with () behind."""
        found = self._called(callee)
        if not loop_detection.is_primitive(found):
            return None
        functions = primitives.FUNCTIONS[found]
        return [f"{n}()" if n in functions else n for n in inspect.signature(found).parameters]

    def _called(self, callee: ast.expr) -> Any:
        """Object that an expression that is called leads to now, None if that isn't known."""
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
        emitter = SplitEmitter(self.split, self._may_have_variants())
        body = emitter.block(self.split.body)
        main = copy.copy(definition)
        main.body = body
        copies = [
            made
            for found in emitter.loops.values()
            for made in (found.on_tensors, found.in_numpy)
            if made
        ]
        nodes = [main, *emitter.definitions.values(), *copies]
        cells: dict[str, types.CellType] = {
            INNER: types.CellType(self._callees.inner),
            NATIVE: types.CellType(self._callees.native),
            APPENDING: types.CellType(self._callees.appending),
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
            cells[loop].cell_contents = self._scheduler(found, emitter, cells, functions)
        made = source.as_function(first, self.function, cells)
        made.__defaults__ = self.function.__defaults__
        made.__kwdefaults__ = self.function.__kwdefaults__
        self.main = made

    def _runner(
        self, region: str, node: ast.FunctionDef, code: types.CodeType, emitter: SplitEmitter
    ) -> Callable[..., Any]:
        function = source.as_function(code, self.function, {})
        if region in emitter.nests:
            from npaccel._loops.nests.nest_runner import NestRunner

            self._has_nests = True
            return NestRunner(
                self.spec, self.outer, self._on_wide, node, function, emitter.nests[region]
            )
        if self.options.loops == "python":
            return function
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        static = tuple(n for n in self.options.static_argnames if n in parameters)
        options = dataclasses.replace(self.options, static_argnames=static)
        names = self.split.varying | self._varying
        varying = frozenset(i for i, n in enumerate(parameters) if n in names)
        indexing = frozenset(i for i in varying if _indexes(node, parameters[i]))
        spec = FunctionSpec(
            function,
            options,
            self.spec.log,
            varying=varying,
            label=source.lines(emitter.places[region]),
            on_wide=self._on_wide,
        )
        # Where floats may be narrowed, the first capture of all regions decides for all of them.
        exact = options.default_float == "float64"
        dispatcher = Dispatcher(spec, indexing, may_go_behind=exact)
        if not emitter.in_loop[region]:
            return lambda *args: dispatcher(args, NO_KEYWORDS)
        made = Region(dispatcher, functools.partial(self._note_choice, spec.label))
        self._regions.append(made)
        return made

    def _may_have_variants(self) -> bool:
        return self.options.loops in ("auto", "compile", "numba") and self.tensors is None

    def _scheduler(
        self,
        found: VariantDefinitions,
        emitter: SplitEmitter,
        cells: Mapping[str, types.CellType],
        functions: Mapping[str, types.FunctionType],
    ) -> LoopScheduler:
        regions = {
            region: (cells[region].cell_contents, emitter.outputs[region])
            for region in found.regions
        }
        variants = LoopVariants(
            found.loop,
            found.state,
            functions[found.on_tensors.name] if found.on_tensors else None,
            functions[found.in_numpy.name] if found.in_numpy else None,
            found.host_reads,
            found.lists,
            regions,
            [cells[nest].cell_contents for nest in found.nests if nest in cells],
        )
        made = LoopScheduler(variants, functools.partial(self._note_loop, found.loop))
        self._schedulers.append(made)
        return made

    def _note_loop(self, loop: ast.For | ast.While, engine: str, detail: str) -> None:
        text = source.line(self.filename, loop.lineno)
        end = loop.end_lineno or loop.lineno
        self.spec.log.add_loop(Loop(self.filename, loop.lineno, text, engine, detail, end))

    def _note_choice(self, lines: str, choice: str) -> None:
        self.spec.log.set_choice(f"{self.filename}: {lines}", choice)

    def _report(self) -> None:
        log = self.spec.log
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

    def calls_others(self) -> bool:
        """Return whether it has called other functions with loops."""
        return self._callees.calls_others()

    def run(self, values: Sequence[Any]) -> Any:
        """Run the split function."""
        result = self._calls(values)
        return result if self.tensors is None else self._as_tensors(result, values)

    def loops_in_numpy(self) -> bool:
        """Whether NumPy was found to be faster in every region of a loop."""
        by_iterations = {
            id(region): runner.chosen
            for runner in self._schedulers
            if not runner.is_over
            for region, _ in runner.variants.regions.values()
        }
        return (
            bool(self._regions)
            and not self._has_nests
            and all(one.is_in_numpy or by_iterations.get(id(one)) is False for one in self._regions)
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


def _as_index(value: Any) -> Any:
    """Return the bound of a slice as a Python number."""
    return None if value is None else operator.index(value)
