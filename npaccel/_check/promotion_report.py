"""`npaccel.check_promotion`: dtypes under NumPy 2, NumPy 1 and npaccel, operation by operation."""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npaccel._check import numpy1_promotion
from npaccel._check.check import dispatcher_and_values
from npaccel._numpy.core import operators
from npaccel._report.text import table
from npaccel._syntax.wide_data import has_wide
from npaccel._syntax.wide_reach import reaches_wide
from npaccel._verify.copies import Surroundings, copied
from npaccel._verify.instrument import Site, SourceError
from npaccel._verify.observers import Narrowing, Observer, is_value, leaves, name_of

if TYPE_CHECKING:
    from npaccel._compiler.dispatcher import Dispatcher
    from npaccel._loops.driver.driver import Driver

#: Kinds of findings.
KINDS = ("changed", "narrowed", "lossy", "widened", "overflow")
_SHORT = {
    "changed": "NumPy 1 and 2 differ",
    "narrowed": "narrowed by default_float",
    "lossy": "loses precision",
    "widened": "widens to 64 bit",
    "overflow": "literal overflows",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One operation whose dtype may surprise.

    Parameters
    ----------
    kind : str
        "changed": NumPy 1 and 2 differ. "narrowed": npaccel's default float.
        "lossy": digits are lost. "widened": 32-bit floats become 64 bit.
        "overflow": a Python number doesn't fit.
    file : str
    line : int
    text : str
        The operation as it's written.
    numpy1, numpy2, npaccel : str
        The dtype of the result, or in which a comparison is computed, or the
        class of an exception.
    why : str
    fix : str
        What to write instead; empty where the finding follows from one before.
    """

    kind: str
    file: str
    line: int
    text: str
    numpy1: str
    numpy2: str
    npaccel: str
    why: str
    fix: str

    def __str__(self) -> str:
        tail = f"\n  write {self.fix}" if self.fix else ""
        return f"{self.file}:{self.line}: {self.text}: {self.why}{tail}"


@dataclasses.dataclass(frozen=True)
class PromotionReport:
    """Findings of `npaccel.check_promotion`.

    Parameters
    ----------
    name : str
        The function's.
    findings : tuple of Finding
        In the order in which the operations run.
    operations : int
        How many places were looked at.
    """

    name: str
    findings: tuple[Finding, ...]
    operations: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found but what ``default_float`` narrows."""
        return not self.surprises()

    def surprises(self, *, allow: tuple[str, ...] = ("narrowed",)) -> tuple[Finding, ...]:
        """Return the findings that aren't of a kind that is allowed."""
        return tuple(one for one in self.findings if one.kind not in allow)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        count = len(self.findings)
        lines = [f"{self.name}: {count} finding{'s' * (count != 1)} in {self.operations} places"]
        if self.findings:
            rows: list[tuple[str, ...]] = [
                ("line", "operation", "NumPy 1", "NumPy 2", "npaccel", "what")
            ]
            for one in self.findings:
                place = f"{Path(one.file).name}:{one.line}"
                dtypes = (one.numpy1, one.numpy2, one.npaccel)
                rows.append((place, f"{one.text:.40}", *dtypes, _SHORT[one.kind]))
            lines += ["", *table(rows), "", *map(str, self.findings)]
        return "\n".join(lines)


@dataclasses.dataclass
class _Operation:
    """Operation at one place in one run."""

    where: Site
    function: Any
    result: str
    operands: tuple[str, ...]
    lossy: str = ""
    widened: tuple[int, str] | None = None
    overflow: tuple[int, str] | None = None


class _Dtypes:
    """A listener that notes dtypes, by place and how often it ran before."""

    def __init__(self, *, old: bool = False) -> None:
        self.old = old
        self.operations: dict[tuple[Site, int], _Operation] = {}
        self._counts: dict[Site, int] = {}

    def __call__(
        self,
        where: Site,
        function: Any,
        operands: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
    ) -> None:
        """Note one operation."""
        count = self._counts.get(where, 0)
        self._counts[where] = count + 1
        owner = getattr(function, "__self__", None)
        given = (owner, *operands) if is_value(owner) else operands
        made = _Operation(where, function, self._result(function, operands, result),
                          tuple(map(_dtype_name, given)))  # fmt: skip
        made.lossy = _lost(function, given, keywords, result)
        made.widened = _widened(function, given, result)
        made.overflow = _overflowed(function, operands, result)
        self.operations.setdefault((where, count), made)

    def _result(self, function: Any, operands: tuple[Any, ...], result: Any) -> str:
        ufunc = numpy1_promotion.ufunc_of(function)
        if ufunc in numpy1_promotion.COMPARISONS and len(operands) == 2:
            return _compared_in(ufunc, operands, self.old)
        if function is operator.setitem:
            return _dtype_name(operands[0])
        if function is np.can_cast and not isinstance(result, Exception):
            return str(result)
        return _dtype_name(result)


def _dtype_name(value: Any) -> str:
    if isinstance(value, Exception):
        return type(value).__name__
    if isinstance(value, np.dtype):
        return str(value)
    found = [str(part.dtype) for part in leaves(value) if is_value(part)]
    return ", ".join(dict.fromkeys(found)) or type(value).__name__


def _compared_in(ufunc: Any, operands: tuple[Any, ...], old: bool) -> str:
    """Return the dtype in which a comparison is computed."""
    if old:
        dtypes = numpy1_promotion.loop_dtypes(ufunc, operands)
        return str(dtypes[0]) if dtypes else "object"
    given = tuple(_weak(x) for x in operands)
    try:
        resolved: np.dtype[Any] = ufunc.resolve_dtypes((*given, None))[0]
    except (TypeError, ValueError):
        return "bool"
    return str(resolved)


def _weak(x: Any) -> Any:
    if not isinstance(x, np.generic) and type(x) in (int, float, complex):
        return type(x)
    return np.asarray(x).dtype


def _compute(
    self: Observer,
    where: Site,
    function: Any,
    operands: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Compute an operation; where a Python int doesn't fit, note that and go on."""
    try:
        return Observer.compute(self, where, function, operands, keywords)
    except (OverflowError, TypeError) as error:
        if self.listener is None or (isinstance(error, TypeError) and function is not np.can_cast):
            raise
        self.listener(where, function, operands, keywords, error)
        if function is np.can_cast:
            return False
        return numpy1_promotion.wrapped(function, operands, keywords)


class _NewPromotion(Observer):
    """Compute as the installed NumPy."""

    compute = _compute


class _NewNarrowing(Narrowing):
    """The same under ``default_float="float32"``."""

    compute = _compute


# -- What an operation does to numbers ------------------------------------------------


def _lost(function: Any, operands: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> str:
    """Say which digits an operation loses by a cast, if it does."""
    if isinstance(result, OverflowError):
        return ""
    if function is operator.setitem:
        return _lost_by_cast(operands[2], operands[0].dtype) if is_value(operands[0]) else ""
    target = keywords.get("out", operands[0] if function in operators.INPLACE else None)
    if target is not None and is_value(target):
        values = operands[1:] if function in operators.INPLACE else operands
        return next(filter(None, (_lost_by_cast(x, target.dtype) for x in values)), "")
    if not is_value(result) or result.dtype.kind not in "fc":
        return _to_real(function, operands, result)
    if name_of(function).rpartition(".")[2] in ("astype", "float32", "float16", "complex64"):
        return _lost_by_cast(operands[0], result.dtype)
    ufunc = numpy1_promotion.ufunc_of(function)
    if ufunc is None or not operands:
        return _to_real(function, operands, result)
    return next(filter(None, (_inexact_integer(x, result.dtype) for x in operands)), "")


def _to_real(function: Any, operands: tuple[Any, ...], result: Any) -> str:
    is_cast = name_of(function).endswith(".astype")
    if is_cast and is_value(operands[0]) and is_value(result):
        return _lost_by_cast(operands[0], result.dtype)
    return ""


def _lost_by_cast(value: Any, dtype: np.dtype[Any]) -> str:
    if not is_value(value):
        return _inexact_integer(value, dtype)
    own = value.dtype
    if own.kind == "c" and dtype.kind not in "cO":
        return f"{own} becomes {dtype}: the imaginary part is dropped"
    real = own.itemsize // (2 if own.kind == "c" else 1)
    room = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    if own.kind in "fc" and dtype.kind in "fc" and real > room:
        return f"{own} becomes {dtype}: about {_digits(room)} digits are left"
    return _inexact_integer(value, dtype)


def _digits(size: int) -> int:
    return {2: 3, 4: 7, 8: 16}[size]


def _inexact_integer(value: Any, dtype: np.dtype[Any]) -> str:
    """Say whether integers are too large to be exact as floats."""
    if dtype.kind not in "fc" or isinstance(value, bool):
        return ""
    if not isinstance(value, int) and not (is_value(value) and value.dtype.kind in "ui"):
        return ""
    bits = {2: 11, 4: 24, 8: 53}.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), 64)
    array = np.asarray(value)
    if array.dtype.kind not in "ui" or not array.size:
        return ""
    largest = max(int(array.max()), -int(array.min()))
    if largest <= 1 << bits:
        return ""
    return f"integers up to {largest} become {dtype}, which is exact up to 2**{bits} only"


def _widened(function: Any, operands: tuple[Any, ...], result: Any) -> tuple[int, str] | None:
    """Say which operand turns a 32-bit float into 64 bit, by its position."""
    if not is_value(result) or result.dtype.str[1:] not in ("f8", "c16"):
        return None
    if numpy1_promotion.ufunc_of(function) is None or function in operators.INPLACE:
        return None
    arrays: list[tuple[int, Any]] = [(i, x) for i, x in enumerate(operands) if is_value(x)]
    narrow = [x for _, x in arrays if x.dtype.str[1:] in ("f2", "f4", "c8")]
    if not narrow:
        return None
    for i, x in arrays:
        if x.dtype.kind in "uifc" and x.dtype.str[1:] not in ("f2", "f4", "c8"):
            what = "scalar" if isinstance(x, np.generic) else "array"
            return i, f"the {x.dtype} {what} makes {result.dtype} of {narrow[0].dtype}"
    return None


def _overflowed(function: Any, operands: tuple[Any, ...], result: Any) -> tuple[int, str] | None:
    """Say which Python number doesn't fit, by its position."""
    if isinstance(result, OverflowError):
        for i, x in enumerate(operands):
            if type(x) is int:
                return i, " ".join(str(result).split())
        return 0, " ".join(str(result).split())
    if numpy1_promotion.ufunc_of(function) is None or not is_value(result):
        return None
    if result.dtype.kind not in "fc":
        return None
    size = result.dtype.itemsize // (2 if result.dtype.kind == "c" else 1)
    largest = float(np.finfo(np.dtype(f"f{size}")).max)
    for i, x in enumerate(operands):
        if type(x) is float and largest < abs(x) < np.inf:
            return i, f"{x!r} is infinite in {result.dtype}"
    return None


# -- The report ----------------------------------------------------------------------


def check_promotion(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> PromotionReport:
    """List the operations whose dtypes NumPy 1, NumPy 2 and npaccel decide differently.

    The function runs on copies of the arguments: as NumPy 2 promotes (NEP 50), as
    NumPy 1 did by the values of scalars, and as npaccel does with its
    ``default_float``. NumPy 1 needn't be installed.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one, whose ``default_float``
        is then used.
    *args, **kwargs
        Its arguments; they aren't changed.

    Returns
    -------
    PromotionReport
        ``.findings``: line, dtypes, what happens and what to write instead,
        also where precision is lost, where 32-bit floats become 64 bit, and
        where a Python number doesn't fit. ``str()`` of it is a table.

    Raises
    ------
    ValueError
        If the function's source can't be had.

    Notes
    -----
    The rules are those of NEP 50 [1]_. A comparison is listed with the dtype
    in which it's computed.

    References
    ----------
    .. [1] S. Berg, "NEP 50 - Promotion rules for Python scalars".

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> def scaled(x):
    ...     return x * np.float64(2.5)
    >>> report = npaccel.check_promotion(scaled, np.ones(3, np.float32))
    >>> [(one.kind, one.numpy1, one.numpy2, one.fix) for one in report.findings]
    [('changed', 'float32', 'float64', '2.5 for np.float64(2.5)'),
     ('widened', 'float32', 'float64', '2.5 for np.float64(2.5)')]
    """
    dispatcher, values = dispatcher_and_values(function, args, kwargs)
    return report_of(dispatcher, values)


def report_of(dispatcher: Dispatcher | Driver, values: Sequence[Any]) -> PromotionReport:
    """Return the report of one call.

    Parameters
    ----------
    dispatcher : Dispatcher or Driver
    values : sequence
        Of all parameters; they aren't changed.

    Raises
    ------
    ValueError
        If the function's source can't be had.
    """
    given = () if dispatcher.spec.options.narrow_inputs else values
    narrows = dispatcher.spec.options.default_float == "float32" and not (
        has_wide(given) or reaches_wide(dispatcher.spec.function, given)
    )
    surroundings = Surroundings(dispatcher.spec.function)
    kinds: list[tuple[type[Observer], _Dtypes]] = [
        (_NewPromotion, _Dtypes()),
        (numpy1_promotion.OldPromotion, _Dtypes(old=True)),
        (_NewNarrowing if narrows else _NewPromotion, _Dtypes()),
    ]
    for kind, listener in kinds:
        surroundings.restore()
        try:
            run = kind(dispatcher.spec.function, listener).function()
        except SourceError as error:
            raise ValueError(f"check_promotion: {error}; define it in a file") from error
        _call(
            functools.partial(dispatcher.spec.binding.call, function=run),
            copied(list(values)),
            listener,
        )
    surroundings.restore()
    new, old, own = (listener.operations for _, listener in kinds)
    return PromotionReport(dispatcher.spec.name, tuple(_findings(new, old, own)), len(new))


def _call(call: Callable[[Any], Any], values: list[Any], listener: _Dtypes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            call(values)
        except Exception:
            if not listener.old:  # What NumPy 1 would raise isn't the user's concern.
                raise


_Record = dict[tuple[Site, int], _Operation]


def _findings(new: _Record, old: _Record, own: _Record) -> list[Finding]:
    found: dict[tuple[str, Site], Finding] = {}
    for place, op in new.items():
        before, ours = old.get(place, op), own.get(place, op)
        dtypes = (before.result, op.result, ours.result)
        for kind, why, fix in _described(op, before, ours):
            where = op.where
            made = Finding(kind, where.file, where.line, where.text, *dtypes, why, fix)
            found.setdefault((kind, where), made)
    return list(found.values())


def _described(op: _Operation, old: _Operation, own: _Operation) -> list[tuple[str, str, str]]:
    told = []
    if op.result != old.result:
        follows = op.operands != old.operands
        why = f"{old.result} in NumPy 1, {op.result} in NumPy 2"
        fix = "" if follows else _fix_of_change(op, old)
        told.append(("changed", why + (", because an operand differs" if follows else ""), fix))
    if op.overflow is not None:
        told.append(("overflow", op.overflow[1], _fix_of_overflow(op, old)))
    if op.widened is not None:
        told.append(("widened", op.widened[1], _fix_of_width(op, *op.widened)))
    if op.lossy or own.lossy:
        told.append(("lossy", op.lossy or own.lossy, _fix_of_loss(op, own)))
    if op.result != own.result:
        follows = op.operands != own.operands
        why = f"{own.result} in npaccel, {op.result} in NumPy"
        fix = "" if follows else _fix_of_narrowing(op)
        told.append(("narrowed", why + (", because an operand is" if follows else ""), fix))
    return told


# -- What to write instead -------------------------------------------------------------

_LITERAL = re.compile(r"(?:np|numpy)\.(?:float|int|uint|complex)\d+\(([-+\w.]+)\)")


def _operand(op: _Operation, index: int) -> str:
    texts = op.where.operands
    return texts[index] if index < len(texts) else op.where.text


def _weaker(text: str, dtype: str) -> str:
    """Return a Python number in place of a NumPy scalar."""
    literal = _LITERAL.fullmatch(text)
    if literal:
        return f"{literal[1]} for {text}"
    kind = "complex" if "complex" in dtype else "float" if "float" in dtype else "int"
    return f"{kind}({text}) for {text}"


def _strong_scalar(op: _Operation) -> int | None:
    """Return the position of an operand that NumPy 1 judged by its value, not a Python number."""
    for i, dtype in enumerate(op.operands):
        if dtype in ("float64", "complex128", "int64", "uint64", "int32", "uint32"):
            return i
    return None


def _fix_of_change(op: _Operation, old: _Operation) -> str:
    if numpy1_promotion.ufunc_of(op.function) is None:
        return f"dtypes instead of values: {op.where.text} looks at values in NumPy 1"
    if op.result == "OverflowError":
        return _fix_of_overflow(op, old)
    if np.promote_types(old.result, op.result) == np.dtype(op.result):
        index = _strong_scalar(op)
        return "" if index is None else _weaker(_operand(op, index), op.operands[index])
    index = next((i for i, d in enumerate(op.operands) if d not in _PYTHON), 0)
    text = _operand(op, index)
    return f"np.{old.result}({text}) for {text} to have NumPy 1's dtype"


_PYTHON = ("int", "float", "complex", "bool")


def _fix_of_overflow(op: _Operation, old: _Operation) -> str:
    index = next((i for i, d in enumerate(op.operands) if d not in _PYTHON), 0)
    text = _operand(op, index)
    wide = old.result if old.result not in ("OverflowError", "object") else "float64"
    if op.overflow is not None and "infinite" in op.overflow[1]:
        wide = "float64"
    if wide == op.operands[index] or op.function in operators.INPLACE:
        return f"a number that fits {op.operands[index]}, or widen {text} before"
    return f"{text}.astype(np.{wide}) for {text}"


def _fix_of_width(op: _Operation, index: int, why: str) -> str:
    text, dtype = _operand(op, index), op.operands[index]
    if " scalar " in why:
        return _weaker(text, dtype)
    narrow = next(d for d in op.operands if d in ("float16", "float32", "complex64"))
    return f"{text}.astype(np.{narrow}) for {text}"


def _fix_of_loss(op: _Operation, own: _Operation) -> str:
    if op.lossy and op.function is operator.setitem:
        return f"an array of {op.operands[-1]} for {_operand(op, 0).partition('[')[0]}"
    if op.lossy and name_of(op.function).endswith(".astype"):
        return "it without the cast, if the digits matter"
    if op.lossy:
        return "its operands in 64 bit, if the digits matter"
    return f"{_operand(own, 0)}.astype(np.float64) for {_operand(own, 0)}"


_TAKE_DTYPE = frozenset(
    {
        *("zeros", "ones", "empty", "full", "arange", "linspace", "array", "asarray", "mean"),
        *("std", "var", "logspace", "geomspace", "eye", "identity", "nanmean", "tri"),
    }
)


def fix_of_narrowing(where: Site, operand: int = 0) -> str:
    """Return what keeps a result in 64 bit that npaccel makes 32 bit wide.

    Parameters
    ----------
    where : Site
    operand : int
        Which operand to widen where the operation takes no dtype.
    """
    text = where.text
    called = re.match(r".*?([A-Za-z_]\w*)\(", text)
    if where.function is None and called and called[1] in _TAKE_DTYPE and text.endswith(")"):
        inside = text[:-1].rstrip(", ")
        comma = "" if inside.endswith("(") else ", "
        return f"{inside}{comma}dtype=np.float64) to stay in 64 bit"
    name = where.operands[operand] if operand < len(where.operands) else text
    return f"{name}.astype(np.float64) for {name} to stay in 64 bit"


def _fix_of_narrowing(op: _Operation) -> str:
    index = next((i for i, d in enumerate(op.operands) if d not in _PYTHON), 0)
    return fix_of_narrowing(op.where, index)
