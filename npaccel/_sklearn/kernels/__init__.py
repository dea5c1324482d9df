"""Kernels of several estimators: distances by tiles, linear algebra, L-BFGS.

In: tensors of rows, or a loss and its gradient. Out: tensors on the same device. No estimator is
known here.

`tiles` goes through tables of distances without storing them, `fused_distances` reduces them where
they are computed, `linalg` solves equations, `lbfgs` minimises. Read `tiles` first.
"""
