"""Results of every kind are compared by what they hold, not by what `==` or `__dict__` shows."""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.interpolate
import scipy.sparse
import xarray as xr

import npaccel
from npaccel._verify.compare import Slack, compare


@dataclasses.dataclass(slots=True)
class Point:
    """An object without a `__dict__`."""

    at: Any


class Base:
    """One with a slot whose name is mangled."""

    __slots__ = ("__at",)

    def __init__(self, at: Any) -> None:
        self.__at = at


class Both(Base):
    """One with slots and a `__dict__`."""

    def __init__(self, at: Any) -> None:
        super().__init__(at)
        self.name = "both"


class Named(list[Any]):
    """A list with an attribute."""

    def __init__(self, at: Any) -> None:
        super().__init__([1])
        self.at = at


class Meters(np.ndarray):
    """An array with an attribute."""


class Ring:
    """An object that holds itself, and a lock."""

    def __init__(self, at: Any) -> None:
        self.at, self.lock, self.me = at, threading.Lock(), self


def meters(scale: Any) -> Any:
    array = np.zeros(2).view(Meters)
    array.scale = scale  # type: ignore[attr-defined]
    return array


def nested(at: Any) -> Any:
    return Point({"a": [Point((Both(at),))]})


STEPS = np.arange(4.0)
MADE = {
    "Series": pd.Series,
    "integers": lambda v: pd.Series(np.ceil(v).astype(int)),
    "index of a Series": lambda v: pd.Series(STEPS, index=v),
    "Index": pd.Index,
    "MultiIndex": lambda v: pd.MultiIndex.from_arrays([v, STEPS]),
    "DataFrame": lambda v: pd.DataFrame({"a": STEPS, "b": v}),
    "columns of one name": lambda v: pd.DataFrame(np.stack([STEPS, v], 1), columns=["a", "a"]),
    "text": lambda v: pd.DataFrame({"a": [f"{x:.0f}" for x in v]}),
    "Categorical": lambda v: pd.Categorical(np.ceil(v)),
    "timestamps": lambda v: pd.Series(pd.to_datetime(np.ceil(v), unit="D", utc=True)),
    "nullable": lambda v: pd.Series(v, dtype="Float64"),
    "polars.DataFrame": lambda v: pl.DataFrame({"a": v, "b": STEPS}),
    "polars.Series": lambda v: pl.Series("a", v),
    "lists in polars": lambda v: pl.Series("a", [v.tolist(), []]),
    "DataArray": lambda v: xr.DataArray(v, dims="x", attrs={"units": "m"}),
    "coordinates": lambda v: xr.DataArray(STEPS, dims="x", coords={"x": v}),
    "Dataset": lambda v: xr.Dataset({"a": ("x", v)}),
    "masked array": lambda v: np.ma.array(v, mask=[False, True, False, False]),
    "structured": lambda v: np.array([(x, 1) for x in v], dtype=[("a", "f8"), ("b", "i4")]),
    "array of objects": lambda v: np.array([Point(v), None], dtype=object),
    "array with an attribute": meters,
    "slots of a dataclass": Point,
    "mangled slot": Base,
    "slots and attributes": Both,
    "list with an attribute": Named,
    "nested": nested,
    "ring with a lock": Ring,
    "deque": lambda v: collections.deque([v]),
    "read-only dict": lambda v: types.MappingProxyType({"a": v}),
    "defaultdict": lambda v: collections.defaultdict(list, a=v),
    "partial": lambda v: functools.partial(np.add, v),
    "exception": ValueError,
    "sparse array": lambda v: scipy.sparse.csr_array(v.reshape(2, 2)),
    "spline": lambda v: scipy.interpolate.CubicSpline(STEPS, v),
    "polynomial": np.polynomial.Polynomial,
}
THIRDS = np.array([1, 2, 4e5, 5]) / 3


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_values_of_every_kind_are_compared(make: Any) -> None:
    """Another value inside differs; the same in another object, or a last digit, doesn't."""
    assert list(compare(make(THIRDS), make(THIRDS + 1), "result"))
    assert not list(compare(make(THIRDS), make(THIRDS.copy()), "result"))
    assert not list(compare(make(THIRDS), make(np.nextafter(THIRDS, 9e9)), "result"))


def test_masks_names_and_units_are_compared() -> None:
    """What isn't a value differs as well."""
    mask = np.array([True, False, False, False])
    pairs = [
        (np.ma.array(STEPS, mask=mask), np.ma.array(STEPS, mask=mask[::-1])),
        (pd.Series(STEPS, name="a"), pd.Series(STEPS, name="b")),
        (pd.DataFrame({"a": STEPS}), pd.DataFrame({"b": STEPS})),
        (pl.Series("a", STEPS), pl.Series("b", STEPS)),
        (pl.Series("a", [1.0, None]), pl.Series("a", [1.0, float("nan")])),
        (xr.DataArray(STEPS, dims="x"), xr.DataArray(STEPS, dims="y")),
        (xr.DataArray(STEPS, attrs={"units": "m"}), xr.DataArray(STEPS, attrs={"units": "km"})),
        (meters(1.0), np.zeros(2)),
        (collections.deque([1]), collections.deque([1, 2])),
    ]
    for wanted, got in pairs:
        assert list(compare(wanted, got, "result")), wanted


def test_what_masks_hide_is_not_compared() -> None:
    """Elements under a mask are nobody's."""
    mask = [False, True, False, False]
    hidden = STEPS + np.array([0, 7, 0, 0])
    assert not list(compare(np.ma.array(STEPS, mask=mask), np.ma.array(hidden, mask=mask), ""))


def test_where_a_part_differs_is_told_as_users_would_write_it() -> None:
    """The place is the expression that leads to it."""
    other = THIRDS.copy()
    other[2] += 1
    found = {
        "result['b']": (pd.DataFrame({"b": THIRDS}), pd.DataFrame({"b": other})),
        "result.array": (pd.Series(THIRDS), pd.Series(other)),
        "result.at['a'][0].at": (Point({"a": [Point(THIRDS)]}), Point({"a": [Point(other)]})),
        "result['x']": (xr.Dataset({"x": ("i", THIRDS)}), xr.Dataset({"x": ("i", other)})),
    }
    for where, (wanted, got) in found.items():
        assert next(compare(wanted, got, "result")).where.startswith(where)


def test_attributes_vary_as_far_as_numpys_own_do() -> None:
    """Slack is noted for what objects hold, too."""
    slack = Slack()
    slack.note(Point(THIRDS), Point(THIRDS + 1e-6), "result")
    assert list(compare(Point(THIRDS), Point(THIRDS + 1e-6), "result"))
    assert not list(compare(Point(THIRDS), Point(THIRDS + 1e-6), "result", slack=slack))


def distance(frame: Any) -> Any:
    """Return a Series, whose index caches what it was asked."""
    return np.sqrt(frame["a"] ** 2 + frame["b"] ** 2)


def test_functions_of_data_frames_pass_the_check() -> None:
    """A cache within pandas isn't a difference: doctor once refused such functions for it."""
    frame = pd.DataFrame({"a": THIRDS, "b": STEPS, "c": np.arange(4)})
    result = npaccel.check(npaccel.jit(distance), frame)
    assert result.ok, result


def test_arrays_of_files_pass_the_check(tmp_path: Path) -> None:
    """A memory map gives plain arrays, in NumPy as here."""
    mapped = np.memmap(tmp_path / "mapped", dtype="f8", mode="w+", shape=(4,))
    result = npaccel.check(npaccel.jit(lambda x: np.sin(x) + 1), mapped)
    assert result.ok, result
