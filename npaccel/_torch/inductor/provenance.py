"""Provenance of kernels: their lines of the user's code, and seconds of each stage of compiling.

Read from torch/_inductor/codegen/{cpp,triton,wrapper}.py, torch/_inductor/utils.py and
torch/_inductor/codecache.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch._inductor.codecache import PyCodeCache
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.cpp_builder import CppBuilder
from torch._inductor.utils import aggregate_origins

from npaccel._report import Place
from npaccel._report.details import LineCode
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.inductor.ndarray_codegen import HOST_KERNELS
from npaccel._torch.patching import Patch, patched

_NODES = re.compile(r"# .*Source Nodes: \[(.*?)\], Original ATen: \[")
#: Calls of a generated module that aren't kernels of its own.
_LIBRARY = re.compile(rf"(extern_kernels|torch\.ops|aten|{HOST_KERNELS})\.")


def _places(nodes: Iterable[torch.fx.Node]) -> set[Place]:
    return {frame[:2] for node in nodes for frame in frames_of(node.stack_trace)}


class Observation:
    """Observation of a graph while it compiles.

    Attributes
    ----------
    stages : dict
        Seconds by stage.
    """

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        nodes = [node for node in graph.graph.nodes if node.op != "placeholder"]
        self._by_name = {node.name: _places([node]) for node in nodes}
        self._code: dict[Place, dict[str, None]] = {}
        for place in sorted(_places(nodes)):
            self._code[place] = {}
        self.stages: dict[str, float] = {}
        self._has_triton = False
        self._loading = 0.0
        self._builds: list[tuple[float, float]] = []

    def add_kernel(self, name: str, nodes: Iterable[torch.fx.Node]) -> None:
        """Note where a kernel comes from."""
        self._has_triton |= name.startswith("triton_")
        for place in _places(nodes):
            self._code.setdefault(place, {})[name] = None

    def add_library_calls(self, source: str) -> None:
        """Note which lines call library functions, from the comments of the generated code."""
        names: list[str] = []
        for line in source.splitlines():
            comment = _NODES.search(line)
            if comment:
                names = comment[1].split(", ")
            elif names and _LIBRARY.search(line):
                for place in set().union(*(self._by_name.get(name, set()) for name in names)):
                    self._code[place][line.strip()] = None
                names = []

    def lines(self) -> tuple[LineCode, ...]:
        """Return the lines of the graph, each with the code that was generated for it."""
        return tuple(LineCode(*place, tuple(code)) for place, code in sorted(self._code.items()))

    def finish(self, seconds: float) -> None:
        """Divide the time of compiling by stages."""
        # Triton compiles in processes of its own, which loading the module waits for.
        compiling = self._loading if self._has_triton else _covered(self._builds)
        compiling = min(compiling, self._loading)
        self.stages = {
            "lowering": seconds - self._loading,
            "compile": compiling,
            "load": self._loading - compiling,
        }

    def timed(self, seconds: float) -> None:
        """Note how long the generated module took to load, kernels and all."""
        self._loading += seconds

    def built(self, begin: float, end: float) -> None:
        """Note when a compiler ran; several run at once."""
        self._builds.append((begin, end))


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of several spans lasted."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


@contextlib.contextmanager
def observed(graph: torch.fx.GraphModule) -> Iterator[Observation]:
    """Observe how a graph is compiled until the block ends."""
    seen = Observation(graph)
    begin = time.perf_counter()
    with patched([patch.given(seen) for patch in PATCHES]):
        yield seen
    seen.finish(time.perf_counter() - begin)


def _define_kernel(seen: Observation, original: Any) -> Any:
    def define_kernel(self: Any, src_code: Any, nodes: Any, *rest: Any, **named: Any) -> Any:
        name = original(self, src_code, nodes, *rest, **named)
        seen.add_kernel(name, aggregate_origins(nodes))
        return name

    return define_kernel


def _build(seen: Observation, original: Any) -> Any:
    def build(self: Any) -> None:
        begin = time.perf_counter()
        try:
            original(self)
        finally:
            seen.built(begin, time.perf_counter())

    return build


def _load_by_key_path(seen: Observation, original: Any) -> Any:
    def load_by_key_path(cls: Any, *args: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return original(cls, *args, **named)
        finally:
            seen.timed(time.perf_counter() - begin)

    return load_by_key_path


_OF_LINES = "reports say which kernels a line becomes"
_OF_STAGES = "reports say how long each stage of compiling takes"
_TEST = "tests/torch_layer/test_torch_internals.py"

PATCHES = (
    Patch(CppScheduling, "define_kernel", _define_kernel, _OF_LINES, _TEST),
    Patch(TritonScheduling, "define_kernel", _define_kernel, _OF_LINES, _TEST),
    Patch(CppBuilder, "build", _build, _OF_STAGES, _TEST),
    Patch(PyCodeCache, "load_by_key_path", _load_by_key_path, _OF_STAGES, _TEST),
)

__all__ = ["PATCHES", "Observation", "observed"]
