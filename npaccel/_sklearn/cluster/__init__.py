"""Estimators of `sklearn.cluster` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share. `means` has
KMeans, whose steps `_kmeans` takes, `density` DBSCAN. Read `means` first.
"""
