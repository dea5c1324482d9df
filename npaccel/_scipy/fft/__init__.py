"""Functions of `scipy.fft` on tensors.

In: tensors of samples. Out: their transforms, on the same device.

Modules without an underscore declare rows of the table; the others are what they share.
`transforms` calls torch's Fourier transforms, `real` makes cosine and sine transforms of them. Read
`transforms` first.
"""
