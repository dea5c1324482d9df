"""Complex numbers in kernels: as pairs of real ones.

`lowering` computes with pairs, `splitting` keeps track of which arrays are pairs, `loads` and
`stores` move them by whole vectors. Read `lowering` first.
"""
