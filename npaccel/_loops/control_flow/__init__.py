"""`fori_loop`, `while_loop`, `scan` and `cond`.

In: functions of an iteration, and what the loop begins with. Out: its carry and results, as NumPy
computes them, or from a body that is compiled once.

`primitives` defines them in NumPy, `bodies` compiles what they are given when a jitted function
calls them, `carry` checks what a loop hands on. Read `primitives` first.
"""
