"""The plan of a call of compiled code: how its inputs are made, and its results."""

from __future__ import annotations

import dataclasses

from npaccel._runtime import device_transfer
from npaccel._runtime.arguments import COPYING
from npaccel._runtime.host_rng import Draws
from npaccel._runtime.outputs import Template


@dataclasses.dataclass(frozen=True)
class InputPlan:
    """Recipe of one input of the graph.

    Parameters
    ----------
    expression : str
        Python for the object, in the names of `Scope`.
    conversion : str
        A key of `CONVERTERS` ("any" for an array that isn't an argument),
        "symbol" for a size or number, or "drawn" for random numbers, which
        come after all others.
    narrow : bool
        Whether it is cast to 32 bit a part.
    """

    expression: str
    conversion: str
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
    is_dynamic : bool
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
    object_writes : tuple of (str, str, str or int)
        Objects that a call changes, as Python, the kinds of change and the keys, as those of
        `ObjectWrite`: `result` is a tuple of the call's result and of what is put there.
    """

    inputs: tuple[InputPlan, ...]
    result: Template
    written: tuple[int, ...]
    read_only: frozenset[int]
    tensors: bool
    device: str
    shape_guard: str | None
    is_dynamic: bool
    boxed: bool
    shared: tuple[int, ...] = ()
    draws: Draws = dataclasses.field(default_factory=Draws)
    returned: tuple[tuple[int, int], ...] = ()
    has_wide_data: bool = False
    undoes: bool = False
    mapped: tuple[tuple[int, int], ...] = ()
    leaves: bool = True
    object_writes: tuple[tuple[str, str, str | int], ...] = ()

    @property
    def given(self) -> int:
        """The number of inputs that aren't drawn."""
        return len(self.inputs) - len(self.draws.inputs)


def place(owner: str, kind: str, key: str | int) -> str:
    """Return Python for an attribute or an item of an object."""
    return f"{owner}.{key}" if kind == "attribute" else f"{owner}[{key!r}]"


def is_copied(item: InputPlan, plan: Plan) -> bool:
    """Whether the compiled code works on a copy of an input."""
    return not keeps_memory(item) or is_moved(item, plan)


def is_moved(item: InputPlan, plan: Plan) -> bool:
    """Whether an input is an array of the host that goes to a device at every call."""
    if item.conversion in ("symbol", "drawn"):
        return False
    if plan.tensors and item.conversion in ("tensor", "resolved"):
        return False
    return not device_transfer.is_host(plan.device)


def keeps_memory(item: InputPlan) -> bool:
    """Whether the tensor of an input is the memory of the caller's array."""
    return item.conversion not in COPYING and not item.narrow
