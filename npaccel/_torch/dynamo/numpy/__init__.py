"""Tracing of NumPy by Dynamo: arrays, functions, random numbers, SciPy.

Each call becomes one node, whose target is a row of the table. `calls` puts it into the graph or
breaks there, `operations` says what stands for it, `ndarray_methods` and `ndarray_slots` are about
arrays, the modules `rng_*` about random numbers. Read `calls` first.
"""
