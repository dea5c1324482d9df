"""Details for the report's lines, collected where something is compiled or measured."""

from __future__ import annotations

import dataclasses

#: Name of the code of a line at which NumPy draws random numbers.
DRAWS = "NumPy draws"


@dataclasses.dataclass(frozen=True)
class LineCode:
    """A line of the user's code that a graph computes.

    Parameters
    ----------
    file : str
    line : int
    code : tuple of str
        Names of the kernels that were generated for it, and calls of library
        functions as they are written in the generated code, or `DRAWS` and the function.
    """

    file: str
    line: int
    code: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Narrowed:
    """A line at which ``default_float`` makes floats of 32 bit.

    Parameters
    ----------
    file : str
    line : int
    wide, narrow : str
        The dtype that NumPy gives, and the one that the result has.
    """

    file: str
    line: int
    wide: str
    narrow: str


_SHARD_OTHERWISE = "shard along another axis, or take the line out of the function"
_PRODUCT = "shard both operands along the axis that is summed over, or replicate the smaller one"
_VIEW = "keep sharded axes out of reshape and ravel, or choose a size that ranks divide evenly"
#: Suggestions about a move, by the operation that asks for it.
_FIXES = {
    "_unsafe_view": _VIEW,
    "argument": "reduce it before the call, with its method `redistribute`",
    "bmm": _PRODUCT,
    "dot": _PRODUCT,
    "index": "index along other axes than the sharded one, or choose with numpy.where",
    "mm": _PRODUCT,
    "mv": _PRODUCT,
    "nonzero": "choose with numpy.where instead of a mask or numpy.nonzero",
    "view": _VIEW,
}


@dataclasses.dataclass(frozen=True)
class Collective:
    """A collective of a graph on sharded arrays.

    Parameters
    ----------
    kind : str
        "all-reduce", "all-gather", "all-to-all" or "broadcast".
    nbytes : int
        Bytes of its result, the whole of it.
    operation : str
        Name of the operation that needs it.
    file, line, text
        Where, and the line itself.
    is_gather : bool
        Whether an array moves, as the operation isn't computed as the array is sharded.
    """

    kind: str
    nbytes: int
    operation: str
    file: str = ""
    line: int = 0
    text: str = ""
    is_gather: bool = False

    @property
    def fix(self) -> str:
        """Suggestion what to do about it, if it's a gather."""
        return _FIXES.get(self.operation, _SHARD_OTHERWISE)


@dataclasses.dataclass(frozen=True)
class Details:
    """Details of a graph: what it computes, and what a call of it copies.

    Parameters
    ----------
    lines : tuple of LineCode
    narrowed : tuple of Narrowed
    to_device, to_host : int
        Bytes that a call copies from the host, and to it.
    headers : tuple of str
        Why its kernels were built with torch's headers.
    collectives : tuple of Collective
        What goes between ranks in a call, in order.
    """

    lines: tuple[LineCode, ...] = ()
    narrowed: tuple[Narrowed, ...] = ()
    to_device: int = 0
    to_host: int = 0
    headers: tuple[str, ...] = ()
    collectives: tuple[Collective, ...] = ()


@dataclasses.dataclass(frozen=True)
class Native:
    """A line of a split function that runs in NumPy.

    Parameters
    ----------
    file : str
    line : int
    reason : str
    """

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: this line runs in NumPy: {self.reason}"


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds that a call takes once it's compiled, and in plain NumPy.

    Parameters
    ----------
    plain, compiled : float
        Seconds of one call.
    signature : str
        The arguments.
    """

    plain: float
    compiled: float
    signature: str = ""

    @property
    def speed_up(self) -> float:
        """Factor by which the compiled call is faster."""
        return self.plain / self.compiled
