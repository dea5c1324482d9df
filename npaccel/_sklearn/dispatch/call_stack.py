"""Stack of the estimators' methods that run in this thread, and where each computes."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Literal

import torch

from npaccel._process import fork
from npaccel._scipy.dispatch import array_api_switch
from npaccel._sklearn.dispatch import transfers

#: "tensor": results are tensors, on their device. "array": NumPy's arrays.
Container = Literal["tensor", "array"]


def _config() -> dict[str, Any]:
    """Return scikit-learn's configuration of this thread, to read and to change."""
    from sklearn import _config as known

    return known._get_threadlocal_config()  # type: ignore[no-any-return]


@dataclasses.dataclass(eq=False)
class Frame:
    """One running call of an accelerated estimator's method.

    Parameters
    ----------
    estimator : object
    on_device : bool
        Whether tensors are computed on; else NumPy's arrays, by scikit-learn's own code.
    device : torch.device
        Where arrays go, or where the caller's tensors are.
    given : {"tensor", "array"}
        What the outermost caller gave, and gets when attributes are read.
    own : bool
        Whether npaccel's methods run; else scikit-learn's.
    passes : bool
        Whether its own methods are called as by anyone: by a metric of predictions, say.
    wants : {"tensor", "array"} or None
        What the results of estimators that are called inside are to be; None: what those are given.
    gives : {"tensor", "array"}
        In which container its own result leaves.
    foreign : bool
        Whether scikit-learn's own code runs on what it was given, as the user has configured it.
    configured : bool
        Whether scikit-learn's dispatch was on where it was called.
    before : callable, optional
        Of a fit by npaccel's code: puts the estimator and the random numbers back to where they
        were, for scikit-learn's own code to begin there.
    parent : Frame, optional
        The frame that this one was called in.
    count : Count
        Transfers in this frame, not in those inside of it.
    moved : dict
        By the ``id`` of an array of the caller: the array and its tensors, so that no array is
        copied twice in one call.
    """

    estimator: Any
    on_device: bool
    device: torch.device
    given: Container
    own: bool = True
    passes: bool = False
    wants: Container | None = None
    gives: Container = "tensor"
    foreign: bool = False
    configured: bool = dataclasses.field(default_factory=lambda: _config()["array_api_dispatch"])
    before: Callable[[str], None] | None = None
    parent: Frame | None = None
    count: transfers.Count = dataclasses.field(default_factory=transfers.Count)
    moved: dict[int, tuple[Any, dict[Any, torch.Tensor]]] = dataclasses.field(default_factory=dict)

    @property
    def is_of_composite(self) -> bool:
        """Whether the estimator's own code only carries data between others."""
        return bool(type(self.estimator)._npaccel_route == "composite")

    def users_dispatch(self) -> bool:
        """Return whether scikit-learn's dispatch is on where the outermost call was made."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame.configured

    def outermost_of_estimator(self) -> Frame:
        """Return the first of the frames of this estimator that follow on each other."""
        frame = self
        while frame.parent is not None and frame.parent.estimator is self.estimator:
            frame = frame.parent
        return frame


_running: ContextVar[Frame | None] = ContextVar("npaccel_sklearn_frame", default=None)
current = _running.get


@contextlib.contextmanager
def entered(frame: Frame) -> Iterator[None]:
    """Run what is in the block as a frame, with scikit-learn's dispatch to suit it."""
    token, counted = _running.set(frame), transfers.counting.set(frame.count)
    try:
        with dispatching(frame.users_dispatch() if frame.foreign else frame.on_device):
            yield
    finally:
        transfers.counting.reset(counted)
        _running.reset(token)


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Run what is in the block as outside of any frame."""
    token = _running.set(None)
    try:
        yield
    finally:
        _running.reset(token)


# -- scikit-learn's array API -------------------------------------------------------------------

_lock = threading.Lock()
fork.hold(_lock)


def _install() -> None:
    """Switch scikit-learn's dispatch on where npaccel has switched SciPy's on.

    ``sklearn.set_config`` and ``config_context`` ask for ``SCIPY_ARRAY_API=1`` in the environment
    (``sklearn/utils/_array_api.py``, read in 1.9), also where joblib's wrapper repeats a
    configuration that is in force.
    """
    from sklearn.utils import _array_api

    with _lock:
        asked = _array_api._check_array_api_dispatch
        if getattr(asked, "_npaccel", False):
            return

        def check(array_api_dispatch: Any) -> None:
            if not array_api_switch._on.get():
                asked(array_api_dispatch)

        vars(check)["_npaccel"] = True
        _array_api._check_array_api_dispatch = check


@contextlib.contextmanager
def dispatching(on: bool) -> Iterator[None]:
    """Switch scikit-learn's array API on or off in this thread until the block ends."""
    _install()
    config = _config()
    before = config["array_api_dispatch"]
    config["array_api_dispatch"] = on
    try:
        if on:
            with array_api_switch.array_api_on():
                yield
        else:
            yield
    finally:
        config["array_api_dispatch"] = before
