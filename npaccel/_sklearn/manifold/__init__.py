"""Estimators of `sklearn.manifold` on tensors.

In: data as tensors or arrays. Out: an embedding in few dimensions.

Modules without an underscore declare rows of the table; the others are what they share. `tsne` is
the estimator, `_tsne` computes probabilities and gradients of all pairs. Read `tsne` first.
"""
