"""Products, einsum, norms, solvers and decompositions.

In: tensors of matrices, or stacks of them. Out: tensors, by rows of the table; errors such as that
of a singular matrix are NumPy's.

`linalg` has the solvers and the names of `numpy.linalg`, `decompositions` what takes matrices
apart, `products` and `einsum` what multiplies them, `norms` their sizes. Read `linalg` first.
"""
