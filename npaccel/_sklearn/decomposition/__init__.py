"""Estimators of `sklearn.decomposition` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share. `pca`,
`svd`, `nmf`, `ica`, `factors` and `kernel_pca` are an estimator each, or two. Read `pca` first.
"""
