"""Let go of what torch keeps of each compilation for as long as the process lives.

Read from torch/fx/graph_module.py (_EvalCacheLoader), torch/fx/experimental/symbolic_shapes.py
(_lru_cache), torch/_inductor/fx_passes/misc_patterns.py (NumpyCompatNormalization),
torch/_inductor/codegen/debug_utils.py (DebugPrinterManager), torch/_inductor/codecache.py
(PyCodeCache), torch/_dynamo/convert_frame.py (FRAME_COMPILE_COUNTER) and torch/_dynamo/utils.py
(compilation_time_metrics) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from torch._dynamo import convert_frame
from torch._dynamo import utils as dynamo_utils
from torch._inductor import codecache
from torch._inductor.codegen.debug_utils import DebugPrinterManager
from torch._inductor.fx_passes.misc_patterns import numpy_compat_normalization
from torch.fx import graph_module
from torch.fx.experimental.symbolic_shapes import ShapeEnv

#: How many of torch's notes on the last compilations are kept.
_NOTES = 1024


@contextlib.contextmanager
def forgotten() -> Iterator[None]:
    """Let go of what is left of a compilation, by which nothing that was compiled is called.

    It's for one that holds Dynamo's lock.
    """
    sources = graph_module._loader.eval_cache
    calls = numpy_compat_normalization.cache
    before, known = set(sources), set(calls)
    try:
        yield
    finally:
        for name in sources.keys() - before:
            del sources[name]
            linecache.cache.pop(name, None)
        for call in calls.keys() - known:
            del calls[call]
        for owner in (ShapeEnv, DebugPrinterManager):  # By their objects, which are as large.
            for function in vars(owner).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()
        _shorten_notes()


def _shorten_notes() -> None:
    counts = convert_frame.FRAME_COMPILE_COUNTER
    for frame in list(itertools.islice(counts, max(0, len(counts) - _NOTES))):
        del counts[frame]
    for seconds in dynamo_utils.compilation_time_metrics.values():
        del seconds[:-_NOTES]


def forget_module(scope: Mapping[str, Any]) -> None:
    """Don't keep a generated module, and its kernels, for longer than what it's called by.

    Parameters
    ----------
    scope : mapping
        Its globals.
    """
    path, name = scope.get("__file__", ""), scope.get("__name__", "")
    cache = codecache.PyCodeCache
    for module in [module for module in cache.modules if vars(module) is scope]:
        cache.modules.remove(module)
    registries: tuple[tuple[dict[str, Any], str], ...] = (
        (cache.modules_no_attr, path),
        (sys.modules, name),
    )
    for registry, key in registries:
        if key in registry and vars(registry[key]) is scope:
            del registry[key]
    cache.linemaps.pop(path, None)


__all__ = ["forget_module", "forgotten"]
