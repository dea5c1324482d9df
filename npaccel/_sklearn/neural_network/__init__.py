"""Estimators of `sklearn.neural_network` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share.
`neural_network` has the estimators, `_layers` the passes forward and back. Read `neural_network`
first.
"""
