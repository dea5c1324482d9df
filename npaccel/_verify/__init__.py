"""Make one call in NumPy and compiled, and find the line at which the two part.

In: a dispatcher and a call's arguments. Out: differences, with a line each.

`case` makes the calls on copies, `compare` compares, `instrument` rewrites a function so that
every operation passes through one of the `observers`, `locate` compares operation by operation.
`verification` puts it together, for ``verify=True`` and `npaccel.check`. Read `verification`
first.
"""
