"""Functions of `scipy.stats` on tensors.

In: tensors of samples, or of points of a distribution. Out: tensors in SciPy's results.

Modules without an underscore declare rows of the table; the others are what they share. `means`,
`ranks`, `correlation`, `distances`, `transforms` and `binned` take samples; `distributions` lists
the methods that `_families` and `_tails` compute. Read `means` first.
"""
