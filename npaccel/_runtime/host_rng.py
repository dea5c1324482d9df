"""Random numbers that NumPy draws on the host, for compiled code that takes them as inputs.

A compiled function's draws are lines of Python that run before its graph, in
the order of the program. They need neither dynamo nor inductor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import to_array

#: A line of draws calls one of these on the generator, or one of its methods.
_SPECIAL = frozenset({"key_words", "shuffled", "permuted"})


@dataclasses.dataclass(frozen=True)
class Line:
    """One call on the host: a draw, a new generator, or a seed.

    Parameters
    ----------
    target : str
        The variable that takes the result.
    owner : str
        Python for the generator; ``"random"`` is the module `numpy.random`.
    function : str
        A method or function of the owner, or one of this module's.
    arguments : str
        Python for the arguments.
    is_draw : bool
        Whether the result is an input of the graph.
    """

    target: str
    owner: str
    function: str
    arguments: str
    is_draw: bool

    def code(self) -> str:
        """Return the line."""
        if self.function in _SPECIAL:
            call = f"{self.function}({self.owner}, {self.arguments})"
        else:
            call = f"{self.owner}.{self.function}({self.arguments})"
        return f"{self.target} = " + (f"drawn({call}).to(device)" if self.is_draw else call)


@dataclasses.dataclass(frozen=True)
class Draws:
    """Draws that a compiled function makes before its graph runs.

    Parameters
    ----------
    lines : tuple of Line
    owners : tuple of str
        Python for the generators that exist before the call.
    may_fail : bool
        Whether a draw, or the graph after it, may raise, so that the
        generators' states are kept for that case.
    """

    lines: tuple[Line, ...] = ()
    owners: tuple[str, ...] = ()
    may_fail: bool = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """The variables that the graph takes, after its other inputs."""
        return tuple(line.target for line in self.lines if line.is_draw)

    def rewritten(self, change: Callable[[str], str], may_fail: bool) -> Draws:
        """Return the draws with other Python for the generators."""
        lines = tuple(dataclasses.replace(line, owner=change(line.owner)) for line in self.lines)
        return Draws(lines, tuple(dict.fromkeys(map(change, self.owners))), may_fail)


#: Takes the values of all parameters and the graph's other inputs; returns those that are drawn.
Draw = Callable[[Sequence[Any], Sequence[Any]], list[torch.Tensor]]
#: Takes the values of all parameters; returns what `restore` needs.
Save = Callable[[Sequence[Any]], list[tuple[Any, Any]]]


def make_draw(
    draws: Draws, unpack: Sequence[str], count: int, device: str, names: Mapping[str, Any]
) -> tuple[Draw, Save]:
    """Generate the function that draws, and the one that keeps the generators' states.

    Parameters
    ----------
    draws : Draws
    unpack : sequence of str
        Lines that bind the parameters' names to the items of ``args``.
    count : int
        Number of the graph's inputs that aren't drawn.
    device : str
        Where the graph wants its inputs.
    names : mapping
        What the generators' expressions refer to.
    """
    inputs = ["".join(f"t{i}, " for i in range(count)) + "= inputs"] if count else []
    result = f"return [{', '.join(draws.inputs)}]"
    body = [*unpack, *inputs, *(line.code() for line in draws.lines), result]
    owners = [f"({owner}, state_of({owner}))" for owner in draws.owners]
    lines = ["def draw(args, inputs):", *(f"    {line}" for line in body)]
    lines += ["def save(args):", *(f"    {line}" for line in unpack)]
    lines += [f"    return [{', '.join(owners)}]"]
    scope: dict[str, Any] = {**names, **_names(), "device": torch.device(device)}
    exec(compile("\n".join(lines), "<npaccel draws>", "exec"), scope)
    return scope["draw"], scope["save"]


def drawn(value: Any) -> torch.Tensor:
    """Return what NumPy drew as a tensor, on the host."""
    if type(value) is np.ndarray:
        return torch.from_numpy(value)
    return torch.from_numpy(np.array(value))


def state_of(owner: Any) -> Any:
    """Return the state of a generator, or of NumPy's global one."""
    if isinstance(owner, np.random.Generator):
        return owner.bit_generator.state
    return owner.get_state(legacy=False)


def restore(saved: Sequence[tuple[Any, Any]]) -> None:
    """Put generators back into the states that they had before a call."""
    for owner, state in saved:
        if isinstance(owner, np.random.Generator):
            owner.bit_generator.state = state
        else:
            owner.set_state(state)


def key_words(owner: Any, _: None = None) -> np.ndarray[Any, Any]:
    """Draw the key of one stream on the device: 128 bits, as words of 32, and a zero."""
    words = np.zeros(5, dtype=np.int64)
    words[:4] = np.frombuffer(owner.bytes(16), dtype="<u4")
    return words


def shuffled(owner: Any, shape: tuple[int, ...], axis: int, method: str) -> np.ndarray[Any, Any]:
    """Return the order in which `shuffle` or `permutation` puts an array along an axis.

    NumPy has a way of its own for arrays of one dimension; the order is drawn
    in the same way as for an array of that shape.
    """
    n = shape[axis]
    order = np.arange(n)
    if 0 in shape:
        _in_place(owner, np.empty(shape), axis, method)
        return order
    columns = order.reshape([n if i == axis else 1 for i in range(len(shape))])
    return _in_place(owner, columns.copy(), axis, method).reshape(n)


def _in_place(
    owner: Any, order: np.ndarray[Any, Any], axis: int, method: str
) -> np.ndarray[Any, Any]:
    options = {"axis": axis} if isinstance(owner, np.random.Generator) else {}
    changed: Any = getattr(owner, method)(order, **options)
    return order if changed is None else changed


def permuted(owner: Any, shape: tuple[int, ...], axis: int | None) -> np.ndarray[Any, Any]:
    """Return the indices that `permuted` puts an array's elements in, along an axis."""
    if axis is None:
        order = np.arange(int(np.prod(shape))).reshape(shape)
    else:
        order = np.broadcast_to(
            np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]),
            shape,
        ).copy()
    found: np.ndarray[Any, Any] = owner.permuted(order, axis=axis)
    return found


def _names() -> dict[str, Any]:
    """Return what lines of draws refer to; NumPy imports its `random` when it's asked for."""
    return {
        "array": to_array,
        "drawn": drawn,
        "dtype": np.dtype,
        "inf": float("inf"),
        "key_words": key_words,
        "nan": float("nan"),
        "permuted": permuted,
        "random": np.random,
        "shuffled": shuffled,
        "state_of": state_of,
    }
