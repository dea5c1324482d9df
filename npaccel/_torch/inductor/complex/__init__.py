"""Complex numbers in kernels: as pairs of real ones.

In: a graph with complex arrays. Out: a graph of real arrays, of which some are views of complex
memory, and kernels that move pairs.

`lowering` computes with pairs, `splitting` keeps track of which arrays are pairs, `moves` takes
elements elsewhere, `loads` and `stores` move them by whole vectors. Read `lowering` first.
"""
