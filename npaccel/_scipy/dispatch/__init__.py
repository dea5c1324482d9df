"""Dispatch of calls of SciPy: the table, the routes, SciPy's own names.

In: a call with tensors. Out: its result, computed by npaccel, by SciPy on the tensors, or by SciPy
on the host, and counted.

`table` says which route a function takes, `routes` goes it, `conversion` carries arguments to the
host and back, `patching` is `npaccel.array_api`. Read `table` first.
"""
