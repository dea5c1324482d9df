"""Functions of `scipy.cluster` on tensors.

In: tensors of observations and codes. Out: tensors on the same device, as SciPy's arrays.

Modules without an underscore declare rows of the table; the others are what they share. `vq` finds
the nearest codes, `means` makes codes, `host` lists what goes through the host. Read `vq` first.
"""
