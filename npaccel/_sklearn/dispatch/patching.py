"""`npaccel.sklearn.accelerated`: scikit-learn's own classes compute on the device.

While anybody wants it, the methods of scikit-learn's classes that take data look whether it's
wanted where they are called. There the estimator becomes one of the accelerated class, with all
that are among its parts, and the call goes on as one of that. In other threads, inside of
estimators' own code, and after the block, nothing is changed.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Literal, Self

from npaccel._scipy.dispatch.refcounted_patch import WhileUsed
from npaccel._sklearn.dispatch import accelerate, call_stack, listing, state, table
from npaccel._sklearn.dispatch.estimator import METHODS, Accelerated, class_of


@dataclasses.dataclass(frozen=True)
class _Wanted:
    device: str | None
    on_unsupported: Literal["host", "raise"]


_here: ContextVar[_Wanted | None] = ContextVar("npaccel_sklearn_accelerated", default=None)
_everywhere: _Wanted | None = None
#: Originals of what npaccel has replaced: a class, a name, and what it was.
_replaced: list[tuple[type, str, Any]] = []


def _wanted() -> _Wanted | None:
    """Return the settings that are in force here; None inside of an estimator's own code."""
    return None if call_stack.current() is not None else _here.get() or _everywhere


def _become(estimator: Any, wanted: _Wanted) -> None:
    """Change the classes of an estimator and of all that are in it."""

    def change(one: Any) -> None:
        kind = type(one)
        if not isinstance(one, Accelerated) and table.row_of(kind) is not None:
            one.__class__ = class_of(kind)
            vars(one)[state.KEY] = state.State(wanted.device, wanted.on_unsupported)

    if accelerate._is_made_of_others(estimator):
        accelerate._visit(estimator, change)
    else:
        change(estimator)


def _hooked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that asks whether its estimator is to be accelerated."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = _wanted()
        plain = wanted is not None and not isinstance(self, Accelerated)
        if not plain or table.row_of(type(self)) is None or _is_metrics_own():
            return function(self, *args, **kwargs)
        assert wanted is not None
        _become(self, wanted)
        return getattr(self, name)(*args, **kwargs)

    return method


def _is_metrics_own() -> bool:
    """Whether a metric calls the method of an estimator that it made: of a binarizer of labels.

    Without scikit-learn's dispatch it wants arrays, whatever it was given. Scorers call users'.
    """
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return caller.startswith("sklearn.metrics.") and not caller.endswith("._scorer")


def _replace() -> None:
    from sklearn.utils._available_if import _AvailableIfDescriptor

    table.load()
    public = (listing.find(name) for name in listing.names())
    kinds = {base: None for found in public if isinstance(found, type) for base in found.__mro__}
    for kind in kinds:
        if not kind.__module__.startswith("sklearn."):
            continue
        for name in METHODS:
            found = kind.__dict__.get(name)
            hook: Any = None
            if isinstance(found, _AvailableIfDescriptor):
                method = _hooked(name, found.fn)
                hook = _AvailableIfDescriptor(method, found.check, found.attribute_name)
            elif inspect.isfunction(found):
                hook = _hooked(name, found)
            if hook is not None:
                _replaced.append((kind, name, found))
                setattr(kind, name, hook)


def _put_back() -> None:
    for kind, name, found in _replaced:
        setattr(kind, name, found)
    _replaced.clear()


_hooks = WhileUsed(_replace, _put_back)


class accelerated:  # noqa: N801 (it's used as a function is)
    """Have scikit-learn's own classes compute on the device in a ``with`` block, in this thread.

    Estimators that are fitted in the block, or used otherwise, behave as `accelerate` would have
    made them: also after it.

    Parameters
    ----------
    device, on_unsupported
        As in `accelerate`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> import npaccel.sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> with npaccel.sklearn.accelerated():
    ...     kmeans = KMeans(3, random_state=0).fit(X)
    >>> isinstance(kmeans, npaccel.sklearn.cluster.KMeans)
    True
    """

    def __init__(
        self,
        device: str | None = "auto",
        on_unsupported: Literal["host", "raise"] = "host",
    ) -> None:
        state.checked_settings(device, on_unsupported)
        self._wanted = _Wanted(device, on_unsupported)
        self._tokens: list[Token[_Wanted | None]] = []

    def __enter__(self) -> Self:
        _hooks.enter()
        self._tokens.append(_here.set(self._wanted))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _here.reset(self._tokens.pop())
        _hooks.leave()


class everywhere:  # noqa: N801 (it's used as a function is)
    """The same in all threads, for `npaccel run --sklearn`."""

    def __init__(self, device: str | None = "auto") -> None:
        self._wanted = _Wanted(device, "host")

    def __enter__(self) -> Self:
        global _everywhere
        _hooks.enter()
        _everywhere = self._wanted
        return self

    def __exit__(self, *error: object) -> None:
        global _everywhere
        _everywhere = None
        _hooks.leave()
