"""Estimators of `sklearn.gaussian_process` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share.
`regression_base` and `classification` are the estimators, `_covariances` their kernels. Read
`regression_base` first.
"""
