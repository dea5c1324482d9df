"""A loop nest without array code: the memory that it needs, and what its results are."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

#: Maximum number of elements; more are done faster by array code, in several threads.
SMALL = 1 << 14
#: The same where the slices are others in each iteration, which array code is slower for.
SMALL_IF_CHANGING = 1 << 18
SET = "0set_{}"

#: Upper bounds of a length: the lengths of axes of arrays.
Bound: TypeAlias = "frozenset[tuple[str, int]]"


@dataclasses.dataclass(frozen=True)
class ArrayVariable:
    """A name that is assigned arrays.

    Parameters
    ----------
    memory : str
        The name of the array that its elements are in.
    rank : int
    is_parameter : bool
        Whether it has a value before the nest.
    lengths : tuple of str
        The names of its lengths; empty as long as they aren't known.
    """

    memory: str
    rank: int
    is_parameter: bool
    lengths: tuple[str, ...] = ()

    def parts(self, name: str) -> list[str]:
        """Return the names of numbers that the nest returns for it."""
        return [SET.format(name), *self.lengths]


@dataclasses.dataclass(frozen=True)
class ScalarizedNest:
    """A nest without array code.

    Parameters
    ----------
    nest : ast.FunctionDef
        It takes the arrays in `buffers` as well, and returns the numbers of `variables`.
    buffers : mapping of str to tuple
        Memory that it needs, by name: what each axis is as long as, at most.
    variables : mapping of str to ArrayVariable
        The results that are arrays in such memory.
    outputs : tuple of str
        What the nest returned before.
    """

    nest: ast.FunctionDef
    buffers: Mapping[str, tuple[Bound, ...]]
    variables: Mapping[str, ArrayVariable]
    outputs: tuple[str, ...]

    def memory(self, values: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]] | None:
        """Return the memory that a call needs; None if it is too much."""
        shapes = {name: self._shape(name, values, frozenset()) for name in self.buffers}
        if any(np.prod(shape, dtype=float) > SMALL_IF_CHANGING for shape in shapes.values()):
            return None
        return {name: np.empty(shape) for name, shape in shapes.items()}

    def results(
        self, found: Mapping[str, Any], values: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """Return what the nest returned before; None if a result was never assigned.

        Parameters
        ----------
        found : mapping
            What it returns now, by name.
        values : mapping
            Of its parameters and of its memory.
        """
        every = []
        for name in self.outputs:
            variable = self.variables.get(name)
            if variable is None:
                every.append(found[name])
                continue
            is_set, *lengths = (found[part] for part in variable.parts(name))
            if is_set:
                memory = values[variable.memory]
                part = memory[tuple(map(slice, lengths))]
                every.append(memory if part.shape == memory.shape else part.copy())
            elif variable.is_parameter:
                every.append(values[name])
            else:
                return None
        return tuple(every)

    def _shape(self, name: str, values: Mapping[str, Any], seen: frozenset[str]) -> tuple[int, ...]:
        if name not in self.buffers:
            return tuple(values[name].shape)
        seen |= {name}

        def size(one: tuple[str, int]) -> int:
            array, axis = one
            return 0 if array in seen else self._shape(array, values, seen)[axis]

        return tuple(max(map(size, bound), default=0) for bound in self.buffers[name])


def size_class(array: Any) -> int:
    """Return a number that tells small arrays, which loops are made for, from others."""
    size = math.prod(array.shape)
    return 0 if size <= SMALL else 1 if size <= SMALL_IF_CHANGING else 2
