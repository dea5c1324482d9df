"""Run a captured frame with its compiled graph, as Dynamo's code asks for it."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler import fallback
from npaccel._compiler.call_arguments import Call
from npaccel._compiler.fallback import DeclinedError
from npaccel._compiler.frame_guards import dynamo_check, own_guards
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._process import signals
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import device_transfer
from npaccel._runtime import outputs as runtime_outputs
from npaccel._runtime.callables import with_code
from npaccel._runtime.error_translation import FAILURES, CompiledCodeError
from npaccel._runtime.guards import Guard, array_like
from npaccel._runtime.host_rng import restore
from npaccel._runtime.plan import InputPlan
from npaccel._runtime.runner import (
    MISS,
    OVERLAP,
    TO_NUMPY,
    copy_back,
    draw_functions,
    is_apart,
    make_check,
)
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.reads import MovedError
from npaccel._torch.inductor.compile import CompiledGraph


class Frame:
    """A captured frame with its compiled graph.

    Parameters
    ----------
    call : Call
        The first one, which was captured. It isn't kept.
    capture : Capture
    compiled : CompiledGraph or None
        None if the frame computes nothing on arrays.
    settings : TraceSettings

    Attributes
    ----------
    inputs : tuple of InputPlan
    guards : list of Guard or None
        What the capture depends on, once `guard` was called; None, and `unknown` says why, if only
        Dynamo can check it.
    shared : tuple of int
        The outputs of the last run that share memory which NumPy's wouldn't.
    """

    def __init__(
        self,
        call: Call,
        capture: Capture,
        compiled: CompiledGraph | None,
        settings: TraceSettings,
    ) -> None:
        self.spec = call.spec
        self.converter = call.converter
        self.takes_tensors = call.tensors
        self.capture = capture
        self.compiled = compiled
        self.settings = settings
        self.backend = call.spec.options.backend
        self.draws = capture.draws.rewritten(self.expression, True)
        self.writes = capture.object_writes or ()
        self.inputs = self._plan_inputs(call)
        self.draw, self.save = draw_functions(
            self.draws, self.spec.scope, len(capture.inputs), str(call.device)
        )
        self.function = self._make_function()
        self.shared: tuple[int, ...] = ()
        self.guards: list[Guard] | None = None
        self.unknown = ""
        #: Assumptions of the code on arrays that aren't arguments, by expression.
        self.layouts: dict[str, Any] = {}
        # Other signatures come here too: what the key of this one holds isn't theirs.
        self._has_shape_guard = capture.has_symbols or capture.shape_guard is not None
        #: Says whether the frame is the one for a call; None before `guard`.
        self.check: Callable[[Sequence[Any]], bool] | None = None

    def guard(self, call: Call) -> None:
        """Make the guards for later calls, before the function changes what they check.

        Raises
        ------
        MovedError
            If what was read has changed since the capture.
        """
        self.guards, self.unknown = own_guards(call, self.capture)
        self.layouts = {
            one.expression: one.expected for one in self.guards or () if one.kind == "array"
        }
        if self.guards is None or (self._has_shape_guard and self.capture.has_side_effects):
            self.check = dynamo_check(call, self.capture)
        elif not self._has_shape_guard:
            self.check = make_check(self.guards, self.spec.scope)
        if self.capture.has_moved():
            raise MovedError

    def guard_unplanned(self, call: Call) -> None:
        """Have guards checked that a plan would have held."""
        if self.check is None:
            self.check = dynamo_check(call, self.capture)

    def __del__(self) -> None:
        self.release_graph()

    def release_graph(self) -> None:
        """Release the graph, which Dynamo's code looks for in the function's module."""
        self.spec.function.__globals__.pop(self.capture.backend_name, None)

    def expression(self, text: str) -> str:
        """Rewrite an expression of Dynamo's in the names of `Scope`."""
        return self.spec.scope.expression(text, self.capture.imports)

    def _make_function(self) -> types.FunctionType:
        function = self.spec.function
        if self.capture.graph is not None:
            function.__globals__[self.capture.backend_name] = _weakly(self._graph)
        return with_code(function, self.capture.bytecode, function.__closure__)

    def _plan_inputs(self, call: Call) -> tuple[InputPlan, ...]:
        plans = []
        for item in self.capture.inputs:
            expression = self.expression(item.expression)
            known = call.known.get(expression)
            if item.is_symbol:
                plans.append(InputPlan(expression, "symbol"))
            elif item.is_number:
                plans.append(InputPlan(expression, "number"))
            elif expression in call.conversions:
                narrow = self.converter.narrows(known)
                plans.append(InputPlan(expression, call.conversions[expression], narrow))
            else:
                plans.append(InputPlan(expression, "any"))
        return (*plans, *(InputPlan(name, "drawn") for name in self.draws.inputs))

    def runner(self, values: Sequence[Any]) -> Any:
        """Run the frame for a later call, if it's the one for it."""
        assert self.check is not None
        if not self.check(values):
            return MISS
        try:
            return self.run_frame(values, self.new_run())
        except DeclinedError as error:
            return error.declined
        except MovedError:
            return MISS

    def new_run(self) -> runtime_outputs.Run:
        """Return an empty record of one run."""
        capture = self.capture
        return runtime_outputs.Run(
            capture.scalar_outputs, capture.read_only_outputs, self.takes_tensors
        )

    def run_frame(self, values: Sequence[Any], run: runtime_outputs.Run) -> Any:
        """Run Dynamo's frame on the caller's own objects."""
        binding = self.spec.binding
        run.values = values
        if not self.capture.has_sizes:
            return runtime_outputs.running(run, binding.call, (values, self.function))
        # Sizes are read off tensors, so that the frame needs those.
        originals: dict[int, Any] = dict(run.wrapped)

        def convert(value: Any) -> torch.Tensor:
            tensor = self.converter.convert(value)
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
            value if plan.conversion in ("symbol", "number") else self._input(value, run)
            for value, plan in zip(inputs, given, strict=True)
        ]
        originals = [run.wrapped.get(id(value), value) for value in inputs]
        for original, plan in zip(originals, given, strict=True):
            layout = self.layouts.get(plan.expression)
            if layout is not None and not array_like(original, layout):
                raise MovedError  # The code would read past its end.
        if self.written() and runtime_outputs.has_overlap(originals, self.written()):
            raise DeclinedError(OVERLAP)
        if any(is_read_only(inputs[i]) for i in self.written()):
            raise DeclinedError(TO_NUMPY)  # It raises its error at the user's line.
        before = self.save(run.values)
        try:
            tensors += self._drawn(run, tensors)
            outputs = self._compute(compiled, tensors)
            self._write_back(originals, tensors)
        except Exception as error:
            restore(before)
            if isinstance(error, FAILURES):
                undone = not (compiled.leaves and self.written())
                raise CompiledCodeError(error, undone) from error
            raise
        self.shared = runtime_outputs.falsely_shared(outputs, self.capture.output_memory)
        run.outputs = outputs = runtime_outputs.apart(outputs, self.shared)
        run.inputs = tensors
        read_only = {i for i, original in enumerate(originals) if is_read_only(original)}
        run.read_only = runtime_outputs.views_of(
            outputs, tensors, self.capture.base_inputs, read_only
        )
        maps = {i: one for i, one in enumerate(originals) if isinstance(one, np.memmap)}
        viewed = enumerate(self.capture.same_class_inputs)
        run.mapped = {output: maps[i] for output, i in viewed if i in maps}
        if not (self.takes_tensors or device_transfer.is_host(self.converter.device)):
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
            and runtime_arguments.conversion_of(original) not in runtime_arguments.COPYING
            and not self.converter.narrows(original)
        ]
        return [tensors[i] for i in kept], [runtime_arguments.to_tensor(originals[i]) for i in kept]

    def _check_numbers(self, inputs: Sequence[Any]) -> None:
        for value, plan in zip(inputs, self.inputs, strict=False):
            if plan.conversion == "symbol" and type(value) is int and not -(2**63) <= value < 2**63:
                fallback.note(
                    self.spec,
                    "a number is an int that int64 can't hold, so this call runs in NumPy",
                    "keep such numbers out of the function",
                )
                raise DeclinedError(TO_NUMPY)

    def written(self) -> list[int]:
        """The inputs that the graph writes to, without those that nobody else has."""
        mutated = self.compiled.mutated if self.compiled else ()
        return [i for i in mutated if self.inputs[i].conversion != "drawn"]

    def _drawn(self, run: runtime_outputs.Run, tensors: Sequence[Any]) -> list[torch.Tensor]:
        try:
            return self.draw(run.values, tensors)
        except Exception as error:
            if signals.from_handler(error):
                raise
            raise DeclinedError(TO_NUMPY) from error

    def _input(self, value: Any, run: runtime_outputs.Run) -> torch.Tensor:
        tensor = self.converter.convert(value)
        if tensor is not value:
            run.wrapped.setdefault(id(tensor), value)
        return tensor

    def _compute(self, compiled: CompiledGraph, tensors: list[Any]) -> Any:
        if self.backend == "inductor":
            return compiled.full(*tensors)
        with tracing(self.settings):
            return compiled.full(*tensors)

    def _write_back(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> None:
        for i in self.written():
            original = inputs[i]
            if is_read_only(original):
                raise DeclinedError(TO_NUMPY)  # It raises its error at the user's line.
            if self.inputs[i].conversion in runtime_arguments.COPYING or is_apart(
                original, tensors[i]
            ):
                copy_back(original, tensors[i])


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


def is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable
