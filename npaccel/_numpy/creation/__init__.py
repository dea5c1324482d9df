"""Functions that make arrays: of constants, ranges, grids.

In: shapes, numbers, dtypes, and arrays to be like. Out: tensors, by rows of the table.

`creation` makes arrays of a shape or of what is given, `ranges` has `arange` and `linspace`,
`grids` diagonals, triangles and what is made of positions. Read `creation` first.
"""
