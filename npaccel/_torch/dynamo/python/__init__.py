"""How Dynamo traces Python around NumPy: numbers, builtins, classes, functions.

Read `scalars` first: numbers that depend on the data are weak, as Python's are.
"""
