"""Kernels without torch's headers: what they need of them is written in front of them."""
