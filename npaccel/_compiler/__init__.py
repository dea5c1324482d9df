"""Dispatch calls by signature, and compile new signatures.

In: a function, its options, and a call's arguments. Out: the call's result, and a runner that
makes the next calls of the signature.

`function_spec` says what the function is, for all stages. `dispatcher` finds the runner: among
those known, on disk (`stored_signatures`), or by compiling. `compile` captures and compiles one
signature; `frame` runs Dynamo's code for it, and `planning` how later calls do without.
`graph_breaks` runs what isn't one graph. `fallback` decides what NumPy does instead, with the help
of `snapshot`. `tiers` and `tier_buckets` have NumPy make calls until compiling pays. Read
`dispatcher` first, then `compile`.
"""
