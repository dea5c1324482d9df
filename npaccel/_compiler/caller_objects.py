"""The caller's objects that a run of a frame changes, or gives back, besides arrays."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from npaccel._compiler.call_arguments import Call
from npaccel._compiler.frame import Frame
from npaccel._torch.dynamo.capture_record import ObjectWrite

#: Stands for what isn't there.
_MISSING: Any = object()


class CallerObjects:
    """Objects of the caller's, as found before a run.

    Parameters
    ----------
    frame : Frame
    call : Call
    """

    def __init__(self, frame: Frame, call: Call) -> None:
        def found(name: str) -> Any:
            return frame.spec.scope.evaluate(frame.expression(name), call.arguments)

        self._writes = [(found(write.owner), write) for write in frame.writes]
        grown = [one for one, write in self._writes if _is_added(write)]
        #: Number of objects that are appended to lists, and lengths before, by ids of the lists.
        self._added = collections.Counter(map(id, grown))
        self._lengths = {id(one): len(one) for one in grown}
        self._before = [
            self._value(owner, write) if _is_there(owner, write) else _MISSING
            for owner, write in self._writes
        ]
        loaded = {frame.expression(name): found(name) for name in frame.capture.loaded}
        self._containers = {name: one for name, one in loaded.items() if _holds_lists(one)}

    def containers(self) -> dict[int, str]:
        """Return Python for what a result may hold as it is, by the ids."""
        return {id(one): expression for expression, one in self._containers.items()}

    def values(self) -> list[Any]:
        """Return what the last run has put there, one object for each write."""
        return [self._value(owner, write) for owner, write in self._writes]

    def _value(self, owner: Any, write: ObjectWrite) -> Any:
        if write.kind == "attribute":
            return getattr(owner, str(write.key), None)
        return owner[int(write.key) - self._added[id(owner)] if _is_added(write) else write.key]

    def put_back(self) -> None:
        """Have the objects as they were before the run, so that another one reads the same."""
        self.restore(self._before)

    def restore(self, values: Sequence[Any]) -> None:
        """Have the objects hold the values of a run, one for each write, and no others."""
        for owner, write in self._writes:
            if _is_added(write):
                del owner[self._lengths[id(owner)] :]
        for (owner, write), value in zip(self._writes, values, strict=True):
            if write.kind == "attribute":
                setattr(owner, str(write.key), value)
            elif value is _MISSING:
                if write.kind == "item":
                    del owner[write.key]
            elif write.kind == "item":
                owner[write.key] = value
            else:
                owner.append(value)


def _is_added(write: ObjectWrite) -> bool:
    """Whether an object is appended to a list."""
    return write.kind == "append"


def _is_there(owner: Any, write: ObjectWrite) -> bool:
    """Whether a write replaces something; attributes that are written are there."""
    return not _is_added(write) and not (isinstance(owner, dict) and write.key not in owner)


def _holds_lists(value: Any) -> bool:
    """Whether an object is a list or dict or has one in it, which may change later."""
    if isinstance(value, tuple):
        return any(map(_holds_lists, value))
    return type(value) in (list, dict)
