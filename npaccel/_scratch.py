"""The folder for the compiler's own files, and what is begun there early."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path

from npaccel import _fork
from npaccel._cache import default_cache
from npaccel._cache_security import close_folder, resolve_folder
from npaccel._cache_tree import sweep
from npaccel._torch_internals import headers
from npaccel.errors import CacheError


@functools.cache
def scratch_folder() -> Path:
    """Return the folder for the compiler's files, which nobody else can get to.

    It's in the cache. Where there is none, one inside of torch's folder will do, if that is safe:
    the header of all kernels takes some seconds and is kept there.
    """
    kept = default_cache().scratch_dir("inductor")
    if kept is not None and os.access(kept, os.W_OK):
        return _swept(kept)
    try:
        folder = close_folder(
            os.path.join(resolve_folder(headers.default_folder(), create=True), "npaccel")
        )
    except (CacheError, OSError):
        folder = ""
    if folder and os.access(folder, os.W_OK):
        return _swept(Path(folder))
    own = tempfile.mkdtemp(prefix="npaccel-")
    _fork.at_exit(shutil.rmtree, own, True)
    return Path(own)


def _swept(folder: Path) -> Path:
    sweep(str(folder))
    return folder


@functools.cache
def begin_header() -> None:
    """Let the C++ compiler begin with the header of kernels on a CPU, while Python goes on."""
    headers.begin(scratch_folder())
