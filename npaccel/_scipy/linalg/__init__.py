"""Functions of `scipy.linalg` on tensors.

In: tensors of matrices, or stacks of them. Out: tensors on the same device, as SciPy's arrays.

Modules without an underscore declare rows of the table; the others are what they share. `solving`,
`factors`, `eigen`, `singular`, `functions`, `properties` and `special` are a topic each, `host`
lists what goes through the host. Read `solving` first.
"""
