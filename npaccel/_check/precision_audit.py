"""`npaccel.audit_precision`: what 32-bit floats cost, by output and by line."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._check.check import dispatcher_and_values
from npaccel._check.promotion_report import fix_of_narrowing
from npaccel._loops.make_dispatcher import make_dispatcher
from npaccel._report import Log
from npaccel._report.text import table
from npaccel._verify.case import Case
from npaccel._verify.compare import pairs
from npaccel._verify.instrument import Site, SourceError
from npaccel._verify.observers import Narrowing, Observer, is_value, leaves, name_of

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Dispatcher
    from npaccel._loops.driver.driver import Driver
    from npaccel._runtime.options import Options

_EPS = float(np.finfo(np.float32).eps)
#: Factor by which an operation that loses digits makes the error larger than its operands' are.
GROWTH = 8.0

_ADDITIVE = frozenset({"add", "sub", "subtract", "iadd", "isub", "diff", "ediff1d", "gradient"})
_LONG = frozenset(
    {
        *("sum", "mean", "cumsum", "prod", "cumprod", "dot", "vdot", "inner", "matmul", "imatmul"),
        *("var", "std", "norm", "einsum", "trace", "convolve", "correlate", "average", "nansum"),
        *("nanmean", "tensordot", "reduce", "accumulate", "fft", "ifft", "trapezoid"),
    }
)


@dataclasses.dataclass(frozen=True)
class OutputError:
    """The error of one output.

    Parameters
    ----------
    where : str
        ``result``, ``result[1]``, ``argument x``.
    dtype : str
        What npaccel gives.
    relative : float
        The largest relative error of an element.
    ulps : float
        The largest error of an element in units of float32's last place.
    """

    where: str
    dtype: str
    relative: float
    ulps: float


@dataclasses.dataclass(frozen=True)
class LineError:
    """The error after one operation.

    Parameters
    ----------
    file : str
    line : int
    text : str
    relative, ulps : float
        The largest of an element, whenever the operation runs.
    cause : str
        "cancellation", "long accumulation", "amplification" or "decision" where the
        operation itself loses digits; empty elsewhere.
    """

    file: str
    line: int
    text: str
    relative: float
    ulps: float
    cause: str


@dataclasses.dataclass(frozen=True)
class PrecisionAudit:
    """Findings of `npaccel.audit_precision`.

    Parameters
    ----------
    name : str
        The function's.
    outputs : tuple of OutputError
    lines : tuple of LineError
        Every operation whose result is less exact than in 64 bit.
    advice : tuple of str
        What to make in 64 bit, in the order of what it brings, with the error that is left.
    """

    name: str
    outputs: tuple[OutputError, ...]
    lines: tuple[LineError, ...]
    advice: tuple[str, ...]

    @property
    def worst(self) -> float:
        """The largest relative error of an output."""
        return max((one.relative for one in self.outputs), default=0.0)

    @property
    def losses(self) -> tuple[LineError, ...]:
        """The operations that lose digits themselves."""
        return tuple(one for one in self.lines if one.cause)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.name}: relative error of 32-bit floats up to {self.worst:.1e}"]
        rows: list[tuple[str, ...]] = [("output", "dtype", "relative", "ulp")]
        rows += [(o.where, o.dtype, f"{o.relative:.1e}", f"{o.ulps:.3g}") for o in self.outputs]
        lines += ["", *table(rows)]
        if self.lines:
            rows = [("line", "operation", "relative", "ulp", "loses digits by")]
            for one in self.lines:
                place = f"{Path(one.file).name}:{one.line}"
                error = (f"{one.relative:.1e}", f"{one.ulps:.3g}")
                rows.append((place, f"{one.text:.40}", *error, one.cause))
            lines += ["", *table(rows)]
        return "\n".join([*lines, *(["", *self.advice] if self.advice else [])])


@dataclasses.dataclass
class _Step:
    where: Site
    name: str
    operands: tuple[int, ...]
    value: Any
    result: Any


class _Trace:
    """A listener that keeps what each operation gave, and of which objects."""

    def __init__(self) -> None:
        self.steps: dict[tuple[Site, int], _Step] = {}
        self._counts: dict[Site, int] = {}

    def __call__(
        self,
        where: Site,
        function: Any,
        operands: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
    ) -> None:
        """Keep one operation."""
        count = self._counts.get(where, 0)
        self._counts[where] = count + 1
        owner = getattr(function, "__self__", None)
        given = tuple(id(part) for part in leaves(((owner, *operands), keywords)))
        kept = operands[0] if result is None and operands else result
        value = kept.copy() if isinstance(kept, np.ndarray) else kept
        key = (where, count)
        while key in self.steps:  # `a[i] += b` is three operations at one place.
            key = (where, key[1] + 1_000_000)
        self.steps[key] = _Step(where, name_of(function), given, value, kept)


def audit_precision(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> PrecisionAudit:
    """Measure what 32-bit floats cost: ``default_float="float32"`` against 64 bit.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one.
    *args, **kwargs
        Its arguments; they aren't changed.

    Returns
    -------
    PrecisionAudit
        The relative error, and the error in units of the last place, of every
        output and after every operation; which operations lose digits, and
        what to make in 64 bit. ``str()`` of it is a table.

    Raises
    ------
    ValueError
        If the function's source can't be had.

    Notes
    -----
    Outputs are those of the compiled function. The lines are NumPy's, with
    every float that it would invent as 64 bit cast to 32. Where there are 64-bit
    floats in the call nothing is narrowed, and no error is found.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> def waves(n):
    ...     t = np.linspace(0, 1, n)
    ...     return (t + 1000) - 1000
    >>> audit = npaccel.audit_precision(waves, 50)
    >>> [(one.text, one.cause) for one in audit.losses]
    [('(t + 1000) - 1000', 'cancellation')]
    >>> print(audit.advice[0])
    write np.linspace(0, 1, n, dtype=np.float64) to stay in 64 bit (line 2...): nothing is...
    """
    dispatcher, values = dispatcher_and_values(function, args, kwargs)
    narrow = _narrow_dispatcher(dispatcher, dispatcher.spec.options)
    case = Case(narrow, values)
    if case.plain.error is not None:
        raise case.plain.error
    compiled = case.compiled(narrow.run_unverified)
    if compiled.error is not None:
        raise compiled.error
    try:
        wide = _traced(case, Observer)[1]
        observer, own = _traced(case, Narrowing if case.narrows else Observer)
    except SourceError as error:
        raise ValueError(f"audit_precision: {error}; define it in a file") from error
    outputs = _outputs(case, compiled.result, compiled.values)
    advice = _advice(case, list(getattr(observer, "narrowed", {})))
    case.surroundings.restore()
    name = dispatcher.spec.name
    return PrecisionAudit(name, tuple(outputs), tuple(_lines(wide, own)), tuple(advice))


def _narrow_dispatcher(dispatcher: Dispatcher | Driver, options: Options) -> Dispatcher | Driver:
    if options.default_float == "float32":
        return dispatcher
    return make_dispatcher(
        dispatcher.spec.function, dataclasses.replace(options, default_float="float32"), Log()
    )


def _traced(case: Case, kind: type[Observer]) -> tuple[Observer, _Trace]:
    trace = _Trace()
    observer = kind(case.dispatcher.spec.function, trace)
    _run(case, observer)
    return observer, trace


def _run(case: Case, observer: Observer) -> tuple[Any, list[Any]]:
    values = case.fresh_arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.dispatcher.spec.binding.call(values, observer.function()), values


# -- Errors ------------------------------------------------------------------------


def _error(wanted: Any, got: Any) -> tuple[float, float]:
    """Return the largest relative error, and the largest in ulps of float32."""
    one, other = np.asarray(wanted), np.asarray(got)
    if one.shape != other.shape or one.dtype.kind not in "biufc" or not one.size:
        return 0.0, 0.0
    if one.dtype.kind in "biu":
        return (0.0, 0.0) if np.array_equal(one, other) else (np.inf, np.inf)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        size = np.abs(one.astype(wide))
        distance = np.abs(one.astype(wide) - other.astype(wide))
        distance = np.where(np.isfinite(size), distance, 0.0)
        relative = np.where(size > 0, distance / size, np.where(distance > 0, np.inf, 0.0))
        ulps = distance / np.spacing(size.astype(np.float32)).astype(np.float64)
    return float(np.nanmax(relative)), float(np.nanmax(ulps))


def _outputs(case: Case, result: Any, values: Sequence[Any]) -> list[OutputError]:
    found = []
    names = [f"argument {name}" for name in case.dispatcher.spec.binding.names]
    parts = [("result", case.plain.result, result)]
    parts += list(zip(names, case.plain.values, values, strict=True))
    for name, wanted, got in parts:
        for where, a, b in pairs(wanted, got, name):
            if isinstance(b, torch.Tensor):
                b = b.detach().cpu().numpy()
            if is_value(b) and (name == "result" or b.dtype.kind in "fc"):
                found.append(OutputError(where, str(b.dtype), *_error(a, b)))
    return found


def _lines(wide: _Trace, own: _Trace) -> list[LineError]:
    """Return the errors after every operation, and which of them lose digits."""
    errors: dict[int, float] = {}
    found: dict[Site, LineError] = {}
    for key, step in own.steps.items():
        reference = wide.steps.get(key)
        if reference is None:
            continue
        parts = [_error(a, b) for _, a, b in pairs(reference.value, step.value, "") if is_value(b)]
        relative, ulps = map(max, zip(*parts, strict=True)) if parts else (0.0, 0.0)
        before = max((errors.get(identity, 0.0) for identity in step.operands), default=0.0)
        for part in leaves(step.result):
            errors[id(part)] = relative
        if relative <= np.finfo(np.float64).eps * 64:
            continue
        cause = _cause(step, reference, relative, before)
        earlier = found.get(step.where)
        if earlier is None or relative > earlier.relative:
            where = step.where
            found[where] = LineError(where.file, where.line, where.text, relative, ulps, cause)
    return list(found.values())


def _cause(step: _Step, reference: _Step, relative: float, before: float) -> str:
    if relative <= GROWTH * max(before, _EPS):
        return ""
    if is_value(reference.value) and reference.value.dtype.kind in "biu":
        return "decision"
    short = step.name.rpartition(".")[2]
    if short in _ADDITIVE:
        return "cancellation"
    return "long accumulation" if short in _LONG else "amplification"


# -- Advice -------------------------------------------------------------------------


def _advice(case: Case, places: list[Site]) -> list[str]:
    """Say where 64 bits can be asked for: nothing in a call is narrowed then."""
    if not places or _left(case) <= np.finfo(np.float64).eps * 64:
        return []
    first = places[0]
    return [f"write {fix_of_narrowing(first)} (line {first.line}): nothing is narrowed then"]


def _left(case: Case) -> float:
    result, _ = _run(case, Narrowing(case.dispatcher.spec.function))
    parts = pairs(case.plain.result, result, "")
    finite = [_error(a, b)[0] for _, a, b in parts if is_value(b)]
    return max(finite, default=0.0)
