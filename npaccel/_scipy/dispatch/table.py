"""The one table of SciPy's functions: what becomes of a call with tensors.

A module of rows declares native functions with `in_numpy` and `on_tensors`, and why others go
through the host with `through_host`. What isn't declared is *delegated* where SciPy says that it
computes on a GPU's tensors, else *host*.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

from npaccel import _scipy
from npaccel._process.imports import load_all
from npaccel._scipy.dispatch import listing

F = TypeVar("F", bound=Callable[..., Any])

#: "delegated": SciPy computes on the tensors itself. "native": npaccel computes, on the tensors'
#: device. "host": NumPy's arrays go through SciPy, and tensors come back. "refused": an error.
Route = Literal["delegated", "native", "host", "refused"]

#: Tolerance of the tests on native results, in units of the result dtype's eps.
DEFAULT_TOLERANCE = 256


@dataclasses.dataclass(frozen=True)
class Row:
    """One function of SciPy and what becomes of a call with tensors.

    Parameters
    ----------
    name : str
        SciPy's public name, as in ``"scipy.ndimage.zoom"``.
    scipy : callable
        SciPy's function.
    route : {"delegated", "native", "host", "refused"}
    implementation : callable, optional
        Of a native function: a twin of SciPy's, in NumPy or on tensors.
    written_in : {"numpy", "tensors"}
        What the implementation takes. In NumPy it's compiled by `npaccel.jit`, and traced as the
        user's own code where a jitted function calls SciPy's.
    arrays : tuple of str
        Parameters that may be arrays. A value of any other parameter is part of what is compiled.
    tolerance : float or None
        Relative tolerance against SciPy in units of the result dtype's eps; None:
        `DEFAULT_TOLERANCE`.
    host_reason : callable, optional
        Given the bound arguments, why this call has to go through the host, or an empty string.
    note : str
        What differs, or why the tolerance is loosened.
    reason : str
        Why it goes through the host, or is refused.
    takes_arrays : bool
        Whether any argument may be an array.
    fused : bool
        Whether an implementation on tensors is compiled too, so that its many small steps become
        one. In a jitted function it's part of what is compiled in any case.
    by_element : bool
        Whether each element of the result depends on that element of the arrays alone: the parts
        of them that SciPy gets on a CPU are computed by all cores. Any ufunc is so.
    wide : bool
        Whether SciPy gets 64 bits on the host: its loops of 32 bits don't end.
    is_pure : bool
        Whether results are those of the arguments alone. In a jitted function such a call of
        constants, ``butter(4, 0.2)``, is made once, by the capture.
    """

    name: str
    scipy: Any
    route: Route
    implementation: Callable[..., Any] | None = None
    written_in: Literal["numpy", "tensors"] = "numpy"
    arrays: tuple[str, ...] = ()
    tolerance: float | None = None
    host_reason: Callable[[dict[str, Any]], str] | None = None
    note: str = ""
    reason: str = ""
    takes_arrays: bool = True
    fused: bool = False
    by_element: bool = False
    wide: bool = False
    is_pure: bool = False


_declared: dict[str, Row] = {}
_by_object: dict[int, Row] = {}


def _declare(row: Row) -> None:
    if row.name in _declared:
        raise ValueError(f"table: {row.name} has a row already; change that one")
    if row.implementation is not None:
        unknown = set(row.arrays) - set(inspect.signature(row.implementation).parameters)
        if unknown:
            raise ValueError(f"table: {row.name} has no parameter {', '.join(sorted(unknown))}")
    _declared[row.name] = row
    _by_object[id(row.scipy)] = row


def in_numpy(
    name: str,
    *,
    arrays: Iterable[str],
    tolerance: float | None = None,
    host_reason: Callable[[dict[str, Any]], str] | None = None,
    note: str = "",
) -> Callable[[F], F]:
    """Declare a function written in plain NumPy as npaccel's form of a SciPy function.

    Parameters
    ----------
    name : str
        SciPy's public name without ``scipy.``, as in ``"ndimage.zoom"``. A name that the
        installed SciPy doesn't have is passed over.
    arrays, tolerance, host_reason, note
        The fields of `Row`.
    """
    return _native(name, "numpy", tuple(arrays), tolerance, host_reason, note)


def on_tensors(
    name: str,
    *,
    arrays: Iterable[str],
    tolerance: float | None = None,
    host_reason: Callable[[dict[str, Any]], str] | None = None,
    note: str = "",
    fused: bool = False,
    by_element: bool = False,
) -> Callable[[F], F]:
    """Declare a function that takes tensors as npaccel's form of a SciPy function.

    For what NumPy has no word for, and for loops around a user's function.

    Parameters
    ----------
    name, arrays, tolerance, host_reason, note
        As in `in_numpy`.
    fused : bool
        The field of `Row`. Its parameters that aren't arrays must be hashable then.
    by_element : bool
        The field of `Row`.
    """
    return _native(name, "tensors", tuple(arrays), tolerance, host_reason, note, fused, by_element)


def _native(
    name: str,
    written_in: Literal["numpy", "tensors"],
    arrays: tuple[str, ...],
    tolerance: float | None,
    host_reason: Callable[[dict[str, Any]], str] | None,
    note: str,
    fused: bool = False,
    by_element: bool = False,
) -> Callable[[F], F]:
    def declare(function: F) -> F:
        original = listing.find(name)
        if original is None:
            return function
        _declare(
            Row(
                f"scipy.{name}",
                original,
                "native",
                function,
                written_in,
                arrays,
                tolerance,
                host_reason,
                note,
                fused=fused,
                by_element=by_element,
            )
        )
        return function

    return declare


def traced(
    name: str,
    *,
    arrays: Iterable[str],
    host_reason: Callable[[dict[str, Any]], str] | None = None,
    on_tensors: bool = False,
    reason: str = "",
) -> Callable[[F], F]:
    """Declare a function in plain NumPy that jitted functions have in the place of SciPy's.

    For functions that SciPy computes on tensors by itself, or on the host: outside of a capture
    they stay so.

    Parameters
    ----------
    name, arrays, host_reason
        As in `in_numpy`.
    on_tensors : bool
        Whether it's written on tensors, not in NumPy.
    reason : str
        Why it goes through the host outside of a capture.
    """
    written_in: Literal["numpy", "tensors"] = "tensors" if on_tensors else "numpy"

    def declare(function: F) -> F:
        for _, original in _found(name):
            row = _undeclared(f"scipy.{name}", original)
            _declare(
                dataclasses.replace(
                    row,
                    implementation=function,
                    written_in=written_in,
                    arrays=tuple(arrays),
                    host_reason=host_reason,
                    reason=reason,
                )
            )
        return function

    return declare


def through_host(
    names: str,
    reason: str,
    *,
    takes_arrays: bool = True,
    wide: bool = False,
    is_pure: bool = False,
) -> None:
    """Say why functions go through the host.

    Parameters
    ----------
    names : str
        SciPy's public names without ``scipy.``, with spaces between.
    reason : str
        Why, without a full stop.
    takes_arrays : bool
        False for functions none of whose arguments is an array: they are SciPy's own.
    wide, is_pure : bool
        The fields of `Row`.
    """
    for name, original in _found(names):
        row = Row(f"scipy.{name}", original, "host", reason=reason, takes_arrays=takes_arrays)
        _declare(dataclasses.replace(row, wide=wide, is_pure=is_pure))


def by_scipy(names: str) -> None:
    """Declare functions that SciPy computes itself, or through the host, as pure ones."""
    for name, original in _found(names):
        _declare(dataclasses.replace(_undeclared(f"scipy.{name}", original), is_pure=True))


def refused(names: str, reason: str) -> None:
    """Say why functions can't be called with tensors, and what to do instead."""
    for name, original in _found(names):
        _declare(Row(f"scipy.{name}", original, "refused", reason=reason))


def _found(names: str) -> Iterator[tuple[str, Any]]:
    """Yield names that the installed SciPy has, with what it has there."""
    for name in names.split():
        original = listing.find(name)
        if original is not None:
            yield name, original


def _undeclared(name: str, original: Any) -> Row:
    delegated = listing.computes_on_gpu(original)
    return Row(name, original, "delegated" if delegated else "host")


def load() -> None:
    """Import the modules that declare rows, once."""
    load_all("npaccel._scipy", _scipy.MODULES)


def row(name: str) -> Row | None:
    """Return the row of a public name (``"scipy.ndimage.zoom"``), None if it's no function."""
    load()
    found = _declared.get(name)
    if found is not None:
        return found
    original = listing.find(name.removeprefix("scipy."))
    if original is None or not listing.is_function(original):
        return None
    same = _by_object.get(id(original))
    if same is not None:
        return dataclasses.replace(same, name=name)
    return _undeclared(name, original)


def row_of(original: Any) -> Row | None:
    """Return the declared row of a SciPy object, None where there is none."""
    found = _by_object.get(id(original))
    return found if found is not None and found.scipy is original else None


def rows() -> dict[str, Row]:
    """Return the row of every function of SciPy's submodules, by name."""
    load()
    names = [f"scipy.{name}" for name in listing.names()]
    found = {name: row(name) for name in [*names, *sorted(set(_declared) - set(names))]}
    return {name: one for name, one in found.items() if one is not None}
