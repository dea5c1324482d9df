"""The fast path: a signature seen before, run without Dynamo.

For each captured and compiled signature one small Python function is
generated. It checks what the capture depends on, hands the arguments' memory to
the compiled code, and gives the results back as the caller's kind.
"""

from __future__ import annotations

import collections
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
from npaccel._runtime.arguments import CONVERTERS, COPYING, to_array, to_tensor
from npaccel._runtime.error_translation import FAILURES, CompiledCodeError
from npaccel._runtime.guards import Condition, Scope, check_code
from npaccel._runtime.host_rng import Draw, Draws, Save, make_draw, restore
from npaccel._runtime.outputs import (
    Template,
    apart,
    as_memmap,
    has_overlap,
    outputs_of,
    template_code,
)
from npaccel._runtime.torch.loader import Code


class Declined(enum.Enum):
    """What a runner returns for a call that it doesn't make."""

    #: It isn't the one for the call.
    MISS = "another signature"
    #: Arrays that it writes to share memory.
    OVERLAP = "overlapping arrays"
    #: NumPy has to make the call, and raise its own error if there is one.
    TO_NUMPY = "left to NumPy"


#: As names of their own, which are quick to compare with.
MISS, OVERLAP, TO_NUMPY = Declined

#: How an array becomes a tensor that is its memory, and what the array itself is for the code.
_AS_THEY_ARE = {
    "direct": "{}",
    "plain": "{}.view(ndarray)",
    "readonly": "{}",
    "renamed": "{}",
}
#: What is asked of tensors that arrays don't answer in the same words.
_OF_TENSORS = re.compile(r"\.(?!size\(\)|shape\b|strides\b|itemsize\b)[a-z]\w*\(|\bL\[")

#: A runner takes the values of the parameters.
Runner = Callable[[Sequence[Any]], Any]


@dataclasses.dataclass(frozen=True)
class InputPlan:
    """How one input of the graph is made.

    Parameters
    ----------
    expression : str
        Python for the object, in the names of `Scope`.
    how : str
        A key of `CONVERTERS` ("any" for an array that isn't an argument),
        "symbol" for a size or number, or "drawn" for random numbers, which
        come after all others.
    narrow : bool
        Whether it is cast to 32 bit a part.
    """

    expression: str
    how: str
    narrow: bool = False


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that a runner does.

    Parameters
    ----------
    inputs : tuple of InputPlan
    result : Template
    written : tuple of int
        The inputs that the compiled code writes to.
    read_only : tuple of int
        The outputs that are read-only arrays.
    tensors : bool
        Whether results are given as tensors.
    device : str
        Where it is computed.
    shape_guard : str or None
        Python over ``L['t0']``, ... and arguments; None where nothing is assumed of them.
    is_generic : bool
        Whether the plan serves other shapes too.
    boxed : bool
        Whether the call takes one list, which it empties.
    shared : tuple of int
        The outputs to copy: they are one tensor with another, see `falsely_shared`.
    draws : Draws
        The random numbers that NumPy draws for the graph.
    returned : tuple of (int, int)
        The outputs that are inputs, and which ones.
    has_wide_data : bool
        Whether 64-bit floats are read besides the arguments, so that nothing is narrowed.
    undoes : bool
        Whether the compiled code may raise an error after it has written to an input, which has to
        be undone then.
    mapped : tuple of (int, int)
        The outputs that are views of memory maps, and of which inputs.
    leaves : bool
        Whether something written may be left where memory runs out in the compiled code.
    """

    inputs: tuple[InputPlan, ...]
    result: Template
    written: tuple[int, ...]
    read_only: frozenset[int]
    tensors: bool
    device: str
    shape_guard: str | None
    is_generic: bool
    boxed: bool
    shared: tuple[int, ...] = ()
    draws: Draws = dataclasses.field(default_factory=Draws)
    returned: tuple[tuple[int, int], ...] = ()
    has_wide_data: bool = False
    undoes: bool = False
    mapped: tuple[tuple[int, int], ...] = ()
    leaves: bool = True

    @property
    def given(self) -> int:
        """The number of inputs that aren't drawn."""
        return len(self.inputs) - len(self.draws.inputs)


@dataclasses.dataclass
class Compiled:
    """A signature that a generated runner serves.

    Parameters
    ----------
    plan : Plan
    code : Code
    conditions : list of Condition
    source : str
        The generated code.
    kernels : list of Path
    files : list
        Files of inlined code, see `guard_serialization.uncovered_files`.
    not_kept : str
        Why it can't be kept on disk; empty where it can.
    """

    plan: Plan
    code: Code
    conditions: list[Condition]
    source: str
    kernels: list[Path]
    files: list[list[Any]]
    not_kept: str


def make_runner(
    plan: Plan,
    code: Code,
    conditions: Sequence[Condition],
    scope: Scope,
) -> Runner:
    """Generate the runner of a plan.

    Parameters
    ----------
    plan : Plan
    code : Code
        The compiled code.
    conditions : sequence of Condition
    scope : Scope
    """
    check, names = check_code(conditions)
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
    lines = [*_unpack(scope), *_guard(check)]
    if code.on_arrays is not None and computes_on_arrays(plan):
        names |= {"call": code.on_arrays, "memory": memory}
        names |= {"may_share": np.may_share_memory, "ndarray": np.ndarray}
        lines += _on_arrays(plan, names)
    else:
        lines += [*_inputs(plan), *_shape(plan), *_overlap(plan), *_saves(plan, "clone")]
        lines += [*_draws(plan), *_call(plan), *_write_back(plan), *_result(plan, names)]
    first = len(_unpack(scope)) + len(_guard(check))
    lines[first:] = [functools.reduce(_replaced, read.items(), line) for line in lines[first:]]
    source = "def run(args, fits=False):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<npaccel runner of {scope.function.__qualname__}>", "exec"), names)
    run = names["run"]
    run.made_of = (plan, code.call, conditions, scope)
    if plan.shape_guard is not None and _is_of_key(plan):
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
        if item.how != "any" or item.expression in read:
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


def make_check(conditions: Sequence[Condition], scope: Scope) -> Callable[[Sequence[Any]], bool]:
    """Generate a check of conditions on the values of the parameters."""
    code, names = check_code(conditions)
    names |= scope.names() | {"GUARD_ERRORS": (AttributeError, IndexError, KeyError, TypeError)}
    lines = [*_unpack(scope), "try:", f"    return {code}", "except GUARD_ERRORS:"]
    lines.append("    return False")
    source = "def check(args):\n" + "\n".join("    " + line for line in lines)
    exec(compile(source, f"<npaccel guards of {scope.function.__qualname__}>", "exec"), names)
    check: Callable[[Sequence[Any]], bool] = names["check"]
    return check


def _unpack(scope: Scope) -> list[str]:
    if not scope.parameters:
        return []
    return ["".join(f"a_{name}, " for name in scope.parameters) + "= args"]


def _guard(check: str) -> list[str]:
    if check == "True":
        return []
    return [
        "try:",
        f"    if not ({check}):",
        "        return MISS",
        "except GUARD_ERRORS:",
        "    return MISS",
    ]


def _inputs(plan: Plan) -> list[str]:
    lines = []
    for i, item in enumerate(plan.inputs):
        if item.how in ("symbol", "drawn"):
            continue
        value = item.expression if item.how == "tensor" else f"as_{item.how}({item.expression})"
        if item.narrow:
            value = f"narrowed({value})"
        if is_moved(item, plan):
            lines.append(f"h{i} = {value}")
            value = f"moved(h{i}, device)"
        lines.append(f"t{i} = {value}")
    return [*_told(lines), *_symbols(plan)]


def _symbols(plan: Plan) -> list[str]:
    lines = []
    for i, item in enumerate(plan.inputs):
        if item.how == "symbol":
            lines.append(f"t{i} = {_symbol(item.expression, plan)}")
            if item.expression.isidentifier():  # Kernels take 64 bits.
                lines += [f"if not -0x8000000000000000 <= t{i} <= 0x7FFFFFFFFFFFFFFF:"]
                lines += ["    return MISS"]
    return lines


def computes_on_arrays(plan: Plan) -> bool:
    """Whether a call does without tensors, if the code can.

    What is written is an argument's own memory then.
    """
    if plan.tensors or not device_transfer.is_host(plan.device):
        return False
    if plan.draws.lines or not plan.boxed:
        return False
    hows = {item.how for item in plan.inputs} - {"symbol"}
    if plan.written and (hows - _AS_THEY_ARE.keys() or any(item.narrow for item in plan.inputs)):
        return False
    symbols = [item.expression for item in plan.inputs if item.how == "symbol"]
    return not any(_OF_TENSORS.search(text) for text in [_of_arrays(plan), *symbols])


def _of_arrays(plan: Plan) -> str:
    """The conditions on sizes in the words of arrays."""
    text = re.sub(r"\bL\['(t\d+)'\]", r"\1", plan.shape_guard or "")
    text = re.sub(r"(\bt\d+)\.stride\(\)(\[\d+\])", r"(\1.strides\2 // \1.itemsize)", text)
    text = re.sub(r"\bt\d+\.storage_offset\(\)", "0", text)
    return text.replace(".size()", ".shape")


def _is_of_key(plan: Plan) -> bool:
    """Whether what is assumed of sizes is about arrays among the arguments alone."""
    assumed = plan.shape_guard or ""
    used = [plan.inputs[int(i)] for i in re.findall(r"\bL\['t(\d+)'\]", assumed)]
    if any(item.how not in _AS_THEY_ARE and item.how != "symbol" for item in used):
        return False
    arguments = {item.expression for item in plan.inputs if item.how in _AS_THEY_ARE}
    texts = [assumed, *(item.expression for item in used if item.how == "symbol")]
    sizes = re.compile(r"([^\s()]+)\.(?:size\(\)|shape)\[\d+\]")
    owners = {owner for text in texts for owner in sizes.findall(text) if owner[:2] != "L["}
    others = " ".join(sizes.sub("", text) for text in texts)
    return owners <= arguments and re.search(r"\ba_\w|\b[BCGM]\[", others) is None


def _on_arrays(plan: Plan, names: dict[str, Any]) -> list[str]:
    """Make a call without tensors."""
    lines = []
    for i, item in enumerate(plan.inputs):
        if item.how in _AS_THEY_ARE and not item.narrow:
            lines.append(f"t{i} = {_AS_THEY_ARE[item.how].format(item.expression)}")
        elif item.how == "any" and not item.narrow:
            lines.append(f"t{i} = memory({item.expression})")
        elif item.how != "symbol":
            made = f"as_{item.how}({item.expression})"
            lines.append(f"t{i} = {f'narrowed({made})' if item.narrow else made}.numpy()")
    lines = _told(lines)
    lines += [line.replace(".size()", ".shape") for line in _symbols(plan)]
    if plan.shape_guard is not None:
        lines += [f"if not (fits or ({_of_arrays(plan)})):", "    return MISS"]
    arrays = [i for i, item in enumerate(plan.inputs) if item.how != "symbol"]
    before: set[int] = set()
    pairs = []
    for i in plan.written:
        before.add(i)
        pairs += [(i, j) for j in arrays if j not in before]
    if pairs:
        shared = " or ".join(f"may_share(t{i}, t{j})" for i, j in pairs)
        lines += [f"if {shared}:", "    return OVERLAP"]
    given = ", ".join(f"t{i}" for i in range(len(plan.inputs)))
    undoes = [f"t{i}[...] = u{i}" for i in _undone(plan)]
    lines += _saves(plan, "copy")
    lines += _told([f"o = call({given})"], undoes, undone=_is_undone(plan))
    if plan.returned or plan.shared:
        lines += ["o = [*o]", *(f"o[{i}] = t{j}.view()" for i, j in plan.returned)]
        lines += [f"o[{i}] = o[{i}].copy()" for i in plan.shared]
    return [*lines, *_result(plan, names, arrays=True)]


def memory(value: Any) -> np.ndarray[Any, Any]:
    """The memory of an array that compiled code reads, or of a copy that it can read."""
    if type(value) is np.ndarray and value.dtype.isnative:
        flags = value.flags
        if flags.c_contiguous and flags.aligned and min(value.strides, default=0) >= 0:
            return value
    return to_array(to_tensor(value))


def _symbol(expression: str, plan: Plan) -> str:
    """A size is read off a tensor, not off the array: the input's or one made for it."""
    for i, item in enumerate(plan.inputs):
        if item.how != "symbol" and expression.startswith(item.expression + "."):
            return f"t{i}" + expression[len(item.expression) :]
    found = re.fullmatch(r"(.+)(\.(?:size|stride|storage_offset)\(\).*)", expression)
    return f"as_any({found[1]}){found[2]}" if found else expression


def _shape(plan: Plan) -> list[str]:
    if plan.shape_guard is None:
        return []
    used = ", ".join(f"'t{i}': t{i}" for i in range(plan.given))
    return [f"L = {{{used}}}", f"if not ({plan.shape_guard}):", "    return MISS"]


def _overlap(plan: Plan) -> list[str]:
    others = ("symbol", "number", "drawn")
    tensors = [i for i, item in enumerate(plan.inputs) if item.how not in others]
    if not plan.written or len(tensors) < 2:
        return []
    written = [tensors.index(i) for i in plan.written]
    if any(is_copied(plan.inputs[i], plan) for i in tensors):  # Copies overlap with nothing.
        values = "".join(f"{plan.inputs[i].expression}, " for i in tensors)
        return [f"if has_overlap(({values}), {tuple(written)}):", "    return OVERLAP"]
    if len(tensors) == 2 and len(written) == 1:
        first, second = f"t{tensors[0]}", f"t{tensors[1]}"
        return [
            f"p, q = {first}.data_ptr(), {second}.data_ptr()",
            f"if p == q or ((p < q < p + {first}.untyped_storage().nbytes() or "
            f"q < p < q + {second}.untyped_storage().nbytes())"
            f" and has_overlap(({first}, {second}), ({written[0]},))):",
            "    return OVERLAP",
        ]
    names = "".join(f"t{i}, " for i in tensors)
    return [f"if has_overlap(({names}), {tuple(written)}):", "    return OVERLAP"]


def draw_functions(draws: Draws, scope: Scope, given: int, device: str) -> tuple[Draw, Save]:
    """Generate the functions that draw random numbers for a graph, see `make_draw`."""
    return make_draw(draws, _unpack(scope), given, device, scope.names() | shape_functions())


def _draws(plan: Plan) -> list[str]:
    """Draw last of all, when nothing can send the call elsewhere any more."""
    if not plan.draws.lines:
        return []
    given = "".join(f"t{i}, " for i in range(plan.given))
    drawn = "".join(f"t{i}, " for i in range(plan.given, len(plan.inputs)))
    draw = f"{drawn}= draw(args, ({given}))" if drawn else f"draw(args, ({given}))"
    if not plan.draws.may_fail:
        return [draw]
    failed = ["except Exception as error:", "    restore(before)"]
    failed += ["    if from_handler(error):", "        raise", "    return TO_NUMPY"]
    return ["before = save(args)", "try:", f"    {draw}", *failed]


def _call(plan: Plan) -> list[str]:
    names = ", ".join(f"t{i}" for i in range(len(plan.inputs)))
    call = f"o = call([{names}])" if plan.boxed else f"o = call({names})"
    if plan.shared:
        call = call.replace("= ", "= apart(", 1) + f", {plan.shared})"
    inputs = ["o = [*o]", *(f"o[{i}] = t{j}" for i, j in plan.returned)] if plan.returned else []
    undoes = [f"t{i}.copy_(u{i})" for i in _undone(plan)]
    if plan.draws.lines and plan.draws.may_fail:
        undoes.append("restore(before)")
    return [*_told([call], undoes, undone=_is_undone(plan)), *inputs]


def _saves(plan: Plan, copy: str) -> list[str]:
    """Copy what may have to be undone."""
    return _told([f"u{i} = t{i}.{copy}()" for i in _undone(plan)])


def _undone(plan: Plan) -> list[int]:
    """The inputs that have their old values again after an error."""
    if not (plan.undoes and plan.boxed):  # Else the code does it itself.
        return []
    return [i for i in plan.written if not is_copied(plan.inputs[i], plan)]


def _is_undone(plan: Plan) -> bool:
    """Whether nothing is left of a call that has ended anywhere in the compiled code."""
    is_written = any(not is_copied(plan.inputs[i], plan) for i in plan.written)
    return not (plan.leaves and is_written) and (plan.draws.may_fail or not plan.draws.lines)


def _told(lines: Sequence[str], undoes: Sequence[str] = (), *, undone: bool = True) -> list[str]:
    """Have errors of lines known as those of compiled code."""
    if not lines:
        return []
    return [
        "try:",
        *(f"    {line}" for line in lines),
        "except FAILURES as error:",
        *(f"    {line}" for line in undoes),
        f"    raise CompiledCodeError(error, {undone}) from error",
    ]


def _write_back(plan: Plan) -> list[str]:
    lines = []
    for i in plan.written:
        item = plan.inputs[i]
        if is_copied(item, plan):
            lines.append(f"copy_back({item.expression}, t{i})")
        elif item.how == "any":
            lines.append(f"if is_apart({item.expression}, t{i}):")
            lines.append(f"    copy_back({item.expression}, t{i})")
    return lines


def is_copied(item: InputPlan, plan: Plan) -> bool:
    """Whether the compiled code works on a copy of an input."""
    return not keeps_memory(item) or is_moved(item, plan)


def is_moved(item: InputPlan, plan: Plan) -> bool:
    """Whether an input is an array of the host that goes to a device at every call."""
    if item.how in ("symbol", "drawn"):
        return False
    if plan.tensors and item.how in ("tensor", "resolved"):
        return False
    return not device_transfer.is_host(plan.device)


def _result(plan: Plan, names: dict[str, Any], *, arrays: bool = False) -> list[str]:
    constants: dict[str, Any] = {}
    code = template_code(plan.result, plan.tensors, constants, arrays=arrays)
    names.update(constants)
    lines = []
    mapped = {output: plan.inputs[i].expression for output, i in plan.mapped}
    alone = plan.read_only | _repeated(plan.result) | mapped.keys()
    for i in [] if plan.tensors else sorted(alone):
        array = f"o[{i}]" if arrays else f"o[{i}].numpy()"
        made = f"read_only({array})" if i in plan.read_only else array
        lines.append(f"r{i} = as_memmap({made}, {mapped[i]})" if i in mapped else f"r{i} = {made}")
        code = code.replace(array, f"r{i}")
    lines.append(f"return {code}")
    if plan.tensors or device_transfer.is_host(plan.device):
        return lines
    kept = [i for i, item in enumerate(plan.inputs) if keeps_memory(item) and is_moved(item, plan)]
    uploaded, originals = ("".join(f"{name}{i}, " for i in kept) for name in "th")
    return [f"o = fetched(o, ({uploaded}), ({originals}))", *lines]


def _repeated(result: Template) -> set[int]:
    """The outputs that are several parts of a result: one array in NumPy, so here."""
    arrays = (output.index for output in outputs_of(result) if not output.is_scalar)
    counts = collections.Counter(arrays)
    return {index for index, count in counts.items() if count > 1}


def keeps_memory(item: InputPlan) -> bool:
    """Whether the tensor of an input is the memory of the caller's array."""
    return item.how not in COPYING and not item.narrow


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
    """What the lines that write to the caller's arrays call."""
    return {"copy_back": copy_back, "is_apart": is_apart}


def error_classes() -> dict[str, Any]:
    """What the lines around a call of compiled code name."""
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
    """What the conditions on shapes call."""
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
