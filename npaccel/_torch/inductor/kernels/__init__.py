"""Kernels that npaccel writes itself, in place of calls of operators.

In: calls of operators in a graph. Out: C++ in the generated module, run by all threads.

`registration` says how one gets into generated code. The others are a kernel each: products with
vectors, reads by masks, extremes of rows, slices that are reduced. Read `registration` first.
"""
