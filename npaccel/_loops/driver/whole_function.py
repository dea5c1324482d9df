"""Call a split function as it's written, where all of its loops run in NumPy anyway.

Then nothing is left of the split but what it costs: some microseconds for each region and loop.
Which of the two is the faster is measured, as for a region, on calls that are needed anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npaccel._loops.control_flow import primitives
from npaccel._loops.driver.region import Region, may_run_in_numpy

if TYPE_CHECKING:
    from npaccel._loops.driver.driver import Program

#: The calls of a split function after which it's looked at.
_LOOKS = frozenset(2**i for i in range(2, 12))
#: Sizes of the arguments that differ by more may be other work.
_OTHER_SIZE = 2


class _Split:
    """A split function in the place of a region's engine."""

    compilations = 0
    last = None

    def __init__(self, program: Program) -> None:
        self.options = program.options
        self.function = program.function
        self._main = program.main

    def __call__(self, args: tuple[Any, ...], _: Any) -> Any:
        return self._main(*args)


class Calls:
    """Who runs the calls of a split function: the split one, or the function itself.

    Parameters
    ----------
    program : Program
    on_choice : callable
        Is told, in a line, what runs the calls and why.
    """

    def __init__(self, program: Program, on_choice: Callable[[str], None]) -> None:
        self._program = program
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
        result = self._program.driver.binding.call(values, self._program.main)
        self._count += 1
        if self._count in _LOOKS and self._may_be_whole():
            self._size = _size_of(values)
            self._region = Region(_Split(self._program), self._on_choice, unit="call")  # type: ignore[arg-type]
        return result

    def _may_be_whole(self) -> bool:
        """Whether all loops run in NumPy, and the function gives the same there."""
        program = self._program
        names = program.function.__code__.co_names
        return (
            program.options.default_float == "float64"
            and program.tensors is None
            and program.driver.binding.arity >= 0
            and not program.driver.calls_others
            and not {form.__name__ for form in primitives.FUNCTIONS} & set(names)
            and program.loops_in_numpy()
            and may_run_in_numpy(_Split(program))  # type: ignore[arg-type]
        )


def _size_of(values: Sequence[Any]) -> int:
    return sum(getattr(value, "size", 1) for value in values)
