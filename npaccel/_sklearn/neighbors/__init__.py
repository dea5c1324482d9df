"""Estimators of `sklearn.neighbors` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share. `brute` and
`radius` are the estimators, `_nearest` and `_radius` find the rows. Read `brute` first.
"""
