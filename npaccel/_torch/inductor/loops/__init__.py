"""Loops in Inductor's code.

In: scans, operators whose body is a graph. Out: a loop in the generated module, whose body is
compiled once.

`scans` writes a loop of Python's, `cpp_loops` one of C++ where the body has kernels alone, `slices`
writes parts of arrays in place, `products` and `systems` are small matrices. Read `scans` first.
"""
