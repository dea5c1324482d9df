"""Estimators of `sklearn.linear_model` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share.
`least_squares`, `logistic`, `generalized`, `sparse` and `sparse_cv` are a kind of model each; `sgd`
and `sgd_numbers` take `_sgd_models`, with the steps of `_sgd`. Read `least_squares` first.
"""
