"""Type a loop nest as NumPy types it, and write it for Numba.

In: statements on single elements. Out: the source of a function that Numba compiles without
deciding on any dtype itself. Read `lower_nest` first, then `expressions`.
"""
