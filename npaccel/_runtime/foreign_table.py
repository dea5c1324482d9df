"""The table of a library besides NumPy that capture asks what becomes of a call: SciPy's.

And objects of the library's that are made of arrays: results of functions, splines.

The package with the table lies above the compiler. The root of npaccel, which knows both, hands in
how to load it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True)
class Place:
    """Stand-in for a tensor, in an object that is without its tensors."""

    index: int


class ForeignTable(Protocol):
    """Table of what a library's functions become in a graph."""

    def owns(self, obj: Any) -> bool:
        """Return whether an object is a function, or has methods, of the library."""

    def row_of(self, function: Any) -> tuple[str, Any]:
        """Return the name of a function, and its row or None."""

    def row_of_method(self, obj: Any, name: str) -> tuple[str, Any]:
        """Return the name of an object's method, and its row or None."""

    def implementation(self, row: Any) -> Callable[..., Any]:
        """Return what computes a row's calls in a graph."""

    def makes_objects(self, row: Any) -> bool:
        """Return whether what a row's calls give may be an object whose methods compute."""

    def apart(self, obj: Any) -> tuple[list[Any], Any] | None:
        """Return the tensors of an object of the table's, and it without them; None for others."""

    def method(self, obj: Any, name: str, count: int) -> Callable[..., Any] | None:
        """Return a method of an object without its tensors; the first arguments are these."""

    def attributes(self, obj: Any) -> dict[str, Any]:
        """Return the public attributes of an object without its tensors."""


_load: Callable[[], ForeignTable] | None = None


def hand_in(load: Callable[[], ForeignTable]) -> None:
    """Have the table loaded so, once something of the library is met."""
    global _load
    _load = load


def table() -> ForeignTable:
    """Return the table."""
    assert _load is not None
    return _load()


@dataclasses.dataclass(frozen=True)
class Form:
    """A call that makes an object, but for the values.

    Parameters
    ----------
    kind : str
        What is called, as in ``"scipy.stats._stats_py:TtestResult"``.
    count : int
        How many values are positional arguments.
    keywords : tuple of str
        The names of those that come next.
    added : tuple of str
        The attributes that the others are set to, once the object is made.
    """

    kind: str
    count: int
    keywords: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def find(self) -> None:
        """Look up what is called.

        Raises
        ------
        AttributeError
            If the installed library doesn't have it.
        """
        try:
            _called(self.kind)
        except ImportError as error:
            raise AttributeError(str(error)) from error

    def made(self, values: Sequence[Any]) -> Any:
        """Make the object of its values."""
        named = values[self.count : self.count + len(self.keywords)]
        keywords = dict(zip(self.keywords, named, strict=True))
        found = _called(self.kind)(*values[: self.count], **keywords)
        for name, value in zip(self.added, values[self.count + len(named) :], strict=True):
            setattr(found, name, value)
        return found


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A form with its values, of which a graph computes some.

    Parameters
    ----------
    form : Form
    values : tuple
    """

    form: Form
    values: tuple[Any, ...]

    def made(self) -> Any:
        """Make the object."""
        return self.form.made(self.values)

    def adding(self, **attributes: Any) -> Recipe:
        """Return a recipe that sets attributes, too."""
        form = dataclasses.replace(self.form, added=(*self.form.added, *attributes))
        return Recipe(form, (*self.values, *attributes.values()))


def recipe(kind: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Recipe:
    """Return the recipe of a call."""
    return Recipe(Form(kind, len(args), tuple(kwargs)), (*args, *kwargs.values()))


@functools.cache
def _called(kind: str) -> Callable[..., Any]:
    module, _, name = kind.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]


def method(name: str, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an object that was made."""
    return getattr(owner, name)(*args, **kwargs)


__all__ = ["ForeignTable", "Form", "Place", "Recipe", "hand_in", "method", "recipe", "table"]
