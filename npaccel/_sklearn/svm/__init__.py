"""Estimators of `sklearn.svm` on tensors.

In: data as tensors or arrays. Out: fitted estimators whose attributes are scikit-learn's.

Modules without an underscore declare rows of the table; the others are what they share. `kernel`
has the machines with kernels, whose dual problems `_smo` solves (on a GPU `_smo_triton`), `linear`
those without. Read `kernel` first.
"""
