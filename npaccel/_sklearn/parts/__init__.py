"""Estimators and metrics on arrays whose rows are in parts: ranks' of DTensors, blocks of Dask's.

An estimator is written once: kernels that reduce a part, functions that combine two results, and
what is computed of the combined one. `engine` says what a kernel is called with, and who calls it:
`npaccel._sharding.parts` for ranks, `npaccel._dask.parts` for blocks. Then read `calls`, which says
which methods are computed so; others are computed on whole arrays, and `report_` says so.
"""
