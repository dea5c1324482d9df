"""Functions of `scipy.fft` on tensors.

Modules without an underscore declare rows of the table; the others are what they share.
"""
