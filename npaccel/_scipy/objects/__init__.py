"""SciPy's classes and objects on tensors: splines, distributions, trees and the like.

In: calls of SciPy's classes, and objects that its functions give. Out: objects that pass for
SciPy's, and compute on the device of their tensors or hold SciPy's own on the host.

Read `classes.py` first.
"""
