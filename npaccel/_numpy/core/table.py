"""The one table of NumPy functions: a row per NumPy object.

Registration in capture, the tests against live NumPy and the support page are
made from these rows. A module declares its rows with `implements`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

#: Kind of result where it has no dimensions: NumPy's scalar, an array, Python's number.
ZeroD = Literal["scalar", "array", "python"]

#: Outcome of a call: "compiled"; "host", NumPy's own business, which runs
#: in NumPy between compiled subgraphs; "refused", a computation that compiled code
#: can't do as NumPy does it, so that NumPy does it, and `reason` says what to
#: write instead.
Status = Literal["compiled", "host", "refused"]


#: Tolerance of the tests on results, in units of the result dtype's eps.
DEFAULT_TOLERANCE = 16


@dataclasses.dataclass(frozen=True)
class Row:
    """One NumPy object and how npaccel computes it.

    Parameters
    ----------
    numpy : object
        The NumPy function, ufunc or scalar type (aliases are the same object).
    name : str
        NumPy's public name, as in ``"numpy.linalg.norm"``; a method of ndarray
        is ``"numpy.ndarray.sum"``, a ufunc's ``"numpy.add.reduce"``.
    implementation : callable
        Takes tensors where NumPy takes arrays and returns tensors.
    zero_d : {"scalar", "array", "python"}
        What NumPy returns when the result has no dimensions.
    zero_d_of : callable or None
        Takes a call's arguments, and returns which of these it is, where they decide that.
    unsupported : tuple of str
        Names of NumPy's parameters that raise `NotImplementedError` by name.
    data_dependent : bool
        Whether the shape of the result depends on the data.
    mutates : tuple of int
        Positions of array arguments that are written in place.
    tolerance : float or None
        Relative tolerance against NumPy where the last bits differ, in units
        of the result dtype's eps. None: `DEFAULT_TOLERANCE`.
    note : str
        Why the tolerance is loosened, or what differs. Shown on the support page.
    status : {"compiled", "host", "refused"}
        Whether `jit` compiles it. What isn't compiled breaks the graph.
    reason : str
        Why it isn't compiled.
    inlined : bool
        Whether the implementation is traced as if the user had written it: it
        calls functions of the user, or is written with NumPy calls.
    elementwise : bool
        Whether an element of the result depends only on the operands' elements
        at its place, after broadcasting.
    """

    numpy: Any
    name: str
    implementation: Callable[..., Any]
    zero_d: ZeroD = "array"
    unsupported: tuple[str, ...] = ()
    data_dependent: bool = False
    mutates: tuple[int, ...] = ()
    tolerance: float | None = None
    note: str = ""
    status: Status = "compiled"
    reason: str = ""
    inlined: bool = False
    elementwise: bool = False
    zero_d_of: Callable[..., ZeroD] | None = None


_rows: dict[str, Row] = {}
_by_object: dict[int, Row] = {}


def add(row: Row) -> None:
    """Enter a row; a second row for the same name is an error."""
    if row.name in _rows:
        raise ValueError(f"table: {row.name} has a row already; change that one")
    _rows[row.name] = row
    if row.numpy is not None:
        _by_object[id(row.numpy)] = row


def implements(
    obj: Any,
    *,
    name: str | None = None,
    zero_d: ZeroD = "array",
    unsupported: tuple[str, ...] = (),
    data_dependent: bool = False,
    mutates: tuple[int, ...] = (),
    tolerance: float | None = None,
    note: str = "",
    status: Status = "compiled",
    reason: str = "",
    inlined: bool = False,
    elementwise: bool = False,
    zero_d_of: Callable[..., ZeroD] | None = None,
) -> Callable[[F], F]:
    """Declare a function as npaccel's computation of a NumPy object.

    Parameters
    ----------
    obj : object
        The NumPy object, or a dotted name where it has no object of its own
        (``"numpy.ndarray.sum"``, ``"numpy.add.reduce"``).
    name, zero_d, unsupported, data_dependent, mutates, tolerance, note, status, reason, inlined, \
    elementwise, zero_d_of
        The fields of `Row`.
    """

    def declare(function: F) -> F:
        by_name = isinstance(obj, str)
        add(
            Row(
                numpy=None if by_name else obj,
                name=name or (obj if by_name else public_name(obj)),
                implementation=function,
                zero_d=zero_d,
                unsupported=unsupported,
                data_dependent=data_dependent,
                mutates=mutates,
                tolerance=tolerance,
                note=note,
                status=status,
                reason=reason,
                inlined=inlined,
                elementwise=elementwise,
                zero_d_of=zero_d_of,
            )
        )
        return function

    return declare


def scalar_unless_kept(
    a: Any, *args: Any, keepdims: bool = False, **kwargs: Any
) -> Literal["scalar", "array"]:
    """Say what a reduction gives that keeps dimensions in an array, of none as well."""
    return "array" if keepdims else "scalar"


def leave_out(obj: Any, status: Status, reason: str, *, name: str | None = None) -> None:
    """Declare that a NumPy object isn't compiled.

    Parameters
    ----------
    obj : object
        The NumPy object, or a dotted name where it has no object of its own.
    status : {"host", "refused"}
    reason : str
        Why, and what to write instead, without a full stop.
    name : str, optional
        NumPy's public name, where the object doesn't tell it.
    """
    full = name or (obj if isinstance(obj, str) else public_name(obj))
    short = full if full.split(".")[1] != "ndarray" else full.removeprefix("numpy.")

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise NotImplementedError(f"{short} can't be compiled: {reason}")

    implements(obj, name=full, status=status, reason=reason)(refuse)


def parameters_of(function: Any, *names: str) -> tuple[str, ...]:
    """Return those of the names that are parameters in the installed NumPy."""
    known = inspect.signature(function).parameters
    return tuple(name for name in names if name in known)


def public_name(obj: Any) -> str:
    """NumPy's public dotted name of one of its functions or types."""
    module = "numpy" if isinstance(obj, np.ufunc) else obj.__module__
    return f"{module}.{obj.__name__}"


def rows() -> dict[str, Row]:
    """Return every row by name."""
    return dict(_rows)


def row_of(obj: Any) -> Row | None:
    """Return the row of a NumPy object, or None where the table has none."""
    row = _by_object.get(id(obj))
    return row if row is not None and row.numpy is obj else None


def row_named(name: str) -> Row | None:
    """Return the row with this dotted name, or None."""
    return _rows.get(name)
