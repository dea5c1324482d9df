"""Run one call in plain NumPy and compiled, on copies, and compare everything."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._runtime import arguments
from npaccel._verify.compare import TOLERANCES, Mismatch, Slack, compare, pairs, same_state
from npaccel._verify.copies import GLOBAL_STATE, Surroundings, copied
from npaccel._verify.instrument import SourceError
from npaccel._verify.locate import PERTURBATIONS
from npaccel._verify.observers import Narrowing, Observer, Perturbing
from npaccel.errors import PerformanceWarning

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Dispatcher
    from npaccel._loops.driver.driver import Driver


@dataclasses.dataclass
class Outcome:
    """Outcome of one call: a result or an exception, and what it changed."""

    result: Any
    error: Exception | None
    values: list[Any]
    state: dict[str, Any]


class Case:
    """One call of a function, to be run in several ways.

    Parameters
    ----------
    dispatcher : Dispatcher
        Whose function and options are used.
    values : sequence
        Of all parameters; they aren't changed.
    """

    def __init__(self, dispatcher: Dispatcher | Driver, values: Sequence[Any]) -> None:
        self.dispatcher = dispatcher
        self.values = values
        self.surroundings = Surroundings(dispatcher.spec.function)
        self.plain = self._plain()

    @property
    def narrows(self) -> bool:
        """Whether 32-bit floats are made for NumPy's of 64 bit; known after a compiled call."""
        return self.dispatcher.spec.options.narrow_inputs or self.dispatcher.narrows(self.values)

    def fresh(self) -> list[Any]:
        """Return copies of the arguments, and put the surroundings back."""
        self.surroundings.restore()
        made: list[Any] = copied(list(self.values))
        return made

    def fresh_arrays(self) -> list[Any]:
        """Return copies of the arguments, arrays in place of tensors."""
        return [arguments.map_arrays(value, self._as_array) for value in self.fresh()]

    def _as_array(self, value: Any) -> Any:
        value = as_array(value)
        if self.dispatcher.spec.options.narrow_inputs and value.dtype.str[1:] in ("f8", "c16"):
            return value.astype(np.float32 if value.dtype.kind == "f" else np.complex64)
        return value

    def _plain(self) -> Outcome:
        self.surroundings.restore()
        values = copied(list(self.values))
        arrays = [arguments.map_arrays(value, as_array) for value in values]
        return self._outcome(self.dispatcher.spec.binding.call, arrays)

    def compiled(self, call: Callable[[Sequence[Any]], Any]) -> Outcome:
        """Run the compiled function on copies."""
        return self._outcome(call, self.fresh())

    def _outcome(self, call: Callable[[Sequence[Any]], Any], values: list[Any]) -> Outcome:
        result, error = None, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                warnings.simplefilter("ignore", PerformanceWarning)
                result = call(values)
        except Exception as raised:  # noqa: BLE001 (compared by its class)
            error = raised
        state = self.surroundings.state()
        self.surroundings.restore()
        return Outcome(result, error, values, state)

    # -- Comparing ------------------------------------------------------------------

    def mismatches(self, got: Outcome) -> list[Mismatch]:
        """Compare an outcome with plain NumPy's.

        What the documented ``default_float`` makes narrower is of the kind
        "narrowed"; everything else is a difference.
        """
        found = list(self._compared(self.plain, got, self.narrows, None))
        if not any(one.kind in ("narrowed", "value") for one in found):
            return found
        try:
            reference, slack = self._reference(any(one.kind == "value" for one in found))
        except SourceError:
            return list(self._compared(self.plain, got, self.narrows, self._rough_slack()))
        flagged = {one.where for one in found}
        real = [one for one in self._compared(reference, got, False, slack) if one.where in flagged]
        wrong = {one.where for one in real}
        narrowed = [o for o in found if o.kind == "narrowed" and o.where not in wrong]
        return [*real, *narrowed]

    def _reference(self, perturbed: bool) -> tuple[Outcome, Slack]:
        """Result of NumPy under ``default_float``, and how far that moves by rounding."""
        reference = self._observed(self.observer())
        slack = Slack()
        if perturbed:
            self._note(slack, self.plain, reference)
            for seed in range(PERTURBATIONS):
                other = self._observed(Perturbing(self.observer(), seed))
                if other.error is None:
                    self._note(slack, reference, other)
        return reference, slack

    def _rough_slack(self) -> Slack:
        """Return how far results may be apart where there is no source: relative to the largest."""
        slack = Slack()
        relative = TOLERANCES[4 if self.narrows else 8] / 16
        for name, a, b in self._parts(self.plain, self.plain):
            for where, part, _ in pairs(a, b, name):
                if isinstance(part, np.ndarray | np.generic) and part.dtype.kind in "fc":
                    size = np.abs(np.asarray(part))
                    largest = np.max(size, initial=0.0, where=np.isfinite(size))
                    slack.values[where] = relative * float(largest)
        return slack

    def observer(self) -> Observer:
        """Return an observer that computes in the dtypes of the dispatcher's options."""
        return (Narrowing if self.narrows else Observer)(self.dispatcher.spec.function)

    def _observed(self, observer: Observer) -> Outcome:
        function = observer.function()
        values = self.fresh_arrays()
        outcome = self._outcome(lambda v: self.dispatcher.spec.binding.call(v, function), values)
        if self.dispatcher.spec.options.narrow_inputs:  # What was written is written back.
            pairs = zip(outcome.values, self.plain.values, strict=True)
            outcome.values = [_widened(value, wide) for value, wide in pairs]
        return outcome

    def _note(self, slack: Slack, one: Outcome, other: Outcome) -> None:
        for name, a, b in self._parts(one, other):
            slack.note(a, b, name)

    def _parts(self, one: Outcome, other: Outcome) -> Iterator[tuple[str, Any, Any]]:
        yield "result", one.result, other.result
        names = self.dispatcher.spec.binding.names
        for name, a, b in zip(names, one.values, other.values, strict=True):
            yield f"argument {name}", a, b
        for name, value in one.state.items():
            if isinstance(value, np.ndarray):
                yield f"captured {name}", value, other.state[name]

    def _compared(
        self, wanted: Outcome, got: Outcome, narrowed: bool, slack: Slack | None
    ) -> Iterator[Mismatch]:
        if wanted.error is not None or got.error is not None:
            one, other = public_class(wanted.error), public_class(got.error)
            if one != other:
                yield Mismatch(
                    "exception", "result", _described(wanted.error), _described(got.error)
                )
            return
        for name, a, b in self._parts(wanted, got):
            yield from compare(a, b, name, narrowed=narrowed, slack=slack)
        for name, value in wanted.state.items():
            if not isinstance(value, np.ndarray) and not same_state(value, got.state[name]):
                label = name if name == GLOBAL_STATE else f"captured {name}"
                yield Mismatch("random state", label, "as NumPy advances it", "another state")


def as_array(value: Any) -> Any:
    """Return a tensor's values as an ndarray; an array as it is."""
    if isinstance(value, torch.Tensor):
        return arguments.to_array(value)
    return value


def _widened(value: Any, wide: Any) -> Any:
    both = isinstance(value, np.ndarray) and isinstance(wide, np.ndarray)
    return value.astype(wide.dtype) if both and value.dtype != wide.dtype else value


def public_class(error: Exception | None) -> str:
    """Return the name of an exception's first class that isn't private."""
    if error is None:
        return ""
    return next(c.__name__ for c in type(error).__mro__ if not c.__name__.startswith("_"))


def _described(error: Exception | None) -> str:
    if error is None:
        return "no exception"
    text = " ".join(str(error).split())
    return f"{public_class(error)}: {text:.80}"
