"""The environment variables of npaccel."""

from __future__ import annotations

import os

#: Purpose of each variable. The page docs/reference/environment.md tells more.
VARIABLES = {
    "NPACCEL_CACHE": "0: nothing is kept on disk",
    "NPACCEL_CACHE_DIR": "folder of the compiled code",
    "NPACCEL_CACHE_MAX_BYTES": "its largest size, in bytes",
    "NPACCEL_COMPILE": "when functions are compiled that don't say so: now, behind, auto",
    "NPACCEL_DISABLE": "1: plain NumPy functions run instead of compiled ones",
    "NPACCEL_LOG": "stages whose work is printed: compile, guards, passes, cache, loops, all",
    "NPACCEL_MALLOC": "0: the allocator of the process stays as it is",
    "NPACCEL_PROGRESS": "0: no line in the terminal while something compiles",
    "NPACCEL_UNTESTED_TORCH": "1: a torch newer than those that were tested is tried",
}
_OFF = ("0", "false", "no", "off")


def is_off(name: str) -> bool:
    """Whether a variable switches off what is on without it."""
    return value(name) in _OFF


def is_on(name: str) -> bool:
    """Whether a variable switches on what is off without it."""
    return value(name) not in ("", *_OFF)


def value(name: str) -> str:
    """Return what a variable is set to, in lower case; "" where it isn't."""
    return os.environ.get(name, "").strip().lower()
