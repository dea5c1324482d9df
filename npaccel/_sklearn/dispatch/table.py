"""The one table of scikit-learn's names: where an estimator or a metric computes.

A module of rows declares device estimators with `on_device`, classes that scikit-learn itself
computes on tensors with `delegated`, and why others stay on the host with `through_host`. What
isn't declared is *delegated* where scikit-learn's tags say that it takes tensors, else *host*.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from npaccel import _sklearn
from npaccel._process.imports import load_all
from npaccel._sklearn.dispatch import listing
from npaccel._sklearn.dispatch.call_stack import Container

T = TypeVar("T")

#: "device": npaccel computes on the tensors' device. "delegated": scikit-learn's own code computes
#: on the tensors. "composite": its own code carries the data between estimators, each of which has
#: its route. "host": NumPy's arrays go through scikit-learn.
Route = Literal["device", "delegated", "composite", "host"]

#: Relative tolerance of the tests on results in float64.
DEFAULT_TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Row:
    """One estimator or function of scikit-learn, and where it computes.

    Parameters
    ----------
    name : str
        scikit-learn's public name, as in ``"cluster.KMeans"``.
    sklearn : type or callable
        What scikit-learn has under it.
    route : {"device", "delegated", "composite", "host"}
    implementation : type or callable, optional
        Of a device row: npaccel's subclass or function.
    refused : str
        Which parameters and inputs go through the host, in words.
    tolerance : float
        How far from scikit-learn's, relatively, its results in float64 may be.
    note : str
        What differs.
    reason : str
        Why it stays on the host.
    expected_failures : mapping
        Checks of scikit-learn's ``check_estimator`` that can't pass, with the reason.
    wants : pair of {"tensor", "array"} or None
        Of a composite: what its parts' results are to be in its fits, and in its other methods;
        None: what the parts are given.
    carries : bool
        Of a composite: whether its code takes tensors, so that data stays on the device between
        its parts.
    mixin : type, optional
        Of a composite: methods that stand before scikit-learn's.
    """

    name: str
    sklearn: Any
    route: Route
    implementation: Any = None
    refused: str = ""
    tolerance: float = DEFAULT_TOLERANCE
    note: str = ""
    reason: str = ""
    expected_failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    wants: tuple[Container | None, Container | None] = (None, None)
    carries: bool = True
    mixin: type | None = None

    @property
    def is_estimator(self) -> bool:
        """Whether it's a class, not a function."""
        return isinstance(self.sklearn, type)


_declared: dict[str, Row] = {}
_by_object: dict[int, Row] = {}


def _declare(row: Row) -> None:
    if row.name in _declared:
        raise ValueError(f"table: {row.name} has a row already; change that one")
    _declared[row.name] = row
    _by_object[id(row.sklearn)] = row


def on_device(
    name: str,
    *,
    refused: str = "",
    tolerance: float = DEFAULT_TOLERANCE,
    note: str = "",
    expected_failures: Mapping[str, str] | None = None,
) -> Callable[[T], T]:
    """Declare a class or a function as npaccel's form of scikit-learn's.

    Parameters
    ----------
    name : str
        scikit-learn's public name without ``sklearn.``, as in ``"cluster.KMeans"``. A name that
        the installed scikit-learn doesn't have is passed over.
    refused, tolerance, note, expected_failures
        The fields of `Row`.
    """

    def declare(implementation: T) -> T:
        original = listing.find(name)
        if original is None:
            return implementation
        failures = expected_failures or {}
        _declare(
            Row(
                name,
                original,
                "device",
                implementation,
                refused,
                tolerance,
                note,
                expected_failures=failures,
            )
        )
        if isinstance(implementation, type):
            # It's known, and pickled, by its public name.
            implementation.__module__ = f"npaccel.sklearn.{name.rpartition('.')[0]}"
        return implementation

    return declare


def delegated(names: str, note: str = "") -> None:
    """Say of estimators that scikit-learn's own code computes on tensors.

    Parameters
    ----------
    names : str
        Public names without ``sklearn.``, with spaces between.
    note : str
        What is to be said of it, without a full stop.
    """
    for name in names.split():
        original = listing.find(name)
        if original is not None:
            _declare(Row(name, original, "delegated", note=note))


def composite(
    names: str,
    *,
    fit: Container | None = None,
    later: Container | None = None,
    carries: bool = True,
    note: str = "",
    mixin: type | None = None,
) -> None:
    """Say of estimators that are made of others how they carry data.

    Parameters
    ----------
    names : str
        Public names without ``sklearn.``, with spaces between.
    fit, later : {"tensor", "array"} or None
        What their parts' results are to be in fits and in other methods.
    carries : bool
        The field of `Row`.
    note : str
        What is to be said of it, without a full stop.
    mixin : type, optional
        The field of `Row`.
    """
    for name in names.split():
        original = listing.find(name)
        if original is not None:
            wants = (fit, later)
            row = Row(name, original, "composite", note=note, wants=wants, mixin=mixin)
            _declare(dataclasses.replace(row, carries=carries))


def through_host(names: str, reason: str) -> None:
    """Say why estimators and functions stay on the host.

    Parameters
    ----------
    names : str
        Public names without ``sklearn.``, with spaces between.
    reason : str
        Why, without a full stop.
    """
    for name in names.split():
        original = listing.find(name)
        if original is not None:
            _declare(Row(name, original, "host", reason=reason))


def load() -> None:
    """Import the modules that declare rows, once."""
    load_all("npaccel._sklearn", _sklearn.MODULES)


def row(name: str) -> Row | None:
    """Return the row of a public name (``"cluster.KMeans"``), None if there is no such name."""
    load()
    found = _declared.get(name)
    if found is not None:
        return found
    original = listing.find(name)
    if original is None or not listing.is_wanted(original):
        return None
    same = _by_object.get(id(original))
    if same is not None:
        return dataclasses.replace(same, name=name)
    return Row(name, original, "delegated" if listing.computes_on_tensors(original) else "host")


def row_of(original: Any) -> Row | None:
    """Return the row of a class or function of scikit-learn, None for any other."""
    load()
    found = _by_object.get(id(original))
    if found is not None and found.sklearn is original:
        return found
    name = listing.name_of(original)
    return row(name) if name is not None else None


def rows() -> dict[str, Row]:
    """Return the row of every public estimator and metric, by name."""
    load()
    names = [*listing.names(), *sorted(set(_declared) - set(listing.names()))]
    found = {name: row(name) for name in names}
    return {name: one for name, one in found.items() if one is not None}


def device_estimators() -> list[Row]:
    """Return the rows of the estimators that npaccel computes itself."""
    load()
    return [r for r in _declared.values() if r.route == "device" and r.is_estimator]
