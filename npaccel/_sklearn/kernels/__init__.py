"""Kernels of several estimators: distances by tiles, linear algebra, L-BFGS."""
