"""The code that is written for one function of a nest, and its variables' types so far.

Code is lines of Python for Numba. Every value of it is named, so each step has
one dtype; what Python or NumPy would raise becomes a number in ``_e[0]``, the
number of a `Site`, and a return.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from npaccel._loops.nests.intrinsics import is_temporary
from npaccel._loops.nests.lowering.types import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    UNBOUND,
    Array,
    Character,
    Draws,
    DType,
    List,
    NotSupportedError,
    Np,
    One,
    Py,
    Text,
    Type,
    Types,
    Value,
    cast,
    join,
    key_of,
    storage_name,
)

#: Lines, and blocks that are indented below the line before them.
Block: TypeAlias = "list[str | Block]"
#: The types of the variables at one place; those that aren't in it are unbound.
Env: TypeAlias = dict[str, Types]
#: Code that always has the same value: temporaries and plain numbers.
_KEEPS = re.compile(r"[tk]\d+|\d+(\.\d+)?|\(-\d+(\.\d+)?\)|True|False")
#: The parts of code that name a variable of the user's.
_VARIABLE = re.compile(r"v_\w+")
_WIDE = frozenset({INT64, FLOAT64, COMPLEX128})
#: Stands for the values that a function returns when it fails.
FAILED = "return _z"


@dataclasses.dataclass(frozen=True)
class Site:
    """A place that can fail.

    Parameters
    ----------
    line : int
        Of the user's file.
    kind : str
        How `numba_errors` makes the exception; "bail": Python must do it.
    detail : hashable
        What it needs besides the numbers recorded.
    file : str
        Empty: that of the nest.
    """

    line: int
    kind: str
    detail: Any = None
    file: str = ""


class Unreachable(Exception):  # noqa: N818
    """Error where the code before always fails: what follows isn't written."""


@dataclasses.dataclass
class Program:
    """State that the functions of a nest have in common.

    Parameters
    ----------
    narrow : bool
        Whether floats that NumPy would invent have 32 bits.

    Attributes
    ----------
    sites : dict
        Their numbers, from 1.
    bails : bool
        Whether Python may have to start over.
    written : frozenset of str
        The parameters that are written to.
    grown, changed : frozenset of str
        The parameters that are lists to which items are appended, and in which others change.
    items : dict
        The type of the items of each list, as far as it's known.
    opaque : frozenset of (int, str)
        Lines that need Python whenever they run, and why.
    narrowed : set of (int, str, str)
        Lines at which floats are narrowed, and their dtypes before and after.
    """

    narrow: bool
    sites: dict[Site, int] = dataclasses.field(default_factory=dict)
    bails: bool = False
    written: frozenset[str] = frozenset()
    grown: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    items: dict[str, Py | Np] = dataclasses.field(default_factory=dict)
    opaque: frozenset[tuple[int, str]] = frozenset()
    tags: dict[tuple[Any, ...], int] = dataclasses.field(default_factory=dict)
    narrowed: set[tuple[int, str, str]] = dataclasses.field(default_factory=set)

    def tag(self, kind: Type) -> int:
        """Return the number of a type in compiled code."""
        return self.tags.setdefault(key_of(kind), len(self.tags))


class Code:
    """The code of one function.

    Parameters
    ----------
    program : Program
    file : str
        Where its lines stand; empty: in the nest's file.

    Attributes
    ----------
    env : dict or None
        The types of the variables here; None where control doesn't come.
    tagged : set of str
        Variables that have several types somewhere.
    """

    def __init__(self, program: Program, file: str = "") -> None:
        self.program = program
        self.file = file
        self.env: Env | None = {}
        self.tagged: set[str] = set()
        self.storages: dict[str, DType] = {}
        self.lines: Block = []
        self.count = 0
        #: Names of variables that are never assigned to.
        self.fixed: frozenset[str] = frozenset()
        #: Expressions that were computed before, in code that surely ran, and from which
        #: state of the variables.
        self._known: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._states: dict[str, int] = {}
        self._clock = 0

    # Lines

    def put(self, line: str) -> None:
        """Write a line."""
        self.lines.append(line)

    @contextlib.contextmanager
    def block(self, head: str = "") -> Iterator[Block]:
        """Write into a block of its own, below `head`; without a head it is only returned."""
        outer, self.lines = self.lines, []
        known = dict(self._known)
        try:
            yield self.lines
        finally:
            inner, self.lines = self.lines, outer
            self._known = known
            if head:
                self.lines += [head, inner or ["pass"]]

    def new(self, letter: str = "t") -> str:
        """Return a name that isn't used yet."""
        self.count += 1
        return f"{letter}{self.count}"

    def temporary(self, code: str) -> str:
        """Compute something, and give it a name that keeps its value."""
        if _KEEPS.fullmatch(code):
            return code
        name = self.new()
        self.put(f"{name} = {code}")
        return name

    def pure(self, code: str) -> str:
        """Compute something that depends on variables only; once, where it's done already."""
        state = tuple(self._states.get(name, 0) for name in _VARIABLE.findall(code))
        name, then = self._known.get(code, ("", ()))
        if not name or then != state:
            name = self.temporary(code)
            self._known[code] = name, state
        return name

    def forget(self) -> None:
        """Forget, at the head of a loop, what depends on variables that may change in it."""
        self._known = {
            code: known
            for code, known in self._known.items()
            if self.fixed.issuperset(_VARIABLE.findall(code))
        }

    def changes(self, names: Iterable[str]) -> None:
        """Note that variables change here."""
        for name in names:
            self._clock += 1
            self._states[name] = self._clock

    def one(self, kind: Py | Np, code: str, *, exact: bool = False) -> One:
        """Compute a number of a type; exact if Numba gives the code that type anyway."""
        as_it_is = kind.storage == BOOL or (exact and kind.storage in _WIDE)
        return One(kind, self.pure(code if as_it_is else cast(code, kind.storage)))

    # Failing

    def fail_if(
        self, condition: str, line: int, kind: str, detail: Any = None, *operands: One
    ) -> None:
        """Write a test for something that raises; record up to two numbers for the message."""
        site = Site(line, kind, detail, self.file)
        number = self.program.sites.setdefault(site, len(self.program.sites) + 1)
        ints, floats = ["0", "0"], []
        for i, operand in enumerate(operands):
            assert isinstance(operand.type, Py | Np)
            if operand.type.storage.kind == "f":
                floats.append(operand.code)
            else:
                ints[i] = operand.code
        with self.block(f"if {condition}:"):
            if floats:
                self.put(f"_fail_floats(_e, _f, {number}, {', '.join((*floats, '0.0')[:2])})")
            else:
                self.put(f"_fail(_e, {number}, {', '.join(ints)})")
            self.put(FAILED)

    def check(self, condition: str, line: int, kind: str, detail: Any, *operands: One) -> None:
        """Write a test for something that raises, unless it's tested already."""
        state = tuple(self._states.get(name, 0) for name in _VARIABLE.findall(condition))
        if self._known.get(condition) != ("checked", state):
            self.fail_if(condition, line, kind, detail, *operands)
            self._known[condition] = "checked", state

    def fail(self, line: int, kind: str, detail: Any = None) -> None:
        """Write that this always fails.

        Raises
        ------
        Unreachable
            Always.
        """
        self.fail_if("True", line, kind, detail)
        raise Unreachable

    def bail_if(self, condition: str, line: int, reason: str, *, rare: bool = False) -> None:
        """Write a test for what compiled code can't do and Python can.

        A rare one, which can't happen for years of running, doesn't make the
        nest keep copies of the arrays that it writes to.
        """
        self.program.bails |= not rare
        self.fail_if(condition, line, "bail", reason)

    def leave_to_python(self, line: int, reason: str) -> None:
        """Write that Python must do what follows, whenever it is reached.

        Raises
        ------
        Unreachable
            Always.
        """
        self.program.opaque |= {(line, reason)}
        self.bail_if("True", line, reason)
        raise Unreachable

    # Values of several types

    def combine(self, function: Callable[..., One], *values: Value) -> Value:
        """Apply a function of single types to values that may have several.

        Code is written once if it is the same for all types; else there is a
        branch for each combination.
        """
        combinations = list(itertools.product(*(value.ones for value in values)))
        if len(combinations) == 1:
            return Value((function(*combinations[0]),))
        before = self.count
        tried: list[tuple[Block, One]] = []
        for combination in combinations:
            self.count = before
            with self.block() as lines:
                tried.append((lines, function(*combination)))
        conditions = [self._condition(values, combination) for combination in combinations]
        first, result = tried[0]
        if all(lines == first and one.code == result.code for lines, one in tried):
            self.lines += first
            return self._merged([one for _, one in tried], conditions)
        return self._branches(function, combinations, conditions)

    def _condition(self, values: Sequence[Value], combination: Sequence[One]) -> str:
        return " and ".join(
            f"{value.tag} == {self.program.tag(one.type)}"
            for value, one in zip(values, combination, strict=True)
            if len(value.ones) > 1
        )

    def _merged(self, ones: list[One], conditions: list[str]) -> Value:
        types: Types = ()
        for one in ones:
            types = join(types, (one.type,))
        if len(types) == 1:
            return Value((One(types[0], ones[0].code),))
        tag = self.new("g")
        self.put(f"{tag} = 0")
        for one, condition in zip(ones, conditions, strict=True):
            self.put(f"if {condition}: {tag} = {self.program.tag(one.type)}")
        return Value(tuple(One(kind, ones[0].code) for kind in types), tag)

    def _branches(
        self, function: Callable[..., One], combinations: list[Any], conditions: list[str]
    ) -> Value:
        name, tag = self.new("r"), self.new("g")
        written: Block = []
        types: Types = ()
        for i, combination in enumerate(combinations):
            with self.block() as lines:
                one = function(*combination)
                self.put(f"{storage_name(name, one.type)} = {one.code}")
                self.put(f"{tag} = {self.program.tag(one.type)}")
            types = join(types, (one.type,))
            last = i == len(combinations) - 1
            written += [f"{'elif' if i else 'if'} {conditions[i]}:" if not last else "else:", lines]
        self.put(f"{tag} = 0")
        for kind in types:
            assert isinstance(kind, Py | Np | Character)
            self.put(f"{storage_name(name, kind)} = {cast('0', kind.storage)}")
        self.lines += written
        ones = tuple(One(kind, storage_name(name, kind)) for kind in types)
        return Value(ones, tag if len(ones) > 1 else "")

    # Variables

    def read(self, name: str, line: int) -> Value:
        """Return the value of a variable here.

        Raises
        ------
        Unreachable
            If it never has one here; the code fails.
        """
        assert self.env is not None
        types = self.env.get(name, (UNBOUND,))
        if types == (UNBOUND,):
            self.fail(line, "unbound", name)
        if UNBOUND in types:
            self.fail_if(f"v_{name}_tag == {self.program.tag(UNBOUND)}", line, "unbound", name)
            types = tuple(kind for kind in types if kind != UNBOUND)
        ones = tuple(One(kind, storage_name(f"v_{name}", kind)) for kind in types)
        return Value(ones, f"v_{name}_tag" if len(types) > 1 else "")

    def assign(self, name: str, value: Value, line: int) -> None:
        """Give a variable a value."""
        assert self.env is not None
        self._check_arrays(value.types, line)
        for target, code in {storage_name(f"v_{name}", o.type): o.code for o in value.ones}.items():
            if target and target != code:
                self.put(f"{target} = {code}")
                self.changes([target])
        for one in value.ones:
            if isinstance(one.type, Py | Np | Character):
                self.storages[storage_name(f"v_{name}", one.type)] = one.type.storage
        if name in self.tagged:
            self.put(f"v_{name}_tag = {value.tag or self.program.tag(value.ones[0].type)}")
        self.env[name] = value.types

    def _check_arrays(self, types: Types, line: int) -> None:
        for kind in types:
            if isinstance(kind, Draws | Text | List):
                raise NotSupportedError(f"another name for a {kind}", line)
        if len({storage_name("", k) for k in types if isinstance(k, Array)}) > 1:
            raise NotSupportedError("one name for arrays of different kinds", line)

    # Control

    def join_envs(self, first: Env | None, second: Env | None) -> Env | None:
        """Return what is known where two paths meet."""
        if first is None or second is None:
            return second if first is None else first
        unbound: Types = (UNBOUND,)
        # What the rewriting of array code needs is assigned wherever it is read.
        names = [n for n in dict.fromkeys((*first, *second))
                 if not is_temporary(n) or (n in first and n in second)]  # fmt: skip
        found = {n: join(first.get(n, unbound), second.get(n, unbound)) for n in names}
        for name, types in found.items():
            if len(types) > 1:
                self.tagged.add(name)
            if len(types) > 6:
                raise NotSupportedError(f"`{name}` has too many types", 0)
        return found

    def branch(self, condition: str, then: Callable[[], None], other: Callable[[], None]) -> None:
        """Write an if statement; both parts start from the variables as they are here."""
        if condition in ("True", "False"):
            (then if condition == "True" else other)()
            return
        before = self.env
        ends: list[Env | None] = []
        for head, part in ((f"if {condition}:", then), ("else:", other)):
            self.env = None if before is None else dict(before)
            with self.block(head):
                self.arm(part)
            ends.append(self.env)
        self.env = self.join_envs(*ends)

    def arm(self, part: Callable[[], None]) -> None:
        """Write code that may not come to its end."""
        try:
            part()
        except Unreachable:
            self.env = None

    def mark(self) -> tuple[Any, ...]:
        """Return what `reset` needs to forget what is written from here on."""
        program = self.program
        lists = program.grown, program.changed
        return self.count, program.bails, program.written, program.opaque, *lists

    def reset(self, mark: tuple[Any, ...]) -> None:
        """Forget what was noted since a mark."""
        program = self.program
        self.count, program.bails, program.written, program.opaque, *lists = mark
        program.grown, program.changed = lists


def rendered(block: Block, indent: str = "    ") -> Iterator[str]:
    """Yield the lines of a block, indented."""
    for item in block:
        if isinstance(item, str):
            yield indent + item
        else:
            yield from rendered(item, indent + "    ")


def shortened(node: ast.AST) -> str:
    """Return the text of some code, cut short."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
