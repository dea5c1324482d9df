"""Whether a function is compiled whole, or split at its loops."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from npaccel._compiler.dispatcher import Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import logs
from npaccel._process.imports import load
from npaccel._report import Log
from npaccel._runtime.options import Options
from npaccel._runtime.torch import malloc
from npaccel._syntax import loop_detection

if TYPE_CHECKING:
    from npaccel._loops.driver.driver import Driver


def make_dispatcher(
    function: types.FunctionType, options: Options, log: Log
) -> Dispatcher | Driver:
    """Return what runs a function under options.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log

    Returns
    -------
    Dispatcher or Driver
        A driver where there are loops that the compiler would unroll.
    """
    malloc.prepare()
    unrolls = options.loops == "unroll" and not loop_detection.calls_primitive(function)
    if unrolls or not loop_detection.loops(function):
        logs.loops.debug("%s: has no loops to split", function.__qualname__)
        return Dispatcher(FunctionSpec(function, options, log), may_go_behind=True)
    logs.loops.debug("%s: has loops", function.__qualname__)
    load("npaccel._loops.driver.driver")
    from npaccel._loops.driver.driver import Driver

    return Driver(function, options, log)
