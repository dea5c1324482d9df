"""Jitted functions on Dask arrays, and the graph pass behind them.

In come graphs of `dask.array`, out go the same graphs in which what NumPy's functions do to a block
is one compiled function: a `npaccel._dask.block_function.BlockFunction`. Read
`npaccel/_dask/fusion.py` first, which fuses layers of a graph; `npaccel/_dask/translate.py` makes
functions of their tasks, and `npaccel/_dask/calls.py` makes calls of jitted functions with Dask
arrays. Dask's private parts are touched in the first two alone.
"""
