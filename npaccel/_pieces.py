"""Run a function in pieces, where it doesn't fit into one graph.

Dynamo compiles what is before and after a graph break, and Python runs the
line between. Every break is noted in the log, with file and line.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from npaccel import _arguments, _failures, _floating_errors, _recovery, _results
from npaccel._numpy._context import TraceSettings, tracing
from npaccel._progress import notice
from npaccel._report import Graph
from npaccel._report._details import Details
from npaccel._runner import Runner, copy_back
from npaccel._snapshot import Snapshot
from npaccel._torch_internals import capture as dynamo
from npaccel._torch_internals import inductor, pieces
from npaccel._torch_internals.capture import Capture, CaptureError
from npaccel._torch_internals.inductor import CompiledGraph
from npaccel._wide import FOUND_LATE, WideDataError, holds_wide

if TYPE_CHECKING:
    from npaccel._engine import Engine

#: So often a piece is compiled where a number changes at every turn of a loop.
_LIMIT_IN_LOOPS = 4


def in_pieces(engine: Engine, error: CaptureError, has_wide: bool) -> Runner:
    """Return a runner that compiles the parts around graph breaks.

    Parameters
    ----------
    engine : Engine
    error : CaptureError
        The first break. Later ones are noted as they are met.
    has_wide : bool
        Whether a call may meet 64-bit floats, so that no piece narrows any.

    Raises
    ------
    NotCompiledError
        With ``strict=True``.
    """
    _note(engine, error)
    runners: dict[bool, Runner] = {}
    narrows = engine.options.default_float == "float32" and not engine.options.narrow_inputs

    def run(values: Sequence[Any]) -> Any:
        nonlocal has_wide
        width = has_wide or (narrows and any(map(holds_wide, values)))
        engine.note_width(values, width)
        runner = runners.get(width)
        if runner is None:
            runner = runners.setdefault(width, _runner(engine, width))
        try:
            return runner(values)
        except WideDataError:
            if engine.on_wide is not None:  # The function that this is part of begins anew.
                raise
            has_wide = True
            return run(values)

    return run


def _runner(engine: Engine, has_wide: bool) -> Runner:
    width = "float64" if has_wide else engine.options.default_float
    settings = TraceSettings(width, torch.device("cpu"), engine.options.rng)
    compile_piece = _PieceCompiler(engine, settings)
    run = pieces.compiled_in_pieces(
        engine.function,
        compile_piece,
        lambda later: _note(engine, later),
        _LIMIT_IN_LOOPS if engine.varying else pieces.LIMIT,
    )

    def on_host(values: Sequence[Any]) -> Any:
        with tracing(settings), compile_piece.counted():
            return engine.binding.call(values, run)

    def runner(values: Sequence[Any]) -> Any:
        if _arguments.device_of(values) is None:
            saved = None
            if compile_piece.may_write_and_stop:
                saved = Snapshot(engine.function, values)
            try:
                with compile_piece.restartable(saved is not None):
                    result = on_host(values)
            except WideDataError:
                assert saved is not None
                saved.restore()
                raise
            except (RuntimeError, _failures.CompiledIndexError) as failure:
                return compile_piece.after(failure, values, saved)
            if saved is not None:
                compile_piece.note_call(saved.is_changed())
        else:
            from npaccel import _host

            result = _host.through_host(on_host, values, engine.log)
        if not compile_piece.count:
            engine.log.add_note(
                "nothing could be compiled around the uncompiled lines: all of it runs in NumPy"
            )
        return result

    return runner


def _note(engine: Engine, error: CaptureError) -> None:
    if not error.stack:  # It isn't known at which line.
        engine.fall_back(error.reason, kind="break")
        return
    frame = error.stack[-1]
    engine.fall_back(
        error.reason,
        file=frame.filename,
        line=frame.lineno or 0,
        text=frame.line or "",
        kind="break",
    )


class _PieceCompiler:
    """The backend that compiles each piece."""

    def __init__(self, engine: Engine, settings: TraceSettings) -> None:
        self.engine = engine
        self.settings = settings
        self.count = 0
        self.is_known = False  # Whether a call has come to its end.
        self.writes = False
        self.may_stop = False
        self.current = _Current()

    @property
    def may_write_and_stop(self) -> bool:
        """Whether a call may change something and then meet data that it isn't compiled for."""
        return not self.is_known or (self.writes and self.may_stop)

    def note_call(self, has_changed: bool) -> None:
        """Learn from a call that came to its end."""
        self.is_known = True
        self.writes |= has_changed

    def after(self, failure: Exception, values: Sequence[Any], saved: Snapshot | None) -> Any:
        """Run the function in NumPy after a piece has failed; others may have run before it.

        Parameters
        ----------
        failure : Exception
        values : sequence
            The arguments.
        saved : Snapshot or None
            What the function can reach, as it was before the call.
        """
        is_assumption = _failures.is_assumption(failure)
        if not is_assumption and _failures.as_numpy_error(failure) is None:
            raise failure
        if saved is not None:
            saved.restore()
            return _recovery.not_as_assumed(self.engine, failure, values)
        self.writes = True  # As far as is known: later calls are saved.
        if is_assumption:
            return _recovery.after_error(self.engine, failure, values)
        now = Snapshot(self.engine.function, values)
        try:
            return _recovery.after_error(self.engine, failure, values)
        except Exception:
            now.restore()  # The pieces before have changed it once.
            raise

    @contextlib.contextmanager
    def restartable(self, is_saved: bool) -> Iterator[None]:
        """Say whether the call can begin anew, if 64-bit floats turn up."""
        before, self.current.is_saved = self.current.is_saved, is_saved
        try:
            yield
        finally:
            self.current.is_saved = before

    def _on_wide(self) -> None:
        """Have the call made again with nothing narrowed, or say that it can't be.

        Raises
        ------
        WideDataError
        """
        if self.engine.on_wide is not None:
            self.engine.on_wide()
        elif self.current.is_saved:
            raise WideDataError
        else:
            self.engine.fall_back(*FOUND_LATE)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count the pieces that run in one call of the function."""
        before, self.current.ran = self.current.ran, 0
        try:
            yield
        finally:
            self.current.ran = before

    def __call__(self, piece: Capture, is_start: bool) -> Callable[..., Any]:
        from npaccel._scratch import scratch_folder

        if _floating_errors.have_effect():
            raise CaptureError(_floating_errors.CAUSE, "settings", [], False)
        self.count += 1
        start = time.perf_counter()
        interpreted = pieces.copy_of(piece)
        written_inputs = pieces.written_inputs_of(piece)
        wholes, parts = pieces.shared_with_inputs(piece)
        self.writes |= bool(written_inputs)
        self.may_stop |= pieces.has_open_sizes(piece)
        what = f"piece {self.count} of {self.engine.function.__qualname__}"
        with dynamo.lock, tracing(self.settings), notice(what):
            compiled = inductor.compile_graph(piece, self.engine.options.backend, scratch_folder())
        if self.engine.options.backend != "inductor":  # What interprets learns of it too late.
            compiled.mutated = written_inputs

        self.engine.log.add_graph(
            Graph(
                signature=f"piece {self.count}",
                generic=pieces.is_generic(piece),
                backend=self.engine.options.backend,
                seconds=time.perf_counter() - start,
                not_kept="it's a piece of a function",
                source=compiled.source,
                stages=compiled.stages,
                details=Details(compiled.lines, piece.narrowed),
            )
        )

        def call(*inputs: Any) -> Any:
            after_others = not is_start or self.current.ran > 0
            self.current.ran += 1
            if _floating_errors.have_effect():
                raise _failures.AssumptionError(_floating_errors.CAUSE, after_others)
            read_only = _results.check_writeable(inputs, compiled.mutated)
            copied = _results.copies_of(inputs, compiled.mutated, parts, after_others)
            tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
            positions = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
            written = [positions.index(i) for i in compiled.mutated]
            with tracing(self.settings):
                if written and _results.has_overlap(tensors, written):
                    outputs = interpreted(*inputs)
                else:
                    outputs = _full(compiled, inputs, after_others)
            for i in set(compiled.mutated) & set(copied):
                copy_back(copied[i], inputs[i])
            known = piece.scalar_outputs, piece.read_only_outputs
            _results.note_outputs(outputs, *known, read_only)
            _results.note_wholes(outputs, {o: copied[i] for o, i in wholes.items() if i in copied})
            return outputs

        def call_after_check(*inputs: Any) -> Any:
            self._on_wide()
            return call(*inputs)

        return call_after_check if piece.has_wide_data and self.settings.narrow else call


class _Current(threading.local):
    """What runs in this thread: how many pieces of one call have."""

    ran = 0
    #: Whether it's known what everything was before the call.
    is_saved = False


def _full(compiled: CompiledGraph, inputs: Sequence[Any], after_others: bool) -> Any:
    """Run a piece.

    Raises
    ------
    AssumptionError
        If a size isn't one that it was compiled for. What it wrote to has its old values again.
    CompiledIndexError
        For an index that is out of bounds.
    """
    try:
        return compiled.full(*inputs)
    except _failures.FAILURES as error:
        if not _failures.is_assumption(error):
            if isinstance(error, IndexError):
                raise _failures.CompiledIndexError(*error.args) from error
            raise
        raise _failures.AssumptionError(str(error), after_others) from error
