"""The signatures of what npaccel replaces in torch, by release.

``signatures.json`` holds them for the releases that were tested; ``tools/torch_signatures.py``
writes it. A release that is tried untested has to have those of the newest.
"""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("signatures.json")
#: Stand-in for a function whose signature Python doesn't know.
UNKNOWN = "?"


def signature_of(original: Any) -> str:
    """Return a function's parameters, marked as in its definition; empty for what isn't called."""
    function = original.__func__ if isinstance(original, staticmethod | classmethod) else original
    if not callable(function):
        return ""
    kind = type(original).__name__ + " " if function is not original else ""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return kind + UNKNOWN
    return f"{kind}({', '.join(map(_marked, parameters))})"


def _marked(parameter: inspect.Parameter) -> str:
    marks: dict[Any, str] = {
        parameter.VAR_POSITIONAL: "*",
        parameter.VAR_KEYWORD: "**",
        parameter.KEYWORD_ONLY: "*, ",
    }
    default = "" if parameter.default is parameter.empty else "="
    return f"{marks.get(parameter.kind, '')}{parameter.name}{default}"


@functools.cache
def recorded() -> dict[str, dict[str, str]]:
    """Return the signature by the target's dotted name, by release, the newest last."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def newest(target: str) -> str | None:
    """Return the signature of a target in the newest release that was tested; None without one."""
    *_, last = recorded().values()
    return last.get(target)


__all__ = ["FILE", "newest", "recorded", "signature_of"]
