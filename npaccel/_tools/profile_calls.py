"""Watch the functions of a script: how long each takes, and with which arguments."""

from __future__ import annotations

import ast
import functools
import inspect
import threading
import time
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np
import torch

from npaccel._syntax.library_files import library_folders
from npaccel._tools import flat_scripts
from npaccel._tools.decorate import Source
from npaccel._tools.run_script import run_script
from npaccel._verify.copies import copied, reachable
from npaccel._verify.parts import table_bytes

#: Arguments of more bytes aren't copied.
_MAX_BYTES = 1 << 28


class Watched:
    """A function and what was seen of it.

    Attributes
    ----------
    module, name : str
    function : types.FunctionType
    calls : int
    seconds, own : float
        Spent in it, with and without what other watched functions took.
    callers : set of Watched
    args, kwargs
        Copies of the arguments of one call, None where they couldn't be had.
    """

    def __init__(self, module: str, name: str, function: types.FunctionType) -> None:
        self.module = module
        self.name = name
        self.function = function
        self.wrapper: Any = None
        self.calls = 0
        self.seconds = self.own = 0.0
        self.callers: set[Watched] = set()
        self.sample: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.sample_seconds = 0.0
        self.names_numpy = _names_numpy(function)
        self.takes_arrays = False
        #: Whether it was called with other numbers.
        self.has_other_numbers = False
        self._numbers: list[Any] | None = None

    def note_numbers(self, values: list[Any]) -> None:
        """Note the numbers among the arguments of a call."""
        numbers = [value for value in values if type(value) in (int, float, complex)]
        self.has_other_numbers |= self._numbers is not None and numbers != self._numbers
        self._numbers = numbers

    @property
    def has_arrays(self) -> bool:
        """Whether it works on arrays, as far as its names and its arguments tell."""
        return self.names_numpy or self.takes_arrays

    @property
    def target(self) -> str:
        """The function as the command line names it."""
        return f"{self.module}:{self.name}"

    def outer(self) -> set[Watched]:
        """Return all functions that it was called from, however far."""
        found: set[Watched] = set()
        pending = [self]
        while pending:
            new = pending.pop().callers - found
            found |= new
            pending += new
        return found


class Profile:
    """Profile of a run of a script.

    Attributes
    ----------
    watched : dict
        By module and name.
    seconds : float
        The whole run's, without what watching took.
    exit_code : int
    statements : dict
        Seconds of each statement of the script outside of its functions, without what watched
        functions took, by its line.
    space : dict
        The script's names, as they were at its end.
    """

    def __init__(self) -> None:
        self.statements: dict[int, float] = {}
        self.space: dict[str, Any] = {}
        self._line, self._since = 0, 0.0
        self.watched: dict[tuple[str, str], Watched] = {}
        self.seconds = 0.0
        self.exit_code = 0
        self._thread = threading.get_ident()
        self._stack: list[Watched] = []
        self._inner = [0.0]
        self._overhead = 0.0
        self._is_over = False

    def run(
        self,
        script: str,
        args: Sequence[str],
        *,
        named: str | None = None,
        spec: ModuleSpec | None = None,
    ) -> None:
        """Run a script and watch its functions, and those of its own modules.

        Parameters
        ----------
        script : str
        args : sequence of str
        named : str, optional
            What the script thinks its file is.
        spec : ModuleSpec, optional
            Of the module that it is.
        """
        source = _Watching(self)
        begin = time.perf_counter()
        self.exit_code = run_script(script, args, source, named=named, space=self.space, spec=spec)
        self.seconds = time.perf_counter() - begin - self._overhead
        self._is_over = True
        self._unwrap()

    def clock(self, line: int) -> None:
        """Note that a statement of the script begins; 0 at the end of the last one."""
        now = time.perf_counter() - self._overhead - self._inner[0]
        if self._line and threading.get_ident() == self._thread:
            passed = self.statements.get(self._line, 0.0) + now - self._since
            self.statements[self._line] = passed
        self._line, self._since = line, now

    def watch(self, module: str, name: str, function: Any) -> Any:
        """Return a function that is watched."""
        if not isinstance(function, types.FunctionType) or inspect.isgeneratorfunction(function):
            return function
        watched = self.watched[module, name] = Watched(module, name, function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_over or threading.get_ident() != self._thread:
                return function(*args, **kwargs)
            return self._watched_call(watched, args, kwargs)

        watched.wrapper = call
        return call

    def _watched_call(self, watched: Watched, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        watched.calls += 1
        sample = None
        if watched.calls & (watched.calls - 1) == 0:  # The first call, 2nd, 4th, 8th, ...
            sample = self._sampled(watched, args, kwargs)
        if self._stack:
            watched.callers.add(self._stack[-1])
        self._stack.append(watched)
        self._inner.append(0.0)
        begin, overhead = time.perf_counter(), self._overhead
        try:
            return watched.function(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - begin - (self._overhead - overhead)
            self._stack.pop()
            watched.own += seconds - self._inner.pop()
            self._inner[-1] += seconds
            if watched not in self._stack:
                watched.seconds += seconds
            if sample is not None and seconds > watched.sample_seconds:
                watched.sample, watched.sample_seconds = sample, seconds

    def _sampled(self, watched: Watched, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begin = time.perf_counter()
        sizes = [
            part.nbytes if isinstance(part, np.ndarray | torch.Tensor) else table_bytes(part)
            for part in reachable((args, kwargs))
        ]
        known = [size for size in sizes if size is not None]
        watched.takes_arrays |= bool(known)
        watched.note_numbers([*args, *kwargs.values()])
        sample = None
        if watched.has_arrays and sum(known) <= _MAX_BYTES:
            sample = copied((args, kwargs))
        self._overhead += time.perf_counter() - begin
        return sample

    def _unwrap(self) -> None:
        """Put the functions themselves back into their modules and classes."""
        for watched in self.watched.values():
            namespace = watched.function.__globals__
            *outer, name = watched.name.split(".")
            owner: Any = None
            for part in outer:
                owner = namespace.get(part) if owner is None else getattr(owner, part, None)
            if not outer and namespace.get(name) is watched.wrapper:
                namespace[name] = watched.function
            elif owner is not None and vars(owner).get(name) is watched.wrapper:
                setattr(owner, name, watched.function)


class _Watching(Source):
    """Watch the functions of a script and of its modules, and time the script's statements."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(_is_users, lambda module, name: True, profile.watch, leave_compiled=True)
        self._profile = profile

    def tree(self, tree: ast.Module, module: str) -> ast.Module:
        """Decorate the functions of a syntax tree, and time its statements."""
        tree = super().tree(tree, module)
        return flat_scripts.clocked(tree) if module == "__main__" else tree

    def names(self, module: str) -> dict[str, Any]:
        """Return what changed code of a module refers to."""
        return super().names(module) | {flat_scripts.CLOCK: self._profile.clock}


def _is_users(module: str, file: str) -> bool:
    del module
    return not file.startswith(library_folders())


def _names_numpy(function: types.FunctionType) -> bool:
    """Whether a function's code names NumPy, or something of it."""
    values = (function.__globals__.get(name) for name in _names(function.__code__))
    return any(_is_numpys(value) for value in values)


def _names(code: types.CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_numpys(value: Any) -> bool:
    name = (
        value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", "")
    )
    return str(name).partition(".")[0] in ("numpy", "scipy")


__all__ = ["Profile", "Watched"]
