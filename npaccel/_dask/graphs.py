"""The pass over graphs of other people's code: of `dask.array`, and of xarray on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dask import base, config
from dask.array.optimization import optimize as dasks_pass
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph

from npaccel._dask import fusion
from npaccel._dask.block_function import options_of
from npaccel._runtime import options as runtime_options


class GraphPass:
    """Optimisation of graphs for Dask's setting ``array_optimize``.

    Parameters
    ----------
    options : dict
        Of `npaccel.jit`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        scope = runtime_options.current()
        self.disabled = scope.disabled
        self.options = options_of(runtime_options.resolve(options, scope))

    def __call__(self, dsk: Any, keys: Any, **_: Any) -> Any:
        """Compile what a graph does to blocks, and have Dask do the rest."""
        keys = list(flatten([keys]))
        if not isinstance(dsk, HighLevelGraph):
            dsk = HighLevelGraph.from_collections(f"graph-{id(dsk)}", dsk, dependencies=())
        if not self.disabled:
            kept = {key[0] if isinstance(key, tuple) else key for key in keys}
            found = fusion.fused(dsk, list(dsk.layers), kept, self.options)
            dsk = HighLevelGraph(found.layers, found.dependencies)
        return dasks_pass(dsk, keys)


def optimized(collections: Iterable[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """Return Dask's collections with compiled functions in their graphs."""
    with config.set(array_optimize=GraphPass(options)):
        found: tuple[Any, ...] = base.optimize(*collections)
    return found


__all__ = ["GraphPass", "optimized"]
