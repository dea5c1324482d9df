"""Array code in a loop nest, written as loops over its elements.

In: statements with slices, masks and reductions. Out: statements with subscripts and numbers alone.

`scalarize` goes through the statements, `expressions` and `reductions` write elements, `bounds` and
`ranks` find starts, lengths and dimensions, `array_variables` and `views` follow names of arrays,
`rows` and `interchange` choose the order of loops. Read `scalarize` first.
"""
