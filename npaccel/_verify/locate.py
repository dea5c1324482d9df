"""Find the first line of the user's code at which NumPy and npaccel part."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._syntax.library_files import library_folders
from npaccel._verify.compare import Mismatch, Slack, compare, pairs
from npaccel._verify.observers import Observer, Perturbing
from npaccel._verify.trace_events import Event, Recording, Step, graph_run

if TYPE_CHECKING:
    from npaccel._compiler.function_spec import FunctionSpec

#: Number of times that NumPy's own result is perturbed to see how far it moves.
PERTURBATIONS = 6


@dataclasses.dataclass(frozen=True)
class Line:
    """A place in the user's code.

    Parameters
    ----------
    file : str
    line : int
    text : str
    why : str
        What is known of the cause there.
    """

    file: str
    line: int
    text: str
    why: str = ""


class Locator:
    """Compare intermediate results of one call, in NumPy and in the captured graph.

    Parameters
    ----------
    spec : FunctionSpec
        Interprets graphs: its backend is "eager".
    fresh : callable
        Returns new copies of the values of all parameters, as they were before the call.
    observer : callable
        Makes the observer that NumPy's own run goes through.
    """

    def __init__(
        self,
        spec: FunctionSpec,
        fresh: Callable[[], list[Any]],
        observer: Callable[[], Observer],
    ) -> None:
        self._spec = spec
        self._fresh = fresh
        self._observer = observer
        self._plain = Recording()
        self._result: Any = None
        self._values: list[Any] = []
        self._returned: Any = None
        self._record()
        self._graph_values = fresh()
        self._graph = graph_run(spec, self._graph_values)
        self._differing = dict(self._differing_steps())

    def _record(self) -> None:
        observer = self._observer()
        observer.listener = self._plain
        observer.function()  # Without source it raises here.
        self._values = self._fresh()
        with contextlib.suppress(Exception):  # What it raises is compared elsewhere.
            self._result = self._call(observer, self._values)
        self._returned = observer.returned

    def _call(self, observer: Observer, values: list[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._spec.binding.call(values, observer.function())

    # -- Steps of the graph against operations of NumPy ---------------------------

    def _differing_steps(self) -> Iterator[tuple[int, tuple[Step, str]]]:
        events = self._plain.by_place()
        found = [
            (i, step)
            for i, step in enumerate(self._graph.steps)
            if step.place in events and _parts(events[step.place], step)
        ]
        slack = self._slack(events) if found else Slack()
        for i, step in found:
            mismatch = _parts(events[step.place], step, slack)
            if mismatch is not None:
                yield i, (step, _why(events[step.place], mismatch))

    def _slack(self, events: dict[Any, Event]) -> Slack:
        """Return how far each intermediate result moves when those before it do a little."""
        slack = Slack()
        for seed in range(PERTURBATIONS):
            other = Recording()
            with contextlib.suppress(Exception):  # Moved values may not be valid ones.
                self._call(Perturbing(self._observer(), seed, other), self._fresh())
            for place, event in other.by_place().items():
                if place in events:
                    slack.note(events[place].value, event.value, str(place))
        return slack

    def line(self, mismatch: Mismatch) -> Line:
        """Return where a part of the result, or an argument, parts from NumPy's."""
        relevant = self._ancestors(mismatch.where)
        steps = [self._differing[i] for i in sorted(self._differing) if i in relevant]
        steps = steps or [self._differing[i] for i in sorted(self._differing)]
        if steps:
            step, why = steps[0]
            return Line(step.place[0], step.place[1], step.text, why)
        return self._last_line(mismatch)

    def _ancestors(self, where: str) -> set[int]:
        """Return the steps that a part of the result depends on."""
        steps, run = self._graph.steps, self._graph
        place = {step.node: i for i, step in enumerate(steps)}
        todo: list[torch.fx.Node] = []
        for name, part, _ in pairs(run.result, run.result, "result"):
            if name == where and id(part) in run.outputs:
                todo.append(run.outputs[id(part)])
        todo += [steps[i].node for i in self._writes(where)]
        seen: set[torch.fx.Node] = set()
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            todo += node.all_input_nodes
            if node in place:
                own = steps[place[node]]
                same = (s for s in steps if s.writes and s.memory == own.memory)
                todo += [step.node for step in same if own.memory]
        return {place[node] for node in seen if node in place}

    def _writes(self, where: str) -> list[int]:
        """Return the steps that write to an argument."""
        found = _named(self._spec.binding.names, self._graph_values, where)
        addresses = {part.ctypes.data for part in found if isinstance(part, np.ndarray)}
        return [i for i, s in enumerate(self._graph.steps) if s.writes and s.memory in addresses]

    # -- Where no step differs -----------------------------------------------------

    def _last_line(self, mismatch: Mismatch) -> Line:
        """Return the line that made a part of the result, or wrote to an argument last."""
        why = (
            "every operation gives what NumPy gives when the function is captured again: "
            "the difference comes after capture, or from a capture that is out of date"
        )
        if mismatch.kind == "random state":
            made = [event for event in self._plain.events if "random" in event.place[2]]
        elif mismatch.where.startswith("result"):
            parts = [p for name, p, _ in pairs(self._result, self._result, "result")
                     if name == mismatch.where]  # fmt: skip
            made = [e for e in self._plain.events if any(e.result is part for part in parts)]
        else:
            found = _named(self._spec.binding.names, self._values, mismatch.where)
            made = [event for event in self._plain.events if _writes_to(event, found)]
        if made:
            event = made[-1]
            return Line(event.place[0], event.place[1], event.text, why)
        if self._returned is not None:
            return Line(self._returned.file, self._returned.line, self._returned.text, why)
        return definition(self._spec.function, why)

    def line_of_error(self, plain: Exception | None, compiled: Exception | None) -> Line:
        """Return where an exception comes from that only one of the two raises."""
        if plain is not None:
            return line_of_traceback(plain) or definition(self._spec.function)
        if self._graph.failed is not None and self._graph.failed[1]:
            file, line = self._graph.failed
            return Line(file, line, traceback.FrameSummary(file, line, "").line or "",
                        "npaccel's computation of it raises")  # fmt: skip
        found = None if compiled is None else line_of_traceback(compiled)
        return found or definition(self._spec.function)


def _parts(event: Event, step: Step, slack: Slack | None = None) -> Mismatch | None:
    where = str(event.place)
    return next(compare(event.value, step.value, where, slack=slack), None)


def _why(event: Event, mismatch: Mismatch) -> str:
    return f"{mismatch.kind} of {event.text}: {mismatch.got} instead of {mismatch.wanted}"


def _writes_to(event: Event, arrays: list[Any]) -> bool:
    name = event.place[2]
    if not isinstance(event.result, np.ndarray):
        return False
    writes = name == "operator.setitem" or name.startswith("operator.i")
    return writes and any(
        np.shares_memory(event.result, a) for a in arrays if isinstance(a, np.ndarray)
    )


def _named(names: Any, values: list[Any], where: str) -> list[Any]:
    """Return the parts of the arguments that have a name."""
    return [
        part
        for name, value in zip(names, values, strict=True)
        for full, part, _ in pairs(value, value, f"argument {name}")
        if full == where
    ]


def definition(function: Any, why: str = "") -> Line:
    """Return the line at which a function is defined."""
    code = function.__code__
    text = traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name).line
    return Line(code.co_filename, code.co_firstlineno, text or "", why)


def line_of_traceback(error: Exception) -> Line | None:
    """Return the innermost line of the user's code that an exception passed."""
    others = ("<", *library_folders())
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(others)
    ]
    if not frames:
        return None
    frame = frames[-1]
    return Line(frame.filename, frame.lineno or 0, frame.line or "", f"{type(error).__name__}")


__all__ = ["Line", "Locator", "definition", "line_of_traceback"]
