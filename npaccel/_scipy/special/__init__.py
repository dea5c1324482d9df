"""Functions of `scipy.special` on tensors.

In: tensors of numbers. Out: the function of each element, to SciPy's precision.

Modules without an underscore declare rows of the table; the others are what they share.
`torch_functions` calls torch's, the other modules have a family of functions each, `host` lists
what goes through the host. Read `torch_functions` first.
"""
