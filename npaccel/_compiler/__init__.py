"""Dispatch calls by signature, and compile new signatures.

In: a function, its options, and a call's arguments. Out: the call's result, and a runner that
makes the next calls of the signature.

`dispatcher` finds the runner: among those known, on disk, or by compiling. `compile` captures and
compiles one signature; `frame` runs it once and plans how later calls do without Dynamo.
`graph_breaks` runs what isn't one graph, `error_recovery` lets NumPy make a call whose compiled
code has raised, with the help of `snapshot`. Read `dispatcher` first, then `compile`.
"""
