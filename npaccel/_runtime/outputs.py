"""Give results back as the caller's kind: arrays, NumPy scalars or tensors."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from npaccel._runtime import device_transfer
from npaccel._runtime.arguments import COPYING, conversion_of, to_array, to_tensor
from npaccel._runtime.containers import is_container
from npaccel._runtime.error_translation import SHARED, CompiledCodeError
from npaccel._runtime.foreign_table import Form

#: Whether NumPy returns a scalar: no, its own, or Python's; "number": so for tensors too.
IsScalar = bool | Literal["python", "number"]


class Run:
    """One run of a captured frame: which outputs of the graph left it, and how.

    Parameters
    ----------
    scalars : sequence of bool or "python"
        Which outputs NumPy returns as scalars, or as numbers of Python's.
    read_only_outputs : sequence of bool
        Which outputs are read-only arrays, whatever they are views of.
    tensors : bool
        Whether results are given as tensors.
    """

    def __init__(
        self, scalars: Sequence[IsScalar], read_only_outputs: Sequence[bool], tensors: bool
    ) -> None:
        self.scalars = scalars
        self.read_only_outputs = read_only_outputs
        self.tensors = tensors
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.left: dict[int, tuple[int, Any]] = {}
        self.wrapped: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.replays = False
        self.entered: dict[int, tuple[torch.Tensor, Any]] = {}
        #: Outputs, by number, that are views of read-only arrays.
        self.read_only: set[int] = set()
        #: Memory maps that outputs are views of, by number of the output.
        self.mapped: dict[int, np.memmap[Any, Any]] = {}
        self.values: Sequence[Any] = ()
        self.remade: dict[str, Any] = {}
        self.views: dict[int, tuple[Any, str]] = {}
        #: Objects that were made of outputs, by their id, with what they were made of.
        self.built: dict[int, tuple[Any, Form, tuple[Any, ...]]] = {}
        #: Inputs on a device that are copies, and the caller's arrays.
        self.uploaded: tuple[list[torch.Tensor], list[torch.Tensor]] | None = None
        self.fetched: list[Any] = []

    def remake(self, base: Any, source: str, name: str) -> Any:
        """Make a view of an array, once for each place in the code."""
        if name not in self.remade:
            base = self.wrapped.get(id(base), base)
            view = self.remade[name] = _maker(source)(base)
            if view is not base:  # As np.atleast_1d may give it.
                self.views[id(view)] = (base, source)
        return self.remade[name]

    def leave(self, value: Any) -> Any:
        """Convert one output of the graph for the caller."""
        if id(value) in self.wrapped:
            return self.wrapped[id(value)]
        if id(value) in self.arrays:  # It's stored somewhere, and returned too.
            return self.arrays[id(value)]
        for i, output in enumerate(self.outputs):
            if output is value:
                scalar = self.scalars[i] if i < len(self.scalars) else False
                result = restore(self._fetched(i), scalar=scalar, tensors=self.tensors)
                if self.replays and isinstance(result, bool | int | float | complex | np.bool_):
                    result = _Place()  # Equal numbers may be one object, equal np.bool_ are.
                if isinstance(result, np.ndarray) and self._is_read_only(i):
                    result.flags.writeable = False
                if isinstance(result, np.ndarray) and i in self.mapped:
                    result = as_memmap(result, self.mapped[i])
                self.left[id(result)] = (i, result)
                if isinstance(result, np.ndarray) and sum(o is value for o in self.outputs) == 1:
                    self.arrays[id(value)] = result
                return result
        return restore(value, scalar=False, tensors=self.tensors)

    def _fetched(self, i: int) -> Any:
        """Return an output, on the host where results are arrays."""
        if self.uploaded is None:
            return self.outputs[i]
        if not self.fetched:
            self.fetched = device_transfer.fetched(self.outputs, *self.uploaded)
        return self.fetched[i]

    def _is_read_only(self, i: int) -> bool:
        known = i < len(self.read_only_outputs) and self.read_only_outputs[i]
        return known or i in self.read_only


class _Place:
    """Place of a Python number or a NumPy bool in a result."""


class _Current(threading.local):
    run: Run | None = None

    def __init__(self) -> None:
        self.scalars: dict[int, Any] = {}
        self.read_only_outputs: dict[int, Any] = {}
        self.read_only: dict[int, Any] = {}
        self.copied: dict[int, tuple[torch.Tensor, Any]] = {}
        self.wholes: dict[int, tuple[torch.Tensor, Any]] = {}


_current = _Current()


def running(run: Run, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Run a captured frame with `leave` bound to this run."""
    before = _current.run
    _current.run = run
    try:
        return function(*args)
    finally:
        _current.run = before


def current() -> Run | None:
    """Return the run of this thread."""
    return _current.run


def enter(value: Any) -> Any:
    """Make a tensor of an array that a captured frame reads; called by the frame itself."""
    tensor = to_tensor(value)
    if _current.run is not None:
        _current.run.entered[id(tensor)] = (tensor, value)
        return tensor
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        _current.read_only[id(tensor)] = tensor
    if conversion_of(value) in COPYING:
        _current.copied[id(tensor)] = tensor, value
    return tensor


def check_writeable(inputs: Sequence[Any], written: Sequence[int]) -> set[int]:
    """Refuse to write to read-only arrays that entered a subgraph, and return their numbers.

    Raises
    ------
    CompiledCodeError
    """
    read_only = _current.read_only
    _current.read_only = {}
    if any(id(inputs[i]) in read_only for i in written):
        raise CompiledCodeError(ValueError("assignment destination is read-only"))
    return {i for i, value in enumerate(inputs) if id(value) in read_only}


def copies_of(
    inputs: Sequence[Any], written: Sequence[int], parts: frozenset[int]
) -> dict[int, Any]:
    """Return the arrays that were copied for a subgraph, by the number of the input.

    Parameters
    ----------
    inputs : sequence
    written : sequence of int
        The inputs that the subgraph writes to.
    parts : frozenset of int
        The inputs that the subgraph gives views of.

    Raises
    ------
    CompiledCodeError
        If what a copy is of shares memory with what the subgraph writes to, or gives.
    """
    copied = _current.copied
    _current.copied = {}
    if not copied:
        return {}
    originals = [copied.get(id(value), (None, value))[1] for value in inputs]
    found = {i: originals[i] for i, value in enumerate(inputs) if id(value) in copied}
    if found.keys() & parts or has_overlap(originals, written):
        raise CompiledCodeError(RuntimeError(SHARED))
    return found


def leave(value: Any) -> Any:
    """Convert an array that leaves a captured frame; called by the frame itself."""
    run = _current.run
    if run is not None:
        return run.leave(value)
    if isinstance(value, torch.Tensor):
        whole, array = _current.wholes.get(id(value), (None, None))
        if whole is value:
            return array
        known, scalar = _current.scalars.get(id(value), (None, False))
        result = restore(value, scalar=scalar if known is value else False, tensors=False)
        if isinstance(result, np.ndarray) and _current.read_only_outputs.get(id(value)) is value:
            result.flags.writeable = False
        return result
    return value


@functools.cache
def _maker(source: str) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = eval(f"lambda x: {source}", {"np": np})
    return function


def remade(base: Any, source: str, name: str) -> Any:
    """Make a view of an array that leaves a captured frame; called by the frame itself.

    Parameters
    ----------
    base : ndarray
    source : str
        Python for the view of an array ``x``.
    name : str
        Of the place in the code, unique in the frame.
    """
    run = _current.run
    return _maker(source)(base) if run is None else run.remake(base, source, name)


def built(kind: str, count: int, keywords: Any, added: Any, *values: Any) -> Any:
    """Make an object that leaves a captured frame; called by the frame itself.

    Parameters
    ----------
    kind, count, keywords, added
        The fields of `Form`.
    *values : object
        What it's made of.
    """
    form = Form(kind, count, tuple(keywords), tuple(added))
    found = form.made(values)
    if _current.run is not None:
        _current.run.built[id(found)] = found, form, values
    return found


def note_outputs(
    outputs: Sequence[Any],
    scalars: Sequence[IsScalar],
    read_only_outputs: Sequence[bool],
) -> None:
    """Remember which outputs of a subgraph are NumPy scalars, or read-only, until they leave it.

    Parameters
    ----------
    outputs : sequence
    scalars, read_only_outputs : sequence
        What is known of each output.
    """
    _current.read_only_outputs = {
        id(value): value
        for value, is_one in zip(outputs, read_only_outputs, strict=False)
        if is_one
    }
    _current.scalars = {
        id(value): (value, scalar)
        for value, scalar in zip(outputs, scalars, strict=False)
        if scalar
    }


def note_wholes(outputs: Sequence[Any], arrays: Mapping[int, Any]) -> None:
    """Remember which outputs of a subgraph are arrays that it got, until they leave it."""
    _current.wholes = {id(outputs[i]): (outputs[i], array) for i, array in arrays.items()}


def restore(value: Any, *, scalar: IsScalar, tensors: bool) -> Any:
    """A tensor as an ndarray, a NumPy scalar, a number of Python's, or itself."""
    if not isinstance(value, torch.Tensor):
        return value
    if scalar == "number":
        return value.item()
    if tensors:
        return value
    array = to_array(value)
    if array.ndim or not scalar:
        return array
    return array.item() if scalar == "python" else array[()]


def as_memmap(
    array: np.ndarray[Any, Any], owner: np.memmap[Any, Any]
) -> np.ndarray[Any, Any] | np.memmap[Any, Any]:
    """Give a view of a memory map its class, file and mode."""
    made = array.view(np.memmap)
    made.__array_finalize__(owner)
    is_mapped = made._mmap is not None  # type: ignore[attr-defined]
    return made if is_mapped else array  # Without elements, or a copy.


@dataclasses.dataclass(frozen=True)
class Output:
    """A part of the result that is an output of the graph.

    Parameters
    ----------
    index : int
    is_scalar : bool or str
    kind : str, default ""
        The type of a NumPy scalar, where it is one of an output without dimensions.
    """

    index: int
    is_scalar: IsScalar
    kind: str = ""


@dataclasses.dataclass(frozen=True)
class View:
    """A part of the result that NumPy makes of an output or an argument: a reversed view."""

    base: Output | Argument | View
    source: str


@dataclasses.dataclass(frozen=True)
class Argument:
    """A part of the result that is (a part of) an argument itself."""

    expression: str


@dataclasses.dataclass(frozen=True)
class Constant:
    """A part of the result that no argument decides."""

    value: Any


@dataclasses.dataclass(frozen=True)
class Container:
    """A container of results: tuple, list, dict or a named tuple."""

    kind: type
    names: tuple[Any, ...]
    items: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Built:
    """An object of another library's that is made of results, as SciPy makes it."""

    form: Form
    items: tuple[Any, ...]


#: Recipe of a result.
Template = Output | View | Argument | Constant | Container | Built

CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def template(
    result: Any, run: Run, arguments: Mapping[int, str], *, constants: bool
) -> Template | None:
    """Describe a result, so that later calls can make theirs without the frame.

    Parameters
    ----------
    result : object
        What the frame returned.
    run : Run
    arguments : mapping
        Python for every part of the arguments, by its id.
    constants : bool
        Whether a Python constant in the result is one for every call; None always is.

    Returns
    -------
    Template or None
        None where only the frame itself can make the result: a list that is in it twice as well.
    """
    seen: set[int] = set()

    def part_for(value: Any) -> Template | None:
        if type(value) in (list, dict) and id(value) not in arguments:
            if id(value) in seen:
                return None
            seen.add(id(value))
        return _part(value, run, arguments, constants, part_for)

    return part_for(result)


def _part(
    result: Any,
    run: Run,
    arguments: Mapping[int, str],
    constants: bool,
    part_for: Callable[[Any], Template | None],
) -> Template | None:
    if id(result) in run.left:
        index = run.left[id(result)][0]
        value, scalar = run.outputs[index], run.scalars[index]
        without = isinstance(value, torch.Tensor) and not value.ndim
        kind = str(value.dtype).removeprefix("torch.") if scalar is True and without else ""
        return Output(index, scalar, kind)
    if id(result) in run.views:
        base, source = run.views[id(result)]
        part = part_for(base)
        return View(part, source) if isinstance(part, Output | View | Argument) else None
    if id(result) in arguments:
        return Argument(arguments[id(result)])
    if id(result) in run.built:
        _, form, values = run.built[id(result)]
        found = [part_for(value) for value in values]
        return None if None in found else Built(form, tuple(found))
    if isinstance(result, tuple) and hasattr(result, "__dict__") and vars(result):
        return None  # An object that isn't made of its items alone.
    if is_container(result):
        names = tuple(result) if type(result) is dict else ()
        if any(id(name) in arguments for name in names):
            return None
        items = result.values() if type(result) is dict else result
        made = [part_for(item) for item in items]
        if any(item is None for item in made):
            return None
        return Container(type(result), names, tuple(item for item in made if item is not None))
    if type(result) in CONSTANTS and (constants or result is None):
        return Constant(result)
    return None


def outputs_of(part: Template) -> list[Output]:
    """The outputs of the graph in a template."""
    if isinstance(part, Output):
        return [part]
    if isinstance(part, View):
        return outputs_of(part.base)
    if isinstance(part, Container | Built):
        return [output for item in part.items for output in outputs_of(item)]
    return []


def arguments_of(part: Template) -> list[str]:
    """Python for the arguments that are parts of a result as they are."""
    if isinstance(part, Argument):
        return [part.expression]
    if isinstance(part, View):
        return arguments_of(part.base)
    if isinstance(part, Container | Built):
        return [found for item in part.items for found in arguments_of(item)]
    return []


def template_code(
    part: Template, tensors: bool, names: dict[str, Any], *, arrays: bool = False
) -> str:
    """Return Python that makes the result; ``o`` holds the graph's outputs.

    Parameters
    ----------
    part : Template
    tensors : bool
        Whether results are given as tensors.
    names : dict
        Filled with the constants that the code refers to.
    arrays : bool
        Whether the outputs are arrays already.
    """
    if isinstance(part, Output):
        return _output_code(part, tensors, names, arrays)
    if isinstance(part, View):
        name = f"_k{len(names)}"
        names[name] = _maker(part.source)
        return f"{name}({template_code(part.base, tensors, names, arrays=arrays)})"
    if isinstance(part, Argument):
        return part.expression
    if isinstance(part, Constant):
        name = f"_k{len(names)}"
        names[name] = part.value
        return name
    items = [template_code(item, tensors, names, arrays=arrays) for item in part.items]
    if isinstance(part, Built):
        name = f"_k{len(names)}"
        names[name] = part.form.made
        return f"{name}(({''.join(item + ', ' for item in items)}))"
    if part.kind is dict:
        name = f"_k{len(names)}"
        names[name] = part.names
        pairs = ", ".join(f"{name}[{i}]: {item}" for i, item in enumerate(items))
        return "{" + pairs + "}"
    if part.kind is list:
        return "[" + ", ".join(items) + "]"
    if part.kind is tuple:
        return "(" + "".join(item + ", " for item in items) + ")"
    name = f"_k{len(names)}"
    names[name] = part.kind
    return f"{name}({', '.join(items)})"


def _output_code(part: Output, tensors: bool, names: dict[str, Any], arrays: bool) -> str:
    output = f"o[{part.index}]"
    if part.is_scalar == "number" or (part.is_scalar == "python" and not tensors):
        return f"{output}.item()"
    if tensors:
        return output
    if arrays:
        return output + ("[()]" if part.is_scalar else "")
    if part.kind:  # In 0.3 µs, where an array and its item take 0.8.
        name = f"_k{len(names)}"
        names[name] = np.dtype(part.kind).type
        return f"{name}({output}.item())"
    return f"{output}.numpy()" + ("[()]" if part.is_scalar else "")


def has_overlap(values: Sequence[Any], written: Sequence[int]) -> bool:
    """Whether an array or tensor that is written shares memory with another one.

    Compares the ranges of memory, so that interleaved views count as well. So does one that
    repeats its own elements.
    """
    spans = [_span(value) for value in values]
    for i in written:
        own = spans[i]
        if own is None:
            continue
        if own[1] - own[0] < values[i].nbytes:
            return True
        for j, other in enumerate(spans):
            if j != i and other is not None and own[0] < other[1] and other[0] < own[1]:
                return True
    return False


def _span(value: Any) -> tuple[int, int] | None:
    """Return the bounds of an array's memory, None for what has none of its own."""
    if isinstance(value, np.ndarray):
        return np.lib.array_utils.byte_bounds(value) if value.size else None
    has_own = isinstance(value, torch.Tensor) and value.numel() and value.device.type != "meta"
    return _span_of_tensor(value) if has_own else None


def _span_of_tensor(t: torch.Tensor) -> tuple[int, int]:
    start = t.data_ptr()
    if t.is_contiguous():
        return start, start + t.nbytes
    return start, start + device_transfer.extent(t) * t.element_size()


def falsely_shared(outputs: Sequence[Any], memory: Sequence[int | None]) -> tuple[int, ...]:
    """Return the outputs that are one tensor with another, but no views of one array.

    Compilers return one tensor for an array and its copy if both have no dimensions.

    Parameters
    ----------
    outputs : sequence of torch.Tensor
    memory : sequence of int or None
        As in a capture's ``output_memory``.
    """
    seen: dict[int, int | None] = {}
    found = []
    for i, (value, own) in enumerate(zip(outputs, memory, strict=False)):
        if isinstance(value, torch.Tensor) and seen.setdefault(id(value), own) != own:
            found.append(i)
    return tuple(found)


def apart(outputs: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    """Copy some of the outputs."""
    found = list(outputs)
    for i in indices:
        found[i] = found[i].clone()
    return found


def owner_of(output: Any, inputs: Sequence[Any], base: int | None) -> int | None:
    """Return which input an output shares its memory with, None where none.

    Parameters
    ----------
    output : object
    inputs : sequence
    base : int or None
        The one that the graph knows it to be a view of: several may share memory.
    """
    if not isinstance(output, torch.Tensor):
        return None
    if base is not None and is_view_of(output, inputs[base : base + 1]) is not None:
        return base
    return is_view_of(output, inputs)


def views_of(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    bases: Sequence[int | None],
    wanted: Collection[int],
) -> set[int]:
    """Return the outputs that share their memory with some of the inputs, as `owner_of` says."""
    if not wanted:  # Arrays of other kinds may have no memory that can be compared.
        return set()
    pairs = enumerate(zip(outputs, bases, strict=True))
    return {i for i, (output, base) in pairs if owner_of(output, inputs, base) in wanted}


def is_view_of(output: torch.Tensor, inputs: Sequence[Any]) -> int | None:
    """Return which input an output shares its memory with, None where none."""
    if not output.numel():
        return None
    memory = output.untyped_storage().data_ptr()
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor) and value.numel():
            start, stop = _span_of_tensor(value)
            if memory == value.untyped_storage().data_ptr() or start <= output.data_ptr() < stop:
                return i
    return None
