"""Records of programs, and how an implementation's answer is compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[..., Any]
Size = Literal["test", "bench"]


def _nothing(_: tuple[Any, ...]) -> tuple[Array, ...]:
    return ()


@dataclasses.dataclass(frozen=True)
class Program:
    """A function with loops, in plain NumPy.

    Parameters
    ----------
    function : callable
    make_arguments : callable
        Takes ``"test"`` (NumPy needs less than 50 ms) or ``"bench"`` (0.05 to
        1 s) and returns new arguments, the same ones each time.
    tolerance : float
        What another order of adding up may cost, relative and absolute.
    narrow_tolerance : float, optional
        The same where NumPy invents float64 and npaccel computes in float32.
        None: nothing is invented, so that both compute alike.
    written : callable
        The arrays, of the arguments or of the module, that the function writes
        to, given the arguments.
    repeatable : bool
        Whether a call on what an earlier call left behind does the same work.
    peers : mapping of str to callable
        ``"numba"`` and ``"jax"``: what builds their variant. Numba's takes the
        function's place; JAX's returns one tuple of everything that the
        function returns, followed by everything that it writes to.
    """

    function: Call
    make_arguments: Callable[[Size], tuple[Any, ...]]
    tolerance: float = 1e-10
    narrow_tolerance: float | None = None
    written: Callable[[tuple[Any, ...]], tuple[Array, ...]] = _nothing
    repeatable: bool = True
    peers: Mapping[str, Callable[[], Call]] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


def first(count: int) -> Callable[[tuple[Any, ...]], tuple[Array, ...]]:
    """Return `written` for a function that writes to its first arguments."""
    return lambda arguments: arguments[:count]


def numba_jit(**options: Any) -> Callable[[Call], Call]:
    """Return Numba's decorator. Numba is imported here: it need not be installed."""
    import numba

    decorator: Callable[[Call], Call] = numba.njit(**options)
    return decorator


def jax_jit(function: Call, static: tuple[str, ...] = ()) -> Call:
    """Compile with JAX in 64 bit and return NumPy arrays, which also waits for them.

    Parameters
    ----------
    function : callable
    static : tuple of str
        Parameters that a shape or a number of results depends on.

    Returns
    -------
    callable
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(function, static_argnames=static)
    return lambda *arguments: jax.tree.map(np.asarray, compiled(*arguments))


def leaves(result: Any) -> Iterator[Array]:
    """Yield the arrays and numbers of a result, as arrays."""
    if isinstance(result, tuple | list):
        for part in result:
            yield from leaves(part)
    elif result is not None:
        yield np.asarray(result)


def answer(program: Program, call: Call, size: Size, flat: bool = False) -> list[Array]:
    """Return everything that a call on new arguments returns and writes to.

    Parameters
    ----------
    program : Program
    call : callable
        The program as an implementation runs it.
    size : {"test", "bench"}
    flat : bool
        Whether the call returns what it writes, as the JAX variants do.

    Returns
    -------
    list of ndarray
    """
    arguments = program.make_arguments(size)
    found = list(leaves(call(*arguments)))
    return found if flat else [*found, *map(np.copy, program.written(arguments))]


def same_answers(program: Program, expected: list[Array], actual: list[Array]) -> bool:
    """Say whether two answers agree: dtypes, shapes, values within the tolerance."""
    if len(expected) != len(actual):
        return False
    for left, right in zip(expected, actual, strict=True):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if not np.allclose(left, right, rtol=program.tolerance, atol=program.tolerance):
            return False
    return True
