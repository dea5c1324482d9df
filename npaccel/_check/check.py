"""`npaccel.check`: run a function in NumPy and compiled, and compare everything."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from npaccel._compiler import tiers
from npaccel._compiler.dispatcher import Dispatcher
from npaccel._jit import Jitted, jit
from npaccel._loops.make_dispatcher import make_dispatcher
from npaccel._report import Log
from npaccel._runtime import arguments
from npaccel._runtime import options as runtime_options
from npaccel._verify.case import Case
from npaccel._verify.verification import CheckResult, Difference, check_dispatcher
from npaccel.errors import VerificationError

if TYPE_CHECKING:
    from npaccel._loops.driver.driver import Driver


def check(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> CheckResult:
    """Run a function in plain NumPy and compiled, and compare everything.

    Both get copies of the same arguments. Compared are value, dtype, shape,
    scalar or array, changed arguments, exceptions and random states, on the
    CPU and, where torch sees a CUDA device, there as well.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one, whose options are then
        used.
    *args, **kwargs
        Its arguments: arrays of any shape and dtype, numbers, containers.
        They aren't changed.

    Returns
    -------
    CheckResult
        ``.ok``, ``.differences`` with the first line at which the two part,
        ``.narrowed``; ``str()`` of it is a table.

    Notes
    -----
    Floats may be a little apart: relative to NumPy's, 1e-11 in 64 bit, 1e-5 in
    32 and 4e-3 in 16, and further where NumPy's own result moves as far when
    each of its operations is off by some units in the last place. What
    ``default_float`` narrows is listed, not a difference. The line is found by
    comparing the result of every operation with the one of the captured graph.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> def normalised(x):
    ...     return (x - x.mean()) / x.std()
    >>> result = npaccel.check(normalised, np.arange(6.0))
    >>> result.ok
    True
    >>> print(result)
    normalised: no difference from NumPy on cpu...
    """
    dispatcher, values = dispatcher_and_values(function, args, kwargs)
    case = Case(dispatcher, values)
    found: list[Difference] = []
    narrowed: dict[str, None] = {}
    notes: dict[str, None] = {}
    devices = []
    for device, other in _dispatchers(dispatcher, values):
        devices.append(device)
        differences, narrow = check_dispatcher(case, other, device)
        found += differences
        narrowed |= dict.fromkeys(narrow)
        notes |= dict.fromkeys(str(one) for one in other.spec.log.fallbacks.values())
    return CheckResult(
        dispatcher.spec.name,
        tuple(devices),
        tuple(found),
        tuple(narrowed),
        tuple(notes),
    )


def dispatcher_and_values(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Dispatcher | Driver, Sequence[Any]]:
    """Return what compiles a call of a function, jitted or not, and the call's bound arguments.

    Raises
    ------
    VerificationError
        If npaccel is switched off.
    """
    if isinstance(function, types.MethodType) and isinstance(function.__func__, Jitted):
        function, args = function.__func__, (function.__self__, *args)
    jitted = function if isinstance(function, Jitted) else jit(function)
    scope = runtime_options.current()
    if scope.disabled:
        raise VerificationError(
            "check: npaccel is switched off here (NPACCEL_DISABLE or npaccel.disabled()), so there "
            "is nothing to compare; switch it on"
        )
    dispatcher = jitted._npaccel_dispatchers.get(scope) or jitted._npaccel_dispatcher(scope)
    assert dispatcher is not None
    values = dispatcher.spec.binding.bind(
        jitted._npaccel_prefix + args, {**jitted._npaccel_keywords, **kwargs}
    )
    return tiers.dispatcher_of(dispatcher, values), values


def _dispatchers(
    dispatcher: Dispatcher | Driver, values: Sequence[Any]
) -> list[tuple[str, Dispatcher | Driver]]:
    """Return the dispatcher, and one for CUDA where there is a device and nothing decides."""
    given = arguments.device_of(values)
    first = str(given or dispatcher.spec.options.device or "cpu")
    dispatchers: list[tuple[str, Dispatcher | Driver]] = [(first, dispatcher)]
    if first == "cpu" and given is None and torch.cuda.is_available():
        options = dataclasses.replace(dispatcher.spec.options, device="cuda")
        dispatchers.append(("cuda", make_dispatcher(dispatcher.spec.function, options, Log())))
    return dispatchers
