"""Functions of `scipy.ndimage` on tensors.

In: tensors of any number of dimensions. Out: tensors on the same device, as SciPy's arrays.

Modules without an underscore declare rows of the table; the others are what they share. `linear`,
`gaussian`, `ranks`, `extremes`, `binary`, `splines` and the others are a family of filters each;
those that are written in NumPy are compiled as functions of the user's are. Read `linear` first.
"""
