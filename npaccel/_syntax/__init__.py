"""Analysis of a function's source and bytecode, before anything runs.

In: a Python function. Out: its syntax tree, which names it reads and writes, whether it loops,
whether it may meet 64-bit floats.

The loops' partition, snapshots and the dispatcher build on it. Read `loop_detection` first, then
`source` and `dataflow`.
"""
