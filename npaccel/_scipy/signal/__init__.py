"""Functions of `scipy.signal` on tensors.

In: tensors of samples, and filters. Out: tensors on the same device, as SciPy's arrays.

Modules without an underscore declare rows of the table; the others are what they share.
`convolution`, `filters`, `smoothing`, `resampling`, `spectra`, `peaks` and the others are a topic
each; `design` says why filters are designed by SciPy itself. Read `convolution` first.
"""
