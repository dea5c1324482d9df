"""Captures: graph, inputs and guards of a function, and all that later calls need."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, Literal

import torch

from npaccel._report.details import LineCode, Narrowed
from npaccel._runtime.host_rng import Draws
from npaccel._runtime.outputs import IsScalar
from npaccel._runtime.plan import place
from npaccel._torch.dynamo.reads import Reads

#: Guards on sizes, and what some of the names in them stand for.
ShapeGuard = tuple[str, dict[str, str]]


@dataclasses.dataclass(frozen=True)
class GuardRecord:
    """A guard of Dynamo's, under which a capture is valid.

    Parameters
    ----------
    expression : str
        Python for the guarded object, over ``L`` (locals) and ``G`` (globals).
    kind : str
        Name of Dynamo's guard.
    arguments : tuple
        What the guard was made with besides the object.
    """

    expression: str
    kind: str
    arguments: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class GraphInput:
    """Origin of one input of the graph.

    Parameters
    ----------
    name : str
        Name of its placeholder.
    expression : str
        Python for it, over ``L`` and ``G``.
    is_symbol : bool
        Whether it is a size or an integer, passed as it is.
    is_number : bool
        Whether it is a Python float, passed as a tensor.
    """

    name: str
    expression: str
    is_symbol: bool
    is_number: bool


@dataclasses.dataclass(frozen=True)
class FixedSizes:
    """The sizes of an array that a graph doesn't take.

    Parameters
    ----------
    expression : str
        Python for the array, over ``L`` and ``G``.
    sizes : tuple of int or None
        None: it's a symbol, of which the shape guard tells.
    """

    expression: str
    sizes: tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class ObjectWrite:
    """A change of one of the caller's objects, besides arrays.

    Parameters
    ----------
    owner : str
        Dynamo's expression for the object.
    kind : {"attribute", "item", "append"}
        Setting an attribute, setting an item of a list or dict, appending to a list.
    key : str or int
        Name of the attribute; index or key of the item; place among what is appended to the list.
    constant : object
        The value, if it is the same in every call of the signature; else `NotImplemented`.
    source : str
        Dynamo's expression for the value, if it was there before and has no guard; else empty.
    """

    owner: str
    kind: Literal["attribute", "item", "append"]
    key: str | int
    constant: Any = NotImplemented
    source: str = ""

    @property
    def target(self) -> str:
        """Dynamo's expression for what is another object afterwards; for a list that grows."""
        return self.owner if self.kind == "append" else place(self.owner, self.kind, self.key)


@dataclasses.dataclass
class Capture:
    """A function captured as one graph.

    Parameters
    ----------
    code : types.CodeType
        The code that was captured.
    bytecode : types.CodeType
        Dynamo's rewritten frame: it calls the graph and rebuilds the result.
    backend_name : str
        The global by which the bytecode calls the graph.
    graph : torch.fx.GraphModule or None
        None where the function computes nothing on arrays.
    inputs : list of GraphInput
        In the order in which the graph takes them.
    draws : Draws
        What NumPy draws before the graph runs; inputs after the others.
    guards : list of GuardRecord
        Without those on torch's own settings and on shapes.
    shape_guard : callable or None
        Makes Python over ``L['t0']``, ``L['t1']``, ...: the graph's inputs, and numbers
        that aren't inputs, whose expressions it returns besides.
        To be called when the graph is compiled, which may add guards.
    has_side_effects : bool
        Whether objects of the caller change besides arrays.
    object_writes : tuple of ObjectWrite or None
        All that changes besides arrays; None where more does.
    loaded : tuple of str
        Dynamo's expressions for what the frame finds outside, for its result among others.
    scalar_outputs : list of IsScalar
        Which outputs NumPy returns as scalars.
    traced_code : list of types.CodeType
        The function and what was inlined into it.
    imports : dict
        Module names by the aliases that expressions use.
    has_symbols : bool
        Whether later calls may have other sizes or numbers: one is an input, isn't read, or only
        decides which way the function goes.
    has_sizes : bool
        Whether a size is one: the frame reads it off a tensor.
    fixed_sizes : tuple of FixedSizes
        Arrays that the graph doesn't take, where later calls may have other sizes or numbers.
    build_check : callable or None
        Makes Dynamo's own check of the guards, on a dict of locals.
    output_memory : list of int or None
        A number for the memory of each output: views of one array have the same.
    read_only_outputs : list of bool
        Which outputs are arrays that NumPy doesn't let be written.
    base_inputs, same_class_inputs : list of int or None
        The input that each output is in NumPy, or is a view of; a view of its class.
    narrowed : tuple of Narrowed
        The lines at which floats become 32 bit.
    drawn : tuple of LineCode
        The lines at which NumPy draws random numbers.
    has_wide_data : bool
        Whether it meets 64-bit floats that nothing invented, so that none may be narrowed.
    reads : Reads or None
        The values that it has read.
    """

    code: types.CodeType
    bytecode: types.CodeType
    backend_name: str
    graph: torch.fx.GraphModule | None
    example_inputs: list[Any]
    fake_mode: Any
    tensor_to_context: Any
    inputs: list[GraphInput]
    draws: Draws
    guards: list[GuardRecord]
    shape_guard: Callable[[], ShapeGuard] | None
    has_side_effects: bool
    scalar_outputs: list[IsScalar]
    traced_code: list[types.CodeType]
    imports: dict[str, str]
    has_symbols: bool
    has_sizes: bool
    build_check: Callable[[], Callable[[dict[str, Any]], bool]] | None
    output_memory: list[int | None] = dataclasses.field(default_factory=list)
    read_only_outputs: list[bool] = dataclasses.field(default_factory=list)
    base_inputs: list[int | None] = dataclasses.field(default_factory=list)
    same_class_inputs: list[int | None] = dataclasses.field(default_factory=list)
    narrowed: tuple[Narrowed, ...] = ()
    drawn: tuple[LineCode, ...] = ()
    has_wide_data: bool = False
    reads: Reads | None = None
    object_writes: tuple[ObjectWrite, ...] | None = ()
    loaded: tuple[str, ...] = ()
    fixed_sizes: tuple[FixedSizes, ...] = ()

    def has_moved(self, *, by_others: bool = False) -> bool:
        """Whether something that it has read is another than it was.

        Parameters
        ----------
        by_others : bool
            Leave out what the function sets itself, which has been run meanwhile.
        """
        own = (self.object_writes if by_others else ()) or ()
        changed = [write.owner for write in own]
        replaced = [write.target for write in own if write.kind != "append"]
        return self.reads is not None and self.reads.have_moved(replaced, changed)

    def release(self) -> None:
        """Release the graph and the arrays that it was captured with."""
        self.example_inputs = []
        self.reads = None
        self.fake_mode = self.tensor_to_context = None
        self.build_check = self.shape_guard = None
