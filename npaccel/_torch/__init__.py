"""The one place that touches torch's private parts.

A submodule per part of torch: `capture` (Dynamo), `numpy_tracing` (Dynamo's
view of NumPy, with the other `numpy_*`: what stands for a call in a graph, how it
gets there, and a patch per part of Dynamo), `inductor` (the compiler), `loader`
(compiled kernels without either). Importing this package loads none of them.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.compiler._cache import CacheArtifactFactory

from npaccel._process.imports import load, loaded, uncut
from npaccel.errors import UnsupportedTorchError

#: First supported release of torch, and the first one that isn't.
SUPPORTED = ((2, 11), (2, 14))


def check_supported(version: str | None = None) -> None:
    """Refuse a torch release whose private parts were never read.

    Parameters
    ----------
    version : str, optional
        Defaults to the installed release.

    Raises
    ------
    UnsupportedTorchError
        Outside of `SUPPORTED`.
    """
    found = torch.__version__ if version is None else version
    match = re.match(r"(\d+)\.(\d+)", found)
    low, high = SUPPORTED
    if match is None or not low <= (int(match[1]), int(match[2])) < high:
        wanted = f"torch>={low[0]}.{low[1]},<{high[0]}.{high[1]}"
        raise UnsupportedTorchError(
            f"npaccel: torch {found} is installed, but npaccel was checked with {wanted}; "
            f'install one of those: pip install "{wanted}"'
        )


def quietly_imported(module: str) -> Any:
    """Import a module that imports Inductor, without the warnings that Inductor's import raises.

    Where warnings are errors, the import would fail.
    """
    return loaded(module) or uncut(lambda: _quietly_imported(module))


def _quietly_imported(module: str) -> Any:
    with warnings.catch_warnings(), _registrations_undone():
        warnings.simplefilter("ignore")
        return load(module)


#: What was made since the last import came to its end: one that it was a part of may fail yet.
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
    original: Any = torch.library.Library.__init__
    opaque: Any = getattr(torch._C, "_register_opaque_type", None)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _made.append(self)

    def register(name: str) -> None:
        if not torch._C._is_opaque_type_registered(name):
            opaque(name)

    kinds: Any = CacheArtifactFactory._artifact_types
    _kinds.update(kinds)
    torch.library.Library.__init__ = init  # type: ignore[method-assign]
    if opaque is not None:
        torch._C._register_opaque_type = register
    try:
        yield
    except BaseException:
        for library in reversed(_made):
            library._destroy()
        for name in kinds.keys() - _kinds.keys():
            del kinds[name]
        raise
    else:
        _kinds.update(kinds)
    finally:
        _made.clear()
        torch.library.Library.__init__ = original  # type: ignore[method-assign]
        if opaque is not None:
            torch._C._register_opaque_type = opaque


@functools.cache
def load_compiler() -> None:
    """Import Inductor."""
    # It reads its templates while it's imported, which aren't ASCII: utils.py (load_template).
    utils = quietly_imported("torch._inductor.utils")
    utils.open = functools.partial(open, encoding="utf-8")
    quietly_imported("torch._inductor.compile_fx")
