"""Run a captured frame with its compiled graph, and plan later calls without it."""

from __future__ import annotations

import dataclasses
import dis
import functools
import re
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler import error_recovery
from npaccel._compiler.call_arguments import Call
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._process import signals
from npaccel._report.details import Details
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import device_transfer, guard_serialization, guards
from npaccel._runtime import outputs as runtime_outputs
from npaccel._runtime.error_translation import (
    FAILURES,
    CompiledCodeError,
    UncompiledForMemoryError,
    is_out_of_memory,
)
from npaccel._runtime.guard_serialization import NotKeepableError
from npaccel._runtime.guards import Condition, UnknownGuardError, array_like
from npaccel._runtime.host_rng import restore
from npaccel._runtime.runner import (
    FAILED,
    MISS,
    Compiled,
    InputPlan,
    Plan,
    Runner,
    copy_back,
    draw_functions,
    is_apart,
    make_check,
)
from npaccel._runtime.torch.loader import Code
from npaccel._torch.dynamo.capture import Capture
from npaccel._torch.dynamo.reads import MovedError
from npaccel._torch.inductor.compile import CompiledGraph


@dataclasses.dataclass
class Outcome:
    """A compiled signature and the result of its first call.

    Either `compiled` is set, or `runner` runs Dynamo's frame itself.
    """

    result: Any
    compiled: Compiled | None
    runner: Runner
    generic: bool
    source: str
    not_kept: str = ""
    conditions: Sequence[Condition] = ()
    details: Details = dataclasses.field(default_factory=Details)
    stages: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Uncompiled:
    """A signature that isn't compiled as one graph."""

    runner: Runner


class OverlapError(Exception):
    """Arrays that the graph writes to share memory with other inputs."""


class ReadOnlyError(Exception):
    """The graph writes to a read-only array."""


class NumPysCallError(Exception):
    """NumPy has to make a call: it refuses to draw random numbers, or one has over 64 bits."""


class Frame:
    """A captured frame with its compiled graph."""

    def __init__(
        self,
        call: Call,
        capture: Capture,
        compiled: CompiledGraph | None,
        settings: TraceSettings,
    ) -> None:
        self.engine = call.engine
        self.call = call
        self.capture = capture
        self.compiled = compiled
        self.settings = settings
        self.backend = call.engine.options.backend
        self.draws = capture.draws.rewritten(self._expression, True)
        self.inputs = self._plan_inputs()
        self.draw, self.save = draw_functions(
            self.draws, self.engine.scope, len(capture.inputs), str(call.device)
        )
        self.function = self._make_function()
        self.shared: tuple[int, ...] = ()
        #: What the code assumes of arrays that aren't arguments, by expression.
        self.layouts: dict[str, Any] = {}

    def __del__(self) -> None:
        self._forget_graph()

    def _forget_graph(self) -> None:
        self.engine.function.__globals__.pop(self.capture.backend_name, None)

    def _expression(self, text: str) -> str:
        return self.engine.scope.expression(text, self.capture.imports)

    def _make_function(self) -> types.FunctionType:
        function = self.engine.function
        if self.capture.graph is not None:
            function.__globals__[self.capture.backend_name] = _weakly(self._graph)
        made = types.FunctionType(
            self.capture.bytecode,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    def _plan_inputs(self) -> tuple[InputPlan, ...]:
        plans = []
        for item in self.capture.inputs:
            expression = self._expression(item.expression)
            known = self.call.known.get(expression)
            if item.is_symbol:
                plans.append(InputPlan(expression, "symbol"))
            elif item.is_number:
                plans.append(InputPlan(expression, "number"))
            elif expression in self.call.hows:
                plans.append(
                    InputPlan(expression, self.call.hows[expression], self.call.narrows(known))
                )
            else:
                plans.append(InputPlan(expression, "any"))
        return (*plans, *(InputPlan(name, "drawn") for name in self.draws.inputs))

    def first_run(self) -> Outcome | Uncompiled:
        """Run the frame, and plan how later calls do without it."""
        try:
            return self._first_run()
        finally:
            self.call.forget()
            self.capture.forget()

    def _first_run(self) -> Outcome | Uncompiled:
        written = self._written() if self.compiled else ()
        if any(self.inputs[i].how == "readonly" for i in written):
            return Uncompiled(self.engine.plain)  # NumPy raises its error at the user's line.
        self.conditions = self._make_conditions()
        self.layouts = {
            c.expression: c.expected for c in self.conditions or () if c.kind == "array"
        }
        # Other signatures come here too: what the key of this one holds isn't theirs.
        has_guard = self.capture.has_symbols or self.capture.shape_guard is not None
        is_checked = self.conditions is None or (has_guard and self.capture.has_side_effects)
        if is_checked:
            self.check = self._dynamo_check()  # Before the function changes what is checked.
        elif not has_guard:
            assert self.conditions is not None
            self.check = make_check(self.conditions, self.engine.scope)
        if self.capture.has_moved():
            raise MovedError
        outcome = self._run_and_plan()
        unplanned = isinstance(outcome, Outcome) and outcome.compiled is None
        if unplanned and has_guard and not is_checked:
            self.check = self._dynamo_check()
        return outcome

    def _run_and_plan(self) -> Outcome | Uncompiled:
        try:
            run = self._new_run()
            result = self.run_frame(self.call.values, run)
        except OverlapError:
            result = self.engine._overlapping(self.call.values)
            return Outcome(result, None, self.runner, False, self._source(), "")
        except ReadOnlyError:
            return Uncompiled(self.engine.plain)
        except NumPysCallError:
            result = self.engine.plain(self.call.values)
            return Outcome(result, None, self.runner, False, self._source(), "")
        except CompiledCodeError as failure:
            if failure.undone and is_out_of_memory(failure.error):
                raise UncompiledForMemoryError(str(failure)) from failure
            result = error_recovery.after_error(self.engine, failure, self.call.values)
            return Outcome(result, None, self.runner, False, self._source(), "")
        compiled, why = self._plan(result, run)
        if compiled is not None:
            self._forget_graph()
            if self.capture.has_moved():  # What the result is made of may be from after that.
                return Uncompiled(self.engine.once(lambda _: result))
        return Outcome(
            result=result,
            compiled=compiled,
            runner=self.runner,
            generic=self.capture.has_symbols,
            source=self._source(),
            not_kept=why,
            conditions=self.conditions or (),
            details=self._details(result),
        )

    def _details(self, result: Any) -> Details:
        """What the report says of the graph's lines and of what a call copies."""
        lines = self.compiled.lines if self.compiled else ()
        if device_transfer.is_host(self.call.device):
            return Details(lines, self.capture.narrowed)
        given = [self.call.known.get(plan.expression) for plan in self.inputs]
        written = [given[i] for i in self._written()] if self.compiled else []
        made = [part for _, part in runtime_arguments.parts(result, "")]
        return Details(
            lines,
            self.capture.narrowed,
            to_device=_host_bytes(given),
            to_host=_host_bytes(written) + _host_bytes(made),
        )

    def _source(self) -> str:
        return self.compiled.source if self.compiled else ""

    # -- Running the frame ----------------------------------------------------

    def runner(self, values: Sequence[Any]) -> Any:
        """Run the frame for a later call, if it's the one for it."""
        if not self.check(values):
            return MISS
        try:
            return self.run_frame(values, self._new_run())
        except OverlapError:
            return self.engine._overlapping(values)
        except ReadOnlyError:
            return self.engine.plain(values)
        except NumPysCallError:
            return FAILED
        except MovedError:
            return MISS

    def _new_run(self) -> runtime_outputs.Run:
        capture = self.capture
        return runtime_outputs.Run(
            capture.scalar_outputs, capture.read_only_outputs, self.call.tensors
        )

    def run_frame(self, values: Sequence[Any], run: runtime_outputs.Run) -> Any:
        """Run Dynamo's frame on the caller's own objects."""
        binding = self.engine.binding
        run.values = values
        if not self.capture.has_sizes:
            return runtime_outputs.running(run, binding.call, (values, self.function))
        # Sizes are read off tensors, so that the frame needs those.
        originals: dict[int, Any] = dict(run.wrapped)

        def convert(value: Any) -> torch.Tensor:
            tensor = self.call.convert(value)
            originals[id(tensor)] = value
            return tensor

        converted = [runtime_arguments.map_arrays(value, convert) for value in values]
        run.wrapped = originals
        result = runtime_outputs.running(run, binding.call, (converted, self.function))
        return runtime_arguments.map_arrays(result, lambda a: originals.get(id(a), a))

    def _graph(self, *inputs: Any) -> Any:
        """Compute the graph; called by the frame."""
        compiled, run = (
            self.compiled,
            runtime_outputs.current(),
        )  # Other threads have runs of their own.
        assert compiled is not None
        assert run is not None
        if run.replays:
            return run.outputs
        inputs = tuple(run.entered.get(id(value), (None, value))[1] for value in inputs)
        given = self.inputs[: len(inputs)]
        self._check_numbers(inputs)
        tensors = [
            value if plan.how in ("symbol", "number") else self._input(value, run)
            for value, plan in zip(inputs, given, strict=True)
        ]
        originals = [run.wrapped.get(id(value), value) for value in inputs]
        for original, plan in zip(originals, given, strict=True):
            layout = self.layouts.get(plan.expression)
            if layout is not None and not array_like(original, layout):
                raise MovedError  # The code would read past its end.
        if self._written() and runtime_outputs.has_overlap(originals, self._written()):
            raise OverlapError
        if any(_is_read_only(inputs[i]) for i in self._written()):
            raise ReadOnlyError
        before = self.save(run.values)
        try:
            tensors += self._drawn(run, tensors)
            outputs = self._compute(compiled, tensors)
            self._write_back(originals, tensors)
        except Exception as error:
            restore(before)
            if isinstance(error, FAILURES):
                undone = not (compiled.leaves and self._written())
                raise CompiledCodeError(error, undone) from error
            raise
        self.shared = runtime_outputs.falsely_shared(outputs, self.capture.output_memory)
        run.outputs = outputs = runtime_outputs.apart(outputs, self.shared)
        run.read_only = [
            tensor
            for tensor, original in zip(tensors, originals, strict=False)
            if _is_read_only(original)
        ]
        run.inputs = tensors
        maps = {i: one for i, one in enumerate(originals) if isinstance(one, np.memmap)}
        viewed = enumerate(self.capture.viewed_inputs)
        run.mapped = {output: maps[i] for output, i in viewed if i in maps}
        if not (self.call.tensors or device_transfer.is_host(self.call.device)):
            run.uploaded = self._uploaded(tensors, originals)
        return outputs

    def _uploaded(
        self, tensors: Sequence[Any], originals: Sequence[Any]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The inputs that are copies on the device, and the caller's arrays as tensors."""
        kept = [
            i
            for i, original in enumerate(originals)
            if isinstance(original, np.ndarray)
            and isinstance(tensors[i], torch.Tensor)
            and runtime_arguments.how_converted(original) not in runtime_arguments.COPYING
            and not self.call.narrows(original)
        ]
        return [tensors[i] for i in kept], [runtime_arguments.to_tensor(originals[i]) for i in kept]

    def _check_numbers(self, inputs: Sequence[Any]) -> None:
        for value, plan in zip(inputs, self.inputs, strict=False):
            if plan.how == "symbol" and type(value) is int and not -(2**63) <= value < 2**63:
                self.engine.fall_back(
                    "a number is an int that int64 can't hold, so this call runs in NumPy",
                    "keep such numbers out of the function",
                )
                raise NumPysCallError

    def _written(self) -> list[int]:
        """The inputs that the graph writes to, without those that nobody else has."""
        assert self.compiled is not None
        return [i for i in self.compiled.mutated if self.inputs[i].how != "drawn"]

    def _drawn(self, run: runtime_outputs.Run, tensors: Sequence[Any]) -> list[torch.Tensor]:
        try:
            return self.draw(run.values, tensors)
        except Exception as error:
            if signals.from_handler(error):
                raise
            raise NumPysCallError from error

    def _input(self, value: Any, run: runtime_outputs.Run) -> torch.Tensor:
        tensor = self.call.convert(value)
        if tensor is not value:
            run.wrapped.setdefault(id(tensor), value)
        return tensor

    def _compute(self, compiled: CompiledGraph, tensors: list[Any]) -> Any:
        if self.backend == "inductor":
            return compiled.full(*tensors)
        with tracing(self.settings):
            return compiled.full(*tensors)

    def _write_back(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> None:
        for i in self._written():
            original = inputs[i]
            if _is_read_only(original):
                raise ReadOnlyError
            if self.inputs[i].how in runtime_arguments.COPYING or is_apart(original, tensors[i]):
                copy_back(original, tensors[i])

    # -- Planning -------------------------------------------------------------

    def _make_conditions(self) -> list[Condition] | None:
        """Return the guards as npaccel's conditions; None if one of them has no such form."""
        scope = self.engine.scope
        try:
            return guards.make_conditions(
                self.capture.guards,
                scope,
                self.call.arguments,
                imports=self.capture.imports,
                in_key=functools.partial(self.call.in_key, self.capture.has_symbols),
            ) + guards.method_conditions(
                self.capture.guards,
                self.capture.traced_code,
                scope,
                self.call.arguments,
                self.capture.imports,
            )
        except UnknownGuardError as error:
            self.unknown = str(error)
            return None

    def _dynamo_check(self) -> Callable[[Sequence[Any]], bool]:
        """Return Dynamo's check of its guards: takes some time to build."""
        assert self.capture.build_check is not None
        try:
            dynamo_check = self.capture.build_check()
        except AssertionError as error:  # Its first check fails.
            if self.capture.has_moved():
                raise MovedError from error
            raise
        names = self.engine.binding.names

        def check(values: Sequence[Any]) -> bool:
            converted = [runtime_arguments.map_arrays(value, self.call.convert) for value in values]
            local_values = dict(zip(names, converted, strict=True))
            function = self.engine.function
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            local_values |= {name: cell.cell_contents for name, cell in cells}
            return dynamo_check(local_values)

        return check

    def _plan(self, result: Any, run: runtime_outputs.Run) -> tuple[Compiled | None, str]:
        """Plan later calls without the frame; or say why the frame is needed."""
        capture, compiled = self.capture, self.compiled
        if self.conditions is None:
            return None, self.unknown
        if compiled is None:
            return None, "it computes nothing on arrays"
        if capture.has_side_effects:
            return None, "it changes objects besides arrays"
        arguments = {
            id(part): expression
            for expression, part in self.call.known.items()
            if type(part) not in runtime_outputs.CONSTANTS
        }
        numbers = self._other_numbers()
        nested = sum(type(part) in (int, float) for part in self.call.known.values()) > len(numbers)
        constants = (
            not capture.has_sizes
            and not (capture.has_symbols and nested)
            and all(isinstance(output, torch.Tensor) for output in run.outputs)
            and not self.draws.lines
            and _constants_are_fixed(capture)
        )
        numbers = numbers if constants else {}
        if any(isinstance(kind, str) for kind in run.scalars) or _has_bools(run) or numbers:
            result, run = self._replayed(run, numbers)
            arguments |= {id(number): expression for expression, number in numbers.items()}
        made = runtime_outputs.template(result, run, arguments, constants=constants)
        if made is None:
            return None, "its result holds objects that only Python can make"
        # An argument that came twice is one result here, and may be two in the next call.
        known = self.call.known
        conditions = [*self.conditions] + [
            Condition(expression, "alias", argument)
            for argument in runtime_outputs.arguments_of(made)
            for expression, part in known.items()
            if expression != argument
            and part is known.get(argument)
            and type(part) not in runtime_outputs.CONSTANTS
        ]
        views = self._views(made, run)
        if views is None:
            return None, "its result is a view of an array that had to be copied"
        shape_guard = self._shape_guard()
        if shape_guard is None and capture.shape_guard is not None:
            return None, "it depends on sizes that only Dynamo can check"
        call, boxed = self._callable(compiled, run)
        used = {output.index for output in runtime_outputs.outputs_of(made)}
        plan = Plan(
            inputs=self.inputs,
            result=made,
            written=tuple(self._written()),
            read_only=views,
            tensors=self.call.tensors,
            device=str(self.call.device),
            shape_guard=shape_guard,
            is_generic=capture.has_symbols,
            boxed=boxed,
            shared=self.shared,
            draws=dataclasses.replace(self.draws, may_fail=self._may_fail()),
            returned=tuple(pair for pair in compiled.returned if boxed and pair[0] in used),
            has_wide_data=not self.settings.narrow,
            undoes=compiled.undoes,
            mapped=tuple(
                (output, i)
                for output, i in enumerate(capture.viewed_inputs)
                if i is not None and output in run.mapped and output in used
            ),
            leaves=compiled.leaves,
        )
        not_kept = self._why_not_kept(compiled, boxed)
        files: list[list[Any]] = []
        if not not_kept:
            try:
                files = guard_serialization.uncovered_files(
                    capture.traced_code, capture.code, conditions
                )
            except NotKeepableError as error:
                not_kept = str(error)
        kernels = compiled.kernels or []
        code = Code(call, compiled.on_arrays if boxed else None)
        return (
            Compiled(plan, code, conditions, compiled.source, kernels, files, not_kept),
            not_kept,
        )

    def _may_fail(self) -> bool:
        """Whether a draw or the graph may raise, so that what was drawn has to be undone."""
        if any(_is_variable(line.arguments) for line in self.draws.lines):
            return True
        return self.compiled is not None and self.compiled.raises

    def _other_numbers(self) -> dict[str, Any]:
        """Return numbers to be given for those of the arguments, each an object of its own."""
        given = zip(self.engine.binding.names, self.call.values, strict=True)
        return {
            f"a_{name}": type(value)(2**40 + place)
            for place, (name, value) in enumerate(given)
            if type(value) in (int, float)
        }

    def _replayed(
        self, run: runtime_outputs.Run, numbers: Mapping[str, Any]
    ) -> tuple[Any, runtime_outputs.Run]:
        """Run the frame without computing anything, to see where numbers and bools go.

        Parameters
        ----------
        run : Run
        numbers : mapping
            What to give instead of numbers among the arguments.
        """
        names = self.engine.binding.names
        values = [
            numbers.get(f"a_{name}", value)
            for name, value in zip(names, self.call.values, strict=True)
        ]
        again = self._new_run()
        again.replays = True
        again.outputs, again.inputs, again.wrapped = run.outputs, run.inputs, run.wrapped
        again.read_only, again.uploaded, again.mapped = run.read_only, run.uploaded, run.mapped
        return self.run_frame(values, again), again

    def _shape_guard(self) -> str | None:
        """Conditions on sizes and numbers, in the names of a runner; None if there's no form."""
        capture = self.capture
        if capture.shape_guard is None:
            return None
        try:
            text, others = capture.shape_guard()
        except (AssertionError, IndexError):  # torch finds no source for a size.
            return None
        for name, expression in others.items():
            if name not in text:
                continue
            found = re.fullmatch(r"(L\['\w+'\])(?:\.size\(\)\[(\d+)\])?", expression)
            if found is None:
                return None
            owner = self.engine.scope.expression(found[1], capture.imports)
            text = text.replace(name, owner if found[2] is None else f"{owner}.shape[{found[2]}]")
        return text

    def _why_not_kept(self, compiled: CompiledGraph, boxed: bool) -> str:
        if compiled.not_portable:
            return compiled.not_portable
        if not boxed:
            return "its outputs aren't those of the generated code"
        return "" if device_transfer.is_host(self.call.device) else "it runs on a device"

    def _callable(
        self, compiled: CompiledGraph, run: runtime_outputs.Run
    ) -> tuple[Callable[..., Any], bool]:
        """Choose between the generated code itself and AOTAutograd's wrapper."""
        if self.backend != "inductor":
            return self._interpreted(compiled), False
        if compiled.inner is None or not self._inner_keeps_views(compiled, run):
            return compiled.full, False
        return compiled.inner, True

    def _interpreted(self, compiled: CompiledGraph) -> Callable[..., Any]:
        settings = self.settings

        def call(*tensors: Any) -> Any:
            with tracing(settings):
                return compiled.full(*tensors)

        return call

    def _inner_keeps_views(self, compiled: CompiledGraph, run: runtime_outputs.Run) -> bool:
        """Whether the outputs that must be views of inputs are so in the generated code.

        Nothing is written in this case, so that it may be run for the check.
        """
        views = compiled.views
        if not views:
            return True
        assert compiled.inner is not None
        outputs = compiled.inner(list(run.inputs))
        return all(
            not outputs[i].numel() or runtime_outputs.is_view_of(outputs[i], run.inputs) is not None
            for i in views
        )

    def _views(
        self, made: runtime_outputs.Template, run: runtime_outputs.Run
    ) -> frozenset[int] | None:
        """The outputs that are read-only arrays; None if one is a view of a copy."""
        found = set()
        for output in runtime_outputs.outputs_of(made):
            tensor = run.outputs[output.index]
            if self.capture.read_only_outputs[output.index] and not output.is_scalar:
                found.add(output.index)
            owner = (
                runtime_outputs.is_view_of(tensor, run.inputs)
                if isinstance(tensor, torch.Tensor)
                else None
            )
            if owner is None:
                continue
            item = self.inputs[owner]
            if _is_read_only(self.call.known.get(item.expression)):
                found.add(output.index)
            copies = item.how in runtime_arguments.COPYING and self.backend == "inductor"
            if copies and not output.is_scalar:
                return None
        return frozenset(found)


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return what calls a method of an object that lives as long as it's needed.

    Dynamo's code looks for its graph in the module, where nothing is ever dropped.
    """
    found = weakref.WeakMethod(method)

    def call(*args: Any) -> Any:
        bound = found()
        assert bound is not None
        return bound(*args)

    return call


def _host_bytes(values: Sequence[Any]) -> int:
    """The size of the arrays that are NumPy's."""
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray | np.generic))


def _is_variable(arguments: str) -> bool:
    """Whether Python for arguments depends on the call."""
    return bool(re.search(r"\bt\d+\b", arguments))


def _is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable


def _has_bools(run: runtime_outputs.Run) -> bool:
    """Whether a result is a NumPy bool: all that are equal are one object."""
    pairs = zip(run.outputs, run.scalars, strict=False)
    return any(scalar and output.dtype == torch.bool for output, scalar in pairs)


def _constants_are_fixed(capture: Capture) -> bool:
    """Whether the frame takes the constants of its result from nowhere but its code."""
    own = ("__import_", "__compiled_fn", "___module_")
    instructions = list(dis.get_instructions(capture.bytecode))
    stores = [
        i.opname == "STORE_FAST" and str(i.argval).startswith("graph_out") for i in instructions
    ]
    start = stores.index(True) + 1 if True in stores else 0  # All of it, if nothing comes out.
    is_own = False
    for instruction in instructions[start:]:
        name = str(instruction.argval)
        was_own = is_own
        is_own = instruction.opname == "LOAD_GLOBAL" and name.startswith(own)
        if instruction.opname == "LOAD_GLOBAL" and not is_own:
            return False
        looks = instruction.opname in ("LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD")
        if looks and not was_own and name != "leave":
            return False
    return True
