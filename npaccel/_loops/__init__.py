"""Compile the body of a loop once, instead of unrolling it.

A function with loops over arrays is split, from its source, into regions:
straight-line code and loop bodies. Each region is compiled like a function of
its own; the rest of the function stays Python and drives them.

* `loop_detection`: does a function loop, itself or in what it calls?
* `source`: the syntax tree of a function, checked against its code.
* `dataflow`: which names statements read and write.
* `host_values`: which expressions are about Python numbers, and which about arrays.
* `partition`: statements into regions and Python, in parts:
  `ast_utils` and `locals` read the text, `facts` says what Python
  has to compute, `python_calls` what it calls, `regions` gathers statements into
  regions, `hoisting` takes expressions apart, `blocks` statements.
* `liveness`: what goes into a region and what comes out.
* `driver`: the split function, compiled; calls its regions.
"""
