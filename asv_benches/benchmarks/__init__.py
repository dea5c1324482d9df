"""Benchmarks of npaccel against NumPy, bare ``torch.compile``, Numba and JAX."""
