"""State of an accelerated estimator besides its parameters and fitted attributes."""

from __future__ import annotations

import dataclasses
import functools
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import torch

from npaccel._runtime import options
from npaccel._sklearn.dispatch import call_stack, transfers
from npaccel._sklearn.dispatch.call_stack import Container
from npaccel._sklearn.dispatch.report import Log
from npaccel.errors import DeviceNotFoundError, OptionError, PerformanceWarning

#: The key of an estimator's ``__dict__`` that holds its state.
KEY = "_npaccel"
#: Attribute that `set_output` writes; scikit-learn's wrapper around npaccel's reads it.
OUTPUT = "_sklearn_output_config"
#: NumPy's numbers, which are tensors without dimensions to those who fitted with tensors.
_SCALARS = (np.float64, np.float32, np.int64, np.int32, np.bool_)
#: Kinds of attributes that may be, or hold, tensors.
KINDS = frozenset((torch.Tensor, np.ndarray, np.memmap, list, tuple, *_SCALARS))


@dataclasses.dataclass
class State:
    """The settings of an estimator, and what it remembers of its last fit.

    Parameters
    ----------
    device : str or None
        Where NumPy's arrays go: as the option of `npaccel.jit`; None: what that says.
    on_unsupported : {"host", "raise"}
    checkpoint : path-like or None
        The folder in which fits by parts keep checkpoints.
    given : {"tensor", "array"}
        What it was fitted with, and what its attributes are when they are read.
    log : Log
    loaded : bool
        Whether it comes from a pickle, which may be of another machine.
    copies : dict
        By attribute: the value that it had, and the same in other containers.
    tensors : dict
        Where attributes were tensors that scikit-learn's own code has made arrays of.
    """

    device: str | None = None
    on_unsupported: Literal["host", "raise"] = "host"
    checkpoint: str | os.PathLike[str] | None = None
    given: Container = "array"
    log: Log = dataclasses.field(default_factory=Log)
    copies: dict[str, tuple[Any, dict[Any, Any]]] = dataclasses.field(default_factory=dict)
    loaded: bool = False
    tensors: dict[str, torch.device] = dataclasses.field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.device, "on_unsupported": self.on_unsupported, "loaded": True}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def state_of(estimator: Any) -> State:
    """Return the state of an estimator, a new one where it has none."""
    attributes = vars(estimator)
    found = attributes.get(KEY)
    if found is None:
        found = attributes.setdefault(KEY, State())
    return found  # type: ignore[no-any-return]


def checked_settings(device: Any, on_unsupported: Any) -> None:
    """Refuse settings that can't be.

    Raises
    ------
    OptionError
    """
    if device is not None:
        options.check_device_name(device)
    if on_unsupported not in ("host", "raise"):
        raise OptionError(
            f"accelerate: `on_unsupported={on_unsupported!r}` was given; "
            "it can be 'host' or 'raise'"
        )


def device_for_arrays(state: State) -> torch.device:
    """Return where NumPy's arrays are computed.

    Raises
    ------
    DeviceNotFoundError
        If torch doesn't see the device that was asked for.
    """
    wanted = state.device or options.of_scope(options.current()).device or "cpu"
    if wanted == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if state.loaded and wanted != "auto":
            warnings.warn(
                f"the estimator was pickled with `device={wanted!r}`, which isn't here; it "
                "computes on the CPU",
                PerformanceWarning,
                stacklevel=5,
            )
            state.device = wanted = "auto"
        if wanted == "auto":
            return torch.device("cpu")
        raise DeviceNotFoundError(
            f'sklearn: `device="{wanted}"` was asked for, but torch sees no CUDA device; '
            'pass device="auto" or device="cpu"'
        )
    return torch.device("cuda" if wanted == "auto" else wanted)


def remembered(estimator: Any, method: str) -> Callable[[str], None]:
    """Return a function that undoes what a fit has done, where another one is to take its place.

    Parameters
    ----------
    estimator : Accelerated
    method : str
        The fit that begins.

    Returns
    -------
    callable
        It's given the method that takes the place: a step of a fit doesn't undo the others.
    """
    attributes = dict(vars(estimator))
    draws = getattr(estimator, "random_state", 0)
    source: Any = np.random.mtrand._rand if draws is None else draws
    state = source.get_state() if isinstance(source, np.random.RandomState) else None

    def undo(other: str) -> None:
        if (other == "partial_fit") != (method == "partial_fit"):
            return
        known = vars(estimator)
        mine = known.get(KEY)
        known.clear()
        known.update(attributes)
        if mine is not None:
            known[KEY] = mine
        if state is not None:
            source.set_state(state)

    return undo


# -- Attributes ---------------------------------------------------------------------------------


def read(estimator: Any, name: str, value: Any) -> Any:
    """Return an attribute's value in the container that its reader needs."""
    kind = type(estimator)
    frame = call_stack.current()
    if kind._npaccel_route == "composite" or (frame is not None and frame.foreign):
        return value
    if name in kind._parameters_of():
        if frame is None or frame.on_device or not _holds_tensors(value):
            return value
        return _copy(estimator, name, value, "array", host_value)
    # A composite's code only carries data: of its parts it reads what isn't computed with.
    if frame is not None and frame.on_device and not frame.is_of_composite:
        if name in kind._on_host:
            return value
        return _on_device(estimator, name, value, frame.device)
    if frame is None and state_of(estimator).given == "tensor":
        return _as_tensor(estimator, name, value)
    if frame is not None and not frame.own:
        return _for_scikit_learn(estimator, name, value)
    return _copy(estimator, name, value, "array", host_value) if _holds_tensors(value) else value


def _for_scikit_learn(estimator: Any, name: str, value: Any) -> Any:
    """Return arrays that scikit-learn's own code may write into: they are the attribute then."""
    state = state_of(estimator)
    state.copies.pop(name, None)
    if not _holds_tensors(value):
        return value
    parts = value if isinstance(value, tuple | list) else [value]
    state.tensors[name] = next(p.device for p in parts if isinstance(p, torch.Tensor))
    found = vars(estimator)[name] = host_value(value)
    return found


def note_arrays(estimator: Any, device: torch.device) -> None:
    """Note after a fit who reads what NumPy has learnt as tensors: those who gave tensors."""
    state = state_of(estimator)
    if state.given != "tensor":
        return
    for name, value in vars(estimator).items():
        if not name.endswith("_") or name in type(estimator)._on_host:
            continue
        if _is_numeric(value) or isinstance(value, _SCALARS):
            state.tensors[name] = device


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(isinstance(part, torch.Tensor) for part in value)
    return isinstance(value, torch.Tensor)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"


def _rebuilt(value: Any, parts: Iterable[Any]) -> Any:
    """Return a list or tuple, named ones too, of the same type as another one."""
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def host_value(value: Any) -> Any:
    """Return what was a tensor as NumPy's array, or as a number where it has no dimensions."""
    if isinstance(value, tuple | list):
        return _rebuilt(value, map(host_value, value))
    return transfers.to_host(value)[()] if isinstance(value, torch.Tensor) else value


def _on_device(estimator: Any, name: str, value: Any, device: torch.device) -> Any:
    """Return arrays as tensors, and tensors, on a device."""

    def moved(part: Any) -> Any:
        if isinstance(part, tuple | list):
            return _rebuilt(part, map(moved, part))
        if _is_numeric(part):
            return transfers.to_device(part, device)
        return part.to(device) if isinstance(part, torch.Tensor) else part

    if isinstance(value, torch.Tensor) and value.device == device:
        return value
    parts = value if isinstance(value, tuple | list) else (value,)
    if not any(_is_numeric(part) or isinstance(part, torch.Tensor) for part in parts):
        return value
    return _copy(estimator, name, value, device, moved)


def _as_tensor(estimator: Any, name: str, value: Any) -> Any:
    """Return labels, and what was a tensor, as tensors; others as they are."""
    device = state_of(estimator).tensors.get(name)
    if device is not None and isinstance(value, _SCALARS):
        made = functools.partial(transfers.to_device, device=device)
        return _copy(estimator, name, value, device, made)
    if device is not None:
        return _on_device(estimator, name, value, device)
    if name not in type(estimator)._on_host or not _is_numeric(value):
        return value
    return _copy(estimator, name, value, "tensor", torch.from_numpy)


def _copy(estimator: Any, name: str, value: Any, key: Any, made: Any) -> Any:
    """Return the same value in another container, made once."""
    copies = state_of(estimator).copies
    source, found = copies.get(name, (None, {}))
    if source is not value:
        found = {}
        copies[name] = value, found
    if key not in found:
        found[key] = made(value)
    return found[key]
