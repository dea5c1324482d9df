"""Random loops over small arrays, lowered and run by Python itself, against NumPy.

Numba would take seconds to compile each of them. What it is given is Python as well, so that
thousands of programs can be compared in a minute.
"""

from __future__ import annotations

import ast
import functools
import math
import random
import types
import warnings
from typing import Any

import numpy as np

from npaccel._loops.nests import numba_backend
from npaccel._loops.nests.lowering import lower_nest
from npaccel._loops.nests.lowering.types import NotSupportedError

SLICES = [
    ":",
    "1:",
    ":-1",
    "1:-1",
    "k:",
    ":k",
    "k:p",
    ":2",
    "2:",
    "-2:",
    "k + 1:",
    ":-k",
    "0:",
    "5:",
]
INDICES = ["0", "-1", "k", "1", "k % 2", "p", "-2"]
NUMBERS = ["0.5", "2.0", "1", "k", "s", "-1.5", "t"]
REDUCED = [
    *("{}.sum()", "np.sum({})", "np.max({})", "{}.min()", "{}.mean()", "np.abs({}).max()"),
    *("np.argmax({})", "np.argmin({})", "np.linalg.norm({})", "{}.std()"),
]
HEADS = [
    "for k in range(n):",
    "for k in range(1, n):",
    "for k in range(n - 1, -1, -1):",
    "while c < n:",
]


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.vectors: list[str] = []
        self.matrices: list[str] = []

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def index(self) -> str:
        return self.one(*INDICES)

    def slice(self) -> str:
        return self.one(*SLICES)

    def number(self, depth: int = 0) -> str:
        """Write a number."""
        chance = self.random.random()
        if chance < 0.3 or depth > 1:
            return self.one(*NUMBERS)
        if chance < 0.45:
            return f"u[{self.index()}]"
        if chance < 0.55:
            return f"a[{self.index()}, {self.index()}]"
        if chance < 0.8:
            return self.one(*REDUCED).format(bracketed(self.vector(depth + 1)))
        if chance < 0.86:
            return f"({self.vector(depth + 1)}) @ ({self.vector(depth + 1)})"
        if chance < 0.9:
            matrix = bracketed(self.matrix(depth + 1))
            return self.one("np.sum({})", "{}.max()", "{}.mean()").format(matrix)
        return f"({self.number(depth + 1)} {self.one('+', '-', '*')} {self.number(depth + 1)})"

    def view(self) -> str:
        """Write a vector that is part of an array."""
        chance = self.random.random()
        if chance < 0.35:
            return self.one("u", "v")
        if chance < 0.6:
            return f"{self.one('u', 'v')}[{self.slice()}]"
        if chance < 0.75:
            return f"a[{self.index()}, {self.slice()}]"
        if chance < 0.85:
            return f"a[{self.slice()}, {self.index()}]"
        if chance < 0.9:
            return f"b[{self.index()}]"
        name = self.one(*(self.vectors or ["u"]))
        return name if self.random.random() < 0.8 else f"{name}[{self.slice()}]"

    def vector(self, depth: int = 0) -> str:
        """Write a vector."""
        chance, inner = self.random.random(), depth + 1
        if depth > 1 or chance < 0.4:
            return self.view()
        if chance < 0.65:
            other = self.random.choice([self.vector, self.number])(inner)
            return f"({self.vector(inner)} {self.one('+', '-', '*', '/', '**')} {other})"
        if chance < 0.7:
            return f"({self.number(inner)} {self.one('+', '-', '*', '/')} {self.vector(inner)})"
        if chance < 0.78:
            function = self.one("np.abs", "np.sqrt", "np.exp", "-", "np.sign", "abs")
            return f"{function}({self.vector(inner)})"
        if chance < 0.84:
            return f"np.roll({self.vector(inner)}, {self.one('1', '-1', 'k', '3', '-k', '7')})"
        if chance < 0.88:
            other = self.one(self.vector(inner), "0", "1.5")
            test = f"{self.vector(inner)} > {self.number(inner)}"
            return f"np.where({test}, {self.vector(inner)}, {other})"
        if chance < 0.92:
            return f"({self.matrix(inner)}) @ ({self.vector(inner)})"
        if chance < 0.95:
            return f"np.maximum({self.vector(inner)}, {self.number(inner)})"
        made = self.one("{}.copy()", "np.zeros_like({})", "np.full_like({}, 2)")
        return made.format(bracketed(self.vector(inner)))

    def matrix(self, depth: int = 0) -> str:
        """Write a matrix."""
        chance, inner = self.random.random(), depth + 1
        if depth > 1 or chance < 0.45:
            name = self.one("a", "b", "a", "b", *self.matrices)
            part = self.one("", "", f"[{self.slice()}, {self.slice()}]", f"[{self.slice()}]")
            return name + part
        if chance < 0.7:
            other = self.random.choice([self.matrix, self.number, self.vector])(inner)
            return f"({self.matrix(inner)} {self.one('+', '-', '*', '/')} {other})"
        if chance < 0.78:
            return f"np.outer({self.vector(inner)}, {self.vector(inner)})"
        if chance < 0.84:
            shift, axis = self.one("1", "-2", "k"), self.one("0", "1", "-1")
            return f"np.roll({self.matrix(inner)}, {shift}, axis={axis})"
        if chance < 0.88:
            return f"({self.matrix(inner)}) @ ({self.matrix(inner)})"
        if chance < 0.93:
            return f"{bracketed(self.view())}[:, None] * {self.vector(inner)}"
        return f"{bracketed(self.matrix(inner))}.copy()"

    def block(self, depth: int, count: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        """Write a statement."""
        kinds = [*self._simple()]
        if depth < 3:
            kinds += [self._if, self._if, self._for]
        kind = self.random.choice(kinds)
        if callable(kind):
            return kind(depth)
        lines = kind.splitlines()
        return ["    " * depth + line for line in lines]

    def _simple(self) -> list[Any]:
        """Write one statement of each kind."""
        value = self.random.choice([self.vector, self.vector, self.number])
        whole = self.random.choice([self.matrix, self.matrix, self.number, self.vector])
        index, part = self.index(), self.slice()
        row = self.one(f"{index}, {part}", f"{part}, {index}", index)
        rows = [self.index() for _ in range(4)]
        return [
            *(f"{name} = {self.vector()}" for name in ("h1", "h2", "w")),
            f"m1 = {self.matrix()}",
            *(f"u[{self.slice()}] {op} {value()}" for op in ("=", self.one("+=", "*=", "-="))),
            *(f"a[{self.slice()}, {part}] {op} {whole()}" for op in ("=", self.one("+=", "*="))),
            f"a[{row}] {self.one('=', '+=')} {value()}",
            f"{self.one('u', 'a')} {self.one('+=', '*=')} {value()}",
            f"{self.one('s', 't')} = {self.number()}",
            f"s = s + {self.number()}",
            f"u[{index}] = {self.number()}",
            f"h1 {self.one('+=', '*=')} {self.number()}",
            f"a[[{rows[0]}, {rows[1]}]] = a[[{rows[2]}, {rows[3]}]]",
            "v[[k, p]] = v[[p, k]]",
            self.one("u, v = v, u", "a, b = b, a"),
            f"if {self.number()} < s:\n    {self.one('break', 'continue')}",
        ]

    def _if(self, depth: int) -> list[str]:
        pad = "    " * depth
        head = f"{pad}if {self.number()} > {self.number()}:"
        found = [head, *self.block(depth + 1, self.random.randint(1, 2))]
        if self.random.random() < 0.4:
            found += [f"{pad}else:", *self.block(depth + 1, 1)]
        return found

    def _for(self, depth: int) -> list[str]:
        iterations = self.one("2", "1", "len(u)", "k", "a.shape[0]")
        head = "    " * depth + f"for p in range({iterations}):"
        return [head, *self.block(depth + 1, self.random.randint(1, 2))]

    def program(self) -> str:
        """Write a loop and a return."""
        self.vectors = ["h1", "h2", "w"] if self.random.random() < 0.6 else ["h1"]
        self.matrices = ["m1"] if self.random.random() < 0.5 else []
        body = self.block(2, self.random.randint(1, 4))
        text = "\n".join(body)
        self.vectors, self.matrices = [], []
        first = []
        for name, write in (("h1", self.vector), ("h2", self.vector), ("m1", self.matrix)):
            if name in text and self.random.random() < 0.9:
                first.append(f"        {name} = {write(1)} + 0")
        outputs = ["s", "t", *(["w"] if "w" in text else [])]
        outputs += [name for name in "abuv" if f"{name}, " in text]
        outputs += [n for n in ("h1", "m1") if f" {n} =" in text and self.random.random() < 0.4]
        head = self.one(*HEADS)
        if head.startswith("while"):
            first[:0] = ["        k = c", "        c += 1"]
        lines = ["def nest(a, b, u, v, w, s, t, p, n, c):", f"    {head}", *first, *body]
        return "\n".join([*lines, f"    return ({', '.join(outputs)},)", ""])


def bracketed(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def arguments(source: random.Random) -> dict[str, Any]:
    """Return arguments for a program: small arrays, some empty, some with NaN, some strided."""
    rows = source.choice([3, 3, 4, 4, 1, 2, 0, 5])
    columns = source.choice([rows, rows, rows, 2, 3])

    def array(*shape: int) -> np.ndarray[Any, Any]:
        found = [
            source.choice([0.0, 1.0, -1.5, source.uniform(-2, 2)]) for _ in range(math.prod(shape))
        ]
        if found and source.random() < 0.1:
            found[source.randrange(len(found))] = source.choice([np.nan, np.inf, -np.inf])
        return np.array(found, dtype=float).reshape(shape)

    a, u = array(rows, columns), array(columns)
    if source.random() < 0.2:
        a = np.asfortranarray(a)
    if source.random() < 0.15:
        u = array(2 * columns)[::2]
    others = {"b": array(rows, columns), "v": array(columns), "w": array(columns)}
    numbers = {"s": 0.5, "t": 1.0, "p": source.choice([0, 1]), "n": source.choice([0, 1, 2, 3])}
    return {"a": a, "u": u, **others, **numbers, "c": 0}


@functools.cache
def names_of_runtime() -> dict[str, Any]:
    """Return what lowered code calls, as Python's functions."""
    from npaccel._loops.nests import numba_runtime

    found = {n: getattr(v, "py_func", v) for n, v in numba_runtime.NAMES.items()}
    own = types.SimpleNamespace(**{n: getattr(math, n) for n in dir(math) if n[0] != "_"})
    for name in ("sqrt", "exp", "log", "hypot"):
        setattr(own, name, getattr(np, name))  # Compiled, they give NaN instead of errors.
    found.update(math=own, _uint64=int)
    return found


def run_program(seed: int) -> str:
    """Run a random program both ways and say what came of it; fail where the answers differ."""
    own = random.Random(seed)
    return run(Writer(seed).program(), arguments(own), arguments(own))


def run(text: str, values: dict[str, Any], *others: dict[str, Any]) -> str:
    """Run a loop both ways and say what came of it; fail where the answers differ.

    Parameters
    ----------
    text : str
        A function called ``nest``: a loop and a return.
    values : dict
        Of its parameters.
    *others : dict
        Further values; those of the same types are run as well.
    """
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    try:
        lowered = lower_nest.lower(node, values, {"np": np}, narrow=False)
    except NotSupportedError:
        return "array code"
    if lowered.arrays is None:
        return "no array code"
    kinds = [*map(numba_backend._kind, values.values())]
    alike = [other for other in others if [*map(numba_backend._kind, other.values())] == kinds]
    results = [_compared(text, lowered, one) for one in (values, *alike)]
    return "the same" if "the same" in results else results[0]


def _compared(text: str, lowered: lower_nest.Lowered, values: dict[str, Any]) -> str:
    ours, theirs = _copied(values), _copied(values)
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    wanted = error = None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = names["nest"](**theirs)
        except Exception as raised:  # noqa: BLE001 (whatever it is, the code must say so too)
            error = raised
        assert lowered.arrays is not None
        memory = lowered.arrays.memory(ours)
        assert memory is not None
        for array in memory.values():
            array[...] = 777.0
        every = {**ours, **memory}
        record = np.zeros(8, np.int64)
        inputs = [every[name] if i is None else every[name][i] for name, i in lowered.inputs]
        names = {**names_of_runtime()}
        exec(lowered.source, names)
        found = [names["nest"](record, np.zeros(3), *inputs)]
    if record[0]:
        if lowered.sites[record[0] - 1].kind in ("bail", "unfit"):
            return "left to Python"
        assert error is not None, text
        _assert_same(text, ours, theirs)
        return "raises"
    if isinstance(error, UnboundLocalError):
        return "raises"
    assert error is None, f"{text}\n{error!r}"
    parts = [make(every, found) for make in numba_backend._results(lowered)]
    outputs = lowered.arrays.results(dict(zip(lowered.outputs, parts, strict=True)), every)
    if outputs is None:
        return "left to Python"
    assert wanted is not None
    for one, other in zip(outputs, wanted, strict=True):
        assert type(one) is type(other), text
        same = [[one is v for v in ours.values()], [other is v for v in theirs.values()]]
        assert same[0] == same[1], text
        assert np.shape(one) == np.shape(other), text
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9, err_msg=text)
    _assert_same(text, ours, theirs)
    return "the same"


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    return {n: v.copy(order="K") if isinstance(v, np.ndarray) else v for n, v in values.items()}


def _assert_same(text: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], rtol=1e-7, atol=1e-9, err_msg=text)
