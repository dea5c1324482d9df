"""Array code in a loop nest, written as loops over its elements.

In: statements with slices, masks and reductions. Out: statements with subscripts and numbers alone.
Read `scalarize` first.
"""
