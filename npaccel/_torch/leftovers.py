"""Release what torch keeps of each compilation for as long as the process lives.

Read from torch/fx/graph_module.py (_EvalCacheLoader), torch/fx/experimental/symbolic_shapes.py
(_lru_cache), torch/_inductor/fx_passes/misc_patterns.py (NumpyCompatNormalization),
torch/_inductor/codegen/debug_utils.py (DebugPrinterManager), torch/_inductor/codecache.py
(PyCodeCache), torch/_dynamo/convert_frame.py (FRAME_COMPILE_COUNTER, Tracker),
torch/_dynamo/utils.py (compilation_time_metrics, graph_break_reasons, guard_failures),
torch/_dynamo/guards.py (code_framelocals_names_reversed_cached),
torch/_dynamo/metrics_context.py (MetricsContext) and torch/utils/_config_module.py (ConfigPatch) of
2.13.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from torch._dynamo import convert_frame
from torch._dynamo import guards as dynamo_guards
from torch._dynamo import utils as dynamo_utils
from torch._inductor import codecache
from torch._inductor.codegen.debug_utils import DebugPrinterManager
from torch._inductor.fx_passes.misc_patterns import numpy_compat_normalization
from torch.fx import graph_module
from torch.fx.experimental.symbolic_shapes import ShapeEnv

P = ParamSpec("P")
T = TypeVar("T")

#: Number of torch's notes on the last compilations that are kept.
_NOTES = 1024


@contextlib.contextmanager
def leftovers_released() -> Iterator[None]:
    """Release what is left of a compilation, by which nothing that was compiled is called.

    It's for one that holds Dynamo's lock.
    """
    sources = graph_module._loader.eval_cache
    calls = numpy_compat_normalization.cache
    before, known = set(sources), set(calls)
    try:
        yield
    finally:
        _drop_sources(sources.keys() - before)
        for call in calls.keys() - known:
            del calls[call]
        for owner in (ShapeEnv, DebugPrinterManager):  # By their objects, which are as large.
            for function in vars(owner).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()
        _shorten_notes()


def _shorten_notes() -> None:
    release_code()
    counts = convert_frame.FRAME_COMPILE_COUNTER
    for frame in _oldest(counts):
        del counts[frame]
    _drop_sources(_oldest(graph_module._loader.eval_cache))
    for seconds in dynamo_utils.compilation_time_metrics.values():
        del seconds[:-_NOTES]
    del dynamo_utils.graph_break_reasons[:-_NOTES]
    for codes in (convert_frame.input_codes, convert_frame.output_codes):
        if len(codes.seen) > _NOTES:
            codes.seen[:] = [reference for reference in codes.seen if reference() is not None]


def _oldest(notes: Mapping[T, Any]) -> list[T]:
    return list(itertools.islice(notes, max(0, len(notes) - _NOTES)))


def _drop_sources(names: Iterable[str]) -> None:
    for name in names:
        del graph_module._loader.eval_cache[name]
        linecache.cache.pop(name, None)


def in_copied_context(function: Callable[P, T]) -> Callable[P, T]:
    """Have changes of context variables end with a function.

    torch makes a variable for each change of its settings, and a context never drops one.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return contextvars.copy_context().run(function, *args, **kwargs)

    return run


def release_code() -> None:
    """Release code that was compiled, and code that this thread has compiled in.

    Each metric that torch notes of a compilation comes with the stack of that moment, for an error
    text. Code that Dynamo has written is on it where it leads to another compilation.
    """
    dynamo_utils.get_metrics_context()._edits.clear()
    dynamo_guards.code_framelocals_names_reversed_cached.cache_clear()


def release_module(scope: Mapping[str, Any]) -> None:
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


__all__ = ["in_copied_context", "leftovers_released", "release_code", "release_module"]
