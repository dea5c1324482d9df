"""Functions of `scipy.interpolate` on tensors.

In: points and values as tensors. Out: values in between, or objects that compute them there.

Modules without an underscore declare rows of the table; the others are what they share. `functions`
interpolates at once, `_interpolators` has the classes, `_piecewise` and `_bsplines` compute. Read
`functions` first.
"""
