"""Loop nests that Numba compiled, kept in npaccel's cache on disk.

What is kept is what Numba's own cache keeps (`numba/core/caching.py`, read in Numba 0.68): machine
code, and what is needed to call it. Numba's files aren't used: they are neither checked nor limited
in size. This is the one module that leans on Numba's private parts; with a Numba that lacks one of
them, each process compiles.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import llvmlite
import llvmlite.binding
import numba

from npaccel._cache.cache_warnings import warn_once
from npaccel._cache.entry import bound
from npaccel._cache.store import Entry, cache_key, default_cache
from npaccel._loops.nests import numba_runtime
from npaccel._runtime import artifacts
from npaccel.errors import CacheError

try:
    from numba.core import caching, compiler, config, serialize
    from numba.core.runtime import nrt

    _Cache: Any = caching.NullCache
    _Result: Any = compiler.CompileResult
    _dumps: Any = serialize.dumps
    _runtime: Any = nrt.rtsys
except (AttributeError, ImportError):  # another version of Numba
    _Cache = _Result = object

__all__ = ["keep"]

_CODE = "nest.pickle"
_NEEDED = ("_reduce", "_rebuild", "_find_referenced_environments")
#: Errors of parts of Numba that aren't as they were in the versions above.
_UNKNOWN = (
    *(AttributeError, EOFError, LookupError, TypeError, ValueError),
    *(AssertionError, ImportError, RuntimeError, pickle.PickleError),
)
#: Settings of Numba's that don't change the code.
_IRRELEVANT = ("NUMBA_", "CUDA_", "CACHE_", "THREADING_", "COLOR_", "HIGHLIGHT_", "GDB_", "SHOW_")
#: All that this process compiled or loaded: Numba never frees code, nor may a name come twice.
_known: dict[str, Any] = {}


def keep(functions: Sequence[Any], source: str, types: Sequence[Any]) -> None:
    """Have compiling a nest look on disk first, and leave there what it makes.

    Parameters
    ----------
    functions : sequence of Dispatcher
        Those of the nest, not yet compiled; the last is the nest.
    source : str
        Of the functions.
    types : sequence of Type
        Those of the nest's arguments.
    """
    nest = functions[-1]
    if not default_cache().enabled or not _is_known(nest):
        return
    group = cache_key("loop nest", source, *_environment(nest.targetctx.codegen()))
    key = cache_key(group, *map(repr, types))
    for function in functions:
        # Code is linked by name, and Numba numbers the names afresh in each process.
        function.py_func.__module__ = numba_runtime.__name__
        function.py_func.__qualname__ = f"{function.py_func.__name__}_{key}"
    nest._cache = _NestCache(group, key)


def _is_known(nest: Any) -> bool:
    """Whether this Numba has what is used here."""
    return all(hasattr(_Result, name) for name in _NEEDED) and hasattr(nest, "_cache")


def _environment(codegen: Any) -> tuple[str, ...]:
    """Dependencies of the code besides its source and types."""
    return (
        *artifacts.common_environment(),
        numba.__version__,
        llvmlite.__version__,
        repr(llvmlite.binding.llvm_version_info),
        repr(codegen.magic_tuple()),
        *_settings(),
    )


def _settings() -> list[str]:
    """Numba's settings, of environment variables or set in the process."""
    names = [n for n in dir(config) if n.isupper() and not n.startswith(_IRRELEVANT)]
    return [f"{name}={getattr(config, name)!r}" for name in names]


class _NestCache(_Cache):  # type: ignore[misc]
    """Cache that a dispatcher asks before it compiles, and gives what it compiled."""

    def __init__(self, group: str, key: str) -> None:
        self._group = group
        self._key = key

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # noqa: ARG002
        """Return what is kept of the nest, or None."""
        if self._key not in _known:
            entry = default_cache().load(self._key, group=self._group)
            loaded = None if entry is None else _load(entry, target_context)
            if loaded is None:
                return None
            _known[self._key] = loaded
        return _known[self._key]

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ARG002
        """Keep what was compiled, if another process can use it."""
        # Another dispatcher that gets it notes times of its own, as it does for what is loaded.
        _known[self._key] = data._replace(metadata=None)
        try:
            if not _is_portable(data):
                return
            code = _dumps(data._reduce())
            metadata = bound({"symbols": _symbols(data.library)}, code)
        except _UNKNOWN as error:
            what = f"npaccel can't keep what Numba {numba.__version__} compiles"
            warn_once("Numba", f"{what} ({type(error).__name__}: {error}); please report it")
            return
        default_cache().store(self._key, {_CODE: code}, metadata, group=self._group)


def _is_portable(data: Any) -> bool:
    """Whether nothing in the code is of this process alone, and no name of it may be another's."""
    library = data.library
    if library.has_dynamic_globals or data.lifted or data.objectmode:
        return False
    for environment in data._find_referenced_environments():
        if environment.consts and environment is not data.environment:
            return False
    own = ("NRT_", numba_runtime.__name__.rpartition(".")[2])
    names = [function.name for function in library.get_defined_functions()]
    return all(any(part in name for part in own) for name in names)


def _symbols(library: Any) -> list[str]:
    """Return the names that the code takes from Numba, Python and the mathematical library."""
    module = library._final_module
    parts = (*module.functions, *module.global_variables)
    return sorted(p.name for p in parts if p.is_declaration and not p.name.startswith("llvm."))


def _load(entry: Entry, target_context: Any) -> Any:
    """Load an entry's code; one that can't be loaded is dropped with a warning."""
    if not entry.binds(_CODE):
        entry.drop("its metadata isn't what was written for its code")
        return None
    try:
        reduced = entry.read(_CODE)
        if not _links(entry.metadata["symbols"], target_context):
            return None
        return _Result._rebuild(target_context, *serialize.loads(reduced))
    except CacheError:  # Another process has removed it.
        return None
    except _UNKNOWN as error:
        entry.drop(f"it can't be loaded ({type(error).__name__}: {error})")
        return None


def _links(symbols: Sequence[str], target_context: Any) -> bool:
    """Make the names known that code takes; whether all are.

    Numba does so when it first compiles, and imports all that it can compile for it; as a rule its
    runtime alone will do.
    """
    _runtime.initialize(target_context)
    if not _are_known(symbols):
        target_context.refresh()
    return _are_known(symbols)


def _are_known(symbols: Sequence[str]) -> bool:
    return all(llvmlite.binding.address_of_symbol(symbol) for symbol in symbols)
