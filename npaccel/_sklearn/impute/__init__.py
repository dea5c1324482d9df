"""Estimators of `sklearn.impute` on tensors.

In: data with missing values. Out: the same data with others in their places.

Modules without an underscore declare rows of the table; the others are what they share. `simple`
puts in a column's mean, `neighbors` that of the nearest rows. Read `simple` first.
"""
