"""Tracing of Python around NumPy by Dynamo: numbers, builtins, classes, functions.

In: Dynamo's variables for Python's objects. Out: nodes of the graph, guards, and values as Python
would have them. Each module patches Dynamo for one topic.

Read `scalars` first: numbers that depend on the data are weak, as Python's are. `builtins` has
their functions, `class_attributes` and `absent_attributes` what is read of objects, `list_append`
lists that grow, `nested_jit` functions that call others, `module_globals` what those read,
`caught_errors` errors.
"""
