"""Log of what happens to one function."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from npaccel._process import logs
from npaccel._process.imports import load

if TYPE_CHECKING:
    from npaccel._report.details import Details, Narrowed, Native, Timing

#: A line of a file.
Place = tuple[str, int]


def _no_details() -> Details:
    load("npaccel._report.details")
    from npaccel._report.details import Details

    return Details()


@dataclasses.dataclass(frozen=True)
class Graph:
    """One compiled graph.

    Parameters
    ----------
    signature : str
        The arguments that it was compiled for.
    dynamic : bool
        Whether it serves other shapes too.
    backend : str
    seconds : float
        Time to capture and compile, or to load.
    loaded : bool
        Whether it came from disk.
    artifact : str or None
        Where it lies on disk.
    uncacheable : str
        Why it doesn't lie on disk.
    reason : str
        Why it was compiled, where an earlier one existed.
    guard : str
        The guard that failed, with the values before and now.
    source : str
        The generated code.
    stages : mapping
        Seconds of "capture", "lowering", "compile" (C++ or Triton), "load", and
        "rest" (the first run, the disk).
    details : Details
    """

    signature: str
    dynamic: bool
    backend: str
    seconds: float
    loaded: bool = False
    artifact: str | None = None
    uncacheable: str = ""
    reason: str = ""
    guard: str = ""
    source: str = dataclasses.field(default="", repr=False)
    stages: Mapping[str, float] = dataclasses.field(default_factory=dict)
    details: Details = dataclasses.field(default_factory=_no_details, repr=False)


@dataclasses.dataclass(frozen=True)
class Fallback:
    """Something that runs uncompiled.

    Parameters
    ----------
    file, line, text
        Where, and the line itself.
    reason : str
    fix : str
        What to write instead.
    kind : {"break", "function"}
        Whether what is around it is compiled, or nothing of the function.
    """

    file: str
    line: int
    text: str
    reason: str
    fix: str
    kind: str = "function"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        code = f"\n    {self.text}" if self.text else ""
        return f"{where}: {self.reason}{code}\n  {self.fix}"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop of the function, and who runs it.

    Parameters
    ----------
    file, line, text
        Where, and the line itself.
    engine : str
        "compiled body": Python counts, the body is compiled. "Numba": all of
        it is compiled by Numba. "Python": it runs uncompiled.
    detail : str
        Why, where that isn't plain.
    """

    file: str
    line: int
    text: str
    engine: str
    detail: str = ""
    end: int = 0


@dataclasses.dataclass
class Build:
    """A signature that is compiled beside the program.

    Parameters
    ----------
    signature : str
        The arguments that it's compiled for.
    state : str
        How far it is.
    calls : int
        How many calls NumPy, or interpreted code, has answered meanwhile.
    seconds : float
        What these took.
    """

    signature: str
    state: str
    calls: int = 0
    seconds: float = 0.0


@dataclasses.dataclass
class Tier:
    """Maker of calls with similar arguments, with ``compile="auto"``.

    Parameters
    ----------
    signature : str
        The arguments of the first one.
    state : str
        Who makes them.
    counted : int
        Number of calls that NumPy has made, and is to make before the next one is timed.
    numpy, compiled : float
        Seconds of a call; 0 where both weren't compared.
    untimed : int
        Number of those among them that it hasn't made yet.
    brief : int
        Number of calls that went straight to the function, but for the last few, besides.
    """

    signature: str
    state: str = ""
    counted: int = 0
    numpy: float = 0.0
    compiled: float = 0.0
    untimed: int = 0
    brief: int = 0

    @property
    def calls(self) -> int:
        """Number of calls that NumPy has made, but for those after it was found faster."""
        return self.counted - self.untimed

    @property
    def is_numpys(self) -> bool:
        """Whether NumPy makes such calls, for now or for good."""
        return not self.state.startswith("compiled")


@dataclasses.dataclass
class Log:
    """Log of what happened to one function."""

    graphs: list[Graph] = dataclasses.field(default_factory=list)
    fallbacks: dict[tuple[str, int, str], Fallback] = dataclasses.field(default_factory=dict)
    notes: dict[str, None] = dataclasses.field(default_factory=dict)
    loops: dict[tuple[str, int], Loop] = dataclasses.field(default_factory=dict)
    choices: dict[str, str] = dataclasses.field(default_factory=dict)
    narrowed: dict[Narrowed, None] = dataclasses.field(default_factory=dict)
    native: dict[Place, Native] = dataclasses.field(default_factory=dict)
    builds: list[Build] = dataclasses.field(default_factory=list)
    tiers: list[Tier] = dataclasses.field(default_factory=list)
    timing: Timing | None = None
    calls: deque[tuple[Any, ...]] = dataclasses.field(default_factory=lambda: deque(maxlen=8))
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    #: Compiled functions of the blocks of Dask arrays, by identity, whose log this is too.
    of_blocks: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add_loop(self, loop: Loop) -> None:
        """Note who runs a loop; the last word counts."""
        logs.loops.debug("%s:%d: %s %s", loop.file, loop.line, loop.engine, loop.detail)
        with self.lock:
            self.loops[loop.file, loop.line] = loop

    def add_narrowed(self, lines: Iterable[Narrowed]) -> None:
        """Note lines of loops at which floats are narrowed; graphs have them in their details."""
        with self.lock:
            self.narrowed.update(dict.fromkeys(lines))

    def set_choice(self, place: str, choice: str) -> None:
        """Note how the code at a place runs; "" for as it was compiled."""
        logs.loops.debug("%s: %s", place, choice or "as compiled")
        with self.lock:
            self.choices.pop(place, None)
            if choice:
                self.choices[place] = choice

    def add_graph(self, graph: Graph) -> None:
        """Note a graph that was compiled or loaded."""
        with self.lock:
            self.graphs.append(graph)

    def replace_graph(self, graph: Graph, **changes: Any) -> None:
        """Note what has become known of a graph since it was added."""
        with self.lock:
            self.graphs = [
                dataclasses.replace(one, **changes) if one is graph else one for one in self.graphs
            ]

    def add_build(self, build: Build) -> None:
        """Note a signature that is compiled beside the program."""
        with self.lock:
            self.builds.append(build)

    def add_tier(self, tier: Tier) -> None:
        """Note a kind of call that has tiers."""
        with self.lock:
            self.tiers.append(tier)

    def drop_build(self, build: Build) -> None:
        """Forget a signature that isn't compiled beside the program after all."""
        with self.lock:
            self.builds = [one for one in self.builds if one is not build]

    def add_fallback(self, fallback: Fallback, once: bool = False) -> bool:
        """Note something uncompiled; says whether it's new: its line, or its reason if `once`."""
        key = (fallback.file, fallback.line, fallback.text or fallback.reason)
        with self.lock:
            is_new = key not in self.fallbacks
            if is_new and once:
                is_new = all(one.reason != fallback.reason for one in self.fallbacks.values())
            self.fallbacks.setdefault(key, fallback)
        return is_new

    def add_note(self, text: str) -> None:
        """Note a copy, a narrowing or the like, once."""
        with self.lock:
            self.notes.setdefault(text)

    def add_native(self, native: Native) -> None:
        """Note a line of a split function that runs in NumPy."""
        with self.lock:
            self.native.setdefault((native.file, native.line), native)

    def note_call(self, sample: tuple[Any, ...]) -> None:
        """Remember the arguments of a call, as `call_samples.sample` makes them."""
        self.calls.append(sample)
