"""The generated code behind a line."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence

from npaccel._report.log import Graph


@functools.lru_cache(maxsize=64)
def kernels(source: str) -> dict[str, str]:
    """Return the kernels of a generated module: C++ or Triton by their names."""
    found = {}
    try:
        tree = ast.parse(source)
    except SyntaxError:  # Of a backend that generates no module.
        return {}
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        texts = [
            part.value
            for part in node.value.args
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        target = node.targets[0]
        if (
            isinstance(target, ast.Name)
            and texts
            and "async_compile" in ast.unparse(node.value.func)
        ):
            found[target.id] = max(texts, key=len).strip()
    return found


def behind(source: str, names: Iterable[str]) -> list[str]:
    """Return kernels by their names, each under its own; calls of libraries as they are."""
    known = kernels(source)
    return [f"// {name}\n{known[name]}" if name in known else name for name in names]


def behind_line(graphs: Sequence[Graph], file: str, line: int) -> str:
    """Return the generated code behind a line.

    Raises
    ------
    ValueError
        If nothing is compiled there.
    """
    found: dict[str, None] = {}
    known = set()
    for graph in graphs:
        for one in graph.details.lines:
            if one.file != file:
                continue
            known.add(one.line)
            if one.line == line:
                found |= dict.fromkeys(behind(graph.source, one.code))
    if line not in known:
        told = ", ".join(map(str, sorted(known))) or "none"
        raise ValueError(f"source: `line={line}` isn't compiled; lines of {file} that are: {told}")
    return "\n\n".join(found)
