"""The types that a variable of an element-wise loop nest can have.

NumPy's result dtypes follow from types alone, so a nest is typed before it
runs. A variable may have several types at one place (``s = 0`` before a loop,
``s += a[i]`` in it): a tag then says which of them it has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

DType: TypeAlias = np.dtype[Any]

MIN, MAX = -(2**63), 2**63 - 1
#: Reason why code with an int beyond them isn't compiled.
TOO_LONG = "an int that int64 can't hold"
BOOL = np.dtype(np.bool_)
UINT32 = np.dtype(np.uint32)
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)
#: Dtypes that are compiled. Numba has no float16 on CPUs.
DTYPES = frozenset(
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
)
_PYTHON_STORAGE = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}


class NotSupportedError(Exception):
    """A nest can't be compiled as scalar code.

    Parameters
    ----------
    reason : str
        What stands in the way, without line number.
    line : int
        Of the user's file.
    is_array_code : bool
        Whether it is an operation on whole arrays.
    """

    def __init__(self, reason: str, line: int, *, is_array_code: bool = False) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line
        self.is_array_code = is_array_code


@dataclasses.dataclass(frozen=True, slots=True)
class Py:
    """A Python number. Ints lie between two bounds, at most those of 64 bits."""

    kind: type
    low: int = MIN
    high: int = MAX

    @property
    def storage(self) -> DType:
        """The dtype that holds it in compiled code."""
        return _PYTHON_STORAGE[self.kind]

    @property
    def weak(self) -> Any:
        """Operand for it where NumPy is asked for a result dtype."""
        return BOOL if self.kind is bool else self.kind

    def __str__(self) -> str:
        return f"Python {self.kind.__name__}"


@dataclasses.dataclass(frozen=True, slots=True)
class Np:
    """A NumPy scalar."""

    dtype: DType

    @property
    def storage(self) -> DType:
        """The dtype that holds it in compiled code."""
        return self.dtype

    @property
    def weak(self) -> Any:
        """Operand for it where NumPy is asked for a result dtype."""
        return self.dtype

    def __str__(self) -> str:
        return f"numpy.{self.dtype.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
    """An array, or a row of one.

    Parameters
    ----------
    dtype : numpy.dtype
    ndim : int
    layout : {"C", "F", "A"}
    writeable : bool
    origin : str
        The parameter whose memory it is.
    is_whole : bool
        Whether it is that parameter itself.
    limit : int
        No dimension is longer.
    """

    dtype: DType
    ndim: int
    layout: str
    writeable: bool
    origin: str
    is_whole: bool = True
    limit: int = MAX

    def __str__(self) -> str:
        return f"array of {self.dtype.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Unbound:
    """Type of what isn't assigned yet."""

    def __str__(self) -> str:
        return "unbound name"


@dataclasses.dataclass(frozen=True, slots=True)
class Other:
    """A parameter that is only passed on, never computed with."""

    origin: str
    is_none: bool = False

    def __str__(self) -> str:
        return "None" if self.is_none else "object that isn't a number or an array"


@dataclasses.dataclass(frozen=True, slots=True)
class Draws:
    """A random generator of NumPy's: the parameter that it is."""

    origin: str

    def __str__(self) -> str:
        return "random generator"


@dataclasses.dataclass(frozen=True, slots=True)
class Character:
    """One character of a string."""

    @property
    def storage(self) -> DType:
        """The dtype that holds it in compiled code."""
        return UINT32

    def __str__(self) -> str:
        return "str"


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A string: the parameter that it is, and the greatest length that it may have."""

    origin: str
    limit: int = MAX

    def __str__(self) -> str:
        return "str"


@dataclasses.dataclass(frozen=True, slots=True)
class List:
    """A list of numbers of one type: the parameter that it is."""

    origin: str

    def __str__(self) -> str:
        return "list"


Scalar: TypeAlias = "Py | Np"
Type: TypeAlias = "Py | Np | Array | Unbound | Other | Draws | Character | Text | List"
#: The types of one variable at one place, sorted by tag.
Types: TypeAlias = tuple[Type, ...]

UNBOUND = Unbound()
PY_BOOL, PY_FLOAT, PY_COMPLEX = Py(bool), Py(float), Py(complex)
NP_BOOL = Np(BOOL)
CHARACTER = Character()


@dataclasses.dataclass(frozen=True, slots=True)
class One:
    """One of the types that a value may have, and the code that gives the value."""

    type: Type
    code: str


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """A value: what it may be, and the code of the tag that says which of it."""

    ones: tuple[One, ...]
    tag: str = ""

    @property
    def types(self) -> Types:
        """The types that it may have."""
        return tuple(one.type for one in self.ones)


@dataclasses.dataclass(frozen=True, slots=True)
class Items:
    """A tuple of values, such as a shape."""

    items: tuple[Value | Items, ...]


def integer(low: int, high: int) -> Py:
    """Return the type of a Python int between two bounds, cut to 64 bits."""
    return Py(int, max(low, MIN), min(high, MAX))


def constant(number: Any) -> Value:
    """Return a Python number or NumPy scalar as a value.

    Raises
    ------
    OverflowError
        For an int that int64 can't hold.
    """
    if isinstance(number, np.generic):
        return Value((One(Np(number.dtype), cast(f"{_literal(number.item())}", number.dtype)),))
    if isinstance(number, int) and not isinstance(number, bool):
        if not MIN < number <= MAX:
            raise OverflowError
        return Value((One(Py(int, number, number), _literal(number)),))
    return Value((One(Py(type(number)), _literal(number)),))


def _literal(number: Any) -> str:
    if isinstance(number, complex):
        return f"complex({_literal(number.real)}, {_literal(number.imag)})"
    text = repr(number)
    if text.lstrip("-") in ("nan", "inf"):
        text = f"{'-' if text[0] == '-' else ''}_{text.lstrip('-')}"
    return f"({text})" if text[0] == "-" else text


def cast(code: str, dtype: DType) -> str:
    """Return code that converts to a dtype as C does."""
    if dtype == BOOL:
        return code if code in ("True", "False") else f"(({code}) != 0)"
    return f"_{dtype.name}({code})"


def key_of(kind: Type) -> tuple[Any, ...]:
    """Return what tells types apart: all but intervals and limits. Keys can be sorted."""
    match kind:
        case Unbound():
            return (0,)
        case Py():
            return (1, (bool, int, float, complex).index(kind.kind))
        case Np():
            return (2, kind.dtype.num)
        case Array():
            storage = (kind.dtype.num, kind.ndim, kind.layout, kind.writeable)
            return (3, *storage, kind.is_whole, kind.origin)
        case Other():
            return (4, kind.origin)
        case Draws() | Text() | List():
            return (5, type(kind).__name__, kind.origin)
        case Character():
            return (6,)


def storage_name(name: str, kind: Type) -> str:
    """Return the name that holds a variable's value while it has a type."""
    match kind:
        case Py() | Np():
            return f"{name}_{kind.storage.name}"
        case Array():
            access = "w" if kind.writeable else "r"
            return f"{name}_{kind.dtype.name}_{kind.ndim}{kind.layout}{access}"
        case Draws() | Text() | List():
            return f"{name}_{type(kind).__name__.lower()}"
        case Character():
            return f"{name}_character"
        case Unbound() | Other():
            return ""


def join(first: Types, second: Types) -> Types:
    """Return what a variable may be that is one or the other."""
    if first == second:
        return first
    found = {key_of(kind): kind for kind in first}
    for kind in second:
        key = key_of(kind)
        found[key] = _hull(found[key], kind) if key in found else kind
    return tuple(found[key] for key in sorted(found))


def _hull(one: Type, other: Type) -> Type:
    if isinstance(one, Py) and isinstance(other, Py) and one.kind is int:
        return Py(int, min(one.low, other.low), max(one.high, other.high))
    if isinstance(one, Array) and isinstance(other, Array):
        return dataclasses.replace(one, limit=max(one.limit, other.limit))
    return one


def widen(before: Types, after: Types) -> Types:
    """Return `after` with those bounds moved out that grew since `before`."""
    old = {key_of(kind): kind for kind in before}
    return tuple(_widened(old.get(key_of(kind)), kind) for kind in after)


def _widened(old: Type | None, new: Type) -> Type:
    if not isinstance(old, Py) or not isinstance(new, Py) or new.kind is not int:
        return new
    low = new.low if new.low >= old.low else 0 if new.low >= 0 else MIN
    high = new.high if new.high <= old.high else 0 if new.high <= 0 else MAX
    return Py(int, low, high)


def within(inner: Types, outer: Types) -> bool:
    """Whether everything that a value may be is allowed for."""
    return join(inner, outer) == outer


def names(kinds: Iterable[Type]) -> str:
    """Return types as text for a message."""
    return " or ".join(map(str, kinds))
