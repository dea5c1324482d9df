"""Pickles of accelerated estimators: they hold NumPy's arrays, and load without the device."""

from __future__ import annotations

from typing import Any


def reduced(estimator: Any) -> Any:
    """Return what ``__reduce__`` is to give."""
    from npaccel._sklearn.dispatch import accelerate

    kind = type(estimator)
    if accelerate.class_of(kind._npaccel_original) is kind:
        return _made, (kind._npaccel_original,), estimator.__getstate__()
    import copyreg

    return copyreg.__newobj__, (kind,), estimator.__getstate__()  # type: ignore[attr-defined]


def _made(original: type) -> Any:
    """Return an empty accelerated estimator."""
    from npaccel._sklearn.dispatch import accelerate

    kind: Any = accelerate.class_of(original)
    return kind.__new__(kind)
