"""Tracing of Python around NumPy by Dynamo: numbers, builtins, classes, functions.

Read `scalars` first: numbers that depend on the data are weak, as Python's are.
"""
