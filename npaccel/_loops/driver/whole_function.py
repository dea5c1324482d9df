"""Call a split function as it's written, where all of its loops run in NumPy anyway.

Then nothing is left of the split but what it costs: some microseconds for each region and loop.
Which of the two is the faster is measured, as for a region, on calls that are needed anyway.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.control_flow import primitives
from npaccel._loops.driver.region import Region, may_run_in_numpy

#: The calls of a split function after which it's looked at.
_LOOKS = frozenset(2**i for i in range(2, 12))
#: Sizes of the arguments that differ by more may be other work.
_OTHER_SIZE = 2


class SplitFunction(Protocol):
    """A function whose loops are split, for one combination of kinds of arguments."""

    spec: FunctionSpec
    main: types.FunctionType
    tensors: Any

    def calls_others(self) -> bool:
        """Return whether it has called other functions with loops."""

    def loops_in_numpy(self) -> bool:
        """Return whether NumPy was found to be faster in every region of a loop."""


class _Split:
    """A split function in the place of a region's dispatcher."""

    compilations = 0
    last = None

    def __init__(self, split: SplitFunction) -> None:
        self.spec = split.spec
        self._main = split.main

    def __call__(self, args: tuple[Any, ...], _: Any) -> Any:
        return self._main(*args)

    def is_pending(self) -> bool:
        """Whether its regions run in NumPy."""
        return False


class Calls:
    """Choice of who runs the calls of a split function: the split one, or the function itself.

    Parameters
    ----------
    split : SplitFunction
    on_choice : callable
        Is told, in a line, what runs the calls and why.
    """

    def __init__(self, split: SplitFunction, on_choice: Callable[[str], None]) -> None:
        self._split = split
        self._on_choice = on_choice
        self._count = 0
        self._size = 0
        self._region: Region | None = None

    def __call__(self, values: Sequence[Any]) -> Any:
        """Call the function with bound values."""
        region = self._region
        if region is not None:
            size = _size_of(values)
            if size <= _OTHER_SIZE * self._size and self._size <= _OTHER_SIZE * size:
                return region(*values)
            self._region, self._count = None, 0
            self._on_choice("")
        result = self._split.spec.binding.call(values, self._split.main)
        self._count += 1
        if self._count in _LOOKS and self._may_be_whole():
            self._size = _size_of(values)
            self._region = Region(_Split(self._split), self._on_choice, unit="call")
        return result

    def _may_be_whole(self) -> bool:
        """Whether all loops run in NumPy, and the function gives the same there."""
        split = self._split
        names = split.spec.function.__code__.co_names
        return (
            split.spec.options.default_float == "float64"
            and split.tensors is None
            and split.spec.binding.arity >= 0
            and not split.calls_others()
            and not {one.__name__ for one in primitives.FUNCTIONS} & set(names)
            and split.loops_in_numpy()
            and may_run_in_numpy(_Split(split))
        )


def _size_of(values: Sequence[Any]) -> int:
    return sum(getattr(value, "size", 1) for value in values)
