"""Compare what compiled code does in a call with what NumPy does, with lines for what differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npaccel._compiler.dispatcher import Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._report import Log
from npaccel._report.text import table
from npaccel._verify.case import Case, Outcome
from npaccel._verify.compare import Mismatch
from npaccel._verify.instrument import SourceError
from npaccel._verify.locate import Line, Locator, definition
from npaccel.errors import VerificationError

if TYPE_CHECKING:
    from npaccel._loops.driver.driver import Driver
    from npaccel._runtime.options import Options


#: Callbacks, called with the dispatcher, values and differences of each verified call.
listeners: list[Callable[[Dispatcher, Sequence[Any], list[Difference]], None]] = []


@dataclasses.dataclass(frozen=True)
class Difference:
    """One way in which a compiled function's outcome isn't NumPy's.

    Parameters
    ----------
    kind : str
        "value", "dtype", "shape", "type", "length", "keys", "exception" or "random state".
    where : str
        ``result``, ``result[1]``, ``argument x``, ``captured table``, ``np.random``.
    wanted, got : str
        NumPy's and npaccel's.
    file : str
    line : int
        The first line of the user's code at which the two part.
    text : str
        That line.
    why : str
        What differs there.
    device : str
    """

    kind: str
    where: str
    wanted: str
    got: str
    file: str
    line: int
    text: str
    why: str
    device: str

    def __str__(self) -> str:
        head = f"{self.where}: {self.kind} {self.got} instead of {self.wanted}"
        place = f"  {self.file}:{self.line}: {self.text}"
        return "\n".join([head, place, *([f"  {self.why}"] if self.why else [])])


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """Findings of `npaccel.check`.

    Parameters
    ----------
    name : str
        The function's.
    devices : tuple of str
        Where it was run compiled.
    differences : tuple of Difference
    narrowed : tuple of str
        Parts that are 32 bit wide where NumPy's are 64, as ``default_float`` says.
    notes : tuple of str
        What ran uncompiled, so that there was nothing to compare.
    """

    name: str
    devices: tuple[str, ...]
    differences: tuple[Difference, ...]
    narrowed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def raise_for_difference(self) -> None:
        """Raise where something differs.

        Raises
        ------
        VerificationError
        """
        if not self.ok:
            raise VerificationError(str(self))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        count = len(self.differences)
        told = "no difference" if not count else f"{count} difference{'s' * (count > 1)}"
        lines = [f"{self.name}: {told} from NumPy on {', '.join(self.devices)}"]
        if count:
            rows: list[tuple[str, ...]] = [("line", "where", "what", "NumPy", "npaccel")]
            for one in self.differences:
                place = f"{Path(one.file).name}:{one.line}"
                rows.append((place, one.where, one.kind, one.wanted, one.got))
            lines += ["", *table(rows), ""]
            lines += [
                f"{one.file}:{one.line}: {one.text}\n  {one.why}".rstrip()
                for one in dict.fromkeys(self.differences)
            ]
        lines += [f"narrowed by default_float: {text}" for text in self.narrowed]
        lines += [f"not compiled: {text}" for text in self.notes]
        return "\n".join(lines)


def check_dispatcher(
    case: Case, dispatcher: Dispatcher | Driver, device: str
) -> tuple[list[Difference], list[str]]:
    """Run one dispatcher twice, if it's new to the call, and compare."""
    before = len(dispatcher.spec.log.graphs), len(dispatcher.spec.log.fallbacks)
    mismatches, outcome = _run(case, dispatcher)
    is_new = before != (len(dispatcher.spec.log.graphs), len(dispatcher.spec.log.fallbacks))
    if is_new and all(one.kind == "narrowed" for one in mismatches):
        mismatches, outcome = _run(case, dispatcher)  # Later calls go another way.
    real = [one for one in mismatches if one.kind != "narrowed"]
    narrowed = [f"{o.where}, {o.got} for {o.wanted}" for o in mismatches if o.kind == "narrowed"]
    return _located(case, dispatcher.spec.options, real, outcome, device), narrowed


def _run(case: Case, dispatcher: Dispatcher | Driver) -> tuple[list[Mismatch], Outcome]:
    outcome = case.compiled(dispatcher.run_unverified)
    return case.mismatches(outcome), outcome


def _located(
    case: Case, options: Options, mismatches: list[Mismatch], outcome: Outcome, device: str
) -> list[Difference]:
    """Give every mismatch its line."""
    if not mismatches:
        return []
    interpreted = dataclasses.replace(options, backend="eager", cache=False, strict=False)
    dispatcher = Dispatcher(FunctionSpec(case.dispatcher.spec.function, interpreted, Log()))
    locator: Locator | None = None
    why = ""
    try:
        locator = Locator(dispatcher.spec, case.fresh, case.observer)
    except SourceError as error:
        why = f"the line isn't known: {error}"
    found = []
    for one in mismatches:
        line = _line(case, locator, one, outcome) or definition(case.dispatcher.spec.function, why)
        found.append(
            Difference(**dataclasses.asdict(one), **dataclasses.asdict(line), device=device)
        )
    case.surroundings.restore()
    return found


def _line(case: Case, locator: Locator | None, one: Mismatch, outcome: Outcome) -> Line | None:
    if locator is None:
        return None
    if one.kind == "exception":
        return locator.line_of_error(case.plain.error, outcome.error)
    return locator.line(one)


def verified_call(dispatcher: Dispatcher, values: Sequence[Any], key: Any) -> Any:
    """Make the first call of a signature under ``verify``.

    Parameters
    ----------
    dispatcher : Dispatcher
    values : sequence
        Of all parameters.
    key : tuple
        The signature's.

    Raises
    ------
    VerificationError
        With ``verify=True``, before any argument is changed.
    """
    case = Case(dispatcher, values)
    differences, _ = check_dispatcher(
        case, dispatcher, str(dispatcher.spec.options.device or "cpu")
    )
    for listener in listeners:
        listener(dispatcher, values, differences)
    if not differences:
        return dispatcher.run_unverified(values)
    result = CheckResult(dispatcher.spec.name, (differences[0].device,), tuple(differences), (), ())
    return dispatcher.refuse(key, values, str(result))
