"""Folders of Python's own modules and of installed libraries: no file there is the user's."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig

from npaccel._syntax.loop_detection import PACKAGES

#: Names of folders in which libraries are installed, of whichever environment.
_INSTALLED = ("site-packages", "dist-packages")


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of libraries, each with a separator at its end.

    Besides this environment's: the user's own, those of an environment below it, as with
    ``--system-site-packages``, and those of known packages, which may lie elsewhere.
    """
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    folders |= {path for path in sys.path if os.path.basename(path.rstrip(os.sep)) in _INSTALLED}
    for name in PACKAGES & sys.modules.keys():
        folders |= set(getattr(sys.modules[name], "__path__", ()))
    return tuple(os.path.join(folder, "") for folder in sorted(folders))


__all__ = ["library_folders"]
