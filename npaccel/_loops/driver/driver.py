"""A function with loops, split: Python drives, regions are compiled."""

from __future__ import annotations

import ast
import dataclasses
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler import fallback
from npaccel._compiler.call_samples import sample
from npaccel._compiler.compiler_import import begin_import
from npaccel._compiler.dispatcher import Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._compiler.snapshot import Snapshot
from npaccel._loops.driver import whole_first
from npaccel._loops.driver.callees import Callees
from npaccel._loops.driver.program import Program
from npaccel._loops.partition.host_values import is_host_value
from npaccel._loops.partition.partition import CannotSplitError
from npaccel._process import background, fork, logs, signals
from npaccel._report import Log
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import foreign_arrays
from npaccel._runtime.options import Options
from npaccel._syntax import source, wide_data
from npaccel._syntax.source import NoSourceError
from npaccel._syntax.wide_reach import NarrowReach, reaches_wide

#: Maximum number of combinations of kinds of arguments that are split apart; later ones share the
#: last.
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
        # Checks the names of static arguments.
        self.spec = FunctionSpec(function, options, log, on_wide=on_wide)
        self.definition = definition
        self.varying = varying
        #: Runs what can't be split.
        self.whole = Dispatcher(self.spec)
        self._bind = self.spec.binding.bind
        self._narrows = options.default_float == "float32"
        #: Callback of the function's parts where they meet 64-bit floats.
        self.on_wide = (on_wide or self._start_over) if self._narrows else None
        self._kind_of = _kind_and_width if self._narrows else _kind
        self._is_part = on_wide is not None
        self._meets_wide = False
        self._calls = _Calls()
        self._variants: dict[Kind, Callable[..., Any]] = {}
        self._callees = Callees(self.spec, self.on_wide, self._drive)
        self._made_exact: Driver | None = None
        #: Callback for a call of a new kind, of whoever makes such calls otherwise.
        self.on_new: Callable[[], None] | None = None
        self._lock = threading.RLock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self._lock = threading.RLock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        values = self._bind(args, kwargs)
        kind = tuple(map(self._kind_of, values))
        variant = self._variants.get(kind)
        if variant is None:
            variant = self._variant(kind, values)
        return variant(values)

    def get_ready(self) -> None:
        """Have the helper thread import what compiles regions: the first call would wait for it."""
        options = self.spec.options
        packages = ["numba"] if options.loops in ("auto", "numba") else []
        begin_import(options.backend, packages)

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the function with bound values; regions heed ``verify``, but wait to be compiled."""
        with background.unused():
            return self.variant_for(values)(values)

    def variant_for(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """Return what runs calls with arguments like these."""
        return self._variant(tuple(map(self._kind_of, values)), values)

    def _variant(self, kind: Kind, values: Sequence[Any]) -> Callable[..., Any]:
        with self._lock:
            found = self._variants.get(kind)
            if found is not None:
                return found
            if self.on_new is not None:
                self.on_new()
            if len(self._variants) >= _MAX_VARIANTS:
                made = next(reversed(self._variants.values()))
            else:
                made = self._make(values)
            self._variants[kind] = made
            return made

    def _make(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        if foreign_arrays.are_among(values):
            return foreign_arrays.runner(self.spec, values)
        if self._narrows and self._has_wide(values):
            return self._exact().variant_for(values)
        if self.definition is None:
            self.spec.log.note_call(sample(values))
        return self._whole_first() if self._may_be_whole(values) else self._split(values)

    def _may_be_whole(self, values: Sequence[Any]) -> bool:
        if self.spec.options.loops != "auto" or self._is_part:
            return False
        if not any(map(whole_first.has_arrays, values)):  # Before its source is looked for.
            return False
        try:
            definition = self.definition or source.definition(self.spec.function)
        except NoSourceError:
            return False
        return whole_first.may_fit(definition, self._arguments(values))

    def _arguments(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.spec.binding.names, values, strict=True))

    def _whole_first(self) -> Callable[[Sequence[Any]], Any]:
        """Return what runs the function as one graph, and split where it makes none."""
        spec, made = self.spec, list[Callable[[Sequence[Any]], Any]]()

        def split(values: Sequence[Any]) -> Any:
            with self._lock:
                if not made:
                    made.append(self._split(values))
            return made[0](values)

        whole = FunctionSpec(spec.function, spec.options, spec.log, otherwise=split)
        return self._caller(Dispatcher(whole, may_go_behind=True))

    def _split(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        try:
            program = signals.held(
                Program,
                self.spec,
                self._callees,
                self._arguments(values),
                self.definition,
                varying=self.varying,
                on_wide=self.on_wide,
            )
        except (CannotSplitError, NoSourceError) as error:
            logs.loops.debug("%s: isn't split: %s", self.spec.name, error)
            line = getattr(error, "line", self.spec.function.__code__.co_firstlineno)
            self.spec.log.add_note(
                f"{self.spec.function.__code__.co_filename}:{line}: the loops of "
                f"{self.spec.name} aren't split, because {error}: they are unrolled"
            )
            return self._caller(self.whole)
        return self._restarting(program.run) if self._narrows else program.run

    # -- The width of floats --------------------------------------------------

    def _exact(self) -> Driver:
        """Return what runs calls in which there are 64-bit floats: it narrows none."""
        with self._lock:
            if self._made_exact is None:
                options = dataclasses.replace(self.spec.options, default_float="float64")
                self._made_exact = Driver(
                    self.spec.function, options, self.spec.log, self.definition, self.varying
                )
            return self._made_exact

    def _has_wide(self, values: Sequence[Any]) -> bool:
        """Whether a call has 64-bit floats among its arguments, or may meet others."""
        if self._meets_wide:
            return True
        if self.spec.has_wide(values):
            if self.on_wide is not None and self._is_part:
                self.on_wide()
            return True
        if self._is_part:  # The function that calls this one has looked.
            return False
        given = () if self.spec.options.narrow_inputs else values
        return reaches_wide(self.spec.function, given)

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one."""
        return self._narrows and not self._has_wide(values)

    def _start_over(self) -> None:
        """Have the call made again with nothing narrowed, or say that it can't be."""
        self._meets_wide = True
        if self._calls.is_saved:
            raise wide_data.WideDataError
        fallback.note(self.spec, *wide_data.FOUND_LATE)
        self._variants.clear()

    def _restarting(self, run: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
        """Return what makes calls in which nothing is 64 bit.

        The first one is made again if it meets such floats on its way.
        """
        if self._is_part:  # The function that calls this one looks.
            return run
        is_known, reach = False, NarrowReach(self.spec.function)
        is_free = self.spec.options.narrow_inputs

        def call(values: Sequence[Any]) -> Any:
            nonlocal is_known
            if reach.is_left(() if is_free else values):
                return self._exact().variant_for(values)(values)
            if is_known:
                return run(values)
            saved = Snapshot(self.spec.function, values)
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
            return result

        return call

    def _caller(self, dispatcher: Dispatcher) -> Callable[[Sequence[Any]], Any]:
        """Return what has a dispatcher make calls of bound values."""
        call = self.spec.binding.call
        return lambda values: call(values, lambda *args, **kwargs: dispatcher(args, kwargs))

    def _drive(
        self,
        function: types.FunctionType,
        node: ast.FunctionDef | None = None,
        varying: frozenset[str] = frozenset(),
    ) -> Driver:
        """Return the driver of another function, which this one calls."""
        options = dataclasses.replace(self.spec.options, static_argnames=())
        return Driver(function, options, self.spec.log, node, varying, on_wide=self.on_wide)


class _Calls(threading.local):
    """The calls of a function in this thread."""

    #: Whether it's known what everything was before the one that runs.
    is_saved = False


def _kind_and_width(value: Any) -> Any:
    """The same where floats are narrowed: whether it holds 64-bit floats decides too."""
    if type(value) is np.ndarray:
        return "wide" if wide_data.is_wide(value) else False
    return _kind(value), wide_data.holds_wide(value)


def _kind(value: Any) -> Any:
    """Kind of an argument, by which it's decided how a function is split."""
    if isinstance(value, torch.Tensor):
        return value.device
    if runtime_arguments.is_array(value):
        return False
    return is_host_value(value) or type(value)
