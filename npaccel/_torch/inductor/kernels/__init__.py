"""Kernels that npaccel writes itself, in place of calls of operators.

`registration` says how one gets into generated code. The others are a kernel each: products with
vectors, reads by masks, extremes of rows, slices that are reduced.
"""
