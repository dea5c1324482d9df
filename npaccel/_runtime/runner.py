"""The fast path: a signature seen before, run without Dynamo.

For each captured and compiled signature one small Python function is
generated. It checks what the capture depends on, hands the arguments' memory to
the compiled code, and gives the results back as the caller's kind.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import re
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from npaccel._process.signals import from_handler
from npaccel._runtime import device_transfer
from npaccel._runtime.arguments import CONVERTERS, to_array, to_tensor
from npaccel._runtime.emit import CallEmitter, computes_on_arrays, is_of_key, unpack
from npaccel._runtime.error_translation import FAILURES, CompiledCodeError
from npaccel._runtime.guards import Guard, Scope, check_code
from npaccel._runtime.host_rng import Draw, Draws, Save, make_draw, restore
from npaccel._runtime.outputs import (
    apart,
    as_memmap,
    has_overlap,
)
from npaccel._runtime.plan import Plan
from npaccel._runtime.torch.loader import Code


class Declined(enum.Enum):
    """Reason that a runner returns for a call that it doesn't make."""

    #: Answer of a runner that isn't the one for the call.
    MISS = "another signature"
    #: Arrays that it writes to share memory.
    OVERLAP = "overlapping arrays"
    #: NumPy has to make the call, and raise its own error if there is one.
    TO_NUMPY = "left to NumPy"


#: Outcomes as names of their own, which are quick to compare with.
MISS, OVERLAP, TO_NUMPY = Declined

#: A runner takes the values of the parameters.
Runner = Callable[[Sequence[Any]], Any]


@dataclasses.dataclass
class Compiled:
    """A signature that a generated runner serves.

    Parameters
    ----------
    plan : Plan
    code : Code
    guards : list of Guard
    source : str
        The generated code.
    kernels : list of Path
    files : list
        Files of inlined code, see `guard_serialization.uncovered_files`.
    uncacheable : str
        Why it can't be kept on disk; empty where it can.
    """

    plan: Plan
    code: Code
    guards: list[Guard]
    source: str
    kernels: list[Path]
    files: list[list[Any]]
    uncacheable: str


def make_runner(
    plan: Plan,
    code: Code,
    guards: Sequence[Guard],
    scope: Scope,
) -> Runner:
    """Generate the runner of a plan.

    Parameters
    ----------
    plan : Plan
    code : Code
        The compiled code.
    guards : sequence of Guard
    scope : Scope
    """
    check, names = check_code(guards)
    check, read = _read_once(check, plan)
    names |= scope.names() | {"MISS": MISS, "OVERLAP": OVERLAP, "call": code.call}
    names |= {f"as_{how}": function for how, function in CONVERTERS.items()}
    names |= {
        "has_overlap": has_overlap,
        "apart": apart,
        "float64": torch.float64,
    }
    names |= {"narrowed": narrowed, "read_only": read_only, "device": torch.device(plan.device)}
    names |= {"moved": device_transfer.moved, "fetched": device_transfer.fetched}
    names |= {"GUARD_ERRORS": (AttributeError, IndexError, KeyError, TypeError)}
    names |= shape_functions() | write_functions() | error_classes()
    names |= {"TO_NUMPY": TO_NUMPY, "restore": restore, "as_memmap": as_memmap}
    names["from_handler"] = from_handler
    if plan.draws.lines:
        names["draw"], names["save"] = draw_functions(plan.draws, scope, plan.given, plan.device)
    emitter = CallEmitter(plan)
    lines = [*unpack(scope), *emitter.guard(check)]
    first = len(lines)
    if code.on_arrays is not None and computes_on_arrays(plan):
        names |= {"call": code.on_arrays, "memory": memory}
        names |= {"may_share": np.may_share_memory, "ndarray": np.ndarray}
        lines += emitter.on_arrays(names)
    else:
        lines += emitter.on_tensors(names)
    lines[first:] = [functools.reduce(_replaced, read.items(), line) for line in lines[first:]]
    source = "def run(args, fits=False):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<npaccel runner of {scope.function.__qualname__}>", "exec"), names)
    run = names["run"]
    run.made_of = (plan, code.call, guards, scope)
    if plan.shape_guard is not None and is_of_key(plan):
        run.for_key = types.FunctionType(run.__code__, names, run.__name__, (True,))
        run.for_key.made_of = run.made_of
    runner: Runner = run
    return runner


def _read_once(check: str, plan: Plan) -> tuple[str, dict[str, str]]:
    """Have arrays that aren't arguments read by the check alone.

    Another thread may rebind them behind it, and the code would read past the new one's end.

    Returns
    -------
    check : str
    read : dict
        The names that hold the arrays, by expression.
    """
    read: dict[str, str] = {}
    for item in plan.inputs:
        if item.conversion != "any" or item.expression in read:
            continue
        found = re.search(_alone(item.expression), check)
        if found:
            name = read[item.expression] = f"g{len(read)}"
            after = _replaced(check[found.end() :], (item.expression, name))
            check = f"{check[: found.start()]}({name} := {item.expression}){after}"
    return check, read


def _replaced(text: str, pair: tuple[str, str]) -> str:
    return re.sub(_alone(pair[0]), pair[1], text)


def _alone(expression: str) -> str:
    """A pattern for an expression that isn't the begin or the end of a longer name."""
    return rf"(?<![\w.]){re.escape(expression)}(?!\w)"


def for_key(runner: Runner) -> Runner:
    """Return what makes further calls of the signature of one that a runner has made.

    What is assumed of sizes and strides holds for all of them, where it is about arrays that the
    signature's key describes, and isn't checked again.
    """
    known: Runner = getattr(runner, "for_key", runner)
    return known


def make_check(guards: Sequence[Guard], scope: Scope) -> Callable[[Sequence[Any]], bool]:
    """Generate a check of guards on the values of the parameters."""
    code, names = check_code(guards)
    names |= scope.names() | {"GUARD_ERRORS": (AttributeError, IndexError, KeyError, TypeError)}
    lines = [*unpack(scope), "try:", f"    return {code}", "except GUARD_ERRORS:"]
    lines.append("    return False")
    source = "def check(args):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<npaccel guards of {scope.function.__qualname__}>", "exec"), names)
    check: Callable[[Sequence[Any]], bool] = names["check"]
    return check


def memory(value: Any) -> np.ndarray[Any, Any]:
    """The memory of an array that compiled code reads, or of a copy that it can read."""
    if type(value) is np.ndarray and value.dtype.isnative:
        flags = value.flags
        if flags.c_contiguous and flags.aligned and min(value.strides, default=0) >= 0:
            return value
    return to_array(to_tensor(value))


def draw_functions(draws: Draws, scope: Scope, given: int, device: str) -> tuple[Draw, Save]:
    """Generate the functions that draw random numbers for a graph, see `make_draw`."""
    return make_draw(draws, unpack(scope), given, device, scope.names() | shape_functions())


def narrowed(value: torch.Tensor) -> torch.Tensor:
    """Cast a 64-bit float or 128-bit complex tensor to half of it."""
    if value.dtype is torch.float64:
        return value.to(torch.float32)
    return value.to(torch.complex64) if value.dtype is torch.complex128 else value


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Forbid writing to an array."""
    array.flags.writeable = False
    return array


def write_functions() -> dict[str, Any]:
    """Functions that the lines that write to the caller's arrays call."""
    return {"copy_back": copy_back, "is_apart": is_apart}


def error_classes() -> dict[str, Any]:
    """Names in the lines around a call of compiled code."""
    return {"FAILURES": FAILURES, "CompiledCodeError": CompiledCodeError}


def is_apart(value: Any, made: torch.Tensor) -> bool:
    """Whether the tensor that was made of an array, or of a tensor, is a copy."""
    if isinstance(value, torch.Tensor):
        return made is not value
    on_host = device_transfer.is_host(made.device.type)
    return not (on_host and np.may_share_memory(value, made.detach().numpy()))


def copy_back(target: Any, source: torch.Tensor) -> None:
    """Write what compiled code computed on a copy to the caller's array."""
    if isinstance(target, torch.Tensor):
        target.copy_(source)
    else:
        np.copyto(target, source.detach().cpu().numpy(), casting="unsafe")


def shape_functions() -> dict[str, Any]:
    """Functions that the guards on shapes call."""
    return {
        "math": math,
        "torch": torch,
        "TruncToInt": math.trunc,
        "RoundToInt": round,
        "FloorDiv": lambda a, b: a // b,
        "CleanDiv": lambda a, b: a // b,
        "CeilDiv": lambda a, b: -(-a // b),
        "Mod": lambda a, b: a % b,
        "PythonMod": lambda a, b: a % b,
        "Max": max,
        "Min": min,
        "Eq": lambda a, b: a == b,
        "Ne": lambda a, b: a != b,
        "ToFloat": float,
        "IntTrueDiv": lambda a, b: a / b,
        "FloatTrueDiv": lambda a, b: a / b,
    }
