"""Draw whole programs: source text of a function, and of the arguments for it."""

from __future__ import annotations

import dataclasses
import functools
import linecache
import random
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import fuzz_statements
import numpy as np
from fuzz_scope import DTYPES, Scope

PRELUDE = '''\
import numpy as np

TABLE = np.linspace(-1.0, 1.0, 9)
GAIN = 1.5


def helper(x, scale=2):
    return np.where(x > 0, x * scale, x)


def center(x, eps=0.5):
    shift = np.mean(x, axis=0)
    return (x - shift) / (1 + eps)


def both(x, y):
    total = x + y
    return total, {"difference": x - y}["difference"]


def values(seed, shape, dtype, specials=False):
    """Draw an array: small numbers with few digits, some special ones if asked."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        low = 0 if kind == "u" else -9
        result = np.asarray(rng.integers(low, 10, shape)).astype(dtype)
        extremes = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    else:
        result = np.round(rng.normal(0, 2, shape) * 8) / 8
        if seed % 3 == 0:
            result = rng.normal(0, 2, shape)
        if kind == "c":
            result = result + 1j * np.round(rng.normal(0, 2, shape) * 8) / 8
        result = np.asarray(result).astype(dtype)
        extremes = [np.nan, np.inf, -np.inf, -0.0]
    if specials:
        result, places = np.asarray(result), rng.random(shape) < 0.2
        drawn = rng.integers(0, len(extremes), shape)
        result = np.where(places, np.array(extremes, dtype)[drawn], result)
    return result


'''
SHAPES = ("(n,)", "(n,)", "(n, m)", "(n, m)", "(n, m)", "(m,)", "(m, n)", "(2, n, m)", "()",
          "(n, 1)", "(1,)", "(0, n)", "(n, n)")  # fmt: skip
LAYOUTS = {
    "()": ("{}",),
    "(n,)": ("values({0}, (2 * n,), {1})[::2]", "{}[::-1]"),
    "(n, m)": ("np.asfortranarray({})", "values({0}, (m, n), {1}).T", "{}[::-1]", "{}[:, ::-1]"),
}
ALLOWED = (int, float, bool, complex, np.ndarray, np.generic, tuple, list)
ERRORS = (ValueError, TypeError, IndexError, ZeroDivisionError)
PARAMETERS = "a, b, c, n, m, k, scale, flag"


@dataclasses.dataclass(frozen=True)
class Program:
    """A function with arguments for several calls.

    Parameters
    ----------
    seed : int
    inputs : tuple of str
        One expression a parameter; reads `n` and `m`.
    statements : tuple of str
    results : tuple of str
        What is returned.
    sizes : tuple of (int, int)
        `n` and `m` of each call.
    """

    seed: int
    inputs: tuple[str, ...]
    statements: tuple[str, ...]
    results: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]

    def text(self) -> str:
        """The source: runs on its own, and is what a failure shows."""
        body = "\n".join(self.statements).replace("\n", "\n    ")
        returned = ", ".join(self.results) + ("," if len(self.results) == 1 else "")
        inputs = "".join(f"\n        {text}," for text in self.inputs)
        return (
            f"{PRELUDE}def program({PARAMETERS}):\n    {body}\n    return ({returned})\n\n\n"
            f"def make(n, m):\n    a = None\n    a, b, c, *rest = ({inputs}\n    )\n"
            f"    return (a, b, c, *rest)\n\n\nSIZES = {self.sizes!r}\n"
        )

    def load(self, transform: Any = None, **names: Any) -> dict[str, Any]:
        """Execute the source; returns the names in it, with those given."""
        name = f"<fuzz {self.seed} {hash(self) & 0xFFFFFF:06x}>"
        text = self.text()
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        code = compile(transform(text) if transform else text, name, "exec")
        namespace: dict[str, Any] = {"__name__": name, **names}
        exec(code, namespace)
        return namespace

    def with_(self, **changes: Any) -> Program:
        return dataclasses.replace(self, **changes)


def with_wide_data(program: Program) -> Program:
    """Return a program with 64-bit floats among its arguments; where there are none, `scale`."""
    if any(kind in text for text in program.inputs for kind in ("float64", "complex128")):
        return program
    place = PARAMETERS.split(", ").index("scale")
    texts = list(program.inputs)
    texts[place] = f"np.float64({texts[place]})"
    # Which of a NumPy scalar and Python's number `max` gives goes by values.
    extremes = re.compile(r"\b(max|min)\([^()]*\)")
    statements = [
        extremes.sub(lambda call: re.sub(r"\bscale\b", "float(scale)", call[0]), text)
        for text in program.statements
    ]
    return program.with_(inputs=tuple(texts), statements=tuple(statements))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence all warnings, but raise at casts whose result C leaves open."""
    with warnings.catch_warnings(), np.errstate(all="ignore", invalid="warn"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "invalid value encountered in cast")
        yield


@functools.lru_cache(maxsize=4096)
def _compiled(statement: str) -> CodeType:
    return compile(statement, "<statement>", "exec")


class _Run:
    """The statements so far, executed with the arguments of one size."""

    def __init__(self, program: Program, size: tuple[int, int], statements: list[str]) -> None:
        self.space = program.load()
        names = PARAMETERS.split(", ")
        self.space.update(zip(names, self.space["make"](*size), strict=True))
        self.known = dict.fromkeys(names)
        for one in statements:
            self.add(one)

    def add(self, statement: str) -> None:
        before = set(self.space)
        with quiet():
            exec(_compiled(statement), self.space)
        for name in set(self.space) - before:
            if name.startswith("v"):
                self.known[name] = None
        for name in self.known:
            _check(self.space[name])

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.space[name] for name in self.known}


class _RefusedError(Exception):
    """NumPy takes it, but it's no matter for a comparison."""


def _check(value: Any) -> None:
    if not isinstance(value, ALLOWED):
        raise _RefusedError
    if isinstance(value, tuple | list):
        for part in value:
            _check(part)
    elif isinstance(value, np.ndarray | np.generic):
        if value.size > 1500 or value.ndim > 5 or value.dtype.kind not in "biufc":
            raise _RefusedError
        if value.dtype.kind in "fc" and value.size:
            largest = np.max(np.abs(value), initial=0, where=np.isfinite(value))
            if float(largest) > 1e30:
                raise _RefusedError
    elif isinstance(value, int | float) and abs(value) > 1e9:
        raise _RefusedError


def _inputs(rng: random.Random) -> tuple[str, ...]:
    specials = rng.random() < 0.3
    texts = []
    for name in "abc":
        shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
        seed = rng.randrange(1000)
        text = f"values({seed}, {shape}, {dtype!r}, {specials})"
        if rng.random() < 0.12:
            layouts = LAYOUTS.get(shape, ("{}",))
            rest = f"{dtype!r}, {specials}"
            layout = rng.choice(layouts)
            text = layout.format(seed, rest) if "{0}" in layout else layout.format(text)
        elif rng.random() < 0.05:
            text = f"np.{dtype if dtype != 'bool' else 'bool_'}({rng.randint(0, 3)})"
        if name == "a" and shape == "()":
            text = f"values({seed}, (n,), {dtype!r}, {specials})"
        texts.append(text)
    numbers = (rng.choice((-1, 2, 3)), rng.choice((0.5, 2.0, -1.5)), rng.choice((True, False)))
    return (*texts, "n", "m", *map(repr, numbers))


#: Values of n and m: below a vector's length, and above it.
_SHORT = [(4, 3), (5, 6), (3, 7), (6, 4), (7, 5), (4, 9)]
_LONG = [(70, 3), (18, 5), (5, 19), (19, 4), (33, 6), (21, 9)]


def draw(seed: int, long: bool = False) -> Program:
    """Draw a program: legal, or raising at its end in about one of twelve cases.

    Parameters
    ----------
    seed : int
    long : bool
        Whether its arrays are longer than a vector of the processor.
    """
    rng = random.Random(seed)
    sizes = rng.sample(_LONG if long else _SHORT, 3)
    if rng.random() < 0.15:
        sizes[rng.randrange(3)] = rng.choice([(1, 3), (3, 1), (0, 4), (1, 1), (4, 4), (2, 0)])
    program = Program(seed, _inputs(rng), (), (), tuple(sizes))
    may_raise = rng.random() < 0.08
    statements: list[str] = []
    runs = [_Run(program, size, []) for size in sizes[:2]]
    scope = Scope(rng, runs[0].values, runs[1].values)
    wanted = 5 + int(26 * rng.random() ** 6)  # 5 to 30, 9 on average: compiling takes the time
    for _ in range(6 * wanted):
        if len(statements) >= wanted:
            break
        scope.first, scope.second = runs[0].values, runs[1].values
        text = fuzz_statements.statement(scope)
        if text is None:
            continue
        try:
            for run in runs:
                run.add(text)
            statements.append(text)
        except Exception as error:  # noqa: BLE001 (whatever NumPy raises: it isn't kept)
            if may_raise and len(statements) >= wanted // 2 and isinstance(error, ERRORS):
                statements.append(text)
                break
            runs = [_Run(program, size, statements) for size in sizes[:2]]
    return program.with_(statements=tuple(statements), results=_results(rng, statements, runs[0]))


def _results(rng: random.Random, statements: list[str], run: _Run) -> tuple[str, ...]:
    made = [name for name in run.known if name.startswith("v")] or ["a"]
    known = [name for name in made if name in run.space and rng.random() < 0.5]
    known = list(dict.fromkeys([*known[-6:], made[-1]]))
    if rng.random() < 0.2:
        known.append(rng.choice(("a", "b", "k + n", "a.shape")))
    return tuple(known)
