"""Fall back: NumPy makes a call that compiled code can't make, and the report says why.

Every stage that gives a call up comes here: with the `Declined` of a runner, with the error of
compiled code, or with the reason why there is no compiled code. Nothing is done twice, NumPy's own
errors come first, and with ``strict=True`` the reason is raised instead.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import logs, signals
from npaccel._process.imports import load
from npaccel._report import Fallback
from npaccel._report.suggestions import fix_for
from npaccel._runtime import (
    arguments,
    containers,
    error_translation,
    errstate,
    foreign_arrays,
)
from npaccel._runtime.error_translation import CompiledCodeError, Patience
from npaccel._runtime.options import disabled
from npaccel._runtime.runner import OVERLAP, Declined, Runner
from npaccel._runtime.transform_marks import UntracedError
from npaccel.errors import NotCompiledError, PerformanceWarning


class DeclinedError(Exception):
    """A graph that Dynamo's frame calls leaves the call to NumPy.

    Parameters
    ----------
    declined : Declined
        What a runner would return.
    """

    def __init__(self, declined: Declined) -> None:
        super().__init__(declined)
        self.declined = declined


class Uncompiled:
    """A signature that isn't compiled as one graph.

    Parameters
    ----------
    runner : Runner
    note : callable, optional
        Notes the reason. It's called after NumPy has made a call; where NumPy raises too, there
        was no failure to compile.
    is_kept : bool
        Whether `runner` makes later calls of the signature too.
    serves_kind : bool
        Whether it makes calls of other sizes and numbers as well.
    first_break : tuple of str and int, optional
        File and line of the first graph break, where `runner` compiles what is around it. It can
        make calls of other sizes and numbers that break there too.
    """

    def __init__(
        self,
        runner: Runner,
        note: Callable[[], None] | None = None,
        *,
        is_kept: bool = True,
        serves_kind: bool = False,
        first_break: tuple[str, int | None] | None = None,
    ) -> None:
        self.runner = runner
        self.note = note
        self.is_kept = is_kept
        self.serves_kind = serves_kind
        self.first_break = first_break

    def settled(self, forget: Callable[[Runner], None]) -> Runner:
        """Return the runner of the signature.

        Parameters
        ----------
        forget : callable
            Takes a runner that has served: the next call of the signature is compiled. A call of
            other sizes or numbers that NumPy makes after one that it raised for is the last.
        """
        note = self.note
        if note is None:
            return self.runner
        has_raised = False

        def runner(values: Sequence[Any]) -> Any:
            nonlocal has_raised
            try:
                result = self.runner(values)
            except Exception:
                has_raised = True
                raise
            if has_raised:
                forget(runner)
            else:
                note()
            return result

        return runner


def note(
    spec: FunctionSpec,
    reason: str,
    advice: str = "",
    *,
    file: str = "",
    line: int = 0,
    text: str = "",
    kind: str = "function",
    once: bool = False,
    error: type[NotCompiledError] = NotCompiledError,
) -> None:
    """Note that something runs uncompiled: warn once per reason, or raise.

    `kind` says whether what is around it is compiled, see `Fallback`; `once` whether the reason
    is one for all lines, and `error` is what is raised.

    Raises
    ------
    NotCompiledError
        With ``strict=True``.
    """
    code = spec.function.__code__
    fallback = Fallback(
        file or code.co_filename,
        line or code.co_firstlineno,
        text,
        reason,
        advice or fix_for(reason, text),
        kind,
    )
    message = f"{spec.name}: {fallback}"
    if spec.options.strict:
        raise error(message)
    if spec.log.add_fallback(fallback, once):
        what = "graph break" if kind == "break" else "in NumPy"
        place = fallback.file, fallback.line
        logs.compile.debug("%s: %s: %s:%d: %s", spec.name, what, *place, reason)
        warnings.warn_explicit(
            message, PerformanceWarning, fallback.file, fallback.line, registry={}
        )


def run_in_numpy(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    """Run the function itself, in NumPy; tensors go through the host.

    Raises
    ------
    NotCompiledError
        If it's a derivative or a batch of a function.
    """
    if spec.is_transformed:
        _raise_own_error(spec, values)
        raise NotCompiledError(
            f"{spec.name}: compiled code can't make this call, and NumPy has no derivatives and "
            "batches; call the function itself under `npaccel.jit`, whose report says why"
        )
    return _in_numpy(spec, values)


def _raise_own_error(spec: FunctionSpec, values: Sequence[Any]) -> None:
    """Raise what the user's function raises in NumPy, or what the transform says of it."""
    with contextlib.suppress(UntracedError), disabled():
        _in_numpy(spec, values)


def _in_numpy(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    if arguments.device_of(values) is None:
        return spec.binding.call(values)
    host_fallback = load("npaccel._runtime.host_fallback")
    return host_fallback.through_host(spec.binding.call, values, spec.log)


def runner_in_numpy(spec: FunctionSpec) -> Runner:
    """Return a runner for calls that NumPy makes, for a reason that needs no note."""
    return lambda values: run_in_numpy(spec, values)


def settled_runner(spec: FunctionSpec, values: Sequence[Any]) -> Runner | None:
    """Return what makes calls like this one, where that's known before any is compiled.

    Calls with Dask arrays or DTensors, and those with long containers; None for others.
    """
    if foreign_arrays.are_among(values):
        return foreign_arrays.runner(spec, values)
    place = containers.place_of_long(values, spec.static)
    return None if place is None else _runner_of_long(spec, place)


def _runner_of_long(spec: FunctionSpec, place: int) -> Runner:
    """Return a runner for calls with a container of many items, which NumPy makes.

    Parameters
    ----------
    spec : FunctionSpec
    place : int
        Of the argument.
    """
    name = spec.binding.names[place]
    reason = (
        f"`{name}` holds more than {containers.MAX_ITEMS:,} items, each of which compiled "
        "code would have to check at each call"
    )
    advice = f"pass an array, np.asarray({name})"

    has_none = False  # Of tensors, which go through the host.

    def runner(values: Sequence[Any]) -> Any:
        nonlocal has_none
        if spec.options.strict:
            note(spec, reason, advice)
        if has_none and not containers.shows(values, torch.Tensor):
            return spec.binding.call(values)
        result = run_in_numpy(spec, values)
        has_none = arguments.device_of(values) is None
        note(spec, reason, advice)
        return result

    return runner


def _noted(spec: FunctionSpec, values: Sequence[Any], reason: str, advice: str) -> Any:
    """Run a call in NumPy, whose own error comes first, and note why."""
    result = run_in_numpy(spec, values)
    note(spec, reason, advice)
    return result


# -- Calls that compiled code doesn't make ------------------------------------


def answer(spec: FunctionSpec, declined: Declined, values: Sequence[Any]) -> Any:
    """Run a call in NumPy that compiled code has declined."""
    return _overlapping(spec, values) if declined is OVERLAP else run_in_numpy(spec, values)


def _overlapping(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    repeats = any(
        isinstance(part, np.ndarray) and arguments.distinct(part) is not part
        for value in values
        for _, part in arguments.parts(value, "")
    )
    what = "have elements that share memory" if repeats else "share memory with other arguments"
    reason = f"arrays that the function writes to {what}, so this call runs in NumPy"
    advice = "pass copies of the arrays that overlap"
    if spec.options.strict:
        note(spec, reason, advice)
    return _noted(spec, values, reason, advice)


#: End of causes that are told where NumPy makes a call.
_IN_NUMPY = ", so this call runs in NumPy"


def after_error(spec: FunctionSpec, failure: CompiledCodeError, values: Sequence[Any]) -> Any:
    """Run a call in NumPy whose compiled code has raised, and whose writes are undone.

    It raises its own error, at the user's line, and what it has written before that stays.

    Parameters
    ----------
    spec : FunctionSpec
    failure : CompiledCodeError
        What the compiled code raised.
    values : sequence
        The caller's own arguments.
    """
    error = failure.error
    if signals.from_handler(error):
        raise error
    memory = None if failure.undone else error_translation.as_memory_error(error)
    if memory is not None:  # NumPy would write, or draw, a second time.
        raise memory from (None if memory is error else error)
    translated = error_translation.as_numpy_error(error)
    if translated is None and not error_translation.is_assumption(error):
        raise error
    has_gradients = any(
        _has_gradient(part) for value in values for _, part in arguments.parts(value, "")
    )
    if has_gradients:
        values = [arguments.map_arrays(value, _detached) for value in values]
    try:
        result = (_raise_own_error if spec.is_transformed else run_in_numpy)(spec, values)
    except NotImplementedError:
        if translated is None:
            raise
        raise translated from error
    if has_gradients or spec.is_transformed:  # NumPy computes none.
        if translated is None and spec.is_transformed:
            reason, advice = error_translation.assumption_and_advice(error)
            message = f"{spec.name}: {reason.removesuffix(_IN_NUMPY)}\n  {advice}"
            raise NotCompiledError(message) from error
        raise translated or error
    note_error(spec, error)
    return result


def note_error(spec: FunctionSpec, error: Exception) -> None:
    """Note that NumPy did what compiled code has raised an error for."""
    note(spec, *error_translation.assumption_and_advice(error))


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled()


def _detached(value: Any) -> Any:
    """Return a tensor of the same memory without gradients."""
    return value.detach() if _has_gradient(value) else value


# -- Calls for which there is no compiled code --------------------------------


def under_errstate(spec: FunctionSpec, values: Sequence[Any]) -> Any:
    """Run a call in NumPy under settings that raise, or call something, for float errors."""
    if foreign_arrays.are_among(values):
        spec.log.add_note("numpy.errstate has no effect on Dask arrays and DTensors")
        return foreign_arrays.runner(spec, values)(values)
    note(spec, errstate.CAUSE, errstate.ADVICE)
    return run_in_numpy(spec, values)


def beyond_limit(spec: FunctionSpec, values: Sequence[Any], count: int) -> Any:
    """Run a call in NumPy whose signature is one too many."""
    note(
        spec,
        f"{count} signatures of one kind were compiled already, so new ones run in NumPy",
        "pass what changes as an array instead of a Python number, "
        "or keep it in static_argnames only if it has few values",
    )
    return run_in_numpy(spec, values)


def without_compiler(spec: FunctionSpec, values: Sequence[Any], failure: str) -> Any:
    """Run a call in NumPy where the process can't import the compiler."""
    return _noted(
        spec,
        values,
        f"torch's compiler can't be imported: {failure}",
        "restart Python; if it says so again, reinstall torch",
    )


def without_memory(
    spec: FunctionSpec, values: Sequence[Any], patience: Patience, error: Exception | None = None
) -> Any:
    """Run a call in NumPy that there is no memory to compile for.

    Raises
    ------
    MemoryError
        With ``strict=True``, or NumPy's own.
    """
    patience.calls -= 1
    if spec.options.strict:
        why = "it isn't compiled, because memory has run out; give the process more"
        raise MemoryError(f"{spec.name}: {why}") from error
    return _noted(spec, values, *error_translation.NO_MEMORY_TO_COMPILE)


def uncompiled(
    spec: FunctionSpec,
    reason: str,
    advice: str,
    *,
    error: type[NotCompiledError] = NotCompiledError,
    is_sure: bool = True,
    is_kept: bool = True,
    serves_kind: bool = False,
    **place: Any,
) -> Uncompiled:
    """Run the calls of a signature in NumPy that can't be compiled.

    Parameters
    ----------
    spec : FunctionSpec
    reason, advice : str
    error : type
        Is raised with ``strict=True``.
    is_sure : bool
        Whether that's the reason whatever NumPy does; else NumPy's own error comes before `error`.
    is_kept : bool
        Whether that's so for later calls of the signature too.
    serves_kind : bool
        Whether that's so for calls of other sizes and numbers as well.
    **place
        `file`, `line` and `text` of the line that can't be, as `note` takes them.
    """

    def noted() -> None:
        note(spec, reason, advice, error=error, **place)

    if is_sure and spec.options.strict:
        noted()
    if spec.is_transformed:
        return Uncompiled(functools.partial(_raise_own_error, spec), noted, is_kept=is_kept)
    runner = runner_in_numpy(spec)
    return Uncompiled(runner, noted, is_kept=is_kept, serves_kind=serves_kind)
