"""Compiled functions of blocks, which travel to workers by their source."""

from __future__ import annotations

import hashlib
import linecache
import operator
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from npaccel._dask import reductions
from npaccel._jit import Jitted
from npaccel._process import fork, thread_pool
from npaccel._process.imports import load
from npaccel._report import Log
from npaccel._runtime.callables import is_jitted
from npaccel._runtime.opaque import PLAIN, TORCH_DTYPES
from npaccel._runtime.options import Options

#: Names that sources may use without bringing them along.
NAMESPACE = {"np": np, "operator": operator, "reductions": reductions}
#: Maximum number of functions that a process keeps.
_MAX_FUNCTIONS = 1024


class BlockFunction:
    """Compiled function of the blocks of Dask arrays.

    Parameters
    ----------
    source : str
        Of a Python function, whose name is `NAME`; "" for the first of `names` itself.
    names : tuple of (str, object)
        What it calls besides NumPy: jitted functions, and others of this class.
    options : tuple of (str, object)
        Of `npaccel.jit`.
    threads : int
        Maximum number of threads of a call.
    does : str
        What the function does, in a few words.
    identity : str, optional
        Name by which processes know it; made of the others.

    Notes
    -----
    Equal sources are one function in a process, which is compiled once for each signature, and the
    same artifact on disk for all processes.
    """

    __slots__ = ("_jitted", "_plain", "does", "identity", "names", "options", "source", "threads")

    def __init__(
        self,
        source: str,
        names: tuple[tuple[str, Any], ...],
        options: tuple[tuple[str, Any], ...],
        threads: int,
        does: str,
        identity: str = "",
    ) -> None:
        self.source = source
        self.names = names
        self.options = options
        self.threads = threads
        self.does = does
        self.identity = identity or _identity(source, names, options)
        self._jitted: Any = None
        self._plain: Callable[..., Any] | None = None

    def __reduce__(self) -> Any:
        parts = (self.source, self.names, self.options, self.threads, self.does, self.identity)
        return BlockFunction, parts

    def __dask_tokenize__(self) -> Any:
        """Return what Dask takes for this function in names of tasks."""
        return "npaccel", self.identity

    def __repr__(self) -> str:
        return f"<npaccel function of blocks: {self.does}>"

    @property
    def __name__(self) -> str:
        """Name that Dask's dashboard shows."""
        return self.does.partition(",")[0]

    @property
    def jitted(self) -> Any:
        """The function itself, one in a process."""
        if self._jitted is None:
            self._jitted = _jitted(self)
        return self._jitted

    @property
    def plain(self) -> Callable[..., Any]:
        """The function that calls what Dask calls, whatever class of arrays blocks have."""
        if self._plain is None:
            self._plain = _python(self, daskwise=True)
        return self._plain

    def report_to(self, log: Log) -> None:
        """Have a function's report tell what becomes of this one, where its process computes."""
        found = log.of_blocks.get(self.identity)
        if found is None:
            found = Jitted(_python(self), dict(self.options))
            found._npaccel_log = log
            found = log.of_blocks.setdefault(self.identity, found)
        self._jitted = found

    def __call__(self, *blocks: Any, **words: Any) -> Any:
        """Compute a block."""
        if not all(map(_is_computed, blocks)):
            return self.plain(*blocks, **words)
        with thread_pool.limited(self.threads):
            return self.jitted(*blocks, **words)


def _is_computed(block: Any) -> bool:
    """Whether compiled code computes with a block; NumPy does with others, as in Dask.

    Blocks without elements are Dask's, which looks for dtypes.
    """
    if isinstance(block, np.ndarray):
        return type(block) in PLAIN and block.dtype in TORCH_DTYPES and block.size > 0
    return not hasattr(block, "__array_function__")


# -- One function for all blocks of a process -----------------------------------

NAME = "of_block"

_functions: dict[str, Jitted[..., Any]] = {}


class _Lock:
    """Lock that a forked child doesn't inherit as its parent's other threads hold it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self.lock = threading.Lock()


_making = _Lock()


def _identity(
    source: str, names: Iterable[tuple[str, Any]], options: Iterable[tuple[str, Any]]
) -> str:
    from dask.base import tokenize

    named = [(name, tokenize(value)) for name, value in names]
    text = repr((source, named, sorted(options)))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _jitted(function: BlockFunction) -> Jitted[..., Any]:
    with _making.lock:
        found = _functions.get(function.identity)
        if found is None:
            if len(_functions) >= _MAX_FUNCTIONS:
                _functions.pop(next(iter(_functions)))
            found = Jitted(_python(function), dict(function.options))
            _functions[function.identity] = found
        return found


def _python(function: BlockFunction, *, daskwise: bool = False) -> Callable[..., Any]:
    """Return the Python function of a source, whose lines tracebacks show.

    Parameters
    ----------
    function : BlockFunction
    daskwise : bool, default False
        Whether reductions are Dask's own, which know other classes of arrays than NumPy's.
    """
    if not function.source:
        called = function.names[0][1]
        own: Callable[..., Any] = called.__wrapped__ if is_jitted(called) else called
        return own
    file = f"<npaccel: {function.does} {function.identity}>"
    lines = function.source.splitlines(keepends=True)
    linecache.cache[file] = len(function.source), None, lines, file
    namespace: dict[str, Any] = {**NAMESPACE, "__name__": __name__}
    if daskwise:
        namespace["reductions"] = load("npaccel._dask.dasks_reductions")
    for name, called in function.names:
        if isinstance(called, BlockFunction):
            namespace[name] = called.plain if daskwise else called.jitted.__wrapped__
        else:
            namespace[name] = called.__wrapped__ if is_jitted(called) else called
    exec(compile(function.source, file, "exec"), namespace)
    made: types.FunctionType = namespace[NAME]
    return made


def options_of(options: Options) -> tuple[tuple[str, Any], ...]:
    """Return a function's options as those of its functions of blocks.

    Dtypes are what Dask has found by NumPy, so that no floats are narrowed.
    """
    kept = ("device", "strict", "dynamic", "loops", "rng", "cache", "backend", "compile")
    return (("default_float", "float64"), *((name, getattr(options, name)) for name in kept))


__all__ = ["NAME", "BlockFunction", "options_of"]
