"""Shapes, joins, repetitions, rolls and padding.

In: tensors. Out: views where NumPy gives views, else copies, by rows of the table.

`manipulation` has shapes, axes and flips, `joining` puts arrays together and splits them,
`repeating` repeats, inserts and deletes elements, `padding` extends arrays, `rolls` rolls them by
known shifts. Read `manipulation` first.
"""
