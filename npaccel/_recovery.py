"""Answer a call in NumPy after its compiled code has raised, with nothing done twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel import _arguments
from npaccel._failures import (
    ELEMENTS,
    REFUSED,
    AssumptionError,
    as_numpy_error,
    assumption_and_advice,
    is_assumption,
)
from npaccel._snapshot import Snapshot

if TYPE_CHECKING:
    from npaccel._engine import Engine


def after_error(engine: Engine, error: Exception, values: Sequence[Any]) -> Any:
    """Let NumPy raise its own error, at the user's line, where it does."""
    if isinstance(error, AssumptionError) and not error.after_others:
        return not_as_assumed(engine, error, values)
    if is_assumption(error):
        return _not_as_assumed_after_writes(engine, error, values)
    translated = as_numpy_error(error)
    if translated is None:
        raise error
    copies = [_arguments.map_arrays(value, _copy) for value in values]
    others = Snapshot(engine.function, copies)  # What isn't copied: objects, generators, globals.
    try:
        result = engine.plain(copies)
    except NotImplementedError:
        raise translated from error
    if not _are_same(values, copies):
        raise translated from error  # The compiled code may have written to them already.
    engine.fall_back(*assumption_and_advice(error))
    if not _share(result, copies):
        return result
    others.restore()
    return engine.plain(values)


def not_as_assumed(engine: Engine, error: Exception, values: Sequence[Any]) -> Any:
    """Run in NumPy what was compiled for other data."""
    result = engine.plain(values)  # NumPy's own error, if it is one, comes first.
    engine.fall_back(*assumption_and_advice(error))
    return result


def _not_as_assumed_after_writes(engine: Engine, error: Exception, values: Sequence[Any]) -> Any:
    """Do so after parts of the function that may have written to its arguments.

    Raises
    ------
    RuntimeError
        If the function writes to them, or changes something else: it can't run anew.
    """
    copies = [_arguments.map_arrays(value, _copy) for value in values]
    others = Snapshot(engine.function, copies)
    cause, advice = assumption_and_advice(error)
    unclear = RuntimeError(
        f"{engine.function.__qualname__}: {cause.partition(', so ')[0]}, and parts of the "
        "function that ran before may have written to its arguments or changed something "
        f"else; {advice}"
    )
    try:
        engine.plain(copies)  # NumPy's own error, if it is one, comes first.
    except Exception:
        of_values = ELEMENTS in str(error) or REFUSED in str(error)
        if of_values or not others.is_changed():
            raise
        raise unclear from error  # On arrays that were written to it may be another error.
    finally:
        is_changed = others.is_changed()
        others.restore()
    if is_changed:
        raise unclear from error
    return not_as_assumed(engine, error, values)


def _parts(values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The arrays in the arguments of a call."""
    return [
        _arguments.to_array(part) if isinstance(part, torch.Tensor) else np.asarray(part)
        for value in values
        for _, part in _arguments.parts(value, "")
        if _arguments.is_array(part)
    ]


def _are_same(values: Sequence[Any], copies: Sequence[Any]) -> bool:
    """Whether the arrays among arguments are what their copies are."""
    pairs = zip(_parts(values), _parts(copies), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)


def _share(result: Any, values: Sequence[Any]) -> bool:
    """Whether arrays of a result may be, or be views of, those among arguments."""
    return any(np.may_share_memory(a, b) for a in _parts([result]) for b in _parts(values))


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value.copy()
