"""Metrics of `sklearn.metrics` on tensors.

In: labels, scores or rows as tensors. Out: scikit-learn's numbers, or tensors of them.

Modules without an underscore declare rows of the table; the others are what they share. `clusters`,
`ranking` and `distances` are a kind of metric each, `_routing` says who computes one, `_pairwise`
has the kernels of pairs. Read `clusters` first.
"""
