"""Import torch's compiler: without its warnings, all of it or nothing."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.compiler._cache import CacheArtifactFactory

from npaccel._process import thread_warnings
from npaccel._process.imports import RESERVE, load, loaded, uncut
from npaccel._torch.patching import Patch, apply, patched

#: Packages whose import adds filters of warnings.
_OF_COMPILER = frozenset({"sympy", "torch"})


def quietly_imported(module: str) -> Any:
    """Import a module that imports Inductor, without the warnings that Inductor's import raises.

    Where warnings are errors, the import would fail.
    """
    return loaded(module) or uncut(lambda: _quietly_imported(module))


#: Bytes of addresses that imports take, the larger packages first: with 2.13 Dynamo takes 144 MiB,
#: and Inductor 143 more in between.
_ROOM = {"torch._dynamo": 330 << 20, "torch._inductor.compile_fx": 180 << 20}


def _check_room() -> None:
    """Raise where a limit on the process's addresses leaves too few for the import.

    Libraries of torch's end the process, or spoil it, where they get no memory in the middle.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = next((room for package, room in _ROOM.items() if loaded(package) is None), 0)
    if limit == resource.RLIM_INFINITY or not needed:
        return
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # There is no such file on other systems.
        return
    if limit - used < needed:
        raise MemoryError(
            f"the compiler needs {needed >> 20} MiB of addresses, and RLIMIT_AS leaves "
            f"{(limit - used) >> 20} MiB"
        )


def _quietly_imported(module: str) -> Any:
    _check_room()
    before = list(warnings.filters)
    with thread_warnings.ignored(), _registrations_undone():
        found = load(module)
    added: Any = [one for one in warnings.filters if one not in before]
    for entry in added:  # Not those of other threads, for the user's categories or Python's.
        if entry[2].__module__.partition(".")[0] in _OF_COMPILER:
            warnings.filters.remove(entry)  # type: ignore[attr-defined]
    return found


#: Objects that were made since the last import ended: one that it was a part of may fail yet.
_made: list[Any] = []
#: Kinds of files whose modules are imported.
_kinds: dict[str, Any] = {}


@contextlib.contextmanager
def _registrations_undone() -> Iterator[None]:
    """Take back what modules tell torch itself where they can't be imported: it takes that once.

    Types that are opaque to it stay so, and may be told again.

    Read from torch/library.py (Library), torch/compiler/_cache.py and
    torch/_library/opaque_object.py of 2.13.
    """
    kinds: Any = CacheArtifactFactory._artifact_types
    _kinds.update(kinds)
    reserve = bytearray(RESERVE)
    try:
        with patched(PATCHES_OF_IMPORTS):
            yield
    except BaseException:
        del reserve
        for library in reversed(_made):
            library._destroy()
        for name in kinds.keys() - _kinds.keys():
            del kinds[name]
        raise
    else:
        _kinds.update(kinds)
    finally:
        _made.clear()


def _init_library(original: Any) -> Any:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _made.append(self)

    return init


def _register_opaque_type(original: Any) -> Any:
    def register(name: str) -> None:
        if not torch._C._is_opaque_type_registered(name):
            original(name)

    return register


def _source_of_caller(original: Any) -> Any:
    def get_source(level: int) -> str:
        frame = sys._getframe(level)
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"

    return get_source


class LateTemplate:
    """A template that is parsed when it's first used, as most of Inductor's never are.

    Parameters
    ----------
    parse : callable
        Takes the text.
    text : str
    """

    def __init__(self, parse: Callable[[str], Any], text: str) -> None:
        self._parse = parse
        self._text = text
        self._parsed: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._parsed is None:
            self._parsed = self._parse(self._text)
        return getattr(self._parsed, name)


def _parsed_late(original: Any) -> Any:
    if importlib.util.find_spec("jinja2") is None:
        return original
    return functools.partial(LateTemplate, original)


def _as_utf8(_: Any) -> Any:
    return functools.partial(open, encoding="utf-8")


_SLOW = "imports take longer by it"
_TOLD_ONCE = "torch takes what a module tells it once, so that an import can't be tried again"
_TEST = "tests/faults/test_failed_imports.py"
#: Patches for as long as a module of torch is imported.
PATCHES_OF_IMPORTS = (
    Patch(torch.library.Library, "__init__", _init_library, _TOLD_ONCE, _TEST),
    Patch(torch._C, "_register_opaque_type", _register_opaque_type, _TOLD_ONCE, _TEST),
    Patch(
        torch._library.utils, "get_source", _source_of_caller,
        "it reads and parses a file to tell the place of a call", "tests/jit/test_imports.py",
        read="2.13",
    ),
)  # fmt: skip
#: While Inductor's templates are made.
PATCHES_OF_PARSING = (
    Patch(
        "torch._inductor.codegen.common.KernelTemplate", "_template_from_string", _parsed_late,
        "Inductor parses templates of products and attention as it's imported, 0.3 s",
        "tests/jit/test_imports.py", read="2.13",
    ),
)  # fmt: skip
#: Patches for good.
PATCHES_OF_TEMPLATES = (
    Patch(
        "torch._inductor.utils", "open", _as_utf8,
        "Inductor reads its templates, which aren't ASCII, in the locale's encoding",
        "tests/jit/test_imports.py", is_new=True,
    ),
)  # fmt: skip


@functools.cache
def load_compiler() -> None:
    """Import Inductor."""
    quietly_imported("torch._inductor.utils")
    with contextlib.ExitStack() as undo:
        apply(PATCHES_OF_TEMPLATES, undo)  # It reads them while it's imported.
        quietly_imported("torch._inductor.codegen.common")
        with patched(PATCHES_OF_PARSING):
            quietly_imported("torch._inductor.compile_fx")
        undo.pop_all()
