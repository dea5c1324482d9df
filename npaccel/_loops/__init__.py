"""Compile the body of a loop once, instead of unrolling it.

A function with loops over arrays is split, from its source, into regions:
straight-line code and loop bodies. Each region is compiled like a function of
its own; the rest of the function stays Python and drives them.

* `_find`: does a function loop, itself or in what it calls?
* `_source`: the syntax tree of a function, checked against its code.
* `_names`: which names statements read and write.
* `_kinds`: which expressions are about Python numbers, and which about arrays.
* `_split`: statements into regions and Python, in parts:
  `_split_trees` and `_split_locals` read the text, `_split_facts` says what Python
  has to compute, `_split_calls` what it calls, `_split_runs` gathers statements into
  regions, `_split_lifting` takes expressions apart, `_split_blocks` statements.
* `_liveness`: what goes into a region and what comes out.
* `_driver`: the split function, compiled; calls its regions.
"""
