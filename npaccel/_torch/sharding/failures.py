"""Find the user's line of a collective that has failed.

Read from torch/_inductor/codegen/wrapper.py and torch/fx/graph_module.py of 2.13.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping

import torch

from npaccel._torch.dynamo.source_lines import frames_of, is_internal

#: A line of a file, and the line itself.
Place = tuple[str, int, str]

_NAME = re.compile(r"\w+")
#: Number of lines above a call in which generated code names what it's for.
_NEAR = 8


def places_of(module: torch.fx.GraphModule) -> dict[str, Place]:
    """Return the user's lines of a graph's collectives, by the names of their nodes."""
    found = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and "_c10d_functional" in str(node.target):
            frames = frames_of(node.meta.get("stack_trace"))
            if frames:
                found[node.name] = frames[-1]
    return found


def place_of(error: BaseException, places: Mapping[str, Place], source: str) -> Place | None:
    """Return the user's line at which a collective has failed; None if it's none that did.

    Parameters
    ----------
    error : BaseException
        What generated code, or an interpreted graph, raised.
    places : mapping
        As `places_of` returns it.
    source : str
        The code.
    """
    stack = []
    entry = error.__traceback__
    while entry is not None:
        stack.append(entry)
        entry = entry.tb_next
    for one in reversed(stack):
        file = one.tb_frame.f_code.co_filename
        if is_internal(file):
            continue
        lines = linecache.getlines(file) or source.splitlines()
        for line in reversed(lines[max(one.tb_lineno - _NEAR, 0) : one.tb_lineno]):
            for name in _NAME.findall(line):
                if name in places:
                    return places[name]
    return None


__all__ = ["Place", "place_of", "places_of"]
