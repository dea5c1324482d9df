"""Call SciPy with arrays and npaccel with tensors, and compare all there is."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import warnings
from typing import Any

import numpy as np
import scipy
import torch
from scipy_arrays import arrays

import npaccel.scipy
from npaccel._scipy.dispatch import routes, table

_NARROW = {"float64": "float32", "complex128": "complex64"}


@dataclasses.dataclass
class Outcome:
    """What a call gave: a value, or an exception."""

    value: Any = None
    error: BaseException | None = None


def off_a_cpu(name: str) -> Any:
    """Return a function that doesn't leave to SciPy what SciPy does best on a CPU."""
    return routes.routed(dataclasses.replace(table.row(f"scipy.{name}"), host_reason=None))


class _OnDevice:
    """Torch's functions, of which those that make tensors of other data make them on a device."""

    _MAKERS = ("asarray", "arange", "zeros", "ones")

    def __init__(self, device: str) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        function = getattr(torch, name)
        if name in self._MAKERS:
            return functools.partial(function, device=self._device)
        return function


def namespace(device: str) -> Any:
    """Return what `xp` is in a call with tensors of a device."""
    return torch if device == "cpu" else _OnDevice(device)


def outcome(module: Any, name: str, arguments: str, known: dict[str, Any]) -> Outcome:
    """Evaluate ``module.name(arguments)``; the arguments are Python over `known`, np, torch."""
    function = module
    for part in name.split("."):
        function = getattr(function, part)
    names = {"__name__": "calls", "f": function, "np": np, "scipy": scipy, "xp": np, **known}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return Outcome(eval(f"f({arguments})", names))
    except Exception as error:  # noqa: BLE001 (compared with the other's)
        return Outcome(error=error)


def both(
    name: str, arguments: str, dtype: str, device: str = "cpu", block: Any = None
) -> tuple[Outcome, Outcome]:
    """Return what SciPy gives for arrays, and npaccel for tensors.

    Parameters
    ----------
    name : str
        Without ``scipy.``.
    arguments : str
    dtype : str
    device : str
    block : context manager, optional
        What is around npaccel's call.
    """
    importlib.import_module(f"scipy.{name.split('.', maxsplit=1)[0]}")
    on_host = arrays(dtype)
    on_device = {key: torch.from_numpy(value.copy()) for key, value in on_host.items()}
    row = table.row(f"scipy.{name}")
    if row is not None and row.wide:
        wider = {"f": np.float64, "c": np.complex128}
        on_host = {k: v.astype(wider.get(v.dtype.kind, v.dtype)) for k, v in on_host.items()}
    on_device = {key: value.to(device) for key, value in on_device.items()}
    expected = outcome(scipy, name, arguments, on_host)
    with block or contextlib.nullcontext():
        actual = outcome(npaccel.scipy, name, arguments, {**on_device, "xp": namespace(device)})
    return expected, actual


def differences(expected: Any, actual: Any, narrow: bool, rtol: float, at: str = "") -> list[str]:
    """List how a result with tensors differs from SciPy's with arrays.

    Parameters
    ----------
    expected, actual : object
    narrow : bool
        Whether floats of 64 bits have 32 bits with tensors.
    rtol : float
        In units of the dtype's eps, of the largest number around.
    at : str
        Where in the result this is.
    """
    if isinstance(expected, np.ndarray | np.generic):
        return _array_differences(np.asarray(expected), actual, narrow, rtol, at)
    if isinstance(expected, tuple | list):
        if type(expected) is not type(actual) or len(expected) != len(actual):
            return [f"{at}: {type(expected).__name__} of {len(expected)}, here {actual!r:.80}"]
        pairs = zip(expected, actual, strict=True)
        found = [
            text
            for i, (a, b) in enumerate(pairs)
            for text in differences(a, b, narrow, rtol, f"{at}[{i}]")
        ]
        return found + _of_attributes(expected, actual, narrow, rtol, at)
    if isinstance(expected, dict):
        return [
            text
            for key in expected
            for text in differences(expected[key], actual[key], narrow, rtol, f"{at}[{key!r}]")
        ]
    if isinstance(expected, float | complex) and not isinstance(actual, torch.Tensor):
        actual = np.asarray(actual)[()]
        eps = np.finfo(np.float32 if narrow else np.float64).eps
        close = np.isclose(expected, actual, rtol=rtol * eps, atol=rtol * eps, equal_nan=True)
        return [] if close else [f"{at}: {expected}, here {actual}"]
    if isinstance(expected, float | int | bool) and isinstance(actual, torch.Tensor):
        return _array_differences(np.asarray(expected), actual, narrow, rtol, at)
    if hasattr(type(actual), "on_host"):
        actual = actual.on_host()
    if type(expected).__module__.startswith("scipy."):
        if type(expected) is not type(actual):
            return [f"{at}: {type(actual).__name__}"]
        if type(expected).__name__.endswith(("Result", "Results")):
            return _of_attributes(expected, actual, narrow, rtol, at)
        return []
    return [] if expected == actual else [f"{at}: {expected!r:.80}, here {actual!r:.80}"]


def _of_attributes(expected: Any, actual: Any, narrow: bool, rtol: float, at: str) -> list[str]:
    """List how attributes of results differ that are arrays or numbers, but no estimated errors."""
    kinds = (np.ndarray, np.generic, float, int, complex)
    # npaccel computes narrow data in float64, which needs fewer subdivisions.
    without = {"error", "subdivisions"} if narrow else {"error"}
    return [
        text
        for name, value in getattr(expected, "__dict__", {}).items()
        if isinstance(value, kinds) and name not in without and not name.startswith("_")
        for text in differences(value, getattr(actual, name), narrow, rtol, f"{at}.{name}")
    ]


def _array_differences(
    expected: np.ndarray[Any, Any], actual: Any, narrow: bool, rtol: float, at: str
) -> list[str]:
    if not isinstance(actual, torch.Tensor):
        return [f"{at}: a {type(actual).__name__}, not a tensor"]
    name = expected.dtype.name
    wanted = _NARROW.get(name, name) if narrow else name
    found = str(actual.dtype).removeprefix("torch.")
    if found != wanted or tuple(actual.shape) != expected.shape:
        return [f"{at}: {wanted}{list(expected.shape)}, here {found}{list(actual.shape)}"]
    if actual.device.type == "meta":
        return []
    values = actual.detach().cpu().resolve_conj().resolve_neg().numpy()
    if expected.dtype.kind not in "fc":
        wrong = np.count_nonzero(expected != values)
        return [f"{at}: {wrong} of {expected.size} differ"] if wrong else []
    eps = np.finfo(values.dtype).eps
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max(initial=0))
    close = np.isclose(expected, values, rtol=rtol * eps, atol=rtol * eps * scale, equal_nan=True)
    if close.all():
        return []
    worst = np.unravel_index(np.argmin(close), close.shape)
    return [
        f"{at}: {np.count_nonzero(~close)} of {close.size} differ, first at {list(map(int, worst))}"
        f": {expected[worst]}, here {values[worst]}"
    ]


def tolerance(name: str) -> float:
    """Return how far from SciPy's a result may be, in units of eps."""
    row = table.row(f"scipy.{name}")
    assert row is not None, f"scipy.{name} is no function"
    return table.DEFAULT_TOLERANCE if row.tolerance is None else row.tolerance
