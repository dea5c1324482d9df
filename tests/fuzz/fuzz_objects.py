"""Random classes with state, whose methods are jitted, against the same without.

Each call's result, the object's attributes, how they share memory, and what was written to the
argument are compared, after errors too.
"""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from fuzz_checking import Failure

import npaccel

#: Calls of methods in a program, and the largest number that is still compared.
CALLS, LARGEST = 7, 1e12
ARRAYS = ("self.a", "self.b", "self.c")
SCALARS = (
    *("t", "self.k", "self.n", "2", "0.5", "self.a.max()", "len(self.items)", "self.d['s']"),
    "x.mean()",
)
CONDITIONS = ("self.n % 2", "t > 1", "self.a.sum() > 3", "len(self.items) > 2", "self.flag")
HEAD = """class Owner:
    shared = 1

    def __init__(self, n, m):
        self.a = np.arange(float(n * m)).reshape(n, m){row} / 7
        self.b = np.ones_like(self.a)
        self.c = self.a[::-1] * 2 if n % 2 else self.a[:]
        self.n, self.k, self.items, self.flag = 0, 1.5, [], True
        self.d = {{"v": self.b, "s": 1}}
"""


@dataclasses.dataclass(frozen=True)
class ObjectProgram:
    """A class and calls of its methods.

    Parameters
    ----------
    seed : int
    text : str
        Of the class ``Owner``.
    jitted : tuple of str
        The methods that are jitted.
    calls : tuple of (str, float)
        The methods that are called, with the number that each is given.
    sizes : (int, int)
        What the object is made of.
    """

    seed: int
    text: str
    jitted: tuple[str, ...]
    calls: tuple[tuple[str, float], ...]
    sizes: tuple[int, int]


class _Draw:
    """Draw the text of methods."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known: list[str] = []

    def one(self, *choices: Any) -> Any:
        """Return one of some choices; functions make theirs."""
        found = self.rng.choice(choices)
        return found() if callable(found) else found

    def array(self) -> str:
        return str(self.rng.choice(ARRAYS))

    def scalar(self) -> str:
        return str(self.rng.choice(SCALARS))

    def expression(self, depth: int = 0) -> str:
        """Return an array's expression."""
        if depth > 2 or self.rng.random() < 0.17:
            return str(self.one(self.array, "x", "y"))
        inner, number = self.expression(depth + 1), self.scalar()
        return str(
            self.one(
                f"({inner} + {number})",
                f"({inner} * {number})",
                lambda: f"({inner} - {self.expression(depth + 1)})",
                f"np.where({inner} > {number}, {inner}, {number})",
                f"np.{self.rng.choice(('abs', 'sin', 'floor', 'square'))}({inner})",
                f"{self.array()}[::-1]",
                f"np.maximum({inner}, {number})",
                "self.d['v']",
                f"np.roll({inner}, self.n)",
                f"{inner}.copy()",
            )
        )

    def block(self, depth: int, count: int) -> list[str]:
        """Return lines of statements."""
        lines = itertools.chain.from_iterable(self.statement(depth) for _ in range(count))
        return [f"    {line}" for line in lines]

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement, without indentation."""
        if depth < 2 and self.rng.random() < 0.2:
            return self.compound(depth)
        array, number, made = self.array(), self.scalar(), self.expression()
        place, sign = self.one("0", "-1", "1:", "::2", "self.n % 3"), self.one("+=", "*=", "-=")
        simple = [
            f"{array} = {made}",
            f"{array} += {self.one(made, number)}",
            f"{array}[{place}] {self.one('=', '+=', '*=')} {number}",
            f"self.items.append({self.one(number, made, 'float(self.a.sum())', 'self.n')})",
            "self.n += 1",
            f"self.k = {self.one('t', 'self.k * 0.5', 'float(self.b.sum())', 'self.k + t')}",
            f"self.d['v'] = {made}",
            f"self.d['s'] = {self.one('t', 'self.n', 'self.d[chr(115)] + 1', 'float(x.sum())')}",
            f"self.d['new'] = {self.one(made, number)}",
            f"y = {self.one(made, array)}",
            f"y {sign} {number}",
            f"self.flag = {self.one('not self.flag', 't > 0', 'bool(x[0].sum() > 0)')}",
            "print(end='')",
            "self.a, self.b = self.b, self.a",
            f"{array} = {array}[{self.one('...', '::1', ':')}]",
            f"x {sign} {number}",
            f"np.{self.one('add', 'multiply')}({array}, {number}, out={self.array()})",
            f"self.total = getattr(self, 'total', 0) + {number}",
            f"self.__class__.shared = {self.one('t', 'self.n', 'self.a.sum()')}",
            f"{array}.sort(axis=0)",
            f"if {self.one('self.n > 4', 't > 3', 'self.a.sum() > 1e6')}: return {made}",
            f"y = [{made} for _ in range(2)][{self.one(0, 1)}]",
            f"self.items = self.items[{self.one('-3:', ':2', '::2')}]",
            f"self.k = float(len({self.one('self.items', 'list(self.d.values())')}))",
            f"y = (lambda q: q * self.k + t)({made})",
        ]
        if self.known:
            call = f"self.{self.rng.choice(self.known)}(x, t)"
            simple += [call, f"y = {call}", f"self.b = {call}"]
        return [str(self.rng.choice(simple))]

    def compound(self, depth: int) -> list[str]:
        """Return the lines of a statement that has others in it."""

        def branches() -> list[str]:
            lines = [f"if {self.rng.choice(CONDITIONS)}:", *self.block(depth + 1, 1)]
            return lines + (["else:", *self.block(depth + 1, 1)] if self.rng.random() < 0.5 else [])

        def loop() -> list[str]:
            head = f"for i in range({self.one('2', '3', 'self.n % 3', 'len(x)')}):"
            return [head, *self.block(depth + 1, 2)]

        def rows() -> list[str]:
            body = self.one(
                "row *= 1.5", "self.items.append(row.sum())", "self.k = self.k + float(row.sum())"
            )
            return [f"for row in {self.array()}:", f"    {body}"]

        def caught() -> list[str]:
            raised = f"    if self.n > {self.rng.randrange(4)}: raise ValueError('no')"
            handler = self.block(depth + 1, 1)
            return ["try:", *self.block(depth + 1, 1), raised, "except ValueError:", *handler]

        return list(self.one(branches, loop, rows, caught))

    def method(self, name: str) -> str:
        """Return the text of a method, which may call those that were drawn before."""
        result = self.one(
            *(self.expression, "y", "self.a, y", "self.n, self.k", "None", "self.items[-1:]")
        )
        body = [*self.block(0, self.rng.randint(2, 6)), f"    return {result}"]
        self.known.append(name)
        lines = [f"def {name}(self, x, t):", "    y = x", *body]
        return "\n" + "".join(f"    {line}\n" for line in lines)


def draw_object(seed: int) -> ObjectProgram:
    """Draw a class and calls of its methods."""
    rng = random.Random(seed)
    draw = _Draw(rng)
    names = ("first", "second", "third")[: rng.randint(1, 3)]
    text = HEAD.format(row=rng.choice(("", "[:, 0]"))) + "".join(map(draw.method, names))
    jitted = tuple(name for name in names if rng.random() < 0.8) or names[-1:]
    calls = tuple(
        (rng.choice(names[-2:]), rng.choice((0.5, 1, 2.0, 3, -1.5))) for _ in range(CALLS)
    )
    return ObjectProgram(seed, text, jitted, calls, rng.choice(((3, 2), (3, 2), (4, 3))))


def check_object(program: ObjectProgram, backend: str) -> Failure | None:
    """Make a program's calls with jitted methods and without, and compare all that is left."""
    plain, jitted = _loaded(program), _loaded(program)
    for name in program.jitted:
        function = npaccel.jit(
            getattr(jitted, name), backend=backend, compile="now", default_float="float64",
            cache=False,
        )  # fmt: skip
        setattr(jitted, name, function)
    owners = plain(*program.sizes), jitted(*program.sizes)
    count = owners[0].a.size
    given = np.linspace(-1, 2, count).reshape(owners[0].a.shape)
    for i, (name, number) in enumerate(program.calls):
        arguments = given + i, given + i
        results = [
            _outcome(getattr(owner, name), x, number)
            for owner, x in zip(owners, arguments, strict=True)
        ]
        left = [
            {"result": result, "x": x, **vars(owner), "shared": type(owner).shared}
            for result, x, owner in zip(results, arguments, owners, strict=True)
        ]
        text = _difference(left[0], left[1], "") or _other_sharing(*map(_arrays, left))
        if text:
            kind = f"object, call {min(i, 3)}"
            return Failure(kind, f"call {i}, {name}(x, {number}): {text}")
        arrays = [one for _, one in _arrays(left[0]) if one.dtype.kind == "f"]
        if isinstance(results[0], Exception) or any(map(_is_large, arrays)):
            break  # What is large has few digits left.
    return None


def _loaded(program: ObjectProgram) -> Any:
    name = f"<object {program.seed} {next(_numbers)}>"
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    namespace: dict[str, Any] = {"np": np, "__name__": "fuzz_object"}
    exec(compile(program.text, name, "exec"), namespace)
    return namespace["Owner"]


_numbers = itertools.count()


def _outcome(method: Callable[..., Any], x: np.ndarray, number: float) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return method(x, number)
        except Exception as error:  # noqa: BLE001 (it's compared)
            return error


def _is_large(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and np.abs(array).max(initial=0) > LARGEST)


def _difference(one: Any, other: Any, where: str) -> str:
    """Return how what NumPy left differs from what jitted methods left, "" if it doesn't."""
    if type(one) is not type(other):
        return f"{where} is of {type(other)}, not of {type(one)}"
    if isinstance(one, dict | list | tuple):
        keys = [[*part] if isinstance(part, dict) else range(len(part)) for part in (one, other)]
        if keys[0] != keys[1]:
            return f"{where} has {keys[1]}, not {keys[0]}"
        pairs = (_difference(one[key], other[key], f"{where}[{key!r}]") for key in keys[0])
        return next(filter(None, pairs), "")
    if isinstance(one, np.ndarray | np.generic | float):
        a, b = np.asarray(one), np.asarray(other)
        alike = (a.dtype, a.shape) == (b.dtype, b.shape)
        with np.errstate(all="ignore"):
            if alike and np.allclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=True):
                return ""
    elif isinstance(one, Exception):
        if str(one) == str(other):
            return ""
    elif one == other:
        return ""
    return f"{where} is {other!r}, not {one!r}"


def _arrays(value: Any, where: str = "") -> list[tuple[str, np.ndarray]]:
    return list(_arrays_in(value, where))


def _arrays_in(value: Any, where: str) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, np.ndarray):
        yield where, value
    elif isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from _arrays_in(part, f"{where}[{key!r}]")


def _other_sharing(
    ones: Sequence[tuple[str, np.ndarray]], others: Sequence[tuple[str, np.ndarray]]
) -> str:
    """Return two arrays that share memory in one of two objects alone."""
    pairs = itertools.combinations(zip(ones, others, strict=True), 2)
    for ((name, a), (_, mine)), ((other, b), (_, its)) in pairs:
        if np.shares_memory(a, b) != np.shares_memory(mine, its):
            return f"{name} and {other} share memory in one alone"
    return ""
