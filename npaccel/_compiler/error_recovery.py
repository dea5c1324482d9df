"""Answer a call in NumPy after its compiled code has raised, with nothing done twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from npaccel._process import signals
from npaccel._runtime import arguments
from npaccel._runtime.error_translation import (
    CompiledCodeError,
    as_memory_error,
    as_numpy_error,
    assumption_and_advice,
    is_assumption,
)

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Engine


def after_error(engine: Engine, failure: CompiledCodeError, values: Sequence[Any]) -> Any:
    """Let NumPy make a call whose compiled code has raised, and whose writes are undone.

    It raises its own error, at the user's line, and what it has written before that stays.

    Parameters
    ----------
    engine : Engine
    failure : CompiledCodeError
        What the compiled code raised.
    values : sequence
        The caller's own arguments.
    """
    error = failure.error
    if signals.from_handler(error):
        raise error
    memory = None if failure.undone else as_memory_error(error)
    if memory is not None:  # NumPy would write, or draw, a second time.
        raise memory from (None if memory is error else error)
    translated = as_numpy_error(error)
    if translated is None and not is_assumption(error):
        raise error
    has_gradients = any(
        _has_gradient(part) for value in values for _, part in arguments.parts(value, "")
    )
    if has_gradients:
        values = [arguments.map_arrays(value, _detached) for value in values]
    try:
        result = engine.plain(values)
    except NotImplementedError:
        if translated is None:
            raise
        raise translated from error
    if has_gradients:  # NumPy computes none.
        raise translated or error
    engine.fall_back(*assumption_and_advice(error))
    return result


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled()


def _detached(value: Any) -> Any:
    """A tensor of the same memory without gradients."""
    return value.detach() if _has_gradient(value) else value
