"""Loggers of the standard library for npaccel's stages: ``npaccel.compile`` etc.

Each stage logs at level DEBUG, so that nothing is printed by itself. ``NPACCEL_LOG=compile,cache``
prints what these stages did; a program may configure ``logging.getLogger("npaccel")`` instead.
A call that is made as it was before logs nothing.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Mapping

from npaccel._process import environment

_ROOT = "npaccel"

#: Captures and compilations with what they took, graph breaks, what runs uncompiled.
compile = logging.getLogger(f"{_ROOT}.compile")  # noqa: A001 (the stage is called so)
#: Guards of earlier captures that a call failed.
guards = logging.getLogger(f"{_ROOT}.guards")
#: Graph passes that changed something.
passes = logging.getLogger(f"{_ROOT}.passes")
#: Artifacts that were found on disk, kept there or refused.
cache = logging.getLogger(f"{_ROOT}.cache")
#: Splitting of loops, and their runs.
loops = logging.getLogger(f"{_ROOT}.loops")

_ALL = {log.name.rpartition(".")[2]: log for log in (compile, guards, passes, cache, loops)}


class _Printed(logging.StreamHandler):  # type: ignore[type-arg]
    """Print records to what is standard error at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        self.setStream(sys.stderr)
        super().emit(record)


def print_stages(text: str) -> None:
    """Print what some stages log.

    Parameters
    ----------
    text : str
        As in ``NPACCEL_LOG``: names with commas between them, or "all".
    """
    names = {name.strip().lower() for name in text.split(",")} - {""}
    unknown = sorted(names - {*_ALL, "all"})
    if unknown:
        warnings.warn(
            f"NPACCEL_LOG: there is no stage {unknown[0]!r}; the stages are {', '.join(_ALL)}, and "
            "all",
            stacklevel=2,
        )
    handler = _Printed()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    for name, log in _ALL.items():
        if name in names or "all" in names:
            log.setLevel(logging.DEBUG)
            log.addHandler(handler)


def seconds(stages: Mapping[str, float]) -> str:
    """Return what stages took as text."""
    return ", ".join(f"{name} {took:.3f} s" for name, took in stages.items())


if environment.is_on("NPACCEL_LOG"):
    print_stages(environment.value("NPACCEL_LOG"))
