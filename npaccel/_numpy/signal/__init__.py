"""FFT, convolution and windows.

In: tensors of samples. Out: tensors, by rows of the table.

`fft` is `numpy.fft`, `signals` has convolution, interpolation and phases, `windows` the windows of
signal processing. Read `fft` first.
"""
