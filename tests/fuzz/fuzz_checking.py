"""Execute a program plainly and jitted, and compare everything."""

from __future__ import annotations

import ast
import collections
import contextlib
import dataclasses
import re
import warnings
from typing import Any
from unittest import mock

import numpy as np
from fuzz_programs import Program, quiet, with_wide_data

import npaccel
from npaccel._loops.partition import blocks

#: Relative to the largest number beside it: what reordering may cost.
TOLERANCES = {2: 4e-3, 4: 1e-5, 8: 1e-11}
JIGGLES = 12


@dataclasses.dataclass(frozen=True)
class Failure:
    """A difference from NumPy.

    Parameters
    ----------
    kind : str
        Stays the same while a program is made smaller.
    text : str
    """

    kind: str
    text: str


@dataclasses.dataclass
class Verdict:
    """What came of one program."""

    failure: Failure | None
    raised: bool = False
    unstable: bool = False
    unraised: bool = False
    breaks: list[str] = dataclasses.field(default_factory=list)
    graphs: int = 0
    is_compared: bool = False


class _DifferError(Exception):
    def __init__(self, kind: str, text: str, is_value: bool = False) -> None:
        super().__init__(text)
        self.kind = kind
        self.is_value = is_value


@dataclasses.dataclass
class _Outcome:
    """What one call gave: a result or an exception, and the arguments after it."""

    result: Any
    error: Exception | None
    arguments: tuple[Any, ...]


def dynamic_of(backend: str, seed: int) -> bool | None:
    """Whether all sizes are compiled at once; None: for one size first, then for all.

    Compiling takes nearly all of the time, for all sizes three times as long as for one: of sixteen
    programs one is compiled for all sizes, and on eager another one twice.
    """
    return None if backend == "eager" and seed % 16 == 0 else seed % 16 == 1


def _loops_of(seed: int) -> contextlib.AbstractContextManager[Any]:
    """Leave loops over small arrays to Numba in one of twenty programs: it takes a second for each.

    In the others they are array code, as those over large arrays are.
    """
    if seed % 20 == 0:
        return contextlib.nullcontext()
    return mock.patch.object(blocks, "may_be_simple", return_value=False)


def calls_of(program: Program, dynamic: bool | None = None) -> list[tuple[int, int]]:
    """The sizes of the calls: fast path, capture for all sizes, dynamic artifact."""
    first, second, third = program.sizes
    if dynamic is None:
        return [first, first, second, third, second]
    return [first, second, third] if dynamic else [first, first]


def _call(function: Any, arguments: tuple[Any, ...]) -> _Outcome:
    try:
        return _Outcome(function(*arguments), None, arguments)
    except Exception as error:  # noqa: BLE001 (compared by its class)
        return _Outcome(None, error, arguments)


def check(
    program: Program,
    backend: str,
    dynamic: bool | None = None,
    device: str = "cpu",
    default_float: str = "float64",
    *,
    switch: int | None = None,
) -> Verdict:
    """Run a program in every way and say what differs first.

    The seed decides who compiles its loops.

    Parameters
    ----------
    program : Program
    backend : str
    dynamic : bool, optional
        Compile once only: for all sizes, or for one. By default for one, then for all.
    device : {"cpu", "cuda"}
    default_float : {"float64", "float32"}
        With the latter programs are given 64-bit data, so that nothing may be narrowed.
    switch : int, optional
        Compile beside the calls, and have it done before the call of this number.
    """
    if default_float == "float32":
        program = with_wide_data(program)
    with _loops_of(program.seed):
        options = {"default_float": default_float, "device": device}
        options["compile"] = "now" if switch is None else "behind"
        return _check(program, backend, dynamic, options, switch)


def _check(
    program: Program,
    backend: str,
    dynamic: bool | None,
    options: dict[str, Any],
    switch: int | None,
) -> Verdict:
    device = options["device"]
    plain, jitted = program.load(), program.load()
    options = {"cache": False, **options}
    compiled = npaccel.jit(jitted["program"], backend=backend, dynamic=dynamic, **options)
    verdict = Verdict(None)
    wanted: list[_Outcome] = []
    for i, size in enumerate(calls_of(program, dynamic)):
        with quiet():
            wanted.append(_call(plain["program"], plain["make"](*size)))
        if isinstance(wanted[-1].error, RuntimeWarning | MemoryError):
            break
        verdict.raised |= wanted[-1].error is not None
        if device == "cuda" and _depends_on_values(wanted[-1].error):
            break  # Nothing raises there, or an assertion of a kernel ends all use of the device.
        if i == switch:
            npaccel.wait()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            got = _call(compiled, jitted["make"](*size))
        if got.error is None and _depends_on_values(wanted[-1].error):
            verdict.unraised = True
            break
        try:
            _compare(got, wanted[-1])
            _same_sharing(got, wanted[-1], _reverses(program))
        except _DifferError as error:
            if error.kind == "sharing" and _is_copied_read(program, size, got):
                continue
            if error.is_value and _is_unstable(program, dynamic, wanted, got):
                verdict.unstable = True
                break
            kind = f"{error.kind}, call {min(i, 3)}"
            verdict.failure = Failure(kind, f"call {i} with n, m = {size}: {error}")
            break
    report = compiled.report()
    verdict.breaks = [f"{one.reason}\n    {one.text}" for one in report.fallbacks]
    verdict.graphs = len(report.graphs)
    refused = [text for text in verdict.breaks if "the compiler failed" in text]
    if refused and verdict.failure is None:
        verdict.failure = Failure("compiler", refused[0])
    return verdict


def _depends_on_values(error: Exception | None) -> bool:
    """Whether only values, not shapes, made NumPy raise; compiled code may skip dead statements."""
    texts = (
        *("out of bounds", "where the mask is true", "out of range", "too large to convert"),
        *("convert float infinity", "convert float NaN", "cannot reshape array of size"),
    )
    kinds = IndexError | ValueError | OverflowError
    return isinstance(error, kinds) and any(text in str(error) for text in texts)


def _compare(got: _Outcome, wanted: _Outcome, slack: dict[str, float] | None = None) -> None:
    if wanted.error is not None or got.error is not None:
        if type(got.error) is not type(wanted.error):
            raise _DifferError(
                f"exception {type(got.error).__name__} for {type(wanted.error).__name__}",
                f"raised {got.error!r} instead of {wanted.error!r}",
            )
        return
    _same(got.result, wanted.result, "result", slack)
    for i, (a, b) in enumerate(zip(got.arguments, wanted.arguments, strict=True)):
        _same(a, b, f"argument {i}", slack)


def _reverses(program: Program) -> bool:
    return re.search(r":[^:\]]*:-\d|flip|rot90", program.text()) is not None


def _same_sharing(got: _Outcome, wanted: _Outcome, reverses: bool) -> None:
    """A result is a view of an argument in both, but reversed ones come back as copies."""
    if wanted.error is not None:
        return
    for i, (one, other) in enumerate(zip(got.result, wanted.result, strict=True)):
        for j, (a, b) in enumerate(zip(got.arguments, wanted.arguments, strict=True)):
            arrays = all(isinstance(x, np.ndarray) for x in (one, other, a, b))
            copied = reverses and arrays and not np.shares_memory(one, a)
            if arrays and not copied and np.shares_memory(one, a) != np.shares_memory(other, b):
                text = f"result[{i}] shares memory with argument {j} in one of the two"
                raise _DifferError("sharing", text)


def _is_copied_read(program: Program, size: tuple[int, int], got: _Outcome) -> bool:
    """Whether all is as in NumPy if ``a[i]`` for a NumPy integer i is a copy: it's one here."""
    namespace = program.load(_with_copied_reads, _item=_item)
    with quiet():
        other = _call(namespace["program"], namespace["make"](*size))
    try:
        _compare(got, other)
        _same_sharing(got, other, _reverses(program))
    except _DifferError:
        return False
    return True


def _item(x: Any, key: Any) -> Any:
    found = x[key]
    parts = key if isinstance(key, tuple) else (key,)
    by_scalar = isinstance(x, np.ndarray) and any(isinstance(part, np.integer) for part in parts)
    return found.copy() if by_scalar and isinstance(found, np.ndarray) else found


class _CopyReads(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.Call(ast.Name("_item", ast.Load()), [node.value, _as_key(node.slice)], [])


def _as_key(node: ast.expr) -> ast.expr:
    """Return an index as an expression that can stand outside of brackets."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_as_key(part) for part in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    ends = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return ast.Call(ast.Name("slice", ast.Load()), ends, [])


def _with_copied_reads(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_CopyReads().visit(ast.parse(text))))


def _same(got: Any, wanted: Any, where: str, slack: dict[str, float] | None) -> None:
    if type(got) is not type(wanted):
        text = f"{where}: {type(got).__name__} instead of {type(wanted).__name__}: {got!r:.80}"
        raise _DifferError(f"type of {where.split('[', maxsplit=1)[0]}", text)
    if isinstance(wanted, tuple | list):
        if len(got) != len(wanted):
            raise _DifferError("length", f"{where}: {len(got)} instead of {len(wanted)}")
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            _same(a, b, f"{where}[{i}]", slack)
    elif isinstance(wanted, np.ndarray | np.generic):
        if got.dtype != wanted.dtype:
            raise _DifferError("dtype", f"{where}: dtype {got.dtype} instead of {wanted.dtype}")
        if got.shape == wanted.shape:
            _same_values(got, wanted, where, slack)
        elif (slack or {}).get(where) != np.inf:  # The shape may depend on the last digits.
            text = f"{where}: shape {got.shape} instead of {wanted.shape}"
            raise _DifferError("shape", text, is_value=True)
    elif isinstance(wanted, float | complex):
        _same_values(np.asarray(got), np.asarray(wanted), where, slack)
    elif got != wanted:
        raise _DifferError("value", f"{where}: {got!r} instead of {wanted!r}", is_value=True)


def _same_values(got: Any, wanted: Any, where: str, slack: dict[str, float] | None) -> None:
    allowed, is_open = ((slack or {}).get(key, 0.0) for key in (where, f"{where}, NaN"))
    bad = ~_close(np.asarray(got), np.asarray(wanted), allowed, is_open > 0)
    if bad.any():
        text = f"{where}: {got!r} instead of {wanted!r}, at {np.argwhere(bad)[:3].tolist()}"
        raise _DifferError(f"value of {where.split('[', maxsplit=1)[0]}", text, is_value=True)


def _close(
    got: np.ndarray, wanted: np.ndarray, allowed: float, nan_is_open: bool = False
) -> np.ndarray:
    if wanted.dtype.kind not in "fc":
        return (got == wanted) | (allowed > 0)
    finite = np.isfinite(wanted)
    if wanted.dtype.kind == "c" or nan_is_open:
        special = ~np.isfinite(got)  # Which part is infinite or NaN is left open by C, too.
    else:
        special = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    size = wanted.dtype.itemsize // (2 if wanted.dtype.kind == "c" else 1)
    scale = max(1e-3, float(np.max(np.abs(wanted), initial=0, where=finite)))
    with np.errstate(all="ignore"):
        near = np.abs(got - wanted) <= TOLERANCES.get(size, 1e-11) * scale + 10 * allowed
    return np.where(finite, near, special) | (allowed == np.inf)


def _is_unstable(
    program: Program, dynamic: bool | None, wanted: list[_Outcome], got: _Outcome
) -> bool:
    """Whether NumPy's own result changes as much when intermediate results do by some ulps."""
    slack: dict[str, float] = collections.defaultdict(float)
    for seed in range(JIGGLES):
        jiggle = Jiggle(seed)
        namespace = program.load(
            _with_jiggles,
            _jiggle=jiggle,
            _jiggle_call=jiggle.called,
            _jiggle_matmul=jiggle.multiplied,
            _jiggle_out=jiggle.into,
            _jiggle_written=jiggle.written,
        )
        with quiet():
            for size in calls_of(program, dynamic)[: len(wanted)]:
                other = _call(namespace["program"], namespace["make"](*size))
        if other.error is not None or wanted[-1].error is not None:
            return True
        _note_slack(other.result, wanted[-1].result, "result", slack)
        for i, (a, b) in enumerate(zip(other.arguments, wanted[-1].arguments, strict=True)):
            _note_slack(a, b, f"argument {i}", slack)
    try:
        _compare(got, wanted[-1], slack)
    except _DifferError:
        return False
    return True


def _note_slack(one: Any, other: Any, where: str, slack: dict[str, float]) -> None:
    if isinstance(other, tuple | list):
        for i, (a, b) in enumerate(zip(one, other, strict=False)):
            _note_slack(a, b, f"{where}[{i}]", slack)
    elif isinstance(other, np.ndarray | np.generic | int | float):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape:
            slack[where] = np.inf
        elif b.dtype.kind in "fc":
            if (np.isfinite(a) != np.isfinite(b)).any():
                slack[where] = np.inf
            if (np.isnan(a) != np.isnan(b)).any():  # The magnitude of an infinite number.
                slack[f"{where}, NaN"] = 1.0
            both = np.isfinite(a) & np.isfinite(b)
            change = np.max(np.abs(a[both] - b[both]).astype(float), initial=0)
            slack[where] = max(slack[where], float(change))
        elif (a != b).any():
            slack[where] = 1.0


class Jiggle:
    """Change a float by some units in the last place, unless it's a round number."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.ulps = 1 << (seed % 5)
        self.alike = seed % 3 == 0  # What is equal stays so: a variance may be 0 or nearly so.
        self.cancels = seed % 4 == 1  # What is less than its terms are rounded by may be 0.

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
            return value
        if isinstance(value, np.ndarray) and value.base is not None:
            return value  # A view has to stay one.
        return self.read(value, keep_round=True)

    def read(self, value: Any, keep_round: bool = False) -> Any:
        """The same for a value that is only read, round or not."""
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
            return value
        eps = np.finfo(value.dtype).eps
        with np.errstate(all="ignore"):
            is_round = (value * 8 == np.rint(value * 8)) & (np.abs(value) < 1 << 20)
            is_round &= keep_round
            shape = () if self.alike else np.shape(value)
            change = self.rng.uniform(-self.ulps, self.ulps, shape) * eps
            result = np.where(is_round, value, value * (1 + change)).astype(value.dtype)
            if value.dtype.kind == "c":  # Which part is infinite is left open by C.
                other = self.rng.choice([complex(np.nan, np.nan), complex(np.inf, np.nan)])
                result = np.where(np.isfinite(result), result, other).astype(value.dtype)
            else:  # So are the bits of a NaN, which processors and libraries choose.
                result = np.where(np.isnan(result), self._nan(value), result)
        return result if isinstance(value, np.ndarray) else result[()]

    def _nan(self, like: Any) -> Any:
        """Return NaNs of any sign and any payload, of a value's dtype and shape."""
        bits = np.dtype(f"u{like.dtype.itemsize}")
        quiet_nan = np.array(np.nan, like.dtype).view(bits)
        payload = self.rng.integers(0, 1 << np.finfo(like.dtype).nmant - 1, np.shape(like), bits)
        sign = self.rng.integers(0, 2, np.shape(like), bits) << bits.type(8 * bits.itemsize - 1)
        return (payload | sign | quiet_nan).view(like.dtype)

    def called(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function; 64-bit integers that it adds up as floats change by some units too.

        The order in which floats are added up decides what a sum near 2**63 rounds to.
        """
        result = function(*args, **kwargs)
        own = getattr(function, "__self__", None)
        if not _is_new_float(result) or not (_is_numpys(function) or _is_wide(own)):
            return self(result)
        if _is_wide(own):
            function = getattr(self._as_float(own), function.__name__)
        elif not any(map(_is_wide, args)):
            return self(result)
        try:
            with quiet():
                other = function(*map(self._as_float, args), **kwargs)
        except (IndexError, TypeError, ValueError):  # They are indices, or exponents.
            return self(result)
        same = _is_new_float(other) and (other.dtype, other.shape) == (result.dtype, result.shape)
        if same and self.cancels:
            largest = max(np.max(np.abs(a.astype(float)), initial=0) for a in args if _is_wide(a))
            other = np.where(np.abs(other) < np.finfo(float).eps * largest, 0, other)
            other = other.astype(result.dtype) if result.shape else result.dtype.type(other)
        return self(other if same else result)

    def multiplied(self, one: Any, other: Any) -> Any:
        """Multiply matrices; see `called`."""
        return self.called(np.matmul, one, other)

    def _as_float(self, value: Any) -> Any:
        return self.read(value.astype(float), keep_round=True) if _is_wide(value) else value

    def into(self, function: Any, *args: Any, out: Any, **kwargs: Any) -> Any:
        """Call a function that writes to `out` what it computes, perhaps in a narrower dtype."""
        result = function(*map(self.read, args), out=out, **kwargs)
        if isinstance(out, np.ndarray) and out.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                computed = np.result_type(function(*args, **kwargs))
                if computed.kind in "fc" and computed.itemsize < out.dtype.itemsize:
                    out[...] = self.read(out.astype(computed))
        return result

    def written(self, value: Any) -> None:
        """Change an array that was just written."""
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.flags.writeable:
            value[...] = self.read(value, keep_round=True)


def _is_new_float(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray | np.generic)
    return is_array and value.dtype.kind in "fc" and getattr(value, "base", None) is None


def _is_wide(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray | np.generic)
    return is_array and value.dtype.kind in "iu" and value.dtype.itemsize == 8


def _is_numpys(function: Any) -> bool:
    is_function = isinstance(function, np.ufunc) or not isinstance(function, type)
    return is_function and str(getattr(function, "__module__", "numpy")).startswith("numpy")


class _AddJiggles(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if node.name in ("values", "make") else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if any(word.arg == "out" for word in node.keywords):
            name = ast.Name("_jiggle_out", ast.Load())
            return ast.Call(name, [node.func, *node.args], node.keywords)
        name = ast.Name("_jiggle_call", ast.Load())
        return ast.Call(name, [node.func, *node.args], node.keywords)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        if not isinstance(target, ast.Name):
            return node
        value = ast.Name(target.id, ast.Load())
        return [node, ast.Expr(_wrapped(value, "_jiggle_written"))]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            name = ast.Name("_jiggle_matmul", ast.Load())
            return ast.Call(name, [node.left, node.right], [])
        return _wrapped(node)


def _wrapped(node: ast.expr, name: str = "_jiggle") -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [node], [])


def _with_jiggles(text: str) -> str:
    tree = ast.parse(text)
    tree = ast.fix_missing_locations(_AddJiggles().visit(tree))
    return ast.unparse(tree)
