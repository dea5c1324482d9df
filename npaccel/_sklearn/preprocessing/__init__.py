"""Estimators of `sklearn.preprocessing` on tensors.

In: data as tensors or arrays. Out: transformed data, of the same kind.

Modules without an underscore declare rows of the table; the others are what they share. `standard`,
`quantiles`, `power`, `bins` and `encoders` are a kind of transformer each, `delegated` lists those
of scikit-learn's own code on tensors. Read `standard` first.
"""
