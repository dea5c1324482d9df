"""FFT, convolution and windows."""
