"""Loops over single elements, for Numba.

In: the syntax tree of a loop nest, and the kinds of what it reads. Out: a compiled nest, or the
reason why there is none.

`eligibility` asks whether a nest works on elements, `scalarize` writes array code as loops,
`lowering` types it as NumPy does, `dependence` asks whether iterations are independent,
`numba_backend` compiles, `numba_cache` keeps it on disk. `nest_runner` is called by driven
functions. Read `nest_runner` first.
"""
