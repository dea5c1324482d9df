"""Reductions, cumulative functions, quantiles, histograms, sorting and sets.

In: tensors, axes, and where results go. Out: tensors in NumPy's dtypes, by rows of the table.

`reductions`, `cumulative` and `nanfunctions` go along axes, `statistics` and `quantiles` say where
data lie, `histograms` counts, `sorting` and `sets` put in order. On a CPU some leave the work to
NumPy's own kernels (`npaccel._numpy.host`). Read `sorting` as an example of a module of rows.
"""
