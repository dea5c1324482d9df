"""Products, einsum, norms, solvers and decompositions."""
