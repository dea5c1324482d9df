"""Split a function at its loops: regions to compile, and Python between them.

In: a function's syntax tree and which arguments are Python values. Out: the tree with calls of
regions in place of statements, and the regions.

`partition` is the interface; `blocks` takes statements apart, `regions` gathers them, `hoisting`
has Python compute a part of an expression before the rest, `liveness` says what goes into a region
and comes out. Read `partition` first.
"""
