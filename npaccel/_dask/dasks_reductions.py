"""Dask's own reductions of a block, under the names that `npaccel._dask.reductions` has.

They know what masked arrays and those of other libraries need.
"""

from __future__ import annotations

import functools

from dask.array import chunk
from dask.array.reductions import _nanmax_skip as nanmax_chunk
from dask.array.reductions import _nanmin_skip as nanmin_chunk
from dask.array.reductions import _sqrt as sqrt
from dask.array.reductions import chunk_max, chunk_min, mean_chunk, moment_chunk, nannumel

nanmean_chunk = functools.partial(mean_chunk, sum=chunk.nansum, numel=nannumel)
nanmoment_chunk = functools.partial(moment_chunk, sum=chunk.nansum, numel=nannumel)

__all__ = [
    "chunk_max",
    "chunk_min",
    "mean_chunk",
    "moment_chunk",
    "nanmax_chunk",
    "nanmean_chunk",
    "nanmin_chunk",
    "nanmoment_chunk",
    "sqrt",
]
