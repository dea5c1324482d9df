"""Names that a statement of a random program may read, with their values."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

FLOATS = ("float64", "float64", "float64", "float32", "float32", "float16")
INTS = ("int64", "int64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTS, "bool", "bool", "complex128", "complex64")


class Scope:
    """The names that a statement may read, with their live values in two runs.

    Parameters
    ----------
    rng : random.Random
    first, second : dict
        Name to value, with the inputs of two sizes.
    """

    def __init__(self, rng: random.Random, first: dict, second: dict) -> None:
        self.rng = rng
        self.first = first
        self.second = second
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def names(self, test: Callable[[object], bool]) -> list[str]:
        return [
            name
            for name, value in self.first.items()
            if name in self.second and test(value) and test(self.second[name])
        ]

    def pick(self, test: Callable[[object], bool]) -> str | None:
        """A name whose values pass a test; later ones more often."""
        names = self.names(test)
        if not names:
            return None
        i = max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))
        return names[i]

    def array(self, kinds: str = "biufc", low: int = 0, high: int = 9) -> str | None:
        return self.pick(
            lambda v: isinstance(v, np.ndarray) and v.dtype.kind in kinds and low <= v.ndim <= high
        )

    def operand(self, kinds: str = "biufc") -> str | None:
        return self.pick(lambda v: isinstance(v, np.ndarray | np.generic) and v.dtype.kind in kinds)

    def number(self) -> str:
        name = self.pick(lambda v: type(v) in (int, float))
        return name if name and self.chance(0.4) else self.literal()

    def size(self) -> str:
        """A small number that is at least 0."""
        name = self.pick(lambda v: type(v) is int and 0 <= v <= 8)
        return name if name and self.chance(0.7) else str(self.rng.randint(0, 5))

    def literal(self, kinds: str = "iiffb") -> str:
        kind = self.rng.choice(kinds)
        if kind == "i":
            return str(self.rng.choice((-3, -2, -1, 0, 1, 2, 3, 5, 7)))
        if kind == "b":
            return self.rng.choice(("True", "False"))
        return self.rng.choice(("0.5", "-1.5", "2.0", "0.25", "3.0", "-0.0", "1e-3", "100.0"))

    def dtype(self) -> str:
        name = self.rng.choice(DTYPES)
        return "bool" if name == "bool" else f"np.{name}"

    def dtype_of_sum(self, name: str) -> str:
        """A dtype that C can cast all elements to; NumPy doesn't warn inside of a reduction."""
        drawn = self.dtype()
        wanted = np.dtype(drawn.removeprefix("np."))

        def casts(value: object) -> bool:
            try:
                with np.errstate(all="ignore", invalid="raise"):
                    np.asarray(np.real(value)).astype(wanted)
            except FloatingPointError:
                return False
            return True

        return drawn if name in self.names(casts) else "np.float64"

    def partner(self, name: str, kinds: str = "biufc") -> str | None:
        """Something that broadcasts with a name: a name, or a number."""
        if self.chance(0.3):
            return self.number()

        def fits(other: object) -> bool:
            return isinstance(other, np.ndarray | np.generic) and other.dtype.kind in kinds

        names = [
            other
            for other in self.names(fits)
            if _broadcast(self.first[name], self.first[other])
            and _broadcast(self.second[name], self.second[other])
        ]
        return self.rng.choice(names) if names else self.number()


def _broadcast(a: object, b: object) -> bool:
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return False
    return True
